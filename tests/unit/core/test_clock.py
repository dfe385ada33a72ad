"""Instants, as they are read and printed."""

import time
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.core.clock import format_instant, now, parse_instant
from mempal.core.errors import UsageError

DAY = 24 * 60 * 60 * 1000


def test_now_is_in_milliseconds_since_the_epoch():
    before = time.time_ns() // 1_000_000
    assert before <= now() <= time.time_ns() // 1_000_000


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_777_636_800_000, "2026-05-01T12:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (None, None),
    ],
)
def test_instants_are_printed_in_utc(instant, text):
    assert format_instant(instant) == text


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-05-01", 1_777_593_600_000),
        (" 2026-05-01\n", 1_777_593_600_000),
        ("2026-05-01T12:00:00Z", 1_777_636_800_000),
        ("2026-05-01T12:00:00", 1_777_636_800_000),
        ("2026-05-01 12:00", 1_777_636_800_000),
        ("2026-05-01T14:00:00+02:00", 1_777_636_800_000),
        ("2026-05-01T12:00:00.0015Z", 1_777_636_800_001),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0001-01-01", -62_135_596_800_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ],
)
def test_dates_and_times_are_read_in_utc_unless_they_say_otherwise(text, instant):
    assert parse_instant(text) == instant


def test_a_date_stands_for_its_whole_day():
    first = parse_instant("2026-05-01")
    last = parse_instant("2026-05-01", end_of_day=True)
    assert last == first + DAY - 1
    assert format_instant(last) == "2026-05-01T23:59:59.999Z"
    # A time stands for itself.
    noon = "2026-05-01T12:00:00Z"
    assert parse_instant(noon, end_of_day=True) == parse_instant(noon)


def test_the_last_day_there_is_has_an_end():
    assert (
        format_instant(parse_instant("9999-12-31", end_of_day=True)) == "9999-12-31T23:59:59.999Z"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2026-13-01",
        "2026-02-30",
        "01.05.2026",
        "2026-05-01T25:00",
        "2026-05-01T12:00:00+99:00",
        "\u0662\u0660\u0662\u0666-05-01",
        "2026-05-01\0",
        "NaN",
        "\ud800",
    ],
)
@pytest.mark.parametrize("end_of_day", [False, True])
def test_what_is_no_date_is_refused(text, end_of_day):
    with pytest.raises(UsageError, match="not a date or time") as caught:
        parse_instant(text, end_of_day=end_of_day)
    assert "2026-05-01" in caught.value.hint


@given(st.datetimes(timezones=st.just(UTC)))
def test_what_is_printed_is_read_back(moment):
    instant = parse_instant(moment.isoformat())
    printed = format_instant(instant)
    assert parse_instant(printed) == instant
    assert abs((datetime.fromisoformat(printed) - moment).total_seconds()) < 0.001


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999), st.integers(0, DAY))
def test_printed_instants_sort_as_they_lie_in_time(instant, elapsed):
    later = min(instant + elapsed, 253_402_300_799_999)
    assert format_instant(instant) <= format_instant(later)


@given(st.text(max_size=30))
def test_any_text_is_a_date_or_refused(text):
    with suppress(UsageError):
        assert isinstance(parse_instant(text), int)


@pytest.mark.parametrize("text", ["20260501", "2026-W18-5", " 2026-05-01 "])
def test_every_way_to_write_a_date_means_the_whole_day(text):
    assert parse_instant(text) == parse_instant("2026-05-01")
    assert parse_instant(text, end_of_day=True) == parse_instant("2026-05-01", end_of_day=True)
