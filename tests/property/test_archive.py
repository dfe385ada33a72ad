"""Whatever a palace holds survives an archive; whatever a file holds, reading it ends well."""

import io
import json
import os
from collections import Counter
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mempal.core.archive import (
    ArchiveHeader,
    DrawerRow,
    LinkRow,
    ReadingRow,
    SourceRow,
    TombstoneRow,
)
from mempal.core.errors import SourceError
from mempal.core.exchange import ArchiveReader, write_archive
from mempal.core.model import Chunk, Source, SourceClass, SourceKind, SourceState, Span, Voice
from mempal.core.vector import pack
from mempal.palace.incoming import Incoming
from tests.cases.support import Silence, open_at

FREE = st.text()
NAMES = st.text("abcé ß漢🙂-.'\"", min_size=1, max_size=20).map(str.strip).filter(bool)
PATHS = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20),
    st.binary(max_size=12).map(lambda raw: os.fsdecode(raw.replace(b"\0", b"\xff"))),
)
COUNTS = st.integers(0, 2**63 - 1)
INSTANTS = st.integers(0, 253_402_300_799_999)
DIGESTS = st.binary(min_size=32, max_size=32).map(bytes.hex)
VECTORS = st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4).map(pack)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def spans(draw: st.DrawFn) -> Span:
    first, length = draw(st.integers(1, 2**40)), draw(st.integers(0, 99))
    start = draw(maybe(st.integers(0, 2**40)))
    end = None if start is None else start + length
    return Span(first, first + length, start, end, draw(maybe(DIGESTS)))


