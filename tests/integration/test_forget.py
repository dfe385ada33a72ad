"""What a person wants forgotten is gone from every byte of the palace, and does not come back."""

import json
import shutil

import pytest

from mempal.core.model import Scope
from tests.cases.support import Silence, open_at
from tests.repositories import make_repository, run_git, write_files
from tests.transcripts import (
    chatgpt_conversation,
    claude_row,
    list_drawers,
    spill,
    tell,
    to_lines,
    with_word,
)

# Rare enough to be found in the bytes of an index, whole or folded to lower case and stem.
WISH = "zqforget Kumquatverkostung im Hinterhof"
TRACES = ("zqforget", "Kumquatverkostung", "kumquatverkostung", "kumquatverkost")
FILES = {
    "diary.md": f"# Diary\n\nzqbefore the day was fine\n\n{WISH}\n\nzqbehind we went home\n",
    "note.md": f"{WISH}\n",
    "other.md": "zqother something else entirely\n",
}
BACKENDS = pytest.mark.parametrize(
    "backend", ["exact", pytest.param("chroma", marks=pytest.mark.chroma)]
)


@pytest.fixture
def tree(run, tmp_path):
    folder = write_files(tmp_path / "tree", FILES)
    run("mine", folder, "--wing", "w")
    return folder


@pytest.fixture
def look(isolation):
    return lambda: tell(list_drawers(open_at(isolation.palace), history=True))


@pytest.fixture
def forget(run):
    def call(*options):
        done = run("forget", "--json", *options)
        assert done.code == 0, done.stderr
        return done.json

    return call


def id_in(run, source: str, query: str = "zqforget") -> str:
    hits = run("search", query, "--json", "-n", "50", "--all").json["results"]
    return next(hit["drawer_id"] for hit in hits if hit["source_file"] == source)


def traces(home) -> list[tuple[str, str]]:
    return list(spill(home, TRACES))


# --- what is selected -----------------------------------------------------------------------------


def test_it_is_only_said_unless_asked_for(run, forget, look, tree):
    before, runs, name = look(), run("runs", "--json").json, id_in(run, "note.md")
    for options in (
        ("--id", name),
        ("--source", "diary.md"),
        ("--topic", "zqforget Kumquatverkostung"),
        ("--before", "2999-01-01"),
    ):
        report = forget(*options)
        assert (report["dry_run"], report["forgotten"]) == (True, 0)
        assert report["drawers"]
        assert look() == before
    assert run("runs", "--json").json == runs
    assert "would be forgotten" in run("forget", "--id", name).stdout


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 2),
        (("--wing", "w"), 2),
        (("--id", "drawer_zzzz"), 3),
        (("--source", "nothing.md"), 3),
        (("--before", "soon"), 2),
        (("--id", "drawer_"), 2),
    ],
)
def test_what_is_not_clear_is_refused(run, look, tree, options, code):
    before = look()
    done = run("forget", *options, "--apply")
    assert done.code == code
    assert "hint: " in done.stderr or code == 2
    assert look() == before


def test_a_topic_is_what_surely_answers_it(run, forget, tree):
    report = forget("--topic", "zqforget Kumquatverkostung")
    assert {drawer["source_file"] for drawer in report["drawers"]} == {"diary.md", "note.md"}
    assert forget("--topic", "zqnowhere gibberish xyzzy")["drawers"] == []
    report = forget("--topic", "zqforget Kumquatverkostung", "--apply")
    assert report["forgotten"] == 2
    assert run("search", "zqother", "--json").json["results"][0]["source_file"] == "other.md"


def test_a_topic_is_found_in_what_was_deleted_or_is_no_longer_said(run, forget, isolation, tree):
    (tree / "note.md").write_text("zqedited since\n")
    run("mine", tree, "--wing", "w")
    run("delete", id_in(run, "diary.md"))
    assert forget("--topic", "?!")["drawers"] == []
    assert forget("--topic", WISH, "--apply")["forgotten"] == 2
    assert traces(isolation.palace) == []


def test_before_a_day_counts_when_it_was_said(run, forget, isolation, tree, tmp_path):
    rows = [
        claude_row(1, "user", "zqold in March"),
        claude_row(2, "user", "zqyoung in May", timestamp="2026-05-05T12:00:00Z"),
    ]
    convos = write_files(tmp_path / "convos", {"s.jsonl": to_lines(rows)})
    run("mine", convos, "--wing", "w")
    report = forget("--before", "2026-04-01", "--apply")
    assert [drawer["preview"] for drawer in report["drawers"]] == ["zqold in March"]
    left = list_drawers(open_at(isolation.palace))
    assert with_word(left, "zqyoung")
    assert with_word(left, "zqother")
    assert list(spill(isolation.palace, ["zqold"])) == []


