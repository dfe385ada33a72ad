"""The sessions of a host as they lie on disk: each in its own project, read once, kept for good."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mempal.core.model import SourceClass
from mempal.core.recall import wrap_recalled
from tests.cases.support import age, open_at, run_measured
from tests.repositories import write_files
from tests.transcripts import (
    Meter,
    Row,
    chatgpt_conversation,
    claude_row,
    codex_rows,
    list_drawers,
    say,
    spill,
    tell,
    to_lines,
    with_word,
)

ALPHA = "11111111-0000-4000-8000-00000000000a"
BETA = "22222222-0000-4000-8000-00000000000b"
CONVOS = ("--mode", "convos", "--json")
NOTHING = {"added": 0, "superseded": 0, "restored": 0}


@dataclass(frozen=True)
class Host:
    """A home folder with the sessions of two hosts, and the palace they were mined into."""

    folder: Path
    palace: Path
    claude: Any
    codex: Any

    @property
    def drawers(self) -> list[Any]:
        return list_drawers(open_at(self.palace))


def call(home: Path, *arguments: str | Path) -> Any:
    """Run the installed command in a process of its own; return its document."""
    command = [sys.executable, "-P", "-m", "mempal", *map(str, arguments), "--home", str(home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def build_claude(folder: Path, code: Path) -> Path:
    """Write ``~/.claude/projects`` as the host does: of a repository, a plain folder, one gone."""
    work = {"cwd": str(code / "alpha" / "src"), "sessionId": ALPHA}
    plain = {"cwd": str(code / "beta"), "sessionId": BETA}
    gone = {"cwd": str(code / "gone"), "sessionId": "33333333-0000-4000-8000-00000000000c"}
    aside = {**work, "isSidechain": True}
    call_row = [
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make zqcall"}}
    ]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "zqresult 3 passed\nlong"}]
    return write_files(
        folder / ".claude" / "projects",
        {
            f"-code-alpha/{ALPHA}.jsonl": to_lines(
                [
                    {"type": "summary", "summary": "zqsummary of another", "leafUuid": "x"},
                    claude_row(1, "user", "zqalpha why is the pump slow?", **work),
                    claude_row(2, "assistant", say("zqanswer the valve is half shut"), **work),
                    claude_row(3, "assistant", call_row, **work),
                    claude_row(4, "user", result, **work),
                ]
            ),
            f"-code-alpha/{ALPHA}/subagents/agent-aa11.jsonl": to_lines(
                [
                    claude_row(5, "user", "zqprompt look at the valve", agentId="aa11", **aside),
                    claude_row(6, "assistant", say("zqreport it is"), agentId="aa11", **aside),
                ]
            ),
            f"-code-alpha/{ALPHA}/tool-results/toolu_1.txt": "zqoutput raw output of a tool\n",
            "-code-alpha/agent-bb22.jsonl": to_lines(
                [claude_row(7, "user", "zqolder prompt of a subagent", agentId="bb22", **aside)]
            ),
            "-code-alpha/memory/MEMORY.md": "- zqmemory the host's own notes\n",
            f"-code-beta/{BETA}.jsonl": to_lines(
                [claude_row(8, "user", "zqbeta ship it on Monday", **plain)]
            ),
            "-code-gone/33333333-0000-4000-8000-00000000000c.jsonl": to_lines(
                [claude_row(9, "user", "zqgone a project that was deleted", **gone)]
            ),
        },
    )


def build_codex(folder: Path, code: Path) -> Path:
    """Write ``~/.codex``: a session beside its compressed copy, a compressed one, an old one."""
    alpha, beta = str(code / "alpha"), str(code / "beta")
    first = to_lines(codex_rows("c1", alpha, ("user", "zqc1 ask"), ("assistant", "zqc1a reply")))
    second = to_lines(codex_rows("c2", beta, ("user", "zqc2 compressed since")))
    third = to_lines(codex_rows("c3", beta, ("user", "zqc3 put into the archive")))
    day = "sessions/2026/02/03/rollout-2026-02-03T10-00-00-"
    pack = zstandard.ZstdCompressor().compress
    return write_files(
        folder / ".codex",
        {
            f"{day}c1.jsonl": first,
            f"{day}c1.jsonl.zst": pack(first.encode()),
            f"{day}c2.jsonl.zst": pack(second.encode()),
            "archived_sessions/rollout-2026-01-01T10-00-00-c3.jsonl": third,
        },
    )


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    folder = tmp_path_factory.mktemp("host")
    code = folder / "code"
    for name in ("alpha/.git", "alpha/src", "beta"):
        (code / name).mkdir(parents=True)
    claude, codex = build_claude(folder, code), build_codex(folder, code)
    age(folder)
    palace = folder / "palace"
    return Host(
        folder, palace, call(palace, "mine", claude, *CONVOS), call(palace, "mine", codex, *CONVOS)
    )


def test_each_conversation_goes_to_its_own_project(host):
    assert host.claude["wings"] == ["alpha", "beta", "gone"]
    assert host.codex["wings"] == ["alpha", "beta"]
    wings = {
        word: with_word(host.drawers, word)[0].wing
        for word in ("zqalpha", "zqreport", "zqolder", "zqbeta", "zqgone", "zqc1", "zqc2", "zqc3")
    }
    assert wings == {
        **dict.fromkeys(("zqalpha", "zqreport", "zqolder", "zqc1"), "alpha"),
        **dict.fromkeys(("zqbeta", "zqc2", "zqc3"), "beta"),
        "zqgone": "gone",
    }
    assert {drawer.room for drawer in host.drawers} == {"conversations"}


def test_each_message_is_there_once_and_nothing_else(host):
    words = [
        *("zqalpha", "zqanswer", "zqcall", "zqresult", "zqprompt", "zqreport", "zqolder"),
        *("zqbeta", "zqgone", "zqc1", "zqc1a", "zqc2", "zqc3"),
    ]
    for word in words:
        assert len(with_word(host.drawers, word)) == 1, word
    assert len(host.drawers) == len(words)
    counts = host.claude["drawers"]["added"], host.codex["drawers"]["added"]
    assert sum(counts) == len(words)


def test_what_is_no_session_is_named(host):
    skipped = {skip["path"]: skip["reason"] for skip in host.claude["skipped"]}
    assert skipped == {
        f"-code-alpha/{ALPHA}/tool-results/toolu_1.txt": "not a transcript",
        "-code-alpha/memory/MEMORY.md": "not a transcript",
    }
    assert list(spill(host.palace, ["zqmemory", "zqoutput", "zqsummary"])) == []


def test_who_said_it_when_and_where_is_told(host):
    found = call(host.palace, "search", "zqanswer valve", "--wing", "alpha", "--json")
    best = found["results"][0]
    expected = {
        "speaker": "assistant",
        "source_class": "assistant",
        "said_at": "2026-03-01T09:02:00.000Z",
        "session": ALPHA,
        "source_file": f"-code-alpha/{ALPHA}.jsonl",
        "content": "zqanswer the valve is half shut",
        "room": "conversations",
        "line_start": 3,
        "line_end": 3,
    }
    assert expected.items() <= best.items()
    shown = call(host.palace, "show", best["drawer_id"], "--json")
    assert expected.items() <= shown.items()
    # What is cited is the very record.
    with Path(best["path"]).open("rb") as file:
        record = file.read()[best["byte_start"] : best["byte_end"]]
    assert json.loads(record)["message"]["content"] == say(best["content"])


@pytest.mark.parametrize(
    ("word", "speaker", "source_class", "session"),
    [
        ("zqalpha", "user", SourceClass.PERSON, ALPHA),
        ("zqcall", "Bash", SourceClass.TOOL, ALPHA),
        ("zqresult", "Bash", SourceClass.TOOL, ALPHA),
        ("zqprompt", "main agent", SourceClass.OTHER_AGENT, f"{ALPHA}/aa11"),
        ("zqreport", "subagent", SourceClass.OTHER_AGENT, f"{ALPHA}/aa11"),
        ("zqolder", "main agent", SourceClass.OTHER_AGENT, f"{ALPHA}/bb22"),
        ("zqc1", "user", SourceClass.PERSON, "c1"),
        ("zqc1a", "assistant", SourceClass.ASSISTANT, "c1"),
    ],
)
def test_nobody_speaks_with_anothers_voice(host, word, speaker, source_class, session):
    (drawer,) = with_word(host.drawers, word)
    assert (drawer.speaker, drawer.source_class) == (speaker, source_class)
    assert drawer.session == session


def test_a_second_run_reads_no_session_and_adds_nothing(run, host, tmp_path, monkeypatch):
    home = shutil.copytree(host.palace, tmp_path / "palace")
    before = tell(host.drawers)
    meter = Meter(monkeypatch)
    for folder in (".claude/projects", ".codex"):
        report = run("mine", host.folder / folder, *CONVOS, "--home", home).json
        assert {**report["drawers"], **NOTHING} == report["drawers"]
        assert report["files"]["mined"] == 0
    assert not [name for name in meter.read if ".jsonl" in name]
    assert tell(list_drawers(open_at(home))) == before


def test_a_named_wing_takes_all(run, host, tmp_path):
    home = tmp_path / "palace"
    report = run("mine", host.folder / ".claude/projects", *CONVOS, "--wing", "w", "--home", home)
    assert report.json["wings"] == []
    assert {drawer.wing for drawer in list_drawers(open_at(home))} == {"w"}


# --- a session that grows -------------------------------------------------------------------------


def build_session(turns: int) -> list[Row]:
    """Return a session whose tools answer at length, and whose answers come in several records."""
    rows: list[Row] = []
    for number in range(0, 5 * turns, 5):
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "x y " * 6000}
        command = {"command": f"make step{number}"}
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": command}
        answer = claude_row(number + 1, "assistant", say(f"zqsaid{number} part one"))
        more = claude_row(number + 2, "assistant", say("and part two"))
        more["message"]["id"] = answer["message"]["id"]
        rows += [
            claude_row(number, "user", f"zqasked{number} what is next?"),
            *(answer, more),
            claude_row(number + 3, "assistant", [use]),
            claude_row(number + 4, "user", [result]),
        ]
    return rows


def grow(path: Path, data: bytes, parts: int) -> Iterator[int]:
    """Write a file bit by bit, at borders of lines and within them; yield its size each time."""
    lines = data.split(b"\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, parts + 1):
        count = len(lines) * number // parts
        written = b"".join(line + b"\n" for line in lines[:count])[: len(data)]
        if number < parts and number % 2:
            written += lines[count][: len(lines[count]) * number // parts]
        path.write_bytes(written)
        yield len(written)


def test_ten_runs_on_a_growing_session_end_as_one(run, isolation, tmp_path, monkeypatch):
    data = to_lines(build_session(16)).encode()
    path = tmp_path / "p" / "s.jsonl"
    read: list[tuple[int, int]] = []
    former = 0
    for size in grow(path, data, 10):
        with monkeypatch.context() as patch:
            meter = Meter(patch)
            assert run("mine", path.parent, "--wing", "w", *CONVOS).code == 0
        read.append((size - former, meter.read[path.name]))
        former = size
    assert path.read_bytes() == data
    grown = list_drawers(open_at(isolation.palace))
    assert len(grown) == 16 * 4
    whole = tmp_path / "whole"
    run("mine", path.parent, "--wing", "w", *CONVOS, "--home", whole)
    assert tell(grown) == tell(list_drawers(open_at(whole)))
    # Each run reads what is new, and as much of the old as tells that it is the same.
    assert former > 350_000
    for added, bytes_read in read[4:]:
        assert bytes_read < added + 48_000 + 5 * 65_536
    assert sum(count for _, count in read[4:]) < 6 * former


def test_a_session_rewritten_from_its_beginning_is_read_whole(run, isolation, tmp_path):
    rows = build_session(3)
    path = write_files(tmp_path / "p", {"s.jsonl": to_lines(rows)}) / "s.jsonl"
    run("mine", path.parent, "--wing", "w", *CONVOS)
    rows[0]["message"]["content"] = "zqother what was asked"
    path.write_text(to_lines(rows + build_session(4)[15:]))
    run("mine", path.parent, "--wing", "w", *CONVOS)
    drawers = list_drawers(open_at(isolation.palace))
    assert len(with_word(drawers, "zqother")) == 1
    assert with_word(drawers, "zqasked0") == []
    assert len(with_word(drawers, "zqasked15")) == 1


# --- the same conversation in another file --------------------------------------------------------


@pytest.mark.parametrize("target", ["q/s.jsonl", "p/renamed.jsonl", "archive/deep/s.jsonl"])
def test_a_session_that_is_moved_adds_nothing(run, isolation, tmp_path, target):
    rows = [claude_row(n, "user", f"zqmoved{n} word") for n in range(3)]
    tree = write_files(tmp_path / "tree", {"p/s.jsonl": to_lines(rows)})
    run("mine", tree, "--wing", "w", *CONVOS)
    before = list_drawers(open_at(isolation.palace))
    (tree / target).parent.mkdir(parents=True, exist_ok=True)
    (tree / "p/s.jsonl").rename(tree / target)
    changes = run("mine", tree, "--wing", "w", *CONVOS).json["drawers"]
    assert {**changes, **NOTHING} == changes
    after = list_drawers(open_at(isolation.palace), history=True)
    assert [drawer.id for drawer in after] == [drawer.id for drawer in before]
    assert {drawer.source_file for drawer in after} == {target}
    # It goes on growing there.
    with (tree / target).open("a") as file:
        file.write(to_lines([claude_row(9, "user", "zqmoved9 word")]))
    assert run("mine", tree, "--wing", "w", *CONVOS).json["drawers"]["added"] == 1


def test_a_session_that_was_copied_adds_nothing(run, isolation, tmp_path):
    rows = [claude_row(n, "user", f"zqcopied{n} word") for n in range(3)]
    tree = write_files(tmp_path / "tree", {"p/s.jsonl": to_lines(rows)})
    run("mine", tree, "--wing", "w", *CONVOS)
    shutil.copytree(tree / "p", tree / "q")
    changes = run("mine", tree, "--wing", "w", *CONVOS).json["drawers"]
    assert {**changes, **NOTHING} == changes
    other = Path(shutil.copytree(tree, tmp_path / "elsewhere"))
    changes = run("mine", other, "--wing", "w", *CONVOS).json["drawers"]
    assert {**changes, **NOTHING} == changes
    assert len(list_drawers(open_at(isolation.palace), history=True)) == 3


def test_the_same_export_under_another_name_adds_nothing(run, isolation, tmp_path):
    talk = (("user", "zqexport which pump?"), ("assistant", "zqexported the second"))
    export = json.dumps([chatgpt_conversation("g1", *talk), chatgpt_conversation("g2", *talk[:1])])
    for name in ("conversations.json", "2026/chats (1).json", "2026/renamed.json"):
        write_files(tmp_path / "chats", {name: export})
        changes = run("mine", tmp_path / "chats", "--wing", "w", *CONVOS).json["drawers"]
        assert changes["added"] == (3 if name == "conversations.json" else 0)
        assert (changes["superseded"], changes["restored"]) == (0, 0)
    drawers = list_drawers(open_at(isolation.palace), history=True)
    assert sorted(drawer.session for drawer in drawers) == ["g1", "g1", "g2"]


def test_what_continues_a_session_in_another_file_is_stored_beside_it(run, isolation, tmp_path):
    first = [claude_row(n, "user", f"zqfirst{n} word") for n in range(2)]
    second = [claude_row(n + 5, "user", f"zqsecond{n} word") for n in range(2)]
    tree = write_files(tmp_path / "p", {"a.jsonl": to_lines(first), "b.jsonl": to_lines(second)})
    for added in (4, 0):
        changes = run("mine", tree, "--wing", "w", *CONVOS).json["drawers"]
        assert {**changes, **NOTHING, "added": added} == changes
    for drawer in list_drawers(open_at(isolation.palace)):
        name = "a.jsonl" if "first" in drawer.content else "b.jsonl"
        assert drawer.source_file == name
        cited = (tree / name).read_bytes()[drawer.span.byte_start : drawer.span.byte_end]
        assert json.loads(cited)["message"]["content"] == drawer.content
    found = run("search", "zqsecond1", "--json").json["results"][0]
    assert (found["source_file"], found["verdict"]) == ("b.jsonl", "same")


# --- citations, and files that are gone -----------------------------------------------------------


def test_a_citation_holds_while_the_record_is_there(run, isolation, tmp_path):
    rows = [claude_row(n, "user", f"zqcited{n} word") for n in range(3)]
    tree = write_files(tmp_path / "p", {"s.jsonl": to_lines(rows)})
    path = tree / "s.jsonl"
    run("mine", tree, "--wing", "w", *CONVOS)

    def verdict() -> str:
        hit = run("search", "zqcited1", "--json").json["results"][0]
        assert hit["content"] == "zqcited1 word"
        shown = run("show", hit["drawer_id"], "--json").json
        assert shown["verdict"] == hit["verdict"]
        return str(hit["verdict"])

    assert verdict() == "same"
    with path.open("a") as file:
        file.write(to_lines([claude_row(9, "user", "zqlater")]))
    assert verdict() == "same"
    path.write_text(to_lines([rows[0], rows[2]]))
    assert verdict() in {"changed", "gone"}
    path.write_text(to_lines(rows))
    assert verdict() == "same"
    path.unlink()
    assert verdict() == "gone"


def test_an_audit_knows_what_was_said_and_what_was_not_read_yet(run, host, tmp_path):
    home = Path(shutil.copytree(host.palace, tmp_path / "palace"))
    audited = call(home, "audit", "--json")
    assert audited["complete"] is True
    assert sum(root["stored"] for root in audited["roots"]) == 9
    rows = [claude_row(n, "user", f"zqaudited{n} word") for n in range(3)]
    tree = write_files(tmp_path / "p", {"s.jsonl": to_lines(rows)})
    run("mine", tree, "--wing", "w", *CONVOS)
    assert run("audit", "--json").json["complete"] is True
    with (tree / "s.jsonl").open("a") as file:
        file.write(to_lines([claude_row(9, "user", "zqlater")]))
    (root,) = run("audit", "--json").json["roots"]
    assert (root["complete"], root["changed"], root["stored"]) == (False, 1, 0)
    run("mine", tree, "--wing", "w", *CONVOS)
    assert run("audit", "--json").json["complete"] is True


def test_a_session_without_a_folder_goes_where_it_was_mined(run, isolation, tmp_path):
    rows = [claude_row(1, "user", "zqnowhere word", cwd=None)]
    export = json.dumps([chatgpt_conversation("g1", ("user", "zqexport word"))])
    tree = write_files(tmp_path / "chats", {"s.jsonl": to_lines(rows), "g.json": export})
    report = run("mine", tree, *CONVOS).json
    assert (report["wing"], report["wings"]) == ("chats", [])
    assert {drawer.wing for drawer in list_drawers(open_at(isolation.palace))} == {"chats"}


def test_what_was_said_outlives_its_file(run, isolation, tmp_path):
    rows = [claude_row(n, "user", f"zqkept{n} word") for n in range(3)]
    tree = write_files(tmp_path / "p", {"s.jsonl": to_lines(rows), "note.md": "zqnote\n"})
    run("mine", tree, "--wing", "w")
    before = list_drawers(open_at(isolation.palace))
    (tree / "s.jsonl").unlink()
    run("mine", tree, "--wing", "w")
    report = run("sync", "--wing", "w", "--apply", "--json").json
    assert (report["gone"], report["pruned"]) == ([], 0)
    assert tell(list_drawers(open_at(isolation.palace))) == tell(before)
    assert run("search", "zqkept2", "--json").json["results"][0]["verdict"] == "gone"


# --- what is not kept -----------------------------------------------------------------------------


def test_what_memory_gave_is_not_stored_again(run, isolation, tmp_path):
    note = write_files(tmp_path / "notes", {"n.md": "zqecho the pump runs at four bar\n"})
    run("mine", note, "--wing", "w")
    woken = run("wake-up", "--wing", "w", "--json").json["text"]
    assert "zqecho" in woken
    block = wrap_recalled([("note", "zqecho the pump runs at four bar")])
    own = {"type": "tool_use", "id": "t1", "name": "mcp__mempal__search", "input": {"query": "zqq"}}
    shell = {
        "type": "tool_use",
        "id": "t2",
        "name": "Bash",
        "input": {"command": "mempal search x"},
    }
    rows = [
        claude_row(1, "user", f"{woken}\n\nzqreal what does it run at?"),
        claude_row(2, "user", f"zqmiddle before {block} zqbehind after"),
        claude_row(3, "assistant", [own]),
        claude_row(4, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": block}]),
        claude_row(5, "assistant", [shell]),
        claude_row(
            6, "user", [{"type": "tool_result", "tool_use_id": "t2", "content": "zqecho again"}]
        ),
        claude_row(7, "assistant", say("zqreply four bar, as you noted")),
    ]
    convos = write_files(tmp_path / "convos", {"s.jsonl": to_lines(rows)})
    run("mine", convos, "--wing", "w", *CONVOS)
    said = {
        drawer.content
        for drawer in list_drawers(open_at(isolation.palace))
        if drawer.room == "conversations"
    }
    assert said == {
        "zqreal what does it run at?",
        "zqmiddle before  zqbehind after",
        "zqreply four bar, as you noted",
    }


def test_private_text_is_nowhere(run, isolation, tmp_path):
    hidden = "zqhidden my own business"
    fence = f"```\n<private>{hidden}</private>\n```"
    turns = ("user", f"zqopen <private>{hidden}</private> zqafter")
    files = {
        "c.jsonl": to_lines(
            [
                claude_row(1, "user", f"zqopen <private>{hidden}</private> zqafter"),
                claude_row(
                    2, "user", f"zqshown <PRIVATE>a <private>{hidden}</private> b</PRIVATE>"
                ),
                claude_row(3, "assistant", say(f"zqsaid <private>{hidden}</private>")),
                claude_row(4, "user", f"zqfenced {fence}"),
                claude_row(5, "user", f"<private>{hidden}</private>"),
                claude_row(6, "user", f"zqcut <private>{hidden}"),
            ]
        ),
        "x.jsonl": to_lines(codex_rows("x", "/work/demo", turns, ("assistant", turns[1]))),
        "g.json": json.dumps([chatgpt_conversation("g", turns, ("assistant", turns[1]))]),
        "t.jsonl": to_lines(
            [
                claude_row(1, "user", "zqtool", sessionId="t"),
                claude_row(
                    2,
                    "assistant",
                    [
                        {
                            "type": "tool_use",
                            "id": "t1",
                            "name": "Bash",
                            "input": {"command": f"echo '<private>{hidden}</private>'"},
                        }
                    ],
                    sessionId="t",
                ),
                claude_row(
                    3,
                    "user",
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "content": f"<private>{hidden}</private>",
                        }
                    ],
                    sessionId="t",
                ),
            ]
        ),
    }
    run("mine", write_files(tmp_path / "convos", files), "--wing", "w", *CONVOS)
    words = ("zqopen", "zqafter", "zqshown", "zqsaid", "zqfenced", "zqcut", "zqtool")
    drawers = list_drawers(open_at(isolation.palace))
    assert all(with_word(drawers, word) for word in words)
    assert list(spill(isolation.palace, ["zqhidden", "my own business"])) == []


def test_titles_which_are_words_of_a_kind_are_not_kept_for_reading_on(run, isolation, tmp_path):
    """What is kept of a growing file is stored as it is: neither redacted nor ever forgotten."""
    named = {"sessionId": claude_row(1, "user", "")["sessionId"]}
    thread = {"type": "thread_name_updated", "thread_name": "zqthread the private matter"}
    files = {
        "s.jsonl": to_lines(
            [
                {"type": "ai-title", "aiTitle": "zqguessed the private matter", **named},
                claude_row(1, "user", "zqasked something"),
                {"type": "custom-title", "customTitle": "zqchosen the private matter", **named},
            ]
        ),
        "c.jsonl": to_lines(
            [
                *codex_rows("c", "/work/demo", ("user", "zqcodex something")),
                {"timestamp": "2026-02-03T10:09:00Z", "type": "event_msg", "payload": thread},
            ]
        ),
    }
    tree = write_files(tmp_path / "p", files)
    for _ in range(2):
        run("mine", tree, "--wing", "w", *CONVOS)
        with (tree / "s.jsonl").open("a") as file:
            file.write(to_lines([claude_row(2, "user", "zqlater")]))
    drawers = list_drawers(open_at(isolation.palace))
    assert all(with_word(drawers, word) for word in ("zqasked", "zqcodex", "zqlater"))
    assert list(spill(isolation.palace, ["private matter", "zqguessed", "zqthread"])) == []


# --- size -----------------------------------------------------------------------------------------


def test_a_session_of_thirty_megabytes_is_mined_in_bounded_memory(tmp_path):
    path = tmp_path / "p" / "s.jsonl"
    path.parent.mkdir()
    with path.open("w") as file:
        for number in range(0, 600, 3):
            result = {"type": "tool_result", "tool_use_id": "t", "content": "output " * 20_000}
            rows = [
                claude_row(number, "user", f"zqbig{number} " + "what of the pump? " * 20),
                claude_row(number + 1, "assistant", say("It runs at four bar. " * 30)),
                claude_row(number + 2, "user", [result], toolUseResult={"stdout": "x" * 10_000}),
            ]
            file.write(to_lines(rows))
    assert path.stat().st_size > 30_000_000
    output, peak = run_measured("mine", path.parent, "--wing", "w", *CONVOS)
    assert json.loads(output)["drawers"]["added"] == 600
    assert peak < 350_000  # KiB
    with path.open("a") as file:
        file.write(to_lines([claude_row(900, "user", "zqlast one more")]))
    output, peak = run_measured("mine", path.parent, "--wing", "w", *CONVOS)
    assert json.loads(output)["drawers"]["added"] == 1
    assert peak < 350_000
