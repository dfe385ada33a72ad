"""Runs: what one command changed in a store, and what taking it back or away came to."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mempal.core.errors import UsageError

# What these verbs take away is gone from the file as well, so nothing can bring it back.
FINAL_VERBS = frozenset({"forget", "purge"})


class RunState(StrEnum):
    """How far a run has come; one whose process died stays ``running``."""

    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Run:
    """One command that changed a store.

    Attributes:
        id: Number, in the order in which runs began; never given twice.
        verb: Name of the command.
        wing: Wing it was about; ``None`` when it was about several.
        process: Id of the process that ran it.
        finished_at: Instant it ended; ``None`` while it runs and after its process died.
        undone_at: Instant it was undone.
        detail: What it was told and what it counted, as JSON values.
    """

    id: int
    verb: str
    wing: str | None
    process: int
    started_at: int
    finished_at: int | None = None
    undone_at: int | None = None
    detail: Mapping[str, object] = field(default_factory=dict)

    @property
    def state(self) -> RunState:
        """How far the run has come."""
        if self.undone_at is not None:
            return RunState.UNDONE
        return RunState.RUNNING if self.finished_at is None else RunState.DONE


@dataclass(frozen=True, slots=True)
class Undone:
    """What undoing a run did.

    Attributes:
        removed: Drawers that the run had added, and that are gone now.
        returned: Drawers that are again what they were before the run.
        sources: Sources that are again what they were, or gone when the run had added them.
    """

    run_id: int
    verb: str
    removed: int = 0
    returned: int = 0
    sources: int = 0


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many drawers were removed for good, and how many sources are barred from coming back."""

    drawers: int = 0
    sources: int = 0


@dataclass(frozen=True, slots=True)
class RetireOutcome:
    """What retiring sources did.

    Attributes:
        superseded: Number of drawers that are no longer current.
        protected: (drawer id, card id) for each card that keeps a drawer current.
    """

    superseded: int = 0
    protected: tuple[tuple[str, str], ...] = ()


def is_alive(process: int) -> bool:
    """Return whether a process runs on this machine; where that cannot be told, it does."""
    if sys.platform == "win32":
        return True  # there, the same call would end the process instead of asking for it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What stands against undoing a run.

    Attributes:
        final: Whether what the run removed is gone for good.
        later: A later run that changed the same things; 0 for a change outside of any run.
        cards: Cards that cite drawers which would be removed.
    """

    final: bool = False
    later: int | None = None
    cards: tuple[str, ...] = ()

    def explain(self, run: Run) -> UsageError:
        """Return the error that says so."""
        named = f"run {run.id} ({run.verb})"
        if self.final:
            return UsageError(
                f"{named} cannot be undone: what it removed is gone for good",
                hint="mine the sources again to store what is still there",
            )
        if self.later:
            return UsageError(
                f"run {self.later} has changed what {named} changed",
                hint=f"undo run {self.later} first: `mempal undo {self.later}`",
            )
        if self.later is not None:
            return UsageError(
                f"what {named} changed was changed again since, outside of any run",
                hint="`mempal runs` lists what came after it",
            )
        return UsageError(
            f"{named} added drawers that cards cite: {', '.join(self.cards)}",
            hint="retire the cards, or give them other evidence, first",
        )


def refuse_undoing(run: Run) -> None:
    """Check that a run by itself can be undone.

    Raises:
        UsageError: It is under way, was undone, or its verb is final.
    """
    if run.state is RunState.UNDONE:
        raise UsageError(f"run {run.id} ({run.verb}) was undone already")
    if run.state is RunState.RUNNING and is_alive(run.process):
        raise UsageError(
            f"run {run.id} ({run.verb}) is under way in process {run.process}",
            hint="wait until it has finished",
        )
    if run.verb in FINAL_VERBS:
        raise Obstacle(final=True).explain(run)
