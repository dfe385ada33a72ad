"""The store: every question and every change the features may ask of the palace database."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mempal.adapters.sqlite import words
from mempal.adapters.sqlite.connection import (
    open_reading,
    open_writing,
    transaction,
    translate_errors,
)
from mempal.adapters.sqlite.inspection import count_rooms, find_problems, read_status
from mempal.adapters.sqlite.rows import (
    DRAWER_COLUMNS,
    DRAWER_TABLES,
    SOURCE_COLUMNS,
    decode_path,
    encode_name,
    encode_path,
    read_drawer,
    read_source,
    scope_clause,
)
from mempal.adapters.sqlite.writing import (
    Writer,
    find_source,
    match_chunks,
    next_revision,
    record_revision,
    write_source,
)
from mempal.core.errors import EmbedderMismatchError, MempalError
from mempal.core.ids import hash_content
from mempal.core.model import (
    Addition,
    Changes,
    Chunk,
    Drawer,
    IndexEntry,
    RoomCount,
    Scope,
    Source,
    SourceClass,
    StoreStatus,
    Term,
    WordMatch,
)
from mempal.core.vector import dimensions
from mempal.core.words import ANALYZER_VERSION

# Below the number of parameters that the oldest supported SQLite takes in one statement.
_BATCH = 500
_RESOLVE_LIMIT = 10

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _guarded(
    method: Callable[Concatenate["SqliteStore", _P], _T],
) -> Callable[Concatenate["SqliteStore", _P], _T]:
    """Let a method raise mempal's errors instead of SQLite's."""

    @wraps(method)
    def call(self: "SqliteStore", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with translate_errors(self.path):
            return method(self, *args, **kwargs)

    return call


def _split(keys: Iterable[int]) -> Iterator[list[int]]:
    ordered = list(keys)
    for start in range(0, len(ordered), _BATCH):
        yield ordered[start : start + _BATCH]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


class SqliteStore:
    """The port ``Store`` on one SQLite file.

    Args:
        path: The database file.
        writable: Whether to open it for writing, which creates it when it is not there.

    Raises:
        DamagedError: The file is no palace database.
        SchemaError: A newer mempal wrote it.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        self._connection = open_writing(path) if writable else open_reading(path)
        if writable:
            self._follow_rules()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with transaction(self._connection):
            yield self._connection

    def _follow_rules(self) -> None:
        # Words that were derived by other rules could neither be found nor taken out again.
        try:
            with translate_errors(self.path):
                current = self._meta("analyzer") == str(ANALYZER_VERSION)
            if not current:
                self.rebuild_words()
        except MempalError:
            self.close()
            raise

    # --- state ---------------------------------------------------------------------------------

    @_guarded
    def revision(self) -> int:
        """Return the number of the last committed change to drawers."""
        return int(self._meta("revision") or 0)

    @_guarded
    def embedder_identity(self) -> str | None:
        """Return the identity of the embedder the palace was written with."""
        return self._meta("embedder")

    def _meta(self, key: str) -> str | None:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @_guarded
    def bind_embedder(self, identity: str) -> None:
        """Record the embedder of an unbound store."""
        stored = self._meta("embedder")
        if stored is None:
            with self._change() as connection:
                connection.execute("INSERT OR IGNORE INTO meta VALUES ('embedder', ?)", (identity,))
            stored = self._meta("embedder")
        if stored != identity:
            raise EmbedderMismatchError(str(stored), identity)

    # --- sources -------------------------------------------------------------------------------

    @_guarded
    def sources(self, wing: str, root: str) -> Mapping[str, Source]:
        """Return the sources read from one tree into one wing, by path."""
        rows = self._connection.execute(
            f"SELECT {SOURCE_COLUMNS} FROM sources AS s"
            " LEFT JOIN readings AS r ON r.id = s.reading_id WHERE s.wing = ? AND s.root = ?",
            (encode_name(wing), encode_path(root)),
        )
        found = map(read_source, rows)
        return {source.path: source for source in found}

    @_guarded
    def roots(self, wing: str | None = None) -> list[tuple[str, str]]:
        """Return (wing, root) of every tree that was mined, sorted."""
        rows = self._connection.execute(
            "SELECT DISTINCT wing, root FROM sources"
            " WHERE kind = 'file' AND (?1 IS NULL OR wing = ?1)",
            (encode_name(wing),),
        )
        return sorted((name, decode_path(root)) for name, root in rows)

    @_guarded
    def move_root(self, wing: str, old: str, new: str) -> None:
        """Record that the tree at ``old`` now lies at ``new``."""
        with self._change() as connection:
            connection.execute(
                "UPDATE sources SET root = ? WHERE wing = ? AND root = ?",
                (encode_path(new), wing, encode_path(old)),
            )

    @_guarded
    def missing_contents(self, source: Source, chunks: Sequence[Chunk]) -> list[str]:
        """Return, without repeats, the texts that ``replace_source`` would need a vector for."""
        source_id = find_source(self._connection, source)
        matched = match_chunks(self._connection, source_id, source.room, chunks)
        pairs = zip(chunks, matched.kept, strict=True)
        return list(dict.fromkeys(chunk.content for chunk, kept in pairs if kept is None))

    @_guarded
    def preview_source(self, source: Source, chunks: Sequence[Chunk]) -> Changes:
        """Return what ``replace_source`` would do, without doing it."""
        source_id = find_source(self._connection, source)
        return match_chunks(self._connection, source_id, source.room, chunks).changes()

    @_guarded
    def replace_source(
        self,
        source: Source,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, bytes],
        source_class: SourceClass,
    ) -> Changes:
        """Make ``chunks`` the current drawers of ``source``, in one transaction."""
        with self._change() as connection:
            revision = next_revision(connection)
            source_id, reading_id = write_source(connection, source)
            writer = Writer(connection, source, source_id, reading_id, source_class, revision)
            changes = writer.replace(chunks, vectors)
            if changes.added or changes.superseded or changes.restored:
                record_revision(connection, revision)
        return changes

    @_guarded
    def touch_source(self, source: Source) -> None:
        """Update size, time, state and commit of a source whose drawers did not change."""
        with self._change() as connection:
            source_id, reading_id = write_source(connection, source)
            connection.execute(
                "UPDATE drawers SET reading_id = ?"
                " WHERE source_id = ? AND superseded_at IS NULL AND deleted_at IS NULL",
                (reading_id, source_id),
            )

    @_guarded
    def add_manual(
        self,
        source: Source,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, bytes],
        *,
        importance: int,
        source_class: SourceClass,
    ) -> Addition:
        """Store text given by hand, once in each wing and room."""
        with self._change() as connection:
            known = self._current_ids(source.wing, source.room, chunks)
            if known is not None:
                return Addition(known, created=False, duplicate_of=known[0])
            revision = next_revision(connection)
            source_id, reading_id = write_source(connection, source)
            writer = Writer(
                connection, source, source_id, reading_id, source_class, revision, importance
            )
            row = connection.execute(
                "SELECT coalesce(max(chunk_index) + 1, 0) FROM drawers WHERE source_id = ?",
                (source_id,),
            ).fetchone()
            ids = tuple(
                writer.add(index, chunk, vectors.get(chunk.content))
                for index, chunk in enumerate(chunks, int(row[0]))
            )
            record_revision(connection, revision)
        return Addition(ids, created=True)

    def _current_ids(self, wing: str, room: str, chunks: Sequence[Chunk]) -> tuple[str, ...] | None:
        ids = []
        for chunk in chunks:
            row = self._connection.execute(
                "SELECT id FROM drawers WHERE wing = ? AND room = ? AND content_sha256 = ?"
                " AND superseded_at IS NULL AND deleted_at IS NULL ORDER BY key LIMIT 1",
                (wing, room, bytes.fromhex(hash_content(chunk.content))),
            ).fetchone()
            if row is None:
                return None
            ids.append(str(row[0]))
        return tuple(ids) or None

    # --- drawers -------------------------------------------------------------------------------

    def _drawers(self, condition: str, parameters: Sequence[object]) -> list[Drawer]:
        rows = self._connection.execute(
            f"SELECT {DRAWER_COLUMNS} FROM {DRAWER_TABLES} WHERE {condition}",
            parameters,
        )
        return [read_drawer(row) for row in rows]

    @_guarded
    def get(self, keys: Sequence[int]) -> list[Drawer]:
        """Return the drawers with these keys, in this order; unknown keys are left out."""
        found = {
            drawer.key: drawer
            for batch in _split(keys)
            for drawer in self._drawers(f"d.key IN ({_marks(batch)})", batch)
        }
        return [found[key] for key in keys if key in found]

    @_guarded
    def resolve(self, drawer_id: str) -> list[Drawer]:
        """Return the drawers whose id is, or begins with, ``drawer_id``."""
        name = (encode_name(drawer_id),)
        return self._drawers("d.id = ?", name) or self._drawers(
            f"substr(d.id, 1, length(?1)) = ?1 ORDER BY d.id LIMIT {_RESOLVE_LIMIT}", name
        )

    @_guarded
    def drawers_of(self, wing: str, root: str, path: str) -> list[Drawer]:
        """Return the current drawers of one source in the order of their place."""
        return self._drawers(
            "s.wing = ? AND s.root = ? AND s.path = ? AND d.superseded_at IS NULL"
            " AND d.deleted_at IS NULL ORDER BY d.chunk_index, d.key",
            (encode_name(wing), encode_path(root), encode_path(path)),
        )

    @_guarded
    def paths_of_content(self, wing: str, root: str, content_sha256: str) -> list[str]:
        """Return the paths in one tree whose files had this content when they were last read."""
        rows = self._connection.execute(
            "SELECT path FROM sources WHERE wing = ? AND root = ? AND content_sha256 = ?",
            (encode_name(wing), encode_path(root), content_sha256),
        )
        return sorted(decode_path(path) for (path,) in rows)

    @_guarded
    def neighbors(self, drawer: Drawer, distance: int) -> list[Drawer]:
        """Return current drawers of the same source within ``distance`` places, in order."""
        low, high = drawer.chunk_index - distance, drawer.chunk_index + distance
        return self._drawers(
            "d.source_id = (SELECT source_id FROM drawers WHERE key = ?) AND d.key <> ?"
            " AND d.chunk_index BETWEEN ? AND ? AND d.superseded_at IS NULL"
            " AND d.deleted_at IS NULL ORDER BY d.chunk_index, d.key",
            (drawer.key, drawer.key, low, high),
        )

    @_guarded
    def visible(self, keys: Iterable[int], scope: Scope) -> set[int]:
        """Return those of ``keys`` that ``scope`` admits."""
        condition, parameters = scope_clause(scope)
        found: set[int] = set()
        for batch in _split(keys):
            rows = self._connection.execute(
                f"SELECT d.key FROM drawers AS d WHERE d.key IN ({_marks(batch)}) AND {condition}",
                (*batch, *parameters),
            )
            found.update(int(key) for (key,) in rows)
        return found

    @_guarded
    def recent(self, wing: str | None, limit: int) -> list[Drawer]:
        """Return current drawers, the most important and then the newest first, one per source."""
        rows = self._connection.execute(
            "SELECT key FROM (SELECT key, importance, added_at, row_number() OVER"
            "  (PARTITION BY source_id ORDER BY importance DESC, chunk_index, key) AS place"
            "  FROM drawers WHERE superseded_at IS NULL AND deleted_at IS NULL"
            "  AND (?1 IS NULL OR wing = ?1))"
            " WHERE place = 1 ORDER BY importance DESC, added_at DESC, key DESC LIMIT ?2",
            (encode_name(wing), limit),
        )
        return self.get([int(key) for (key,) in rows])

    # --- words ---------------------------------------------------------------------------------

    @_guarded
    def match_words(self, terms: Sequence[Term], scope: Scope, limit: int) -> list[WordMatch]:
        """Return drawers in scope that hold at least one term, best first."""
        return words.match(self._connection, terms, scope, limit)

    @_guarded
    def document_frequency(self, term: Term) -> int:
        """Return how many drawers hold a term."""
        return words.document_frequency(self._connection, term)

    @_guarded
    def holding(self, term: Term, keys: Sequence[int]) -> set[int]:
        """Return those of ``keys`` whose drawers hold a term."""
        found: set[int] = set()
        for batch in _split(keys):
            found.update(words.holding(self._connection, term, batch))
        return found

    @_guarded
    def count_drawers(self) -> int:
        """Return the number of drawers in the word index, superseded ones included."""
        row = self._connection.execute("SELECT count(*) FROM drawers").fetchone()
        return int(row[0])

    @_guarded
    def rebuild_words(self) -> int:
        """Rebuild the word index from the stored text."""
        with self._change() as connection:
            words.clear_words(connection)
            rows = connection.execute(
                "SELECT d.key, d.content, s.path, d.symbols FROM drawers AS d"
                " JOIN sources AS s ON s.id = d.source_id ORDER BY d.key"
            )
            count = 0
            for key, content, path, symbols in rows:
                words.add_words(connection, key, content, decode_path(path), symbols)
                count += 1
            connection.execute(
                "INSERT OR REPLACE INTO meta VALUES ('analyzer', ?)", (str(ANALYZER_VERSION),)
            )
            return count

    # --- vectors -------------------------------------------------------------------------------

    @_guarded
    def vector_dimensions(self) -> int | None:
        """Return the number of components of the stored vectors."""
        row = self._connection.execute("SELECT embedding FROM vectors LIMIT 1").fetchone()
        return None if row is None else dimensions(row[0])

    @_guarded
    def vectors(self, keys: Iterable[int]) -> dict[int, bytes]:
        """Return the stored packed vectors of these drawers."""
        found: dict[int, bytes] = {}
        for batch in _split(keys):
            found.update(
                self._connection.execute(
                    f"SELECT key, embedding FROM vectors WHERE key IN ({_marks(batch)})",
                    batch,
                )
            )
        return found

    def entries_since(self, revision: int) -> Iterator[IndexEntry]:
        """Yield an index entry for every drawer changed after ``revision``, by key."""
        # The plus sign keeps SQLite from what would cost most: from sorting a whole palace when
        # everything is asked for, and else from walking through it for the few that changed.
        condition, order = (
            ("+d.revision > ?", "d.key") if revision == 0 else ("d.revision > ?", "+d.key")
        )
        with translate_errors(self.path):
            rows = self._connection.execute(
                "SELECT d.key, CASE WHEN d.deleted_at IS NULL THEN v.embedding END,"
                " d.wing, d.room, d.superseded_at IS NULL AND d.deleted_at IS NULL"
                " FROM drawers AS d LEFT JOIN vectors AS v ON v.key = d.key"
                f" WHERE {condition} ORDER BY {order}",
                (revision,),
            )
            for key, vector, wing, room, current in rows:
                yield IndexEntry(key, vector, wing, room, bool(current))

    @_guarded
    def count_entries_since(self, revision: int) -> int:
        """Return how many entries ``entries_since`` would yield."""
        row = self._connection.execute(
            "SELECT count(*) FROM drawers WHERE revision > ?", (revision,)
        ).fetchone()
        return int(row[0])

    def contents(self, batch: int) -> Iterator[list[tuple[int, str]]]:
        """Yield (key, content) of every drawer that is not deleted, in batches, by key."""
        last = 0
        while True:
            with translate_errors(self.path):
                rows = self._connection.execute(
                    "SELECT key, content FROM drawers WHERE key > ? AND deleted_at IS NULL"
                    " ORDER BY key LIMIT ?",
                    (last, batch),
                ).fetchall()
            if not rows:
                return
            yield rows
            last = rows[-1][0]

    @_guarded
    def replace_vectors(self, identity: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Give drawers new vectors and bind the store to another embedder, in one transaction."""
        with self._change() as connection:
            revision = next_revision(connection)
            connection.execute("DELETE FROM vectors")
            connection.executemany("INSERT INTO vectors VALUES (?, ?)", vectors)
            connection.execute("UPDATE drawers SET revision = ?", (revision,))
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('embedder', ?)", (identity,))
            record_revision(connection, revision)

    # --- state of the whole --------------------------------------------------------------------

    @_guarded
    def has_wing(self, wing: str) -> bool:
        """Return whether a wing holds a current drawer."""
        row = self._connection.execute(
            "SELECT EXISTS (SELECT 1 FROM drawers WHERE wing = ?"
            " AND superseded_at IS NULL AND deleted_at IS NULL)",
            (encode_name(wing),),
        ).fetchone()
        return bool(row[0])

    @_guarded
    def rooms(self) -> tuple[RoomCount, ...]:
        """Return the size of every room, by wing and room."""
        return count_rooms(self._connection)

    @_guarded
    def status(self) -> StoreStatus:
        """Return sizes, versions and counts per room."""
        return read_status(self._connection, self.path)

    @_guarded
    def problems(self) -> list[str]:
        """Check the store's integrity without writing."""
        return find_problems(self._connection)

    def close(self) -> None:
        """Release files and handles."""
        self._connection.close()
