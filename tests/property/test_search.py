"""Searching holds its promises for any text, any scores and any history."""

import math
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.model import Scope, Term
from mempal.core.ports import Store
from mempal.search.cite import Citer
from mempal.search.engine import MODES, Request, mark_terms, search
from mempal.search.fuse import COSINE_EQUAL, COSINE_UNRELATED, fuse, rarity
from mempal.search.meaning import IndexMeaning
from mempal.search.query import analyze_query
from mempal.testing import HashEmbedder, MemoryIndex, MemoryRepositories, MemoryStore
from tests.drawers import EMBEDDER, chunk, put, source

WORDS = st.sampled_from(
    [
        "kiwi",
        "mango",
        "the",
        "parseConfig",
        "max_retry",
        "決定",
        "採",
        "na\u00efve",
        "x" * 250,
        "\U0001f916",
    ]
)
# Text that SQL, FTS5 or a shell would take for more than text.
HOSTILE = st.sampled_from(
    ['"', '""', "*", "NEAR(", ")", "-", "+", "^", "{a b}:", "content:", "AND", "OR", "NOT", "\0",
     "\ud800", "'", ";--", "\\", "%s", "\n\n", "\t", "\u202e", "(", "a:b:c", "\x7f"]
)  # fmt: skip
QUERIES = st.one_of(
    st.text(st.characters(), max_size=80),
    st.lists(WORDS | HOSTILE, max_size=12).map(" ".join),
    st.lists(WORDS | HOSTILE, max_size=12).map("".join),
)
SCORES = st.dictionaries(st.integers(0, 12), st.floats(0, 50), max_size=8)
SHARES = st.dictionaries(st.integers(0, 12), st.floats(0, 1), max_size=8)
COSINES = st.dictionaries(st.integers(0, 12), st.floats(-1, 1), max_size=8)
FRACTIONS = st.floats(0, 1)
CONTENTS = {
    "src/config.py": ["def parseConfig(max_retry): kiwi", "the mango and the kiwi", "NOT a b c"],
    "決定.md": ["決定採用 mango", "na\u00efve content:kiwi", "\0 kiwi"],
}


def fill(store: Store) -> Store:
    store.bind_embedder(EMBEDDER.identity)
    for path, contents in CONTENTS.items():
        put(store, source(path), *contents)
    put(store, source("決定.md", mined_at=200), "決定採用 mango", chunk("\0 kiwi", symbols="retry"))
    return store


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    """Two stores with one content, which questions do not change."""
    path = tmp_path_factory.mktemp("search") / "palace.db"
    real = SqliteStore(path, writable=True)
    yield {"sqlite": fill(real), "memory": fill(MemoryStore())}
    real.close()


def ask(store: Store, request: Request):
    index = MemoryIndex(EMBEDDER.identity, EMBEDDER.dimensions)
    citer = Citer(store, MemoryRepositories(), bytes.decode)
    return search(store, lambda: IndexMeaning(store, EMBEDDER, index), citer, request)


# --- queries ----------------------------------------------------------------------------------


@given(QUERIES)
def test_any_text_is_a_query_of_bounded_size(text):
    query = analyze_query(text)
    assert query == analyze_query(text)
    assert len(query.units) <= 400
    assert len(set(query.units)) == len(query.units)
    assert len(query.text) <= 1_000
    assert bool(query.units) == bool(query.text)
    for unit in query.units:
        assert unit.terms
        for term in (*unit.terms, *unit.parts):
            assert term.tokens
            assert all(token and token.strip() == token for token in term.tokens)
            "".join(term.tokens).encode()


@given(st.lists(QUERIES, min_size=1, max_size=4))
def test_words_stay_the_same_whatever_follows(texts):
    """Within the bounds, more text adds to what is asked for and takes nothing away."""
    assume('"' not in "".join(texts))
    alone = [unit for text in texts for unit in analyze_query(f" {text} ").units]
    together = analyze_query(" ".join(texts)).units
    # Only words that say nothing are dropped beside words that do.
    fillers = {unit for text in texts for unit in analyze_query(text).units} - set(together)
    assert all(len(unit.terms) == 1 for unit in fillers)
    assert set(together) <= set(alone)


@settings(max_examples=60)
@given(st.text(st.sampled_from('a"b \n'), min_size=1, max_size=20), st.integers(1, 4_000))
def test_a_pasted_text_of_any_length_is_bounded(piece, times):
    assert len(analyze_query(piece * times).units) <= 400


