"""Which room of its wing a file belongs to.

``mempal.yaml`` or ``mempalace.yaml`` (the first that is there) at the root of a tree may list
rooms::

    wing: shop
    rooms:
      - name: billing
        description: invoices and payments
        keywords: [invoice, refund]
      - docs

The room of a file is then

1. the listed name that is a folder on its path, compared without regard to case; of several the
   outermost, as the rule for trees without a list goes by the outermost folder, too;
2. else the one whose keywords occur most often, as whole words in any case, in the path and the
   beginning of the text; of equals the one listed first;
3. else ``general``.

Without a list it is the first folder below the root that is not ``src``, ``lib``, ``app`` or
``packages``, else ``general``.

The file belongs to whoever owns the tree, so it is read as data of a stranger: small, regular, no
aliases, no tags, shallow. What is wrong with it is told and never stops a run.
"""

import errno
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mempal.core.errors import UsageError
from mempal.core.files import read_regular
from mempal.core.names import check_name
from mempal.core.words import UNSPACED_RUN
from mempal.ingest.decode import UndecodableError, decode

if TYPE_CHECKING:
    import yaml

GENERAL = "general"
_FILES = ("mempal.yaml", "mempalace.yaml")
_PASSED_OVER = frozenset({"src", "lib", "app", "packages"})
_LIMIT = 65_536
_DEEPEST = 16
_MOST_ROOMS = 500
_MOST_KEYWORDS = 200
# In all rooms together: each one is looked for in each file that is mined.
_MOST_KEYWORDS_IN_ALL = 500
# Characters at the beginning of a text that are searched for keywords.
_HEAD = 4000


@dataclass(frozen=True, slots=True)
class Room:
    """A room that a tree lists, with the words that speak for it."""

    name: str
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoomRules:
    """How the files of one tree are sorted into rooms.

    Attributes:
        rooms: The rooms its list names, in order; empty without a list.
        wing: The wing that the file names, if it does.
    """

    rooms: tuple[Room, ...] = ()
    wing: str | None = None
    _folders: dict[str, str] = field(init=False, repr=False, compare=False, default_factory=dict)
    _patterns: list[tuple[str, re.Pattern[str]]] = field(
        init=False, repr=False, compare=False, default_factory=list
    )

    def __post_init__(self) -> None:
        for room in self.rooms:
            self._folders.setdefault(_fold(room.name), room.name)
            if room.keywords:
                self._patterns.append((room.name, _compile(room.keywords)))

    def room_of(self, path: str, text: str) -> str:
        """Return the room of a file.

        Args:
            path: Its path relative to the root of the tree, ``/`` between parts.
            text: What it holds; only the beginning counts.
        """
        folders = [part for part in path.split("/")[:-1] if part not in {"", "."}]
        if not self.rooms:
            return _name_first(folders)
        for folder in map(_fold, folders):
            if folder in self._folders:
                return self._folders[folder]
        head = _normalize(f"{path}\n{text[:_HEAD]}")
        counts = [(len(pattern.findall(head)), name) for name, pattern in self._patterns]
        most, name = max(counts, key=lambda count: count[0], default=(0, GENERAL))
        return name if most else GENERAL


def load_rooms(root: Path) -> tuple[RoomRules, tuple[str, ...]]:
    """Read the list of rooms of a tree.

    Args:
        root: Its top folder.

    Returns:
        The rules, and a warning in words for everything in the file that could not be used.
    """
    for name in _FILES:
        problems: list[str] = []
        try:
            document = _parse(decode(read_regular(root / name, _LIMIT)).text)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            document = None
            problems.append(f"not used: {_explain(error)}")
        except (UndecodableError, ValueError) as error:
            document = None
            problems.append(f"not used: {error}")
        rules = _read_document(document, problems)
        return rules, tuple(f"{name}: {problem}" for problem in problems)
    return RoomRules(), ()


