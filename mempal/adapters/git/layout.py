"""What the files of a repository say on their own, without the git program.

Only small regular files are read, and a name found in one is never taken as a way out of the
folder it belongs to. Formats as in git's ``gitrepository-layout`` manual page.
"""

import os
import re
from pathlib import Path, PurePosixPath

from mempal.core.files import read_regular

_LARGEST_FILE = 64 * 1024
_LARGEST_PACKED_REFS = 64 * 1024 * 1024
_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# A symbolic reference may point at another one; git follows five.
_LONGEST_CHAIN = 5


def find_top(path: Path) -> Path | None:
    """Return the nearest folder at or above ``path`` that is the top of a working tree."""
    return next((folder for folder in (path, *path.parents) if has_git(folder)), None)


def has_git(folder: Path) -> bool:
    """Return whether ``folder`` holds a ``.git`` that git would look into.

    That is a file, which links to a repository, or a folder with a ``HEAD``.
    """
    link = folder / ".git"
    return is_file(link) or os.path.lexists(link / "HEAD")


def find_git_folder(top: Path) -> Path | None:
    """Return the folder that holds ``HEAD`` and the index of the working tree ``top``."""
    link = top / ".git"
    if _is_folder(link):
        return link
    text = _read(link)
    if text is None or not text.startswith("gitdir:"):
        return None
    folder = top / text.removeprefix("gitdir:").strip()
    return folder if _is_folder(folder) else None


def find_common_folder(git_folder: Path) -> Path:
    """Return the folder of objects, references and settings, which linked working trees share."""
    text = _read(git_folder / "commondir")
    return git_folder / text.strip() if text is not None else git_folder


def is_linked(top: Path) -> bool:
    """Return whether ``top`` is a further working tree of a repository that lies elsewhere."""
    git_folder = find_git_folder(top)
    return git_folder is not None and is_file(git_folder / "commondir")


def is_bare(folder: Path) -> bool:
    """Return whether ``folder`` itself is a repository: a bare one, or a folder named ``.git``."""
    head = _read(folder / "HEAD")
    if head is None or not all(_is_folder(folder / name) for name in ("objects", "refs")):
        return False
    return head.startswith("ref: refs/") or _OBJECT_ID.fullmatch(head.strip()) is not None


def read_head(git_folder: Path) -> str | None:
    """Return the id of the commit that is checked out; ``None`` before the first commit."""
    common = find_common_folder(git_folder)
    text = _read(git_folder / "HEAD")
    for _ in range(_LONGEST_CHAIN):
        if text is None:
            return None
        value = text.strip()
        if _OBJECT_ID.fullmatch(value):
            return value
        name = value.removeprefix("ref:").strip()
        if not name.startswith("refs/") or ".." in PurePosixPath(name).parts:
            return None
        text = _read(git_folder / name) or _read(common / name) or _read_packed(common, name)
    return None


def read_object_format(common: Path) -> str:
    """Return ``sha256`` or ``sha1``, as the settings of the repository say."""
    settings = _read(common / "config") or ""
    found = re.search(r"^\s*objectformat\s*=\s*\"?(\w+)", settings, re.IGNORECASE | re.MULTILINE)
    return "sha256" if found and found[1].lower() == "sha256" else "sha1"


def is_file(path: Path) -> bool:
    """Return whether a regular file lies at ``path``, or a link to one; what is barred is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _read_packed(common: Path, name: str) -> str | None:
    text = _read(common / "packed-refs", _LARGEST_PACKED_REFS) or ""
    found = re.search(rf"^([0-9a-f]+) {re.escape(name)}$", text, re.MULTILINE)
    return found[1] if found else None


def _read(path: Path, limit: int = _LARGEST_FILE) -> str | None:
    """Return the text of a small file; ``None`` for what is not there or is no such file."""
    try:
        return read_regular(path.resolve(), limit).decode("utf-8", "surrogateescape")
    except (OSError, ValueError, RuntimeError):
        return None
