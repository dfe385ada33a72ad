"""Answering a question: two lists, one order, cited results.

Whatever part cannot answer is left out and named in ``degraded``; words answer without vectors and
the other way round.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from mempal.core import vector as vectors
from mempal.core.errors import BusyError, EmbedderError, PalaceError, UsageError
from mempal.core.model import Drawer, Hit, Matcher, Neighbor, Scope, SearchResult, Term
from mempal.core.ports import Store
from mempal.search.cite import Citer
from mempal.search.fuse import FLOOR, Candidate, fuse, rarity
from mempal.search.query import Query, Unit, analyze_query

MODES = ("hybrid", "keyword", "vector")
_POOL = 100
# FTS5 scores every drawer that holds any term, so the most telling terms of a long query must do.
_MOST_TERMS = 48
# A unit that more than this share of a palace of at least this size holds is left out.
_COMMON_SHARE = 0.25
_LARGE = 1000
# A wing with this share of all drawers is weighed as the whole; elsewhere, terms that more drawers
# hold than these are not counted one by one.
_MAIN_SHARE = 0.5
_COUNTED = 20_000
# How often the pool is widened when most of what is near was not there at the time asked about.
_WIDENINGS = 6


class Meaning(Protocol):
    """The part of a palace that answers by meaning."""

    def embed(self, text: str) -> bytes:
        """Return the packed vector of a question."""
        ...

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        """Return the drawers most similar to a vector."""
        ...

    def notices(self) -> list[str]:
        """Return why answers by meaning may be incomplete."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: a query, where to look, how many results, and how many neighbours of each."""

    query: str
    scope: Scope = field(default_factory=Scope)
    limit: int = 10
    mode: str = "hybrid"
    context: int = 0
    floor: float = FLOOR


@dataclass(slots=True)
class _Lists:
    words: dict[int, float] = field(default_factory=dict)
    coverage: dict[int, float] = field(default_factory=dict)
    cosines: dict[int, float] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)


def search(
    store: Store, open_meaning: Callable[[], Meaning], citer: Citer, request: Request
) -> SearchResult:
    """Answer a request.

    Args:
        store: Record of truth.
        open_meaning: Opens what answers by meaning; called only when the mode needs it.
        citer: Judges citations.
        request: What is asked.

    Raises:
        UsageError: The mode is unknown, or the limit is not positive.
    """
    if request.mode not in MODES:
        raise UsageError(f"unknown mode {request.mode!r}", hint=f"modes: {', '.join(MODES)}")
    if request.limit < 1:
        raise UsageError(f"cannot return {request.limit} results", hint="ask for at least one")
    query = analyze_query(request.query)
    if not query.units:
        return SearchResult(
            request.query, request.mode, (), hint="the query holds no word to search for"
        )
    frequencies = _Frequencies(store, request.scope.wing)
    units = _choose_units(frequencies, query.units)
    lists = _Lists()
    pool = max(_POOL, 3 * request.limit)
    terms = tuple(dict.fromkeys(term for unit, _ in units for term in unit.terms))
    if request.mode != "vector":
        found = store.match_words(terms, request.scope, pool)
        lists.words = {match.key: match.score for match in found}
    if request.mode != "keyword":
        _ask_meaning(store, open_meaning, query, request, pool, lists)
    if request.mode != "vector":
        _measure_coverage(store, units, lists)
        # What stands before a question is not asked for: a drawer need not hold it.
        _measure_coverage(store, _choose_units(frequencies, query.question), lists)
    candidates = fuse(lists.words, lists.coverage, lists.cosines, floor=request.floor)
    hits = _fetch(store, citer, candidates[: request.limit], request)
    return SearchResult(request.query, request.mode, hits, terms, tuple(lists.degraded))


class _Frequencies:
    """How common terms are where the question is asked: a word's weight is that of its wing."""

    def __init__(self, store: Store, wing: str | None) -> None:
        self._store = store
        self.total = store.count_drawers()
        within = self.total if wing is None else store.count_drawers(wing)
        # A wing that is most of the palace has its frequencies, at less cost.
        self._wing = wing if within < self.total * _MAIN_SHARE else None
        self._share = within / self.total if self._wing and self.total else 1.0
        self.total = within if self._wing else self.total

    def count(self, term: Term) -> int:
        """Return how many drawers hold a term; estimated for one that very many hold."""
        everywhere = self._store.document_frequency(term)
        if self._wing is None or everywhere == 0:
            return everywhere
        if everywhere > _COUNTED:
            return round(everywhere * self._share)
        return self._store.document_frequency(term, self._wing)


def _choose_units(frequencies: _Frequencies, units: Sequence[Unit]) -> list[tuple[Unit, float]]:
    """Return the units worth asking for, each with its rarity.

    What stands in a large share of a large wing tells nothing and costs most; of a long query, the
    rarest things that are known must do.
    """
    total = frequencies.total
    counted = [pair for unit in units for pair in _count_holders(frequencies, unit)]
    telling = [pair for pair in counted if total < _LARGE or pair[1] <= total * _COMMON_SHARE]
    chosen = telling if any(count for _, count in telling) else counted
    if sum(len(unit.terms) for unit, _ in chosen) > _MOST_TERMS:
        chosen = _take_rarest([pair for pair in chosen if pair[1]])
    return [(unit, rarity(total, frequency)) for unit, frequency in chosen]


