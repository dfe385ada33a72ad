"""Instants: stored as whole milliseconds since the Unix epoch in UTC, printed as ISO 8601.

Times are compared as integers, never as text. A date without a time means the whole day.
"""

import time
from datetime import UTC, date, datetime, timedelta
from datetime import time as day_time

from mempal.core.errors import UsageError


def now() -> int:
    """Return the present instant in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def format_instant(instant: int | None) -> str | None:
    """Render an instant as ISO 8601 in UTC (``2026-05-01T12:00:00.000Z``).

    ``None`` stays ``None``.
    """
    if instant is None:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=instant)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_instant(text: str, *, end_of_day: bool = False) -> int:
    """Read an ISO 8601 date or date-time as an instant.

    Args:
        text: ``2026-05-01`` or ``2026-05-01T12:00:00+02:00``; without a zone, UTC is meant.
        end_of_day: Whether a bare date stands for its last millisecond instead of its first.

    Raises:
        UsageError: The text is not a date.
    """
    stripped = text.strip()
    try:
        day = _read_day(stripped)
        if day is None:
            moment = datetime.fromisoformat(stripped)
        else:
            moment = datetime.combine(day, day_time.min, UTC)
            if end_of_day:
                moment += timedelta(days=1) - timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"not a date or time: {text!r}", hint="write 2026-05-01 or 2026-05-01T12:00:00Z"
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _read_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
