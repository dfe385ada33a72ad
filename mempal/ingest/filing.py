"""Storing what was read: sources wait until there are enough texts to embed them in one call.

Each source is stored in a transaction of its own, in the order in which it was added, so a run that
is stopped leaves whole sources only.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from mempal.core.errors import VectorsMissingError
from mempal.core.model import Changes, Chunk, Place, Source, SourceClass
from mempal.core.ports import Embedder, Store

# Texts embedded in one call: enough to be efficient, few enough to keep memory small.
_BATCH = 256
# Characters that wait for others before they are stored; a run of files without new text (a dry
# run, changed rooms) would otherwise be held whole.
_MOST_WAITING = 1_000_000
# How often a source is tried again that another process changed at the same moment.
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Part:
    """One source as it is to be stored.

    Attributes:
        chunks: What it holds from ``start`` on; ``None`` when its drawers stay as they are.
        start: How many of its drawers before that are left alone.
        source_class: Who speaks in chunks without a voice.
        former: In a dry run, what the source is filed as still; it is to be renamed.
    """

    source: Source
    chunks: tuple[Chunk, ...] | None
    start: int = 0
    source_class: SourceClass = SourceClass.FILE
    former: Source | None = None


@dataclass(slots=True)
class Filer:
    """Files the sources of one run.

    Attributes:
        store: Where drawers go; ``None`` in a dry run on a palace that does not exist.
        open_embedder: Opens the embedder; called once, when the first new text is met.
        dry_run: Whether to count only.
        former: In a dry run, the root under which a tree that has moved is still filed.
        changes: What was done so far.
    """

    store: Store | None
    open_embedder: Callable[[], Embedder]
    dry_run: bool
    former: str | None = None
    changes: Changes = field(default_factory=Changes)
    _embedder: Embedder | None = None
    _waiting: list[Part] = field(default_factory=list)
    _texts: dict[str, None] = field(default_factory=dict)
    _characters: int = 0

    def add(self, part: Part) -> None:
        """Let a source wait for others, and store all that wait when they are enough."""
        self._waiting.append(part)
        if self.store is not None and part.chunks and not self.dry_run:
            missing = self.store.missing_contents(part.source, part.chunks, part.start)
            self._texts.update(dict.fromkeys(missing))
        self._characters += sum(len(chunk.content) for chunk in part.chunks or ())
        many = max(len(self._texts), len(self._waiting)) >= _BATCH
        if many or self._characters >= _MOST_WAITING:
            self.flush()

    def settle(self, place: Place) -> None:
        """Store what waits when a source at ``place`` is part of it."""
        if any(part.source.place == place for part in self._waiting):
            self.flush()

    def settle_sessions(self, sessions: Collection[str]) -> None:
        """Store what waits when one of these conversations is part of it."""
        if any(part.source.session in sessions for part in self._waiting):
            self.flush()

    def flush(self) -> None:
        """Store what waits; nothing of it when its texts cannot be embedded.

        Raises:
            EmbedderError: The embedder does not answer.
        """
        waiting, texts = self._waiting, list(self._texts)
        self._waiting, self._texts, self._characters = [], {}, 0
        vectors = self._embed(texts)
        for part in waiting:
            self.changes += self._store(part, vectors)

    def _embed(self, texts: list[str]) -> dict[str, bytes]:
        vectors: dict[str, bytes] = {}
        for start in range(0, len(texts), _BATCH):
            self._embedder = self._embedder or self.open_embedder()
            batch = texts[start : start + _BATCH]
            vectors.update(zip(batch, self._embedder.embed_documents(batch), strict=True))
        return vectors

    def _store(self, part: Part, vectors: dict[str, bytes]) -> Changes:
        store, source, chunks = self.store, part.source, part.chunks
        if store is None:
            return Changes(added=len(chunks or ()))
        if self.dry_run:
            stored = replace(source, root=self.former or source.root) if source.root else source
            if part.former is not None:
                stored = replace(stored, path=part.former.path, room=part.former.room)
            return Changes() if chunks is None else store.preview_source(stored, chunks, part.start)
        if chunks is None:
            store.touch_source(source)
            return Changes()
        for _ in range(_ATTEMPTS):
            try:
                return store.replace_source(source, chunks, vectors, part.source_class, part.start)
            except VectorsMissingError:
                vectors = self._embed(store.missing_contents(source, chunks, part.start))
        raise VectorsMissingError
