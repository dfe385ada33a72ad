"""Which project a folder belongs to, and the file name that stands for it in the inbox.

Every spelling of one path (subfolder, ``//``, ``/./``, trailing slash, symbolic link) is one
project. Two projects may still share a file name (``/a-b`` and ``/a/b``); each line therefore names
its project.
"""

import os

from mempal.core.errors import InvalidFolderError

# A name of a file has at most 255 bytes; the longest ending, that of a claim, needs 40 of them.
_LONGEST_NAME = 214
_KEPT = 180
# A `.git` file that leads to a worktree's repository is one line.
_LONGEST_LINK = 8192


def project_identity(
    cwd: str, *, join_worktrees: bool = False, ignore_home_git: bool = False
) -> str:
    """Return the folder that stands for the project ``cwd`` is in.

    The nearest folder at or above it that holds ``.git``, be it a folder or a file; without one,
    ``cwd`` itself. Links are resolved and the spelling is made plain. A path with a ``..`` part, or
    a relative one, is returned as it is: :func:`encode_project_identity` refuses it.

    Args:
        cwd: A folder, there or not.
        join_worktrees: Whether the worktrees of one repository are one project.
        ignore_home_git: Whether a ``.git`` in the user's home folder counts for that folder only.
    """
    path = os.fspath(cwd)
    if not _is_plain(path):
        return path
    path = _resolve(path)
    root = _find_root(path, ignore_home_git=ignore_home_git)
    if root is None:
        return path
    return (_find_main_tree(root) or root) if join_worktrees else root


def encode_project_identity(path: str) -> str:
    """Return the identity with every ``/`` as ``-``; bytes that are not UTF-8 become U+FFFD.

    Raises:
        InvalidFolderError: The path is relative or has a ``..`` part.
    """
    path = os.fspath(path)
    if not _is_plain(path):
        shown = path.encode("utf-8", "replace").decode()
        raise InvalidFolderError(
            f"invalid cwd {shown!r}: it is not absolute, or has a `..` part",
            hint="name the project's folder by its full path",
        )
    return _decode(path).replace("/", "-")


def list_file_names(cwd: str, identity: str) -> list[str]:
    """Return the file names, without ending, under which messages for a project may lie.

    The first is where they are written; the others are where a peer that takes each spelling of a
    path for a project of its own writes them.
    """
    spelled = _find_literal(cwd)
    spellings = [identity, os.path.normpath(spelled), spelled, _strip_slashes(identity) + "/"]
    names = [_shorten(encode_project_identity(one)) for one in spellings if _is_plain(one)]
    return list(dict.fromkeys(names))


def _is_plain(path: str) -> bool:
    return path.startswith("/") and ".." not in path.split("/") and "\0" not in path


def _decode(path: str) -> str:
    try:
        return os.fsencode(path).decode("utf-8", "replace")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        return path.encode("utf-8", "replace").decode()


def _resolve(path: str) -> str:
    try:
        resolved = os.path.realpath(path)
    except (OSError, ValueError):
        resolved = os.path.normpath(path)
    return _strip_slashes(resolved)


def _strip_slashes(path: str) -> str:
    return "/" + path.strip("/")


def _holds_git(folder: str) -> bool:
    try:
        os.stat(os.path.join(folder, ".git"))  # noqa: PTH116, PTH118 - hooks load no pathlib
    except (OSError, ValueError):
        return False
    return True


def _find_root(path: str, *, ignore_home_git: bool = False) -> str | None:
    home = _resolve(os.path.expanduser("~")) if ignore_home_git else ""  # noqa: PTH111
    folder = path
    while True:
        if _holds_git(folder) and (folder != home or path == home):
            return folder
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above


def _find_literal(cwd: str) -> str:
    """Return the project as a peer spells it that neither resolves links nor mends slashes."""
    folder = cwd
    while True:
        if _holds_git(folder):
            return folder
        above = _cut_last(folder)
        if above == folder:
            return cwd
        folder = above


def _cut_last(path: str) -> str:
    """Return the path without its last part, as a walk over the parts of a path has it."""
    above = path.rstrip("/").rpartition("/")[0].rstrip("/")
    while above.endswith("/."):
        above = above[:-2].rstrip("/")
    return above or "/"


def _find_main_tree(root: str) -> str | None:
    """Return the main working tree of the repository that ``root`` is a worktree of."""
    link = _read_line(os.path.join(root, ".git"))  # noqa: PTH118
    if link is None or not link.startswith("gitdir:"):
        return None
    folder = os.path.join(root, link.removeprefix("gitdir:").strip())  # noqa: PTH118
    common = _read_line(os.path.join(folder, "commondir"))  # noqa: PTH118
    if not common:  # a submodule is a project of its own
        return None
    repository = _resolve(os.path.join(folder, common.strip()))  # noqa: PTH118
    above, name = os.path.split(repository)
    return above if name == ".git" else repository


def _read_line(path: str) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        return os.fsdecode(os.read(descriptor, _LONGEST_LINK)).strip("\n")
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _shorten(name: str) -> str:
    encoded = name.encode()
    if len(encoded) <= _LONGEST_NAME:
        return name
    import hashlib  # noqa: PLC0415 - no hook needs it for a path of common length

    kept = encoded[:_KEPT].decode("utf-8", "ignore")
    return f"{kept}-{hashlib.sha256(encoded).hexdigest()[:24]}"
