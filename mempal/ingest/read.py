"""From the bytes of one file to the chunks that are stored of it."""

from dataclasses import dataclass
from pathlib import Path

from mempal.core.errors import PalaceError
from mempal.core.files import read_regular
from mempal.core.model import Chunk, Span
from mempal.ingest.classify import skip_by_content
from mempal.ingest.cut import cut_text, line_numbers
from mempal.ingest.decode import Decoded, UndecodableError, decode, fold, measure_bytes

# Version of the rules from bytes to chunks; files read under another one are read again.
READER_VERSION = 1
CHUNK_LIMIT = 800
IDENTITY_NAME = "identity.txt"
_LONGEST_IDENTITY = 8192


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file holds.

    Attributes:
        chunks: Consecutive pieces; joined, they are the file's whole text with line ends folded.
        skip: Why there are none, when there are none.
        warning: What was not exact, in words for the user.
    """

    chunks: tuple[Chunk, ...] = ()
    encoding: str = "utf-8"
    skip: str | None = None
    warning: str | None = None


def read_text(data: bytes) -> str | None:
    """Return a file's text with folded line ends; ``None`` when it is not text."""
    try:
        decoded = decode(data)
    except UndecodableError:
        return None
    return fold(decoded.text, classic=decoded.classic)


def read_identity(home: Path) -> str:
    """Return what the owner of a palace wrote about themselves in ``identity.txt``; may be empty.

    Raises:
        PalaceError: The file is there but is not a short text.
    """
    path = home / IDENTITY_NAME
    if not path.exists():
        return ""
    hint = f"make it a text file of at most {_LONGEST_IDENTITY} bytes"
    try:
        text = read_text(read_regular(path.resolve(), _LONGEST_IDENTITY))
    except OSError as error:
        raise PalaceError(
            f"{path} cannot be read ({error.strerror or error})", hint=hint
        ) from error
    if text is None:
        raise PalaceError(f"{path} is not text", hint=hint)
    return text


def read_chunks(path: str, data: bytes) -> Reading:
    """Decode and cut one file.

    Args:
        path: Its path, which tells the language.
        data: All its bytes.
    """
    skip = skip_by_content(path, data)
    if skip is not None:
        return Reading(skip=skip)
    try:
        decoded = decode(data)
    except UndecodableError as error:
        return Reading(skip=error.reason)
    chunks = tuple(_cut(path, decoded))
    if not chunks:
        return Reading(encoding=decoded.encoding, skip="blank")
    return Reading(chunks, decoded.encoding, warning=_warn(path, decoded))


def _cut(path: str, decoded: Decoded) -> list[Chunk]:
    # Cutting needs one mark for line ends; replacing it keeps every offset.
    text = decoded.text.replace("\r", "\n") if decoded.classic else decoded.text
    pieces = cut_text(text, path, CHUNK_LIMIT)
    chunks = []
    offset = decoded.bom_bytes
    for piece, (first, last) in zip(pieces, line_numbers(text, pieces), strict=True):
        span = Span(first, last)
        if decoded.exact:
            size = measure_bytes(decoded.text[piece.start : piece.end], decoded.encoding)
            span = Span(first, last, offset, offset + size)
            offset += size
        chunks.append(Chunk(fold(text[piece.start : piece.end]), span, piece.symbols))
    return chunks


def _warn(path: str, decoded: Decoded) -> str | None:
    if decoded.guessed:
        return f"{path}: read as {decoded.encoding}, which was guessed; UTF-8 would be certain"
    if not decoded.replaced:
        return None
    count = f"{decoded.replaced} byte{'s' if decoded.replaced > 1 else ''}"
    return f"{path}: {count} not valid {decoded.encoding}, stored as U+FFFD"
