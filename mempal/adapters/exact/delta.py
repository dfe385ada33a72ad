"""Entries brought in since the table was written: few for a reader, all of them for a rebuild.

Entries are appended to a log as they come, 16 bytes and a packed vector each, and become sorted
rows when they are asked for; of several entries for one drawer the last one counts. Bringing in the
same entries again and again therefore costs no memory.
"""

import sys
from array import array
from collections.abc import Iterable

from mempal.adapters.exact.table import Rows, ScopeName
from mempal.core.model import IndexEntry
from mempal.core.vector import HEADER_BYTES, dimensions

# Scope number of an entry that takes its drawer out of the index.
REMOVED = 0xFFFF_FFFF
_FEW_ROWS = 4096


class Delta:
    """Changes to a table.

    Args:
        dimensions: Components of every vector.
    """

    def __init__(self, dimensions: int) -> None:
        self._stride = HEADER_BYTES + dimensions
        self._numbers: dict[ScopeName, int] = {}
        self._sorted: Rows | None = None
        self._keys = array("q")
        self._scopes = array("I")
        self._packed = bytearray()

    def __bool__(self) -> bool:
        """Whether anything was brought in."""
        return self._sorted is not None or bool(self._keys)

    @property
    def names(self) -> tuple[ScopeName, ...]:
        """Scope of each scope number."""
        return tuple(self._numbers)

    def extend(self, entries: Iterable[IndexEntry]) -> None:
        """Bring entries in: all of them, or none when one is wrong.

        Raises:
            ValueError: A vector has the wrong number of components.
        """
        settled = 0 if self._sorted is None else len(self._sorted.keys)
        if len(self._keys) > max(_FEW_ROWS, settled):
            self.rows()
        mark = len(self._keys)
        try:
            for entry in entries:
                self._append(entry)
        except BaseException:
            del self._keys[mark:], self._scopes[mark:], self._packed[mark * self._stride :]
            raise

    def _append(self, entry: IndexEntry) -> None:
        vector = entry.vector
        if vector is None:
            scope, vector = REMOVED, bytes(self._stride)
        elif len(vector) != self._stride:
            raise ValueError(
                f"a vector of {dimensions(vector)} components in an index"
                f" of {self._stride - HEADER_BYTES}"
            )
        elif not vector[HEADER_BYTES:].strip(b"\0"):
            # A vector without direction is similar to nothing, so nothing would ever find it.
            scope = REMOVED
        else:
            name = ScopeName(sys.intern(entry.wing), sys.intern(entry.room), entry.current)
            scope = self._numbers.setdefault(name, len(self._numbers))
        self._keys.append(entry.key)
        self._scopes.append(scope)
        self._packed += vector

    def rows(self) -> Rows:
        """Return the changes by key; those that take a drawer out have the scope ``REMOVED``."""
        import numpy as np

        if self._keys:
            fresh = self._take_log()
            if self._sorted is not None:
                fresh = _join(self._sorted, fresh)
            self._sorted = _settle(fresh)
        if self._sorted is None:
            return Rows(
                np.empty(0, np.int64),
                np.empty(0, np.uint32),
                np.empty(0, np.float32),
                np.empty((0, self._stride - HEADER_BYTES), np.int8),
            )
        return self._sorted

    def _take_log(self) -> Rows:
        """Turn the log into rows without copying the codes, and begin a new one."""
        import numpy as np

        packed = np.frombuffer(self._packed, np.uint8).reshape(len(self._keys), self._stride)
        rows = Rows(
            np.frombuffer(self._keys, np.int64),
            np.frombuffer(self._scopes, np.uint32),
            np.ascontiguousarray(packed[:, :HEADER_BYTES]).view("<f4").reshape(-1),
            packed[:, HEADER_BYTES:].view(np.int8),
        )
        self._keys, self._scopes, self._packed = array("q"), array("I"), bytearray()
        return rows


def _join(former: Rows, fresh: Rows) -> Rows:
    import numpy as np

    return Rows(
        np.concatenate((former.keys, fresh.keys)),
        np.concatenate((former.scopes, fresh.scopes)),
        np.concatenate((former.scales, fresh.scales)),
        np.concatenate((former.codes, fresh.codes)),
    )


def _settle(rows: Rows) -> Rows:
    """Sort rows by key and keep the last of each."""
    import numpy as np

    if bool(np.all(rows.keys[1:] > rows.keys[:-1])):
        return rows
    order = np.argsort(rows.keys, kind="stable")
    keys = rows.keys[order]
    order = order[np.append(keys[1:] != keys[:-1], True)]
    return Rows(rows.keys[order], rows.scopes[order], rows.scales[order], rows.codes[order])
