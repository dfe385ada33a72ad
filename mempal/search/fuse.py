"""How the word list and the meaning list become one ranking and one comparable score.

Order. Both lists add candidates. Within one query, ``(1 - a) * bm25 / max(bm25) + a *
minmax(cosine)`` orders them; in our measurements this convex combination beat rank fusion and
either list alone.

Strength. That order says nothing across queries, since its best is always near 1. So each candidate
also gets an absolute strength: by word, the share of what was asked for that it holds, each part
weighted by its rarity; by meaning, its cosine on a scale between what unrelated texts and equal
texts reach. The two combine as independent evidence. When even the strongest candidate stays below
the floor, nothing is known and nothing is returned. The strongest one's strength is the best score,
and the others are scaled by the order. Scores lie in [0, 1].
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mempal.core.model import Matcher

# Weight of meaning beside words; benchmark in docs/explanation/measurements.md.
MEANING_WEIGHT = 0.35
# Cosines of the default embedder: of some hundred unrelated texts the best stays below the first in
# 99 % of measured questions about other matters; restatements come near the second.
COSINE_UNRELATED = 0.5
COSINE_EQUAL = 0.9
# Strength that the best candidate must reach. Of questions about other matters 99 % stay below it;
# of questions whose answer is there 99 % reach it.
FLOOR = 0.3
# A candidate may be this much weaker than the floor when another one passes it, and also when only
# one of the two lists can speak.
_LENIENCE = 0.5


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


def rarity(total: int, holding: int) -> float:
    """Return the weight of a term that ``holding`` of ``total`` drawers hold; always positive.

    This is the inverse document frequency of Robertson and Sparck Jones in the form that Lucene
    uses.
    """
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def fuse(
    words: Mapping[int, float],
    coverage: Mapping[int, float],
    cosines: Mapping[int, float],
    *,
    meaning_weight: float = MEANING_WEIGHT,
    floor: float = FLOOR,
) -> list[Candidate]:
    """Combine the two lists, best first, ties by key.

    Args:
        words: BM25 score of each drawer that holds a word of the query.
        coverage: Share in [0, 1] of what was asked for that a drawer holds, weighted by rarity.
        cosines: Cosine to the query of each candidate whose vector is known.
        meaning_weight: Share of meaning in the order, in [0, 1].
        floor: Strength that the best candidate must reach.
    """
    parts = {
        key: (min(1.0, coverage.get(key, 0.0)), _scale_cosine(cosines.get(key)))
        for key in {*words, *cosines}
    }
    strengths = {key: 1 - (1 - word) * (1 - meaning) for key, (word, meaning) in parts.items()}
    confidence = max(strengths.values(), default=0.0)
    if confidence <= 0.0 or confidence < floor * (1.0 if words and cosines else _LENIENCE):
        return []
    keys = [
        key for key, strength in strengths.items() if strength > 0 and strength >= floor * _LENIENCE
    ]
    order = _order(keys, words, cosines, meaning_weight)
    best = max(order.values())
    ranked = sorted(keys, key=lambda key: (-order[key], key))
    return [
        Candidate(key, confidence * (order[key] / best if best else 1.0), _vouchers(parts[key]))
        for key in ranked
    ]


def _scale_cosine(cosine: float | None) -> float:
    if cosine is None:
        return 0.0
    return min(1.0, max(0.0, (cosine - COSINE_UNRELATED) / (COSINE_EQUAL - COSINE_UNRELATED)))


def _order(
    keys: list[int], words: Mapping[int, float], cosines: Mapping[int, float], weight: float
) -> dict[int, float]:
    top = max((words.get(key, 0.0) for key in keys), default=0.0)
    known = [cosines[key] for key in keys if key in cosines]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    if top == 0.0:  # by meaning alone, the cosine itself is the order
        return {key: max(0.0, cosines.get(key, 0.0)) for key in keys}
    if not known:
        weight = 0.0

    def place(key: int) -> float:
        by_word = words.get(key, 0.0) / top
        by_meaning = float(key in cosines)
        if by_meaning and high > low:
            by_meaning = (cosines[key] - low) / (high - low)
        return (1 - weight) * by_word + weight * by_meaning

    return {key: place(key) for key in keys}


def _vouchers(strength: tuple[float, float]) -> tuple[Matcher, ...]:
    pairs = zip((Matcher.KEYWORD, Matcher.VECTOR), strength, strict=True)
    return tuple(matcher for matcher, value in pairs if value > 0)
