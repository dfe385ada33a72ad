"""Lines of JSON are read one by one, and a broken one costs nothing but itself."""

from hashlib import sha256
from io import BytesIO

import pytest

from mempal.ingest.transcripts.records import (
    Problem,
    Problems,
    Record,
    clean_text,
    read_instant,
    read_records,
    read_texts,
)


def read(data, **options):
    return list(read_records(BytesIO(data), **options))


def values(data):
    return [item.value for item in read(data) if not isinstance(item, Problem)]


def problems(data):
    return [str(item) for item in read(data) if isinstance(item, Problem)]


def test_a_record_knows_its_place():
    data = b'\n{"a": 1}\r\n  \n{"b": "\xe2\x80\xa8"}'

    first, second = read(data)

    assert (first.line, first.line_start, first.line_end) == (2, 1, 11)
    assert data[first.byte_start : first.byte_end] == b'{"a": 1}\r'
    assert first.digest == sha256(b'{"a": 1}\r').hexdigest()
    assert (first.complete, second.complete) == (True, False)
    assert (second.line, second.value) == (4, {"b": "\u2028"})


def test_reading_goes_on_from_an_offset():
    data = b'{"a":1}\n{"b":2}\n'

    (item,) = read(data, offset=8, line=2)

    assert (item.value, item.line, item.line_start) == ({"b": 2}, 2, 8)


@pytest.mark.parametrize("data", [b"", b"\n", b" \t\r\n\v\f\n", b"\0\0\0\n\0", b"\xef\xbb\xbf"])
def test_blank_lines_are_passed_over(data):
    assert read(data) == []


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'\xef\xbb\xbf{"a":1}\n', {"a": 1}),
        (b'\0\0{"a":1}\0\n', {"a": 1}),
        (b'{"a":NaN}', None),
        (b'{"a":"raw\ttab\x01"}\n', {"a": "raw\ttab\x01"}),
        (b'{"a":"\\ud83d"}\n', {"a": "\ud83d"}),
        (b'{"a":123456789012345678901234567890}\n', {"a": 1.2345678901234568e29}),
        (b'{"a":\xff}\n', None),
    ],
)
def test_lenient_reading(data, value):
    found = values(data)

    if value is None:
        assert len(found) == (b"NaN" in data)
    else:
        assert found == [value]
        assert problems(data) == []


def test_a_byte_order_mark_is_no_part_of_the_record():
    (item,) = read(b'\xef\xbb\xbf{"a":1}\n')

    assert (item.byte_start, item.data) == (3, b'{"a":1}')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not valid JSON"),
        (b"2026-03-01 12:00 started", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"null", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b'17 "x"', "not a JSON object"),
        (b'{"a":{"b":1},"c":', "not valid JSON"),
    ],
)
def test_a_bad_line_is_named(line, reason):
    assert problems(b'{"a":1}\n' + line + b'\n{"b":2}\n') == [f"line 2: {reason}"]
    assert values(b'{"a":1}\n' + line + b'\n{"b":2}\n') == [{"a": 1}, {"b": 2}]


def test_a_stray_byte_costs_no_message():
    assert values(b'{"a":"x\xffy"}\n') == [{"a": "x\ufffdy"}]
    assert problems(b'{"a":"x\xffy"}\n') == ["line 1: not valid UTF-8, bad bytes are replaced"]
    assert problems('{"a":"\ufffd"}\n'.encode()) == []


