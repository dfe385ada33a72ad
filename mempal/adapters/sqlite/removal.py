"""What a person takes away: hidden at first, then removed for good, in the end forgotten."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from mempal.adapters.sqlite.base import Database, guarded, marks, split_keys
from mempal.adapters.sqlite.journal import mark_final
from mempal.adapters.sqlite.rows import decode_path, encode_name, select_drawers
from mempal.adapters.sqlite.tombstones import bury, is_barred, withhold_chunks
from mempal.adapters.sqlite.words import remove_words
from mempal.adapters.sqlite.writing import find_source, next_revision, record_revision
from mempal.core.errors import BusyError
from mempal.core.model import Chunk, Drawer, Place, Source
from mempal.core.runs import Forgotten


def remove_drawers(connection: sqlite3.Connection, keys: Iterable[int], revision: int) -> int:
    """Remove drawers with all that hangs on them but cards' links; return their number.

    Indexes learn of it by ``revision``.
    """
    count = 0
    for key in keys:
        row = connection.execute(
            "SELECT d.content, s.path, d.symbols, d.wing, d.room FROM drawers AS d"
            " JOIN sources AS s ON s.id = d.source_id WHERE d.key = ?",
            (key,),
        ).fetchone()
        if row is None:
            continue
        content, path, symbols, wing, room = row
        remove_words(connection, key, content, decode_path(path), symbols)
        connection.execute("DELETE FROM vectors WHERE key = ?", (key,))
        connection.execute("DELETE FROM lapses WHERE key = ?", (key,))
        connection.execute("DELETE FROM drawers WHERE key = ?", (key,))
        connection.execute("INSERT INTO removals VALUES (?, ?, ?, ?)", (key, wing, room, revision))
        count += 1
    return count


class RemovalTables(Database):
    """The part ``Removal`` of the port ``Store``."""

    @guarded
    def cited(self, keys: Iterable[int]) -> Mapping[int, tuple[str, ...]]:
        """Return which cards cite each of these drawers, sorted."""
        found: dict[int, tuple[str, ...]] = {}
        for batch in split_keys(keys):
            for key, card in self._connection.execute(
                "SELECT DISTINCT key, card_id FROM card_links"
                f" WHERE key IN ({marks(batch)}) ORDER BY key, card_id",
                batch,
            ):
                found[key] = (*found.get(key, ()), card)
        return found

    @guarded
    def delete_drawers(self, keys: Sequence[int], at: int) -> list[int]:
        """Hide drawers that no card cites from every search; return the keys of those hidden."""
        return self._mark(
            keys, at, "deleted_at IS NULL AND key NOT IN (SELECT key FROM card_links)"
        )

    @guarded
    def restore_drawers(self, keys: Sequence[int]) -> list[int]:
        """Bring deleted drawers back, as current or superseded as they were."""
        return self._mark(keys, None, "deleted_at IS NOT NULL")

    def _mark(self, keys: Sequence[int], deleted_at: int | None, condition: str) -> list[int]:
        with self._change() as connection:
            revision = next_revision(connection)
            changed = [
                key
                for key in keys
                if connection.execute(
                    f"UPDATE drawers SET deleted_at = ?, revision = ? WHERE key = ?"
                    f" AND {condition}",
                    (deleted_at, revision, key),
                ).rowcount
            ]
            if changed:
                record_revision(connection, revision)
        return changed

    @guarded
    def deleted_drawers(self, before: int | None, wing: str | None) -> list[Drawer]:
        """Return deleted drawers by key."""
        return select_drawers(
            self._connection,
            "d.deleted_at IS NOT NULL AND (? IS NULL OR d.deleted_at < ?)"
            " AND (? IS NULL OR d.wing = ?) ORDER BY d.key",
            (before, before, encode_name(wing), encode_name(wing)),
        )

    @guarded
    def keys_of(self, places: Sequence[Place]) -> list[int]:
        """Return the drawers of sources, and of the conversations they hold, by key."""
        known = [find_source(self._connection, place) for place in places]
        ids = [source_id for source_id in known if source_id is not None]
        held = [
            int(row[0])
            for batch in split_keys(ids)
            for row in self._connection.execute(
                f"SELECT id FROM sources WHERE held_in IN ({marks(batch)})", batch
            )
        ]
        return sorted(set(self._keys_in([*ids, *held])))

    @guarded
    def equal_to(self, keys: Sequence[int]) -> list[int]:
        """Return these drawers and all others that hold one of their texts, by key."""
        found = {
            int(row[0])
            for batch in split_keys(keys)
            for row in self._connection.execute(
                "SELECT key FROM drawers WHERE content_sha256 IN"
                f" (SELECT content_sha256 FROM drawers WHERE key IN ({marks(batch)}))",
                batch,
            )
        }
        return sorted(found)

    @guarded
    def purge(self, keys: Sequence[int]) -> int:
        """Remove for good those of these drawers that are deleted and that no card cites."""
        self._connection.execute("PRAGMA secure_delete = ON")
        with self._change() as connection:
            removable = [
                key
                for key in dict.fromkeys(keys)
                if connection.execute(
                    "SELECT 1 FROM drawers WHERE key = ? AND deleted_at IS NOT NULL"
                    " AND key NOT IN (SELECT key FROM card_links)",
                    (key,),
                ).fetchone()
            ]
            return self._remove(removable)

    def _remove(self, keys: Sequence[int]) -> int:
        connection = self._connection
        revision = next_revision(connection)
        count = remove_drawers(connection, keys, revision)
        # An earlier run can still be undone as far as there is something left of it.
        for batch in split_keys(keys):
            connection.execute(
                f"DELETE FROM journal WHERE relation = 'drawers' AND row_id IN ({marks(batch)})",
                batch,
            )
        if count:
            record_revision(connection, revision)
        return count

    @guarded
    def forget(self, keys: Sequence[int], sources: Sequence[Place], at: int) -> Forgotten:
        """Remove drawers for good and bar their text from returning."""
        # Rows, and not only what points at them, are overwritten from here on.
        self._connection.execute("PRAGMA secure_delete = ON")
        with self._change() as connection:
            barred = self._bar_sources(sources, at)
            # Tombstones come first: they are made of what is removed then.
            removable = list(dict.fromkeys([*keys, *self._keys_in(barred)]))
            bury(connection, at, self._texts(removable))
            for batch in split_keys(removable):
                connection.execute(
                    "INSERT OR IGNORE INTO forgotten_links SELECT l.card_id, l.role, d.id, ?"
                    f" FROM card_links AS l JOIN drawers AS d ON d.key = l.key"
                    f" WHERE l.key IN ({marks(batch)})",
                    (at, *batch),
                )
                connection.execute(f"DELETE FROM card_links WHERE key IN ({marks(batch)})", batch)
            count = self._remove(removable)
            if self._run is not None and (count or barred):
                mark_final(connection, self._run)
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('unscrubbed', '1')")
        return Forgotten(count, len(barred))

    def _bar_sources(self, places: Sequence[Place], at: int) -> list[int]:
        connection = self._connection
        barred: list[int] = []
        for place in places:
            source_id = find_source(connection, place)
            if source_id is None:
                continue
            rows = connection.execute(
                "SELECT id FROM sources WHERE (id = ? OR held_in = ?) AND state <> 'forgotten'",
                (source_id, source_id),
            ).fetchall()
            barred.extend(row[0] for row in rows if row[0] not in barred)
        for batch in split_keys(barred):
            connection.execute(
                "UPDATE sources SET state = 'forgotten', reason = NULL, tail = NULL,"
                f" moved_to = NULL, mined_at = ? WHERE id IN ({marks(batch)})",
                (at, *batch),
            )
            # No run can bring them back, and so none has to know what they were.
            connection.execute(
                f"DELETE FROM journal WHERE relation = 'sources' AND row_id IN ({marks(batch)})",
                batch,
            )
        return barred

    def _keys_in(self, source_ids: Sequence[int]) -> list[int]:
        return [
            int(key)
            for batch in split_keys(source_ids)
            for (key,) in self._connection.execute(
                f"SELECT key FROM drawers WHERE source_id IN ({marks(batch)}) ORDER BY key", batch
            )
        ]

    def _texts(self, keys: Sequence[int]) -> list[tuple[int, str]]:
        return [
            row
            for batch in split_keys(keys)
            for row in self._connection.execute(
                f"SELECT source_id, content FROM drawers WHERE key IN ({marks(batch)})", batch
            )
        ]

    @guarded
    def has_traces(self) -> bool:
        """Return whether something that was forgotten may still be read in a file."""
        return self._meta("unscrubbed") is not None

    @guarded
    def scrub(self) -> None:
        """Write the store's files anew, so that nothing readable is left of what was removed."""
        connection = self._connection
        connection.execute("PRAGMA secure_delete = ON")
        # Merged into one, the segments of the word index lose the words of drawers that are gone.
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        connection.execute("VACUUM")
        blocked, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if blocked:
            raise BusyError(
                f"another process still reads a former state of {self.path}",
                hint="run mempal again when it has finished; only then is the text out of the file",
            )
        connection.execute("DELETE FROM meta WHERE key = 'unscrubbed'")

    @guarded
    def withhold(self, source: Source, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return chunks without what was forgotten."""
        return self._admit(source, chunks)

    def _admit(self, source: Source, chunks: Sequence[Chunk]) -> list[Chunk]:
        if is_barred(self._connection, source):
            return []
        source_id = find_source(self._connection, source)
        return withhold_chunks(self._connection, source_id, chunks)
