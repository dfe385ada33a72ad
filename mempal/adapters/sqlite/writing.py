"""Storing one source: which drawers stay, come back, are new or are superseded.

All functions run inside a transaction that their caller holds.
"""

import sqlite3
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mempal.adapters.sqlite.rows import encode_path, write_span
from mempal.adapters.sqlite.words import add_words, remove_words
from mempal.core.errors import VectorsMissingError
from mempal.core.ids import hash_content, make_drawer_id
from mempal.core.model import Changes, Chunk, Place, Source, SourceClass, Voice


@dataclass(slots=True)
class _Kept:
    """A stored drawer of the source, as far as matching needs it."""

    key: int
    superseded_at: int | None
    deleted_at: int | None
    chunk_index: int
    place: tuple[int | str | None, ...]
    reading_id: int
    symbols: str

    @property
    def lapsed(self) -> bool:
        """Whether it comes back when its text does; what a person deleted does not."""
        return self.superseded_at is not None and self.deleted_at is None


@dataclass(slots=True)
class Match:
    """Chunks of a source against the drawers it has.

    Attributes:
        kept: For each chunk, the drawer that already holds its text, or ``None``.
        left: Current drawers whose text is not among the chunks.
        hidden: Deleted ones of that kind, which must not be current when they are restored.
    """

    kept: list[_Kept | None] = field(default_factory=list)
    left: list[_Kept] = field(default_factory=list)
    hidden: list[_Kept] = field(default_factory=list)

    def changes(self) -> Changes:
        """Count what storing the chunks changes."""
        added = sum(kept is None for kept in self.kept)
        restored = sum(kept is not None and kept.lapsed for kept in self.kept)
        return Changes(added, len(self.kept) - added - restored, len(self.left), restored)


def find_source(connection: sqlite3.Connection, source: Source | Place) -> int | None:
    """Return the row id of a source, if it is known."""
    row = connection.execute(
        "SELECT id FROM sources WHERE wing = ? AND root = ? AND path = ?",
        (source.wing, encode_path(source.root), encode_path(source.path)),
    ).fetchone()
    return None if row is None else int(row[0])


def holds_text(connection: sqlite3.Connection, source: Source) -> bool:
    """Return whether a source is stored still with the text that it is known to hold."""
    row = connection.execute(
        "SELECT 1 FROM sources WHERE wing = ? AND root = ? AND path = ? AND state = 'stored'"
        " AND content_sha256 = ?",
        (source.wing, encode_path(source.root), encode_path(source.path), source.content_sha256),
    ).fetchone()
    return row is not None


def match_chunks(
    connection: sqlite3.Connection,
    source_id: int | None,
    room: str,
    chunks: Sequence[Chunk],
    start: int = 0,
) -> Match:
    """Pair chunks with drawers of equal text in the same room, each once.

    Current drawers come first, then superseded ones, then those that a person deleted, which stay
    deleted. Drawers whose place is before ``start`` are left alone.
    """
    by_text: dict[bytes, deque[_Kept]] = defaultdict(deque)
    others: list[_Kept] = []
    if source_id is not None:
        for digest, drawer_room, *state in _stored(connection, source_id, start):
            key, superseded_at, deleted_at, index, *place, reading_id, symbols = state
            kept = _Kept(key, superseded_at, deleted_at, index, tuple(place), reading_id, symbols)
            if drawer_room == room:
                by_text[digest].append(kept)
            else:
                others.append(kept)
    matched = Match()
    for chunk in chunks:
        candidates = by_text.get(bytes.fromhex(hash_content(chunk.content)))
        matched.kept.append(candidates.popleft() if candidates else None)
    others.extend(kept for candidates in by_text.values() for kept in candidates)
    standing = [kept for kept in others if kept.superseded_at is None]
    matched.left = [kept for kept in standing if kept.deleted_at is None]
    matched.hidden = [kept for kept in standing if kept.deleted_at is not None]
    return matched