def _explain(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "a symbolic link is not followed"
    return error.strerror or f"not a regular file of at most {_LIMIT // 1024} kB"


def _parse(text: str) -> object:
    """Parse YAML into strings, lists and dictionaries; tags mean nothing.

    Raises:
        ValueError: It is not YAML, has anchors or aliases, or is too deep.
    """
    import yaml  # noqa: PLC0415 - few trees have such a file

    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.BaseLoader):
            _refuse_reference(event)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise ValueError("it is nested too deep")
        return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - makes text, lists, dicts
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{line}{error.problem or 'not valid YAML'}") from error
    except yaml.YAMLError as error:
        raise ValueError("not valid YAML") from error


def _refuse_reference(event: "yaml.Event") -> None:
    if getattr(event, "anchor", None) is not None:
        raise ValueError("anchors and aliases are not supported")


def _read_document(document: object, problems: list[str]) -> RoomRules:
    if document is None or document == "":
        return RoomRules()
    if not isinstance(document, dict):
        problems.append("it is not a mapping with the keys wing and rooms")
        return RoomRules()
    listed = document.get("rooms") or []
    if not isinstance(listed, list):
        problems.append("rooms is not a list")
        listed = []
    if len(listed) > _MOST_ROOMS:
        problems.append(f"only the first {_MOST_ROOMS} rooms are used")
    rooms: dict[str, Room] = {}
    for number, entry in enumerate(listed[:_MOST_ROOMS], start=1):
        room = _read_room(entry, number, problems)
        if room is not None:
            rooms.setdefault(_fold(room.name), room)
    wing = document.get("wing") or None
    name = None if wing is None else _check("wing", wing, "wing", problems)
    return RoomRules(tuple(_limit_keywords(rooms.values(), problems)), name)


def _limit_keywords(rooms: Iterable[Room], problems: list[str]) -> Iterator[Room]:
    left = _MOST_KEYWORDS_IN_ALL
    for room in rooms:
        if len(room.keywords) > left:
            problems.append(f"only {_MOST_KEYWORDS_IN_ALL} keywords of all rooms are used")
        kept = room.keywords[:left]
        left -= len(kept)
        yield replace(room, keywords=kept)


def _read_room(entry: object, number: int, problems: list[str]) -> Room | None:
    place = f"room {number}"
    if not isinstance(entry, dict):
        name = _check("room", entry, place, problems)
        return None if name is None else Room(name)
    name = _check("room", entry.get("name"), place, problems)
    keywords = entry.get("keywords") or []
    if isinstance(keywords, str):
        keywords = [keywords]
    if not isinstance(keywords, list):
        problems.append(f"{place}: keywords is not a list")
        keywords = []
    if name is None:
        return None
    return Room(name, tuple(_read_keywords(keywords, place, problems)))


def _read_keywords(keywords: Sequence[object], place: str, problems: list[str]) -> Iterator[str]:
    if len(keywords) > _MOST_KEYWORDS:
        problems.append(f"{place}: only the first {_MOST_KEYWORDS} keywords are used")
    for keyword in keywords[:_MOST_KEYWORDS]:
        checked = _check("keyword", keyword, place, problems)
        if checked is not None:
            yield checked


def _check(kind: str, name: object, place: str, problems: list[str]) -> str | None:
    try:
        return check_name(kind, name if isinstance(name, str) else "")
    except UsageError as error:
        problems.append(f"{place}: {error.message}")
        return None


def _name_first(folders: Sequence[str]) -> str:
    for folder in folders:
        if _fold(folder) in _PASSED_OVER:
            continue
        try:
            return check_name("room", folder)
        except UsageError:  # a name that cannot be typed or shown
            return GENERAL
    return GENERAL


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _fold(name: str) -> str:
    return _normalize(name.strip()).casefold()


def _compile(keywords: Sequence[str]) -> re.Pattern[str]:
    """Compile keywords to one pattern of whole words; longer ones are tried first."""
    words = sorted(map(_normalize, keywords), key=len, reverse=True)
    return re.compile("|".join(map(_bound, words)), re.IGNORECASE)


def _bound(word: str) -> str:
    # Scripts without spaces have no borders between words; `_` is one, as in the word index.
    before = "" if UNSPACED_RUN.match(word[0]) or not word[0].isalnum() else r"(?<![^\W_])"
    after = "" if UNSPACED_RUN.match(word[-1]) or not word[-1].isalnum() else r"(?![^\W_])"
    return before + re.escape(word) + after
