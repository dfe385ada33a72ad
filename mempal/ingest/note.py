"""Storing text that a person or an agent hands over, rather than a file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mempal.core.clock import now
from mempal.core.errors import UsageError
from mempal.core.ids import hash_content, hash_parts
from mempal.core.model import Addition, Chunk, Source, SourceClass, SourceKind
from mempal.core.names import check_name
from mempal.core.ports import Embedder, Store
from mempal.core.secrets import redact
from mempal.ingest.cut import cut_text
from mempal.ingest.read import CHUNK_LIMIT

_MOST_IMPORTANT = 5


@dataclass(frozen=True, slots=True)
class Note:
    """A text that is ready to be stored: where it is filed, its pieces, what was redacted."""

    source: Source
    chunks: tuple[Chunk, ...]
    redactions: Mapping[str, int]


def prepare_note(text: str, wing: str, room: str, source: str) -> Note:
    """Check a text and its names, and cut it, without its secrets, into what is stored.

    A text of up to 800 characters is one drawer, verbatim; a longer one is cut at natural
    boundaries, and its drawers joined are the text again.

    Raises:
        UsageError: The text is blank, or a name is not valid.
    """
    wing, room = check_name("wing", wing), check_name("room", room)
    # Paired surrogates are joined, lone ones become U+FFFD: neither can be stored.
    cleaned = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if not cleaned.strip():
        raise UsageError(
            "there is no text to add", hint="give it as an argument, or `-` to read it from stdin"
        )
    redacted = redact(cleaned)
    cleaned = redacted.text
    digest = hash_content(cleaned)
    path = redact(source.strip()).text or f"mempal://add/{hash_parts(wing, room, digest)[:12]}"
    pieces = cut_text(cleaned, "note.md", CHUNK_LIMIT)
    chunks = tuple(Chunk(cleaned[piece.start : piece.end], None, piece.symbols) for piece in pieces)
    origin = Source(wing, "", path, SourceKind.MANUAL, room, content_sha256=digest, mined_at=now())
    return Note(origin, chunks, redacted.counts())


def add_note(store: Store, embedder: Embedder, note: Note, importance: int) -> Addition:
    """Store a prepared note, once in each wing and room.

    Raises:
        UsageError: The importance is not 0 to 5.
        EmbedderMismatchError: The palace was embedded by another embedder.
    """
    if not 0 <= importance <= _MOST_IMPORTANT:
        raise UsageError(f"importance is 0 to {_MOST_IMPORTANT}, not {importance}")
    chunks = note.chunks
    store.bind_embedder(embedder.identity)
    contents = [chunk.content for chunk in chunks]
    vectors = dict(zip(contents, embedder.embed_documents(contents), strict=True))
    addition = store.add_manual(
        note.source, chunks, vectors, importance=importance, source_class=SourceClass.PERSON
    )
    return replace(addition, redactions=note.redactions)
