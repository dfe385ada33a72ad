"""Comparing every row with a question.

Similarities equal :func:`mempal.core.vector.similarity` to the bit. The products of codes are whole
numbers, and single precision adds up whole numbers below 2^24 without error, in any order and at
full speed; longer vectors are added up in stretches short enough for that.
"""

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mempal.adapters.exact.table import Rows, ScopeName
from mempal.core.model import Neighbor, Scope
from mempal.core.vector import HEADER_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# 1 MB of single-precision numbers at 256 dimensions. Measured: of 512 to 16 384 rows this is the
# fastest; larger blocks leave the cache and make the linear algebra library start threads.
_BLOCK_ROWS = 1024
# Products of codes are at most 127 squared; this many of them stay below 2^24.
_STRETCH = 1024
# Below this share of rows in question, picking them out is cheaper than comparing all.
_FEW = 0.5


def find_best(
    rows: Rows, vector: bytes, limit: int, allowed: "NDArray[np.bool_] | None"
) -> list[Neighbor]:
    """Return the ``limit`` allowed rows most similar to a packed vector, best first, ties by key.

    Args:
        rows: Where to look.
        vector: Packed, as long as the rows.
        limit: At least 1.
        allowed: Which rows are in question; ``None``: all.
    """
    import numpy as np

    (scale,) = struct.unpack_from("<f", vector)
    question = np.frombuffer(vector, np.int8, offset=HEADER_BYTES).astype(np.float32)
    keys, scales, codes = rows.keys, rows.scales, rows.codes
    picked = None
    if allowed is not None:
        picked = np.flatnonzero(allowed)
        keys, scales = keys[picked], scales[picked]
        if len(picked) > _FEW * len(allowed):
            totals = _add_up(codes, question, None)[picked]
        else:
            totals = _add_up(codes, question, picked)
    else:
        totals = _add_up(codes, question, None)
    similarities = np.clip(totals * scale * scales, -1.0, 1.0)
    best = _pick(similarities, keys, limit)
    return [
        Neighbor(int(key), float(similarity))
        for key, similarity in zip(keys[best], similarities[best], strict=True)
    ]


def _add_up(
    codes: "NDArray[np.int8]",
    question: "NDArray[np.float32]",
    picked: "NDArray[np.intp] | None",
) -> "NDArray[np.float64]":
    """Return the dot product of each row's codes, or of each picked row's, with the question's."""
    import numpy as np

    count = len(codes) if picked is None else len(picked)
    totals = np.zeros(count)
    buffer = np.empty((min(_BLOCK_ROWS, count), len(question)), np.float32)
    for start in range(0, count, _BLOCK_ROWS):
        stop = min(start + _BLOCK_ROWS, count)
        block = buffer[: stop - start]
        np.copyto(block, codes[start:stop] if picked is None else codes[picked[start:stop]])
        for first in range(0, len(question), _STRETCH):
            last = first + _STRETCH
            totals[start:stop] += block[:, first:last] @ question[first:last]
    return totals


def _pick(
    similarities: "NDArray[np.float64]", keys: "NDArray[np.int64]", limit: int
) -> "NDArray[np.intp]":
    """Return the places of the best rows in order, with all ties at the cut considered."""
    import numpy as np

    if limit < len(similarities):
        cut = len(similarities) - limit
        places = np.flatnonzero(similarities >= np.partition(similarities, cut)[cut])
    else:
        places = np.arange(len(similarities))
    order = np.lexsort((keys[places], -similarities[places]))
    return places[order[:limit]]


def admit(scope: Scope, names: Sequence[ScopeName]) -> list[bool]:
    """Return for each scope number whether its drawers are in question."""
    return [
        (scope.wing is None or name.wing == scope.wing)
        and (scope.room is None or name.room == scope.room)
        and (name.current or not scope.current_only)
        for name in names
    ]


def mask_rows(rows: Rows, admitted: Sequence[bool]) -> "NDArray[np.bool_]":
    """Return for each row whether it is in question.

    A scope number outside of ``admitted`` is not.
    """
    import numpy as np

    # One more for every number outside: those that take a drawer out.
    lookup = np.array([*admitted, False])
    mask: NDArray[np.bool_] = lookup[np.minimum(rows.scopes, len(admitted))]
    return mask
