"""How far a long command is: a bar on standard error, for people, once it has lasted a second."""

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mempal.cli import streams
from mempal.cli.escape import escape_name, mend_surrogates

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

VARIABLE = "MEMPAL_PROGRESS"
DELAY_SECONDS = 1.0


class SilentProgress:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        return

    def start(self, what: str, total: int | None) -> None:
        """Begin a phase."""

    def advance(self, label: str = "") -> None:
        """One step is done."""


class RichProgress:
    """Draws one bar per phase with Rich, which is loaded only when the first bar is due.

    Args:
        delay: Seconds of work before anything is drawn.
        clock: Source of the present time in seconds.
    """

    def __init__(
        self, *, delay: float = DELAY_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._due = clock() + delay
        self._bars: Bars | None = None
        self._task: TaskID | None = None
        self._what = ""
        self._total: int | None = None
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal as it was."""
        self._end_phase()
        if self._bars:
            self._bars.stop()

    def start(self, what: str, total: int | None) -> None:
        """Begin a phase."""
        self._end_phase()
        self._what, self._total, self._done = what, total, 0
        self._draw("")

    def advance(self, label: str = "") -> None:
        """One step is done."""
        self._done += 1
        self._draw(label)

    def _end_phase(self) -> None:
        if self._bars and self._task is not None:
            self._bars.update(self._task, label="")
        self._task = None

    def _draw(self, label: str) -> None:
        if self._bars is None:
            if self._clock() < self._due:
                return
            self._bars = _make_bars()
            self._bars.start()
        shown = escape_name(mend_surrogates(label))
        if self._task is None:
            self._task = self._bars.add_task(self._what, total=self._total, label=shown)
        self._bars.update(self._task, completed=self._done, label=shown)


def open_progress() -> SilentProgress | RichProgress:
    """Return what fits standard error; ``MEMPAL_PROGRESS=always`` draws at once and everywhere."""
    if os.environ.get(VARIABLE) == "always":
        return RichProgress(delay=0)
    return RichProgress() if streams.is_terminal(sys.stderr) else SilentProgress()


def _make_bars() -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(
            "{task.fields[label]}",
            markup=False,
            style="dim",
            table_column=Column(no_wrap=True, overflow="ellipsis"),
        ),
        console=Console(stderr=True, markup=False, highlight=False),
    )
