"""Value types that pass between the parts of mempal: frozen, slotted, free of any library."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class SourceClass(StrEnum):
    """Who or what a drawer's words come from."""

    PERSON = "person"
    ASSISTANT = "assistant"
    TOOL = "tool"
    FILE = "file"
    COMMIT = "commit"
    IMPORT = "import"
    OTHER_AGENT = "other agent"


class SourceKind(StrEnum):
    """What kind of thing a source is."""

    FILE = "file"
    MANUAL = "manual"
    CONVERSATION = "conversation"
    HISTORY = "history"


class SourceState(StrEnum):
    """What became of a source when it was last read."""

    STORED = "stored"
    SKIPPED = "skipped"
    GONE = "gone"
    FORGOTTEN = "forgotten"


class Verdict(StrEnum):
    """Whether a citation still holds at the moment it is read."""

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"


class Matcher(StrEnum):
    """Which of the two lists found a drawer."""

    KEYWORD = "keyword"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a source.

    1-based inclusive lines, 0-based half-open bytes of the file as it lies on disk; the bytes are
    unknown in encodings with hidden states. Where the text was derived from these bytes (a message
    out of a record), ``digest`` is their SHA-256, hex, by which a citation is checked.
    """

    line_start: int
    line_end: int
    byte_start: int | None = None
    byte_end: int | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Voice:
    """Who said a piece of text, and when.

    Attributes:
        speaker: Name, as the source spells it.
        source_class: What kind of speaker that is.
        said_at: Instant it was said; ``None`` when the source does not tell.
    """

    speaker: str | None
    source_class: SourceClass
    said_at: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A verbatim piece of one source, before it is stored.

    Attributes:
        content: The text, line ends folded to a newline.
        span: Where it lies in the source; absent for text that came from no file.
        symbols: Names defined or headings opened in it, blank-separated; searched, never shown.
        voice: Who said it; ``None`` for text whose source as a whole tells.
    """

    content: str
    span: Span | None = None
    symbols: str = ""
    voice: Voice | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a source is filed: its wing, the root of its tree and its path below that."""

    wing: str
    root: str
    path: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file, transcript or command that drawers came from, and the state it was last read in.

    Attributes:
        wing: Project the source belongs to.
        root: Absolute path of the tree it was read from; empty for text given by hand.
        path: Path relative to ``root`` with ``/`` between parts, or the name given by hand.
        size: Bytes on disk.
        mtime_ns: Modification time in nanoseconds.
        content_sha256: Hash of the bytes on disk, hex.
        blob: git's object id of those bytes, hex; absent outside git.
        commit: Commit that was checked out when the file was read; absent outside git or before a
            first commit.
        encoding: Codec the bytes were decoded with.
        rules: Name of the rules (version, rooms) that turned bytes into drawers; other rules read
            the file again.
        reason: Why a skipped source holds no drawers.
        session: Key of a conversation, which is one source whatever file holds it.
        holder: The file that holds a conversation.
        tail: Where reading a growing file goes on, as its reader wrote it down.
        moved_to: Path in the same tree that the drawers of a file that is gone were moved to.
    """

    wing: str
    root: str
    path: str
    kind: SourceKind = SourceKind.FILE
    room: str = "general"
    size: int = 0
    mtime_ns: int = 0
    content_sha256: str = ""
    blob: str | None = None
    commit: str | None = None
    encoding: str = "utf-8"
    rules: str = ""
    mined_at: int = 0
    state: SourceState = SourceState.STORED
    reason: str | None = None
    session: str | None = None
    holder: Place | None = None
    tail: str | None = None
    moved_to: str | None = None

    @property
    def place(self) -> Place:
        """Where the source is filed."""
        return Place(self.wing, self.root, self.path)


