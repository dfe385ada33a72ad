"""``sync``, and what else takes drawers away so that they can come back: delete, restore, undo."""

import shutil

import pytest

from tests.cases.support import Silence, age, open_at
from tests.repositories import make_repository, run_git, write_files
from tests.transcripts import claude_row, list_drawers, tell, to_lines

FILES = {
    "keep.md": "zqkeep stays where it is\n",
    "gone.md": "zqdrop will be removed\n",
    "sub/moved.md": "zqmove lies elsewhere later\n",
    "draft.md": "zqdraft becomes ignored\n",
}


@pytest.fixture
def tree(run, tmp_path):
    folder = write_files(tmp_path / "tree", FILES)
    run("mine", folder, "--wing", "w")
    return folder


@pytest.fixture
def look(isolation):
    """Return what the palace holds, history included."""
    return lambda: tell(list_drawers(open_at(isolation.palace), history=True))


@pytest.fixture
def sync(run):
    return lambda *options: run("sync", "--wing", "w", "--json", *options).json


@pytest.fixture
def find(run):
    """Return the files of the hits of a search that hold a word."""

    def call(word: str, *options: str) -> list[str]:
        hits = run("search", word, "--json", "-n", "50", *options).json["results"]
        return [hit["source_file"] for hit in hits if word in hit["content"].split()]

    return call


def names(files: list[dict]) -> list[str]:
    return [file["source_file"] for file in files]


# --- sync -----------------------------------------------------------------------------------------


def test_nothing_is_done_without_being_asked(sync, find, look, tree):
    (tree / "gone.md").unlink()
    before = look()
    report = sync()
    assert report["dry_run"] is True
    assert report["gone"] == [{"source_file": "gone.md", "root": str(tree), "drawers": 1}]
    assert (report["ignored"], report["pruned"], report["protected"]) == ([], 0, [])
    assert look() == before
    assert find("zqdrop") == ["gone.md"]
    applied = sync("--apply")
    assert (applied["dry_run"], applied["pruned"], applied["wing"]) == (False, 1, "w")
    assert find("zqdrop") == []
    assert find("zqdrop", "--all") == ["gone.md"]
    assert find("zqkeep") == ["keep.md"]


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ((), 2, "--wing"),
        (("--wing", ""), 2, "--wing"),
        (("--wing", "nobody"), 3, "nobody"),
        (("--wing", "w", "--apply", "--dry-run"), 2, "--dry-run"),
    ],
)
def test_what_is_not_clear_is_refused(run, look, tree, arguments, code, word):
    (tree / "gone.md").unlink()
    before = look()
    done = run("sync", *arguments)
    assert done.code == code
    assert word in done.stderr
    assert "hint: " in done.stderr
    assert look() == before


def test_without_a_palace_nothing_is_made(run, isolation):
    assert run("sync", "--wing", "w").code == 3
    assert not isolation.palace.exists()


def test_other_wings_are_not_touched(run, sync, find, tree, tmp_path):
    other = write_files(tmp_path / "other", {"gone.md": "zqother in another wing\n"})
    run("mine", other, "--wing", "v")
    run("mine", tree, "--wing", "v2")  # the same tree under another name
    (tree / "gone.md").unlink()
    shutil.rmtree(other)
    assert names(sync("--apply")["gone"]) == ["gone.md"]
    assert find("zqother", "--wing", "v") == ["gone.md"]
    assert find("zqdrop", "--wing", "v2") == ["gone.md"]
    assert find("zqdrop", "--wing", "w") == []


def test_two_trees_of_one_wing(run, sync, find, tree, tmp_path):
    second = write_files(tmp_path / "second", {"gone.md": "zqtwo\n", "x.md": "zqx\n"})
    run("mine", second, "--wing", "w")
    (second / "gone.md").unlink()
    assert [(file["source_file"], file["root"]) for file in sync("--apply")["gone"]] == [
        ("gone.md", str(second))
    ]
    assert find("zqdrop") == ["gone.md"]
    shutil.rmtree(tree)
    assert run("sync", "--wing", "w", "--apply").code == 3
    assert find("zqdrop") == ["gone.md"]


