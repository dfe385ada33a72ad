"""Half a surrogate pair, wherever it comes from, stays one character's damage.

A cut by length leaves a lone ``\\ud83d`` in a session, and everything that encodes the text later
fails, for ever (MemPalace/mempalace#1235, anthropics/claude-code#56064, #45982, #70618).
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mempal.core.model import SourceClass
from tests.cases.support import check_spans, holders, mine, open_at
from tests.transcripts import list_drawers, with_word

CASE = Path(__file__).parent / "data" / "B03"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
WALL = f"zqeland start {FAMILY * 3000} zqfinch end\n"
ROCKET = "\U0001f680"
# A name that is not UTF-8: Latin-1, from another system.
ODD = b"caf\xe9-notes.md"
LIMIT = 800


@pytest.fixture
def convos(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASE / "convos", tmp_path / "convos"))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "family-wall.md").write_text(WALL, encoding="utf-8")
    try:
        Path(os.fsdecode(os.path.join(os.fsencode(folder), ODD))).write_bytes(  # noqa: PTH118
            b"zqgecko name is not UTF-8\n"
        )
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    return folder


def is_whole(text: str) -> bool:
    """Return whether a text can be encoded: it holds no half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode() == text


# --- sessions -------------------------------------------------------------------------------------


def test_halves_in_a_session_cost_one_character(run, isolation, convos):
    report = run("mine", convos, "--wing", "w", "--mode", "convos", "--json")
    assert report.code == 0
    assert report.json["warnings"] == []
    drawers = list_drawers(open_at(isolation.palace))
    assert len(drawers) == 4
    assert all(is_whole(drawer.content) for drawer in drawers)
    (cut,) = with_word(drawers, "zqadder")
    assert cut.source_class is SourceClass.TOOL
    assert "zqadder cancelled: mv ./launch/\ufffd… stopped" in cut.content
    (pair,) = with_word(drawers, "zqbison")
    assert pair.content == f"zqbison whole pair stays {ROCKET} and a lone tail \ufffd too"
    (last,) = with_word(drawers, "zqcobra")
    assert last.content == "zqcobra last message after the broken one"
    assert with_word(drawers, "rocket")
    again = run("mine", convos, "--wing", "w", "--mode", "convos", "--json").json
    assert again["drawers"]["added"] == 0


@pytest.mark.parametrize("word", ["zqadder", "zqbison", "zqcobra", ROCKET])
def test_every_answer_is_strict_json_in_utf_8(mempal, isolation, convos, word):
    mempal("mine", convos, "--wing", "w", "--mode", "convos")
    done = mempal("search", word, "--wing", "w", "--json")
    assert done.code == 0
    contents = [hit["content"] for hit in done.json["results"]]
    assert all(map(is_whole, contents))
    if word != ROCKET:
        assert word in contents[0]
    for command in (("search", word), ("wake-up",), ("status", "--json"), ("wake-up", "--json")):
        # Strict decoding is the runner's; a lone half would end in an error there.
        assert mempal(*command, "--wing", "w").code in {0, 2}


@pytest.mark.parametrize("half", ["\\ud83d", "\\ude80", "\\ude80\\ud83d", "\\ud83d\\ud83d\\ude80"])
@pytest.mark.parametrize("place", ["content", "sessionId", "cwd", "tool"])
def test_halves_anywhere_in_a_record(run, isolation, tmp_path, half, place):
    content: Any = f"zqword HALF {place}" if place == "content" else "zqword text"
    if place == "tool":
        use = {
            "type": "tool_use",
            "id": "t",
            "name": "BashHALF",
            "input": {"command": "zqword HALF"},
        }
        content = [use]
    record = {
        "type": "assistant" if place == "tool" else "user",
        "uuid": "u1",
        "sessionId": "sHALF" if place == "sessionId" else "s",
        "cwd": "/work/deHALFmo" if place == "cwd" else "/work/demo",
        "timestamp": "2026-03-01T09:00:00.000Z",
        "message": {"role": "assistant" if place == "tool" else "user", "content": content},
    }
    convos = tmp_path / "convos"
    convos.mkdir()
    (convos / "s.jsonl").write_text(json.dumps(record).replace("HALF", half) + "\n")
    first = run("mine", convos, "--mode", "convos", "--json")
    assert (first.code, first.json["drawers"]["added"]) == (0, 1)
    (drawer,) = list_drawers(open_at(isolation.palace))
    assert is_whole(drawer.content)
    assert (ROCKET in drawer.content) == ("\\ud83d\\ude80" in half and place in {"content", "tool"})
    found = run("search", "zqword", "--all-wings", "--json").json["results"]
    assert [hit["drawer_id"] for hit in found] == [drawer.id]
    assert run("mine", convos, "--mode", "convos", "--json").json["drawers"]["added"] == 0


