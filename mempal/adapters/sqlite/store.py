"""The store: every question and every change the features may ask of the palace database."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from mempal.adapters.sqlite.base import guarded, marks, split_keys
from mempal.adapters.sqlite.derived import DerivedTables
from mempal.adapters.sqlite.inspection import count_rooms, find_problems, read_status
from mempal.adapters.sqlite.relocation import RelocationTables
from mempal.adapters.sqlite.removal import RemovalTables
from mempal.adapters.sqlite.rows import (
    SOURCE_COLUMNS,
    SOURCE_TABLES,
    decode_path,
    encode_name,
    encode_path,
    read_source,
    scope_clause,
    select_drawers,
)
from mempal.adapters.sqlite.runs import RunTables
from mempal.adapters.sqlite.tombstones import is_barred
from mempal.adapters.sqlite.writing import (
    Writer,
    find_source,
    holds_text,
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
    Place,
    RoomCount,
    Scope,
    Source,
    SourceClass,
    SourceKind,
    StoreStatus,
)
from mempal.core.words import ANALYZER_VERSION

_RESOLVE_LIMIT = 10


class SqliteStore(DerivedTables, RunTables, RemovalTables, RelocationTables):
    """The port ``Store`` on one SQLite file.

    Args:
        path: The database file.
        writable: Whether to open it for writing, which creates it when it is not there.

    Raises:
        DamagedError: The file is no palace database.
        SchemaError: A newer mempal wrote it.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        super().__init__(path, writable=writable)
        self._bound: str | None = None
        if writable:
            self._follow_rules()

    def _follow_rules(self) -> None:
        # Words that were derived by other rules could neither be found nor taken out again.
        try:
            with self._errors():
                current = self._meta("analyzer") == str(ANALYZER_VERSION)
            if not current:
                self.rebuild_words()
        except MempalError:
            self.close()
            raise

    # --- state ---------------------------------------------------------------------------------

    @guarded
    def lineage(self) -> str:
        """Return the token that tells this store and its copies from all others."""
        return str(self._meta("lineage"))

    @guarded
    def revision(self) -> int:
        """Return the number of the last committed change to drawers."""
        return int(self._meta("revision") or 0)

    @guarded
    def embedder_identity(self) -> str | None:
        """Return the identity of the embedder the palace was written with."""
        return self._meta("embedder")

    @guarded
    def bind_embedder(self, identity: str) -> None:
        """Record the embedder of a store without vectors."""
        stored = self._meta("embedder")
        if stored != identity:
            with self._change() as connection:
                connection.execute(
                    "INSERT OR REPLACE INTO meta SELECT 'embedder', ?"
                    " WHERE NOT EXISTS (SELECT 1 FROM vectors)",
                    (identity,),
                )
            stored = self._meta("embedder")
        if stored != identity:
            raise EmbedderMismatchError(str(stored), identity)
        self._bound = identity

    def _check_embedder(self) -> None:
        # Asked inside the transaction: another process may have embedded the palace with another
        # model since this one was bound.
        stored = self._meta("embedder")
        if self._bound is not None and stored != self._bound:
            raise EmbedderMismatchError(str(stored), self._bound)

    # --- sources -------------------------------------------------------------------------------

    @guarded
    def sources(
        self, wing: str, root: str, kind: SourceKind = SourceKind.FILE
    ) -> Mapping[str, Source]:
        """Return the sources of one kind read from one tree into one wing, by path."""
        rows = self._connection.execute(
            f"SELECT {SOURCE_COLUMNS} FROM {SOURCE_TABLES}"
            " WHERE s.wing = ? AND s.root = ? AND s.kind = ?",
            (encode_name(wing), encode_path(root), kind),
        )
        found = map(read_source, rows)
        return {source.path: source for source in found}

    @guarded
    def source(self, place: Place) -> Source | None:
        """Return the source filed at a place."""
        row = self._connection.execute(
            f"SELECT {SOURCE_COLUMNS} FROM {SOURCE_TABLES}"
            " WHERE s.wing = ? AND s.root = ? AND s.path = ?",
            (encode_name(place.wing), encode_path(place.root), encode_path(place.path)),
        ).fetchone()
        return None if row is None else read_source(row)

    @guarded
    def held_in(self, place: Place) -> list[Source]:
        """Return the conversations that a file holds, by path."""
        rows = self._connection.execute(
            f"SELECT {SOURCE_COLUMNS} FROM {SOURCE_TABLES}"
            " WHERE f.wing = ? AND f.root = ? AND f.path = ?",
            (encode_name(place.wing), encode_path(place.root), encode_path(place.path)),
        )
        return sorted(map(read_source, rows), key=lambda source: source.path)

    @guarded
    def count_by_source(self, wing: str, root: str) -> Mapping[str, int]:
        """Return how many current drawers each file of one tree has or holds, by path."""
        rows = self._connection.execute(
            "SELECT f.path, count(*) FROM sources AS f"
            " JOIN sources AS s ON s.id = f.id OR s.held_in = f.id"
            " JOIN drawers AS d ON d.source_id = s.id"
            " WHERE f.wing = ? AND f.root = ? AND f.kind = 'file'"
            " AND d.superseded_at IS NULL AND d.deleted_at IS NULL GROUP BY f.id",
            (encode_name(wing), encode_path(root)),
        )
        return {decode_path(path): int(count) for path, count in rows}

    @guarded
    def roots(self, wing: str | None = None) -> list[tuple[str, str]]:
        """Return (wing, root) of every tree that was mined, sorted."""
        rows = self._connection.execute(
            "SELECT DISTINCT wing, root FROM sources"
            " WHERE kind = 'file' AND (? IS NULL OR wing = ?)",
            (encode_name(wing),) * 2,
        )
        return sorted((name, decode_path(root)) for name, root in rows)

    @guarded
    def move_root(self, wing: str, old: str, new: str) -> None:
        """Record that the tree at ``old`` now lies at ``new``."""
        with self._change() as connection:
            connection.execute(
                "UPDATE sources SET root = ? WHERE wing = ? AND root = ?",
                (encode_path(new), wing, encode_path(old)),
            )

    @guarded
    def missing_contents(
        self, source: Source, chunks: Sequence[Chunk], start: int = 0
    ) -> list[str]:
        """Return, without repeats, the texts that ``replace_source`` would need a vector for."""
        chunks = self._admit(source, chunks)
        source_id = find_source(self._connection, source)
        matched = match_chunks(self._connection, source_id, source.room, chunks, start)
        pairs = zip(chunks, matched.kept, strict=True)
        return list(dict.fromkeys(chunk.content for chunk, kept in pairs if kept is None))

    @guarded
    def preview_source(self, source: Source, chunks: Sequence[Chunk], start: int = 0) -> Changes:
        """Return what ``replace_source`` would do, without doing it."""
        if is_barred(self._connection, source):
            return Changes()
        chunks = self._admit(source, chunks)
        source_id = find_source(self._connection, source)
        return match_chunks(self._connection, source_id, source.room, chunks, start).changes()

    @guarded
    def replace_source(
        self,
        source: Source,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, bytes],
        source_class: SourceClass,
        start: int = 0,
    ) -> Changes:
        """Make ``chunks`` the current drawers of ``source``, in one transaction."""
        with self._change() as connection:
            if is_barred(connection, source):
                return Changes()
            if vectors:
                self._check_embedder()
            chunks = self._admit(source, chunks)
            revision = next_revision(connection)
            source_id, reading_id = write_source(connection, source)
            writer = Writer(
                connection, source, source_id, reading_id, source_class, revision, run_id=self._run
            )
            changes = writer.replace(chunks, vectors, start)
            if changes.added or changes.superseded or changes.restored:
                record_revision(connection, revision)
        return changes

    @guarded
    def touch_source(self, source: Source) -> None:
        """Update size, time and commit of a source whose drawers did not change."""
        with self._change() as connection:
            if not holds_text(connection, source):
                return
            source_id, reading_id = write_source(connection, source)
            connection.execute(
                "UPDATE drawers SET reading_id = ?"
                " WHERE source_id = ? AND superseded_at IS NULL AND deleted_at IS NULL",
                (reading_id, source_id),
            )

    @guarded
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
            chunks = self._admit(source, chunks)
            if not chunks:
                return Addition((), created=False)
            known = self._current_ids(source.wing, source.room, chunks)
            if known is not None:
                self._raise_importance(known, importance)
                return Addition(known, created=False, duplicate_of=known[0])
            if vectors:
                self._check_embedder()
            revision = next_revision(connection)
            source_id, reading_id = write_source(connection, source)
            writer = Writer(
                connection, source, source_id, reading_id, source_class, revision, importance,
                self._run,
            )  # fmt: skip
            row = connection.execute(
                "SELECT coalesce(max(chunk_index) + 1, 0) FROM drawers WHERE source_id = ?",
                (source_id,),
            ).fetchone()
            ids = tuple(
                writer.add(index, chunk, vectors[chunk.content])
                for index, chunk in enumerate(chunks, int(row[0]))
            )
            record_revision(connection, revision)
        return Addition(ids, created=True)

    def _raise_importance(self, ids: Sequence[str], importance: int) -> None:
        self._connection.executemany(
            "UPDATE drawers SET importance = max(importance, ?) WHERE id = ?",
            [(importance, drawer_id) for drawer_id in ids],
        )

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
        return select_drawers(self._connection, condition, parameters)

    @guarded
    def get(self, keys: Sequence[int]) -> list[Drawer]:
        """Return the drawers with these keys, in this order; unknown keys are left out."""
        found = {
            drawer.key: drawer
            for batch in split_keys(keys)
            for drawer in self._drawers(f"d.key IN ({marks(batch)})", batch)
        }
        return [found[key] for key in keys if key in found]

    @guarded
    def resolve(self, drawer_id: str) -> list[Drawer]:
        """Return the drawers whose id is, or begins with, ``drawer_id``."""
        name = (encode_name(drawer_id),)
        return self._drawers("d.id = ?", name) or self._drawers(
            f"d.id BETWEEN ? AND ? || char(1114111) ORDER BY d.id LIMIT {_RESOLVE_LIMIT}", name * 2
        )

    @guarded
    def drawers_of(self, wing: str, root: str, path: str) -> list[Drawer]:
        """Return the current drawers of one source in the order of their place."""
        return self._drawers(
            "s.wing = ? AND s.root = ? AND s.path = ? AND d.superseded_at IS NULL"
            " AND d.deleted_at IS NULL ORDER BY d.chunk_index, d.key",
            (encode_name(wing), encode_path(root), encode_path(path)),
        )

    @guarded
    def paths_of_content(self, wing: str, root: str, content_sha256: str) -> list[str]:
        """Return the paths in one tree whose files had this content when they were last read."""
        rows = self._connection.execute(
            "SELECT path FROM sources WHERE wing = ? AND root = ? AND content_sha256 = ?",
            (encode_name(wing), encode_path(root), content_sha256),
        )
        return sorted(decode_path(path) for (path,) in rows)

    @guarded
    def neighbors(self, drawer: Drawer, distance: int) -> list[Drawer]:
        """Return current drawers of the same source within ``distance`` places, in order."""
        low, high = drawer.chunk_index - distance, drawer.chunk_index + distance
        return self._drawers(
            "d.source_id = (SELECT source_id FROM drawers WHERE key = ?) AND d.key <> ?"
            " AND d.chunk_index BETWEEN ? AND ? AND d.superseded_at IS NULL"
            " AND d.deleted_at IS NULL ORDER BY d.chunk_index, d.key",
            (drawer.key, drawer.key, low, high),
        )

    @guarded
    def visible(self, keys: Iterable[int], scope: Scope) -> set[int]:
        """Return those of ``keys`` that ``scope`` admits."""
        condition, parameters = scope_clause(scope)
        found: set[int] = set()
        for batch in split_keys(keys):
            rows = self._connection.execute(
                f"SELECT d.key FROM drawers AS d WHERE d.key IN ({marks(batch)}) AND {condition}",
                (*batch, *parameters),
            )
            found.update(int(key) for (key,) in rows)
        return found

    @guarded
    def recent(
        self, wing: str | None, limit: int, classes: Collection[SourceClass] | None = None
    ) -> list[Drawer]:
        """Return current drawers, the most important and then the newest first, one per source."""
        wanted = sorted(SourceClass if classes is None else classes)
        rows = self._connection.execute(
            "SELECT key FROM (SELECT key, importance, added_at, row_number() OVER"
            "  (PARTITION BY source_id ORDER BY importance DESC, chunk_index, key) AS place"
            "  FROM drawers WHERE superseded_at IS NULL AND deleted_at IS NULL"
            f"  AND (? IS NULL OR wing = ?) AND source_class IN ({marks(wanted)}))"
            " WHERE place = 1 ORDER BY importance DESC, added_at DESC, key DESC LIMIT ?",
            (encode_name(wing), encode_name(wing), *wanted, limit),
        )
        return self.get([int(key) for (key,) in rows])

    # --- state of the whole --------------------------------------------------------------------

    @guarded
    def has_wing(self, wing: str) -> bool:
        """Return whether a wing holds a current drawer."""
        row = self._connection.execute(
            "SELECT EXISTS (SELECT 1 FROM drawers WHERE wing = ?"
            " AND superseded_at IS NULL AND deleted_at IS NULL)",
            (encode_name(wing),),
        ).fetchone()
        return bool(row[0])

    @guarded
    def rooms(self) -> tuple[RoomCount, ...]:
        """Return the size of every room, by wing and room."""
        return count_rooms(self._connection)

    @guarded
    def status(self) -> StoreStatus:
        """Return sizes, versions and counts per room."""
        return read_status(self._connection, self.path)

    @guarded
    def problems(self) -> list[str]:
        """Check the store's integrity without writing."""
        return find_problems(self._connection)
