"""The port ``VectorIndex`` over one mapped file and the changes made since it was written."""

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mempal.adapters.exact.delta import REMOVED, Delta
from mempal.adapters.exact.scan import admit, find_best, mask_rows
from mempal.adapters.exact.table import (
    Content,
    Rows,
    ScopeName,
    Table,
    UnusableError,
    open_table,
    write_table,
)
from mempal.core.errors import BusyError, DamagedError
from mempal.core.model import IndexEntry, Neighbor, Scope
from mempal.core.vector import HEADER_BYTES, dimensions, similarity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REINDEX = "`mempal reindex` rebuilds it from the stored vectors"
# Each costs a search; the checksum is what proves the file.
_SAMPLE = 16
# A vector of unit length, packed, keeps its length to about this.
_UNIT_TOLERANCE = 0.05
# Rows of codes copied at once when the file is written: 4 MB at 256 dimensions.
_BLOCK_ROWS = 16_384

_Signature = tuple[int, int, int, int]


class ExactIndex:
    """Compares every vector with the question: exact, and cheap up to hundreds of thousands.

    The file is looked at again, and mapped anew when another process replaced it, each time its
    position is asked for. Entries applied by a reader stay in its memory. Whoever commits must hold
    the palace's writer lock from before asking for the position.

    Args:
        path: The file, which need not exist.
        identity: Identity of the embedder whose vectors it holds.
        dimensions: Components of every vector.
        lineage: Names the store whose drawers it holds; the file of another one does not count.
    """

    name = "exact"
    volatile_reads = True

    def __init__(self, path: Path, identity: str, dimensions: int, *, lineage: str = "") -> None:
        self._path = path
        self._lineage = lineage
        self._identity = identity
        self._dimensions = dimensions
        self._table: Table | None = None
        self._signature: _Signature | None = None
        self._fault: UnusableError | None = None
        self._looked = False
        self._emptied = False
        self._applied = False
        self._delta = Delta(dimensions)

    def position(self) -> int:
        """Return the revision the file holds the store up to; 0 when it cannot serve."""
        if self._emptied:
            return 0
        self._look()
        return self._table.layout.position if self._table else 0

    def apply(self, entries: Iterable[IndexEntry]) -> None:
        """Add, replace or remove entries in memory, all of them or none.

        Raises:
            ValueError: A vector has the wrong number of components.
        """
        if not self._looked:
            self._look()
        self._delta.extend(entries)
        self._applied = True

    def commit(self, position: int) -> None:
        """Write the file anew with everything applied.

        Raises:
            BusyError: Another process replaced the file in the meantime.
            DamagedError: The file cannot be written.
        """
        if not self._looked:
            self._look()
        unchanged = not self._emptied and not self._delta
        if unchanged and self._table and self._table.layout.position == position:
            return
        if not self._emptied and self._read_signature() != self._signature:
            raise BusyError(
                f"{self._path} was changed by another process while it was being written",
                hint="run it again",
            )
        try:
            write_table(self._path, self._merge(position))
        except OSError as error:
            raise DamagedError(
                f"{self._path} cannot be written ({error.strerror})",
                hint="check it and its folder, move it away if it is no file, then run"
                " `mempal reindex`",
            ) from error
        self._begin_anew()
        self._look()

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        """Return the drawers most similar to ``vector``, best first, ties by key.

        Raises:
            ValueError: The vector has the wrong number of components.
            DamagedError: The file is damaged and nothing was applied in its place.
        """
        if len(vector) != HEADER_BYTES + self._dimensions:
            raise ValueError(
                f"a vector of {dimensions(vector)} components asked of an index"
                f" of {self._dimensions}"
            )
        if not self._looked or not (self._applied or self._emptied):
            self._look()
        if self._fault and self._fault.damaged and not (self._applied or self._emptied):
            raise DamagedError(str(self._fault), hint=_REINDEX) from self._fault
        if limit < 1 or not vector[HEADER_BYTES:].strip(b"\0"):
            return []
        found = [self._nearest_in_table(vector, limit, scope)]
        if self._delta:
            rows = self._delta.rows()
            allowed = mask_rows(rows, admit(scope, self._delta.names))
            found.append(find_best(rows, vector, limit, allowed))
        best = heapq.merge(*found, key=lambda neighbor: (-neighbor.similarity, neighbor.key))
        return [neighbor for neighbor, _ in zip(best, range(limit), strict=False)]

    def count(self) -> int:
        """Return the number of drawers in the file and in memory."""
        if not self._looked:
            self._look()
        stored = 0 if self._emptied or not self._table else self._table.layout.count
        if not self._delta:
            return stored
        live = int((self._delta.rows().scopes != REMOVED).sum())
        return stored - len(self._find_hidden()) + live

    def problems(self) -> list[str]:
        """Verify the file's checksums and search a sample of its vectors for themselves."""
        self._look()
        if self._fault:
            known = not self._fault.foreign and (self._fault.damaged or self._path.exists())
            return [f"{self._fault}; {_REINDEX}"] if known else []
        if self._table is None:
            return []
        problems = []
        if not self._table.verify_codes():
            problems.append(f"{self._path} is damaged: its vectors are not what was written")
        found = list(_search_sample(self._table.rows))
        if lost := found.count(False):
            problems.append(f"{self._path}: {lost} of {len(found)} vectors do not find themselves")
        return [f"{problem}; {_REINDEX}" for problem in problems]

    def reset(self) -> None:
        """Empty the index in memory; the next ``commit`` replaces the file."""
        if not self._looked:
            self._look()
        self._delta = Delta(self._dimensions)
        self._emptied = True

    def close(self) -> None:
        """Let go of the file and of what was not committed."""
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._table = self._signature = self._fault = None
        self._looked = self._emptied = self._applied = False
        self._delta = Delta(self._dimensions)

    def _look(self) -> None:
        """Map the file, unless it is the one that was looked at last."""
        signature = self._read_signature()
        if self._looked and signature == self._signature:
            return
        former = self._table.layout.position if self._table else 0
        try:
            table = open_table(self._path, self._identity, self._dimensions, self._lineage)
            self._table, self._fault = table, None
        except UnusableError as error:
            self._table, self._fault = None, error
        position = self._table.layout.position if self._table else 0
        if self._looked and position != former and not self._emptied:
            # What was applied to the former file may be older than what the new one holds.
            self._delta, self._applied = Delta(self._dimensions), False
        self._looked, self._signature = True, signature

    def _read_signature(self) -> _Signature | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def _base(self) -> tuple[Rows, tuple[ScopeName, ...]]:
        if self._table is None or self._emptied:
            return Delta(self._dimensions).rows(), ()
        return self._table.rows, self._table.layout.names

    def _find_hidden(self) -> "NDArray[np.intp]":
        """Return the places of the file's rows that something was applied to since."""
        import numpy as np

        keys, changed = self._base()[0].keys, self._delta.rows().keys
        if not len(keys):
            return np.empty(0, np.intp)
        places = np.minimum(np.searchsorted(keys, changed), len(keys) - 1)
        hidden: NDArray[np.intp] = places[keys[places] == changed]
        return hidden

    def _nearest_in_table(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        rows, names = self._base()
        if not len(rows.keys):
            return []
        admitted = admit(scope, names)
        allowed = None if all(admitted) and not self._delta else mask_rows(rows, admitted)
        if allowed is not None and self._delta:
            allowed[self._find_hidden()] = False
        return find_best(rows, vector, limit, allowed)

    def _merge(self, position: int) -> Content:
        """Return the file's rows without those that changed, and the changed ones, by key."""
        import numpy as np

        base, base_names = self._base()
        changes = self._delta.rows()
        kept = np.ones(len(base.keys), bool)
        kept[self._find_hidden()] = False
        old = np.flatnonzero(kept)
        new = np.flatnonzero(changes.scopes != REMOVED)
        keys = np.concatenate((base.keys[old], changes.keys[new]))
        order = np.argsort(keys, kind="stable")
        scopes = np.concatenate((base.scopes[old], changes.scopes[new] + len(base_names)))
        names, scopes = _renumber((*base_names, *self._delta.names), scopes[order])
        return Content(
            identity=self._identity,
            dimensions=self._dimensions,
            lineage=self._lineage,
            position=position,
            names=names,
            keys=keys[order],
            scopes=scopes,
            scales=np.concatenate((base.scales[old], changes.scales[new]))[order],
            blocks=self._gather(base, changes, old, new, order),
        )

    def _gather(
        self,
        base: Rows,
        changes: Rows,
        old: "NDArray[np.intp]",
        new: "NDArray[np.intp]",
        order: "NDArray[np.intp]",
    ) -> "Iterator[NDArray[np.int8]]":
        """Yield the codes of rows ``old`` and ``new`` in order, holding one block at a time."""
        import numpy as np

        for start in range(0, len(order), _BLOCK_ROWS):
            part = order[start : start + _BLOCK_ROWS]
            block = np.empty((len(part), self._dimensions), np.int8)
            is_old = part < len(old)
            block[is_old] = base.codes[old[part[is_old]]]
            block[~is_old] = changes.codes[new[part[~is_old] - len(old)]]
            yield block
            if self._table:
                self._table.forget_pages()


def _renumber(
    names: tuple[ScopeName, ...], scopes: "NDArray[np.uint32]"
) -> "tuple[tuple[ScopeName, ...], NDArray[np.uint32]]":
    """Number scopes anew: each name once, and none that no row has."""
    import numpy as np

    used = np.unique(scopes)
    numbers: dict[ScopeName, int] = {}
    lookup = np.zeros(len(names), np.uint32)
    for number in used.tolist():
        lookup[number] = numbers.setdefault(names[number], len(numbers))
    return tuple(numbers), lookup[scopes]


def _search_sample(rows: Rows) -> Iterator[bool]:
    """Yield for a sample of rows, spread evenly, whether a search for their vector finds them."""
    import numpy as np

    count = len(rows.keys)
    for place in range(0, count, -(-count // _SAMPLE) or 1):
        vector = rows.scales[place : place + 1].tobytes() + rows.codes[place].tobytes()
        length = float(np.linalg.norm(rows.codes[place].astype(np.float64) * rows.scales[place]))
        found = find_best(rows, vector, 10, None)
        # Equal vectors may fill the list before this one; then the last is as near as this one.
        listed = any(neighbor.key == int(rows.keys[place]) for neighbor in found)
        near = found[-1].similarity >= similarity(vector, vector)
        yield abs(length - 1) < _UNIT_TOLERANCE and (listed or near)