def _count_holders(frequencies: _Frequencies, unit: Unit) -> list[tuple[Unit, int]]:
    """Return a unit with the frequency of the most exact way to ask for it that is known.

    Of one that is unknown, each part is a unit of its own: a drawer that holds one of four was
    asked for by a quarter.
    """
    for term in unit.terms:
        frequency = frequencies.count(term)
        if frequency:
            return [(unit, frequency)]
    return [(Unit((part,)), frequencies.count(part)) for part in unit.parts] or [(unit, 0)]


def _take_rarest(counted: list[tuple[Unit, int]]) -> list[tuple[Unit, int]]:
    room = _MOST_TERMS
    chosen = []
    for unit, frequency in sorted(counted, key=lambda pair: pair[1]):
        room -= len(unit.terms)
        if room < 0:
            break
        chosen.append((unit, frequency))
    return chosen


def _measure_coverage(store: Store, units: Sequence[tuple[Unit, float]], lists: _Lists) -> None:
    """Weigh, for each candidate, the units it holds against all that were asked for.

    A candidate that was weighed before keeps the better share.
    """
    attainable = sum(weight for _, weight in units)
    keys = sorted({*lists.words, *lists.cosines})
    shares: dict[int, float] = {}
    for unit, weight in units:
        holders = {key for term in unit.terms for key in store.holding(term, keys)}
        for key in holders:
            shares[key] = shares.get(key, 0.0) + weight / attainable
    for key, share in shares.items():
        lists.coverage[key] = max(share, lists.coverage.get(key, 0.0))


def _ask_meaning(
    store: Store,
    open_meaning: Callable[[], Meaning],
    query: Query,
    request: Request,
    pool: int,
    lists: _Lists,
) -> None:
    try:
        meaning = open_meaning()
        question = meaning.embed(query.text)
        near = _find_near(store, meaning, question, pool, request.scope)
        lists.degraded.extend(meaning.notices())
    except (BusyError, EmbedderError, PalaceError) as error:
        left = "words only" if request.mode == "hybrid" else "nothing"
        lists.degraded.append(f"answered by {left}: {error.message} ({error.hint})")
        return
    lists.cosines = {neighbor.key: neighbor.similarity for neighbor in near}
    unseen = [key for key in lists.words if key not in lists.cosines]
    for key, stored in store.vectors(unseen).items():
        if len(stored) == len(question):
            lists.cosines[key] = vectors.similarity(question, stored)


def _find_near(
    store: Store, meaning: Meaning, question: bytes, pool: int, scope: Scope
) -> list[Neighbor]:
    """Return the nearest drawers that the scope admits.

    An index knows wings and rooms but not times, so what it finds is widened until enough of it was
    current at the time asked about.
    """
    asked = pool
    for _ in range(_WIDENINGS):
        found = meaning.nearest(question, asked, scope)
        visible = store.visible((neighbor.key for neighbor in found), scope)
        if scope.as_of is None or len(visible) >= pool or len(found) < asked:
            break
        asked *= 4
    return [neighbor for neighbor in found if neighbor.key in visible][:pool]


def _fetch(
    store: Store, citer: Citer, candidates: Sequence[Candidate], request: Request
) -> tuple[Hit, ...]:
    drawers = {drawer.key: drawer for drawer in store.get([item.key for item in candidates])}
    hits = []
    for candidate in candidates:
        drawer = drawers[candidate.key]
        before, after = _fetch_neighbors(store, drawer, request.context)
        hits.append(
            Hit(
                drawer,
                candidate.score,
                candidate.matched_by or (Matcher.KEYWORD,),
                citer.cite(drawer),
                before,
                after,
            )
        )
    return tuple(_drop_echoes(hits))


def _drop_echoes(hits: list[Hit]) -> list[Hit]:
    """Leave out what is only the former place of another result, of a file that was moved."""
    places = {(hit.drawer.root, hit.drawer.source_file, hit.drawer.content) for hit in hits}
    return [
        hit
        for hit in hits
        if hit.citation.path == hit.drawer.source_file
        or (hit.drawer.root, hit.citation.path, hit.drawer.content) not in places
    ]


def _fetch_neighbors(
    store: Store, drawer: Drawer, distance: int
) -> tuple[tuple[Drawer, ...], tuple[Drawer, ...]]:
    if distance < 1:
        return (), ()
    near = store.neighbors(drawer, distance)
    before = tuple(other for other in near if other.chunk_index < drawer.chunk_index)
    after = tuple(other for other in near if other.chunk_index > drawer.chunk_index)
    return before, after


def mark_terms(content: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Return the ranges of ``content`` to highlight, sorted and without overlap."""
    lowered = content.lower()
    if len(lowered) != len(content):  # a few letters change their length; no range would fit
        return []
    marks: list[tuple[int, int]] = []
    for token in {token for term in terms for token in term.tokens}:
        start = lowered.find(token)
        while start >= 0:
            marks.append((start, start + len(token)))
            start = lowered.find(token, start + len(token))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(marks):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