def test_a_wing_limits_all_of_them(run, forget, isolation, tree, tmp_path):
    run("mine", tree, "--wing", "v")
    for options in (("--source", "note.md"), ("--topic", WISH), ("--before", "2999-01-01")):
        wings = {drawer["wing"] for drawer in forget(*options, "--wing", "v")["drawers"]}
        assert wings == {"v"}
    name = id_in(run, "note.md")
    wing = run("show", name, "--json").json["wing"]
    assert run("forget", "--id", name, "--wing", "v" if wing == "w" else "w").code == 3


# --- gone from every byte -------------------------------------------------------------------------


@BACKENDS
@pytest.mark.parametrize("how", ["id", "source", "topic", "before"])
def test_nothing_of_it_is_left_in_any_file(run, forget, isolation, tree, backend, how):
    palace = open_at(isolation.palace, index__backend=backend)
    palace.reindex(reembed=False, progress=Silence())
    run("search", "Hinterhof", "--mode", "vector")
    assert {name for name, _ in traces(isolation.palace)}
    vector = palace.access.outfit.open_embedder().embed_documents([f"{WISH}\n"])[0]
    floats = bytes(vector)
    assert list(spill_bytes(isolation.palace, floats[:64]))
    ids = [option for name in ("note.md", "diary.md") for option in ("--id", id_in(run, name))]
    options = {
        "id": ids,
        "source": ["--source", "note.md", "--source", "diary.md"],
        "topic": ["--topic", WISH],
        "before": ["--before", "2999-01-01"],
    }[how]
    report = forget(*options, "--apply")
    assert report["forgotten"] >= 2
    assert traces(isolation.palace) == []
    assert list(spill_bytes(isolation.palace, floats[:64])) == []
    for mode in ("hybrid", "keyword", "vector"):
        found = run("search", "Kumquatverkostung im Hinterhof", "--mode", mode, "--all", "--json")
        assert not [hit for hit in found.json["results"] if "zqforget" in hit["content"]]
    assert run("doctor", "--json").json["healthy"] is True


def spill_bytes(home, part: bytes):
    return (path for path in home.rglob("*") if path.is_file() and part in path.read_bytes())


def test_what_was_superseded_or_deleted_is_gone_too(run, forget, isolation, tree):
    (tree / "note.md").write_text("zqedited since\n")
    run("mine", tree, "--wing", "w")
    run("delete", id_in(run, "diary.md"))
    assert traces(isolation.palace)
    forget("--source", "note.md", "--source", "diary.md", "--apply")
    assert traces(isolation.palace) == []


def test_a_backup_made_since_holds_nothing_of_it(run, forget, isolation, tree, tmp_path):
    forget("--topic", WISH, "--apply")
    assert (
        run("backup", tmp_path / "copies" / "b.db").code == 0
        or run("backup", tmp_path / "b.db").code == 0
    )
    run("export", tmp_path / "export.jsonl")
    copies = [path for path in tmp_path.rglob("*") if path.is_file() and tree not in path.parents]
    assert copies
    assert not [path for path in copies for trace in TRACES if trace.encode() in path.read_bytes()]


# --- and does not come back -----------------------------------------------------------------------


def mine_again(run, tree, *options):
    return run("mine", tree, "--wing", "w", "--json", *options).json


def test_mining_again_does_not_revive_it(run, forget, isolation, look, tree):
    forget("--id", id_in(run, "note.md"), "--id", id_in(run, "diary.md"), "--apply")
    after = look()
    for path in tree.iterdir():
        path.touch()
    assert mine_again(run, tree)["drawers"]["added"] == 0
    assert look() == after
    (tree / "copy.md").write_text(FILES["note.md"])  # the same text elsewhere
    mine_again(run, tree)
    assert traces(isolation.palace) == []
    run("add", f"{WISH}\n", "--wing", "w", "--room", "r")
    assert traces(isolation.palace) == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text + "\nzqadded at the end\n",
        lambda text: "zqadded at the beginning\n\n" + text,
        lambda text: text.replace("went home", "zqadded went home"),
        lambda text: text.replace("\n", "\r\n") + "zqadded\r\n",
        lambda text: text.replace(WISH, f"  {WISH}  \nzqadded"),
        lambda text: ("zqadded filler words here.\n" * 60) + text,
    ],
)
def test_not_even_when_the_file_is_edited_around_it(run, forget, isolation, tree, edit):
    forget("--id", id_in(run, "diary.md"), "--id", id_in(run, "note.md"), "--apply")
    (tree / "diary.md").write_bytes(edit(FILES["diary.md"]).encode())
    mine_again(run, tree)
    assert traces(isolation.palace) == []
    assert [hit for hit in list_drawers(open_at(isolation.palace)) if "zqadded" in hit.content]


