"""How the word list and the meaning list become one ranking and one comparable score.

Order. Both lists add candidates. Within one query, ``(1 - a) * bm25 / max(bm25) + a *
minmax(cosine)`` orders them; in our measurements this convex combination beat rank fusion and
either list alone.

Strength. That order says nothing across queries, since its best is always near 1. So each candidate
also gets an absolute strength: by word, its BM25 score over the sum of the inverse document
frequencies of all that was asked for (1 when a drawer of average length holds every word once); by
meaning, its cosine on a scale between what unrelated and what equal texts reach. The two combine as
independent evidence. Candidates below the floor are dropped; the best one's strength is its score,
and the others are scaled by the order. Scores lie in [0, 1].
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mempal.core.model import Matcher

# Weight of meaning beside words; benchmark in docs/explanation/measurements.md.
MEANING_WEIGHT = 0.35
# Cosines of the default embedder: unrelated texts stay below the first, restatements reach the
# second.
COSINE_UNRELATED = 0.35
COSINE_EQUAL = 0.85
FLOOR = 0.12


@dataclass(frozen=True, slots=True)
class Candidate:
    """A drawer with its place in the fused order.

    Attributes:
        score: Strength in [0, 1], comparable between queries.
        matched_by: The lists that vouch for it.
    """

    key: int
    score: float
    matched_by: tuple[Matcher, ...]


def inverse_frequency(total: int, holding: int) -> float:
    """Return the weight FTS5's BM25 gives a term that ``holding`` of ``total`` drawers hold."""
    weight = math.log((total - holding + 0.5) / (holding + 0.5))
    return max(weight, 1e-6)


def fuse(
    words: Mapping[int, float],
    attainable: float,
    cosines: Mapping[int, float],
    *,
    meaning_weight: float = MEANING_WEIGHT,
    floor: float = FLOOR,
) -> list[Candidate]:
    """Combine the two lists, best first, ties by key.

    Args:
        words: BM25 score of each drawer that holds a word of the query.
        attainable: Sum of the inverse document frequencies of what was asked for.
        cosines: Cosine to the query of each candidate whose vector is known.
        meaning_weight: Share of meaning in the order, in [0, 1].
        floor: Strength under which a candidate is dropped.
    """
    strengths = {
        key: _strength(words.get(key, 0.0), attainable, cosines.get(key))
        for key in {*words, *cosines}
    }
    kept = {key: strength for key, strength in strengths.items() if max(strength) > 0.0}
    combined = {key: 1 - (1 - word) * (1 - meaning) for key, (word, meaning) in kept.items()}
    keys = [key for key, strength in combined.items() if strength >= floor]
    if not keys:
        return []
    order = _order(keys, words, cosines, meaning_weight)
    best = max(order.values())
    confidence = max(combined[key] for key in keys)
    ranked = sorted(keys, key=lambda key: (-order[key], key))
    return [
        Candidate(key, confidence * (order[key] / best if best else 1.0), _vouchers(kept[key]))
        for key in ranked
    ]


def _strength(word: float, attainable: float, cosine: float | None) -> tuple[float, float]:
    by_word = min(1.0, word / attainable) if attainable > 0 else 0.0
    scale = COSINE_EQUAL - COSINE_UNRELATED
    by_meaning = 0.0 if cosine is None else (cosine - COSINE_UNRELATED) / scale
    return by_word, min(1.0, max(0.0, by_meaning))


def _order(
    keys: list[int], words: Mapping[int, float], cosines: Mapping[int, float], weight: float
) -> dict[int, float]:
    top = max((words.get(key, 0.0) for key in keys), default=0.0)
    known = [cosines[key] for key in keys if key in cosines]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    if not known:
        weight = 0.0
    elif top == 0.0:
        weight = 1.0

    def place(key: int) -> float:
        by_word = words.get(key, 0.0) / top if top else 0.0
        cosine = cosines.get(key, low)
        by_meaning = (cosine - low) / (high - low) if high > low else 1.0
        return (1 - weight) * by_word + weight * by_meaning

    return {key: place(key) for key in keys}


def _vouchers(strength: tuple[float, float]) -> tuple[Matcher, ...]:
    pairs = zip((Matcher.KEYWORD, Matcher.VECTOR), strength, strict=True)
    return tuple(matcher for matcher, value in pairs if value > 0)
