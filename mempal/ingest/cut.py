r"""Cut a text into pieces at its natural boundaries, losing nothing.

1. Every line that is not blank begins an *edge*, with a price for cutting there: nothing before a
   definition at the margin or a heading, more before a paragraph, most inside a fenced block
   (:mod:`mempal.ingest.edges`).
2. A stretch without edges that is too long for a piece is broken at sentences, white space or, at
   worst, between characters (:mod:`mempal.ingest.breaks`).
3. Edges that cannot matter are dropped: between two better ones that stand close together (what
   is small is never torn), and in dense runs of equal ones.
4. Among the edges that are left, those are chosen for which the sum of all prices, plus a charge
   for each piece and for short ones, is least: a shortest path, found in one pass from left to
   right, looking back over no more than one piece's length (as in M. Plass and D. Knuth, *Breaking
   Paragraphs into Lines*, 1981).

All steps take time linear in the length of the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from operator import sub

from mempal.ingest.breaks import break_stretch
from mempal.ingest.chunk import WHITE_SPACE
from mempal.ingest.edges import FENCED, Edges, find_edges
from mempal.ingest.languages import Nesting, find_family
from mempal.ingest.symbols import find_symbols

_SMALLEST_LIMIT = 2
# A stretch of a limit's half between two edges is not torn at worse ones.
_WHOLE = 2
# Of edges of equal price, one in a limit's thirty-second is enough.
_DENSE = 32
# What a piece costs, and what a very short one costs on top, on the scale of the prices of edges.
_PIECE = 0.5
_SHORT = 6.0
_SHORT_SHARE = 0.5
_BORDER = -1.0  # price of the two ends of a text: better than every edge


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text.

    Attributes:
        start: Offset of its first character.
        end: Offset behind its last character.
        symbols: Names it defines, after those of the definitions or headings it lies in, outermost
            first; blank-separated.
    """

    start: int
    end: int
    symbols: str


def cut_text(text: str, path: str, limit: int = 800) -> list[Piece]:
    r"""Cut a text into contiguous pieces that cover it completely.

    A line is in two pieces only when it is too long for one, together with white space beside it
    that fits nowhere else. Blank lines belong to the piece before them as far as they fit, then to
    the piece after them. A piece is blank only where white space is too long for both, which takes
    a run of at least half the limit. ``\r\n`` is never torn.

    Args:
        text: Any text; lines end at ``\n``.
        path: Path or name of its file, which tells the language.
        limit: Largest length of a piece, in characters (code points).

    Returns:
        The pieces in order; none when the text is blank.

    Raises:
        ValueError: The limit is below 2.
    """
    if limit < _SMALLEST_LIMIT:
        raise ValueError(f"a limit of {limit} characters is too small")
    if not text.strip(WHITE_SPACE):
        return []
    family = find_family(path, text)
    edges, outline = find_edges(text, family)
    edges = _break_long(text, edges, limit, prose=family.nesting is Nesting.LEVEL)
    edges = _drop_torn(_drop_dense(edges, limit // _DENSE), limit // _WHOLE)
    cuts = _choose(edges, limit)
    spans = list(pairwise(cuts))
    symbols = find_symbols(outline.definitions, spans)
    return [Piece(*span, names) for span, names in zip(spans, symbols, strict=True)]


def line_numbers(text: str, pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    r"""Return the first and last line of each piece, counted from 1; lines end at ``\n``.

    Args:
        text: The text that was cut.
        pieces: Parts of it in order, none empty.
    """
    numbers = []
    line, counted = 1, 0
    for piece in pieces:
        first = line + text.count("\n", counted, piece.start)
        last = first + text.count("\n", piece.start, piece.end - 1)
        numbers.append((first, last))
        line, counted = last, piece.end - 1
    return numbers


def _break_long(text: str, edges: Edges, limit: int, *, prose: bool) -> Edges:
    """Return edges, from 0 to the end of the text, no two neighbours further apart than a limit."""
    end = len(text)
    offsets = [*edges.offsets, end]
    prices = [_BORDER, *edges.prices[1:], _BORDER]
    if max(map(sub, offsets[1:], offsets)) <= limit:
        return Edges(offsets, prices)
    result = Edges()
    here = 0
    for offset, price in zip(offsets, prices, strict=True):
        if offset - here > limit:
            for cut, cost in break_stretch(text, here, offset, limit, prose=prose):
                result.add(cut, cost)
                here = cut
            if offset < end and not text[here:offset].strip(WHITE_SPACE):
                continue  # white space that did not fit goes with what follows
        result.add(offset, price)
        here = offset
    return result


def _drop_dense(edges: Edges, spacing: int) -> Edges:
    """Drop edges that neither neighbour is worse than, where these are close together."""
    offsets, prices = edges.offsets, edges.prices
    result = Edges([0], [_BORDER])
    last, last_price = 0, _BORDER
    before = _BORDER
    for offset, price, after, behind in zip(
        offsets[1:], prices[1:], offsets[2:], prices[2:], strict=False
    ):
        at_fence = price < FENCED <= max(before, behind)
        if after - last > spacing or price < min(last_price, behind) or at_fence:
            result.add(offset, price)
            last, last_price = offset, price
        before = price
    result.add(offsets[-1], _BORDER)
    return result


def _drop_torn(edges: Edges, reach: int) -> Edges:
    """Drop each edge whose nearest better edges on both sides are at most ``reach`` apart."""
    offsets, prices = edges.offsets, edges.prices
    kept = [True] * len(offsets)
    better: list[int] = []  # for each edge of the stack: the nearest better one before it
    stack: list[int] = []  # edges without a better one after them yet; prices never fall
    for number, price in enumerate(prices):
        while stack and prices[stack[-1]] > price:
            torn, before = stack.pop(), better.pop()
            kept[torn] = offsets[number] - offsets[before] > reach
        same = stack and prices[stack[-1]] == price
        better.append(better[-1] if same else stack[-1] if stack else 0)
        stack.append(number)
    rows = [row for row, keep in zip(zip(offsets, prices, strict=True), kept, strict=True) if keep]
    return Edges([offset for offset, _ in rows], [price for _, price in rows])


@lru_cache(maxsize=8)
def _charge_lengths(limit: int) -> tuple[float, ...]:
    """Return what a piece of each length from 0 to ``limit`` costs."""
    full = limit * _SHORT_SHARE
    return tuple(_PIECE + _SHORT * max(0.0, 1 - length / full) ** 2 for length in range(limit + 1))


def _choose(edges: Edges, limit: int) -> list[int]:
    """Return the offsets of the cheapest way from the first edge to the last."""
    offsets, prices = edges.offsets, edges.prices
    charges = _charge_lengths(limit)
    totals = [0.0]
    origins = [0]
    low = 0
    for number in range(1, len(offsets)):
        here = offsets[number]
        while here - offsets[low] > limit:
            low += 1
        best, origin = totals[low] + charges[here - offsets[low]], low
        for candidate in range(low + 1, number):
            total = totals[candidate] + charges[here - offsets[candidate]]
            if total <= best:  # of equal ways the one with the fuller pieces first
                best, origin = total, candidate
        totals.append(best + prices[number])
        origins.append(origin)
    path = [len(offsets) - 1]
    while path[-1]:
        path.append(origins[path[-1]])
    return [offsets[number] for number in reversed(path)]
