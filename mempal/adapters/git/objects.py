"""Reading trees and settings without the git program, through GitPython.

GitPython is imported in these functions only: its import costs more than ten runs of git. None of
them goes through ``git.Repo``, which believes ``GIT_*`` variables and calls the program.
"""

import os
import zlib
from collections.abc import Iterator
from configparser import Error as ConfigurationError
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitdb.db import GitDB  # type: ignore[import-untyped]

_LARGEST_TREE = 64 * 1024 * 1024
_MOST_ENTRIES = 200_000
_FOLDER = 0o040000
_TYPE = 0o170000
_REGULAR = 0o100000


def find_path(common: Path, commit: str, blob: str) -> str | None:
    """Return the first path of a commit that holds a blob.

    ``None`` when none does, when the commit cannot be read, and after 200 000 files.
    """
    with _quiet_import():
        from gitdb.db import GitDB
        from gitdb.exc import ODBError  # type: ignore[import-untyped]
    try:
        database = GitDB(str(common / "objects"))
        tree = _read_object(database, bytes.fromhex(commit), b"commit").split(b"\n", 1)[0]
        wanted = bytes.fromhex(blob)
        for count, (path, found) in enumerate(
            _iterate_files(database, bytes.fromhex(tree.split(b" ")[1].decode()))
        ):
            if found == wanted:
                return path
            if count == _MOST_ENTRIES:
                return None
    except (ODBError, OSError, ValueError, LookupError, AssertionError, zlib.error):
        return None
    return None


def read_excludes_setting(files: list[Path]) -> str | None:
    """Return ``core.excludesFile`` from the user's settings, the last file that has it winning."""
    with _quiet_import():
        from git.config import GitConfigParser
    try:
        parser = GitConfigParser([str(file) for file in files], read_only=True, merge_includes=True)
        value = parser.get_value("core", "excludesfile", default="")
    except (ConfigurationError, OSError, ValueError):
        return None
    return str(value) or None


def _iterate_files(database: "GitDB", tree: bytes, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    from git.objects.fun import tree_entries_from_data

    for identity, mode, name in tree_entries_from_data(_read_object(database, tree, b"tree")):
        if mode == _FOLDER:
            yield from _iterate_files(database, identity, f"{prefix}{name}/")
        elif mode & _TYPE == _REGULAR:
            yield prefix + name, identity


def _read_object(database: "GitDB", identity: bytes, kind: bytes) -> bytes:
    stream = database.stream(identity)
    if stream.type != kind or stream.size > _LARGEST_TREE:
        raise ValueError(f"object {identity.hex()} is no {kind.decode()} of a size to be read")
    return bytes(stream.read())


@contextmanager
def _quiet_import() -> Iterator[None]:
    """Keep GitPython from raising on import because there is no git program."""
    name = "GIT_PYTHON_REFRESH"
    before = os.environ.get(name)
    os.environ[name] = "quiet"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