def _stored(
    connection: sqlite3.Connection, source_id: int, start: int
) -> Iterator[tuple[Any, ...]]:
    return connection.execute(
        "SELECT content_sha256, room, key, superseded_at, deleted_at, chunk_index,"
        " line_start, line_end, byte_start, byte_end, span_digest, reading_id, symbols"
        " FROM drawers WHERE source_id = ? AND chunk_index >= ?"
        " ORDER BY deleted_at IS NOT NULL, superseded_at IS NOT NULL, chunk_index, key",
        (source_id, start),
    )


def write_source(connection: sqlite3.Connection, source: Source) -> tuple[int, int]:
    """Insert or update a source; return its row id and that of the reading it is in now."""
    source_id = find_source(connection, source)
    values = (
        source.kind, source.room, source.size, source.mtime_ns, source.content_sha256,
        source.encoding, source.rules, source.mined_at, source.state, source.reason,
        source.session, _find_holder(connection, source), source.tail,
        None if source.moved_to is None else encode_path(source.moved_to),
    )  # fmt: skip
    if source_id is None:
        cursor = connection.execute(
            "INSERT INTO sources (kind, room, size, mtime_ns, content_sha256, encoding, rules,"
            " mined_at, state, reason, session, held_in, tail, moved_to, wing, root, path)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (*values, source.wing, encode_path(source.root), encode_path(source.path)),
        )
        source_id = int(cursor.lastrowid or 0)
    else:
        connection.execute(
            "UPDATE sources SET kind = ?, room = ?, size = ?, mtime_ns = ?, content_sha256 = ?,"
            " encoding = ?, rules = ?, mined_at = ?, state = ?, reason = ?, session = ?,"
            " held_in = ?, tail = ?, moved_to = ? WHERE id = ?",
            (*values, source_id),
        )
    return source_id, _write_reading(connection, source_id, source)


def _find_holder(connection: sqlite3.Connection, source: Source) -> int | None:
    return None if source.holder is None else find_source(connection, source.holder)


def _write_reading(connection: sqlite3.Connection, source_id: int, source: Source) -> int:
    row = connection.execute(
        "SELECT r.id, r.content_sha256, r.blob, r.commit_id FROM sources AS s"
        " JOIN readings AS r ON r.id = s.reading_id WHERE s.id = ?",
        (source_id,),
    ).fetchone()
    if row is not None and row[1:] == (source.content_sha256, source.blob, source.commit):
        return int(row[0])
    cursor = connection.execute(
        "INSERT INTO readings (content_sha256, blob, commit_id, read_at) VALUES (?, ?, ?, ?)",
        (source.content_sha256, source.blob, source.commit, source.mined_at),
    )
    reading_id = int(cursor.lastrowid or 0)
    connection.execute("UPDATE sources SET reading_id = ? WHERE id = ?", (reading_id, source_id))
    return reading_id


