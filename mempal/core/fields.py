"""Rows of an archive as JSON objects, and back with every value checked.

What is read may come from anywhere: a value is taken only when a palace could have written it.
"""

import base64
import math
import os
import re
import struct
from collections.abc import Mapping
from enum import StrEnum
from operator import mul
from typing import Any, TypeVar

from mempal.core.archive import (
    ArchiveHeader,
    DrawerRow,
    LinkRow,
    ReadingRow,
    Row,
    SourceRow,
    TombstoneRow,
)
from mempal.core.clock import format_instant, parse_instant
from mempal.core.model import Chunk, Source, SourceClass, SourceKind, SourceState, Span, Voice
from mempal.core.names import check_name
from mempal.core.vector import HEADER_BYTES

_DRAWER_ID = re.compile(r"drawer_[0-9a-f]{20}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**63 - 1
# The last millisecond of the year 9999 and the first of the year 1, beyond which no instant can be
# printed.
_LAST_INSTANT, _FIRST_INSTANT = 253_402_300_799_999, -62_135_596_800_000
_LARGEST_IMPORTANCE = 5
_MOST_DIMENSIONS = 65_536
_DIGEST_BYTES = 32
# A packed vector has unit length up to the rounding of its codes.
_SHORTEST, _LONGEST = 0.5, 2.0

Document = dict[str, Any]
_Choice = TypeVar("_Choice", bound=StrEnum)


class Fields:
    """The values of one JSON object, each read as what it must be.

    Every method raises ``ValueError``, which names the value, when it is something else.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def has(self, name: str) -> bool:
        """Return whether there is a value other than null."""
        return self._document.get(name) is not None

    def text(self, name: str, *, nul: bool = False) -> str:
        """Read a text; one that holds a NUL only where ``nul`` allows it."""
        value = self._document.get(name)
        if not isinstance(value, str):
            raise _wrong(name, "is no text")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise _wrong(name, "is not valid Unicode") from None
        if "\0" in value and not nul:
            raise _wrong(name, "holds a NUL")
        return value

    def optional_text(self, name: str) -> str | None:
        """Read a text, which may hold a NUL, or null."""
        return self.text(name, nul=True) if self.has(name) else None

    def number(self, name: str, low: int = 0, high: int = _LARGEST) -> int:
        """Read a whole number from ``low`` to ``high``."""
        return _check_number(name, self._document.get(name), low, high)

    def optional_number(self, name: str, low: int = 0, high: int = _LARGEST) -> int | None:
        """Read a whole number or null."""
        return self.number(name, low, high) if self.has(name) else None

    def instant(self, name: str) -> int:
        """Read an instant from 1970 on."""
        return self.number(name, 0, _LAST_INSTANT)

    def optional_instant(self, name: str) -> int | None:
        """Read an instant from 1970 on, or null."""
        return self.instant(name) if self.has(name) else None

    def choice(self, name: str, among: type[_Choice]) -> _Choice:
        """Read one of the values of an enumeration."""
        value = self.text(name)
        try:
            return among(value)
        except ValueError:
            raise _wrong(name, f"is none of {', '.join(among)}") from None

    def path(self, name: str, *, nul: bool = False) -> str:
        """Read a path: a text, or bytes where its name is not valid Unicode."""
        value = self._document.get(name)
        if not isinstance(value, dict):
            return self.text(name, nul=nul)
        raw = Fields(value).data("bytes")
        if b"\0" in raw:
            raise _wrong(name, "holds a NUL")
        return os.fsdecode(raw)

    def optional_path(self, name: str) -> str | None:
        """Read a path or null."""
        return self.path(name) if self.has(name) else None

    def data(self, name: str) -> bytes:
        """Read bytes in base64."""
        try:
            return base64.b64decode(self.text(name), validate=True)
        except ValueError:
            raise _wrong(name, "is not base64") from None

    def matching(self, name: str, pattern: re.Pattern[str]) -> str:
        """Read a text that matches a pattern as a whole."""
        value = self.text(name)
        if not pattern.fullmatch(value):
            raise _wrong(name, f"has not the form {pattern.pattern}")
        return value

    def pairs(self, name: str) -> tuple[tuple[int, int], ...]:
        """Read a list of pairs of instants."""
        value = self._document.get(name) or []
        if not isinstance(value, list):
            raise _wrong(name, "is no list")
        return tuple(_check_pair(name, pair) for pair in value)

    def counts(self, name: str) -> dict[str, int]:
        """Read numbers by name."""
        value = self._document.get(name)
        if not isinstance(value, dict):
            raise _wrong(name, "is no object")
        return {key: _check_number(name, number, 0, _LARGEST) for key, number in value.items()}


def _wrong(name: str, what: str) -> ValueError:
    return ValueError(f"{name} {what}")


def _check_number(name: str, value: object, low: int, high: int) -> int:
    if type(value) is not int:
        raise _wrong(name, "is no whole number")
    if not low <= value <= high:
        raise _wrong(name, f"is not between {low} and {high}")
    return value


def _check_pair(name: str, value: object) -> tuple[int, int]:
    match value:
        case [start, end]:
            return (
                _check_number(name, start, 0, _LAST_INSTANT),
                _check_number(name, end, 0, _LAST_INSTANT),
            )
    raise _wrong(name, "is no list of pairs")


# --- header ------------------------------------------------------------------------------------


def encode_header(header: ArchiveHeader) -> Document:
    """Return a header as a JSON object."""
    return {
        "schema": header.schema,
        "version": header.version,
        "embedder": header.embedder,
        "dimensions": header.dimensions,
        "exported_at": format_instant(header.exported_at),
        "counts": dict(header.counts),
    }


def decode_header(fields: Fields) -> ArchiveHeader:
    """Read a header.

    Raises:
        ValueError: A value is not what it should be.
        UsageError: The time is none.
    """
    return ArchiveHeader(
        schema=fields.number("schema"),
        version=fields.text("version"),
        embedder=fields.text("embedder") if fields.has("embedder") else None,
        dimensions=fields.optional_number("dimensions", 1, _MOST_DIMENSIONS),
        exported_at=parse_instant(fields.text("exported_at")),
        counts=fields.counts("counts"),
    )


# --- rows --------------------------------------------------------------------------------------


def encode_row(row: Row) -> Document:
    """Return a row as a JSON object with its kind."""
    match row:
        case SourceRow():
            return _encode_source(row)
        case ReadingRow():
            return {
                "type": "reading",
                "number": row.number,
                "content_sha256": row.content_sha256,
                "blob": row.blob,
                "commit": row.commit,
                "read_at": row.read_at,
            }
        case DrawerRow():
            return _encode_drawer(row)
        case TombstoneRow():
            return {
                "type": "forgotten",
                "digest": row.digest.hex(),
                "source": row.source,
                "forgotten_at": row.forgotten_at,
            }
        case LinkRow():
            kind = "card_link" if row.forgotten_at is None else "forgotten_link"
            link = {"type": kind, "card": row.card_id, "role": row.role, "drawer": row.drawer_id}
            return link if row.forgotten_at is None else link | {"forgotten_at": row.forgotten_at}


def decode_row(kind: str, fields: Fields) -> Row | None:
    """Read a row; ``None`` when its kind is unknown.

    Raises:
        ValueError: A value is not what it should be.
        UsageError: A wing or room has no valid name.
    """
    match kind:
        case "source":
            return _decode_source(fields)
        case "reading":
            return ReadingRow(
                number=fields.number("number"),
                content_sha256=fields.text("content_sha256"),
                blob=fields.optional_text("blob"),
                commit=fields.optional_text("commit"),
                read_at=fields.instant("read_at"),
            )
        case "drawer":
            return _decode_drawer(fields)
        case "forgotten":
            return TombstoneRow(
                bytes.fromhex(fields.matching("digest", _DIGEST)),
                fields.optional_number("source"),
                fields.instant("forgotten_at"),
            )
        case "card_link" | "forgotten_link":
            gone = kind == "forgotten_link"
            return LinkRow(
                fields.text("card"),
                fields.text("role"),
                fields.matching("drawer", _DRAWER_ID),
                fields.instant("forgotten_at") if gone else None,
            )
    return None


def _encode_source(row: SourceRow) -> Document:
    source = row.source
    return {
        "type": "source",
        "number": row.number,
        "wing": source.wing,
        "root": _encode_path(source.root),
        "path": _encode_path(source.path),
        "kind": str(source.kind),
        "room": source.room,
        "size": source.size,
        "mtime_ns": source.mtime_ns,
        "content_sha256": source.content_sha256,
        "encoding": source.encoding,
        "rules": source.rules,
        "mined_at": source.mined_at,
        "state": str(source.state),
        "reason": source.reason,
        "session": source.session,
        "tail": source.tail,
        "moved_to": None if source.moved_to is None else _encode_path(source.moved_to),
        "reading": row.reading,
        "holder": row.holder,
    }


def _decode_source(fields: Fields) -> SourceRow:
    kind = fields.choice("kind", SourceKind)
    source = Source(
        wing=check_name("wing", fields.text("wing")),
        root=fields.path("root"),
        # What is no file has a name that somebody chose.
        path=fields.path("path", nul=kind is not SourceKind.FILE),
        kind=kind,
        room=check_name("room", fields.text("room")),
        size=fields.number("size"),
        mtime_ns=fields.number("mtime_ns", -_LARGEST),
        content_sha256=fields.text("content_sha256"),
        encoding=fields.text("encoding"),
        rules=fields.text("rules"),
        mined_at=fields.instant("mined_at"),
        state=fields.choice("state", SourceState),
        reason=fields.optional_text("reason"),
        session=fields.optional_text("session"),
        tail=fields.optional_text("tail"),
        moved_to=fields.optional_path("moved_to"),
    )
    return SourceRow(
        fields.number("number"),
        source,
        fields.optional_number("reading"),
        fields.optional_number("holder"),
    )


def _encode_path(path: str) -> str | Document:
    try:
        path.encode()
    except UnicodeEncodeError:
        return {"bytes": base64.b64encode(os.fsencode(path)).decode()}
    return path


def _encode_drawer(row: DrawerRow) -> Document:
    chunk, span, voice = row.chunk, row.chunk.span, row.chunk.voice
    document: Document = {
        "type": "drawer",
        "id": row.id,
        "source": row.source,
        "reading": row.reading,
        "wing": row.wing,
        "room": row.room,
        "content": chunk.content,
        "symbols": chunk.symbols,
        "chunk_index": row.chunk_index,
        "line_start": span and span.line_start,
        "line_end": span and span.line_end,
        "byte_start": span and span.byte_start,
        "byte_end": span and span.byte_end,
        "span_digest": span and span.digest,
        "speaker": voice and voice.speaker,
        "source_class": str(voice.source_class) if voice else None,
        "said_at": voice and voice.said_at,
        "importance": row.importance,
        "added_at": row.added_at,
        "superseded_at": row.superseded_at,
        "deleted_at": row.deleted_at,
        "vector": None if row.vector is None else base64.b64encode(row.vector).decode(),
    }
    return document | {"lapses": row.lapses} if row.lapses else document


def _decode_drawer(fields: Fields) -> DrawerRow:
    voice = Voice(
        fields.optional_text("speaker"),
        fields.choice("source_class", SourceClass),
        fields.optional_number("said_at", _FIRST_INSTANT, _LAST_INSTANT),
    )
    # What a file held, a drawer holds, and that may be a NUL.
    content, symbols = fields.text("content", nul=True), fields.text("symbols", nul=True)
    return DrawerRow(
        id=fields.matching("id", _DRAWER_ID),
        source=fields.number("source"),
        reading=fields.number("reading"),
        wing=check_name("wing", fields.text("wing")),
        room=check_name("room", fields.text("room")),
        chunk=Chunk(content, _decode_span(fields), symbols, voice),
        chunk_index=fields.number("chunk_index"),
        importance=fields.number("importance", 0, _LARGEST_IMPORTANCE),
        added_at=fields.instant("added_at"),
        superseded_at=fields.optional_instant("superseded_at"),
        deleted_at=fields.optional_instant("deleted_at"),
        lapses=fields.pairs("lapses"),
        vector=_check_vector(fields.data("vector")) if fields.has("vector") else None,
    )


def _decode_span(fields: Fields) -> Span | None:
    if not fields.has("line_start"):
        if any(map(fields.has, ("line_end", "byte_start", "byte_end", "span_digest"))):
            raise ValueError("line_start is missing")
        return None
    first = fields.number("line_start", 1)
    start = end = None
    if fields.has("byte_start") or fields.has("byte_end"):
        start = fields.number("byte_start")
        end = fields.number("byte_end", start)
    digest = fields.matching("span_digest", _DIGEST) if fields.has("span_digest") else None
    return Span(first, fields.number("line_end", first), start, end, digest)


def _check_vector(packed: bytes) -> bytes:
    """Return a packed vector of unit length or without direction."""
    if len(packed) <= HEADER_BYTES:
        raise ValueError("vector is too short")
    (scale,) = struct.unpack_from("<f", packed)
    codes = memoryview(packed)[HEADER_BYTES:].cast("b")
    length = math.sqrt(sum(map(mul, codes, codes))) * scale
    blank = scale == 0.0 and not any(codes)
    if not blank and not _SHORTEST <= length <= _LONGEST:
        raise ValueError("vector has not the length of one")
    return packed
