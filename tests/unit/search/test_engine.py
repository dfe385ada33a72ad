"""Answering questions out of a store, an index and an embedder that may each fail."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from mempal.core.errors import (
    BusyError,
    DamagedError,
    EmbedderError,
    EmbedderMismatchError,
    UsageError,
)
from mempal.core.model import Chunk, Matcher, Neighbor, Scope, SearchResult, SourceClass, Term
from mempal.core.vector import pack
from mempal.search.cite import Citer
from mempal.search.engine import MODES, Request, mark_terms, search
from mempal.search.meaning import IndexMeaning
from mempal.testing import HashEmbedder, MemoryIndex, MemoryRepositories, MemoryStore
from tests.drawers import put, source

EMBEDDER = HashEmbedder(64)


@dataclass
class Library:
    """A store with its index, and what the next question is to meet."""

    store: MemoryStore = field(default_factory=MemoryStore)
    index: MemoryIndex | None = field(default_factory=MemoryIndex)
    embedder: HashEmbedder = EMBEDDER

    def put(self, path: str, *contents: str, **values) -> None:
        pieces = [Chunk(content) for content in contents]
        embedded = dict(zip(contents, EMBEDDER.embed_documents(contents), strict=True))
        place = source(path, **values)
        self.store.replace_source(place, pieces, embedded, SourceClass.FILE)

    def open_meaning(self) -> IndexMeaning:
        return IndexMeaning(self.store, self.embedder, self.index)

    def ask(
        self,
        query: str,
        mode: str = "hybrid",
        open_meaning: Callable[[], object] | None = None,
        **values,
    ) -> SearchResult:
        citer = Citer(self.store, MemoryRepositories(), bytes.decode)
        request = Request(query, mode=mode, **values)
        return search(self.store, open_meaning or self.open_meaning, citer, request)


@pytest.fixture
def library() -> Library:
    made = Library()
    made.store.bind_embedder(EMBEDDER.identity)
    made.put("retry.md", "the retry policy doubles its delay", "retries end after nine attempts")
    made.put("login.md", "people log in with a password")
    made.put("fruit.md", "kiwi and mango", "mango alone", "only a kiwi")
    return made


def texts(result: SearchResult) -> list[str]:
    return [hit.drawer.content for hit in result.hits]


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_finds_what_was_asked_for(library, mode):
    result = library.ask("retry policy delay", mode)
    assert texts(result)[0] == "the retry policy doubles its delay"
    assert (result.query, result.mode, result.degraded, result.hint) == (
        "retry policy delay",
        mode,
        (),
        "",
    )


def test_a_hit_names_the_lists_that_vouch_for_it(library):
    query = "kiwi and mango"
    assert library.ask(query, "keyword").hits[0].matched_by == (Matcher.KEYWORD,)
    assert library.ask(query, "vector").hits[0].matched_by == (Matcher.VECTOR,)
    assert library.ask(query).hits[0].matched_by == (Matcher.KEYWORD, Matcher.VECTOR)


def test_words_do_not_open_the_embedder(library):
    def refuse() -> None:
        raise AssertionError("opened")

    assert library.ask("mango", "keyword", refuse).hits


def test_meaning_does_not_ask_for_words(library, monkeypatch):
    monkeypatch.setattr(library.store, "match_words", None)
    assert library.ask("mango alone", "vector").hits


def test_a_drawer_without_a_vector_is_found_by_word(library):
    library.put("bare.md", "the tundra is bare")
    library.store.lose_vectors(max(entry.key for entry in library.store.entries_since(0)))
    for mode in ("hybrid", "keyword"):
        (hit,) = library.ask("tundra", mode).hits
        assert hit.drawer.content == "the tundra is bare"
        assert hit.matched_by == (Matcher.KEYWORD,)
    assert library.ask("tundra", "vector").hits == ()


class Clairvoyant:
    """Meaning that knows what no word says."""

    def __init__(self, *near: Neighbor) -> None:
        self.near = list(near)

    def embed(self, text: str) -> bytes:
        return EMBEDDER.embed_query(text)

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        return self.near[:limit]

    def notices(self) -> list[str]:
        return []


def test_a_drawer_without_a_word_of_the_query_is_found_by_meaning(library):
    result = library.ask("authentication", open_meaning=lambda: Clairvoyant(Neighbor(3, 0.95)))
    assert texts(result) == ["people log in with a password"]
    assert result.hits[0].matched_by == (Matcher.VECTOR,)


def test_an_index_cannot_bring_in_what_the_scope_leaves_out(library):
    library.put("fruit.md", "mango alone", mined_at=200)
    everything = Clairvoyant(*(Neighbor(key, 0.99) for key in range(1, 50)))
    found = library.ask("anything", "vector", lambda: everything)
    assert texts(found).count("only a kiwi") == 0
    assert len(found.hits) == 4
    assert library.ask("anything", "vector", lambda: everything, scope=Scope(wing="v")).hits == ()
    history = library.ask("anything", "vector", lambda: everything, scope=Scope(history=True))
    assert len(history.hits) == 6


def test_what_nobody_knows_is_not_answered(library):
    for mode in MODES:
        result = library.ask("quantum chromodynamics", mode)
        assert (result.hits, result.degraded, result.hint) == ((), (), "")


def test_the_floor_can_be_raised_and_taken_away(library):
    assert library.ask("kiwi zeppelin quark", floor=0.99).hits == ()
    assert library.ask("kiwi zeppelin quark", floor=0.0).hits


def test_scores_fall_and_lie_between_0_and_1(library):
    for mode in MODES:
        scores = [hit.score for hit in library.ask("kiwi and mango alone", mode, floor=0.0).hits]
        assert len(scores) > 1
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)


def test_a_limit_takes_the_best(library):
    whole = library.ask("kiwi mango", floor=0.0)
    assert len(whole.hits) >= 3
    for limit in (1, 2, 3):
        assert library.ask("kiwi mango", floor=0.0, limit=limit).hits == whole.hits[:limit]
    assert library.ask("kiwi mango", floor=0.0, limit=10**6).hits == whole.hits


@pytest.mark.parametrize("limit", [0, -1, -(10**12)])
def test_a_limit_below_one_is_refused(library, limit):
    with pytest.raises(UsageError, match=f"cannot return {limit} results"):
        library.ask("kiwi", limit=limit)


def test_an_unknown_mode_is_refused_with_the_known_ones(library):
    with pytest.raises(UsageError, match="unknown mode 'magic'") as caught:
        library.ask("kiwi", "magic")
    assert caught.value.hint == "modes: hybrid, keyword, vector"


def test_a_query_without_words_says_so(library):
    for mode in MODES:
        result = library.ask(' "*" ', mode)
        assert result.hits == ()
        assert result.hint == "the query holds no word to search for"


def test_an_empty_store_answers_nothing():
    for mode in MODES:
        result = Library().ask("anything", mode)
        assert (result.hits, result.degraded) == ((), ())


def test_neighbors_come_with_a_hit_nearest_to_it(library):
    library.put("long.md", *(f"part {name}" for name in ("a", "b", "zenith", "d", "e")))
    (hit,) = library.ask("zenith", "keyword", context=2).hits
    assert [drawer.content for drawer in hit.before] == ["part a", "part b"]
    assert [drawer.content for drawer in hit.after] == ["part d", "part e"]
    (hit,) = library.ask("zenith", "keyword").hits
    assert (hit.before, hit.after) == ((), ())


def test_filters_hold_in_every_mode(library):
    library.put("kiwi.md", "kiwi and mango elsewhere", wing="v", room="s")
    for mode in MODES:
        for scope, wings in [
            (Scope(wing="v"), {"v"}),
            (Scope(wing="w"), {"w"}),
            (Scope(room="s"), {"v"}),
            (Scope(), {"v", "w"}),
            (Scope(wing="v", room="r"), set()),
            (Scope(as_of=50), set()),
        ]:
            result = library.ask("kiwi and mango", mode, scope=scope, floor=0.0)
            assert {hit.drawer.wing for hit in result.hits} == wings, (mode, scope)


def test_superseded_text_is_found_in_history_and_in_its_time_only(library):
    library.put("fruit.md", "a papaya", mined_at=200)
    for mode in MODES:
        assert "mango alone" not in texts(library.ask("mango alone", mode))
        for scope in (Scope(history=True), Scope(as_of=150)):
            result = library.ask("mango alone", mode, scope=scope)
            assert texts(result)[0] == "mango alone", (mode, scope)
            assert result.hits[0].drawer.superseded_at == 200


# --- what may be broken -----------------------------------------------------------------------


class Broken(HashEmbedder):
    def embed_query(self, text: str) -> bytes:
        raise EmbedderError("the endpoint does not answer", hint="start it")


class BrokenIndex(MemoryIndex):
    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        raise DamagedError("index.bin is damaged", hint="run `mempal reindex`")


def fail_with(error: Exception) -> Callable[[], object]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("change", "opening", "message"),
    [
        ({"embedder": Broken()}, None, "the endpoint does not answer (start it)"),
        ({"embedder": HashEmbedder(64, "B")}, None, "this palace was embedded with hash:A:64:v1"),
        ({"index": BrokenIndex()}, None, "index.bin is damaged (run `mempal reindex`)"),
        ({"index": MemoryIndex("x", 8)}, None, "components"),
        ({}, fail_with(EmbedderError("no model", hint="h")), "no model (h)"),
        ({}, fail_with(BusyError("locked", hint="h")), "locked (h)"),
        ({}, fail_with(DamagedError("torn", hint="h")), "torn (h)"),
    ],
)
def test_words_answer_when_meaning_cannot(library, change, opening, message):
    broken = replace(library, **change)
    result = broken.ask("retry policy", open_meaning=opening)
    assert texts(result)[0] == "the retry policy doubles its delay"
    assert result.hits[0].matched_by == (Matcher.KEYWORD,)
    (notice,) = result.degraded
    assert notice.startswith("answered by words only: ")
    assert message in notice

    alone = broken.ask("retry policy", "vector", opening)
    assert alone.degraded == (notice.replace("words only", "nothing"),)
    assert alone.hits == ()
    assert broken.ask("retry policy", "keyword", opening).degraded == ()


def test_a_mismatch_names_both_embedders_and_the_way_out(library):
    with pytest.raises(EmbedderMismatchError) as caught:
        replace(library, embedder=HashEmbedder(64, "B")).open_meaning().embed("x")
    assert (caught.value.stored, caught.value.configured) == ("hash:A:64:v1", "hash:B:64:v1")
    assert "mempal reindex --reembed" in caught.value.hint


def test_a_stored_vector_of_another_length_is_passed_over(library):
    odd = Chunk("the tundra is odd")
    vectors = {odd.content: pack([1.0, 2.0])}
    library.store.replace_source(source("odd.md"), [odd], vectors, SourceClass.FILE)
    (hit,) = library.ask("tundra", open_meaning=Clairvoyant).hits
    assert hit.matched_by == (Matcher.KEYWORD,)
    assert library.ask("tundra").hits[0].drawer.content == odd.content


def test_an_index_that_is_behind_says_how_far(library):
    class Slow(MemoryIndex):
        volatile_reads = False

    result = replace(library, index=Slow()).ask("mango")
    (notice,) = result.degraded
    assert notice.startswith("6 drawers are not in the vector index yet")
    assert "mempal reindex" in notice
    assert result.hits


def test_no_index_at_all_leaves_words(library):
    result = replace(library, index=None).ask("mango")
    assert result.hits
    assert result.degraded == ()


# --- long questions and large palaces ---------------------------------------------------------


def test_a_long_question_is_asked_by_its_rarest_known_words(library):
    noise = " ".join(f"unheard{number}" for number in range(300))
    result = library.ask(f"{noise} mango {noise}", "keyword", floor=0.0)
    assert "mango alone" in texts(result)
    assert len(result.terms) <= 48


def test_a_name_is_found_by_its_pieces_only_when_the_whole_is_unknown(library):
    library.put("code.py", "def retryPolicy(): pass")
    assert Term(("policy",)) not in library.ask("retryPolicy").terms
    assert texts(library.ask("retryPolicy", "keyword"))[0] == "def retryPolicy(): pass"
    result = library.ask("mangoPolicy", "keyword")
    assert Term(("policy",)) in result.terms
    assert "mango alone" in texts(result)


def test_a_word_of_half_a_large_palace_is_not_asked_for():
    library = Library()
    library.put("many.md", *(f"common {number}" for number in range(1_100)), "common needle")
    result = library.ask("common needle", "keyword")
    assert result.terms == (Term(("needle",)),)
    assert texts(result) == ["common needle"]
    # Unless nothing else was asked for.
    assert library.ask("common", "keyword", limit=5).hits


# --- what is shown ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "tokens", "marked"),
    [
        ("Retry the retry", [("retry",)], ["Retry", "retry"]),
        ("parseConfig", [("parseconfig",), ("parse", "config")], ["parseConfig"]),
        ("read parse config", [("parse", "config")], ["parse", "config"]),
        ("決定採用", [("決定",), ("定採",)], ["決定採"]),
        ("nothing", [("else",)], []),
        ("", [("x",)], []),
        ("\u0130stanbul kiwi", [("kiwi",)], []),
    ],
)
def test_the_ranges_to_highlight(content, tokens, marked):
    ranges = mark_terms(content, [Term(token) for token in tokens])
    assert [content[start:end] for start, end in ranges] == marked


def test_a_result_carries_the_terms_that_were_asked_for(library):
    assert library.ask("the Retry policy").terms == (Term(("retry",)), Term(("policy",)))


def test_each_hit_is_cited(library, tmp_path):
    file = tmp_path / "cited.md"
    file.write_text("the zenith\n", "utf-8")
    put(library.store, source("cited.md", root=str(tmp_path)), "the zenith\n")
    (hit,) = library.ask("zenith", "keyword").hits
    assert hit.citation.verdict == "same"
    file.unlink()
    (hit,) = library.ask("zenith", "keyword").hits
    assert hit.citation.verdict == "gone"


def test_the_weight_of_a_word_is_that_of_the_wing_that_is_asked(library):
    for number in range(1200):
        library.put(f"{number}.md", f"gateway number {number} of many", wing="large")
    library.put("note.md", "the gateway address is on the wall", wing="small")
    library.put("food.md", "eggs and flour", wing="small")
    result = library.ask("gateway address", "keyword", scope=Scope(wing="small"))
    assert texts(result) == ["the gateway address is on the wall"]
    assert result.hits[0].score > 0.9


def test_what_was_current_then_is_found_behind_much_that_is_nearer_now(library):
    library.put("old.md", "the retry policy was to wait a minute", mined_at=10**6)
    for number in range(300):
        library.put(f"{number}.md", f"the retry policy {number}", mined_at=5 * 10**6)
    result = library.ask("the retry policy", "vector", scope=Scope(as_of=2 * 10**6))
    assert "the retry policy was to wait a minute" in texts(result)
