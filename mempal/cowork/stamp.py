"""Times as the lines of inboxes and of the tools' transcripts have them: whole seconds in UTC.

One form is read, the one that both tools write; a fraction of a second is dropped. What is close to
it is refused rather than guessed at.
"""

import re
import time
from datetime import date

_FORM = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH = date(1970, 1, 1).toordinal()
_LAST = 253_402_300_799  # 9999-12-31T23:59:59Z
_HIGHEST_HOUR, _HIGHEST_MINUTE, _LEAP_SECOND = 23, 59, 60
# The calendar repeats itself after 400 years, which are these days.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_SOME_CYCLE = 5


def parse_stamp(text: str) -> int:
    """Return the seconds since the epoch of ``2026-04-13T10:00:00[.5]+08:00`` or ``…Z``.

    Raises:
        ValueError: It has another form, or there is no such day or time.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time: {text!r}")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    sign, east_hours, east_minutes = match[7], int(match[8] or 0), int(match[9] or 0)
    if max(hour, east_hours) > _HIGHEST_HOUR or max(minute, east_minutes) > _HIGHEST_MINUTE:
        raise ValueError(f"no such time of day: {text!r}")
    if second > _LEAP_SECOND:
        raise ValueError(f"no such time of day: {text!r}")
    seconds = ((_count_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    east = (east_hours * 60 + east_minutes) * 60
    return seconds + east if sign == "-" else seconds - east


def format_stamp(seconds: float) -> str:
    """Return a time as ``2026-04-13T02:00:00Z``, without its fraction.

    What lies before 1970 or after 9999 becomes the first or the last second of them.
    """
    moment = time.gmtime(min(max(0, int(seconds)), _LAST))
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)


def _count_days(year: int, month: int, day: int) -> int:
    """Return the days since the epoch, of the year 0 too, which ``date`` does not know."""
    cycle, year_of_cycle = divmod(year, _CYCLE_YEARS)
    known = date(_SOME_CYCLE * _CYCLE_YEARS + year_of_cycle, month, day)
    return known.toordinal() - _EPOCH + (cycle - _SOME_CYCLE) * _CYCLE_DAYS
