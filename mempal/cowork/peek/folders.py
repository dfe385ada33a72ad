"""Which files there are, newest first, and which project a folder that they name belongs to.

Regular files only; no link below the folder that is searched is followed, and a folder that cannot
be read has none. A project has several spellings (links, slashes, composed letters); all are one.
"""

import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mempal.cowork.identity import project_identity


@dataclass(frozen=True, slots=True)
class Session:
    """A transcript.

    Attributes:
        path: Where it is.
        mtime: When it was last written to, in nanoseconds since the epoch.
    """

    path: Path
    mtime: int

    def rank(self) -> tuple[int, str]:
        """Return what sorts the newest first, and those of one instant by name."""
        return -self.mtime, str(self.path)


class Project:
    """A folder under all its spellings.

    Attributes:
        spellings: Its path, plain and with links resolved; none when it is not absolute.
    """

    def __init__(self, folder: str) -> None:
        self.spellings = _spell(folder)
        self._keys = frozenset(map(_fold, self.spellings))
        self._heads = tuple(key.rstrip("/") + "/" for key in self._keys)
        self._judged: dict[str, bool] = {}

    def is_at(self, path: str) -> bool:
        """Return whether a path is this folder."""
        known = self._judged.get(path)
        if known is None:
            # Thousands of transcripts name few folders, and resolving links asks the disk.
            known = self._judged[path] = any(_fold(one) in self._keys for one in _spell(path))
        return known

    def holds(self, path: str) -> bool:
        """Return whether a path is this folder or below it."""
        return self.is_at(path) or any(_fold(one).startswith(self._heads) for one in _spell(path))


def list_projects(cwd: str) -> list[Project]:
    """Return what ``cwd`` may be called by: itself, then the repository that it is in."""
    nearest = Project(_make_absolute(cwd))
    if not nearest.spellings:
        return []
    # A repository that is the whole home folder would make one project of all that is in it.
    root = project_identity(nearest.spellings[-1], ignore_home_git=True)
    return [nearest] if nearest.is_at(root) else [nearest, Project(root)]


def locate(environment: Mapping[str, str], name: str, default: Path) -> Path:
    """Return the folder of a tool: what a variable names, else the default."""
    given = environment.get(name)
    return Path(given).absolute() if given else default


def list_files(folder: Path, fits: Callable[[str], bool], depth: int = 0) -> Iterator[Session]:
    """Yield the regular files of a folder whose names fit.

    Args:
        folder: Where to look; may itself be a link.
        fits: Tells of a name whether it does.
        depth: How many levels of folders below are searched too.
    """
    waiting = [(str(folder), depth)]
    while waiting:
        place, below = waiting.pop()
        for entry in _scan(place):
            if fits(entry.name) and (session := _inspect(entry)):
                yield session
            elif below and _is_folder(entry):
                waiting.append((entry.path, below - 1))


def list_names(folder: Path) -> list[str]:
    """Return the names in a folder; none when it cannot be read."""
    return [entry.name for entry in _scan(str(folder))]


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (OSError, ValueError):
        return []


def _inspect(entry: os.DirEntry[str]) -> Session | None:
    try:
        if not entry.is_file(follow_symlinks=False):
            return None
        return Session(Path(entry.path), entry.stat(follow_symlinks=False).st_mtime_ns)
    except OSError:  # gone since
        return None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _make_absolute(path: str) -> str:
    try:
        return os.path.abspath(path)  # noqa: PTH100 - as text, it may not be UTF-8
    except (OSError, ValueError):  # the current folder was deleted
        return ""


def _spell(path: str) -> tuple[str, ...]:
    if not path.startswith("/") or "\0" in path:
        return ()
    plain = "/" + os.path.normpath(path).lstrip("/")
    try:
        resolved = os.path.realpath(path)
    except (OSError, ValueError):  # half a character, say
        return (plain,)
    return tuple(dict.fromkeys((plain, resolved)))


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path)