# --- files and their names ------------------------------------------------------------------------


def test_no_piece_begins_or_ends_within_a_character(isolation, tree):
    palace = open_at(isolation.palace)
    mine(palace, tree, wing="w")
    pieces = sorted(
        (one for one in list_drawers(palace) if one.source_file == "family-wall.md"),
        key=lambda one: one.chunk_index,
    )
    assert "".join(piece.content for piece in pieces) == WALL
    assert len(pieces) > len(WALL) // LIMIT
    for piece in pieces:
        assert len(piece.content) <= LIMIT
        assert is_whole(piece.content)
        # A family is not torn apart either: it is one character to a reader.
        assert not piece.content.startswith("\u200d")
        assert not piece.content.endswith("\u200d")
    check_spans(pieces, WALL.encode())
    for word in ("zqeland", "zqfinch"):
        (found,) = holders(palace, word)
        assert found in pieces


def test_a_name_that_is_not_utf_8_is_mined_and_shown(mempal, isolation, tree):
    mined = mempal("mine", tree, "--wing", "w", "--json")
    assert mined.code == 0
    assert mined.json["files"] == {
        "seen": 2, "mined": 2, "unchanged": 0, "skipped": 0, "excluded": 0
    }  # fmt: skip
    found = mempal("search", "zqgecko", "--wing", "w", "--json").json["results"][0]
    assert "zqgecko" in found["content"]
    assert found["source_file"].startswith("caf")
    assert is_whole(found["source_file"])
    assert found["verdict"] == "same"
    for command in (
        ("search", "zqgecko", "--wing", "w"),
        ("show", found["drawer_id"], "--json"),
        ("audit", "--json"),
        ("mine", tree, "--wing", "w"),
        ("sync", "--wing", "w"),
        ("runs", "--json"),
    ):
        for env in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}):
            assert mempal(*command, env=env).code == 0
    dry = mempal("mine", tree, "--wing", "v", "--dry-run")
    assert dry.code == 0
    assert "family-wall.md" in dry.stdout


# --- text given by hand ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("zqdingo half \ud83d end", "zqdingo half \ufffd end"),
        ("zqdingo tail \ude80", "zqdingo tail \ufffd"),
        ("zqdingo \ud83d\ude80 pair", f"zqdingo {ROCKET} pair"),
        (f"zqdingo {ROCKET} whole", f"zqdingo {ROCKET} whole"),
    ],
)
def test_halves_given_by_hand(run, isolation, given, stored):
    added = open_at(isolation.palace).drawers.add(given, wing="w", room="r", source="s\ud83d")
    assert added.created
    shown = run("show", added.drawer_ids[0], "--json").json
    assert shown["content"] == stored
    assert is_whole(json.dumps(shown, ensure_ascii=False))
    assert run("check-duplicate", stored, "--wing", "w", "--json").json["matches"][0]["exact"]
    assert not open_at(isolation.palace).drawers.add(given, wing="w", room="r").created


def test_bytes_on_the_command_line_that_are_no_text(isolation):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "mempal", "add", b"zqbyte \xed\xa0\xbd end", "--wing", "w"],
        capture_output=True,
        check=False,
    )
    done.stdout.decode()
    assert done.returncode in {0, 2}
    assert b"Traceback" not in done.stderr
    drawers = list_drawers(open_at(isolation.palace)) if isolation.palace.exists() else []
    assert all(is_whole(drawer.content) for drawer in drawers)


def test_a_question_with_a_half_is_answered(run, isolation):
    open_at(isolation.palace).drawers.add(f"zqhalf {ROCKET}", wing="w", room="r")
    for query in ("zqhalf \ud83d", "\ude80", "\ud83d\ude80"):
        done = run("search", query, "--wing", "w", "--json")
        assert done.code == 0
        done.stdout.encode("utf-8")
