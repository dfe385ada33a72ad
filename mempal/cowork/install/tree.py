"""JSON with the place of each of its parts, so that one part can be changed and no other touched.

Read as strictly as the hosts read it: what is no plain JSON is refused with its line, and so is a
name that an object has twice, since then nobody can say which of the two counts.
"""

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

from mempal.core.errors import ConfigError

_SPACE = re.compile(r"[ \t\n\r]*")
_SCALARS = frozenset('"-0123456789tfn')
_DEEPEST = 100  # far beyond what a person writes, far below what Python's stack allows
_HINT = "it was left as it is; mend that line, then run the command again"


class Kind(Enum):
    """What a part is."""

    OBJECT = "an object"
    ARRAY = "an array"
    TEXT = "a text"
    OTHER = "a number, true, false or null"


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a member of an object, with the place of its quotes."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Node:
    """One value.

    Attributes:
        kind: What it is.
        start: Where its first character is.
        end: Where the character after its last is.
        scalar: Its value when it holds no others; numbers stay text.
        items: The values in it.
        names: For an object, the name of each of them.
    """

    kind: Kind
    start: int
    end: int
    scalar: object = None
    items: tuple["Node", ...] = ()
    names: tuple[Name, ...] = ()

    def find(self, name: str) -> int | None:
        """Return the number of the member with a name; ``None`` for none, or for no object."""
        return next((n for n, one in enumerate(self.names) if one.text == name), None)

    def get(self, name: str) -> "Node | None":
        """Return the member with a name; ``None`` for none, or for no object."""
        number = self.find(name)
        return None if number is None else self.items[number]

    def start_of(self, number: int) -> int:
        """Return where an entry starts, its name included."""
        return self.names[number].start if self.names else self.items[number].start


def find_line(text: str, at: int) -> int:
    """Return the number, from 1, of the line of a character."""
    return text.count("\n", 0, at) + 1


def parse(text: str, path: str) -> Node:
    """Return the tree of a JSON text.

    Args:
        text: Without a byte order mark.
        path: The file it is in, for the message.

    Raises:
        ConfigError: It is no plain JSON, or an object has a name twice.
    """
    return _Reader(text, path).read()


class _Reader:
    """Reads one text."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        # Numbers stay text: they are never written again, and may be longer than Python reads.
        self._decoder = json.JSONDecoder(
            parse_int=str, parse_float=str, parse_constant=self._refuse_constant
        )

    def read(self) -> Node:
        if not self._text.strip():
            self._refuse(0, "the file is empty, which is no JSON")
        node = self._value(self._skip(0), 0)
        rest = self._skip(node.end)
        if rest < len(self._text):
            self._refuse(rest, "text after the end of the JSON document")
        return node

    def _value(self, at: int, depth: int) -> Node:
        character = self._text[at : at + 1]
        if depth > _DEEPEST:
            self._refuse(at, f"nested deeper than {_DEEPEST} levels")
        if character in {"{", "["}:
            return self._container(at, depth, is_object=character == "{")
        if not character or character not in _SCALARS:
            self._refuse(at, "a value is missing")
        return self._scalar(at)

    def _scalar(self, at: int) -> Node:
        try:
            value, end = self._decoder.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            self._refuse(error.pos, error.msg[:1].lower() + error.msg[1:])
        except ValueError:  # from `_refuse_constant`, which does not know where it is
            self._refuse(at, "no JSON value")
        kind = Kind.TEXT if self._text[at] == '"' else Kind.OTHER
        return Node(kind, at, end, value)

    def _container(self, start: int, depth: int, *, is_object: bool) -> Node:
        closer = "}" if is_object else "]"
        names: list[Name] = []
        items: list[Node] = []
        at = self._skip(start + 1)
        while not self._text.startswith(closer, at):
            if items:
                if not self._text.startswith(",", at):
                    self._refuse(at, f"',' or '{closer}' is missing")
                at = self._skip(at + 1)
                if self._text.startswith(closer, at):
                    self._refuse(at, f"a comma before '{closer}'")
            if is_object:
                names.append(self._name(at, names))
                at = self._skip(self._skip(names[-1].end) + 1)
            items.append(self._value(at, depth + 1))
            at = self._skip(items[-1].end)
        kind = Kind.OBJECT if is_object else Kind.ARRAY
        return Node(kind, start, at + 1, items=tuple(items), names=tuple(names))

    def _name(self, at: int, known: list[Name]) -> Name:
        if not self._text.startswith('"', at):
            self._refuse(at, "a name in quotes is missing")
        node = self._scalar(at)
        name = Name(str(node.scalar), at, node.end)
        if any(name.text == one.text for one in known):
            self._refuse(at, f"the name {json.dumps(name.text)} a second time in one object")
        colon = self._skip(node.end)
        if not self._text.startswith(":", colon):
            self._refuse(colon, "':' is missing")
        return name

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _refuse(self, at: int, why: str) -> NoReturn:
        if self._text.startswith(("//", "/*"), at):
            why = "a comment, which is no JSON"
        line = find_line(self._text, at)
        raise ConfigError(f"{self._path}:{line}: {why}", hint=_HINT)

    @staticmethod
    def _refuse_constant(name: str) -> NoReturn:
        raise ValueError(name)
