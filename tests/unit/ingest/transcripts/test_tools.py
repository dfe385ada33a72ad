"""A tool call and its answer are one short line each."""

import json

import pytest

from mempal.core.recall import wrap_recalled
from mempal.ingest.transcripts.tools import describe_call, describe_result, is_own, read_output


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Bash", {"command": "git status --short", "description": "d"}, "git status --short"),
        ("Read", {"limit": 3, "file_path": "/w/a.py"}, "/w/a.py"),
        ("Grep", {"path": "/w", "pattern": "def x"}, "def x"),
        ("shell", {"command": ["bash", "-lc", "ls -l\n| wc"]}, "ls -l | wc"),
        ("shell", {"command": ["ls", "-l", 3]}, "ls -l"),
        ("shell", '{"command": ["ls"]}', "ls"),
        ("web_search", {"queries": ["a", "b"]}, "a, b"),
        ("other", {"n": 1, "whatever": " told "}, "told"),
        ("free", "some text", "some text"),
        ("patch", "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py", "a.py, b.py"),
        ("bad", '{"command": ', '{"command":'),
        ("image", {"url": "data:image/png;base64,iVBORw0KGgo="}, "[data]"),
    ],
)
def test_a_call_is_told_by_what_tells_most(name, arguments, line):
    assert describe_call(name, arguments) == f"{name}: {line}"


@pytest.mark.parametrize("arguments", [None, {}, {"n": 1}, [], "", " ", 7, {"command": None}])
def test_a_call_that_tells_nothing_is_not_told(arguments):
    assert describe_call("x", arguments) == ""


def test_lines_are_short():
    line = describe_call("Bash", {"command": "word " * 100_000})

    assert len(line) <= len("Bash: ") + 200
    assert line.endswith("word\u2026")
    assert describe_call("Bash", {"command": "x" * 200}) == f"Bash: {'x' * 200}"


@pytest.mark.parametrize(
    ("text", "failed", "line"),
    [
        ("3 passed\n", False, "Bash -> 3 passed"),
        ("no such file", True, "Bash -> error: no such file"),
        ("a\n\n\tb", False, "Bash -> a b"),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\ndone", False, "Bash -> done"),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nbad", False, "Bash -> error: bad"),
        ("Chunk ID: 1f\nProcess exited with code 1\nOutput:\nbad", False, "Bash -> error: bad"),
        ("x<system-reminder>told by the host</system-reminder>", False, "Bash -> x"),
        ("<system-reminder>told by the host</system-reminder>", False, ""),
        ("", True, ""),
        (wrap_recalled([("a", "b")]), False, ""),
    ],
)
def test_a_result_is_told_by_its_beginning(text, failed, line):
    assert describe_result("Bash", text, failed=failed) == line


def test_a_result_of_an_unknown_call():
    assert describe_result("", "x") == "tool -> x"


@pytest.mark.parametrize(
    ("output", "text", "failed"),
    [
        ("plain", "plain", False),
        (json.dumps({"output": "o", "metadata": {"exit_code": 0}}), "o", False),
        (json.dumps({"output": "o", "metadata": {"exit_code": 3}}), "o", True),
        ({"content": [{"type": "input_text", "text": "a"}, "b"], "success": False}, "a\nb", True),
        ({"error": "broken"}, "broken", True),
        ([{"type": "text", "text": "a"}, {"type": "image", "source": {}}, None], "a", False),
        ('{"not": "an answer"}', "", False),
        (None, "", False),
        (5, "", False),
    ],
)
def test_answers_of_every_shape(output, text, failed):
    assert read_output(output) == (text, failed)


@pytest.mark.parametrize("name", ["mcp__mempal__search", "mempal_search", "mcp__plugin_mempal_x"])
def test_calls_of_mempal_are_known_by_name(name):
    assert is_own(name)


@pytest.mark.parametrize(
    "command",
    [
        "mempal search x",
        "mempal",
        "cd /w && mempal wake-up | head",
        "/usr/bin/mempal status",
        "MEMPAL_HOME=/x mempal mine .",
        "uv run mempal search x",
        "python -m mempal search x",
        "echo $(mempal search x)",
    ],
)
def test_calls_of_mempal_are_known_by_command(command):
    assert is_own("Bash", {"command": command})
    assert is_own("shell", json.dumps({"command": ["bash", "-lc", command]}))


@pytest.mark.parametrize(
    "command",
    ["cd /w/mempal && ls", "ls mempal", "grep -r mempal .", "pip show mempal", "mempalace x", ""],
)
def test_other_commands_are_told(command):
    assert not is_own("Bash", {"command": command})
    assert not is_own("mempalace_search", {"query": command})
