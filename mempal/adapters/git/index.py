"""Which paths are tracked, read from git's index file (``gitformat-index`` manual page).

GitPython's reader knows neither version 4 nor SHA-256 nor names that are no UTF-8; where there is
no git program this one tells all the same what git would never ignore.
"""

import os
import struct
from pathlib import Path

from mempal.core.files import read_regular

_LARGEST = 512 * 1024 * 1024
_HEADER = struct.Struct(">4sLL")
_EXTENSION = struct.Struct(">4sL")
# Times, device, inode, mode, owner and size stand before the object id, two bytes of flags after.
_FIXED = 40
_MODE_AT = 24
_EXTENDED = 0x4000
_LONG_NAMES, _SHORT_NAMES = (2, 3), 4
_FOLDER = 0o040000
_ALIGNMENT = 8


def read_tracked(file: Path, object_format: str) -> frozenset[str]:
    """Return the paths in an index file, submodules included.

    Empty when there is no index, when it is damaged, and when part of it lies in another file.
    """
    try:
        data = read_regular(file, _LARGEST)
        names, end = _read_entries(data, 32 if object_format == "sha256" else 20)
        return frozenset() if _is_partial(data, end) else frozenset(map(os.fsdecode, names))
    except (OSError, ValueError, LookupError, struct.error):
        return frozenset()


def _read_entries(data: bytes, id_size: int) -> tuple[list[bytes], int]:
    """Return the names of all entries but whole folders, and where the entries end.

    Raises:
        ValueError: It is not an index of a known version.
        LookupError: It ends too early.
    """
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in (*_LONG_NAMES, _SHORT_NAMES):
        raise ValueError(f"not an index that can be read: version {version}")
    at, name, names = _HEADER.size, b"", []
    for _ in range(count):
        flags = int.from_bytes(data[at + _FIXED + id_size : at + _FIXED + id_size + 2], "big")
        start = at + _FIXED + id_size + (4 if flags & _EXTENDED else 2)
        if version == _SHORT_NAMES:
            dropped, start = _read_number(data, start)
            kept = name[: len(name) - dropped]
        else:
            kept = b""
        end = data.index(b"\0", start)
        name = kept + data[start:end]
        if data[at + _MODE_AT : at + _MODE_AT + 4] != _FOLDER.to_bytes(4, "big"):
            names.append(name)
        length = end + 1 - at
        padding = 0 if version == _SHORT_NAMES else -length % _ALIGNMENT
        at += length + padding
    return names, at


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, as git writes offsets, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _is_partial(data: bytes, at: int) -> bool:
    """Return whether an extension says that more entries lie in a shared index."""
    while at + _EXTENSION.size <= len(data) - 20:
        signature, size = _EXTENSION.unpack_from(data, at)
        if signature == b"link":
            return True
        at += _EXTENSION.size + size
    return False
