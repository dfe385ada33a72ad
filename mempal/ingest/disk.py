"""What an entry of a folder is, told without opening or following it."""

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from mempal.core.model import Skip


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A regular file of a tree.

    Attributes:
        path: Relative to the tree's root with ``/`` between parts; undecodable bytes are lone
            surrogates, so that it opens the file.
        absolute: Where it lies.
        size: Bytes.
        mtime_ns: Modification time in nanoseconds.
        tracked: Whether it is in git's index.
    """

    path: str
    absolute: Path
    size: int
    mtime_ns: int
    tracked: bool


def list_file(place: "os.DirEntry[str] | Path", path: str, *, tracked: bool) -> FileEntry | Skip:
    """Return the entry of a regular file, or why it cannot be read.

    Raises:
        OSError: It is not there any more.
    """
    if not os.access(place, os.R_OK):
        return Skip(path, "file cannot be read: permission denied")
    status = os.lstat(place)
    return FileEntry(path, Path(place), status.st_size, status.st_mtime_ns, tracked)


def has_repository(folder: Path) -> bool:
    """Return whether the ``.git`` in a folder is a repository or a link to one."""
    link = folder / ".git"
    try:
        return link.is_file() or os.path.lexists(link / "HEAD")
    except OSError:
        return False


def is_bare(folder: Path) -> bool:
    """Return whether a folder has the form of a repository without a working tree."""
    try:
        has_folders = all((folder / name).is_dir() for name in ("objects", "refs"))
        return has_folders and (folder / "HEAD").is_file()
    except OSError:
        return False


def describe_link(root: Path, link: Path) -> str:
    """Return why a symbolic link in the tree at ``root`` is not mined."""
    try:
        target = link.stat()
    except OSError as error:
        return "symlink loop" if error.errno == errno.ELOOP else "dangling symlink"
    if not link.resolve().is_relative_to(root):
        return "symlink out of the tree"
    kind = "folder" if stat.S_ISDIR(target.st_mode) else "file"
    return f"symlink to another {kind} here"


def describe_special(mode: int) -> str:
    """Return what an entry is that is neither a file nor a folder nor a link."""
    if stat.S_ISFIFO(mode):
        return "named pipe"
    if stat.S_ISSOCK(mode):
        return "socket"
    return "device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "not a regular file"
