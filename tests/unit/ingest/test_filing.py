"""Sources wait for each other, are embedded together, and are stored one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from mempal.core.errors import VectorsMissingError
from mempal.core.model import Changes, Chunk, Source, SourceClass
from mempal.ingest import filing as module
from mempal.ingest.filing import Filer, Part
from mempal.testing import HashEmbedder, MemoryStore
from tests.drawers import chunks, dump, put, source


@dataclass
class Counting:
    """An embedder that remembers the sizes of its batches."""

    sizes: list[int] = field(default_factory=list)
    opened: int = 0

    def open(self) -> HashEmbedder:
        self.opened += 1
        model, sizes = HashEmbedder(4), self.sizes

        class Counted(HashEmbedder):
            def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
                sizes.append(len(texts))
                return model.embed_documents(texts)

        return Counted(4)


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def filer(store, counting) -> Filer:
    return Filer(store, counting.open, dry_run=False)


def part(path: str, *contents: str, **values) -> Part:
    return Part(source(path), tuple(chunks(*contents)), **values)


def texts(store: MemoryStore, path: str) -> list[str]:
    return [drawer.content for drawer in store.drawers_of("w", "/tree", path)]


def test_sources_wait_and_are_embedded_together(filer, store, counting):
    filer.add(part("a", "one", "two"))
    filer.add(part("b", "two", "three"))
    assert (store.count_drawers(), counting.sizes) == (0, [])
    filer.flush()
    assert counting.sizes == [3]  # what stands twice is embedded once
    assert (texts(store, "a"), texts(store, "b")) == (["one", "two"], ["two", "three"])
    assert filer.changes == Changes(added=4)
    filer.flush()
    assert filer.changes == Changes(added=4)


def test_enough_texts_are_a_batch_and_a_long_source_is_several(filer, store, counting):
    filer.add(part("a", *(f"text {number}" for number in range(600))))
    assert counting.sizes == [256, 256, 88]
    assert store.count_drawers() == 600
    assert counting.opened == 1


def test_many_sources_without_new_text_are_not_held_back(filer, store, counting):
    for number in range(300):
        filer.add(Part(source(f"f{number}"), ()))
    assert len(store.sources("w", "/tree")) >= 256
    assert counting.opened == 0


def test_long_texts_do_not_wait_for_many(filer, store, monkeypatch):
    monkeypatch.setattr(module, "_MOST_WAITING", 100)
    filer.add(part("a", "x" * 60))
    assert store.count_drawers() == 0
    filer.add(part("b", "y" * 60))
    assert store.count_drawers() == 2


def test_what_does_not_change_is_not_embedded(filer, store, counting):
    put(store, source("a"), "one", "two")
    filer.add(part("a", "one", "two", "three"))
    filer.add(Part(source("a", size=7), None))
    filer.flush()
    assert counting.sizes == [1]
    assert filer.changes == Changes(added=1, unchanged=2)
    assert store.sources("w", "/tree")["a"].size == 7


def test_sources_are_stored_in_the_order_they_came(filer, store):
    filer.add(part("a", "one"))
    filer.add(part("a", "two"))
    filer.add(part("a", "one", "three"))
    filer.flush()
    assert texts(store, "a") == ["one", "three"]
    assert filer.changes == Changes(added=3, superseded=2, restored=1)


def test_a_source_may_be_settled_before_its_turn(filer, store):
    filer.add(part("a", "one"))
    filer.settle(source("b").place)
    assert store.count_drawers() == 0
    filer.settle(source("a").place)
    assert texts(store, "a") == ["one"]


def test_conversations_may_be_settled_before_their_turn(filer, store):
    talk = replace(source("claude:s"), session="s")
    filer.add(Part(talk, tuple(chunks("one"))))
    filer.settle_sessions({"t", "u"})
    assert store.count_drawers() == 0
    filer.settle_sessions({"s"})
    assert store.count_drawers() == 1


def test_a_later_part_begins_where_it_says(filer, store):
    filer.add(part("a", "one", "two", "three"))
    filer.flush()
    filer.add(part("a", "TWO", "THREE", "four", start=1))
    filer.flush()
    assert texts(store, "a") == ["one", "TWO", "THREE", "four"]
    assert [drawer.chunk_index for drawer in store.drawers_of("w", "/tree", "a")] == [0, 1, 2, 3]


def test_who_speaks_is_told_by_the_part(filer, store):
    filer.add(part("a", "one", source_class=SourceClass.IMPORT))
    filer.flush()
    assert store.drawers_of("w", "/tree", "a")[0].source_class is SourceClass.IMPORT


def test_a_dry_run_counts_and_writes_nothing(store, counting):
    put(store, source("a"), "one", "two")
    before = dump(store)
    filer = Filer(store, counting.open, dry_run=True)
    filer.add(part("a", "two", "three"))
    filer.add(part("b", "new"))
    filer.add(Part(source("c"), None))
    filer.flush()
    assert filer.changes == Changes(added=2, unchanged=1, superseded=1)
    assert (dump(store), counting.opened) == (before, 0)


def test_a_dry_run_looks_where_a_moved_source_still_is(store, counting):
    put(store, source("a", root="/old", room="before"), "one", "two")
    filer = Filer(store, counting.open, dry_run=True, former="/old")
    former = source("a", root="/old", room="before")
    filer.add(Part(source("z", root="/tree"), tuple(chunks("one", "2")), former=former))
    filer.flush()
    assert filer.changes == Changes(added=1, unchanged=1, superseded=1)


def test_a_dry_run_without_a_palace_counts_everything_as_new(counting):
    filer = Filer(None, counting.open, dry_run=True)
    filer.add(part("a", "one", "two"))
    filer.add(Part(source("b"), None))
    filer.flush()
    assert filer.changes == Changes(added=2)
    assert counting.opened == 0


class Racing(MemoryStore):
    """A store in which another process supersedes the wanted text just before it is written."""

    lost = 0

    def replace_source(
        self,
        source: Source,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, bytes],
        source_class: SourceClass,
        start: int = 0,
    ) -> Changes:
        if self.lost:
            self.lost -= 1
            self.remove_all()
        return super().replace_source(source, chunks, vectors, source_class, start)

    def remove_all(self) -> None:
        self._remove(list(self._held))


def test_text_that_another_process_took_away_is_embedded_after_all(counting):
    store = Racing()
    put(store, source("a"), "one", "two")
    store.lost = 1
    filer = Filer(store, counting.open, dry_run=False)
    filer.add(part("a", "one", "two", "three"))
    filer.flush()
    assert texts(store, "a") == ["one", "two", "three"]
    assert counting.sizes == [1, 3]
    assert filer.changes == Changes(added=3)


def test_a_store_that_never_has_enough_is_given_up(counting, monkeypatch):
    asked = []

    def refuse(*_: object) -> Changes:
        asked.append(1)
        raise VectorsMissingError

    store = MemoryStore()
    monkeypatch.setattr(store, "replace_source", refuse)
    filer = Filer(store, counting.open, dry_run=False)
    filer.add(part("a", "one"))
    with pytest.raises(VectorsMissingError):
        filer.flush()
    assert len(asked) == 5


def test_what_cannot_be_embedded_is_not_stored_by_half(store):
    def refuse() -> HashEmbedder:
        raise RuntimeError("no embedder today")

    filer = Filer(store, refuse, dry_run=False)
    filer.add(Part(source("a"), ()))
    filer.add(part("b", "one"))
    with pytest.raises(RuntimeError):
        filer.flush()
    assert not store.sources("w", "/tree")
