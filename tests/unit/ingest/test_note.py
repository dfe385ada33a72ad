"""Text given by hand: stored as it is, once in each wing and room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.core.errors import EmbedderMismatchError, UsageError
from mempal.core.model import Addition, SourceClass, SourceKind
from mempal.ingest.note import add_note, prepare_note
from mempal.testing import HashEmbedder, MemoryStore


def add(store: MemoryStore, text: str, wing: str = "w", room: str = "r", **options) -> Addition:
    note = prepare_note(text, wing, room, options.get("source", ""))
    return add_note(store, HashEmbedder(16), note, options.get("importance", 0))


def texts(store: MemoryStore) -> list[str]:
    return [drawer.content for drawer in store.get(range(1, store.count_drawers() + 1))]


@given(st.text(max_size=800).filter(str.strip))
def test_a_text_of_up_to_800_characters_is_one_drawer(text):
    note = prepare_note(text, "w", "r", "")
    source, chunks = note.source, note.chunks
    (chunk,) = chunks
    assert chunk.content == text
    assert chunk.span is None
    assert (source.kind, source.root, source.wing, source.room) == (SourceKind.MANUAL, "", "w", "r")


@given(st.text(st.sampled_from("ab# \n\r\t`é決"), min_size=801, max_size=4000).filter(str.strip))
def test_a_longer_text_is_cut_and_can_be_rebuilt(text):
    chunks = prepare_note(text, "w", "r", "").chunks
    assert len(chunks) > 1
    assert max(len(chunk.content) for chunk in chunks) <= 800
    assert "".join(chunk.content for chunk in chunks) == text


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_kept():
    text = "\U0001f680 whole, \ud83d\ude80 joined, \ud83d half"
    (chunk,) = prepare_note(text, "w", "r", "").chunks
    assert chunk.content == "\U0001f680 whole, \U0001f680 joined, \ufffd half"


@pytest.mark.parametrize(
    ("text", "wing", "room"),
    [
        ("", "w", "r"),
        (" \n\t", "w", "r"),
        ("x", " ", "r"),
        ("x", "w", "a\x1bb"),
        ("x", "\ud83d", "r"),
    ],
)
def test_what_cannot_be_stored_is_refused(text, wing, room):
    with pytest.raises(UsageError):
        prepare_note(text, wing, room, "")


@pytest.mark.parametrize("importance", [-1, 6, 10**9])
def test_importance_has_bounds(importance):
    store = MemoryStore()
    with pytest.raises(UsageError):
        add(store, "x", importance=importance)
    assert store.revision() == 0
    assert store.embedder_identity() is None


def test_the_same_text_is_stored_once_in_a_room():
    store = MemoryStore()
    first = add(store, "Tills close at five.")
    again = add(store, "Tills close at five.")
    assert (first.created, again.created) == (True, False)
    assert again.duplicate_of == first.drawer_ids[0]
    assert add(store, "Tills close at five.", room="other").created
    assert add(store, "Tills close at five.", wing="v").created
    assert store.count_drawers() == 3


def test_names_are_kept_as_spelled_and_compared_exactly():
    store = MemoryStore()
    names = [
        ("a_b", "c"),
        ("a", "b_c"),
        ("ab", "c"),
        ("a", "bc"),
        ("Ops Team", "r"),
        ("ops-team", "r"),
    ]
    ids = [add(store, "one sentence", wing, room).drawer_ids[0] for wing, room in names]
    assert len(set(ids)) == len(names)
    assert [(room.wing, room.room) for room in store.rooms()] == sorted(names)
    assert not add(store, "one sentence", " Ops Team ").created


def test_a_source_can_be_named_and_holds_several_texts():
    store = MemoryStore()
    add(store, "first", source="meeting 12")
    add(store, "second", source=" meeting 12 ")
    drawers = store.get([1, 2])
    assert {drawer.source_file for drawer in drawers} == {"meeting 12"}
    assert {drawer.source_class for drawer in drawers} == {SourceClass.PERSON}
    assert [drawer.chunk_index for drawer in drawers] == [0, 1]
    unnamed = prepare_note("third", "w", "r", "").source.path
    assert unnamed.startswith("mempal://add/")
    assert unnamed != prepare_note("third", "w", "q", "").source.path


def test_another_embedder_is_refused_before_anything_is_stored():
    store = MemoryStore()
    add(store, "first")
    with pytest.raises(EmbedderMismatchError):
        add_note(store, HashEmbedder(8), prepare_note("second", "w", "r", ""), 0)
    assert texts(store) == ["first"]


def test_secrets_are_taken_out_of_text_and_source_and_counted():
    token = "gh" + "p_" + "k3Yw9QzT7bNc2Lr8VxJf5Hp1Ds6Gm4Uo0EaIq"[:36]
    note = prepare_note(f"the token is {token}", "w", "r", f"https://me:{token}@example.invalid/")
    assert note.chunks[0].content == "the token is [redacted:github-token]"
    assert token not in note.source.path
    assert note.redactions == {"github-token": 1}

    addition = add_note(MemoryStore(), HashEmbedder(8), note, 0)
    assert addition.redactions == {"github-token": 1}
