"""The lock that both tools take before they touch a project's receipts and inboxes.

An advisory lock on a file whose name the reference derives from the path of the receipts log by
SipHash-1-3 with a zero key (Aumasson and Bernstein, 2012). No lock never stops anybody: the caller
is told that it has none and goes on.
"""

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # Windows has no such lock, neither here nor in the reference
    fcntl = None  # type: ignore[assignment]

_PATIENCE_SECONDS = 5.0
_POLL_SECONDS, _JITTER_SECONDS = 0.05, 0.029
_MASK = (1 << 64) - 1


def hash_lock_name(path: str) -> str:
    """Return the 16 hex digits by which the lock of a receipts log is named."""
    return f"{_siphash13(path.encode('utf-8', 'surrogateescape') + bytes([0xFF])):016x}"


def try_flock(descriptor: int) -> bool:
    """Take the lock on an open file without waiting; return whether it was free."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def hold_lock(path: str, patience: float = _PATIENCE_SECONDS) -> Iterator[bool]:
    """Hold the lock file at ``path``, and yield whether it is held.

    Args:
        path: The lock file; its folder is made when missing.
        patience: Seconds to wait for another holder.
    """
    descriptor = _open(path)
    if descriptor is None:
        yield False
        return
    try:
        yield _wait(descriptor, patience)
    finally:
        os.close(descriptor)


def _open(path: str) -> int | None:
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0)
        return os.open(path, flags, 0o600)
    except OSError:
        return None


def _wait(descriptor: int, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while not try_flock(descriptor):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS + random.random() * _JITTER_SECONDS)  # noqa: S311 - no secret
    return True


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _mix(v: list[int]) -> None:
    v[0] = (v[0] + v[1]) & _MASK
    v[1] = _rotate(v[1], 13) ^ v[0]
    v[0] = _rotate(v[0], 32)
    v[2] = (v[2] + v[3]) & _MASK
    v[3] = _rotate(v[3], 16) ^ v[2]
    v[0] = (v[0] + v[3]) & _MASK
    v[3] = _rotate(v[3], 21) ^ v[0]
    v[2] = (v[2] + v[1]) & _MASK
    v[1] = _rotate(v[1], 17) ^ v[2]
    v[2] = _rotate(v[2], 32)


def _siphash13(data: bytes) -> int:
    v = [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573]
    whole = len(data) - len(data) % 8
    last = int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, whole, 8)]
    for word in (*words, last):
        v[3] ^= word
        _mix(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(3):
        _mix(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
