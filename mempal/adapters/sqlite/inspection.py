"""Sizes, counts and soundness of the palace database."""

import sqlite3
from pathlib import Path

from mempal.core.model import RoomCount, StoreStatus

_SHOWN = 5


def count_rooms(connection: sqlite3.Connection) -> tuple[RoomCount, ...]:
    """Return the size of every room, by wing and room."""
    rows = connection.execute(
        "SELECT wing, room, count(*), count(DISTINCT source_id), max(added_at) FROM drawers"
        " WHERE superseded_at IS NULL AND deleted_at IS NULL"
        " GROUP BY wing, room ORDER BY wing, room"
    )
    return tuple(RoomCount(*row) for row in rows)


def read_status(connection: sqlite3.Connection, path: Path) -> StoreStatus:
    """Return sizes, versions and counts per room."""
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    current, superseded, deleted, text_bytes = connection.execute(
        "SELECT coalesce(sum(superseded_at IS NULL AND deleted_at IS NULL), 0),"
        " coalesce(sum(superseded_at IS NOT NULL AND deleted_at IS NULL), 0),"
        " coalesce(sum(deleted_at IS NOT NULL), 0),"
        " coalesce(sum(length(CAST(content AS BLOB))), 0) FROM drawers"
    ).fetchone()
    stored, skipped = connection.execute(
        "SELECT coalesce(sum(state = 'stored'), 0), coalesce(sum(state = 'skipped'), 0)"
        " FROM sources"
    ).fetchone()
    files = (path, path.with_name(f"{path.name}-wal"))
    return StoreStatus(
        schema_version=int(connection.execute("PRAGMA user_version").fetchone()[0]),
        revision=int(meta.get("revision", 0)),
        embedder=meta.get("embedder"),
        drawers=current,
        superseded=superseded,
        deleted=deleted,
        sources=stored,
        skipped_sources=skipped,
        bytes=sum(file.stat().st_size for file in files if file.exists()),
        text_bytes=text_bytes,
        rooms=count_rooms(connection),
    )


def find_problems(connection: sqlite3.Connection) -> list[str]:
    """Return what is wrong with the file, its references, the word index and the vectors."""
    problems = [
        str(text) for (text,) in connection.execute(f"PRAGMA quick_check({_SHOWN})") if text != "ok"
    ]
    for table, key, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(_SHOWN):
        problems.append(f"row {key} of {table} names a row of {parent} that is not there")
    unindexed = connection.execute(
        "SELECT count(*) FROM drawers WHERE key NOT IN (SELECT id FROM words_docsize)"
    ).fetchone()[0]
    if unindexed:
        problems.append(f"{unindexed} drawers are missing from the word index")
    bare = connection.execute(
        "SELECT count(*) FROM drawers WHERE deleted_at IS NULL"
        " AND key NOT IN (SELECT key FROM vectors)"
    ).fetchone()[0]
    if bare:
        problems.append(f"{bare} drawers have no vector")
    if connection.execute("SELECT 1 FROM meta WHERE key = 'unscrubbed'").fetchone():
        problems.append("text that was forgotten still lies in unused parts of the file")
    lengths = connection.execute("SELECT DISTINCT length(embedding) FROM vectors").fetchall()
    if len(lengths) > 1:
        problems.append("vectors of different lengths are mixed")
    return problems
