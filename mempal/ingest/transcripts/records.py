"""Files with one JSON object on each line, read line by line however broken they are.

Only a newline ends a line. A line that cannot be read costs that line alone and is named; where
two writers ran into each other, every whole object of the line is still read, and none is ever put
together from halves.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import BinaryIO

import orjson

from mempal.core.clock import parse_instant
from mempal.core.errors import UsageError

# A longer line is not held in memory. The longest seen in the field, with images, have some 20 MiB.
LONGEST_LINE = 64 << 20
# Problems of one file that are told one by one.
_TOLD = 100
# How often the beginning of an object is looked for in one broken line.
_TRIES = 16
# Values that are looked for on one line that is not JSON as a whole.
_VALUES = 1000
_STEP = 1 << 20
_BOM = b"\xef\xbb\xbf"
_BLANK = " \t\r\n\v\f\0"
_BLANK_BYTES = _BLANK.encode()
_SURROGATE = re.compile("[\ud800-\udfff]")
# Numbers this large are milliseconds since the epoch, smaller ones seconds.
_MILLISECONDS = 10**11
_LAST_INSTANT = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp()) * 1000


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a file.

    Attributes:
        value: The object, as parsed.
        line: Number of its line, from 1.
        line_start: Where the line begins, in bytes from the beginning of the file.
        line_end: Where the next line begins.
        byte_start: Where the object begins; behind ``line_start`` if it shares its line.
        data: The bytes of the object, without the newline.
        complete: Whether a newline ends the line, so that nothing can be added to it.
    """

    value: dict[str, object]
    line: int
    line_start: int
    line_end: int
    byte_start: int
    data: bytes
    complete: bool

    @property
    def byte_end(self) -> int:
        """Where the object ends, in bytes from the beginning of the file."""
        return self.byte_start + len(self.data)

    @property
    def digest(self) -> str:
        """SHA-256 of the object's bytes, hex."""
        return sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Problem:
    """A line, or part of one, that could not be read.

    Attributes:
        line: Its number, from 1.
        reason: What is wrong with it.
        torn: Whether it is the last line and no newline ends it, so that the rest may yet come.
        line_start: Where the line begins, in bytes.
        line_end: Where the next line begins.
    """

    line: int
    reason: str
    torn: bool
    line_start: int
    line_end: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


def read_records(
    file: BinaryIO, offset: int = 0, line: int = 1, *, longest: int = LONGEST_LINE
) -> Iterator[Record | Problem]:
    """Yield every object and every problem of a file in order; blank lines are passed over.

    A line that no newline ends is the last one, even where the file grows while it is read.

    Args:
        file: The file; one that cannot seek must stand at ``offset``.
        offset: Where to begin, in bytes: the beginning of a line.
        line: Number of that line.
        longest: Bytes that a line may have; a longer one is a problem.

    Raises:
        OSError: The file cannot be read on, which has nothing to do with what it holds.
    """
    if file.seekable():
        file.seek(offset)
    while data := file.readline(longest + 1):
        start, offset = offset, offset + len(data)
        complete = data.endswith(b"\n")
        if complete or len(data) <= longest:
            yield from _read_line(_Line(data.removesuffix(b"\n"), line, start, offset, complete))
        else:
            del data  # before more is read
            skipped, complete = _skip_line(file)
            offset += skipped
            reason = f"longer than {longest >> 20} MiB, left out"
            yield Problem(line, reason, torn=not complete, line_start=start, line_end=offset)
        if not complete:
            return  # what a writer adds meanwhile is the rest of this line, not another one
        line += 1


def _skip_line(file: BinaryIO) -> tuple[int, bool]:
    """Read up to the next newline; return the number of bytes and whether there was one."""
    skipped = 0
    while part := file.readline(_STEP):
        skipped += len(part)
        if part.endswith(b"\n"):
            return skipped, True
    return skipped, False


@dataclass(frozen=True, slots=True)
class _Line:
    data: bytes
    number: int
    start: int
    end: int
    complete: bool

    def record(self, value: dict[str, object], byte_start: int, data: bytes) -> Record:
        return Record(
            value, self.number, self.start, self.end, self.start + byte_start, data, self.complete
        )

    def problem(self, reason: str) -> Problem:
        return Problem(self.number, reason, not self.complete, self.start, self.end)


def _read_line(line: _Line) -> Iterator[Record | Problem]:
    skip = len(_BOM) if line.start == 0 and line.data.startswith(_BOM) else 0
    data = line.data[skip:] if skip else line.data
    stripped = data.strip(_BLANK_BYTES)
    if not stripped:
        return
    try:
        value = orjson.loads(stripped)
    except orjson.JSONDecodeError:
        yield from _read_broken(line, skip, data)
        return
    if isinstance(value, dict):
        yield line.record(value, skip, data)
    else:
        yield line.problem("not a JSON object")


