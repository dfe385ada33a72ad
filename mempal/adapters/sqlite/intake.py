"""Taking over the rows of an archive, inside a transaction that the caller holds."""

import sqlite3
from dataclasses import dataclass

from mempal.adapters.sqlite.rows import encode_path, write_span
from mempal.adapters.sqlite.tombstones import is_barred, withhold_chunks
from mempal.adapters.sqlite.words import add_words
from mempal.adapters.sqlite.writing import next_revision, record_revision
from mempal.core.archive import (
    ArchiveHeader,
    DrawerRow,
    LinkRow,
    ReadingRow,
    Restored,
    Row,
    SkippedLine,
    SourceRow,
    TombstoneRow,
)
from mempal.core.errors import PalaceError
from mempal.core.ids import hash_content
from mempal.core.model import Source, SourceClass, SourceKind, SourceState, Voice
from mempal.core.vector import dimensions


@dataclass(slots=True)
class _Target:
    """What a source of the archive is here.

    Attributes:
        row_id: Its row; ``None`` when it was forgotten here and is not made again.
        source: The archive's own view of it.
        reading: Number of the reading that a new source is in.
        mined_at: When a source that was here already was last read; ``None`` for a new one.
        shift: Added to the places of its drawers.
    """

    row_id: int | None
    source: Source
    reading: int | None = None
    mined_at: int | None = None
    shift: int = 0