SOURCES = st.builds(
    SourceRow,
    COUNTS,
    st.builds(
        Source,
        wing=NAMES,
        root=PATHS,
        path=PATHS,
        kind=st.sampled_from(SourceKind),
        room=NAMES,
        size=COUNTS,
        mtime_ns=st.integers(-(2**63) + 1, 2**63 - 1),
        content_sha256=DIGESTS,
        blob=st.none(),
        commit=st.none(),
        encoding=NAMES,
        rules=NAMES,
        mined_at=INSTANTS,
        state=st.sampled_from(SourceState),
        reason=maybe(FREE),
        session=maybe(FREE),
        holder=st.none(),
        tail=maybe(FREE),
        moved_to=maybe(PATHS),
    ),
    maybe(COUNTS),
    maybe(COUNTS),
)
DRAWERS = st.builds(
    DrawerRow,
    id=st.binary(min_size=10, max_size=10).map(lambda raw: f"drawer_{raw.hex()}"),
    source=COUNTS,
    reading=COUNTS,
    wing=NAMES,
    room=NAMES,
    chunk=st.builds(
        Chunk,
        FREE,
        maybe(spans()),
        FREE,
        st.builds(
            Voice, maybe(FREE), st.sampled_from(SourceClass), maybe(st.integers(-(10**13), 10**13))
        ),
    ),
    chunk_index=COUNTS,
    importance=st.integers(0, 5),
    added_at=INSTANTS,
    superseded_at=maybe(INSTANTS),
    deleted_at=maybe(INSTANTS),
    lapses=st.lists(st.tuples(INSTANTS, INSTANTS), max_size=3).map(tuple),
    vector=maybe(VECTORS),
)
ROWS = st.one_of(
    SOURCES,
    DRAWERS,
    st.builds(ReadingRow, COUNTS, DIGESTS, maybe(DIGESTS), maybe(DIGESTS), INSTANTS),
    st.builds(TombstoneRow, st.binary(min_size=32, max_size=32), maybe(COUNTS), INSTANTS),
    st.builds(LinkRow, NAMES, NAMES, st.just("drawer_" + "0f" * 10), maybe(INSTANTS)),
)
HEADERS = st.builds(
    ArchiveHeader, COUNTS, maybe(NAMES), maybe(st.integers(1, 4096)), INSTANTS, st.just({}), NAMES
)
SOURCE = Source("w", "/t", "a.md", room="r")
VALID = [
    SourceRow(1, SOURCE, 1),
    ReadingRow(1, "ab", None, None, 5),
    DrawerRow(
        "drawer_" + "0f" * 10, 1, 1, "w", "r",
        Chunk("text", Span(1, 1), "", Voice(None, SourceClass.FILE)),
        0, 0, 5, None, None, ((1, 2),), pack([1.0, 2.0, 3.0, 4.0]),
    ),
    TombstoneRow(bytes(32), 1, 5),
    LinkRow("card_1", "supports", "drawer_" + "0f" * 10),
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def write(header: ArchiveHeader, rows: list[Any]) -> bytes:
    file = io.BytesIO()
    write_archive(file, header, rows)
    return file.getvalue()


DATA = write(ArchiveHeader(2, "hash:A:4:v1", 4, 5, {}, "1"), VALID)


def read_all(data: bytes) -> None:
    """Read an archive as an import does, up to where it would store something."""
    Incoming(io.BytesIO(data), None).check(Silence())


@given(HEADERS, st.lists(ROWS, max_size=5))
def test_rows_survive(header, rows):
    reader = ArchiveReader(io.BytesIO(write(header, rows)))
    assert reader.header == header
    assert [row for _, row in reader] == rows


def test_the_sample_is_valid():
    read_all(DATA)


@given(st.data())
def test_a_file_that_was_changed_is_refused(data):
    start = data.draw(st.integers(0, len(DATA) - 2))
    end = data.draw(st.integers(start, len(DATA) - 1))
    fresh = DATA[:start] + data.draw(st.binary(max_size=8)) + DATA[end:]
    if json_lines(fresh) != json_lines(DATA):
        with pytest.raises(SourceError, match=r"^(line \d+: |the export has format)"):
            read_all(fresh)


def json_lines(data: bytes) -> list[bytes]:
    """Return the lines with the last one, which nothing proves, as what it says."""
    *lines, last = data.split(b"\n")[:-1]
    try:
        lines.append(repr(sorted(json.loads(last).items())).encode())
    except (ValueError, AttributeError):
        lines.append(last)
    return lines


@given(
    st.binary() | st.lists(JSON, max_size=4).map(lambda v: "\n".join(map(json.dumps, v)).encode())
)
def test_anything_but_an_archive_is_refused(data):
    with pytest.raises(SourceError, match=r"^line 1: "):
        read_all(data)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 4), st.data(), JSON)
def test_any_value_in_any_place_is_taken_or_refused_by_line(tmp_path_factory, number, data, value):
    lines = [json.loads(line) for line in DATA.splitlines()][:-1]
    name = data.draw(st.sampled_from(sorted(lines[number])))
    lines[number][name] = value
    file = io.BytesIO()
    text = "".join(json.dumps(line) + "\n" for line in lines)
    file.write(text.encode())
    seal(file, lines)
    refusal = find_refusal(file.getvalue())
    if refusal is not None:
        assert refusal.startswith(("line ", "the export has format "))
        return
    home = tmp_path_factory.mktemp("palace")
    palace = open_at(home / "home", embed__backend="hash", embed__dim="4")
    (home / "p.jsonl").write_bytes(file.getvalue())
    palace.archive.import_(home / "p.jsonl", Silence())
    with palace.access.open(writable=False) as store:
        assert store.problems() == []


def find_refusal(data: bytes) -> str | None:
    try:
        read_all(data)
    except SourceError as error:
        return error.message
    return None


def seal(file: io.BytesIO, lines: list[dict[str, Any]]) -> None:
    counts = Counter(str(line.get("type")) for line in lines[1:])
    digest = sha256(file.getvalue()).hexdigest()
    file.write(json.dumps({"type": "end", "counts": counts, "sha256": digest}).encode() + b"\n")
