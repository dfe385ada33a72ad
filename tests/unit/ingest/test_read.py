"""From bytes to drawers: the pieces are the whole text, and each cites where it lies."""

import codecs

import pytest

from mempal.core.model import Chunk
from mempal.ingest.read import CHUNK_LIMIT, read_chunks
from mempal.ingest.text import read_text

PROSE = "# Größe\n\nDer Druck beträgt 4 bar – 決定 🦊.\n\n" * 40


def check(path: str, data: bytes) -> tuple[Chunk, ...]:
    """Read a file and hold its pieces to its bytes; return them."""
    reading = read_chunks(path, data)
    assert reading.skip is None
    text = read_text(data)
    assert "".join(chunk.content for chunk in reading.chunks) == text
    lines = text.split("\n")
    end = None
    for chunk in reading.chunks:
        span = chunk.span
        assert 0 < len(chunk.content) <= CHUNK_LIMIT
        assert chunk.content.strip("\n") in "\n".join(lines[span.line_start - 1 : span.line_end])
        if span.byte_start is not None:
            assert end in {None, span.byte_start}
            end = span.byte_end
            part = data[span.byte_start : span.byte_end]
            decoded = part.decode(reading.encoding, "replace").replace("\r\n", "\n")
            assert decoded.replace("\r", "\n") == chunk.content.replace("\r", "\n")
    assert end in {None, len(data)}
    return reading.chunks


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_bytes_and_lines_are_those_of_the_file(mark, encoding, line_end):
    data = mark + PROSE.replace("\n", line_end).encode(encoding)
    chunks = check("notes.md", data)
    assert len(chunks) > 2
    assert chunks[0].span.byte_start == len(mark)
    assert chunks[-1].span.byte_end == len(data)
    assert "\r" not in "".join(chunk.content for chunk in chunks)


def test_no_mark_is_stored():
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        (chunk,) = check("a.md", "hello wörld\n".encode(encoding))
        assert chunk.content == "hello wörld\n"


@pytest.mark.parametrize(
    "text",
    [
        "no newline at the end",
        "\n\n\nstarts late\n\n\n",
        "x" * 5000,
        "決定" * 3000,
        "\ttabs\x0cand\x0bfeeds\x85and\u2028separators\n" * 60,
        "a\r\nb\nc\rd\r\n" * 200,
        "👨‍👩‍👧‍👦" * 900,
        "e\u0301" * 2000,
    ],
)
def test_every_kind_of_text_can_be_rebuilt(text):
    for path in ("a.md", "a.py", "a", "a.json"):
        check(path, text.encode())


def test_stray_bytes_are_shown_counted_and_located():
    data = b"# caf\xe9\nvalue = 1\n" + b"more = 2\n" * 400
    reading = read_chunks("bad.py", data)
    assert reading.chunks[0].content.startswith("# caf")
    assert reading.chunks[-1].span.byte_end == len(data)
    assert "bad.py" in (reading.warning or "")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n\t\r\n", "blank"),
        (codecs.BOM_UTF8, "blank"),
        (b"\x00\x01\x02\x03" * 50, "binary"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "binary (PNG image)"),
    ],
)
def test_what_holds_no_text_has_a_reason(data, reason):
    reading = read_chunks("a.txt", data)
    assert (reading.skip, reading.chunks, reading.warning) == (reason, (), None)


def test_names_defined_are_found_with_their_piece():
    source = "".join(f"def verb_{n}():\n" + f"    call({n})\n" * 20 + "\n\n" for n in range(20))
    chunks = check("verbs.py", source.encode())
    for n in (0, 7, 19):
        (holder,) = [chunk for chunk in chunks if f"def verb_{n}()" in chunk.content]
        assert f"verb_{n}" in holder.symbols.split()


def test_what_is_no_text_reads_as_nothing():
    assert read_text(b"\x00\x01\x02\x03" * 50) is None
    assert read_text(b"") == ""
    assert read_text(b"a\r\nb\rc\n") == "a\nb\rc\n"
    assert read_text(b"a\rb\r") == "a\nb\n"


def test_a_heading_with_a_stray_byte_names_it_like_the_text_does():
    damaged = "# 決定".encode() + b"\xe5" + ("採用\n\n" + "決定採用" * 10 + "\n").encode()
    (chunk,) = read_chunks("a.md", damaged).chunks
    assert "\ufffd" in chunk.symbols
    assert chunk.symbols.encode()