def test_files_that_became_ignored_are_told_with_their_rule(sync, find, tree):
    run_git(tree, "init", "-q")
    (tree / ".gitignore").write_text("draft.md\nsub/\n")
    report = sync()
    assert names(report["ignored"]) == ["draft.md", "sub/moved.md"]
    assert all(".gitignore" in file["reason"] for file in report["ignored"])
    assert report["gone"] == []
    assert find("zqdraft") == ["draft.md"]
    assert sync("--apply")["pruned"] == 2
    assert find("zqdraft") == []


def test_a_file_that_was_named_is_not_called_ignored(run, sync, find, tree):
    run_git(tree, "init", "-q")
    (tree / ".gitignore").write_text("secret/\nbuild.md\n")
    write_files(tree, {"secret/plan.md": "zqplan named by hand\n", "build.md": "zqbuild\n"})
    run("mine", tree / "secret/plan.md", "--wing", "w")
    run("mine", tree / "build.md", "--wing", "w")
    run("mine", tree, "--wing", "w")
    report = sync("--apply")
    assert (report["ignored"], report["gone"], report["pruned"]) == ([], [], 0)
    assert find("zqplan") == ["secret/plan.md"]
    (tree / "secret/plan.md").unlink()
    assert names(sync("--apply")["gone"]) == ["secret/plan.md"]


@pytest.mark.parametrize("option", ["--no-gitignore", "--no-mempalignore"])
def test_a_tree_mined_without_rules_is_compared_without_them(run, sync, find, tmp_path, option):
    folder = make_repository(
        tmp_path / "repo",
        {
            ".gitignore": "out.md\n" if option == "--no-gitignore" else "",
            ".mempalignore": "out.md\n" if option == "--no-mempalignore" else "",
            "a.md": "zqa\n",
        },
    )
    (folder / "out.md").write_text("zqout kept out by a rule\n")
    run("mine", folder, "--wing", "w", option)
    assert find("zqout") == ["out.md"]
    report = sync("--apply")
    assert (report["ignored"], report["pruned"]) == ([], 0)
    assert find("zqout") == ["out.md"]


