"""``mempal runs`` and ``undo``: what was done, and taking it back."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line, Table
from mempal.cli.documents import Document
from mempal.cli.options import HomeOption, JsonOption
from mempal.cli.session import open_palace
from mempal.core.clock import format_instant
from mempal.core.runs import Run, RunState, Undone, is_alive

LimitOption = Annotated[int, typer.Option("-n", "--limit", min=1, max=1000, help="How many.")]
# The largest number that the database can hold.
_LAST_RUN = (1 << 63) - 1
RunArgument = Annotated[
    int, typer.Argument(metavar="RUN", help="Number of the run.", min=1, max=_LAST_RUN)
]


def runs(limit: LimitOption = 20, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List what changed the palace, newest first."""
    render.answer(
        open_palace(home).runs.list(limit),
        as_json=as_json,
        document=describe_runs,
        view=show_runs,
    )


def undo(run: RunArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Take a run back: everything is as it was before it."""
    undone = open_palace(home).runs.undo(run)
    render.answer(undone, as_json=as_json, document=describe_undone, view=show_undone)


def describe_runs(listed: Sequence[Run]) -> Document:
    """Return the document of ``runs``."""
    return {"runs": [_describe(run) for run in listed]}


def describe_undone(undone: Undone) -> Document:
    """Return the document of ``undo``."""
    fields = asdict(undone)
    return {"run": fields.pop("run_id"), **fields}


def show_runs(listed: Sequence[Run]) -> Iterator[Block]:
    """Show one run a line."""
    rows = tuple(
        (
            str(run.id),
            run.verb,
            run.wing or "",
            format_instant(run.started_at) or "",
            _tell_state(run),
        )
        for run in listed
    )
    if rows:
        yield Table(("run", "verb", "wing", "started", "state"), rows, (0,))
    else:
        yield Line("nothing was done yet")


def show_undone(undone: Undone) -> Iterator[Block]:
    """Show what taking a run back came to."""
    yield Line(
        f"undid run {undone.run_id} ({undone.verb}): {undone.removed} drawers removed,"
        f" {undone.returned} as before"
    )


def _tell_state(run: Run) -> str:
    """Return the state of a run; one whose process died is ``stopped``."""
    if run.state is RunState.RUNNING and not is_alive(run.process):
        return "stopped"
    return str(run.state)


def _describe(run: Run) -> Document:
    return {
        "run": run.id,
        "verb": run.verb,
        "wing": run.wing,
        "state": _tell_state(run),
        "started_at": format_instant(run.started_at),
        "finished_at": format_instant(run.finished_at),
        "undone_at": format_instant(run.undone_at),
        "detail": dict(run.detail),
    }