@pytest.mark.parametrize(
    ("line", "found", "reason"),
    [
        ('{"t":"x","num{"a":1}', [{"a": 1}], "its beginning was cut off and is lost"),
        ('{"t":{"u":[{"v":1}],"w{"a":{"b":2}}', [{"a": {"b": 2}}], "its beginning was cut"),
        ('{"t":"text cut he{"a":1}', [{"a": 1}], "its beginning was cut off and is lost"),
        ('{"t":{"a":{"b":2}}', [{"a": {"b": 2}}], "its beginning was cut off and is lost"),
        ('{"t":1,"u":t{"a":1}{"b":2}', [{"a": 1}, {"b": 2}], "its beginning was cut off"),
        ('{"a":1}{"b":2}', [{"a": 1}, {"b": 2}], None),
        ('{"a":1} {"b"', [{"a": 1}], "its end is not valid JSON"),
        ('{"a":1}{"b{"c":2}', [{"a": 1}, {"c": 2}], "a part of it was cut off and is lost"),
    ],
)
def test_records_that_ran_into_each_other_are_told_apart(line, found, reason):
    data = f"\u4f60\n{line}\n".encode()

    items = read(data)[1:]

    assert [item.value for item in items if not isinstance(item, Problem)] == found
    reasons = [item.reason for item in items if isinstance(item, Problem)]
    assert [text.startswith(reason or "-") for text in reasons] == [True] * bool(reason)
    for item in items:
        if not isinstance(item, Problem):
            assert data[item.byte_start : item.byte_end] == item.data
            assert item.data.startswith(b"{")


@pytest.mark.parametrize("line", [b'{"a":', b"\xff", b'{"a":"\xe4\xbd'])
def test_a_last_line_without_its_end_is_torn(line):
    last = read(b'{"a":1}\n' + line)[-1]

    assert last.torn
    assert str(last) == "line 2: cut off at the end of the file"
    assert last.line_start == 8


class Growing(BytesIO):
    """A file that another process adds to whenever its end was met."""

    def __init__(self, data, *more):
        super().__init__(data)
        self.more = list(more)

    def readline(self, size=-1):
        line = super().readline(size)
        if not line.endswith(b"\n") and self.more:
            here = self.tell()
            self.write(self.more.pop(0))
            self.seek(here)
        return line


@pytest.mark.parametrize("rest", [b'2}\n{"c": 3}\n', b"\n"])
def test_what_a_writer_adds_meanwhile_is_no_other_line(rest):
    first, second = b'{"a": 1}\n', b'{"b": 2}' if rest == b"\n" else b'{"b": '
    *_, last = list(read_records(Growing(first + second, rest)))
    assert (last.line, last.line_start, last.line_end) == (2, 9, 9 + len(second))
    assert not last.complete if isinstance(last, Record) else last.torn


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_a_line_beyond_the_limit_is_left_out(ending):
    data = b'{"a":1}\n{"b":"' + b"x" * 3_000_000 + b'"}' + ending

    first, second, *rest = read(data, longest=1 << 20)
    assert first.value == {"a": 1}
    assert str(second) == "line 2: longer than 1 MiB, left out"
    assert (second.torn, second.line_end) == (not ending, len(data))
    assert rest == []
    assert read(b'{"b":2}\n', longest=7)[0].value == {"b": 2}
    assert isinstance(read(b'{"b":2}\n', longest=6)[0], Problem)


def test_many_problems_are_counted():
    told = Problems()
    for number in range(103):
        told.add(f"line {number}: x")

    assert len(told.tell()) == 101
    assert told.tell()[-1] == "3 more lines like these"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("\ud83d\ude80", "\U0001f680"),
        ("x\ud83dy\ude80z", "x\ufffdy\ufffdz"),
        ("\ud83d", "\ufffd"),
        ("caf\u00e9\u2028", "caf\u00e9\u2028"),
    ],
)
def test_text_is_cleaned(text, clean):
    assert clean_text(text) == clean


def test_texts_of_blocks():
    blocks = ["a", {"type": "text", "text": "b"}, {"type": [], "text": "c"}, {"type": "text"}, 3]

    assert read_texts(blocks, frozenset({"text"})) == ["a", "b", ""]
    assert read_texts("x", frozenset()) == ["x"]
    assert read_texts(None, frozenset()) == []


@pytest.mark.parametrize(
    ("stamp", "instant"),
    [
        ("2026-03-01T09:01:00.250Z", 1772355660250),
        (1772355660, 1772355660000),
        (1772355660.5, 1772355660500),
        (1772355660250, 1772355660250),
        ("soon", None),
        ("", None),
        (None, None),
        (True, None),
        (0, None),
        (-5, None),
        (float("nan"), None),
        (float("inf"), None),
        (10**400, None),
        ({}, None),
    ],
)
def test_time_stamps(stamp, instant):
    assert read_instant(stamp) == instant
