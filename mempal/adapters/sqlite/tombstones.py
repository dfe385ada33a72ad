"""Tombstones: hashes of what a person wants gone, asked before anything is stored.

All functions run on a connection that their caller guards.
"""

import sqlite3
from collections.abc import Iterable, Sequence

from mempal.adapters.sqlite.rows import encode_name, encode_path
from mempal.core.forgetting import hash_lines, hash_text, withhold
from mempal.core.model import Chunk, Place, Source

# Stands for no source: the hash is that of a whole text, wherever it comes from.
_ANYWHERE = 0


def has_tombstones(connection: sqlite3.Connection) -> bool:
    """Return whether anything was ever forgotten; one look at one small table."""
    row = connection.execute("SELECT 1 FROM meta WHERE key = 'forgotten'").fetchone()
    return row is not None


def is_barred(connection: sqlite3.Connection, source: Source) -> bool:
    """Return whether a source, or the file that holds it, was forgotten."""
    places = [source.place, *([source.holder] if source.holder else [])]
    return has_tombstones(connection) and any(
        _read_state(connection, place) == "forgotten" for place in places
    )


def _read_state(connection: sqlite3.Connection, place: Place) -> str | None:
    row = connection.execute(
        "SELECT state FROM sources WHERE wing = ? AND root = ? AND path = ?",
        (encode_name(place.wing), encode_path(place.root), encode_path(place.path)),
    ).fetchone()
    return None if row is None else str(row[0])


def withhold_chunks(
    connection: sqlite3.Connection, source_id: int | None, chunks: Sequence[Chunk]
) -> list[Chunk]:
    """Return what may be stored of the chunks of a source."""
    if not has_tombstones(connection):
        return list(chunks)

    def is_forgotten(digest: bytes) -> bool:
        row = connection.execute(
            "SELECT 1 FROM forgotten WHERE source_id = ? AND digest = ?", (_ANYWHERE, digest)
        ).fetchone()
        return row is not None

    rows = connection.execute("SELECT digest FROM forgotten WHERE source_id = ?", (source_id,))
    lines = frozenset(digest for (digest,) in rows)
    rest = (withhold(chunk, is_forgotten, lines) for chunk in chunks)
    return [chunk for chunk in rest if chunk is not None]


def bury(connection: sqlite3.Connection, at: int, texts: Iterable[tuple[int, str]]) -> None:
    """Write down the hashes of (source id, text)."""
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('forgotten', '1')")
    for source_id, content in texts:
        connection.executemany(
            "INSERT OR IGNORE INTO forgotten VALUES (?, ?, ?)",
            [
                (_ANYWHERE, hash_text(content), at),
                *((source_id, digest, at) for digest in hash_lines(content)),
            ],
        )


def copy_tombstones(connection: sqlite3.Connection, former: int, source_id: int) -> None:
    """Let a source know the forgotten lines of another one."""
    connection.execute(
        "INSERT OR IGNORE INTO forgotten SELECT ?, digest, forgotten_at FROM forgotten"
        " WHERE source_id = ?",
        (source_id, former),
    )
