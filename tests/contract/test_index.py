"""What every implementation of the port ``VectorIndex`` promises."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mempal.core.model import Neighbor, Scope
from mempal.core.ports import VectorIndex
from mempal.core.vector import pack, similarity
from tests.indexes import (
    DIMENSIONS,
    IDENTITY,
    SHELVES,
    Shelf,
    entry,
    fill,
    make_chroma_shelf,
    vector,
)
from tests.servers import ChromaServer, run_chroma

EVERYTHING = Scope(history=True)
EAST = vector(1)
NORTH_EAST = vector(1, 1)
NORTH = vector(0, 1)
WEST = vector(-1)
# One packing step, and what an approximate index may lose by storing another precision.
CLOSE = 0.01


SERVER = pytest.param("server", id="chroma server", marks=pytest.mark.chroma)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChromaServer]:
    with run_chroma(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(params=[*SHELVES, SERVER])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    if request.param == "server":
        shelf = make_chroma_shelf(tmp_path, request.getfixturevalue("server").url)
    else:
        shelf = request.param(tmp_path)
    yield shelf
    shelf.close()


@pytest.fixture
def index(shelf: Shelf) -> VectorIndex:
    return shelf.open()


def keys(found: list[Neighbor]) -> list[int]:
    return [neighbor.key for neighbor in found]


def test_a_new_index_holds_nothing(index: VectorIndex):
    assert index.position() == 0
    assert index.count() == 0
    assert index.nearest(EAST, 5, EVERYTHING) == []
    assert index.problems() == []


def test_the_most_similar_come_first(index: VectorIndex):
    fill(index, entry(1, WEST), entry(2, NORTH), entry(3, EAST), entry(4, NORTH_EAST))

    found = index.nearest(EAST, 4, EVERYTHING)

    assert keys(found) == [3, 4, 2, 1]
    for neighbor, stored in zip(found, (EAST, NORTH_EAST, NORTH, WEST), strict=True):
        assert neighbor.similarity == pytest.approx(similarity(EAST, stored), abs=CLOSE)
        assert -1 <= neighbor.similarity <= 1


def test_equally_similar_ones_come_by_key(index: VectorIndex):
    fill(index, *(entry(key, NORTH_EAST) for key in (9, 3, 12, 7)), entry(1, NORTH))

    assert keys(index.nearest(NORTH_EAST, 5, EVERYTHING)) == [3, 7, 9, 12, 1]
    assert keys(index.nearest(EAST, 5, EVERYTHING)) == [3, 7, 9, 12, 1]


def test_only_so_many_as_asked_for_come(index: VectorIndex):
    fill(index, *(entry(key, vector(1, key / 100)) for key in range(1, 31)))

    assert keys(index.nearest(EAST, 3, EVERYTHING)) == [1, 2, 3]
    assert keys(index.nearest(EAST, 1, EVERYTHING)) == [1]
    assert len(index.nearest(EAST, 10**12, EVERYTHING)) == 30


@pytest.mark.parametrize("limit", [0, -1])
def test_nothing_comes_when_nothing_is_asked_for(index: VectorIndex, limit: int):
    fill(index, entry(1, EAST))

    assert index.nearest(EAST, limit, EVERYTHING) == []


def test_a_query_without_direction_has_no_neighbors(index: VectorIndex):
    fill(index, entry(1, EAST))

    assert index.nearest(vector(0), 5, EVERYTHING) == []


def test_a_drawer_without_direction_is_not_in_the_index(index: VectorIndex):
    fill(index, entry(1, vector(0)), entry(2, EAST), entry(3, NORTH))
    fill(index, entry(3, vector(0)), position=2)

    assert keys(index.nearest(EAST, 5, EVERYTHING)) == [2]
    assert index.count() == 1


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(wing="a", history=True), [1, 2, 3]),
        (Scope(room="y", history=True), [3, 4]),
        (Scope(wing="a", room="y", history=True), [3]),
        (Scope(wing="none", history=True), []),
        (Scope(wing="b", room="x"), []),
        (Scope(), [1, 3, 4]),
        (Scope(wing="a"), [1, 3]),
        (EVERYTHING, [1, 2, 3, 4]),
        (Scope(as_of=1_700_000_000_000), [1, 2, 3, 4]),
        (Scope(wing="A", history=True), []),
        (Scope(wing="", history=True), []),
    ],
)
def test_a_scope_restricts_the_drawers(index: VectorIndex, scope: Scope, expected: list[int]):
    fill(
        index,
        entry(1, EAST, "a", "x"),
        entry(2, EAST, "a", "x", current=False),
        entry(3, EAST, "a", "y"),
        entry(4, EAST, "b", "y"),
    )

    assert keys(index.nearest(EAST, 10, scope)) == expected


def test_a_rare_scope_is_found_among_many_nearer_drawers(index: VectorIndex):
    many = [entry(key, vector(1, key / 1000), "many") for key in range(1, 301)]
    fill(index, *many, entry(500, WEST, "few"), entry(501, NORTH, "few", current=False))

    assert keys(index.nearest(EAST, 5, Scope(wing="few"))) == [500]
    assert keys(index.nearest(EAST, 5, Scope(wing="few", history=True))) == [501, 500]


@pytest.mark.parametrize("name", ["a\0b", "\ud800", 'quote"', "back\\slash", "日本", "a b", "$and"])
def test_any_name_is_told_from_others(index: VectorIndex, name: str):
    fill(
        index,
        entry(1, EAST, name, name),
        entry(2, EAST, name + "x", "x"),
        entry(3, EAST, repr(name), "x"),
    )

    assert keys(index.nearest(EAST, 5, Scope(wing=name))) == [1]
    assert keys(index.nearest(EAST, 5, Scope(room=name))) == [1]


def test_applying_the_same_entries_again_changes_nothing(index: VectorIndex):
    entries = [entry(1, EAST), entry(2, NORTH), entry(3, None)]
    fill(index, *entries)
    before = index.nearest(EAST, 5, EVERYTHING)

    index.apply(entries)
    fill(index, *entries)

    assert index.nearest(EAST, 5, EVERYTHING) == before
    assert index.count() == 2


def test_an_entry_without_a_vector_removes_the_drawer(index: VectorIndex):
    fill(index, entry(1, EAST), entry(2, NORTH))
    fill(index, entry(1, None), entry(77, None), position=2)

    assert keys(index.nearest(EAST, 5, EVERYTHING)) == [2]
    assert index.count() == 1


def test_a_removed_drawer_can_come_back(index: VectorIndex):
    fill(index, entry(1, EAST))
    fill(index, entry(1, None), position=2)
    assert index.nearest(EAST, 5, EVERYTHING) == []
    assert index.count() == 0

    fill(index, entry(1, NORTH), position=3)

    assert keys(index.nearest(EAST, 5, EVERYTHING)) == [1]


def test_an_entry_replaces_vector_and_scope(index: VectorIndex):
    fill(index, entry(1, EAST, "a"), entry(2, NORTH_EAST, "a"))
    fill(index, entry(1, NORTH, "b", current=False), position=2)

    assert keys(index.nearest(EAST, 5, EVERYTHING)) == [2, 1]
    assert keys(index.nearest(EAST, 5, Scope(wing="a"))) == [2]
    assert keys(index.nearest(EAST, 5, Scope(wing="b"))) == []
    assert keys(index.nearest(EAST, 5, Scope(wing="b", history=True))) == [1]
    assert index.count() == 2


def test_of_several_entries_for_one_drawer_the_last_counts(index: VectorIndex):
    index.apply([entry(1, EAST), entry(2, EAST), entry(1, NORTH)])
    index.apply([entry(2, None), entry(3, None), entry(3, WEST)])
    index.commit(1)

    assert keys(index.nearest(NORTH, 5, EVERYTHING)) == [1, 3]


def test_entries_may_come_in_any_order_and_with_large_keys(index: VectorIndex):
    fill(index, entry(2**53 + 1, EAST), entry(5, EAST), entry(2**31, EAST))
    fill(index, entry(2**32, EAST), entry(1, EAST), position=2)

    assert keys(index.nearest(EAST, 9, EVERYTHING)) == [1, 5, 2**31, 2**32, 2**53 + 1]


def test_a_commit_lasts(shelf: Shelf, index: VectorIndex):
    fill(index, entry(1, EAST, "a"), entry(2, NORTH, "b"), position=41)
    before = index.nearest(EAST, 5, EVERYTHING)
    assert index.position() == 41
    index.close()

    again = shelf.open()

    assert again.position() == 41
    assert again.count() == 2
    assert again.nearest(EAST, 5, EVERYTHING) == before
    assert keys(again.nearest(EAST, 5, Scope(wing="b"))) == [2]


def test_a_position_alone_can_be_committed(shelf: Shelf, index: VectorIndex):
    fill(index, entry(1, EAST), position=3)
    index.position()
    index.commit(8)

    for each in (index, shelf.open()):
        assert each.position() == 8
        assert keys(each.nearest(EAST, 5, EVERYTHING)) == [1]


def test_an_empty_store_has_a_position_too(shelf: Shelf, index: VectorIndex):
    fill(index, position=5)

    again = shelf.open()

    assert again.position() == 5
    assert again.count() == 0
    assert again.nearest(EAST, 5, EVERYTHING) == []
    fill(again, entry(1, EAST), position=6)
    assert keys(again.nearest(EAST, 5, EVERYTHING)) == [1]


def test_others_do_not_see_what_is_not_committed(shelf: Shelf, index: VectorIndex):
    index.apply([entry(1, EAST)])
    assert shelf.open().position() == 0
    assert shelf.open().nearest(EAST, 5, EVERYTHING) == []
    index.commit(1)

    index.position()
    index.apply([entry(1, None), entry(2, EAST)])

    other = shelf.open()
    assert other.position() == 1
    assert other.count() == 1
    assert keys(other.nearest(EAST, 5, EVERYTHING)) == [1]


def test_closing_forgets_what_is_not_committed(shelf: Shelf, index: VectorIndex):
    fill(index, entry(1, EAST))
    index.apply([entry(2, EAST)])
    index.close()

    assert keys(shelf.open().nearest(EAST, 5, EVERYTHING)) == [1]


def test_an_instance_sees_what_another_commits(shelf: Shelf, index: VectorIndex):
    fill(index, entry(1, EAST))
    reader = shelf.open()
    assert keys(reader.nearest(EAST, 5, EVERYTHING)) == [1]

    for position in (2, 3):
        index.position()
        fill(index, entry(position, EAST), position=position)

        assert reader.position() == position
        assert reader.count() == position
        assert keys(reader.nearest(EAST, 5, EVERYTHING)) == [1, 2, 3][:position]


def test_instances_may_take_turns_writing(shelf: Shelf):
    pair = shelf.open(), shelf.open()
    for number in range(1, 7):
        writer = pair[number % 2]
        assert writer.position() == number - 1
        fill(writer, entry(number, vector(1, number)), position=number)

    for each in (*pair, shelf.open()):
        assert each.position() == 6
        assert keys(each.nearest(EAST, 9, EVERYTHING)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("length", [DIMENSIONS - 1, DIMENSIONS + 1, 0])
def test_a_vector_of_the_wrong_length_is_refused_before_anything_changes(
    shelf: Shelf, index: VectorIndex, length: int
):
    fill(index, entry(1, EAST))
    wrong = pack([1.0] * length)

    with pytest.raises(ValueError, match=f"{length} components"):
        index.apply([entry(1, None), entry(2, NORTH), entry(3, wrong)])
    with pytest.raises(ValueError, match=f"{length} components"):
        index.nearest(wrong, 5, EVERYTHING)
    index.commit(2)

    for each in (index, shelf.open()):
        assert each.position() == 2
        assert keys(each.nearest(EAST, 5, EVERYTHING)) == [1]


def test_a_reset_empties_the_index_for_others_with_the_next_commit(
    shelf: Shelf, index: VectorIndex
):
    fill(index, entry(1, EAST), entry(2, NORTH), position=7)
    reader = shelf.open()
    assert keys(reader.nearest(EAST, 5, EVERYTHING)) == [1, 2]

    index.apply([entry(9, EAST)])
    index.reset()

    assert index.position() == 0
    assert index.count() == 0
    assert index.nearest(EAST, 5, EVERYTHING) == []
    assert reader.position() == 7
    assert keys(reader.nearest(EAST, 5, EVERYTHING)) == [1, 2]
    fill(index, entry(3, NORTH), position=7)
    for each in (index, reader, shelf.open()):
        assert each.position() == 7
        assert keys(each.nearest(EAST, 5, EVERYTHING)) == [3]


def test_closing_forgets_a_reset(shelf: Shelf, index: VectorIndex):
    fill(index, entry(1, EAST))
    index.reset()
    index.close()

    assert keys(shelf.open().nearest(EAST, 5, EVERYTHING)) == [1]


@pytest.mark.parametrize(
    ("identity", "dimensions"), [("test:B", DIMENSIONS), (IDENTITY, DIMENSIONS + 1)]
)
def test_an_index_of_another_embedder_counts_as_none(
    shelf: Shelf, index: VectorIndex, identity: str, dimensions: int
):
    fill(index, entry(1, EAST), position=4)
    east = pack([1.0, *[0.0] * (dimensions - 1)])

    other = shelf.open(identity, dimensions)

    assert other.position() == 0
    assert other.count() == 0
    assert other.nearest(east, 5, EVERYTHING) == []
    fill(other, entry(2, east), position=5)
    assert keys(shelf.open(identity, dimensions).nearest(east, 5, EVERYTHING)) == [2]
    assert shelf.open().position() == 0


def test_a_sound_index_has_no_problems(index: VectorIndex):
    fill(index, *(entry(key, vector(1, key % 7, key % 11)) for key in range(1, 200)))
    fill(index, *(entry(key, NORTH) for key in range(200, 240)), entry(3, None), position=2)

    assert index.problems() == []


@pytest.mark.parametrize("shelf", SHELVES[:2], indirect=True)
def test_a_reader_may_complete_a_volatile_index_for_itself(shelf: Shelf, index: VectorIndex):
    assert index.volatile_reads
    fill(index, entry(1, EAST), entry(2, NORTH), entry(4, WEST))
    reader = shelf.open()
    assert reader.position() == 1
    missing = [entry(1, None), entry(2, EAST, current=False), entry(3, EAST)]

    for _ in range(2):
        reader.apply(missing)
        assert keys(reader.nearest(EAST, 5, EVERYTHING)) == [2, 3, 4]
        assert keys(reader.nearest(EAST, 5, Scope())) == [3, 4]
        assert reader.count() == 3
        assert reader.position() == 1

    assert keys(shelf.open().nearest(EAST, 5, EVERYTHING)) == [1, 2, 4]


@pytest.mark.parametrize("shelf", SHELVES[:2], indirect=True)
def test_what_a_reader_applied_gives_way_to_a_newer_commit(shelf: Shelf, index: VectorIndex):
    fill(index, entry(1, EAST))
    reader = shelf.open()
    reader.position()
    reader.apply([entry(2, EAST)])
    index.position()
    fill(index, entry(2, None), entry(3, EAST), position=3)

    assert reader.position() == 3
    assert keys(reader.nearest(EAST, 5, EVERYTHING)) == [1, 3]
