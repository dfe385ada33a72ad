"""Reading files that somebody else may have arranged.

Regular files only, never through a link, never waiting.
"""

import os
import stat
from pathlib import Path


def read_regular(path: Path, limit: int) -> bytes:
    """Return the bytes of a regular file of at most ``limit`` bytes.

    A pipe or device is never read, and a symbolic link is not followed, whatever took the file's
    place since it was listed.

    Raises:
        OSError: The file is not there, cannot be read, is no regular file or is larger than
            ``limit``.
        ValueError: The path holds a NUL.
    """
    # Without NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a regular file")
        if status.st_size > limit:
            raise OSError(f"{path} is larger than {limit} bytes")
        return file.read(limit + 1)[: limit + 1]


def is_inside(root: Path, path: Path) -> bool:
    """Return whether ``path``, with every link on the way resolved, lies below ``root``."""
    try:
        return path.parent.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        return False