# --- the engine -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=60)
@given(
    QUERIES,
    st.integers(1, 4),
    st.integers(0, 2),
    FRACTIONS,
    st.builds(
        Scope,
        st.none() | st.sampled_from(["w", "v", "%", "\udcff"]),
        st.none() | st.sampled_from(["r", "*"]),
        st.none() | st.integers(0, 300),
        st.booleans(),
    ),
)
def test_any_query_is_answered_in_any_mode(stores, kind, mode, text, limit, context, floor, scope):
    store = stores[kind]
    request = Request(text, scope, limit, mode, context, floor)
    result = ask(store, request)

    assert result == ask(store, request)
    assert (result.query, result.mode, result.degraded) == (text, mode, ())
    assert len(result.hits) <= limit
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    keys = [hit.drawer.key for hit in result.hits]
    assert len(set(keys)) == len(keys)
    assert store.visible(keys, scope) == set(keys)
    for hit in result.hits:
        assert hit.matched_by
        assert len(hit.before) <= context
        assert len(hit.after) <= context
    assert store.count_drawers() == 6


@settings(max_examples=60)
@given(st.lists(WORDS | HOSTILE, max_size=6).map(" ".join))
def test_both_stores_find_the_same_by_word(stores, text):
    request = Request(text, mode="keyword", limit=10, floor=0.0)
    real, double = (ask(stores[kind], request) for kind in ("sqlite", "memory"))
    assert {hit.drawer.id for hit in real.hits} == {hit.drawer.id for hit in double.hits}
    assert real.terms == double.terms


# --- fusion -----------------------------------------------------------------------------------


@given(SCORES, SHARES, COSINES, FRACTIONS, FRACTIONS, st.randoms(use_true_random=False))
def test_fusion_ignores_the_order_of_its_input(words, coverage, cosines, weight, floor, random):
    def shuffle(values: dict[int, float]) -> dict[int, float]:
        pairs = list(values.items())
        random.shuffle(pairs)
        return dict(pairs)

    lists = words, coverage, cosines
    found = fuse(*lists, meaning_weight=weight, floor=floor)
    assert found == fuse(*map(shuffle, lists), meaning_weight=weight, floor=floor)


@given(SCORES, SHARES, COSINES, FRACTIONS, FRACTIONS)
def test_fused_scores_are_strengths_best_first(words, coverage, cosines, weight, floor):
    found = fuse(words, coverage, cosines, meaning_weight=weight, floor=floor)
    scores = [candidate.score for candidate in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    keys = [candidate.key for candidate in found]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {*words, *cosines}
    for candidate in found:
        assert candidate.matched_by
        vouched_by_word = coverage.get(candidate.key, 0.0) > 0
        vouched_by_meaning = cosines.get(candidate.key, -1.0) > COSINE_UNRELATED
        assert len(candidate.matched_by) == vouched_by_word + vouched_by_meaning


@given(SCORES, SHARES, COSINES, FRACTIONS)
def test_nothing_is_known_below_the_floor_and_something_above(words, coverage, cosines, floor):
    def strength(key: int) -> float:
        meaning = (cosines.get(key, -1.0) - COSINE_UNRELATED) / (COSINE_EQUAL - COSINE_UNRELATED)
        return 1 - (1 - coverage.get(key, 0.0)) * (1 - min(1.0, max(0.0, meaning)))

    best = max((strength(key) for key in {*words, *cosines}), default=0.0)
    assume(not math.isclose(best, floor) and not math.isclose(best, floor / 2))
    found = fuse(words, coverage, cosines, floor=floor)
    if best < floor / 2 or best == 0.0:
        assert found == []
    elif best > floor:
        assert found
        assert found[0].score == pytest.approx(best)


@given(SCORES, SHARES, COSINES, FRACTIONS, FRACTIONS)
def test_a_higher_floor_never_adds_candidates(words, coverage, cosines, low, high):
    low, high = sorted((low, high))
    few = fuse(words, coverage, cosines, floor=high)
    many = fuse(words, coverage, cosines, floor=low)
    assert {candidate.key for candidate in few} <= {candidate.key for candidate in many}


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_rarer_term_never_weighs_less(total, left, right):
    few, many = sorted((left % (total + 1), right % (total + 1)))
    assert rarity(total, few) >= rarity(total, many) > 0


# --- highlighting -----------------------------------------------------------------------------


@given(
    st.text(st.sampled_from("abAB_ 決\u0130\u00df") | st.characters(), max_size=40),
    st.lists(
        st.builds(Term, st.tuples(st.sampled_from(["a", "b", "ab", "決", "\u00df"]))), max_size=4
    ),
)
def test_marks_are_sorted_apart_and_hold_what_was_asked_for(content, terms):
    marks = mark_terms(content, terms)
    flat = [place for mark in marks for place in mark]
    assert flat == sorted(set(flat))
    assert all(0 <= start < end <= len(content) for start, end in marks)
    tokens = {token for term in terms for token in term.tokens}
    for start, end in marks:
        assert any(token in content[start:end].lower() for token in tokens)


@given(QUERIES)
def test_embedding_a_query_never_fails(text):
    question = analyze_query(text).text
    assert HashEmbedder(16).embed_query(question) == EMBEDDER.embed_query(question)
