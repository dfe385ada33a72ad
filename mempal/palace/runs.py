"""Verbs about what was done: which runs there were, and taking one back."""

from dataclasses import dataclass

from mempal.core.clock import now
from mempal.core.runs import Run, Undone
from mempal.palace.access import Access


@dataclass(frozen=True, slots=True)
class Runs:
    """The log of runs."""

    access: Access

    def list(self, limit: int = 20) -> tuple[Run, ...]:
        """Return the newest runs that changed something, newest first."""
        if not self.access.exists():
            return ()
        with self.access.open(writable=False) as store:
            return tuple(store.runs(limit))

    def undo(self, number: int) -> Undone:
        """Bring everything that a run changed back to what it was before.

        Raises:
            NotFoundError: There is no palace or no such run.
            UsageError: The run is under way, was undone or removed for good, or a later run or a
                card builds on it.
        """
        self.access.require()
        with self.access.open(writable=True) as store:
            undone = store.undo_run(number, now())
            self.access.refresh(store)
        return undone