@dataclass(frozen=True, slots=True)
class Drawer:
    """One stored verbatim piece with its citation.

    Attributes:
        key: The store's own small integer, which indexes use; stable for the life of the drawer.
        id: Public identifier, deterministic and collision-safe.
        source_file: ``path`` of the file it came from; the name of a source that is no file.
        root: ``root`` of that file; ``Path(root) / source_file`` opens it. Empty for text given by
            hand.
        chunk_index: Position among the drawers of its source.
        added_at: Instant it was first stored.
        superseded_at: Instant its text was found to be no longer in the source.
        deleted_at: Instant it was deleted.
        said_at: Instant its words were said or written, where the source tells.
        session: Key of the conversation it belongs to.
    """

    key: int
    id: str
    wing: str
    room: str
    content: str
    source_file: str
    root: str
    chunk_index: int
    span: Span | None
    speaker: str | None
    source_class: SourceClass
    importance: int
    added_at: int
    superseded_at: int | None
    deleted_at: int | None
    content_sha256: str
    source_sha256: str
    blob: str | None
    commit: str | None
    said_at: int | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """Which drawers a question is about.

    Attributes:
        wing: Only this wing.
        room: Only this room.
        as_of: Only what was current at this instant.
        history: Also what has been superseded since.
    """

    wing: str | None = None
    room: str | None = None
    as_of: int | None = None
    history: bool = False

    @property
    def current_only(self) -> bool:
        """Whether superseded drawers are out of question."""
        return not self.history and self.as_of is None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What a vector index is told about one drawer.

    Attributes:
        key: The drawer's integer key.
        vector: Packed vector (see :mod:`mempal.core.vector`); ``None`` when the drawer must leave
            the index.
        current: Whether the drawer is neither superseded nor deleted.
    """

    key: int
    vector: bytes | None
    wing: str
    room: str
    current: bool = True


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A drawer near a query vector; ``similarity`` is the cosine, in [-1, 1]."""

    key: int
    similarity: float


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A drawer that shares words with a query.

    ``score`` is its BM25 score, larger is better, never negative.
    """

    key: int
    score: float


@dataclass(frozen=True, slots=True)
class Term:
    """One thing a query asks for by word.

    Attributes:
        tokens: Words that must follow each other; a single word in most terms.
        prefix: Whether the last token may be the beginning of a longer word.
    """

    tokens: tuple[str, ...]
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a drawer's text is now, judged when it is read.

    Attributes:
        verdict: Whether the cited lines still hold the text.
        path: Path relative to the source's root where the text was found; differs from the drawer's
            when it moved.
        line_start: First line there, 1-based; ``None`` when unknown.
        line_end: Last line there, inclusive.
    """

    verdict: Verdict
    path: str
    line_start: int | None = None
    line_end: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result.

    Attributes:
        score: Strength of the answer in [0, 1]; comparable between queries.
        before: Drawers of the same source just before this one, nearest last.
        after: Drawers of the same source just after this one, nearest first.
    """

    drawer: Drawer
    score: float
    matched_by: tuple[Matcher, ...]
    citation: Citation
    before: tuple[Drawer, ...] = ()
    after: tuple[Drawer, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """An answer.

    Hits best first, and in ``degraded`` each reason why it may be less than the whole answer.
    """

    query: str
    mode: str
    hits: tuple[Hit, ...]
    terms: tuple[Term, ...] = ()
    degraded: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """What storing one source did to its drawers."""

    added: int = 0
    unchanged: int = 0
    superseded: int = 0
    restored: int = 0

    def __add__(self, other: "Changes") -> "Changes":
        """Add up two sets of changes."""
        return Changes(
            self.added + other.added,
            self.unchanged + other.unchanged,
            self.superseded + other.superseded,
            self.restored + other.restored,
        )


@dataclass(frozen=True, slots=True)
class Addition:
    """What storing one text by hand did: its drawers, whether they are new, what was redacted."""

    drawer_ids: tuple[str, ...]
    created: bool
    duplicate_of: str | None = None
    redactions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoomCount:
    """How many current drawers and sources one room of one wing holds."""

    wing: str
    room: str
    drawers: int
    sources: int
    last_added_at: int | None


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """Sizes and versions of a store.

    Attributes:
        bytes: Size of the store's files on disk.
        text_bytes: UTF-8 bytes of all stored text.
        embedder: Identity of the embedder the palace was written with; ``None`` before the first
            drawer.
        revision: Number of the last committed change.
    """

    schema_version: int
    revision: int
    embedder: str | None
    drawers: int
    superseded: int
    deleted: int
    sources: int
    skipped_sources: int
    bytes: int
    text_bytes: int
    rooms: tuple[RoomCount, ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """A path that was not read, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Repository:
    """What git knows about a working tree.

    Attributes:
        root: Top folder of the working tree.
        commit: Commit that is checked out, hex; ``None`` before the first commit.
        object_format: Hash that names blobs, ``sha1`` or ``sha256``.
        notices: What could not be learned, in words for the user.
    """

    root: Path
    commit: str | None = None
    object_format: str = "sha1"
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TreeListing:
    """What git would show of a working tree.

    Attributes:
        files: Paths relative to the tree's root, tracked and untracked-but-not-ignored, sorted by
            code point.
        tracked: The tracked ones among them.
        submodules: Relative paths of checked-out submodules; their files are not in ``files``.
        nested: Relative paths of other repositories inside the tree; their files are not in
            ``files``.
        ignored: Ignored files and folders (a folder once, for all below it) with the rule that
            excludes each.
    """

    files: tuple[str, ...]
    tracked: frozenset[str]
    submodules: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    ignored: tuple[Skip, ...] = field(default=())