def next_revision(connection: sqlite3.Connection) -> int:
    """Return the number of the change now being made."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()
    return int(row[0]) + 1


def record_revision(connection: sqlite3.Connection, revision: int) -> None:
    """Record that a change was made."""
    connection.execute("UPDATE meta SET value = ? WHERE key = 'revision'", (str(revision),))


@dataclass(slots=True)
class Writer:
    """Writes the drawers of one source within one transaction."""

    connection: sqlite3.Connection
    source: Source
    source_id: int
    reading_id: int
    source_class: SourceClass
    revision: int
    importance: int = 0
    run_id: int | None = None
    used: dict[str, int] = field(default_factory=dict)

    def replace(
        self, chunks: Sequence[Chunk], vectors: Mapping[str, bytes], start: int = 0
    ) -> Changes:
        """Make ``chunks`` the current drawers of the source from the place ``start`` on.

        Raises:
            VectorsMissingError: New texts have no vector; nothing was written.
        """
        matched = match_chunks(self.connection, self.source_id, self.source.room, chunks, start)
        changes = matched.changes()
        pairs = list(zip(chunks, matched.kept, strict=True))
        missing = [chunk.content for chunk, kept in pairs if kept is None]
        if any(content not in vectors for content in missing):
            raise VectorsMissingError
        for index, (chunk, kept) in enumerate(pairs, start):
            if kept is None:
                self.add(index, chunk, vectors[chunk.content])
                continue
            if kept.superseded_at is not None:
                self._restore(kept)
            self._place(kept, index, chunk)
        for kept in matched.left:
            self.connection.execute(
                "UPDATE drawers SET superseded_at = ?, revision = ? WHERE key = ?",
                (self.source.mined_at, self.revision, kept.key),
            )
        for kept in matched.hidden:  # no index shows them, so none has to know
            self.connection.execute(
                "UPDATE drawers SET superseded_at = ? WHERE key = ?",
                (self.source.mined_at, kept.key),
            )
        return changes

    def add(self, index: int, chunk: Chunk, vector: bytes) -> str:
        """Insert a new drawer with its vector and words; return its id."""
        drawer_id = self._free_id(chunk.content)
        voice = chunk.voice or Voice(None, self.source_class)
        cursor = self.connection.execute(
            "INSERT INTO drawers (id, source_id, reading_id, wing, room, content, content_sha256,"
            " symbols, chunk_index, line_start, line_end, byte_start, byte_end, span_digest,"
            " speaker, source_class, said_at, importance, added_at, revision, run_id)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                drawer_id, self.source_id, self.reading_id, self.source.wing, self.source.room,
                chunk.content, bytes.fromhex(hash_content(chunk.content)), chunk.symbols, index,
                *write_span(chunk.span), voice.speaker, voice.source_class, voice.said_at,
                self.importance, self.source.mined_at, self.revision, self.run_id,
            ),
        )  # fmt: skip
        key = int(cursor.lastrowid or 0)
        self.connection.execute("INSERT INTO vectors VALUES (?, ?)", (key, vector))
        add_words(self.connection, key, chunk.content, self.source.path, chunk.symbols)
        return drawer_id

    def _free_id(self, content: str) -> str:
        # The same text may stand twice in one source, and an id may still be held by a drawer of a
        # source that was renamed; the next free number keeps ids apart and repeatable.
        occurrence = self.used.get(content, 0)
        while True:
            drawer_id = make_drawer_id(
                self.source.wing, self.source.room, self.source.path, content, occurrence
            )
            taken = self.connection.execute("SELECT 1 FROM drawers WHERE id = ?", (drawer_id,))
            occurrence += 1
            if taken.fetchone() is None:
                self.used[content] = occurrence
                return drawer_id

    def _restore(self, kept: _Kept) -> None:
        self.connection.execute(
            "INSERT OR REPLACE INTO lapses VALUES (?, ?, ?)",
            (kept.key, kept.superseded_at, self.source.mined_at),
        )
        self.connection.execute(
            "UPDATE drawers SET superseded_at = NULL,"
            " revision = CASE WHEN deleted_at IS NULL THEN ? ELSE revision END WHERE key = ?",
            (self.revision, kept.key),
        )

    def _place(self, kept: _Kept, index: int, chunk: Chunk) -> None:
        place = write_span(chunk.span)
        if (kept.chunk_index, kept.place, kept.reading_id, kept.symbols) == (
            index,
            place,
            self.reading_id,
            chunk.symbols,
        ):
            return
        self.connection.execute(
            "UPDATE drawers SET chunk_index = ?, line_start = ?, line_end = ?, byte_start = ?,"
            " byte_end = ?, span_digest = ?, reading_id = ?, symbols = ? WHERE key = ?",
            (index, *place, self.reading_id, chunk.symbols, kept.key),
        )
        if kept.symbols != chunk.symbols:
            path = self.source.path
            remove_words(self.connection, kept.key, chunk.content, path, kept.symbols)
            add_words(self.connection, kept.key, chunk.content, path, chunk.symbols)
