"""Whether a text is stored already: equal by word, similar by meaning."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.errors import BusyError, DamagedError, EmbedderError
from mempal.core.model import Neighbor, Scope
from mempal.core.ports import Store
from mempal.search.duplicates import Duplicates, find_duplicates
from mempal.search.meaning import IndexMeaning
from mempal.testing import HashEmbedder, MemoryIndex, MemoryStore
from tests.drawers import EMBEDDER, by_hand, note, put, source

FRIDAY = "Deploys wait for QA on Fridays."
EVERYTHING = Scope()


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path) -> Iterator[Store]:
    if request.param == "memory":
        yield filled(MemoryStore())
        return
    with closing(SqliteStore(tmp_path / "palace.db", writable=True)) as opened:
        yield filled(opened)


def filled(store: Store) -> Store:
    store.bind_embedder(EMBEDDER.identity)
    note(store, by_hand("friday"), FRIDAY)
    put(store, source("valve.md"), "the north valve\nis serviced in May", "bread and butter")
    note(store, by_hand("other", wing="v"), FRIDAY)
    return store


class Deaf:
    """Meaning that knows nothing near, so that only equal texts are found."""

    def embed(self, text: str) -> bytes:
        return b""

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        return []

    def notices(self) -> list[str]:
        return []


class MeaningBehind(Deaf):
    """Meaning from an index that may know drawers that are gone."""

    def __init__(self, neighbors: list[Neighbor]) -> None:
        self.neighbors = neighbors

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        return self.neighbors

    def notices(self) -> list[str]:
        return ["the index is behind"]


def ask(
    store: Store,
    *pieces: str,
    meaning: Callable[[], object] = Deaf,
    scope: Scope = EVERYTHING,
    threshold: float = 0.9,
) -> Duplicates:
    return find_duplicates(store, meaning, pieces, scope, threshold)


def contents(found: Duplicates) -> list[str]:
    return [match.drawer.content for match in found.matches]


@pytest.mark.parametrize(
    "text", [FRIDAY, f"\n  {FRIDAY}\t\r\n", "the north valve\r\nis serviced in May", "bread and "]
)
def test_equal_texts_need_no_vector(store, text):
    found = ask(store, text, scope=Scope(wing="w"))
    if text == "bread and ":  # only the beginning of a text
        assert found == Duplicates("w", 0.9)
        assert not found.duplicate
        return
    (match,) = found.matches
    assert found.duplicate
    assert (match.similarity, match.exact, match.piece) == (1.0, True, 1)
    assert match.drawer.content.split() == text.split()


@pytest.mark.parametrize(
    "near",
    [
        *("deploys wait for QA on Fridays.", "Deploys wait for QA on Fridays", FRIDAY + "!"),
        *("Deploys wait for QA, on Fridays.", "Deploys wait  for QA on Fridays."),
        "Déploys wait for QA on Fridays.",
    ],
)
def test_all_else_is_not_equal(store, near):
    assert not ask(store, near).duplicate


@pytest.mark.parametrize("stored", ["caf\u00e9 au lait", "cafe\u0301 au lait"])
@pytest.mark.parametrize("asked", ["caf\u00e9 au lait", "cafe\u0301 au lait"])
def test_spellings_of_one_character_are_equal(store, stored, asked):
    note(store, by_hand("coffee"), stored)
    assert contents(ask(store, asked)) == [stored]


@pytest.mark.parametrize("text", ["🦊", "!!! ---", "\u200d…"])
def test_a_text_without_words(store, text):
    assert not ask(store, text).duplicate
    note(store, by_hand("signs", room="s"), text)
    assert contents(ask(store, f" {text}\n")) == [text]
    assert contents(ask(store, text, scope=Scope(room="s"))) == [text]
    assert not ask(store, text, scope=Scope(wing="v")).duplicate


def test_only_what_is_current_and_asked_for(store):
    assert len(ask(store, FRIDAY).matches) == 2
    (match,) = ask(store, FRIDAY, scope=Scope(wing="v")).matches
    assert match.drawer.wing == "v"
    put(store, source("valve.md"), "nothing of that any more")
    assert not ask(store, "bread and butter").duplicate
    keys = [match.drawer.key for match in ask(store, FRIDAY).matches]
    store.delete_drawers(keys, 200)
    assert not ask(store, FRIDAY).duplicate


def test_equal_texts_are_found_among_many_that_hold_them(store):
    for number in range(120):
        put(store, source(f"{number}.md"), f"{FRIDAY} And number {number}, too.")
    assert contents(ask(store, FRIDAY)) == [FRIDAY, FRIDAY]


def indexed(store: Store, embedder: HashEmbedder = EMBEDDER) -> Callable[[], IndexMeaning]:
    return lambda: IndexMeaning(
        store, embedder, MemoryIndex(embedder.identity, embedder.dimensions)
    )


def test_similar_texts_are_found_by_meaning(store):
    text = "On Fridays, deploys wait for QA!"
    found = ask(store, text, meaning=indexed(store))
    assert contents(found) == [FRIDAY, FRIDAY]
    assert all(0.9 <= match.similarity <= 1 and not match.exact for match in found.matches)
    assert not found.degraded
    assert not ask(store, "moon", meaning=indexed(store)).duplicate
    # An equal text is said to be so, once.
    equal = ask(store, FRIDAY, meaning=indexed(store), scope=Scope(wing="w"))
    assert [(match.similarity, match.exact) for match in equal.matches] == [(1.0, True)]


def test_the_threshold_holds(store):
    text = "Deploys wait for QA on Mondays and Tuesdays"
    best = ask(store, text, meaning=indexed(store), threshold=0.5).matches[0]
    assert 0.5 < best.similarity < 0.95
    at, above = best.similarity, best.similarity + 1e-6
    assert ask(store, text, meaning=indexed(store), threshold=at).duplicate
    assert not ask(store, text, meaning=indexed(store), threshold=above).duplicate


def test_the_best_five_are_told_in_order(store):
    for number in range(8):
        filler = " ".join(f"word{n}" for n in range(number))
        put(store, source(f"{number}.md"), f"kiwi mango papaya {filler}")
    found = ask(store, "papaya kiwi mango", meaning=indexed(store), threshold=0)
    assert len(found.matches) == 5
    similarities = [match.similarity for match in found.matches]
    assert similarities == sorted(similarities, reverse=True)
    assert found.matches[0].drawer.source_file == "0.md"


def test_each_piece_is_compared_and_the_best_is_told(store):
    found = ask(store, "a new thing", "\n \n", "bread and butter", FRIDAY, scope=Scope(wing="w"))
    assert found.pieces == 4
    assert {match.drawer.content: match.piece for match in found.matches} == {
        "bread and butter": 3,
        FRIDAY: 4,
    }
    near = ask(
        store, "bread butter", "bread, and butter", meaning=indexed(store), scope=Scope(wing="w")
    )
    (match,) = near.matches
    assert match.piece == 2


def test_drawers_that_are_gone_are_no_neighbours(store):
    (match,) = ask(store, FRIDAY, scope=Scope(wing="v")).matches
    behind = MeaningBehind([Neighbor(match.drawer.key, 1.0)])
    assert ask(store, "QA", meaning=lambda: behind).duplicate
    store.delete_drawers([match.drawer.key], 200)
    found = ask(store, "QA", meaning=lambda: behind)
    assert found.matches == ()
    assert found.degraded == ("the index is behind",)


def test_another_embedder_leaves_equal_texts(store):
    other = HashEmbedder(16, model="B")
    found = ask(store, FRIDAY, meaning=indexed(store, other))
    assert len(found.matches) == 2
    (reason,) = found.degraded
    assert reason.startswith("only equal texts were looked for: ")
    assert EMBEDDER.identity in reason
    assert other.identity in reason
    assert "--reembed" in reason
    assert not ask(store, FRIDAY.lower(), meaning=indexed(store, other)).duplicate


@pytest.mark.parametrize("error", [EmbedderError("no"), DamagedError("no"), BusyError("no")])
def test_what_cannot_answer_is_told(store, error):
    def refuse() -> IndexMeaning:
        raise error

    found = ask(store, FRIDAY, meaning=refuse)
    assert len(found.matches) == 2
    assert len(found.degraded) == 1


def test_nothing_is_written(store):
    before = store.revision()
    ask(store, FRIDAY, "🦊", meaning=indexed(store))
    assert store.revision() == before


WORDS = st.sampled_from(["kiwi", "mango", "Kiwi", "é", "🦊", "\n", "決定", "a_b", "x.y", " "])


@given(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, min_size=1, max_size=6))
def test_texts_are_equal_only_when_they_are(stored, asked):
    held, text = " ".join(stored), " ".join(asked)
    store = MemoryStore()
    store.bind_embedder(EMBEDDER.identity)
    put(store, source("a"), held)
    equal = bool(text.strip()) and text.strip() == held.strip()
    found = ask(store, text)
    assert found.duplicate == equal
    assert replace(found, matches=()) == Duplicates(None, 0.9)
