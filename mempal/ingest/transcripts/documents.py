"""Whole-file JSON documents, one element at a time.

An export of all of somebody's conversations is one list in one file, often larger than memory
allows. It is read element by element; what is broken, cut off or too large costs that element and
is named, and everything else is still read.
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

# Bytes read at a time, and at most when an element is larger than one block.
_BLOCK = 1_048_576
_LARGE_BLOCK = 8_388_608
# Characters of the largest element of a list that is read.
_ELEMENT_LIMIT = 33_554_432
# Characters within which a number or word ends.
_SCALAR_LIMIT = 65_536
# Bytes of the largest file that is one value and no list: it is in memory as a whole, several times
# as large as on disk.
_DOCUMENT_LIMIT = 67_108_864
# Longest number that is read as an integer; Python refuses very long ones.
_DIGITS = 600
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BLANK = re.compile(r"[ \t\n\r]*")
_STRUCTURE = re.compile(r'["{}\[\]]')
_IN_STRING = re.compile(r'["\\]')
_AFTER_SCALAR = re.compile(r"[,\]]")


@dataclass(frozen=True, slots=True)
class Problem:
    """What could not be read.

    Attributes:
        reason: In words for the user.
        item: Number of the list element, from 1; 0 for the document as a whole.
    """

    reason: str
    item: int = 0

    def __str__(self) -> str:
        return f"item {self.item}: {self.reason}" if self.item else self.reason


def read_items(file: BinaryIO) -> Iterator[object]:
    """Yield the elements of a list, or the one value that the document is.

    Values are those of :mod:`json`; a :class:`Problem` stands where one could not be read. Strings
    may hold halves of surrogate pairs. No more than one element and one block
    of the file are in memory.

    Args:
        file: Opened for reading bytes, at its beginning; UTF-8, or UTF-16 with a byte order mark.

    Raises:
        OSError: The file cannot be read.
    """
    source = _Source(file)
    first = source.peek()
    if not first:
        yield Problem("holds no JSON value")
    elif first == "[":
        source.position += 1
        yield from _read_list(source)
    else:
        yield from _read_value(source)


def load(text: str) -> object:
    """Read one JSON value with blanks around it, as leniently as elements of a list are read.

    Raises:
        ValueError: The text is no JSON value, or holds more than one.
        RecursionError: It is nested too deeply.
    """
    start = _skip_blank(text, 0)
    value, end = _DECODER.raw_decode(text, start)
    if _skip_blank(text, end) < len(text):
        raise ValueError("text follows the value")
    return value


def decode_head(head: bytes) -> str:
    """Decode the first bytes of a document; a character that is cut off is left out."""
    encoding, start = _find_encoding(head)
    return codecs.getincrementaldecoder(encoding)("replace").decode(head[start:])


class _Source:
    """A window on the document's text that moves forward."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        block = file.read(max(_BLOCK, len(codecs.BOM_UTF8)))
        encoding, start = _find_encoding(block)
        self._size = len(block)
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self.text = self._decoder.decode(block[start:])
        self.position = 0
        self.ended = not block
        # Whether to find an element's end before reading it: reading where something is broken
        # costs as much as the whole window, each time.
        self.careful = False

    def grow(self) -> bool:
        """Read another block behind what is left; return whether there was one."""
        if self.ended:
            return False
        rest = len(self.text) - self.position
        block = self._file.read(min(max(_BLOCK, rest), _LARGE_BLOCK))
        self.ended = not block
        self._size += len(block)
        self.text = self.text[self.position :] + self._decoder.decode(block, final=self.ended)
        self.position = 0
        return True

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            self.position = _skip_blank(self.text, self.position)
            if self.position < len(self.text):
                return self.text[self.position]
            if not self.grow():
                return ""

    def read_rest(self, limit: int) -> bool:
        """Read the whole document, unless that is more than ``limit`` bytes; return whether."""
        rest = b"" if self.ended else self._file.read(limit + 1)
        if len(rest) + self._size > limit:
            return False
        self.ended = True
        self.text += self._decoder.decode(rest, final=True)
        return True

    def find_end(self) -> int | None:
        """Return where the list, object or string at the position ends.

        ``None`` when the document ends before, or when the element is too large; then the position
        is behind it.
        """
        bounds = _Bounds()
        while not bounds.find(self.text, self.position):
            if bounds.oversized or bounds.cursor > _ELEMENT_LIMIT:
                # Nothing of it is kept from here on.
                bounds.oversized = True
                bounds.cursor -= len(self.text) - self.position
                self.position = len(self.text)
            if not self.grow():
                self.position = len(self.text)
                return None
        end = self.position + bounds.cursor
        if bounds.oversized or bounds.cursor > _ELEMENT_LIMIT:
            self.position = end
            return None
        return end

    def find_scalar_end(self) -> int:
        """Return where the number or word at the position ends."""
        while not (found := _AFTER_SCALAR.search(self.text, self.position)):
            if len(self.text) - self.position > _SCALAR_LIMIT:
                break
            if not self.grow():
                break
        return found.start() if found else len(self.text)


