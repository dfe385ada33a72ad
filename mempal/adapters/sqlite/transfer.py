"""The port ``Archive``: the palace database given away row by row, and copied as a file."""

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from mempal.adapters.sqlite.base import guarded
from mempal.adapters.sqlite.connection import translate_errors
from mempal.adapters.sqlite.intake import Intake
from mempal.adapters.sqlite.rows import decode_path
from mempal.adapters.sqlite.runs import RunTables
from mempal.adapters.sqlite.tombstones import is_barred, withhold_chunks
from mempal.adapters.sqlite.writing import find_source
from mempal.core.archive import (
    ArchiveHeader,
    Destination,
    DrawerRow,
    LinkRow,
    NumberedRow,
    ReadingRow,
    Restored,
    Row,
    SourceRow,
    TombstoneRow,
)
from mempal.core.clock import now
from mempal.core.errors import DamagedError
from mempal.core.model import Chunk, Source, SourceClass, SourceKind, SourceState, Span, Voice
from mempal.core.vector import dimensions

_KINDS = {
    "source": "sources",
    "reading": "readings",
    "drawer": "drawers",
    "forgotten": "forgotten",
    "card_link": "card_links",
    "forgotten_link": "forgotten_links",
}
# Instructions of SQLite between two reports of progress: some hundred a second.
_STEP = 100_000
# What befalls the copy, not the palace.
_OF_THE_COPY = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
)


class SqliteArchive(RunTables):
    """The palace database as a whole.

    Args:
        path: The database file.
        writable: Whether to open it for writing, which creates it when it is not there.
    """

    @contextmanager
    def snapshot(self) -> Iterator[tuple[ArchiveHeader, Iterator[Row]]]:
        """Give every row as of one moment: inside one read transaction."""
        with self._errors():
            self._connection.execute("BEGIN")
            try:
                yield self._describe(), _read_rows(self._connection)
            finally:
                self._connection.execute("ROLLBACK")

    def _describe(self) -> ArchiveHeader:
        counts = {
            kind: int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
            for kind, table in _KINDS.items()
        }
        return ArchiveHeader(
            schema=int(self._connection.execute("PRAGMA user_version").fetchone()[0]),
            embedder=self._meta("embedder"),
            dimensions=self._dimensions(),
            exported_at=now(),
            counts=counts,
        )

    def _dimensions(self) -> int | None:
        row = self._connection.execute("SELECT embedding FROM vectors LIMIT 1").fetchone()
        return None if row is None else dimensions(row[0])

    @guarded
    def destination(self) -> Destination:
        """Return what there is before an archive is taken over."""
        row = self._connection.execute("SELECT count(*) FROM drawers").fetchone()
        return Destination(self._meta("embedder"), self._dimensions(), int(row[0]))

    @guarded
    def withhold(self, source: Source, chunk: Chunk) -> Chunk | None:
        """Return what may be stored of a text here."""
        if is_barred(self._connection, source):
            return None
        source_id = find_source(self._connection, source)
        rest = withhold_chunks(self._connection, source_id, [chunk])
        return rest[0] if rest else None

    @guarded
    def restore(self, header: ArchiveHeader, rows: Iterable[NumberedRow]) -> Restored:
        """Take rows over in one transaction."""
        with self._change() as connection:
            intake = Intake(connection, header, self._run)
            for line, row in rows:
                intake.take(line, row)
            return intake.finish()

    @guarded
    def copy(self, path: Path, on_step: Callable[[], None]) -> None:
        """Write the whole store as of one moment to an empty file.

        ``VACUUM INTO`` reads in one transaction, so writers neither disturb it nor make it begin
        again, as they do with page-wise copying; and it writes rows instead of pages, so no text
        that was removed is in the copy.
        """
        connection = self._connection
        connection.set_progress_handler(on_step, _STEP)
        try:
            connection.execute("VACUUM INTO ?", (path.as_uri(),))
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_INTERRUPT:  # SQLite swallows what its handler raises
                raise KeyboardInterrupt from error
            with translate_errors(path if code in _OF_THE_COPY else self.path):
                raise
        finally:
            connection.set_progress_handler(None, 0)
        with translate_errors(path):
            _complete_copy(path)


def _complete_copy(path: Path) -> None:
    """Give a copy a lineage of its own, rid it of what was removed, check it, make it durable.

    Raises:
        DamagedError: It is not sound.
    """
    uri = f"{path.as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        # A copy that breaks off is thrown away, so nothing need be able to go back.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute(
            "INSERT OR REPLACE INTO meta VALUES ('lineage', ?)", (secrets.token_hex(16),)
        )
        if connection.execute("SELECT EXISTS (SELECT 1 FROM removals)").fetchone()[0]:
            # The word index keeps words of drawers that are gone until its parts are merged.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise DamagedError(
                f"the copy is not sound ({verdict})", hint="`mempal doctor` checks the palace"
            )
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- rows --------------------------------------------------------------------------------------


