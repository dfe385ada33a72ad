"""Times of transcripts and inboxes, by the vectors of the reference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.cowork.stamp import format_stamp, parse_stamp

SOME_NIGHT = 1_776_045_600
EQUAL = [
    "2026-04-13T02:00:00Z",
    "2026-04-13T10:00:00+08:00",
    "2026-04-12T21:00:00-05:00",
    "2026-04-13T02:00:00.9Z",
    "2026-04-13T02:00:00.999Z",
    "2026-04-13T02:00:00.123456789+00:00",
    "2026-04-13T01:59:60Z",
]
WRONG = [
    "",
    "2026-04-13",
    "2026-04-13T02:00:00",
    "2026-04-13 02:00:00Z",
    "2026-04-13t02:00:00Z",
    "2026-04-13T02:00:00z",
    "2026-04-13T02:00:00ZZ",
    "2026-04-13T02:00:00Z\n",
    " 2026-04-13T02:00:00Z",
    "2026-13-13T02:00:00Z",
    "2026-00-13T02:00:00Z",
    "2026-04-00T02:00:00Z",
    "2026-04-13T25:00:00Z",
    "2026-04-13T24:00:00Z",
    "2026-04-13T02:60:00Z",
    "2026-04-13T02:00:61Z",
    "2026-04-13T02:00:00.Z",
    "2026-04-13T02:00:00,5Z",
    "2026-04-13T02:00:00+0800",
    "2026-04-13T02:00:00+24:00",
    "2026-04-13T02:00:00+08:60",
    "2026-04-13T02:00:00+08:00Z",
    "2026-04-13T02:00Z",
    "２０２６-04-13T02:00:00Z",
    "+2026-04-13T02:00:00Z",
    "2026-02-31T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-06-31T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
]


@pytest.mark.parametrize("text", EQUAL)
def test_one_instant_has_many_spellings(text):
    assert parse_stamp(text) == SOME_NIGHT


@pytest.mark.parametrize("text", WRONG)
def test_what_is_close_to_a_time_is_refused(text):
    with pytest.raises(ValueError):
        parse_stamp(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-02-29T00:00:00Z", 1_709_164_800),
        ("2000-02-29T00:00:00Z", 951_782_400),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", -1),
        ("0000-03-01T00:00:00Z", -62_162_035_200),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ],
)
def test_days_that_exist(text, seconds):
    assert parse_stamp(text) == seconds


@given(st.integers(0, 253_402_300_799))
def test_what_is_written_is_read_again(seconds):
    assert parse_stamp(format_stamp(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "1970-01-01T00:00:00Z"),
        (-(2**70), "1970-01-01T00:00:00Z"),
        (0.999, "1970-01-01T00:00:00Z"),
        (2**70, "9999-12-31T23:59:59Z"),
    ],
)
def test_what_has_no_stamp_gets_the_nearest(seconds, text):
    assert format_stamp(seconds) == text