def _read_broken(line: _Line, skip: int, data: bytes) -> Iterator[Record | Problem]:
    """Read a line that is not, as a whole, one object in strict JSON."""
    text = data.decode(errors="replace")
    exact = "\ufffd" not in text or text.encode() == data
    if not exact:
        yield line.problem("not valid UTF-8, bad bytes are replaced")
    parts, reason = _decode_parts(text)
    objects = [(start, end, value) for start, end, value in parts if isinstance(value, dict)]
    if not reason and len(objects) < len(parts):
        reason = "not a JSON object"
    elif not objects and not line.complete:
        reason = "cut off at the end of the file"
    elif not objects:
        reason = "not valid JSON"
    if reason:
        yield line.problem(reason)
    for start, end, value in objects:
        if exact and (reason or len(objects) > 1):
            begin = len(text[:start].encode())
            yield line.record(value, skip + begin, text[start:end].encode())
        else:
            yield line.record(value, skip, data)


def _decode_parts(text: str) -> tuple[list[tuple[int, int, object]], str]:
    """Decode every value of a line; return them with their places, and what is wrong."""
    found, stop, bad = _decode_run(text, 0)
    if bad is None:
        return found, ""
    for start in _beginnings(text, stop + 1, bad):
        more, _, broken = _decode_run(text, start)
        if broken is None:
            whole = any(isinstance(value, dict) for _, _, value in found)
            part = "a part of it" if whole else "its beginning"
            return [*found, *more], f"{part} was cut off and is lost"
    return found, "its end is not valid JSON"


def _beginnings(text: str, first: int, bad: int) -> Iterator[int]:
    """Yield where an object may begin that another record's cut ran into.

    The decoder stumbled over it at ``bad`` or later than where it began: the nearest ones are
    tried first, and no more than a few, as each try may read the whole line.
    """
    position = bad + 2
    for _ in range(_TRIES):
        position = text.rfind('{"', first, position)
        if position < 0:
            break
        yield position
        position += 1
    position = bad
    for _ in range(_TRIES):
        position = text.find('{"', max(first, position + 1))
        if position < 0:
            break
        yield position


def _decode_run(text: str, start: int) -> tuple[list[tuple[int, int, object]], int, int | None]:
    """Decode values that follow each other up to the end of a line.

    Returns:
        The values with their places, where the last one ends, and where the decoder failed:
        ``None`` when all was decoded.
    """
    decoder = json.JSONDecoder(strict=False, parse_int=_read_integer)
    found: list[tuple[int, int, object]] = []
    stop = position = start
    while len(found) < _VALUES:
        while position < len(text) and text[position] in _BLANK:
            position += 1
        if position == len(text):
            return found, stop, None
        try:
            value, stop_here = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            return found, stop, error.pos
        except (ValueError, RecursionError):  # nested beyond reason
            return found, stop, len(text)
        found.append((position, stop_here, value))
        stop = position = stop_here
    return found, stop, len(text)


def _read_integer(digits: str) -> int | float:
    """Read whole numbers as the fast decoder does: beyond 64 bits they lose their last digits."""
    return int(digits) if len(digits) < len(str(1 << 63)) else float(digits)


class Problems:
    """What could not be read in one file, told one by one up to a limit and counted beyond."""

    def __init__(self) -> None:
        self._told: list[str] = []
        self._count = 0

    def add(self, problem: object) -> None:
        """Take one in."""
        self._count += 1
        if self._count <= _TOLD:
            self._told.append(str(problem))

    def tell(self) -> tuple[str, ...]:
        """Return them in words for the user."""
        more = self._count - len(self._told)
        return (*self._told, f"{more} more lines like these") if more else tuple(self._told)


def clean_text(text: str) -> str:
    """Fold line ends to a newline, join halves of surrogate pairs, replace lone ones by U+FFFD."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii() and _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def read_string(value: object) -> str:
    """Return a cleaned string; an empty one for anything that is none."""
    return clean_text(value) if isinstance(value, str) else ""


def read_object(value: object) -> dict[str, object]:
    """Return a JSON object; an empty one for anything that is none."""
    return value if isinstance(value, dict) else {}


def read_list(value: object) -> list[object]:
    """Return a JSON list; an empty one for anything that is none."""
    return value if isinstance(value, list) else []


def read_texts(content: object, kinds: frozenset[str]) -> list[str]:
    """Return the texts of a message's content: a string, or a list of strings and blocks.

    Args:
        content: Whatever stands there.
        kinds: Values of ``type`` of the blocks whose ``text`` counts.
    """
    if isinstance(content, str):
        return [clean_text(content)]
    texts: list[str] = []
    for block in read_list(content):
        if isinstance(block, str):
            texts.append(clean_text(block))
        elif isinstance(block, dict) and read_string(block.get("type")) in kinds:
            texts.append(read_string(block.get("text")))
    return texts


def read_instant(value: object) -> int | None:
    """Read a time stamp: ISO 8601, or seconds or milliseconds since the epoch.

    Returns:
        Milliseconds since the epoch; ``None`` for anything odd.
    """
    if isinstance(value, str):
        try:
            return parse_instant(value)
        except UsageError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return None
    instant = value if value >= _MILLISECONDS else value * 1000
    return int(instant) if instant <= _LAST_INSTANT else None
