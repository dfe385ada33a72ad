"""How values are kept in columns: names on disk, drawers and sources as rows."""

import os
import sqlite3
from collections.abc import Sequence
from typing import Any

from mempal.core.model import (
    Drawer,
    Place,
    Scope,
    Source,
    SourceClass,
    SourceKind,
    SourceState,
    Span,
)

DRAWER_COLUMNS = """
    d.key, d.id, d.wing, d.room, d.content, coalesce(f.path, s.path), coalesce(f.root, s.root),
    d.chunk_index, d.line_start, d.line_end, d.byte_start, d.byte_end, d.span_digest, d.speaker,
    d.source_class, d.importance, d.added_at, d.superseded_at, d.deleted_at, d.content_sha256,
    r.content_sha256, r.blob, r.commit_id, d.said_at, s.session
"""
DRAWER_TABLES = """
    drawers AS d JOIN sources AS s ON s.id = d.source_id JOIN readings AS r ON r.id = d.reading_id
    LEFT JOIN sources AS f ON f.id = s.held_in
"""
SOURCE_COLUMNS = """
    s.wing, s.root, s.path, s.kind, s.room, s.size, s.mtime_ns, s.content_sha256,
    r.blob, r.commit_id, s.encoding, s.rules, s.mined_at, s.state, s.reason, s.session, s.tail,
    s.moved_to, f.wing, f.root, f.path
"""
SOURCE_TABLES = """
    sources AS s LEFT JOIN readings AS r ON r.id = s.reading_id
    LEFT JOIN sources AS f ON f.id = s.held_in
"""


def encode_path(path: str) -> str | bytes:
    """Return a path as SQLite can keep it: text, or bytes when its name is not valid Unicode."""
    try:
        path.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(path)
        except UnicodeEncodeError:  # no file can have this name
            return path.encode("utf-8", "surrogatepass")
    return path


def encode_name(name: str | None) -> str | bytes | None:
    """Return a name to compare columns with; one that is not valid Unicode equals none of them."""
    return None if name is None else encode_path(name)


def decode_path(value: str | bytes) -> str:
    """Undo :func:`encode_path`."""
    return os.fsdecode(value) if isinstance(value, bytes) else value


def read_drawer(row: tuple[Any, ...]) -> Drawer:
    """Build a drawer from a row of :data:`DRAWER_COLUMNS`."""
    (key, drawer_id, wing, room, content, path, root, index, *span) = row[:13]
    (speaker, source_class, importance, added_at, superseded_at, deleted_at, digest) = row[13:20]
    (source_sha256, blob, commit, said_at, session) = row[20:]
    return Drawer(
        key=key,
        id=drawer_id,
        wing=wing,
        room=room,
        content=content,
        source_file=decode_path(path),
        root=decode_path(root),
        chunk_index=index,
        span=None if span[0] is None else Span(*span),
        speaker=speaker,
        source_class=SourceClass(source_class),
        importance=importance,
        added_at=added_at,
        superseded_at=superseded_at,
        deleted_at=deleted_at,
        content_sha256=digest.hex(),
        source_sha256=source_sha256,
        blob=blob,
        commit=commit,
        said_at=said_at,
        session=session,
    )


def select_drawers(
    connection: sqlite3.Connection, condition: str, parameters: Sequence[object]
) -> list[Drawer]:
    """Return the drawers that a condition on ``d``, ``s``, ``r`` and ``f`` admits."""
    rows = connection.execute(
        f"SELECT {DRAWER_COLUMNS} FROM {DRAWER_TABLES} WHERE {condition}", parameters
    )
    return [read_drawer(row) for row in rows]


def read_source(row: tuple[Any, ...]) -> Source:
    """Build a source from a row of :data:`SOURCE_COLUMNS`."""
    (wing, root, path, kind, room, size, mtime_ns, digest, blob, commit, *rest) = row
    (encoding, rules, mined_at, state, reason, session, tail, moved_to, *holder) = rest
    return Source(
        wing=wing,
        root=decode_path(root),
        path=decode_path(path),
        kind=SourceKind(kind),
        room=room,
        size=size,
        mtime_ns=mtime_ns,
        content_sha256=digest,
        blob=blob,
        commit=commit,
        encoding=encoding,
        rules=rules,
        mined_at=mined_at,
        state=SourceState(state),
        reason=reason,
        session=session,
        holder=None if holder[0] is None else Place(holder[0], *map(decode_path, holder[1:])),
        tail=tail,
        moved_to=None if moved_to is None else decode_path(moved_to),
    )


def write_span(span: Span | None) -> tuple[int | str | None, ...]:
    """Return the five columns of a span."""
    if span is None:
        return (None,) * 5
    return (span.line_start, span.line_end, span.byte_start, span.byte_end, span.digest)


def scope_clause(scope: Scope) -> tuple[str, list[object]]:
    """Return the condition on ``drawers AS d`` that admits a scope, and its parameters."""
    conditions = ["d.deleted_at IS NULL"]
    parameters: list[object] = []
    if scope.wing is not None:
        conditions.append("d.wing = ?")
        parameters.append(encode_name(scope.wing))
    if scope.room is not None:
        conditions.append("d.room = ?")
        parameters.append(encode_name(scope.room))
    if scope.as_of is not None:
        conditions.append(
            "d.added_at <= ? AND (d.superseded_at IS NULL OR d.superseded_at > ?) AND NOT EXISTS "
            "(SELECT 1 FROM lapses AS l WHERE l.key = d.key"
            " AND l.superseded_at <= ? AND l.restored_at > ?)"
        )
        parameters.extend([scope.as_of] * 4)
    elif not scope.history:
        conditions.append("d.superseded_at IS NULL")
    return " AND ".join(conditions), parameters
