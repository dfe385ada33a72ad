"""What every store promises of its word index.

The words are ones that English stemming leaves alone, for the double in memory folds no endings.
"""

import pytest

from mempal.core.model import Scope, Term
from mempal.core.ports import Store
from tests.drawers import chunk, put, source

EVERYTHING = Scope(history=True)


def found(store: Store, *tokens: str, prefix: bool = False, scope: Scope = EVERYTHING) -> set[int]:
    return {match.key for match in store.match_words([Term(tokens, prefix)], scope, 100)}


LIBRARY = {
    "fruit.md": ["kiwi mango", "mango kiwi mango", "kiwi. Then, mango"],
    "src/read_config.py": ["def parseHTTPConfig(max_retry2): pass"],
    "notes/決定.md": ["決定採用 MQTT日本語 caf\u00e9 R\u00c9SUM\u00c9"],
    "odd.md": ['say "NEAR(kiwi)" or -tundra * AND NOT zebra^2 col:umn \0quartz'],
}


@pytest.fixture
def library(store: Store) -> Store:
    for path, contents in LIBRARY.items():
        put(store, source(path), *contents)
    put(store, source("code.py"), chunk("pass", symbols="RetryPolicy open_socket"))
    put(
        store,
        source("odder.md"),
        "nai\u0308ve \u1112\u1161\u11ab\u1100\u1173\u11af \U0001f916robot\U0001f9ea"
        " \u2066isolated\u2069 \ue0a0private \u20bfbitcoin",
    )
    return store


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (("kiwi",), {1, 2, 3, 6}),
        (("KIWI",), {1, 2, 3, 6}),
        (("kiwi", "mango"), {1, 2}),
        (("mango", "kiwi", "mango"), {2}),
        (("kiwi", "then"), {3}),
        (("kiw",), set()),
        (("absent",), set()),
        (("parsehttpconfig",), {4}),
        (("parse", "http", "config"), {4}),
        (("http",), {4}),
        (("max", "retry2"), {4}),
        (("max_retry2",), {4}),
        (("read", "config"), {4}),
        (("src",), {4}),
        (("py",), {4, 7}),
        (("retry",), {4, 7}),
        (("retrypolicy",), {7}),
        (("socket",), {7}),
        (("open", "socket"), {7}),
        (("決定",), {5}),
        (("採用",), {5}),
        (("日本",), {5}),
        (("採決",), set()),
        (("mqtt",), {5}),
        (("cafe",), {5}),
        (("caf\u00e9",), {5}),
        (("resume",), {5}),
        (("quartz",), {6}),
        (("umn",), {6}),
        (("naive",), {8}),
        (("nai\u0308ve",), {8}),
        (("na\u00efve",), {8}),
        (("\u1112\u1161\u11ab\u1100\u1173\u11af",), {8}),
        (("\ud55c\uae00",), {8}),
        (("robot",), {8}),
        (("isolated",), {8}),
        (("private",), {8}),
        (("bitcoin",), {8}),
        (("robot", "isolated"), {8}),
    ],
)
def test_a_term_is_found_where_it_stands(library, tokens, expected):
    assert found(library, *tokens) == expected
    assert library.document_frequency(Term(tokens)) == len(expected)
    assert library.holding(Term(tokens), [*range(9), 3]) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (("kiw",), {1, 2, 3, 6}),
        (("kiwi", "m"), {1, 2}),
        (("採",), {5}),
        (("日",), {5}),
        (("zzz",), set()),
    ],
)
def test_the_last_word_may_be_a_beginning(library, tokens, expected):
    assert found(library, *tokens, prefix=True) == expected
    assert library.document_frequency(Term(tokens, prefix=True)) == len(expected)


