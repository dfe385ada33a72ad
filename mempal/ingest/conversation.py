"""From a transcript file to the conversations that are stored of it."""

import io
import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from mempal.core.files import open_regular
from mempal.core.ids import hash_parts
from mempal.core.model import Chunk, Span
from mempal.core.secrets import redact
from mempal.ingest.cut import cut_text
from mempal.ingest.read import CHUNK_LIMIT
from mempal.ingest.tail import Tail, hash_before
from mempal.ingest.transcripts import chatgpt, claude, codex, gemini, slack
from mempal.ingest.transcripts.detect import Format, detect
from mempal.ingest.transcripts.documents import read_items
from mempal.ingest.transcripts.message import Checkpoint, Message, Transcript

CONVERSATIONS_ROOM = "conversations"
_COMPRESSED = ".jsonl.zst"
_SUFFIXES = (".json", ".jsonl", ".ndjson", _COMPRESSED)
_HEAD = 65_536
_PLAIN_NAME = re.compile(r"[\w.:/@+#=-]{1,200}")
# What a compressed file may grow to: talk is packed to a tenth or so, and what grows far more is a
# trap rather than a session.
_MOST_GROWTH = 100
_LEAST_LIMIT = 4 << 20
_GROWING: Mapping[Format, Callable[[BinaryIO, Checkpoint | None], Transcript]] = {
    Format.CLAUDE: claude.read,
    Format.CODEX: codex.read,
    Format.GEMINI: gemini.read,
}


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a file.

    Attributes:
        key: What tells it from all others, its format included; that of a format without keys
            ends with a colon.
        folder: Folder that was worked in, absolute; empty when unknown.
        chunks: What was said from ``start`` on.
        start: How many drawers hold what was said before.
    """

    key: str
    folder: str
    chunks: tuple[Chunk, ...]
    start: int = 0


@dataclass(frozen=True, slots=True)
class Talk:
    """What a transcript file holds.

    Attributes:
        resumed: Whether only what follows a tail was read.
        problems: What could not be read, in words for the user.
        redactions: How many secrets of each kind were taken out.
        tail: Where to go on when the file has grown; ``None`` when it is read whole again.
    """

    format: str
    conversations: tuple[Conversation, ...]
    resumed: bool = False
    problems: tuple[str, ...] = ()
    redactions: Mapping[str, int] = field(default_factory=dict)
    tail: Tail | None = None


def may_be_transcript(path: str) -> bool:
    """Return whether a name is one that files of chat tools have."""
    return path.lower().endswith(_SUFFIXES)


def is_compressed(path: str) -> bool:
    """Return whether a name is that of a compressed transcript."""
    return path.lower().endswith(_COMPRESSED)


def detect_format(absolute: Path, path: str) -> Format | None:
    """Tell a transcript's format from the beginning of the file; ``None`` for anything else.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is compressed, and damaged.
    """
    if not may_be_transcript(path):
        return None
    with _open(absolute, path) as file:
        return detect(path, file.read(_HEAD))


def read_talk(absolute: Path, path: str, form: Format, tail: Tail | None) -> Talk:
    """Read a transcript, or what was added to it since a tail.

    Args:
        absolute: Where the file lies.
        path: Its path in its tree.
        form: What :func:`detect_format` said.
        tail: What an earlier reading wrote down; set aside when the file was written anew.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is compressed, and damaged.
    """
    with _open(absolute, path) as file:
        if tail is not None and (is_compressed(path) or not tail.fits(file, form)):
            tail = None
        transcript = _read(file, absolute, form, tail)
        return _compose(file, path, transcript, tail if transcript.resumed else None)


def _read(file: BinaryIO, absolute: Path, form: Format, tail: Tail | None) -> Transcript:
    if form in _GROWING:
        return _GROWING[form](file, tail.checkpoint if tail else None)
    items = read_items(file)
    if form is Format.CHATGPT:
        return chatgpt.read(items)
    if form is Format.SLACK:
        export, folder = absolute.parent.parent, absolute.parent.name
        people, channels = slack.load_people(export), slack.load_channels(export)
        return slack.read(
            items, folder, people, day=absolute.stem, identity=channels.get(folder, "")
        )
    first = next(items, None)
    if isinstance(first, dict) and not gemini.recognises_document([first]):
        return gemini.read_document(first)
    return gemini.read_document(list(chain([first], items)))


def _compose(file: BinaryIO, path: str, transcript: Transcript, tail: Tail | None) -> Talk:
    redactions: Counter[str] = Counter()
    chunks: dict[str, list[Chunk]] = defaultdict(list)
    settled: Counter[str] = Counter()
    starts = tail.drawers if tail else {}
    told: Counter[str] = Counter(tail.checkpoint.settled if tail else {})
    checkpoint = transcript.checkpoint
    for message in transcript.messages:
        session = message.session
        chunks[session].extend(_cut(message, redactions, located=not is_compressed(path)))
        told[session] += 1
        if checkpoint and told[session] == checkpoint.settled.get(session):
            settled[session] = len(chunks[session])
    conversations = tuple(
        Conversation(
            f"{transcript.format}:{_name_session(session)}",
            known.folder if (known := transcript.sessions.get(session)) else "",
            tuple(pieces),
            starts.get(session, 0),
        )
        for session, pieces in chunks.items()
    )
    after = None
    if checkpoint and not is_compressed(path):
        drawers = {
            session: starts.get(session, 0) + settled[session]
            for session, count in checkpoint.settled.items()
            if count
        }
        guard = hash_before(file, checkpoint.offset)
        after = Tail(checkpoint, drawers, guard, transcript.format)
    return Talk(
        transcript.format, conversations, transcript.resumed, transcript.problems, redactions, after
    )


def _name_session(session: str) -> str:
    """Return a session's key as it is stored: what is no plain name, or a secret, as its hash."""
    if not session or (_PLAIN_NAME.fullmatch(session) and redact(session).text == session):
        return session
    return f"sha256-{hash_parts(session)[:32]}"


