"""Files that were renamed, are gone, or are no longer to be read."""

import sqlite3
from collections.abc import Sequence

from mempal.adapters.sqlite.base import Database, guarded
from mempal.adapters.sqlite.rows import encode_path
from mempal.adapters.sqlite.tombstones import copy_tombstones
from mempal.adapters.sqlite.words import move_words
from mempal.adapters.sqlite.writing import find_source, next_revision, record_revision
from mempal.core.model import Place
from mempal.core.runs import RetireOutcome

_COPIED = "kind, size, mtime_ns, content_sha256, encoding, rules, reason, reading_id, session, tail"
_STATE = "CASE state WHEN 'gone' THEN 'stored' ELSE state END"
_OPEN = "superseded_at IS NULL AND deleted_at IS NULL"


class RelocationTables(Database):
    """The part ``Relocation`` of the port ``Store``."""

    @guarded
    def rename_source(self, place: Place, path: str, room: str, at: int) -> int:
        """Record that the file at ``place`` now lies at ``path`` of the same tree."""
        with self._change() as connection:
            former = find_source(connection, place)
            if former is None or path == place.path or _is_forgotten(connection, former):
                return 0
            target = Place(place.wing, place.root, path)
            source_id = find_source(connection, target)
            if source_id is not None and (
                _is_forgotten(connection, source_id) or _count_current(connection, source_id)
            ):
                return 0
            source_id = _write_target(connection, former, source_id, target, room, at)
            self._move_drawers(former, source_id, place.path, path, room)
            copy_tombstones(connection, former, source_id)
            connection.execute(
                "UPDATE sources SET held_in = ? WHERE held_in = ?", (source_id, former)
            )
            connection.execute(
                "UPDATE sources SET state = 'gone', reason = NULL, tail = NULL, moved_to = ?,"
                " mined_at = ? WHERE id = ?",
                (encode_path(path), at, former),
            )
            return _count_current(connection, source_id)

    def _move_drawers(self, former: int, source_id: int, old: str, new: str, room: str) -> None:
        connection = self._connection
        rows = connection.execute(
            "SELECT key, content, symbols FROM drawers WHERE source_id = ?", (former,)
        ).fetchall()
        if not rows:
            return
        revision = next_revision(connection)
        for key, content, symbols in rows:
            move_words(connection, key, content, (old, new), symbols)
        connection.execute(
            "UPDATE drawers SET source_id = ?, room = ?, revision = ? WHERE source_id = ?",
            (source_id, room, revision, former),
        )
        record_revision(connection, revision)

    @guarded
    def retire_sources(self, places: Sequence[Place], at: int) -> RetireOutcome:
        """Record that files are gone: their drawers are superseded, but for those a card cites."""
        superseded = 0
        protected: list[tuple[str, str]] = []
        with self._change() as connection:
            revision = next_revision(connection)
            for place in dict.fromkeys(places):
                source_id = find_source(connection, place)
                if source_id is None or _is_forgotten(connection, source_id):
                    continue
                superseded += connection.execute(
                    f"UPDATE drawers SET superseded_at = ?, revision = ? WHERE source_id = ?"
                    f" AND {_OPEN} AND key NOT IN (SELECT key FROM card_links)",
                    (at, revision, source_id),
                ).rowcount
                # What was deleted must not come back as current when it is restored.
                connection.execute(
                    "UPDATE drawers SET superseded_at = ? WHERE source_id = ?"
                    " AND superseded_at IS NULL AND deleted_at IS NOT NULL",
                    (at, source_id),
                )
                protected.extend(
                    connection.execute(
                        "SELECT DISTINCT d.id, l.card_id FROM drawers AS d"
                        " JOIN card_links AS l ON l.key = d.key"
                        f" WHERE d.source_id = ? AND {_OPEN} ORDER BY d.id, l.card_id",
                        (source_id,),
                    )
                )
                connection.execute(
                    "UPDATE sources SET state = 'gone', reason = NULL, tail = NULL, mined_at = ?"
                    " WHERE id = ? AND state <> 'gone'",
                    (at, source_id),
                )
            if superseded:
                record_revision(connection, revision)
        return RetireOutcome(superseded, tuple(protected))

    @guarded
    def drop_sources(self, places: Sequence[Place]) -> int:
        """Drop the record of sources that are gone and that have and hold nothing; count them."""
        with self._change() as connection:
            return sum(
                connection.execute(
                    "DELETE FROM sources AS s WHERE id = ? AND state = 'gone'"
                    " AND NOT EXISTS (SELECT 1 FROM drawers WHERE source_id = s.id)"
                    " AND NOT EXISTS (SELECT 1 FROM sources WHERE held_in = s.id)"
                    # Its forgotten lines must be known again when the file returns.
                    " AND NOT EXISTS (SELECT 1 FROM forgotten WHERE source_id = s.id)",
                    (find_source(connection, place),),
                ).rowcount
                for place in places
            )


def _is_forgotten(connection: sqlite3.Connection, source_id: int) -> bool:
    row = connection.execute(
        "SELECT 1 FROM sources WHERE id = ? AND state = 'forgotten'", (source_id,)
    ).fetchone()
    return row is not None


def _count_current(connection: sqlite3.Connection, source_id: int) -> int:
    """Return how many current drawers a source has or holds."""
    row = connection.execute(
        "SELECT count(*) FROM drawers WHERE source_id IN"
        f" (SELECT id FROM sources WHERE id = ? OR held_in = ?) AND {_OPEN}",
        (source_id, source_id),
    ).fetchone()
    return int(row[0])


def _write_target(
    connection: sqlite3.Connection,
    former: int,
    source_id: int | None,
    target: Place,
    room: str,
    at: int,
) -> int:
    """Give the new place all that is known of the file; return its row id."""
    if source_id is None:
        cursor = connection.execute(
            f"INSERT INTO sources (wing, root, path, room, mined_at, state, held_in, {_COPIED})"
            f" SELECT wing, root, ?, ?, ?, {_STATE}, held_in, {_COPIED} FROM sources WHERE id = ?",
            (encode_path(target.path), room, at, former),
        )
        source_id = int(cursor.lastrowid or 0)
    else:
        connection.execute(
            f"UPDATE sources SET (room, mined_at, state, moved_to, held_in, {_COPIED}) ="
            f" (SELECT ?, ?, {_STATE}, NULL, held_in, {_COPIED} FROM sources WHERE id = ?)"
            " WHERE id = ?",
            (room, at, former, source_id),
        )
    return source_id
