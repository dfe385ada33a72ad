"""Keeping a vector index in step with its store."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from mempal.core.errors import BusyError, DamagedError, EmbedderError, EmbedderMismatchError
from mempal.core.model import Neighbor, Scope
from mempal.core.ports import Store
from mempal.core.vector import pack
from mempal.search.meaning import (
    IndexMeaning,
    needs_refresh,
    rebuild_index,
    reembed,
    refresh_index,
)
from mempal.testing import HashEmbedder, MemoryIndex, MemoryStore, SavedIndex
from tests.drawers import EMBEDDER, put, source


class Disk:
    """Where an index lives between openings; counts what is open and who wrote."""

    def __init__(self, *, volatile: bool = True) -> None:
        self.saved: list[SavedIndex] = []
        self.volatile = volatile
        self.open = 0
        self.locked = 0

    def open_index(self, store: Store) -> MemoryIndex | None:
        dimensions, identity = store.vector_dimensions(), store.embedder_identity()
        if dimensions is None or identity is None:
            return None
        disk = self
        self.open += 1

        class Opened(MemoryIndex):
            volatile_reads = self.volatile

            def commit(self, position: int) -> None:
                assert disk.locked
                super().commit(position)

            def close(self) -> None:
                disk.open -= 1
                super().close()

        return Opened(identity, dimensions, self.saved)

    def hold(self) -> AbstractContextManager[None]:
        @contextmanager
        def held() -> Iterator[None]:
            self.locked += 1
            yield
            self.locked -= 1

        return held()


class Silence:
    def start(self, what: str, total: int | None) -> None:
        self.total = total

    def advance(self, label: str = "") -> None:
        self.done = getattr(self, "done", 0) + 1


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore()
    made.bind_embedder(EMBEDDER.identity)
    put(made, source("a"), "kiwi", "mango")
    return made


def nearest(store: Store, disk: Disk, text: str) -> list[int]:
    meaning = IndexMeaning(store, EMBEDDER, disk.open_index(store))
    return [near.key for near in meaning.nearest(meaning.embed(text), 10, Scope())]


def test_a_reader_completes_an_index_for_itself(store):
    disk = Disk()
    refresh_index_always(store, disk)
    put(store, source("b"), "papaya")
    assert nearest(store, disk, "papaya")[0] == 3
    assert disk.saved[-1].position == 1
    meaning = IndexMeaning(store, EMBEDDER, disk.open_index(store))
    meaning.nearest(meaning.embed("papaya"), 10, Scope())
    assert meaning.notices() == []


def test_a_reader_that_may_not_says_what_is_missing(store):
    disk = Disk(volatile=False)
    refresh_index_always(store, disk)
    put(store, source("b"), "papaya", "guava")
    meaning = IndexMeaning(store, EMBEDDER, disk.open_index(store))
    found = meaning.nearest(meaning.embed("papaya"), 10, Scope())
    assert {near.key for near in found} <= {1, 2}
    (notice,) = meaning.notices()
    assert notice.startswith("2 drawers are not in the vector index yet")


def test_without_an_index_there_is_no_answer_by_meaning(store):
    meaning = IndexMeaning(store, EMBEDDER, None)
    assert meaning.nearest(meaning.embed("kiwi"), 10, Scope()) == []
    assert meaning.notices() == []


def test_another_embedder_is_refused_before_it_embeds(store):
    class Untouched(HashEmbedder):
        def embed_query(self, text: str) -> bytes:
            raise AssertionError("embedded")

    with pytest.raises(EmbedderMismatchError):
        IndexMeaning(store, Untouched(16, "B"), None).embed("x")


def test_an_unbound_store_takes_any_embedder():
    assert IndexMeaning(MemoryStore(), EMBEDDER, None).embed("x") == EMBEDDER.embed_query("x")


def refresh_index_always(store: Store, disk: Disk) -> None:
    assert rebuild_index(store, disk.open_index, disk) == "memory"
    assert disk.open == 0
    assert disk.locked == 0


def test_a_few_new_drawers_do_not_rewrite_an_index(store):
    disk = Disk()
    refresh_index_always(store, disk)
    put(store, source("few"), *map(str, range(100)))
    refresh_index(store, disk.open_index, disk)
    assert len(disk.saved) == 1
    put(store, source("many"), *map(str, range(1_000)))
    refresh_index(store, disk.open_index, disk)
    assert (len(disk.saved), disk.saved[-1].position) == (2, store.revision())
    assert len(disk.saved[-1].entries) == 1_102
    assert disk.open == 0


def test_an_index_that_no_reader_can_complete_is_written_at_once(store):
    disk = Disk(volatile=False)
    refresh_index_always(store, disk)
    index = disk.open_index(store)
    assert not needs_refresh(store, index)
    put(store, source("b"), "papaya")
    assert needs_refresh(store, index)
    refresh_index(store, disk.open_index, disk)
    assert disk.saved[-1].position == store.revision()
    assert 3 in disk.saved[-1].entries


def test_an_index_that_is_up_to_date_is_not_locked(store):
    disk = Disk()
    refresh_index_always(store, disk)

    class Locked:
        def hold(self) -> AbstractContextManager[None]:
            raise BusyError("locked")

    refresh_index(store, disk.open_index, Locked())
    put(store, source("many"), *map(str, range(1_000)))
    with pytest.raises(BusyError):
        refresh_index(store, disk.open_index, Locked())
    assert disk.open == 0


def test_what_another_process_wrote_before_the_lock_is_not_written_again(store):
    disk = Disk(volatile=False)
    refresh_index_always(store, disk)
    put(store, source("b"), "papaya")
    sought: list[int] = []
    entries_since = store.entries_since
    store.entries_since = lambda revision: sought.append(revision) or entries_since(revision)

    class Late(Disk):
        def hold(self) -> AbstractContextManager[None]:
            with disk.hold():
                other = disk.open_index(store)
                other.apply(entries_since(other.position()))
                other.commit(store.revision())
                other.close()
            return disk.hold()

    refresh_index(store, disk.open_index, Late())
    assert sought == [2]
    assert len(disk.saved[-1].entries) == 3


def test_an_empty_store_has_no_index():
    disk, store = Disk(), MemoryStore()
    assert rebuild_index(store, disk.open_index, disk) == "none"
    refresh_index(store, disk.open_index, disk)
    assert disk.saved == []
    assert disk.locked == 0


def test_an_index_is_closed_when_it_cannot_be_written(store):
    disk = Disk(volatile=False)

    def open_full(opened: Store) -> MemoryIndex:
        index = disk.open_index(opened)

        def fail(_: int) -> None:
            raise DamagedError("disk full")

        index.commit = fail
        return index

    for write in (refresh_index, rebuild_index):
        with pytest.raises(DamagedError):
            write(store, open_full, disk)
    assert disk.open == 0


@pytest.mark.parametrize("write", [refresh_index, rebuild_index])
def test_a_vector_that_does_not_fit_is_named_with_the_way_out(store, write):
    put_odd(store)
    disk = Disk(volatile=False)
    with pytest.raises(DamagedError, match="do not fit the memory index") as caught:
        write(store, disk.open_index, disk)
    assert "mempal reindex --reembed" in caught.value.hint
    assert disk.open == 0

    reembed(store, EMBEDDER, Silence())
    write(store, disk.open_index, disk)
    assert len(disk.saved[-1].entries) == 3


def put_odd(store: MemoryStore) -> None:
    """Store a text with a vector of another length than the others have."""
    kept = store.vectors([1, 2])
    put(store, source("odd"), "odd")
    store.replace_vectors(EMBEDDER.identity, [*kept.items(), (3, pack([1.0, 2.0]))])


# --- embedding again --------------------------------------------------------------------------


def test_everything_is_embedded_again_under_the_new_name(store):
    put(store, source("a", mined_at=200), "kiwi")
    other, progress = HashEmbedder(8, "B"), Silence()
    assert reembed(store, other, progress) == 2
    assert store.embedder_identity() == other.identity
    assert store.vectors([1, 2]) == dict(
        zip([1, 2], other.embed_documents(["kiwi", "mango"]), strict=True)
    )
    assert (progress.total, progress.done) == (2, 2)


def test_texts_are_embedded_in_batches(store, monkeypatch):
    monkeypatch.setattr("mempal.search.meaning._BATCH", 3)
    put(store, source("b"), *map(str, range(8)))
    sizes: list[int] = []

    class Counting(HashEmbedder):
        def embed_documents(self, texts):
            sizes.append(len(texts))
            return super().embed_documents(texts)

    assert reembed(store, Counting(16), Silence()) == 10
    assert sizes == [3, 3, 3, 1]


def test_an_embedder_that_fails_half_way_changes_nothing(store, monkeypatch):
    monkeypatch.setattr("mempal.search.meaning._BATCH", 1)
    before = store.vectors([1, 2]), store.embedder_identity(), store.revision()

    class Failing(HashEmbedder):
        def embed_documents(self, texts):
            if "mango" in texts:
                raise EmbedderError("gone")
            return super().embed_documents(texts)

    with pytest.raises(EmbedderError):
        reembed(store, Failing(16, "B"), Silence())
    assert (store.vectors([1, 2]), store.embedder_identity(), store.revision()) == before


def test_neighbors_are_those_of_the_scope(store):
    put(store, source("b", wing="v"), "kiwi")
    meaning = IndexMeaning(store, EMBEDDER, Disk().open_index(store))
    found = meaning.nearest(meaning.embed("kiwi"), 1, Scope(wing="v"))
    assert found == [Neighbor(3, pytest.approx(1.0, abs=0.01))]


def test_an_index_of_a_newer_state_of_the_database_is_not_believed():
    disk = Disk()
    lost, restored = MemoryStore(), MemoryStore()
    for store in (lost, restored):
        store.bind_embedder(EMBEDDER.identity)
    put(lost, source("a.md"), "one", "two")
    put(lost, source("b.md"), "of a state that is gone")
    rebuild_index(lost, disk.open_index, disk)
    put(restored, source("c.md"), "what an older copy holds")
    index = disk.open_index(restored)
    assert index is not None
    assert index.position() > restored.revision()
    meaning = IndexMeaning(restored, EMBEDDER, index)
    question = EMBEDDER.embed_query("what an older copy holds")
    found = meaning.nearest(question, 10, Scope())
    assert [near.key for near in found] == [entry.key for entry in restored.entries_since(0)]
    index.close()
    refresh_index(restored, disk.open_index, disk)
    assert disk.saved[-1].position == restored.revision()
    assert len(disk.saved[-1].entries) == 1