def _cut(message: Message, redactions: Counter[str], *, located: bool) -> Iterator[Chunk]:
    """Cut what was said, without its secrets, into pieces that joined are all of it.

    Args:
        message: What was said.
        redactions: Where secrets that are taken out are counted.
        located: Whether the bytes that a message lies in are those of the file.
    """
    redacted = redact(message.text)
    redactions.update(redacted.counts())
    text, span = redacted.text, message.span
    if span is not None and not located:
        span = Span(span.line_start, span.line_end)
    if len(text) <= CHUNK_LIMIT:
        yield Chunk(text, span, "", message.voice)
        return
    for piece in cut_text(text, "message.md", CHUNK_LIMIT):
        yield Chunk(text[piece.start : piece.end], span, piece.symbols, message.voice)


@contextmanager
def _open(absolute: Path, path: str) -> Iterator[BinaryIO]:
    with open_regular(absolute) as file:
        if not is_compressed(path):
            yield file
            return
        import zstandard  # noqa: PLC0415 - few sessions are compressed

        try:
            with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as plain:
                size = os.fstat(file.fileno()).st_size
                yield io.BufferedReader(_Limited(plain, max(_LEAST_LIMIT, _MOST_GROWTH * size)))
        except zstandard.ZstdError as error:
            raise ValueError(f"damaged compression ({error})") from error


class _Limited(io.RawIOBase):
    """A decompressed stream that ends with an error rather than fill the memory."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self._stream.read(len(view))
        self._left -= len(data)
        if self._left < 0:
            raise OSError(f"grows to more than {self._limit:,} bytes")
        view[: len(data)] = data
        return len(data)


def exists(root: str, path: str) -> bool:
    """Return whether a regular file is there, with no link in its place."""
    try:
        return stat.S_ISREG(os.lstat(Path(root) / path).st_mode)
    except (OSError, ValueError):
        return False