@pytest.mark.parametrize(
    ("token", "plain"),
    [
        ('kiwi" OR "mango', ("kiwi", "or", "mango")),
        ('"kiwi"', ("kiwi",)),
        ("NEAR(kiwi)", ("near", "kiwi")),
        ("-tundra", ("tundra",)),
        ("kiwi*", ("kiwi",)),
        ("kiw*", ("kiw",)),
        ("content:kiwi", ("content", "kiwi")),
        ("^kiwi", ("kiwi",)),
        ("{path content}: kiwi", ("path", "content", "kiwi")),
        ("kiwi AND mango", ("kiwi", "and", "mango")),
        ("NOT zebra", ("not", "zebra")),
        ("quartz\0", ("quartz",)),
        ("kiwi\0mango", ("kiwi", "mango")),
        ("kiwi\ud800", ("kiwi",)),
        ("'; DROP TABLE drawers; --", ("drop", "table", "drawers")),
    ],
)
@pytest.mark.parametrize("prefix", [False, True])
def test_operators_in_a_term_are_inert(library, token, plain, prefix):
    assert found(library, token, prefix=prefix) == found(library, *plain, prefix=prefix)
    assert library.count_drawers() == 8


@pytest.mark.parametrize("token", ["", " ", '"', "*", ")", "((", "-", "\0", "\ud800", "...", "_"])
@pytest.mark.parametrize("prefix", [False, True])
def test_a_term_without_a_word_is_held_by_nothing(library, token, prefix):
    term = Term((token,), prefix)
    assert found(library, token, prefix=prefix) == set()
    assert library.document_frequency(term) == 0
    assert library.holding(term, range(9)) == set()
    together = library.match_words([term, Term(("umn",))], EVERYTHING, 10)
    assert [match.key for match in together] == [6]


def test_several_terms_are_alternatives_and_add_up(library):
    terms = [Term(("kiwi",)), Term(("tundra",)), Term(("absent",))]
    matches = library.match_words(terms, EVERYTHING, 10)

    assert {match.key for match in matches} == {1, 2, 3, 6}
    assert matches[0].key == 6
    assert all(match.score > 0 for match in matches)
    assert [match.score for match in matches] == sorted(
        (match.score for match in matches), reverse=True
    )
    best = library.match_words(terms, EVERYTHING, 2)
    assert best == matches[:2]


def test_many_terms_are_no_problem(library):
    terms = [Term((f"word{number}",)) for number in range(2_000)]
    assert library.match_words([*terms, Term(("umn",))], EVERYTHING, 10)[0].key == 6


def test_equal_matches_are_ordered_by_key(store):
    for path in "cab":
        put(store, source(path, room=path), "falcon")
    matches = store.match_words([Term(("falcon",))], EVERYTHING, 10)
    assert [match.key for match in matches] == [1, 2, 3]
    assert len({match.score for match in matches}) == 1


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_returns_nothing(library, limit):
    assert library.match_words([Term(("kiwi",))], EVERYTHING, limit) == []


def test_no_terms_match_nothing(library):
    assert library.match_words([], EVERYTHING, 10) == []


def test_words_are_asked_for_within_a_scope(store):
    put(store, source(wing="a", room="x", mined_at=100), "kiwi one", "kiwi two")
    put(store, source(wing="a", room="y", path="y", mined_at=100), "kiwi three")
    put(store, source(wing="b", room="x", mined_at=100), "kiwi four")
    put(store, source(wing="a", room="x", mined_at=200), "kiwi one")

    scopes = {
        Scope(): {1, 3, 4},
        EVERYTHING: {1, 2, 3, 4},
        Scope(wing="a"): {1, 3},
        Scope(room="x"): {1, 4},
        Scope(wing="a", room="x", history=True): {1, 2},
        Scope(wing="a", as_of=150): {1, 2, 3},
        Scope(as_of=99): set(),
        Scope(wing="kiwi"): set(),
    }
    for scope, expected in scopes.items():
        assert found(store, "kiwi", scope=scope) == expected, scope
    assert store.document_frequency(Term(("kiwi",))) == 4
    # The limit counts what is in scope, not what is out of it.
    assert len(store.match_words([Term(("kiwi",))], Scope(wing="b"), 1)) == 1


def test_words_can_be_read_again(library):
    before = {token: found(library, token) for token in ("kiwi", "retry", "採用", "py", "umn")}
    assert library.rebuild_words() == 8
    assert {token: found(library, token) for token in before} == before
    assert library.problems() == []