def test_a_tree_mined_with_more_rules_is_compared_with_them(run, sync, find, tree, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("draft.md\n")
    run("mine", tree, "--wing", "w", "--ignore-file", rules)
    write_files(tree, {"new.md": "zqnew\n"})
    run("mine", tree, "--wing", "w", "--ignore-file", rules)
    assert names(sync("--apply")["ignored"]) == ["draft.md"]
    assert find("zqdraft") == []


def test_a_moved_file_is_told_with_its_new_place(run, sync, find, look, tree):
    (tree / "sub/moved.md").rename(tree / "here.md")
    assert [file.get("moved_to") for file in sync()["gone"]] == ["here.md"]  # not mined there yet
    run("mine", tree, "--wing", "w")
    assert find("zqmove") == ["here.md"]
    before = look()
    report = sync()
    assert report["gone"] == [
        {"source_file": "sub/moved.md", "root": str(tree), "drawers": 0, "moved_to": "here.md"}
    ]
    assert sync("--apply")["pruned"] == 0
    assert look() == before
    assert sync()["gone"] == []


def test_a_file_that_moved_takes_its_drawers_along_when_it_is_not_mined_first(
    run, sync, find, tree
):
    (tree / "sub/moved.md").rename(tree / "elsewhere.md")
    before = run("mine", tree, "--wing", "w", "--dry-run", "--json").json["drawers"]
    planned = sync()
    assert planned["gone"][0]["moved_to"] == "elsewhere.md"
    applied = sync("--apply")
    assert applied["pruned"] == 0
    after = run("mine", tree, "--wing", "w", "--json").json["drawers"]
    assert after == before
    assert (after["added"], after["restored"], after["superseded"]) == (0, 0, 0)


@pytest.mark.parametrize("applied", [True, False])
def test_a_file_that_returns_is_restored(run, find, sync, look, tree, applied):
    before = look()
    text = (tree / "gone.md").read_text()
    (tree / "gone.md").unlink()
    run("mine", tree, "--wing", "w")
    if applied:
        sync("--apply")
    (tree / "gone.md").write_text(text)
    changes = run("mine", tree, "--wing", "w", "--json").json["drawers"]
    assert (changes["added"], changes["restored"]) == (0, int(applied))
    assert look() == before
    assert find("zqdrop") == ["gone.md"]


def test_history_says_when_it_was_there(run, find, sync, tree):
    (hit,) = run("search", "zqdrop", "--json", "-n", "1").json["results"]
    (tree / "gone.md").unlink()
    sync("--apply")
    assert find("zqdrop", "--as-of", hit["added_at"]) == ["gone.md"]
    assert find("zqdrop", "--as-of", "2001-01-01") == []
    past = run("search", "zqdrop", "--all", "--json").json["results"][0]
    assert past["superseded_at"] >= hit["added_at"]
    assert past["verdict"] == "gone"


def test_sync_can_be_undone(run, find, sync, look, tree):
    (tree / "gone.md").unlink()
    before = look()
    number = sync("--apply")["run"]
    assert find("zqdrop") == []
    undone = run("undo", str(number), "--json").json
    assert (undone["verb"], undone["returned"]) == ("sync", 1)
    assert look() == before
    assert find("zqdrop") == ["gone.md"]


def test_history_and_notes_are_no_files_that_are_gone(run, find, sync, tmp_path):
    folder = make_repository(tmp_path / "repo", {"a.md": "zqa\n"})
    (folder / "b.md").write_text("zqb\n")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", "zqcommit drop the cache because it lied")
    run("mine", folder, "--wing", "w", "--git-log")
    run("add", "zqnote by hand", "--wing", "w", "--room", "r")
    report = sync("--apply")
    assert (report["gone"], report["ignored"], report["pruned"]) == ([], [], 0)
    assert len(find("zqcommit")) == len(find("zqnote")) == 1


# --- delete, restore, purge -----------------------------------------------------------------------


def id_of(run, word: str, *options: str) -> str:
    hits = run("search", word, "--json", *options).json["results"]
    return next(hit["drawer_id"] for hit in hits if word in hit["content"].split())


def test_what_is_deleted_is_hidden_until_it_is_restored(run, find, look, tree):
    before, name = look(), id_of(run, "zqdrop")
    deleted = run("delete", name, "--json").json
    assert (deleted["deleted"], deleted["drawers"][0]["drawer_id"]) == (1, name)
    assert (find("zqdrop"), find("zqdrop", "--all")) == ([], [])
    assert run("show", name, "--json").json["deleted_at"] is not None
    again = run("delete", name, "--json").json
    assert (again["deleted"], again["run"]) == (0, None)
    # Mining neither revives nor doubles it.
    changes = run("mine", age(tree), "--wing", "w", "--json").json["drawers"]
    assert (changes["added"], changes["restored"]) == (0, 0)
    assert find("zqdrop") == []
    assert run("restore", name, "--json").json["restored"] == 1
    assert look() == before
    assert find("zqdrop") == ["gone.md"]


def test_a_beginning_of_an_id_must_name_one(run, tree):
    assert run("delete", "drawer_").code == 2
    assert run("delete", "drawer_zzzz").code == 3
    assert run("delete", id_of(run, "zqdrop")[:-2], "--json").json["deleted"] == 1


def test_all_or_nothing_is_deleted(run, find, tree):
    assert run("delete", id_of(run, "zqdrop"), "drawer_zzzz").code == 3
    assert find("zqdrop") == ["gone.md"]


def test_purge_takes_only_what_was_deleted_before_and_there(run, isolation, tree, tmp_path):
    other = write_files(tmp_path / "other", {"o.md": "zqo in another wing\n"})
    run("mine", other, "--wing", "v")
    first, second = id_of(run, "zqdrop"), id_of(run, "zqo")
    run("delete", first, second)

    def purge(*options: str) -> list[str]:
        report = run("purge", "--json", *options).json
        return [drawer["drawer_id"] for drawer in report["drawers"]]

    assert purge("--before", "2001-01-01") == []
    assert set(purge("--dry-run")) == {first, second}
    assert purge("--dry-run", "--wing", "v") == [second]
    assert run("show", first).code == run("show", second).code == 0
    assert purge("--wing", "w", "--before", "2999-01-01") == [first]
    assert run("show", first).code == 3
    assert run("restore", first).code == 3
    assert purge() == [second]
    assert purge() == []
    assert run("purge", "--before", "soon").code == 2


def test_a_purge_cannot_be_undone_and_says_so(run, tree):
    run("delete", id_of(run, "zqdrop"))
    number = run("purge", "--json").json["run"]
    done = run("undo", str(number))
    assert done.code == 2
    assert "gone for good" in done.stderr


# --- runs and undo --------------------------------------------------------------------------------


def test_runs_are_listed_newest_first(run, tree, sync):
    (tree / "gone.md").unlink()
    sync()
    sync("--apply")
    run("add", "zqnote by hand", "--wing", "w", "--room", "r")
    run("mine", tree, "--wing", "w")  # changes nothing, is no run
    listed = run("runs", "--json").json["runs"]
    assert [(one["verb"], one["wing"]) for one in listed] == [
        ("add", "w"),
        ("sync", "w"),
        ("mine", "w"),
    ]
    assert {one["state"] for one in listed} == {"done"}
    assert run("runs", "-n", "1", "--json").json["runs"] == listed[:1]
    assert str(listed[0]["run"]) in run("runs").stdout


@pytest.mark.parametrize("change", ["grow", "edit", "remove", "move", "mix"])
def test_undo_is_exact_and_mining_again_adds_again(run, look, tree, change):
    if change in {"grow", "mix"}:
        write_files(tree, {"new.md": "zqnew\n", "sub/more.md": "zqmore\n"})
    if change in {"edit", "mix"}:
        (tree / "keep.md").write_text("zqedited instead\n")
    if change in {"remove", "mix"}:
        (tree / "gone.md").unlink()
        (tree / "draft.md").write_text("")
    if change in {"move", "mix"}:
        (tree / "sub/moved.md").rename(tree / "here.md")
    before = look()
    first = run("mine", tree, "--wing", "w", "--json").json
    after = look()
    assert after != before
    assert run("undo", str(first["run"]), "--json").json["verb"] == "mine"
    assert look() == before
    second = run("mine", tree, "--wing", "w", "--json").json
    assert second["drawers"] == first["drawers"]
    assert look() == after
    assert run("undo", str(first["run"])).code == 2  # undone already


def test_undo_takes_the_words_and_vectors_along(run, isolation, find, tree, sync):
    write_files(tree, {"new.md": "zqnew unheard of kumquat\n"})
    number = run("mine", tree, "--wing", "w", "--json").json["run"]
    open_at(isolation.palace).reindex(reembed=False, progress=Silence())
    assert find("zqnew") == ["new.md"]
    run("undo", str(number))
    assert (find("zqnew"), find("zqnew", "--all")) == ([], [])
    for mode in ("keyword", "vector"):
        hits = run("search", "unheard of kumquat", "--mode", mode, "--json").json["results"]
        assert "new.md" not in [hit["source_file"] for hit in hits]
    assert run("doctor", "--json").json["healthy"] is True


def test_an_older_run_that_others_build_on_is_refused(run, look, tree):
    first = run("runs", "--json").json["runs"][0]["run"]
    (tree / "keep.md").write_text("zqedited instead\n")
    second = run("mine", tree, "--wing", "w", "--json").json["run"]
    before = look()
    done = run("undo", str(first))
    assert done.code == 2
    assert f"undo run {second} first" in done.stderr
    assert look() == before
    assert run("undo", str(second)).code == run("undo", str(first)).code == 0
    assert look() == []
    assert run("undo", "999").code == 3


def test_runs_that_have_nothing_to_do_with_each_other_are_undone_in_any_order(
    run, look, find, tree, tmp_path
):
    first = run("runs", "--json").json["runs"][0]["run"]
    other = write_files(tmp_path / "other", {"o.md": "zqo in another wing\n"})
    run("mine", other, "--wing", "v")
    run("add", "zqnote by hand", "--wing", "w", "--room", "r")
    assert run("undo", str(first), "--json").json["removed"] == len(FILES)
    assert (find("zqkeep"), find("zqo")) == ([], ["o.md"])
    assert len(find("zqnote")) == 1
    assert len(look()) == 2


def test_undoing_a_transcript_run_lets_it_be_read_again(run, look, tmp_path):
    rows = [claude_row(n, "user", f"zqturn{n} word") for n in range(4)]
    path = write_files(tmp_path / "p", {"s.jsonl": to_lines(rows[:2])}) / "s.jsonl"
    run("mine", path.parent, "--wing", "w")
    before = look()
    with path.open("a") as file:
        file.write(to_lines(rows[2:]))
    number = run("mine", path.parent, "--wing", "w", "--json").json["run"]
    after = look()
    run("undo", str(number))
    assert look() == before
    assert run("mine", path.parent, "--wing", "w", "--json").json["drawers"]["added"] == 2
    assert look() == after