def test_a_forgotten_source_stays_away(run, forget, isolation, look, tree):
    report = forget("--source", tree / "note.md", "--apply")
    assert report["sources"] == [{"root": str(tree), "source_file": "note.md"}]
    forget("--id", id_in(run, "diary.md"), "--apply")
    after = look()
    (tree / "note.md").write_text("zqagain something new in a forgotten file\n")
    again = mine_again(run, tree)
    assert {"path": "note.md", "reason": "forgotten"} in again["skipped"]
    assert look() == after
    assert list(spill(isolation.palace, [*TRACES, "zqagain"])) == []
    assert run("sync", "--wing", "w", "--apply", "--json").json["gone"] == []
    mine_again(run, tree / "note.md")
    assert list(spill(isolation.palace, ["zqagain"])) == []


def test_it_stays_away_when_the_tree_is_moved_or_mined_elsewhere(
    run, forget, isolation, tree, tmp_path
):
    forget("--topic", WISH, "--apply")
    shutil.copytree(tree, tmp_path / "copied")
    tree.rename(tmp_path / "renamed")
    for name in ("renamed", "copied"):
        run("mine", tmp_path / name, "--wing", "w")
        run("mine", tmp_path / name, "--wing", "v")
    held = open_at(isolation.palace).search(WISH, Scope()).hits
    whole = [hit for hit in held if hit.drawer.content.strip() == WISH]
    assert whole == []
    assert not [hit for hit in held if hit.drawer.source_file == "note.md"]


def test_undo_neither_revives_it_nor_is_it_undone(run, forget, isolation, tree):
    number = run("runs", "--json").json["runs"][0]["run"]
    forget("--id", id_in(run, "note.md"), "--id", id_in(run, "diary.md"), "--apply")
    latest = run("runs", "--json").json["runs"][0]
    assert latest["verb"] == "forget"
    assert "zqforget" not in json.dumps(run("runs", "--json").json)
    done = run("undo", str(latest["run"]))
    assert done.code == 2
    assert "gone for good" in done.stderr
    run("undo", str(number))
    assert traces(isolation.palace) == []


# --- transcripts and history ----------------------------------------------------------------------


def test_what_was_said_is_forgotten_and_the_session_grows_on(run, forget, isolation, tmp_path):
    rows = [claude_row(n, "user", f"zqturn{n} word {WISH if n == 1 else ''}") for n in range(3)]
    path = write_files(tmp_path / "p", {"s.jsonl": to_lines(rows)}) / "s.jsonl"
    run("mine", path.parent, "--wing", "w")
    forget("--id", id_in(run, "s.jsonl"), "--apply")
    assert traces(isolation.palace) == []
    for number in (5, 6):
        with path.open("a") as file:
            file.write(to_lines([claude_row(number, "user", f"zqturn{number} word")]))
        assert mine_again(run, path.parent)["drawers"]["added"] == 1
    path.rename(path.with_name("renamed.jsonl"))
    assert mine_again(run, path.parent)["drawers"]["added"] == 0
    assert traces(isolation.palace) == []
    turns = [drawer.content.split()[0] for drawer in list_drawers(open_at(isolation.palace))]
    assert sorted(turns) == ["zqturn0", "zqturn2", "zqturn5", "zqturn6"]


def test_a_forgotten_conversation_stays_away_whatever_file_holds_it(
    run, forget, isolation, tmp_path
):
    talks = [
        chatgpt_conversation("g1", ("user", WISH), ("assistant", "zqreply to it")),
        chatgpt_conversation("g2", ("user", "zqkept another talk")),
    ]
    chats = write_files(tmp_path / "chats", {"conversations.json": json.dumps(talks)})
    run("mine", chats, "--wing", "w")
    report = forget("--source", "g1", "--apply")
    assert report["forgotten"] == 2
    talks[0] = chatgpt_conversation("g1", ("user", WISH), ("assistant", "zqreply and more"))
    write_files(chats, {"later.json": json.dumps(talks), "conversations.json": json.dumps(talks)})
    mine_again(run, chats)
    assert list(spill(isolation.palace, [*TRACES, "zqreply"])) == []
    assert [d.content for d in list_drawers(open_at(isolation.palace))] == ["zqkept another talk"]


def test_a_forgotten_commit_stays_away(run, forget, isolation, tmp_path):
    folder = make_repository(tmp_path / "repo", {"a.md": "zqa\n"})
    (folder / "b.md").write_text("zqb\n")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", f"Add b\n\n{WISH}, which nobody needs to know.")
    run("mine", folder, "--wing", "w", "--git-log")
    assert traces(isolation.palace)
    forget("--topic", WISH, "--apply")
    assert traces(isolation.palace) == []
    run("mine", folder, "--wing", "w", "--git-log")
    run_git(folder, "commit", "-q", "--allow-empty", "-m", "Explain why the cache was dropped")
    run("mine", folder, "--wing", "w", "--git-log")
    assert traces(isolation.palace) == []
    assert run("search", "cache dropped", "--json").json["results"][0]["room"] == "history"
