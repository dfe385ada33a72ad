"""From the bytes of one file to the chunks that are stored of it."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mempal.core.model import Chunk, Span, Voice
from mempal.core.secrets import Redacted, redact
from mempal.ingest.classify import skip_by_content
from mempal.ingest.cut import Piece, cut_text, line_numbers
from mempal.ingest.decode import Decoded, UndecodableError, decode, fold, measure_bytes
from mempal.ingest.transcripts import markdown, plain
from mempal.ingest.transcripts.plain import Turn

# Version of the rules from bytes to chunks; files read under another one are read again.
READER_VERSION = 3
CHUNK_LIMIT = 800
# Texts that may be chats.
_CHATS = frozenset({"", ".md", ".markdown", ".txt", ".text"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file holds.

    Attributes:
        chunks: Consecutive pieces; joined, they are the file's whole text with line ends folded.
        skip: Why there are none, when there are none.
        warning: What was not exact, in words for the user.
        redactions: How many secrets of each kind were taken out.
        spoken: Whether the text is a chat, whose chunks say who speaks.
    """

    chunks: tuple[Chunk, ...] = ()
    encoding: str = "utf-8"
    skip: str | None = None
    warning: str | None = None
    redactions: Mapping[str, int] = field(default_factory=dict)
    spoken: bool = False


def read_chunks(path: str, data: bytes, *, chats: str = "") -> Reading:
    """Decode, redact and cut one file.

    Args:
        path: Its path, which tells the language.
        data: All its bytes.
        chats: Whether a text may be a chat, cut where another speaks: ``seek`` for those that
            surely are, ``expect`` for doubtful ones, too, and empty for none.
    """
    skip = skip_by_content(path, data)
    if skip is not None:
        return Reading(skip=skip)
    try:
        decoded = decode(data)
    except UndecodableError as error:
        return Reading(skip=error.reason)
    redacted = redact(decoded.text)
    # A text is cut where it is cut with any other line ends.
    old, new = ("\r", "\n") if decoded.classic else ("\r\n", "\n")
    text = redacted.text.replace(old, new)
    turns = find_turns(path, text, chats)
    chunks = tuple(_cut(path, text, turns, decoded, redacted))
    if not chunks:
        return Reading(encoding=decoded.encoding, skip="blank")
    return Reading(
        chunks,
        decoded.encoding,
        warning=_warn(path, decoded),
        redactions=redacted.counts(),
        spoken=turns is not None,
    )


def find_turns(path: str, text: str, chats: str) -> list[Turn] | None:
    """Return the turns of a text that is a chat, ``None`` for any other."""
    suffix = path[path.rfind(".") :].lower() if "." in path.rpartition("/")[2] else ""
    if not chats or suffix not in _CHATS:
        return None
    return markdown.split(text) or plain.split(text, force=chats == "expect")


def _cut(
    path: str, text: str, turns: list[Turn] | None, decoded: Decoded, redacted: Redacted
) -> Iterator[Chunk]:
    pieces = cut_text(text, path, CHUNK_LIMIT) if turns is None else list(_cut_turns(text, turns))
    speakers = _list_speakers(pieces, turns)
    offset, end = decoded.bom_bytes, 0
    numbers = line_numbers(text, pieces)
    doubles = [] if decoded.classic else _find_doubles(redacted.text)
    behind = 0
    for piece, (first, last), voice in zip(pieces, numbers, speakers, strict=True):
        begin, behind = behind, piece.end + bisect_left(doubles, piece.end)
        span = Span(first, last)
        if decoded.exact:
            start, end = end, redacted.original_offset(behind)
            size = measure_bytes(decoded.text[start:end], decoded.encoding)
            span = Span(first, last, offset, offset + size)
            offset += size
        content = fold(redacted.text[begin:behind], classic=decoded.classic)
        yield Chunk(content, span, fold(piece.symbols), voice)


def _find_doubles(text: str) -> list[int]:
    r"""Return where, once every ``\r\n`` is one character, those characters are."""
    doubles: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        doubles.append(at - len(doubles))
        at = text.find("\r\n", at + 2)
    return doubles


def _cut_turns(text: str, turns: list[Turn]) -> Iterator[Piece]:
    for turn in turns:
        said = text[turn.start : turn.end]
        # A turn that is blank is kept as it is, so that the pieces are the whole text.
        for piece in cut_text(said, "turn.md", CHUNK_LIMIT) or [Piece(0, len(said), "")]:
            yield Piece(turn.start + piece.start, turn.start + piece.end, piece.symbols)


def _list_speakers(pieces: list[Piece], turns: list[Turn] | None) -> Iterator[Voice | None]:
    waiting = iter(turns or ())
    turn = next(waiting, None)
    for piece in pieces:
        while turn is not None and piece.start >= turn.end:
            turn = next(waiting, None)
        yield None if turn is None else Voice(turn.speaker, turn.source_class)


def _warn(path: str, decoded: Decoded) -> str | None:
    if decoded.guessed:
        return f"{path}: read as {decoded.encoding}, which was guessed; UTF-8 would be certain"
    if not decoded.replaced:
        return None
    count = f"{decoded.replaced} byte{'s' if decoded.replaced > 1 else ''}"
    return f"{path}: {count} not valid {decoded.encoding}, stored as U+FFFD"