def _read_rows(connection: sqlite3.Connection) -> Iterator[Row]:
    return chain(
        _read_sources(connection),
        _read_readings(connection),
        _read_drawers(connection),
        _read_tombstones(connection),
        _read_links(connection),
    )


def _read_sources(connection: sqlite3.Connection) -> Iterator[Row]:
    rows = connection.execute(
        "SELECT id, reading_id, held_in, wing, root, path, kind, room, size, mtime_ns,"
        " content_sha256, encoding, rules, mined_at, state, reason, session, tail, moved_to"
        " FROM sources ORDER BY held_in IS NOT NULL, id"
    )
    for number, reading, holder, wing, root, path, kind, room, size, mtime_ns, *rest in rows:
        digest, encoding, rules, mined_at, state, reason, session, tail, moved_to = rest
        source = Source(
            wing=wing,
            root=decode_path(root),
            path=decode_path(path),
            kind=SourceKind(kind),
            room=room,
            size=size,
            mtime_ns=mtime_ns,
            content_sha256=digest,
            encoding=encoding,
            rules=rules,
            mined_at=mined_at,
            state=SourceState(state),
            reason=reason,
            session=session,
            tail=tail,
            moved_to=None if moved_to is None else decode_path(moved_to),
        )
        yield SourceRow(number, source, reading, holder)


def _read_readings(connection: sqlite3.Connection) -> Iterator[Row]:
    rows = connection.execute(
        "SELECT id, content_sha256, blob, commit_id, read_at FROM readings ORDER BY id"
    )
    return (ReadingRow(*row) for row in rows)


def _read_drawers(connection: sqlite3.Connection) -> Iterator[Row]:
    lapses = _Merged(
        connection.execute("SELECT key, superseded_at, restored_at FROM lapses ORDER BY 1, 2")
    )
    rows = connection.execute(
        "SELECT d.key, d.id, d.source_id, d.reading_id, d.wing, d.room, d.content, d.symbols,"
        " d.speaker, d.source_class, d.said_at, d.chunk_index, d.importance, d.added_at,"
        " d.superseded_at, d.deleted_at, v.embedding, d.line_start, d.line_end, d.byte_start,"
        " d.byte_end, d.span_digest"
        " FROM drawers AS d LEFT JOIN vectors AS v ON v.key = d.key ORDER BY d.key"
    )
    for key, drawer_id, source, reading, wing, room, content, symbols, *rest in rows:
        speaker, source_class, said_at, index, importance, added_at, *state = rest
        superseded_at, deleted_at, vector, *place = state
        span = None if place[0] is None else Span(*place)
        voice = Voice(speaker, SourceClass(source_class), said_at)
        yield DrawerRow(
            id=drawer_id,
            source=source,
            reading=reading,
            wing=wing,
            room=room,
            chunk=Chunk(content, span, symbols, voice),
            chunk_index=index,
            importance=importance,
            added_at=added_at,
            superseded_at=superseded_at,
            deleted_at=deleted_at,
            lapses=lapses.take(key),
            vector=vector,
        )


class _Merged:
    """Pairs by key, read along with rows that come in the order of the same key."""

    def __init__(self, rows: Iterable[tuple[int, int, int]]) -> None:
        self._groups = groupby(rows, key=itemgetter(0))
        self._next = next(self._groups, None)

    def take(self, key: int) -> tuple[tuple[int, int], ...]:
        """Return the pairs of a key; keys are asked for in ascending order."""
        if self._next is None or self._next[0] != key:
            return ()
        pairs = tuple((start, end) for _, start, end in self._next[1])
        self._next = next(self._groups, None)
        return pairs


def _read_tombstones(connection: sqlite3.Connection) -> Iterator[Row]:
    rows = connection.execute(
        "SELECT digest, source_id, forgotten_at FROM forgotten ORDER BY source_id, digest"
    )
    return (TombstoneRow(digest, source or None, at) for digest, source, at in rows)


def _read_links(connection: sqlite3.Connection) -> Iterator[Row]:
    links: Iterator[tuple[Any, ...]] = connection.execute(
        "SELECT l.card_id, l.role, d.id FROM card_links AS l JOIN drawers AS d ON d.key = l.key"
        " ORDER BY 1, 2, 3"
    )
    gone = connection.execute(
        "SELECT card_id, role, drawer_id, forgotten_at FROM forgotten_links ORDER BY 1, 2, 3"
    )
    return (LinkRow(*row) for row in chain(links, gone))
