"""What every store promises, put to the one on SQLite and to the double in memory."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest

from mempal.core.errors import EmbedderMismatchError, VectorsMissingError
from mempal.core.ids import hash_content, make_drawer_id
from mempal.core.model import (
    Addition,
    Changes,
    Chunk,
    Drawer,
    IndexEntry,
    Place,
    RoomCount,
    Scope,
    Source,
    SourceClass,
    SourceKind,
    SourceState,
    Span,
    Term,
    Voice,
)
from mempal.core.ports import Store
from mempal.testing import HashEmbedder
from tests.drawers import EMBEDDER, by_hand, chunk, chunks, dump, embed, note, put, source

EVERYTHING = Scope(history=True)


def current(store: Store, path: str = "notes.md") -> list[Drawer]:
    return store.drawers_of("w", "/tree", path)


def texts(store: Store, scope: Scope) -> list[str]:
    keys = range(1, store.count_drawers() + 1)
    return [drawer.content for drawer in store.get(sorted(store.visible(keys, scope)))]


def found(store: Store, *tokens: str, prefix: bool = False, scope: Scope = EVERYTHING) -> set[int]:
    return {match.key for match in store.match_words([Term(tokens, prefix)], scope, 100)}


# --- what is put comes back -------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "plain",
        "",
        " \t lines\r\nand\n\n ends \n",
        "a NUL \0 in between\0",
        "e\u0301 \u00e9 \ufb01 \u200d\u200b\ufeff \u202e right to left \u2066",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U000e0041 \uffff \U0010ffff \ufffd",
        "決定採用 ภาษาไทย 한국어",
        "quote ' \" ; DROP TABLE drawers; -- %s ? :name",
        "0123456789abcdef" * 65_536,
    ],
)
def test_a_text_comes_back_byte_for_byte(store, content):
    assert put(store, source(), content) == Changes(added=1)

    (drawer,) = current(store)
    assert drawer.content.encode() == content.encode()
    assert drawer.content_sha256 == hash_content(content)
    assert list(store.contents(10)) == [[(drawer.key, content)]]
    assert store.status().text_bytes == len(content.encode())


@pytest.mark.parametrize(
    "path",
    ["a b/[c].md", "cafe\u0301/caf\u00e9.md", "bad-\udcff\udce9.txt", "-rf", "\n", "決定.md"],
)
def test_any_path_comes_back_as_it_was(store, path):
    put(store, source(path), "text")
    put(store, source("other", root=f"/{path}"), "more")

    assert current(store, path)[0].source_file == path
    assert list(store.sources("w", "/tree")) == [path]
    assert store.roots("w") == sorted([("w", "/tree"), ("w", f"/{path}")])
    assert store.drawers_of("w", f"/{path}", "other")[0].root == f"/{path}"
    assert store.paths_of_content("w", "/tree", "aa") == [path]


def test_a_drawer_carries_its_citation(store):
    place = source(blob="b" * 40, commit="c" * 40, content_sha256="d" * 64, mined_at=7)
    put(store, place, Chunk("text", Span(3, 5, 20, 40)))

    (drawer,) = current(store)
    assert drawer == Drawer(
        key=drawer.key,
        id=make_drawer_id("w", "r", "notes.md", "text", 0),
        wing="w",
        room="r",
        content="text",
        source_file="notes.md",
        root="/tree",
        chunk_index=0,
        span=Span(3, 5, 20, 40),
        speaker=None,
        source_class=SourceClass.FILE,
        importance=0,
        added_at=7,
        superseded_at=None,
        deleted_at=None,
        content_sha256=hash_content("text"),
        source_sha256="d" * 64,
        blob="b" * 40,
        commit="c" * 40,
    )


def test_a_source_comes_back_as_it_was_put(store):
    skipped = source(
        "big.bin",
        size=1 << 40,
        mtime_ns=1_700_000_000_123_456_789,
        encoding="shift_jis",
        rules="v1:abc",
        state=SourceState.SKIPPED,
        reason="binary",
    )
    manual = source("by hand", root="", kind=SourceKind.MANUAL)
    put(store, skipped)
    note(store, manual, "text")

    assert store.sources("w", "/tree") == {"big.bin": skipped}
    assert store.sources("w", "", SourceKind.MANUAL) == {"by hand": manual}
    assert store.sources("w", "/other") == {}
    assert store.sources("x", "/tree") == {}
    assert store.roots() == [("w", "/tree")]


def test_keys_are_answered_in_the_order_asked(store):
    put(store, source(), "one", "two", "three")
    keys = [drawer.key for drawer in current(store)]

    asked = [keys[2], 999, keys[0], -1, keys[0]]
    assert [drawer.content for drawer in store.get(asked)] == ["three", "one", "one"]
    assert store.get([]) == []


def test_more_keys_than_fit_one_statement_are_answered(store):
    put(store, source(), *map(str, range(3)))
    keys = list(range(1, 40_000))

    assert [drawer.key for drawer in store.get(keys)] == [1, 2, 3]
    assert store.visible(keys, EVERYTHING) == {1, 2, 3}
    assert set(store.vectors(keys)) == {1, 2, 3}
    assert store.holding(Term(("2",)), keys) == {3}


# --- replacing a source -----------------------------------------------------------------------


def test_storing_the_same_again_changes_no_drawer(store):
    put(store, source(), "one", "two", "one")
    before = dump(store)

    assert put(store, source(), "one", "two", "one") == Changes(unchanged=3)
    assert dump(store) == before


def test_text_that_is_gone_is_superseded_and_comes_back(store):
    put(store, source(mined_at=100), "one", "two")
    first, second = current(store)

    changes = put(store, source(mined_at=200, content_sha256="bb"), "two", "three")
    assert changes == Changes(added=1, unchanged=1, superseded=1)
    assert [drawer.content for drawer in current(store)] == ["two", "three"]
    assert [drawer.chunk_index for drawer in current(store)] == [0, 1]
    (gone,) = store.get([first.key])
    assert (gone.superseded_at, gone.source_sha256) == (200, "aa")

    changes = put(store, source(mined_at=300, content_sha256="cc"), "one", "two")
    assert changes == Changes(unchanged=1, superseded=1, restored=1)
    assert [(drawer.key, drawer.id) for drawer in current(store)] == [
        (first.key, first.id),
        (second.key, second.id),
    ]
    assert {drawer.source_sha256 for drawer in current(store)} == {"cc"}
    assert [drawer.added_at for drawer in current(store)] == [100, 100]


def test_a_drawer_that_stays_gets_its_new_place_and_reading(store):
    put(store, source(commit="old", blob="1"), chunk("one", 1))
    (before,) = current(store)
    put(store, source(commit="new", blob="2", content_sha256="bb"), "zero", chunk("one", 9, "name"))

    (after,) = store.get([before.key])
    assert after == replace(
        before,
        chunk_index=1,
        span=Span(9, 9, 90, 95),
        source_sha256="bb",
        blob="2",
        commit="new",
    )
    assert found(store, "name") == {after.key}


def test_names_that_are_no_longer_defined_are_no_longer_found(store):
    put(store, source(), chunk("one", symbols="formerName"))
    (drawer,) = current(store)
    assert found(store, "former") == found(store, "formername") == {drawer.key}

    put(store, source(), chunk("one", symbols="laterName"))
    assert found(store, "former") == found(store, "formername") == set()
    assert found(store, "later") == found(store, "latername") == {drawer.key}


def test_equal_pieces_of_one_source_are_drawers_of_their_own(store):
    put(store, source(), "same", "same", "other", "same")
    first = current(store)
    assert len({drawer.id for drawer in first}) == 4
    assert [drawer.chunk_index for drawer in first] == [0, 1, 2, 3]

    assert put(store, source(mined_at=200), "same") == Changes(unchanged=1, superseded=3)
    assert [drawer.id for drawer in current(store)] == [first[0].id]
    assert put(store, source(mined_at=300), "same", "same") == Changes(unchanged=1, restored=1)
    assert [drawer.id for drawer in current(store)] == [first[0].id, first[1].id]


def test_of_equal_pieces_the_current_one_stays_before_another_comes_back(store):
    put(store, source(), "same", "same")
    put(store, source(mined_at=200), "same")
    put(store, source(mined_at=300), "new", "new too", "same")
    (stays,) = [drawer for drawer in current(store) if drawer.content == "same"]

    # The superseded one stood before the place where the current one stands now.
    assert put(store, source(mined_at=400), "same") == Changes(unchanged=1, superseded=2)
    assert [drawer.id for drawer in current(store)] == [stays.id]


def test_a_source_without_pieces_supersedes_all_it_had(store):
    put(store, source(), "one", "two")
    gone = source(mined_at=200, state=SourceState.SKIPPED, reason="now binary")

    assert put(store, gone) == Changes(superseded=2)
    assert current(store) == []
    assert store.sources("w", "/tree")["notes.md"].reason == "now binary"


def test_another_room_supersedes_and_adds(store):
    put(store, source(room="r"), "text")
    (before,) = current(store)

    changes = put(store, source(room="s", mined_at=200), "text")
    assert changes == Changes(added=1, superseded=1)
    (after,) = current(store)
    assert (after.room, after.key != before.key, after.id != before.id) == ("s", True, True)

    changes = put(store, source(room="r", mined_at=300), "text")
    assert changes == Changes(superseded=1, restored=1)
    assert [drawer.id for drawer in current(store)] == [before.id]


def test_sources_do_not_touch_each_other(store):
    places = [
        source(),
        source("other.md"),
        source(root="/elsewhere"),
        source(wing="v"),
        source(root="", kind=SourceKind.MANUAL),
    ]
    for place in places:
        assert put(store, place, "text") == Changes(added=1)
    for place in places:
        assert put(store, place, "text") == Changes(unchanged=1)
    ids = {store.drawers_of(place.wing, place.root, place.path)[0].id for place in places}
    assert len(ids) == len(places)


STATES: list[tuple[str, ...]] = [
    (),
    ("one", "two"),
    ("two", "one", "two"),
    (),
    ("two", "three"),
    ("three", "one", "one"),
]


@pytest.mark.parametrize("room", ["r", "s"])
def test_a_preview_says_what_storing_then_does(store, room):
    for instant, contents in enumerate(STATES):
        place = source(mined_at=instant, room=room if instant % 2 else "r")
        before = dump(store)
        expected = store.preview_source(place, chunks(*contents))
        assert dump(store) == before
        assert put(store, place, *contents) == expected
        assert [drawer.content for drawer in current(store)] == list(contents)


def test_only_new_texts_lack_a_vector(store):
    unknown = source("new.md")
    assert store.missing_contents(unknown, chunks("a", "b", "a")) == ["a", "b"]

    put(store, source(), "one", "two")
    put(store, source(mined_at=200), "two")
    assert store.missing_contents(source(), chunks("two", "one")) == []
    # The one that is stored has its vector; the second one beside it is a drawer of its own.
    assert store.missing_contents(source(), chunks("two", "two", "three", "three")) == [
        "two",
        "three",
    ]
    assert store.missing_contents(source(room="s"), chunks("two")) == ["two"]


def test_touching_a_source_keeps_its_drawers_and_updates_their_reading(store):
    put(store, source(commit="old"), "one", "two")
    put(store, source(commit="old", mined_at=150), "two")
    revision, before = store.revision(), current(store)
    (gone,) = [drawer for drawer in store.get([1, 2]) if drawer.superseded_at is not None]

    touched = source(commit="new", mtime_ns=5, size=9, mined_at=300)
    store.touch_source(touched)

    assert store.revision() == revision
    assert current(store) == [replace(drawer, commit="new") for drawer in before]
    assert store.get([gone.key]) == [gone]
    assert store.sources("w", "/tree") == {"notes.md": touched}


def test_new_text_without_a_vector_is_refused_and_nothing_is_stored(store):
    put(store, source(), "kiwi")
    before = dump(store)

    with pytest.raises(VectorsMissingError):
        store.replace_source(source(mined_at=200), chunks("plum", "kiwi"), {}, SourceClass.FILE)

    assert dump(store) == before
    assert store.replace_source(source(), chunks("kiwi"), {}, SourceClass.FILE) == Changes(0, 1)


# --- who said it, conversations, growing sources -----------------------------------------------


def test_a_voice_is_kept_with_its_drawer(store):
    said = Chunk("hello", Span(1, 1, 0, 9, "ab" * 32), "", Voice("ana", SourceClass.PERSON, 77))
    put(store, source(), said, "plain")

    first, second = store.drawers_of("w", "/tree", "notes.md")
    assert (first.speaker, first.source_class, first.said_at) == ("ana", SourceClass.PERSON, 77)
    assert first.span == said.span
    assert (second.speaker, second.source_class, second.said_at) == (None, SourceClass.FILE, None)


def conversation(name: str = "talk", **values) -> Source:
    holder = values.pop("holder", Place("w", "/tree", "notes.md"))
    kind = SourceKind.CONVERSATION
    return source(f"tool:{name}", root="", kind=kind, session=name, holder=holder, **values)


def test_a_conversation_is_cited_in_the_file_that_holds_it_now(store):
    put(store, source())
    put(store, source("other/name.json"))
    put(store, conversation(), "hello")
    held = conversation(holder=Place("w", "/tree", "other/name.json"), mined_at=200)

    (drawer,) = store.drawers_of("w", "", "tool:talk")
    assert drawer.source_file == "notes.md"
    assert put(store, held, "hello", "world") == Changes(1, 1)

    drawers = store.drawers_of("w", "", "tool:talk")
    assert {(drawer.root, drawer.source_file) for drawer in drawers} == {
        ("/tree", "other/name.json")
    }
    assert {drawer.session for drawer in drawers} == {"talk"}
    assert store.held_in(Place("w", "/tree", "notes.md")) == []
    assert store.held_in(Place("w", "/tree", "other/name.json")) == [held]
    assert store.source(held.place) == held
    assert store.count_by_source("w", "/tree") == {"other/name.json": 2}


def test_the_drawers_of_a_file_are_also_those_of_its_conversations(store):
    put(store, source(), "old")
    put(store, source(mined_at=200))
    put(store, conversation(), "hello", "world")
    put(store, source("other.md"), "elsewhere")

    assert store.keys_of([Place("w", "/tree", "notes.md")]) == [1, 2, 3]
    assert store.keys_of([Place("w", "", "tool:talk")]) == [2, 3]
    assert store.keys_of([Place("w", "/tree", "unknown"), Place("x", "/tree", "notes.md")]) == []


def test_a_tree_that_moves_takes_its_conversations_along(store):
    put(store, source())
    put(store, conversation(), "hello")

    store.move_root("w", "/tree", "/new")

    (drawer,) = store.drawers_of("w", "", "tool:talk")
    assert (drawer.root, drawer.source_file) == ("/new", "notes.md")


def test_the_kinds_of_sources_of_one_tree_are_told_apart(store):
    put(store, source())
    commit = source("commit/abc", kind=SourceKind.HISTORY, commit="abc")
    put(store, commit, "Drop the queue")

    assert list(store.sources("w", "/tree")) == ["notes.md"]
    assert store.sources("w", "/tree", SourceKind.HISTORY) == {"commit/abc": commit}


def test_a_tail_is_added_without_a_look_at_what_comes_before_it(store):
    put(store, source(), "one", "two", "three")
    tail = [chunk("three", 3), chunk("four", 4)]

    assert store.missing_contents(source(), tail, start=2) == ["four"]
    assert store.preview_source(source(), tail, start=2) == Changes(1, 1)
    changes = store.replace_source(
        source(mined_at=200), tail, embed(tail), SourceClass.FILE, start=2
    )

    assert changes == Changes(1, 1)
    drawers = store.drawers_of("w", "/tree", "notes.md")
    assert [drawer.content for drawer in drawers] == ["one", "two", "three", "four"]
    assert [drawer.chunk_index for drawer in drawers] == [0, 1, 2, 3]


def test_a_tail_supersedes_only_what_it_replaces(store):
    put(store, source(), "one", "two", "begun")
    tail = [chunk("finished", 3)]

    changes = store.replace_source(source(), tail, embed(tail), SourceClass.FILE, start=2)

    assert changes == Changes(1, 0, 1)
    drawers = store.drawers_of("w", "/tree", "notes.md")
    assert [drawer.content for drawer in drawers] == ["one", "two", "finished"]


# --- identifiers ------------------------------------------------------------------------------


def test_equal_places_and_texts_get_equal_ids_in_two_stores(new_store):
    ids = []
    for store in (new_store(), new_store()):
        put(store, source("decoy.md"), "decoy", *(["first"] if not ids else []))
        put(store, source(), "same", "text", "same")
        ids.append([drawer.id for drawer in current(store)])
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"wing": "a_b", "room": "c"}, {"wing": "a", "room": "b_c"}),
        ({"wing": "ab", "room": "c"}, {"wing": "a", "room": "bc"}),
        ({"wing": "Ops Team"}, {"wing": "ops-team"}),
        ({"room": "r", "path": "sx"}, {"room": "rs", "path": "x"}),
    ],
)
def test_names_that_only_join_alike_are_not_mixed_up(store, left, right):
    for values in (left, right):
        assert put(store, source(**values), "text") == Changes(added=1)
    assert len({drawer.id for drawer in store.get([1, 2])}) == 2


def test_an_id_is_found_by_its_beginning(store):
    put(store, source(), *(f"text {number}" for number in range(30)))
    whole = current(store)[7]

    assert store.resolve(whole.id) == [whole]
    assert whole in store.resolve(whole.id[:-1])
    assert len(store.resolve("drawer_")) == 10
    for nothing in ("drawer_zzz", whole.id + "0", "%", "drawer*", whole.id.upper()):
        assert store.resolve(nothing) == []


def test_a_superseded_drawer_still_answers_to_its_id(store):
    put(store, source(), "text")
    (drawer,) = current(store)
    put(store, source(mined_at=200))
    assert store.resolve(drawer.id) == [replace(drawer, superseded_at=200)]


# --- time -------------------------------------------------------------------------------------


def test_a_scope_tells_now_then_and_ever_apart(store):
    put(store, source(mined_at=100), "stays", "lapses", "leaves")
    put(store, source(mined_at=200), "stays")
    put(store, source(mined_at=300), "stays", "lapses")
    put(store, source(mined_at=400), "stays")
    put(store, source(mined_at=500), "stays", "lapses", "late")

    assert texts(store, Scope()) == ["stays", "lapses", "late"]
    assert texts(store, EVERYTHING) == ["stays", "lapses", "leaves", "late"]
    expected = {
        99: [],
        100: ["stays", "lapses", "leaves"],
        199: ["stays", "lapses", "leaves"],
        200: ["stays"],
        299: ["stays"],
        300: ["stays", "lapses"],
        399: ["stays", "lapses"],
        400: ["stays"],
        499: ["stays"],
        500: ["stays", "lapses", "late"],
    }
    for instant, contents in expected.items():
        assert texts(store, Scope(as_of=instant)) == contents, instant


def test_a_lapse_of_no_length_hides_nothing_later(store):
    put(store, source(mined_at=100), "text")
    put(store, source(mined_at=200))
    put(store, source(mined_at=200), "text")
    put(store, source(mined_at=200))
    put(store, source(mined_at=300), "text")

    assert texts(store, Scope(as_of=199)) == ["text"]
    assert texts(store, Scope(as_of=250)) == []
    assert texts(store, Scope(as_of=300)) == ["text"]


def test_a_scope_names_wing_and_room_exactly(store):
    put(store, source(wing="a", room="x"), "ax")
    put(store, source(wing="a", room="y", path="y"), "ay")
    put(store, source(wing="A", room="x"), "Ax")

    assert texts(store, Scope(wing="a")) == ["ax", "ay"]
    assert texts(store, Scope(room="x")) == ["ax", "Ax"]
    assert texts(store, Scope(wing="a", room="x")) == ["ax"]
    for pattern in ("%", "*", "a%", "", "_"):
        assert texts(store, Scope(wing=pattern)) == []


def test_only_keys_that_were_asked_for_are_visible(store):
    put(store, source(), "one", "two")
    assert store.visible([2, 7], Scope()) == {2}
    assert store.visible(iter([1]), Scope()) == {1}
    assert store.visible([], Scope()) == set()


# --- text given by hand -----------------------------------------------------------------------


def test_a_text_given_twice_is_stored_once_in_a_room(store):
    first = note(store, by_hand(), "kiwi", "mango", importance=4)
    assert first.created
    assert first.duplicate_of is None
    assert [drawer.importance for drawer in store.get([1, 2])] == [4, 4]
    assert [drawer.span for drawer in store.get([1, 2])] == [None, None]
    before = dump(store)

    again = note(store, by_hand("elsewhere"), "kiwi", "mango", importance=2)
    assert again == Addition(first.drawer_ids, created=False, duplicate_of=first.drawer_ids[0])
    assert dump(store) == before

    for place in (by_hand(room="s"), by_hand(wing="v")):
        assert note(store, place, "kiwi", "mango").created


def test_a_text_that_a_file_holds_is_a_duplicate_too(store):
    put(store, source(), "kiwi")
    (drawer,) = current(store)
    assert note(store, by_hand(), "kiwi") == Addition((drawer.id,), False, drawer.id)

    put(store, source(mined_at=200))
    assert note(store, by_hand(), "kiwi").created


def test_texts_of_one_name_stand_one_after_the_other(store):
    note(store, by_hand(), "one", "two")
    note(store, by_hand(mined_at=200), "three")
    drawers = store.drawers_of("w", "", "note")

    assert [(drawer.content, drawer.chunk_index) for drawer in drawers] == [
        ("one", 0),
        ("two", 1),
        ("three", 2),
    ]
    assert store.neighbors(drawers[1], 1) == [drawers[0], drawers[2]]


def test_a_text_partly_known_is_stored_whole(store):
    note(store, by_hand(), "one")
    added = note(store, by_hand("other"), "one", "two")
    assert added.created
    assert len(added.drawer_ids) == len(set(added.drawer_ids)) == 2
    assert texts(store, Scope()) == ["one", "one", "two"]


# --- revisions and entries --------------------------------------------------------------------


def test_each_transaction_that_changes_drawers_counts_once(store):
    assert store.revision() == 0
    store.bind_embedder(EMBEDDER.identity)
    steps: list[tuple[int, Callable[[], object]]] = [
        (1, lambda: put(store, source(), *map(str, range(20)))),
        (1, lambda: put(store, source(), *map(str, range(20)))),
        (1, lambda: put(store, source(content_sha256="bb"), *map(str, reversed(range(20))))),
        (2, lambda: put(store, source(mined_at=200), "1")),
        (3, lambda: put(store, source(mined_at=300), "1", "2")),
        (3, lambda: store.touch_source(source(mined_at=400))),
        (3, lambda: put(store, source("empty"))),
        (4, lambda: note(store, by_hand(), "a", "b")),
        (4, lambda: note(store, by_hand(), "a", "b")),
        (4, lambda: store.move_root("w", "/tree", "/moved")),
        (4, store.rebuild_words),
        (5, lambda: store.replace_vectors("other", [])),
    ]
    for number, (revision, step) in enumerate(steps):
        step()
        assert store.revision() == revision, number


def sync(index: dict[int, IndexEntry], position: int, store: Store) -> int:
    """What an index does: entries without a vector leave, all others are kept as told."""
    for entry in store.entries_since(position):
        index.pop(entry.key, None)
        if entry.vector is not None:
            index[entry.key] = entry
    return store.revision()


def test_an_index_that_follows_equals_one_built_anew(store):
    position, follower = 0, {}
    for instant, contents in enumerate([*STATES, *reversed(STATES)]):
        put(store, source(mined_at=instant, room="rs"[instant // 4 % 2]), *contents)
        put(store, source("other", mined_at=instant), *contents[:1])
        note(store, by_hand(mined_at=instant), f"note {instant}")
        store.touch_source(source(mined_at=instant))
        position = sync(follower, position, store)
        built: dict[int, IndexEntry] = {}
        sync(built, 0, store)
        assert follower == built
        assert list(built) == sorted(built)
        assert store.count_entries_since(0) == len(list(store.entries_since(0)))
        assert store.count_entries_since(position) == 0
        assert list(store.entries_since(position)) == []


def test_an_entry_says_what_an_index_must_know(store):
    put(store, source(wing="v", room="s"), "one", "two")
    put(store, source(wing="v", room="s", mined_at=200), "two")
    one, two = EMBEDDER.embed_documents(["one", "two"])

    assert list(store.entries_since(0)) == [
        IndexEntry(1, one, "v", "s", current=False),
        IndexEntry(2, two, "v", "s", current=True),
    ]
    assert list(store.entries_since(1)) == [IndexEntry(1, one, "v", "s", current=False)]


# --- vectors ----------------------------------------------------------------------------------


def test_vectors_come_back_bit_for_bit(store):
    put(store, source(), "one", "two")
    one, two = EMBEDDER.embed_documents(["one", "two"])
    assert store.vectors([2, 1, 5]) == {1: one, 2: two}
    assert store.vector_dimensions() == 16
    assert store.problems() == []


def test_an_empty_store_has_no_vectors(store):
    assert store.vector_dimensions() is None
    assert store.vectors([1]) == {}
    assert list(store.entries_since(0)) == []
    assert list(store.contents(5)) == []


def test_a_store_is_bound_to_one_embedder(store):
    assert store.embedder_identity() is None
    store.bind_embedder("one")
    store.bind_embedder("one")
    put(store, source(), "text")
    with pytest.raises(EmbedderMismatchError) as caught:
        store.bind_embedder("two")
    assert (caught.value.stored, caught.value.configured) == ("one", "two")
    assert store.embedder_identity() == "one"


def test_vectors_can_be_replaced_as_a_whole(store):
    store.bind_embedder(EMBEDDER.identity)
    put(store, source(), "one", "two")
    put(store, source(mined_at=200), "two")
    other = HashEmbedder(8, "B")
    pairs = [
        (key, vector)
        for batch in store.contents(1)
        for (key, text) in batch
        for vector in other.embed_documents([text])
    ]
    position = store.revision()
    store.replace_vectors(other.identity, iter(pairs))

    assert store.embedder_identity() == other.identity
    assert store.vectors([1, 2]) == dict(pairs)
    assert store.vector_dimensions() == 8
    # Every index must learn of it, from wherever it stood.
    assert [entry.vector for entry in store.entries_since(position)] == [
        vector for _, vector in pairs
    ]


def test_texts_are_handed_out_while_vectors_are_replaced(store):
    put(store, source(), *map(str, range(7)))

    def embed_all() -> Iterator[tuple[int, bytes]]:
        for batch in store.contents(3):
            vectors = EMBEDDER.embed_documents([content for _, content in batch])
            yield from zip((key for key, _ in batch), vectors, strict=True)

    store.replace_vectors("other", embed_all())
    assert set(store.vectors(range(20))) == set(range(1, 8))


class Failing(dict[str, bytes]):
    """Vectors of which one cannot be had."""

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: str) -> bytes:
        if key == "bad":
            raise RuntimeError("no vector")
        return EMBEDDER.embed_query(key)

    def __bool__(self) -> bool:
        return True


def fail_to_replace(store: Store, vectors: Mapping[str, bytes]) -> None:
    made = chunks("new", "one", "bad")
    store.replace_source(source(mined_at=200), made, vectors, SourceClass.FILE)


def fail_to_add(store: Store, vectors: Mapping[str, bytes]) -> None:
    made = [Chunk("new"), Chunk("bad")]
    place = by_hand(mined_at=200)
    store.add_manual(place, made, vectors, importance=1, source_class=SourceClass.PERSON)


def fail_to_embed(store: Store, vectors: Mapping[str, bytes]) -> None:
    def embed_all() -> Iterator[tuple[int, bytes]]:
        yield 1, EMBEDDER.embed_query("else")
        yield 2, vectors["bad"]

    store.replace_vectors("other", embed_all())


@pytest.mark.parametrize("fail", [fail_to_replace, fail_to_add, fail_to_embed])
def test_a_change_that_fails_leaves_nothing(store, fail):
    store.bind_embedder(EMBEDDER.identity)
    put(store, source(), "one", "two")
    before = dump(store)

    with pytest.raises(RuntimeError, match="no vector"):
        fail(store, Failing())

    assert dump(store) == before
    assert found(store, "new") == set()
    assert store.problems() == []
    assert put(store, source(mined_at=300), "one") == Changes(unchanged=1, superseded=1)


# --- places -----------------------------------------------------------------------------------


def test_neighbors_are_the_current_drawers_around(store):
    put(store, source("other"), *"abcdefg")
    put(store, source(), *"abcdefg")
    put(store, source(mined_at=200), *"abcefg")
    drawers = current(store)
    third = drawers[2]

    def around(distance: int) -> str:
        return "".join(drawer.content for drawer in store.neighbors(third, distance))

    assert [around(distance) for distance in range(5)] == ["", "be", "abef", "abefg", "abefg"]


def test_a_moved_tree_keeps_its_drawers(store):
    put(store, source(), "one", "two")
    put(store, source("sub/other.md"), "three")
    put(store, source(root="/elsewhere"), "four")
    before = current(store)
    store.move_root("w", "/tree", "/moved")
    store.move_root("w", "/unknown", "/moved")

    assert current(store) == []
    assert store.sources("w", "/tree") == {}
    assert store.roots("w") == [("w", "/elsewhere"), ("w", "/moved")]
    assert set(store.sources("w", "/moved")) == {"notes.md", "sub/other.md"}
    moved = store.drawers_of("w", "/moved", "notes.md")
    assert moved == [replace(drawer, root="/moved") for drawer in before]
    assert put(store, source(root="/moved"), "one", "two") == Changes(unchanged=2)


def test_only_one_wing_moves(store):
    put(store, source(wing="v"), "one")
    put(store, source(), "two")
    store.move_root("w", "/tree", "/moved")
    assert store.roots() == [("v", "/tree"), ("w", "/moved")]


def test_content_is_found_under_every_path_that_has_it_now(store):
    put(store, source("b"), "one")
    put(store, source("a"), "one")
    put(store, source("c", content_sha256="cc"), "one")
    put(store, source("d", root="/other"), "one")
    assert store.paths_of_content("w", "/tree", "aa") == ["a", "b"]

    put(store, source("b", content_sha256="bb"), "two")
    assert store.paths_of_content("w", "/tree", "aa") == ["a"]
    assert store.paths_of_content("v", "/tree", "aa") == []


def test_recent_is_one_drawer_a_source_by_weight_then_age(store):
    put(store, source("old", mined_at=100), "old one", "old two")
    put(store, source("new", mined_at=300), "new one", "new two")
    put(store, source("gone", mined_at=400), "gone")
    put(store, source("gone", mined_at=450))
    note(store, by_hand(mined_at=50), "weak", importance=1)
    note(store, by_hand(mined_at=60), "strong", importance=5)
    note(store, by_hand("b", wing="v", mined_at=500), "foreign")

    def recent(wing: str | None, limit: int) -> list[str]:
        return [drawer.content for drawer in store.recent(wing, limit)]

    assert recent("w", 10) == ["strong", "new one", "old one"]
    assert recent(None, 10) == ["strong", "foreign", "new one", "old one"]
    assert recent(None, 2) == ["strong", "foreign"]
    assert recent(None, 0) == recent("unknown", 10) == []


def test_the_newest_of_some_speakers_is_the_first_thing_that_they_said(store):
    asked = Chunk("asked", None, "", Voice("ana", SourceClass.PERSON))
    put(store, source(), Chunk("answered", None, "", Voice("bot", SourceClass.ASSISTANT)), asked)
    put(store, source("code.py"), "written")

    def recent(*classes):
        return [drawer.content for drawer in store.recent("w", 10, classes)]

    assert recent(SourceClass.PERSON) == ["asked"]
    assert recent(SourceClass.PERSON, SourceClass.FILE) == ["written", "asked"]
    assert recent(SourceClass.TOOL) == recent() == []


def test_rooms_count_current_drawers_and_their_sources(store):
    assert store.rooms() == ()
    put(store, source("a", wing="v", room="y", mined_at=100), "one", "two")
    put(store, source("b", wing="v", room="y", mined_at=300), "three")
    put(store, source("c", room="x", mined_at=200), "four")
    put(store, source("d", room="z"), "five")
    put(store, source("d", room="z", mined_at=400))

    assert store.rooms() == (RoomCount("v", "y", 3, 2, 300), RoomCount("w", "x", 1, 1, 200))


def test_a_wing_is_there_while_it_holds_a_current_drawer(store):
    assert not store.has_wing("w")
    put(store, source(), "text")
    assert store.has_wing("w")
    assert not any(map(store.has_wing, ["W", "", "%", "r", "w "]))
    put(store, source(mined_at=200))
    assert not store.has_wing("w")
    put(store, source(mined_at=300), "text")
    assert store.has_wing("w")


def test_the_status_adds_up(store):
    store.bind_embedder("me")
    put(store, source(), "one", "zw\u00f6lf")
    put(store, source(mined_at=200), "one")
    put(store, source("skipped", state=SourceState.SKIPPED, reason="binary"))

    status = store.status()
    assert (status.drawers, status.superseded, status.deleted) == (1, 1, 0)
    assert (status.sources, status.skipped_sources) == (1, 1)
    assert (status.embedder, status.revision, status.text_bytes) == ("me", 2, 9)
    assert status.rooms == store.rooms()
    assert store.count_drawers() == 2


def test_a_drawer_that_was_deleted_is_embedded_anew_and_can_come_back(store):
    put(store, source(), "one", "two")
    store.delete_drawers([1], 0)
    assert list(store.contents(5)) == [[(2, "two")]]
    assert list(store.contents(5, deleted=True)) == [[(1, "one"), (2, "two")]]

    texts = (pair for batch in store.contents(1, deleted=True) for pair in batch)
    store.replace_vectors("other", [(key, EMBEDDER.embed_query(text)) for key, text in texts])
    store.restore_drawers([1])
    assert store.problems() == []
    assert [entry.vector is not None for entry in store.entries_since(0)] == [True, True]


def test_texts_are_handed_out_in_batches_by_key(store):
    put(store, source(), *map(str, range(7)))
    put(store, source(mined_at=200), "3")

    batches = list(store.contents(3))
    assert [len(batch) for batch in batches] == [3, 3, 1]
    assert [pair for batch in batches for pair in batch] == [
        (key, str(key - 1)) for key in range(1, 8)
    ]
