"""One ranking and one comparable score out of two lists."""

import pytest

from mempal.core.model import Matcher
from mempal.search.fuse import COSINE_EQUAL, COSINE_UNRELATED, FLOOR, fuse, rarity

BOTH = (Matcher.KEYWORD, Matcher.VECTOR)


def keys(candidates) -> list[int]:
    return [candidate.key for candidate in candidates]


def test_nothing_in_nothing_out():
    assert fuse({}, {}, {}) == []
    assert fuse({}, {}, {}, floor=0.0) == []


def test_each_list_adds_candidates():
    found = fuse({1: 5.0}, {1: 1.0}, {2: COSINE_EQUAL}, floor=0.0)
    assert {candidate.key: candidate.matched_by for candidate in found} == {
        1: (Matcher.KEYWORD,),
        2: (Matcher.VECTOR,),
    }


def test_what_both_lists_vouch_for_comes_first():
    found = fuse({1: 5.0, 2: 5.0}, {1: 1.0, 2: 1.0}, {2: 0.8, 3: 0.8})
    assert found[0].key == 2
    assert found[0].matched_by == BOTH


def test_words_alone_are_ordered_by_their_score():
    found = fuse({1: 1.0, 2: 4.0, 3: 2.0}, {1: 0.5, 2: 1.0, 3: 0.7}, {})
    assert keys(found) == [2, 3, 1]
    assert [candidate.score for candidate in found] == pytest.approx([1.0, 0.5, 0.25])
    assert {candidate.matched_by for candidate in found} == {(Matcher.KEYWORD,)}


def test_meaning_alone_is_ordered_by_cosine():
    found = fuse({}, {}, {1: 0.6, 2: 0.9, 3: 0.7})
    assert keys(found)[0] == 2
    assert keys(found) == sorted(keys(found), key=lambda key: -{1: 0.6, 2: 0.9, 3: 0.7}[key])
    assert {candidate.matched_by for candidate in found} == {(Matcher.VECTOR,)}


def test_the_weight_of_meaning_decides_between_the_lists():
    lists = ({1: 2.0, 2: 1.0}, {1: 0.6, 2: 0.6}, {1: 0.6, 2: 0.9})
    assert keys(fuse(*lists, meaning_weight=0.0)) == [1, 2]
    assert keys(fuse(*lists, meaning_weight=1.0))[0] == 2


def test_ties_are_ordered_by_key():
    assert keys(fuse(dict.fromkeys((9, 3, 7), 1.0), dict.fromkeys((9, 3, 7), 1.0), {})) == [3, 7, 9]


def test_the_best_score_says_how_much_of_the_question_was_found():
    whole = fuse({1: 1.0}, {1: 1.0}, {})[0].score
    half = fuse({1: 1.0}, {1: 0.5}, {})[0].score
    assert (whole, half) == (1.0, 0.5)
    (equal,) = fuse({}, {}, {1: COSINE_EQUAL})
    assert equal.score == pytest.approx(1.0)
    # Two weak pieces of evidence are more than one.
    (both,) = fuse({1: 1.0}, {1: 0.5}, {1: (COSINE_UNRELATED + COSINE_EQUAL) / 2})
    assert both.score == pytest.approx(0.75)


def test_below_the_floor_nothing_is_known():
    assert fuse({1: 9.0}, {1: FLOOR * 0.99}, {1: 0.0}) == []
    assert keys(fuse({1: 9.0}, {1: FLOOR * 1.01}, {1: 0.0})) == [1]
    assert fuse({1: 9.0}, {1: 0.9}, {1: 0.0}, floor=0.95) == []
    assert fuse({}, {}, {1: COSINE_UNRELATED, 2: -1.0}) == []


def test_when_one_list_is_silent_the_floor_is_lower():
    weak = FLOOR * 0.6
    assert keys(fuse({1: 9.0}, {1: weak}, {})) == [1]
    assert fuse({1: 9.0}, {1: weak}, {1: 0.0}) == []


def test_far_weaker_candidates_are_left_out_beside_a_strong_one():
    found = fuse({1: 9.0, 2: 8.0}, {1: 1.0, 2: FLOOR * 0.4}, {1: 0.0})
    assert keys(found) == [1]


def test_a_rare_term_weighs_more():
    weights = [rarity(1000, holding) for holding in (0, 1, 10, 500, 1000)]
    assert weights == sorted(weights, reverse=True)
    assert all(weight > 0 for weight in weights)
    assert rarity(0, 0) > 0
