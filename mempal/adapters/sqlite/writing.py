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
from mempal.core.ids import hash_content, make_drawer_id
from mempal.core.model import Changes, Chunk, Source, SourceClass


@dataclass(slots=True)
class _Kept:
    """A stored drawer of the source, as far as matching needs it."""

    key: int
    superseded_at: int | None
    chunk_index: int
    place: tuple[int | None, ...]
    reading_id: int
    symbols: str


@dataclass(slots=True)
class Match:
    """Chunks of a source against the drawers it has.

    Attributes:
        kept: For each chunk, the drawer that already holds its text, or ``None``.
        left: Current drawers whose text is not among the chunks.
    """

    kept: list[_Kept | None] = field(default_factory=list)
    left: list[_Kept] = field(default_factory=list)

    def changes(self) -> Changes:
        """Count what storing the chunks changes."""
        added = sum(kept is None for kept in self.kept)
        restored = sum(kept is not None and kept.superseded_at is not None for kept in self.kept)
        return Changes(added, len(self.kept) - added - restored, len(self.left), restored)


def find_source(connection: sqlite3.Connection, source: Source) -> int | None:
    """Return the row id of a source, if it is known."""
    row = connection.execute(
        "SELECT id FROM sources WHERE wing = ? AND root = ? AND path = ?",
        (source.wing, encode_path(source.root), encode_path(source.path)),
    ).fetchone()
    return None if row is None else int(row[0])


def match_chunks(
    connection: sqlite3.Connection, source_id: int | None, room: str, chunks: Sequence[Chunk]
) -> Match:
    """Pair chunks with drawers of equal text in the same room, each once, current ones first."""
    by_text: dict[bytes, deque[_Kept]] = defaultdict(deque)
    others: list[_Kept] = []
    if source_id is not None:
        for digest, drawer_room, key, superseded_at, index, *rest in _stored(connection, source_id):
            kept = _Kept(key, superseded_at, index, tuple(rest[:4]), *rest[4:])
            if drawer_room == room:
                by_text[digest].append(kept)
            else:
                others.append(kept)
    matched = Match()
    for chunk in chunks:
        candidates = by_text.get(bytes.fromhex(hash_content(chunk.content)))
        matched.kept.append(candidates.popleft() if candidates else None)
    others.extend(kept for candidates in by_text.values() for kept in candidates)
    matched.left = [kept for kept in others if kept.superseded_at is None]
    return matched


def _stored(connection: sqlite3.Connection, source_id: int) -> Iterator[tuple[Any, ...]]:
    return connection.execute(
        "SELECT content_sha256, room, key, superseded_at, chunk_index,"
        " line_start, line_end, byte_start, byte_end, reading_id, symbols"
        " FROM drawers WHERE source_id = ? AND deleted_at IS NULL"
        " ORDER BY superseded_at IS NOT NULL, chunk_index, key",
        (source_id,),
    )


def write_source(connection: sqlite3.Connection, source: Source) -> tuple[int, int]:
    """Insert or update a source; return its row id and that of the reading it is in now."""
    source_id = find_source(connection, source)
    values = (
        source.kind, source.room, source.size, source.mtime_ns, source.content_sha256,
        source.encoding, source.rules, source.mined_at, source.state, source.reason,
    )  # fmt: skip
    if source_id is None:
        cursor = connection.execute(
            "INSERT INTO sources (kind, room, size, mtime_ns, content_sha256, encoding, rules,"
            " mined_at, state, reason, wing, root, path) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (*values, source.wing, encode_path(source.root), encode_path(source.path)),
        )
        source_id = int(cursor.lastrowid or 0)
    else:
        connection.execute(
            "UPDATE sources SET kind = ?, room = ?, size = ?, mtime_ns = ?, content_sha256 = ?,"
            " encoding = ?, rules = ?, mined_at = ?, state = ?, reason = ? WHERE id = ?",
            (*values, source_id),
        )
    return source_id, _write_reading(connection, source_id, source)


def _write_reading(connection: sqlite3.Connection, source_id: int, source: Source) -> int:
    row = connection.execute(
        "SELECT r.id, r.content_sha256, r.blob, r.commit_id FROM sources AS s"
        " JOIN readings AS r ON r.id = s.reading_id WHERE s.id = ?",
        (source_id,),
    ).fetchone()
    if row is not None and row[1:] == (source.content_sha256, source.blob, source.commit):
        return int(row[0])
    cursor = connection.execute(
        "INSERT INTO readings (source_id, content_sha256, blob, commit_id, read_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (source_id, source.content_sha256, source.blob, source.commit, source.mined_at),
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
    used: dict[str, int] = field(default_factory=dict)

    def replace(self, chunks: Sequence[Chunk], vectors: Mapping[str, bytes]) -> Changes:
        """Make ``chunks`` the current drawers of the source."""
        matched = match_chunks(self.connection, self.source_id, self.source.room, chunks)
        changes = matched.changes()
        for index, (chunk, kept) in enumerate(zip(chunks, matched.kept, strict=True)):
            if kept is None:
                self.add(index, chunk, vectors.get(chunk.content))
                continue
            if kept.superseded_at is not None:
                self._restore(kept)
            self._place(kept, index, chunk)
        for kept in matched.left:
            self.connection.execute(
                "UPDATE drawers SET superseded_at = ?, revision = ? WHERE key = ?",
                (self.source.mined_at, self.revision, kept.key),
            )
        return changes

    def add(self, index: int, chunk: Chunk, vector: bytes | None) -> str:
        """Insert a new drawer with its vector and words; return its id."""
        drawer_id = self._free_id(chunk.content)
        cursor = self.connection.execute(
            "INSERT INTO drawers (id, source_id, reading_id, wing, room, content, content_sha256,"
            " symbols, chunk_index, line_start, line_end, byte_start, byte_end, source_class,"
            " importance, added_at, revision) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                drawer_id, self.source_id, self.reading_id, self.source.wing, self.source.room,
                chunk.content, bytes.fromhex(hash_content(chunk.content)), chunk.symbols, index,
                *write_span(chunk.span), self.source_class, self.importance,
                self.source.mined_at, self.revision,
            ),
        )  # fmt: skip
        key = int(cursor.lastrowid or 0)
        if vector is not None:
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
            "UPDATE drawers SET superseded_at = NULL, revision = ? WHERE key = ?",
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
            " byte_end = ?, reading_id = ?, symbols = ? WHERE key = ?",
            (index, *place, self.reading_id, chunk.symbols, kept.key),
        )
        if kept.symbols != chunk.symbols:
            path = self.source.path
            remove_words(self.connection, kept.key, chunk.content, path, kept.symbols)
            add_words(self.connection, kept.key, chunk.content, path, chunk.symbols)
