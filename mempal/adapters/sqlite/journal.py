"""What rows were before a run first changed them, kept by triggers that no change can pass by.

The triggers are temporary: they belong to one connection and to one run. What they keep is JSON of
numbers, names and times; no stored text. Names on disk are written as hex, as they may be bytes.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

DRAWER_COLUMNS = (
    "source_id", "reading_id", "room", "chunk_index", "line_start", "line_end", "byte_start",
    "byte_end", "span_digest", "importance", "superseded_at", "deleted_at",
)  # fmt: skip
SOURCE_COLUMNS = (
    "wing", "kind", "room", "size", "mtime_ns", "content_sha256", "encoding", "rules", "mined_at",
    "state", "reason", "reading_id", "session", "held_in", "tail", "root", "path", "moved_to",
)  # fmt: skip
NAMES = ("root", "path", "moved_to")
_TRIGGERS = (
    "drawer_changed", "drawer_lapsed", "drawer_removed",
    "source_made", "source_changed", "source_dropped",
)  # fmt: skip


def _draw_drawer(row: str) -> str:
    columns = ", ".join(f"{row}.{name}" for name in DRAWER_COLUMNS)
    lapses = (
        "SELECT json_group_array(json_array(superseded_at, restored_at)) FROM lapses"
        f" WHERE key = {row}.key"
    )
    return f"json_array({columns}, json(({lapses})))"


def _draw_source(row: str) -> str:
    plain = [f"{row}.{name}" for name in SOURCE_COLUMNS if name not in NAMES]
    named = [
        f"CASE WHEN {row}.{name} IS NOT NULL"
        f" THEN substr(typeof({row}.{name}), 1, 1) || hex({row}.{name}) END"
        for name in NAMES
    ]
    return f"json_array({', '.join([*plain, *named])})"


def read_name(value: str | None) -> str | bytes | None:
    """Undo how a name on disk is written in the journal."""
    if value is None:
        return None
    data = bytes.fromhex(value[1:])
    return data.decode() if value[0] == "t" else data


def _differ(columns: tuple[str, ...]) -> str:
    return "(" + " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in columns) + ")"


def start_journal(connection: sqlite3.Connection, run: int) -> None:
    """Keep what this connection changes from now on for a run."""
    stop_journal(connection)

    def unknown(relation: str, key: str) -> str:
        # Looked up first: a conflict clause of the statement that fires a trigger overrides those
        # inside it, and would replace what was kept.
        return (
            f"NOT EXISTS (SELECT 1 FROM journal WHERE run_id = {run}"
            f" AND relation = '{relation}' AND row_id = {key})"
        )

    def keep(relation: str, key: str, image: str) -> str:
        return f"INSERT INTO journal VALUES ({run}, '{relation}', {key}, {image});"

    bodies = (
        (
            f"BEFORE UPDATE ON drawers WHEN OLD.run_id IS NOT {run} AND {_differ(DRAWER_COLUMNS)}"
            f" AND {unknown('drawers', 'OLD.key')}"
            f" BEGIN {keep('drawers', 'OLD.key', _draw_drawer('OLD'))} END"
        ),
        (
            f"BEFORE INSERT ON lapses WHEN {unknown('drawers', 'NEW.key')}"
            f" BEGIN INSERT INTO journal SELECT {run}, 'drawers', d.key, {_draw_drawer('d')}"
            f" FROM drawers AS d WHERE d.key = NEW.key AND d.run_id IS NOT {run}; END"
        ),
        (
            f"AFTER DELETE ON drawers WHEN OLD.run_id IS NOT {run}"
            f" AND {unknown('removals', 'OLD.key')}"
            f" BEGIN {keep('removals', 'OLD.key', 'NULL')} END"
        ),
        (
            f"AFTER INSERT ON sources WHEN {unknown('sources', 'NEW.id')}"
            f" BEGIN {keep('sources', 'NEW.id', 'NULL')} END"
        ),
        (
            f"BEFORE UPDATE ON sources WHEN {_differ(SOURCE_COLUMNS)}"
            f" AND {unknown('sources', 'OLD.id')}"
            f" BEGIN {keep('sources', 'OLD.id', _draw_source('OLD'))} END"
        ),
        (
            f"BEFORE DELETE ON sources WHEN {unknown('sources', 'OLD.id')}"
            f" BEGIN {keep('sources', 'OLD.id', _draw_source('OLD'))} END"
        ),
    )
    for name, body in zip(_TRIGGERS, bodies, strict=True):
        connection.execute(f"CREATE TEMP TRIGGER {name} {body}")


def stop_journal(connection: sqlite3.Connection) -> None:
    """Keep nothing any more."""
    for name in _TRIGGERS:
        connection.execute(f"DROP TRIGGER IF EXISTS temp.{name}")


def mark_final(connection: sqlite3.Connection, run: int) -> None:
    """Record that a run took something away for good, and so cannot be undone."""
    connection.execute("INSERT OR IGNORE INTO journal VALUES (?, 'removals', 0, NULL)", (run,))


def trim_journal(connection: sqlite3.Connection, run: int) -> None:
    """Leave out rows that are in the end what they were at first."""
    for relation, key, image in (
        ("drawers", "key", _draw_drawer("t")),
        ("sources", "id", _draw_source("t")),
    ):
        connection.execute(
            f"DELETE FROM journal WHERE run_id = ? AND relation = '{relation}' AND former IS"
            f" (SELECT {image} FROM {relation} AS t WHERE t.{key} = journal.row_id)",
            (run,),
        )


def has_changes(connection: sqlite3.Connection, run: int) -> bool:
    """Return whether a run changed anything."""
    row = connection.execute(
        "SELECT EXISTS (SELECT 1 FROM journal WHERE run_id = ?)"
        " OR EXISTS (SELECT 1 FROM drawers WHERE run_id = ?)",
        (run, run),
    ).fetchone()
    return bool(row[0])


def read_journal(
    connection: sqlite3.Connection, run: int, relation: str
) -> Iterator[tuple[int, Any]]:
    """Yield (row id, former image or ``None``) of one relation."""
    rows = connection.execute(
        "SELECT row_id, former FROM journal WHERE run_id = ? AND relation = ?", (run, relation)
    ).fetchall()
    return iter(rows)
