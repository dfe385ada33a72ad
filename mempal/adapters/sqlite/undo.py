"""Taking a run back: the rows it changed get their former values, those it made go.

All functions run inside a transaction that their caller holds.
"""

import json
import sqlite3
from collections.abc import Sequence

from mempal.adapters.sqlite.journal import (
    DRAWER_COLUMNS,
    NAMES,
    SOURCE_COLUMNS,
    read_journal,
    read_name,
)
from mempal.adapters.sqlite.removal import remove_drawers
from mempal.adapters.sqlite.rows import decode_path
from mempal.adapters.sqlite.words import move_words
from mempal.adapters.sqlite.writing import next_revision, record_revision
from mempal.core.runs import Obstacle, Run, Undone

_PLAIN = tuple(name for name in SOURCE_COLUMNS if name not in NAMES)


def find_obstacle(connection: sqlite3.Connection, run: int) -> Obstacle | None:
    """Return what stands against undoing a run: what it removed, a later run, or a card."""
    if any(read_journal(connection, run, "removals")):
        return Obstacle(final=True)
    later = connection.execute(
        "SELECT max(later) FROM ("
        # A run that began before this one ended may have changed things after it, too.
        " SELECT j.run_id AS later FROM journal AS j JOIN runs AS r ON r.id = j.run_id"
        "  WHERE j.run_id <> :run AND j.relation <> 'removals' AND (j.run_id > :run"
        "   OR coalesce(r.finished_at, r.started_at)"
        "    > (SELECT started_at FROM runs WHERE id = :run))"
        "  AND (EXISTS (SELECT 1 FROM journal AS m WHERE m.run_id = :run"
        "    AND m.relation = j.relation AND m.row_id = j.row_id)"
        "   OR j.relation = 'drawers' AND EXISTS"
        "    (SELECT 1 FROM drawers WHERE key = j.row_id AND run_id = :run))"
        # Drawers and conversations that came into a source which goes with this run.
        " UNION ALL SELECT coalesce(d.run_id, 0) FROM journal AS m JOIN drawers AS d"
        "  ON d.source_id = m.row_id WHERE m.run_id = :run AND m.relation = 'sources'"
        "  AND m.former IS NULL AND d.run_id IS NOT :run AND NOT EXISTS (SELECT 1"
        "   FROM journal WHERE run_id = :run AND relation = 'drawers' AND row_id = d.key)"
        " UNION ALL SELECT coalesce((SELECT max(run_id) FROM journal"
        "   WHERE relation = 'sources' AND row_id = s.id), 0)"
        "  FROM journal AS m JOIN sources AS s ON s.held_in = m.row_id"
        "  WHERE m.run_id = :run AND m.relation = 'sources' AND m.former IS NULL AND NOT EXISTS"
        "   (SELECT 1 FROM journal WHERE run_id = :run AND relation = 'sources'"
        "    AND row_id = s.id))",
        {"run": run},
    ).fetchone()[0]
    if later is not None:
        return Obstacle(later=int(later))
    cards = connection.execute(
        "SELECT DISTINCT l.card_id FROM drawers AS d JOIN card_links AS l ON l.key = d.key"
        " WHERE d.run_id = ? ORDER BY l.card_id",
        (run,),
    ).fetchall()
    return Obstacle(cards=tuple(card for (card,) in cards)) if cards else None


def undo(connection: sqlite3.Connection, run: Run, at: int) -> Undone:
    """Undo a run that nothing stands against.

    Raises:
        sqlite3.IntegrityError: Something outside of any run has taken the place of what returns.
    """
    # Sources are taken out and put back, in whatever order their places were exchanged.
    connection.execute("PRAGMA defer_foreign_keys = ON")
    revision = next_revision(connection)
    added = connection.execute(
        "SELECT key FROM drawers WHERE run_id = ? ORDER BY key", (run.id,)
    ).fetchall()
    removed = remove_drawers(connection, [key for (key,) in added], revision)
    drawers = list(read_journal(connection, run.id, "drawers"))
    paths = {key: _find_path(connection, key) for key, _ in drawers}
    sources = list(read_journal(connection, run.id, "sources"))
    _return_sources(connection, sources)
    for key, former in drawers:
        _return_drawer(connection, key, former, revision)
        path = _find_path(connection, key)
        if path != paths[key]:
            content, symbols = connection.execute(
                "SELECT content, symbols FROM drawers WHERE key = ?", (key,)
            ).fetchone()
            move_words(connection, key, content, (paths[key], path), symbols)
    connection.execute("DELETE FROM journal WHERE run_id = ?", (run.id,))
    connection.execute(
        "UPDATE runs SET undone_at = ?, finished_at = coalesce(finished_at, ?) WHERE id = ?",
        (at, at, run.id),
    )
    if removed or drawers:
        record_revision(connection, revision)
    return Undone(run.id, run.verb, removed, len(drawers), len(sources))


def _find_path(connection: sqlite3.Connection, key: int) -> str:
    (path,) = connection.execute(
        "SELECT s.path FROM drawers AS d JOIN sources AS s ON s.id = d.source_id WHERE d.key = ?",
        (key,),
    ).fetchone()
    return decode_path(path)


def _return_sources(
    connection: sqlite3.Connection, sources: Sequence[tuple[int, str | None]]
) -> None:
    for source_id, former in sources:
        # Lines that were forgotten in a source must be known again when it returns.
        kept = (
            former is None
            and connection.execute(
                "UPDATE sources SET state = 'gone', size = 0, mtime_ns = 0, content_sha256 = '',"
                " tail = NULL, held_in = NULL WHERE id = ?"
                " AND EXISTS (SELECT 1 FROM forgotten WHERE source_id = sources.id)",
                (source_id,),
            ).rowcount
        )
        if not kept:
            connection.execute("DELETE FROM sources WHERE id = ?", (source_id,))
    columns = ", ".join(("id", *_PLAIN, *NAMES))
    marks = ", ".join("?" * (1 + len(SOURCE_COLUMNS)))
    for source_id, former in sources:
        if former is None:
            continue
        values = json.loads(former)
        names = map(read_name, values[len(_PLAIN) :])
        connection.execute(
            f"INSERT INTO sources ({columns}) VALUES ({marks})",
            (source_id, *values[: len(_PLAIN)], *names),
        )


def _return_drawer(connection: sqlite3.Connection, key: int, former: str, revision: int) -> None:
    *values, lapses = json.loads(former)
    settings = ", ".join(f"{name} = ?" for name in DRAWER_COLUMNS)
    connection.execute(
        f"UPDATE drawers SET {settings}, revision = ? WHERE key = ?", (*values, revision, key)
    )
    connection.execute("DELETE FROM lapses WHERE key = ?", (key,))
    connection.executemany(
        "INSERT INTO lapses VALUES (?, ?, ?)", [(key, *lapse) for lapse in lapses]
    )
