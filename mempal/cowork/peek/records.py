"""The records of a transcript that another tool may be writing at this moment.

One JSON object a line, and only a newline ends a line. What cannot be read (a torn line, bytes that
are not UTF-8, a line beyond all measure, the rest of damaged compression) is left out: no file
raises an error here, none is waited for, and never more than one line is in memory.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

from mempal.core.files import open_regular
from mempal.cowork.wire import parse_object

COMPRESSED = ".zst"
_BLOCK = 1 << 16
_LONGEST_LINE = 16 << 20
# Real transcripts shrink to a tenth; what grows more than this is made to fill a memory.
_MOST_GROWTH = 100
_LEAST_LIMIT = 4 << 20
_ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said.

    Attributes:
        role: ``user`` or ``assistant``.
        at: When, as the transcript has it; empty when it does not say.
        text: The words.
    """

    role: str
    at: str
    text: str


def make_message(role: object, at: object, text: str) -> Message | None:
    """Return a message; ``None`` when nothing is said, or by nobody that counts."""
    if not text or not isinstance(role, str) or role not in _ROLES:
        return None
    return Message(role, _mend(at) if isinstance(at, str) else "", _mend(text))


def join_texts(content: list[object], kind: str | None = None) -> str:
    """Return the texts of blocks, one a line.

    Args:
        content: The blocks.
        kind: The only type of block that counts; ``None``: any.
    """
    blocks = (block for block in content if isinstance(block, dict))
    texts = (block.get("text") for block in blocks if kind is None or block.get("type") == kind)
    return "\n".join(text for text in texts if isinstance(text, str))


def read_records(path: Path, most: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the objects of a transcript in the order of the file.

    Args:
        path: The file; one that ends in ``.zst`` is decompressed.
        most: How many bytes of text are read at most; ``None``: all that it has by now.
    """
    with closing(_read_blocks(path, most)) as blocks:
        for line in _split(blocks):
            # Telling from its end that a line is no object takes a hundredth of a failed parsing.
            record = parse_object(line) if line.rstrip().endswith(b"}") else None
            if record is not None:
                yield record


def _read_blocks(path: Path, most: int | None) -> Generator[bytes, None, None]:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if path.suffix == COMPRESSED:
                limit = max(_LEAST_LIMIT, _MOST_GROWTH * size)
                yield from _unpack(file, limit if most is None else min(limit, most))
                return
            left = size if most is None else min(size, most)
            while left > 0 and (block := file.read(min(_BLOCK, left))):
                left -= len(block)
                yield block
    except (OSError, ValueError):  # it went away, or is none to be read
        return


def _unpack(file: BufferedReader, left: int) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415 - few transcripts are compressed

    decompressor = zstandard.ZstdDecompressor()
    try:
        with decompressor.stream_reader(file, read_across_frames=True, closefd=False) as plain:
            while left > 0 and (block := plain.read1(min(_BLOCK, left))):
                left -= len(block)
                yield block
    except zstandard.ZstdError:  # what came before the damage counts
        return


def _split(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines that blocks make up, without blank ones and those that are too long."""
    line = bytearray()
    too_long = False
    for block in blocks:
        end, newline, after = block.partition(b"\n")
        too_long = too_long or len(line) + len(end) > _LONGEST_LINE
        if too_long:
            line.clear()
        else:
            line += end
        if newline:
            yield bytes(line)
            *ends, rest = after.split(b"\n")
            yield from filter(None, ends)
            line = bytearray(rest)
            too_long = False
    yield bytes(line)


def _mend(text: str) -> str:
    """Return a text that UTF-8 can hold: JSON may spell half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
