"""Answers by meaning: the embedder, the index, and what keeps the index in step with the store."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mempal.core.errors import DamagedError, EmbedderMismatchError
from mempal.core.model import IndexEntry, Neighbor, Scope
from mempal.core.ports import Embedder, Lock, Progress, Store, VectorIndex

# An index that readers can complete for themselves is written anew only when it lacks this many
# drawers, or this share of what it holds; a single note does not rewrite it.
_PATIENCE = 512
_PATIENCE_SHARE = 0.05
# Texts embedded in one call.
_BATCH = 256

OpenIndex = Callable[[Store], VectorIndex | None]


class IndexMeaning:
    """Answers from a vector index, completed from the store where the index is behind.

    Args:
        store: Record of truth.
        embedder: Embeds the question.
        index: Index opened for the store's embedder; ``None`` when nothing was embedded yet.
    """

    def __init__(self, store: Store, embedder: Embedder, index: VectorIndex | None) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._pending = 0

    def embed(self, text: str) -> bytes:
        """Return the packed vector of a question.

        Raises:
            EmbedderMismatchError: The palace was embedded by another embedder.
            EmbedderError: The embedder does not answer.
        """
        stored = self._store.embedder_identity()
        if stored is not None and stored != self._embedder.identity:
            raise EmbedderMismatchError(stored, self._embedder.identity)
        return self._embedder.embed_query(text)

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        """Return the drawers most similar to a vector, best first."""
        if self._index is None:
            return []
        if self._index.position() != self._store.revision():
            if self._index.volatile_reads:
                _catch_up(self._index, self._store)
            else:
                self._pending = self._store.count_entries_since(
                    find_start(self._index, self._store)
                )
        with _refusing_misfits(self._index):
            return self._index.nearest(vector, limit, scope)

    def notices(self) -> list[str]:
        """Return why answers by meaning may be incomplete."""
        if not self._pending:
            return []
        missing = f"{self._pending} drawers are not in the vector index yet"
        return [f"{missing} and were searched by word only (`mempal reindex` completes it)"]


def needs_refresh(store: Store, index: VectorIndex) -> bool:
    """Return whether an index lacks enough of the store to be worth writing."""
    position, revision = index.position(), store.revision()
    if position == revision:
        return False
    if position > revision or not index.volatile_reads:
        return True
    return store.count_entries_since(position) > max(_PATIENCE, _PATIENCE_SHARE * index.count())


def refresh_index(store: Store, open_index: OpenIndex, lock: Lock) -> None:
    """Bring the index up to the store, if it lacks enough to be worth it.

    The index is opened again under the lock, since another process may have written it in the
    meantime.

    Raises:
        BusyError: Another process kept the lock too long; its run, or the next one, does the work.
        DamagedError: The index cannot be written.
    """
    with _opened(store, open_index) as index:
        if index is None or not needs_refresh(store, index):
            return
    with lock.hold(), _opened(store, open_index) as index:
        if index is not None:
            revision = store.revision()
            _catch_up(index, store)
            index.commit(revision)


def find_start(index: VectorIndex, store: Store) -> int:
    """Return the revision from which an index has to be brought up.

    An index that is ahead of the database belongs to another one: an older copy was put back, and
    the same keys name other drawers now. Nothing of it counts.
    """
    position = index.position()
    return position if position <= store.revision() else 0


def _catch_up(index: VectorIndex, store: Store) -> None:
    start = find_start(index, store)
    if start == 0:
        index.reset()
    _apply(index, store.entries_since(start))


def rebuild_index(store: Store, open_index: OpenIndex, lock: Lock) -> str:
    """Write the index anew from the stored vectors.

    Return its name, or ``none`` when there are none.
    """
    with lock.hold(), _opened(store, open_index) as index:
        if index is None:
            return "none"
        revision = store.revision()
        index.reset()
        _apply(index, store.entries_since(0))
        index.commit(revision)
        return index.name


def _apply(index: VectorIndex, entries: Iterator[IndexEntry]) -> None:
    with _refusing_misfits(index):
        index.apply(entries)


@contextmanager
def _refusing_misfits(index: VectorIndex) -> Iterator[None]:
    """Name a vector of the wrong length, which a model that changed under its name may give."""
    try:
        yield
    except ValueError as error:
        raise DamagedError(
            f"vectors do not fit the {index.name} index: {error}",
            hint="`mempal reindex --reembed` embeds everything again",
        ) from error


@contextmanager
def _opened(store: Store, open_index: OpenIndex) -> Iterator[VectorIndex | None]:
    index = open_index(store)
    try:
        yield index
    finally:
        if index is not None:
            index.close()


def reembed(store: Store, embedder: Embedder, progress: Progress) -> int:
    """Embed every drawer anew and bind the store to ``embedder``, all or nothing.

    Returns:
        The number of drawers embedded.

    Raises:
        EmbedderError: The embedder does not answer; the store keeps its former vectors.
    """
    progress.start("embedding", store.count_drawers())
    count = 0

    def embed_all() -> Iterator[tuple[int, bytes]]:
        nonlocal count
        for batch in store.contents(_BATCH, deleted=True):
            vectors = embedder.embed_documents([content for _, content in batch])
            for (key, _), vector in zip(batch, vectors, strict=True):
                progress.advance()
                count += 1
                yield key, vector

    store.replace_vectors(embedder.identity, embed_all())
    return count