class Intake:
    """Takes rows over one by one; a row comes after those it names.

    Args:
        connection: Inside a transaction.
        header: What the archive says of itself.
        run: The run that new drawers belong to.

    Raises:
        PalaceError: The vectors here are another embedder's.
    """

    def __init__(
        self, connection: sqlite3.Connection, header: ArchiveHeader, run: int | None
    ) -> None:
        self._connection = connection
        self._run = run
        self._revision = next_revision(connection)
        self._targets: dict[int, _Target] = {}
        self._readings: dict[int, ReadingRow] = {}
        self._reading_ids: dict[int, int] = {}
        self._added = self._unchanged = self._sources = 0
        self._skipped: list[SkippedLine] = []
        self._bind(header)

    def _bind(self, header: ArchiveHeader) -> None:
        if header.embedder is None:
            return
        used = self._connection.execute("SELECT EXISTS (SELECT 1 FROM drawers)").fetchone()[0]
        if not used:
            self._connection.execute(
                "INSERT OR REPLACE INTO meta VALUES ('embedder', ?)", (header.embedder,)
            )
            return
        stored = self._connection.execute(
            "SELECT (SELECT value FROM meta WHERE key = 'embedder'),"
            " (SELECT embedding FROM vectors LIMIT 1)"
        ).fetchone()
        length = None if stored[1] is None else dimensions(stored[1])
        if stored[0] != header.embedder or length not in {None, header.dimensions}:
            raise PalaceError(
                f"another process embedded the palace with {stored[0]} meanwhile",
                hint="run it again",
            )

    def take(self, line: int, row: Row) -> None:
        """Take one row over, or note why not."""
        match row:
            case SourceRow():
                self._take_source(row)
            case ReadingRow():
                self._readings[row.number] = row
            case DrawerRow():
                self._take_drawer(line, row)
            case TombstoneRow():
                self._take_tombstone(row)
            case LinkRow():
                self._take_link(line, row)

    def finish(self) -> Restored:
        """Complete what names rows that came later, and count."""
        for target in self._targets.values():
            if target.mined_at is None and target.row_id and target.reading is not None:
                self._connection.execute(
                    "UPDATE sources SET reading_id = ? WHERE id = ?",
                    (self._reading(target.reading), target.row_id),
                )
        if self._added:
            record_revision(self._connection, self._revision)
        return Restored(self._added, self._unchanged, self._sources, tuple(self._skipped))

    # --- sources -------------------------------------------------------------------------------

    def _take_source(self, row: SourceRow) -> None:
        source = row.source
        holder = None if row.holder is None else self._targets[row.holder]
        known = self._connection.execute(
            "SELECT id, mined_at, state FROM sources WHERE wing = ? AND root = ? AND path = ?",
            (source.wing, encode_path(source.root), encode_path(source.path)),
        ).fetchone()
        if (holder and holder.row_id is None) or is_barred(self._connection, source):
            self._targets[row.number] = _Target(None, source)
        elif known is not None:
            shift = self._find_shift(int(known[0])) if source.kind is SourceKind.MANUAL else 0
            self._targets[row.number] = _Target(
                int(known[0]), source, mined_at=int(known[1]), shift=shift
            )
        else:
            row_id = self._add_source(source, holder)
            self._targets[row.number] = _Target(row_id, source, row.reading)

    def _find_shift(self, source_id: int) -> int:
        """Return the place behind all texts that were given by hand under one name."""
        row = self._connection.execute(
            "SELECT coalesce(max(chunk_index) + 1, 0) FROM drawers WHERE source_id = ?",
            (source_id,),
        ).fetchone()
        return int(row[0])

    def _add_source(self, source: Source, holder: _Target | None) -> int:
        self._sources += 1
        if source.state is SourceState.FORGOTTEN:
            self._note_tombstones()
        cursor = self._connection.execute(
            "INSERT INTO sources (wing, root, path, kind, room, size, mtime_ns, content_sha256,"
            " encoding, rules, mined_at, state, reason, session, held_in, tail, moved_to)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                source.wing, encode_path(source.root), encode_path(source.path), source.kind,
                source.room, source.size, source.mtime_ns, source.content_sha256, source.encoding,
                source.rules, source.mined_at, source.state, source.reason, source.session,
                holder and holder.row_id, source.tail,
                None if source.moved_to is None else encode_path(source.moved_to),
            ),
        )  # fmt: skip
        return int(cursor.lastrowid or 0)

    def _reading(self, number: int) -> int:
        """Return the row of a reading, which is made when it is first needed."""
        row_id = self._reading_ids.get(number)
        if row_id is None:
            row = self._readings[number]
            cursor = self._connection.execute(
                "INSERT INTO readings (content_sha256, blob, commit_id, read_at)"
                " VALUES (?, ?, ?, ?)",
                (row.content_sha256, row.blob, row.commit, row.read_at),
            )
            row_id = self._reading_ids[number] = int(cursor.lastrowid or 0)
        return row_id

    # --- drawers -------------------------------------------------------------------------------

    def _take_drawer(self, line: int, row: DrawerRow) -> None:
        target = self._targets[row.source]
        if target.row_id is None:
            self._skip(line, "its source was forgotten here")
            return
        digest = bytes.fromhex(hash_content(row.chunk.content))
        known = self._connection.execute(
            "SELECT content_sha256 FROM drawers WHERE id = ?", (row.id,)
        ).fetchone()
        if known is not None and known[0] == digest:
            self._unchanged += 1
        elif known is not None:
            self._skip(line, f"{row.id} is another text here")
        elif withhold_chunks(self._connection, target.row_id, [row.chunk]) != [row.chunk]:
            self._skip(line, "its text was forgotten here")
        else:
            self._add_drawer(row, target, digest)

    def _add_drawer(self, row: DrawerRow, target: _Target, digest: bytes) -> None:
        chunk, voice = row.chunk, row.chunk.voice or Voice(None, SourceClass.IMPORT)
        cursor = self._connection.execute(
            "INSERT INTO drawers (id, source_id, reading_id, wing, room, content, content_sha256,"
            " symbols, chunk_index, line_start, line_end, byte_start, byte_end, span_digest,"
            " speaker, source_class, said_at, importance, added_at, superseded_at, deleted_at,"
            " revision, run_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                row.id, target.row_id, self._reading(row.reading), row.wing, row.room,
                chunk.content, digest, chunk.symbols, row.chunk_index + target.shift,
                *write_span(chunk.span), voice.speaker, voice.source_class, voice.said_at,
                row.importance, row.added_at, self._find_end(row, target), row.deleted_at,
                self._revision, self._run,
            ),
        )  # fmt: skip
        key = int(cursor.lastrowid or 0)
        if row.vector is not None:
            self._connection.execute("INSERT INTO vectors VALUES (?, ?)", (key, row.vector))
        self._connection.executemany(
            "INSERT OR IGNORE INTO lapses VALUES (?, ?, ?)", [(key, *pair) for pair in row.lapses]
        )
        add_words(self._connection, key, chunk.content, target.source.path, chunk.symbols)
        self._added += 1

    def _find_end(self, row: DrawerRow, target: _Target) -> int | None:
        """Return when a drawer was superseded, as far as is known here.

        A source that was read here later than there did not hold the text any more. Where it was
        read there later, both texts are current until it is read again, which is asked for.
        """
        current = row.superseded_at is row.deleted_at is None
        if target.mined_at is None or target.source.kind is SourceKind.MANUAL or not current:
            return row.superseded_at
        if target.mined_at >= target.source.mined_at:
            return max(target.mined_at, row.added_at)
        self._connection.execute("UPDATE sources SET rules = '' WHERE id = ?", (target.row_id,))
        return None

    # --- what was forgotten and cited ----------------------------------------------------------

    def _take_tombstone(self, row: TombstoneRow) -> None:
        source = 0 if row.source is None else self._targets[row.source].row_id
        if source is None:
            return
        self._note_tombstones()
        self._connection.execute(
            "INSERT OR IGNORE INTO forgotten (digest, source_id, forgotten_at) VALUES (?, ?, ?)",
            (row.digest, source, row.forgotten_at),
        )

    def _note_tombstones(self) -> None:
        self._connection.execute("INSERT OR IGNORE INTO meta VALUES ('forgotten', '1')")

    def _take_link(self, line: int, row: LinkRow) -> None:
        if row.forgotten_at is not None:
            self._connection.execute(
                "INSERT OR IGNORE INTO forgotten_links (card_id, role, drawer_id, forgotten_at)"
                " VALUES (?, ?, ?, ?)",
                (row.card_id, row.role, row.drawer_id, row.forgotten_at),
            )
            return
        known = self._connection.execute(
            "SELECT key FROM drawers WHERE id = ?", (row.drawer_id,)
        ).fetchone()
        if known is None:
            self._skip(line, f"{row.drawer_id} is not here")
            return
        self._connection.execute(
            "INSERT OR IGNORE INTO card_links (card_id, key, role) VALUES (?, ?, ?)",
            (row.card_id, known[0], row.role),
        )

    def _skip(self, line: int, reason: str) -> None:
        self._skipped.append(SkippedLine(line, reason))
