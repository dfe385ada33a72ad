"""Parts of the port ``Store`` about what was done, taken away and moved.

They are parts of :class:`mempal.core.ports.Store`, whose promises hold for them too.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from mempal.core.model import Chunk, Drawer, Place, Source
from mempal.core.runs import Forgotten, RetireOutcome, Run, Undone


class RunLog(Protocol):
    """Runs: which commands changed the store, and how each can be undone."""

    def begin_run(self, verb: str, wing: str | None, detail: Mapping[str, object]) -> int:
        """Record that a command begins in this process; return the run's number.

        Until ``finish_run``, what every change of this store object replaces is kept, without any
        stored text, so that the run can be undone.

        Args:
            verb: Name of the command.
            wing: Wing it is about; ``None`` for several.
            detail: What it was told, as JSON values.
        """
        ...

    def finish_run(self, detail: Mapping[str, object]) -> None:
        """Record that the run ends, and add ``detail`` to what was recorded about it.

        A run that changed nothing is dropped. Without a run nothing happens.
        """
        ...

    def runs(self, limit: int) -> list[Run]:
        """Return the newest runs, newest first."""
        ...

    def run(self, run_id: int) -> Run | None:
        """Return one run."""
        ...

    def undo_run(self, run_id: int, at: int) -> Undone:
        """Bring everything that a run changed back to what it was before.

        Drawers that the run added are removed as if they had never been stored; their keys are not
        given again. Names of defined symbols stay as they were last read. Undoing is no run
        itself: call it outside of one.

        Raises:
            NotFoundError: There is no such run.
            UsageError: The run is under way or was undone, what it removed is gone for good, a
                later run changed the same things, or a card cites a drawer it added.
        """
        ...


class Removal(Protocol):
    """What a person takes away: at first so that it can come back, in the end for good."""

    def cited(self, keys: Iterable[int]) -> Mapping[int, tuple[str, ...]]:
        """Return which cards cite each of these drawers, sorted; uncited drawers are left out."""
        ...

    def delete_drawers(self, keys: Sequence[int], at: int) -> list[int]:
        """Hide drawers that no card cites from every search; return the keys of those hidden."""
        ...

    def restore_drawers(self, keys: Sequence[int]) -> list[int]:
        """Bring deleted drawers back, as current or superseded as they were; return their keys."""
        ...

    def deleted_drawers(self, before: int | None, wing: str | None) -> list[Drawer]:
        """Return deleted drawers by key.

        Args:
            before: Only those deleted before this instant.
            wing: Only those of this wing.
        """
        ...

    def keys_of(self, places: Sequence[Place]) -> list[int]:
        """Return the drawers of sources, and of the conversations they hold, by key.

        Superseded and deleted ones are among them.
        """
        ...

    def equal_to(self, keys: Sequence[int]) -> list[int]:
        """Return these drawers and all others that hold one of their texts, by key.

        Superseded and deleted ones are among them.
        """
        ...

    def purge(self, keys: Sequence[int]) -> int:
        """Remove for good those of these drawers that are deleted and that no card cites.

        Return their number. Indexes learn of it through ``entries_since``.
        """
        ...

    def forget(self, keys: Sequence[int], sources: Sequence[Place], at: int) -> Forgotten:
        """Remove drawers for good, whatever state they are in, and bar their text from returning.

        Cards lose their links to them, which are kept as forgotten. Call ``scrub`` afterwards.

        Args:
            keys: Drawers to remove.
            sources: Sources to remove with all they have and hold; nothing is filed there again.
            at: Instant of the removal.
        """
        ...

    def has_traces(self) -> bool:
        """Return whether something that was forgotten may still be read in a file.

        So from ``forget`` until ``scrub``, also when the process died in between. Indexes are to be
        written anew before ``scrub``, which ends it.
        """
        ...

    def scrub(self) -> None:
        """Write the store's files anew, so that nothing readable is left of what was removed.

        Raises:
            BusyError: Another process reads an older state; the next writer tries again.
        """
        ...

    def withhold(self, source: Source, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return chunks without what was forgotten.

        A chunk whose whole text was forgotten is left out; a forgotten line of this source is
        replaced by ``[forgotten]``. Every method that is given chunks does this first, and does
        nothing with those of a source that was forgotten itself.
        """
        ...


class Relocation(Protocol):
    """Files that were renamed, are gone, or are no longer to be read."""

    def rename_source(self, place: Place, path: str, room: str, at: int) -> int:
        """Record that the file at ``place`` now lies at ``path`` of the same tree.

        Its drawers, superseded ones included, keep their ids and are in ``room`` now; the
        conversations that it holds go along; its former place stays as a source that is gone.
        Nothing is done when the file is unknown or when ``path`` has current drawers or was
        forgotten.

        Returns:
            How many current drawers are cited at the new path.
        """
        ...

    def retire_sources(self, places: Sequence[Place], at: int) -> RetireOutcome:
        """Record that files are gone: their drawers are superseded, but for those a card cites.

        Conversations held in them stay.
        """
        ...

    def drop_sources(self, places: Sequence[Place]) -> int:
        """Drop the record of sources that are gone and that have and hold nothing; count them."""
        ...