class _Bounds:
    """Finds where a list, object or string ends, by quotes and brackets alone.

    Attributes:
        cursor: Characters from its beginning that have been looked at; may be one more than there
            are, after a backslash.
        oversized: Whether it turned out to be too large.
    """

    def __init__(self) -> None:
        self.cursor = 0
        self.oversized = False
        self._depth = 0
        self._quoted = False

    def find(self, text: str, start: int) -> bool:
        """Look on in a text whose element begins at ``start``; return whether it ends there."""
        while found := (_IN_STRING if self._quoted else _STRUCTURE).search(
            text, start + self.cursor
        ):
            mark = found.group()
            self.cursor = found.end() - start
            if mark == "\\":
                self.cursor += 1
                continue
            if mark == '"':
                self._quoted = not self._quoted
            else:
                self._depth += 1 if mark in "{[" else -1
            if self._depth <= 0 and not self._quoted:
                return True
        self.cursor = max(self.cursor, len(text) - start)
        return False


def _read_list(source: _Source) -> Iterator[object]:
    index = 0
    while mark := source.peek():
        if mark == "]":
            source.position += 1
            if source.peek():
                yield Problem("text after the end of the list is left out")
            return
        if mark == ",":
            source.position += 1
            continue
        index += 1
        yield _read_element(source, mark, index)
    yield Problem("the list is cut off")


def _read_element(source: _Source, mark: str, index: int) -> object:
    compound = mark in '{["'
    if compound and not source.careful:
        try:
            value, source.position = _DECODER.raw_decode(source.text, source.position)
        except (ValueError, RecursionError):
            pass  # more of the file may be needed: find out where the element ends
        else:
            return value
    end = source.find_end() if compound else source.find_scalar_end()
    if end is None:
        return Problem("is too large" if source.peek() else "is cut off", index)
    piece = source.text[source.position : end]
    source.position = end
    try:
        return load(piece)
    except ValueError as error:
        source.careful = True
        return Problem(f"is broken JSON ({error})"[:200], index)
    except RecursionError:
        source.careful = True
        return Problem("is nested too deeply", index)


def _read_value(source: _Source) -> Iterator[object]:
    if not source.read_rest(_DOCUMENT_LIMIT):
        yield Problem(f"is one JSON value of more than {_DOCUMENT_LIMIT >> 20} MiB")
        return
    try:
        value, end = _DECODER.raw_decode(source.text, _skip_blank(source.text, 0))
    except ValueError as error:
        yield Problem(f"is broken JSON ({error})"[:200])
        return
    except RecursionError:
        yield Problem("is nested too deeply")
        return
    trailing = _skip_blank(source.text, end) < len(source.text)
    source.text = ""
    yield value
    if trailing:
        yield Problem("text after the first JSON value is left out")


def _find_encoding(head: bytes) -> tuple[str, int]:
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding, len(mark)
    return "utf-8", 0


def _skip_blank(text: str, start: int) -> int:
    found = _BLANK.match(text, start)
    return found.end() if found else start


def _read_integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


# Raw control characters in strings are wrong, and common.
_DECODER = json.JSONDecoder(parse_int=_read_integer, strict=False)
