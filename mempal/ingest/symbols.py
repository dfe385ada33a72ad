"""The names a text defines, the stretch each one rules, and which of them tell what a piece is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_NAME_LENGTH = 100
_QUOTES = " \t\"'`[]"
# Of the definitions around a piece, so many of the innermost are named.
_DEPTH = 12


@dataclass(slots=True)
class Definition:
    """A name and where it rules: offsets of a text, half open, comments above it included."""

    start: int
    stop: int
    name: str


class Outline:
    """The definitions of a text, collected from top to bottom.

    Attributes:
        definitions: All of them in the order they stand.
        depth: Depth of the innermost one that is still open; -1 when none is.
    """

    def __init__(self, length: int) -> None:
        """Begin the outline of a text of so many characters."""
        self.definitions: list[Definition] = []
        self.depth = -1
        self._length = length
        self._open: list[tuple[int, Definition]] = []

    def open(self, start: int, depth: int, name: str) -> None:
        """Open a definition; those as deep or deeper end where it starts."""
        self.close(start, depth)
        definition = Definition(start, self._length, name.strip(_QUOTES)[:_NAME_LENGTH])
        self.definitions.append(definition)
        self._open.append((depth, definition))
        self.depth = depth

    def close(self, start: int, depth: int) -> None:
        """End the open definitions as deep as ``depth`` or deeper."""
        while self._open and self._open[-1][0] >= depth:
            self._open.pop()[1].stop = start
        self.depth = self._open[-1][0] if self._open else -1


def find_symbols(
    definitions: Iterable[Definition], spans: Iterable[tuple[int, int]]
) -> Iterator[str]:
    """Name what each span lies in, outermost first, and what it defines itself.

    Args:
        definitions: Of one text, in the order they stand.
        spans: Half-open ranges of the same text, in order and without overlap.

    Yields:
        The names without repetition, blank-separated; empty when there are none.
    """
    waiting = iter(definitions)
    following = next(waiting, None)
    around: list[Definition] = []
    for start, stop in spans:
        around = [one for one in around if one.stop > start]
        names = [one.name for one in around[-_DEPTH:]]
        while following and following.start < stop:
            around.append(following)
            names.append(following.name)
            following = next(waiting, None)
        yield " ".join(dict.fromkeys(name for name in names if name))
