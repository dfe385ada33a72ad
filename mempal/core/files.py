"""Reading files that somebody else may have arranged.

Regular files only, never through a link, never waiting.
"""

import os
import stat
from io import BufferedReader
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
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > limit:
            raise OSError(f"{path} is larger than {limit} bytes")
        return file.read(limit + 1)[: limit + 1]


def read_linked(path: Path, limit: int) -> bytes:
    """Return what ``read_regular`` returns, of the file to which links may lead.

    For the owner's own files, which may be kept elsewhere.

    Raises:
        OSError: As ``read_regular``; also for links that lead in a circle.
        ValueError: The path holds a NUL.
    """
    return read_regular(Path(os.path.realpath(path)), limit)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; neither wait for a pipe nor follow a link.

    Raises:
        OSError: The file is not there, cannot be read or is no regular file.
        ValueError: The path holds a NUL.
    """
    # Without NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        # `fdopen` refuses a folder too, but would leave its descriptor open.
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return os.fdopen(descriptor, "rb")


def is_inside(root: Path, path: Path) -> bool:
    """Return whether ``path``, with every link on the way resolved, lies below ``root``."""
    try:
        return path.parent.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        return False
