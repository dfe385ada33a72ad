"""The one form in which embeddings travel and are kept: packed vectors.

A packed vector is ``float32 scale`` (little endian) followed by one signed byte per dimension;
component *i* is ``scale * code[i]``. What is packed is always scaled to unit length first, so the
dot product of two packed vectors is their cosine similarity. Against 32-bit floats this keeps a
quarter of the bytes; the rounding error of a cosine is below 0.005 at 256 dimensions when no
component stands far out from the others, as in the vectors that embedders give. A vector without
direction (all zero, or not finite) packs to all-zero codes and is similar to nothing.
"""

import math
import struct
from array import array
from collections.abc import Sequence
from operator import mul

HEADER_BYTES = 4
_LARGEST_CODE = 127


def pack(values: Sequence[float]) -> bytes:
    """Pack a vector of any length and any norm."""
    norm = math.sqrt(sum(map(mul, values, values)))
    peak = max(map(abs, values), default=0.0)
    if not math.isfinite(norm) or norm == 0.0 or peak == 0.0:
        return struct.pack("<f", 0.0) + bytes(len(values))
    step = _LARGEST_CODE / peak
    codes = array("b", (round(value * step) for value in values))
    return struct.pack("<f", peak / (_LARGEST_CODE * norm)) + codes.tobytes()


def unpack(packed: bytes) -> "array[float]":
    """Return the components of a packed vector as 32-bit floats."""
    (scale,) = struct.unpack_from("<f", packed)
    return array("f", (scale * code for code in memoryview(packed)[HEADER_BYTES:].cast("b")))


def dimensions(packed: bytes) -> int:
    """Return the number of components of a packed vector."""
    return len(packed) - HEADER_BYTES


def similarity(left: bytes, right: bytes) -> float:
    """Return the cosine similarity of two packed vectors, in [-1, 1].

    Raises:
        ValueError: The vectors differ in length.
    """
    if len(left) != len(right):
        raise ValueError(f"vectors of {dimensions(left)} and {dimensions(right)} dimensions")
    codes = memoryview(left)[HEADER_BYTES:].cast("b"), memoryview(right)[HEADER_BYTES:].cast("b")
    total = sum(map(mul, *codes))
    (left_scale,) = struct.unpack_from("<f", left)
    (right_scale,) = struct.unpack_from("<f", right)
    return float(max(-1.0, min(1.0, total * left_scale * right_scale)))
