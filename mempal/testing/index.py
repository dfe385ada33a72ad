"""A vector index without a file."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mempal.core.model import IndexEntry, Neighbor, Scope
from mempal.core.vector import HEADER_BYTES, dimensions, similarity


@dataclass(frozen=True, slots=True)
class SavedIndex:
    """What one commit of a :class:`MemoryIndex` left behind.

    Attributes:
        position: Store revision it holds everything up to.
        entries: Entry of each drawer, by key; all have vectors.
    """

    identity: str
    dimensions: int
    position: int
    entries: Mapping[int, IndexEntry]


class MemoryIndex:
    """The port ``VectorIndex`` in a dictionary that is searched from end to end.

    Args:
        identity: Identity of the embedder whose vectors it holds.
        dimensions: Components of every vector.
        disk: Stands for the file: each commit appends to it, the last one counts, and instances
            that share it see what the others committed.
    """

    name = "memory"
    volatile_reads = True

    def __init__(
        self,
        identity: str = "hash:A:64:v1",
        dimensions: int = 64,
        disk: list[SavedIndex] | None = None,
    ) -> None:
        self._identity = identity
        self._dimensions = dimensions
        self._disk = [] if disk is None else disk
        self._blank = SavedIndex(identity, dimensions, 0, {})
        self._base = self._blank
        self._changes: dict[int, IndexEntry] = {}
        self._emptied = False
        self._look()

    def position(self) -> int:
        """Return the revision of the last commit; 0 when there is none for this embedder."""
        if not self._emptied:
            self._look()
        return self._base.position

    def apply(self, entries: Iterable[IndexEntry]) -> None:
        """Add, replace or remove entries, all of them or none."""
        changes = {}
        for entry in entries:
            if entry.vector is not None:
                self._check(entry.vector)
            changes[entry.key] = entry
        self._changes |= changes

    def commit(self, position: int) -> None:
        """Let other instances see everything applied."""
        self._disk.append(replace(self._base, position=position, entries=self._merge()))
        self._changes, self._emptied = {}, False
        self._look()

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        """Return the drawers most similar to ``vector``, best first, ties by key."""
        self._check(vector)
        if not self._changes and not self._emptied:
            self._look()
        if limit < 1 or not any(vector[HEADER_BYTES:]):
            return []
        found = [
            Neighbor(key, similarity(vector, entry.vector))
            for key, entry in self._merge().items()
            if entry.vector is not None
            and scope.wing in (None, entry.wing)
            and scope.room in (None, entry.room)
            and (entry.current or not scope.current_only)
        ]
        return sorted(found, key=lambda near: (-near.similarity, near.key))[:limit]

    def count(self) -> int:
        """Return the number of drawers in the index."""
        return len(self._merge())

    def problems(self) -> list[str]:
        """Return nothing: a dictionary does not decay."""
        return []

    def reset(self) -> None:
        """Empty the index; the next ``commit`` shows it to other instances."""
        self._base, self._changes, self._emptied = self._blank, {}, True

    def close(self) -> None:
        """Forget what was not committed."""
        self._changes, self._emptied = {}, False
        self._look()

    def _look(self) -> None:
        former, self._base = self._base, self._blank
        if self._disk:
            saved = self._disk[-1]
            if (saved.identity, saved.dimensions) == (self._identity, self._dimensions):
                self._base = saved
        if self._base.position != former.position:
            self._changes = {}

    def _merge(self) -> dict[int, IndexEntry]:
        # A vector without direction is similar to nothing, so nothing would ever find it.
        return {
            key: entry
            for key, entry in {**self._base.entries, **self._changes}.items()
            if entry.vector is not None and any(entry.vector[HEADER_BYTES:])
        }

    def _check(self, vector: bytes) -> None:
        if dimensions(vector) != self._dimensions:
            raise ValueError(
                f"a vector of {dimensions(vector)} components in an index of {self._dimensions}"
            )
