"""Runs and undo: what each asks of the palace, and what it answers."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mempal.core.errors import NotFoundError, UsageError
from mempal.core.runs import Run, Undone

Call = Callable[..., Any]
NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z
SECOND = 1000


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid


@pytest.fixture
def palace(palace: Any) -> Any:
    palace.runs = palace
    palace.answers |= {
        "list": (
            Run(12, "sync", "shop", 1, NOON + SECOND, NOON + 2 * SECOND, NOON + 3 * SECOND),
            Run(9, "mine", None, 1, NOON, NOON + SECOND, detail={"roots": ["/nowhere"]}),
        ),
        "undo": Undone(12, "sync", removed=3, returned=2, sources=1),
    }
    return palace


def test_twenty_runs_are_listed_unless_told(run: Call, palace: Any):
    run("runs")
    assert palace.called("list")[0] == (20,)
    palace.calls.clear()
    run("runs", "-n", "3")
    assert palace.called("list")[0] == (3,)


@pytest.mark.parametrize("number", ["0", "-1", "1001", "many"])
def test_a_number_that_makes_no_sense_is_refused(run: Call, palace: Any, number: str):
    assert run("runs", "-n", number).code == 2
    assert palace.calls == []


def test_runs_are_a_table(run: Call, palace: Any):
    printed = run("runs")
    assert (printed.code, printed.err) == (0, "")
    assert printed.out == (
        "run  verb  wing  started                   state\n"
        " 12  sync  shop  2026-01-01T12:00:01.000Z  undone\n"
        "  9  mine        2026-01-01T12:00:00.000Z  done\n"
    )


def test_json(run: Call, palace: Any):
    assert run("runs", "--json").json == {
        "runs": [
            {
                "run": 12,
                "verb": "sync",
                "wing": "shop",
                "state": "undone",
                "started_at": "2026-01-01T12:00:01.000Z",
                "finished_at": "2026-01-01T12:00:02.000Z",
                "undone_at": "2026-01-01T12:00:03.000Z",
                "detail": {},
            },
            {
                "run": 9,
                "verb": "mine",
                "wing": None,
                "state": "done",
                "started_at": "2026-01-01T12:00:00.000Z",
                "finished_at": "2026-01-01T12:00:01.000Z",
                "undone_at": None,
                "detail": {"roots": ["/nowhere"]},
            },
        ]
    }


def test_a_run_whose_process_died_is_told_from_one_under_way(run: Call, palace: Any, dead: int):
    palace.answers["list"] = (
        Run(3, "mine", "w", os.getpid(), NOON),
        Run(2, "mine", "w", dead, NOON),
        Run(1, "mine", "w", dead, NOON, undone_at=NOON),
    )
    states = [row.split()[-1] for row in run("runs").out.splitlines()]
    assert states == ["state", "running", "stopped", "undone"]
    listed = run("runs", "--json").json["runs"]
    assert [one["state"] for one in listed] == ["running", "stopped", "undone"]
    assert listed[0]["finished_at"] is None


def test_where_nothing_was_done_that_is_said(run: Call, palace: Any):
    palace.answers["list"] = ()
    assert run("runs").out == "nothing was done yet\n"
    assert run("runs", "--json").json == {"runs": []}


def test_odd_names_of_wings_are_harmless(run: Call, palace: Any):
    palace.answers["list"] = (Run(1, "mine", "a\x1b[2J\u202e", 1, NOON, NOON),)
    out = run("runs").out
    assert r"a\x1b[2J\u202e" in out
    assert "\x1b" not in out


def test_undo(run: Call, palace: Any):
    printed = run("undo", "12")
    assert palace.called("undo") == ((12,), {})
    assert printed.out == "undid run 12 (sync): 3 drawers removed, 2 as before\n"
    assert (printed.code, printed.err) == (0, "")
    assert run("undo", "12", "--json").json == {
        "run": 12,
        "verb": "sync",
        "removed": 3,
        "returned": 2,
        "sources": 1,
    }


@pytest.mark.parametrize("arguments", [(), ("0",), ("-4",), ("last",), ("1", "2"), (str(1 << 63),)])
def test_what_is_no_run_is_refused(run: Call, palace: Any, arguments: tuple[str, ...]):
    assert run("undo", *arguments).code == 2
    assert palace.calls == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFoundError("there is no run 12", hint="`mempal runs` lists them"), 3),
        (UsageError("run 13 has changed it", hint="undo run 13 first"), 2),
    ],
)
def test_a_run_that_cannot_be_undone(run: Call, palace: Any, error: Any, code: int):
    palace.answers["undo"] = error
    printed = run("undo", "12")
    assert (printed.code, printed.out) == (code, "")
    assert printed.err == f"error: {error.message}\nhint: {error.hint}\n"
    printed = run("undo", "12", "--json")
    assert printed.code == code
    assert printed.json["error"]["hint"] == error.hint


@pytest.mark.parametrize(("verb", "example"), [("runs", "mempal runs -n"), ("undo", "mempal undo")])
def test_help_has_an_example(run: Call, palace: Any, verb: str, example: str):
    printed = run(verb, "-h")
    assert printed.code == 0
    assert f"Example: {example} " in printed.out
