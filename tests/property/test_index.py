"""Whatever is done to them, the exact index and the one in memory agree."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.core.model import IndexEntry, Scope
from mempal.core.ports import VectorIndex
from mempal.core.vector import pack
from tests.indexes import Shelf, make_exact_shelf, make_memory_shelf

DIMENSIONS = 3
NAMES = st.sampled_from(["a", "b", "\ud800", ""])
# Small whole numbers, so that ties and vectors without direction are common.
VECTORS = st.lists(st.integers(-2, 2), min_size=DIMENSIONS, max_size=DIMENSIONS).map(pack)
ENTRIES = st.lists(
    st.builds(
        IndexEntry, st.integers(1, 12), st.none() | VECTORS, NAMES, NAMES, current=st.booleans()
    ),
    max_size=8,
)
SCOPES = st.builds(Scope, st.none() | NAMES, st.none() | NAMES, history=st.booleans())
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), ENTRIES),
        st.tuples(st.just("commit"), st.integers(0, 9)),
        st.tuples(st.sampled_from(["reset", "reopen", "measure"]), st.none()),
        st.tuples(st.just("search"), st.tuples(VECTORS, st.integers(0, 15), SCOPES)),
        st.tuples(st.just("read"), st.tuples(VECTORS, st.integers(0, 15), SCOPES)),
        st.tuples(st.just("complete"), ENTRIES),
    ),
    max_size=25,
)


class Pair:
    """A writer and a reader of one index; each method returns what can be seen of what it does."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._writer, self._reader = self._open(), self._open()

    def _open(self) -> VectorIndex:
        return self._shelf.open("test", DIMENSIONS)

    def apply(self, entries: list[IndexEntry]) -> object:
        # As every writer does: it asks what is missing before it adds to it.
        return self._writer.position(), self._writer.apply(entries)

    def commit(self, position: int) -> object:
        return self._writer.commit(position)

    def reset(self, _: None) -> object:
        return self._writer.reset()

    def reopen(self, _: None) -> object:
        self._writer.close()
        self._writer = self._open()
        return self._writer.position()

    def measure(self, _: None) -> object:
        return [(index.position(), index.count()) for index in (self._writer, self._reader)]

    def search(self, question) -> object:
        return self._writer.nearest(*question)

    def read(self, question) -> object:
        return self._reader.position(), self._reader.nearest(*question)

    def complete(self, entries: list[IndexEntry]) -> object:
        return self._reader.position(), self._reader.apply(entries), self._reader.count()


@given(STEPS)
def test_the_exact_index_agrees_with_the_one_in_memory(steps):
    with tempfile.TemporaryDirectory() as folder:
        shelves = make_exact_shelf(Path(folder)), make_memory_shelf(Path(folder))
        exact, memory = map(Pair, shelves)
        for step, argument in steps:
            assert getattr(exact, step)(argument) == getattr(memory, step)(argument)
        for shelf in shelves:
            shelf.close()


@given(ENTRIES, st.integers(0, DIMENSIONS * 2).filter(lambda length: length != DIMENSIONS))
def test_a_wrong_vector_among_right_ones_changes_nothing(entries, length):
    wrong = IndexEntry(1, pack([1.0] * length), "a", "a")
    with tempfile.TemporaryDirectory() as folder:
        shelf = make_exact_shelf(Path(folder))
        index = shelf.open("test", DIMENSIONS)
        index.apply(entries)
        before = index.nearest(pack([1, 0, 0]), 99, Scope(history=True))

        with pytest.raises(ValueError, match="components"):
            index.apply([IndexEntry(1, None, "a", "a"), *entries, wrong])

        assert index.nearest(pack([1, 0, 0]), 99, Scope(history=True)) == before
        shelf.close()
