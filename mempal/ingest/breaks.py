r"""Where a stretch without edges is broken: at a line end, a sentence, white space, between words.

Whatever the text holds, a break never falls between ``\r`` and ``\n``, and inside a character that
is made of several code points only when that is longer than :data:`_LOOK_BACK` or a small limit.
"""

import re
import unicodedata
from collections.abc import Iterator

from mempal.ingest.chunk import WHITE_SPACE

# Prices, on the scale of those of edges.
LINE_END = 6.0
SENTENCE = 12.0
SPACE = 16.0
WORD = 20.0
HARD = 30.0

# Code points to look back for the beginning of a character.
_LOOK_BACK = 32
# Parts are a limit's fourth long, but not shorter than this many characters if the limit allows.
_SHARE = 4
_SMALL = 16
_JOINER = "\u200d"
_JOINERS = (_JOINER, "\u200c")
_BLANK = re.escape(WHITE_SPACE)
# Each of these matches from the start of a window to its last break.
_LINE_END = re.compile(r".*\n", re.DOTALL)
_SENTENCE = re.compile(
    rf".*(?:[.!?\u2026][\"')\]\u201d\u2019]{{0,3}}[{_BLANK}]|[\u3002\uff01\uff1f][\u300d\u300f\u201d\uff09]?)",
    re.DOTALL,
)
_SPACE = re.compile(rf".*[{_BLANK}]", re.DOTALL)
_WORD = re.compile(r".*\W", re.DOTALL)
_NOT_BLANK = re.compile(f"[^{_BLANK}]")
_CODE_BREAKS = ((_LINE_END, LINE_END), (_SPACE, SPACE), (_WORD, WORD))
_PROSE_BREAKS = ((_LINE_END, LINE_END), (_SENTENCE, SENTENCE), (_SPACE, SPACE), (_WORD, WORD))


def break_stretch(
    text: str, start: int, stop: int, limit: int, *, prose: bool
) -> Iterator[tuple[int, float]]:
    """Break ``text[start:stop]`` so that no part is longer than ``limit``.

    Parts are about a quarter of the limit, so that whoever chooses among the breaks can fill pieces
    well. Blank lines behind a line that fits a piece are broken rather than the line. What is left
    behind the last break may be blank when more text follows; else a part is blank only in a run
    of white space of at least half the limit.

    Yields:
        Offsets of breaks in order, each with its price.
    """
    size = max(limit // _SHARE, min(limit, _SMALL))
    last = start + len(text[start:stop].rstrip(WHITE_SPACE)) - 1
    ends = stop == len(text) and stop - last <= limit  # white space at the end must not stand alone
    breaks = _PROSE_BREAKS if prose else _CODE_BREAKS
    while True:
        found = _NOT_BLANK.search(text, start, min(start + limit, stop))
        first = found.start() if found else start + limit
        if stop - start <= limit and last - first <= 2 * size:
            return
        if not found:
            window = start + 1, start + limit
        elif stop - start > limit > last - start and not ends:
            window = last + 1, start + limit
        elif ends and first == last:
            cut = last + 1 if stop - last > last - start else stop - limit
            window = cut, max(cut, min(cut + 1, last))  # a choice, for the sake of \r\n
        else:
            reach = min(start + limit, first + size, last if ends else stop)
            window = max(first + 1, min(reach - 1, start + size // _SHARE)), reach
        start, price = _choose(text, start, window, breaks)
        yield start, price


def _choose(
    text: str,
    start: int,
    window: tuple[int, int],
    breaks: tuple[tuple[re.Pattern[str], float], ...],
) -> tuple[int, float]:
    """Return the best break from the first to the last offset of a window, the last of its kind."""
    floor, reach = window
    for pattern, price in breaks:
        match = pattern.match(text, floor - 1, reach)
        if match and match.end() >= floor and not is_inside(text, match.end(), start):
            return match.end(), price
    for cut in range(reach, max(floor, reach - _LOOK_BACK) - 1, -1):
        if not is_inside(text, cut, start):
            return cut, HARD
    return reach, HARD


def is_inside(text: str, offset: int, start: int = 0) -> bool:
    r"""Tell whether an offset lies inside a character of several code points, or in ``\r\n``.

    A part of UAX #29: combining marks, variation selectors, tags and skin tones go with what stands
    before them, a joiner with both sides, regional indicators and surrogates in pairs.
    """
    before, after = text[offset - 1], text[offset]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if before == _JOINER or after in _JOINERS or unicodedata.category(after)[0] == "M":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if "\udc00" <= after <= "\udfff":
        return "\ud800" <= before <= "\udbff"
    if _is_regional(after):
        first = offset
        while first > start and _is_regional(text[first - 1]):
            first -= 1
        return (offset - first) % 2 == 1
    return False


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
