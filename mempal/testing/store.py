"""A store without a database."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import log1p
from operator import attrgetter

from mempal.core.errors import EmbedderMismatchError, VectorsMissingError
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
    StoreStatus,
    Term,
    WordMatch,
)
from mempal.core.vector import dimensions
from mempal.testing.held import Held, draw_drawer, stamp
from mempal.testing.removal import MemoryRelocation, MemoryRemoval
from mempal.testing.runs import MemoryRuns


class MemoryStore(MemoryRuns, MemoryRemoval, MemoryRelocation):
    """The port ``Store`` in dictionaries: plain, slow, and gone with the process.

    ``close`` keeps everything, so one instance can stand for a database that is opened often. Word
    matches are exact; English endings are not folded, and scores only resemble BM25.
    """

    def lineage(self) -> str:
        """Return the token that tells this store from all others."""
        return f"memory-{id(self):x}"

    def revision(self) -> int:
        """Return the number of the last change to drawers."""
        return self._revision

    def embedder_identity(self) -> str | None:
        """Return the identity of the embedder the store is bound to."""
        return self._embedder

    def bind_embedder(self, identity: str) -> None:
        """Bind a store without vectors to an embedder."""
        if self.vector_dimensions() is None:
            self._embedder = identity
        if self._embedder != identity:
            raise EmbedderMismatchError(str(self._embedder), identity)

    def sources(
        self, wing: str, root: str, kind: SourceKind = SourceKind.FILE
    ) -> Mapping[str, Source]:
        """Return the sources of one kind read from one tree into one wing, by path."""
        wanted = wing, root, kind
        found = (s for s in self._sources.values() if (s.wing, s.root, s.kind) == wanted)
        return {source.path: source for source in found}

    def source(self, place: Place) -> Source | None:
        """Return the source filed at a place."""
        return self._sources.get(place)

    def count_by_source(self, wing: str, root: str) -> Mapping[str, int]:
        """Return how many current drawers each file of one tree has or holds, by path."""
        places = (self._sources[held.place] for held in self._held.values() if held.current)
        homes = (self._sources[source.holder or source.place] for source in places)
        wanted = wing, root, SourceKind.FILE
        return Counter(home.path for home in homes if (home.wing, home.root, home.kind) == wanted)

    def roots(self, wing: str | None = None) -> list[tuple[str, str]]:
        """Return (wing, root) of every tree that was mined, sorted."""
        files = (held for held in self._sources.values() if held.kind is SourceKind.FILE)
        return sorted({(file.wing, file.root) for file in files if wing in {None, file.wing}})

    def move_root(self, wing: str, old: str, new: str) -> None:
        """Record that the tree at ``old`` now lies at ``new``."""
        for source in [s for s in self._sources.values() if (s.wing, s.root) == (wing, old)]:
            self._move(source, replace(source, root=new))

    def missing_contents(
        self, source: Source, chunks: Sequence[Chunk], start: int = 0
    ) -> list[str]:
        """Return, without repeats, the texts that ``replace_source`` would need a vector for."""
        chunks = self._admit(source, chunks)
        pairs = zip(chunks, self._pair(source, chunks, start)[0], strict=True)
        return list(dict.fromkeys(chunk.content for chunk, held in pairs if held is None))

    def preview_source(self, source: Source, chunks: Sequence[Chunk], start: int = 0) -> Changes:
        """Return what ``replace_source`` would do, without doing it."""
        if self._is_barred(source):
            return Changes()
        kept, free = self._pair(source, self._admit(source, chunks), start)
        left = [held for held in free if held.current]
        added = kept.count(None)
        restored = sum(held is not None and held.lapsed for held in kept)
        return Changes(added, len(kept) - added - restored, len(left), restored)

    def replace_source(
        self,
        source: Source,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, bytes],
        source_class: SourceClass,
        start: int = 0,
    ) -> Changes:
        """Make ``chunks`` the current drawers of ``source`` from the place ``start`` on."""
        if self._is_barred(source):
            return Changes()
        chunks = self._admit(source, chunks)
        changes = self.preview_source(source, chunks, start)
        kept, free = self._pair(source, chunks, start)
        # Whatever may fail comes first, so that nothing is stored by half.
        if any(text not in vectors for text in self.missing_contents(source, chunks, start)):
            raise VectorsMissingError
        given = {
            chunk.content: vectors[chunk.content] for chunk in chunks if chunk.content in vectors
        }
        self._revision += bool(changes.added or changes.superseded or changes.restored)
        self._file(source)
        for index, (chunk, held) in enumerate(zip(chunks, kept, strict=True), start):
            if held is None:
                drawer = draw_drawer(source, chunk, index, source_class)
                self._add(source, drawer, chunk, given[chunk.content])
                continue
            if held.drawer.superseded_at is not None:
                held.lapses[held.drawer.superseded_at] = source.mined_at
                held.revision = self._revision if held.lapsed else held.revision
                held.drawer = replace(held.drawer, superseded_at=None)
            moved = replace(held.drawer, chunk_index=index, span=chunk.span)
            held.drawer, held.symbols = stamp(moved, source), chunk.symbols
            held.read_words()
        for held in free:
            if held.drawer.superseded_at is None:
                held.revision = self._revision if held.current else held.revision
                held.drawer = replace(held.drawer, superseded_at=source.mined_at)
        return changes

    def touch_source(self, source: Source) -> None:
        """Update size, time and commit of a source whose drawers did not change."""
        known = self._sources.get(source.place)
        if known is None or known.state is not SourceState.STORED:
            return
        if known.content_sha256 != source.content_sha256:
            return
        self._file(source)
        for held in self._of(source):
            if held.current:
                held.drawer = stamp(held.drawer, source)

    def add_manual(
        self,
        source: Source,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, bytes],
        *,
        importance: int,
        source_class: SourceClass,
    ) -> Addition:
        """Store text given by hand, once in each wing and room."""
        chunks = self._admit(source, chunks)
        if not chunks:
            return Addition((), created=False)
        there = Scope(source.wing, source.room)
        known = {
            held.drawer.content: held.drawer.id
            for held in reversed(self._held.values())
            if held.is_admitted(there)
        }
        if all(chunk.content in known for chunk in chunks):
            ids = tuple(known[chunk.content] for chunk in chunks)
            for held in self._held.values():
                if held.drawer.id in ids:
                    most = max(held.drawer.importance, importance)
                    held.drawer = replace(held.drawer, importance=most)
            return Addition(ids, created=False, duplicate_of=ids[0])
        given = [(chunk, vectors[chunk.content]) for chunk in chunks]
        self._revision += 1
        self._file(source)
        first = max((held.drawer.chunk_index + 1 for held in self._of(source)), default=0)
        added = []
        for index, (chunk, vector) in enumerate(given, first):
            drawer = replace(draw_drawer(source, chunk, index, source_class), importance=importance)
            added.append(self._add(source, drawer, chunk, vector))
        return Addition(tuple(added), created=True)

    def get(self, keys: Sequence[int]) -> list[Drawer]:
        """Return the drawers with these keys, in this order."""
        return [self._held[key].drawer for key in keys if key in self._held]

    def resolve(self, drawer_id: str) -> list[Drawer]:
        """Return the drawers whose id is, or begins with, ``drawer_id``."""
        drawers = sorted((held.drawer for held in self._held.values()), key=attrgetter("id"))
        exact = [drawer for drawer in drawers if drawer.id == drawer_id]
        return exact or [drawer for drawer in drawers if drawer.id.startswith(drawer_id)][:10]

    def drawers_of(self, wing: str, root: str, path: str) -> list[Drawer]:
        """Return the current drawers of one source in the order of their place."""
        return [held.drawer for held in self._of(Source(wing, root, path)) if held.current]

    def paths_of_content(self, wing: str, root: str, content_sha256: str) -> list[str]:
        """Return the paths in one tree whose files had this content when they were last read."""
        tree = self.sources(wing, root)
        return sorted(path for path in tree if tree[path].content_sha256 == content_sha256)

    def neighbors(self, drawer: Drawer, distance: int) -> list[Drawer]:
        """Return the other current drawers of its source within ``distance`` places, in order."""
        place = self._held[drawer.key].place
        return [
            other
            for other in self.drawers_of(place.wing, place.root, place.path)
            if other.key != drawer.key and abs(other.chunk_index - drawer.chunk_index) <= distance
        ]

    def visible(self, keys: Iterable[int], scope: Scope) -> set[int]:
        """Return those of ``keys`` that ``scope`` admits."""
        return {key for key in keys if key in self._held and self._held[key].is_admitted(scope)}

    def recent(
        self, wing: str | None, limit: int, classes: Collection[SourceClass] | None = None
    ) -> list[Drawer]:
        """Return current drawers, the most important and then the newest first, one per source."""
        first: dict[Place, Drawer] = {}
        wanted = SourceClass if classes is None else classes
        for held in self._held.values():
            if held.is_admitted(Scope(wing)) and held.drawer.source_class in wanted:
                drawer = held.drawer
                best = first.setdefault(held.place, drawer)
                first[held.place] = min(best, drawer, key=lambda d: (-d.importance, d.chunk_index))
        newest = attrgetter("importance", "added_at", "key")
        return sorted(first.values(), key=newest, reverse=True)[:limit]

    def match_words(self, terms: Sequence[Term], scope: Scope, limit: int) -> list[WordMatch]:
        """Return drawers in scope that hold at least one term, best first, ties by key."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            held = {key: often for key, item in self._held.items() if (often := item.count(term))}
            for key in self.visible(held, scope):
                scores[key] += log1p(len(self._held) / len(held)) * held[key] / (held[key] + 1)
        ranked = sorted(scores, key=lambda key: (-scores[key], key))
        return [WordMatch(key, scores[key]) for key in ranked[: max(0, limit)]]

    def document_frequency(self, term: Term, wing: str | None = None) -> int:
        """Return how many drawers of a wing, or of all, hold a term."""
        return len(self.holding(term, self._keys_of(wing)))

    def holding(self, term: Term, keys: Sequence[int]) -> set[int]:
        """Return those of ``keys`` whose drawers hold a term."""
        return {key for key in keys if key in self._held and self._held[key].count(term)}

    def count_drawers(self, wing: str | None = None) -> int:
        """Return the number of drawers of a wing, or of all."""
        return len(self._keys_of(wing))

    def _keys_of(self, wing: str | None) -> list[int]:
        return [key for key, held in self._held.items() if wing in (None, held.drawer.wing)]

    def vector_dimensions(self) -> int | None:
        """Return the number of components of the stored vectors."""
        return next(map(dimensions, self.vectors(self._held).values()), None)

    def vectors(self, keys: Iterable[int]) -> dict[int, bytes]:
        """Return the stored packed vectors of these drawers."""
        found = {key: self._held[key].vector for key in keys if key in self._held}
        return {key: vector for key, vector in found.items() if vector is not None}

    def entries_since(self, revision: int) -> Iterator[IndexEntry]:
        """Yield an index entry for every drawer changed after ``revision``, by key."""
        for key in sorted([*self._held, *self._removed]):
            held = self._held.get(key)
            if held is None:
                wing, room, since = self._removed[key]
                if since > revision:
                    yield IndexEntry(key, None, wing, room, current=False)
            elif held.revision > revision:
                drawer = held.drawer
                vector = held.vector if drawer.deleted_at is None else None
                yield IndexEntry(key, vector, drawer.wing, drawer.room, held.current)

    def count_entries_since(self, revision: int) -> int:
        """Return how many entries ``entries_since`` would yield."""
        return sum(1 for _ in self.entries_since(revision))

    def contents(self, batch: int, *, deleted: bool = False) -> Iterator[list[tuple[int, str]]]:
        """Yield (key, content) of every drawer in batches, by key."""
        every = (held.drawer for held in self._held.values())
        drawers = [drawer for drawer in every if deleted or drawer.deleted_at is None]
        for start in range(0, len(drawers), batch):
            yield [(drawer.key, drawer.content) for drawer in drawers[start : start + batch]]

    def replace_vectors(self, identity: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Give drawers new vectors and bind the store to another embedder."""
        given = dict(vectors)
        self._revision += 1
        self._embedder = identity
        for key, held in self._held.items():
            held.vector, held.revision = given.get(key), self._revision

    def rebuild_words(self) -> int:
        """Read the words of every drawer again; return the number of drawers."""
        for held in self._held.values():
            held.read_words()
        return len(self._held)

    def has_wing(self, wing: str) -> bool:
        """Return whether a wing holds a current drawer."""
        return any(held.current and held.drawer.wing == wing for held in self._held.values())

    def rooms(self) -> tuple[RoomCount, ...]:
        """Return the size of every room with a current drawer, by wing and room."""
        rooms: dict[tuple[str, str], list[Held]] = defaultdict(list)
        for held in self._held.values():
            if held.current:
                rooms[held.drawer.wing, held.drawer.room].append(held)
        return tuple(
            RoomCount(
                *name,
                len(there),
                len({held.place for held in there}),
                max(held.drawer.added_at for held in there),
            )
            for name, there in sorted(rooms.items())
        )

    def status(self) -> StoreStatus:
        """Return counts; a store without a file has neither schema nor size."""
        drawers = [held.drawer for held in self._held.values()]
        kept = [drawer for drawer in drawers if drawer.deleted_at is None]
        current = [drawer for drawer in kept if drawer.superseded_at is None]
        states = Counter(source.state for source in self._sources.values())
        return StoreStatus(
            schema_version=0,
            revision=self._revision,
            embedder=self._embedder,
            drawers=len(current),
            superseded=len(kept) - len(current),
            deleted=len(drawers) - len(kept),
            sources=states[SourceState.STORED],
            skipped_sources=states[SourceState.SKIPPED],
            bytes=0,
            text_bytes=sum(len(drawer.content.encode()) for drawer in drawers),
            rooms=self.rooms(),
        )

    def problems(self) -> list[str]:
        """Return what is wrong, in words."""
        kept = (held for held in self._held.values() if held.drawer.deleted_at is None)
        bare = sum(held.vector is None for held in kept)
        return [f"{bare} drawers have no vector"] if bare else []

    def lose_vectors(self, *keys: int) -> None:
        """Be a store that lacks the vectors of these drawers, as a damaged one may."""
        for key in keys:
            self._held[key].vector = None

    def close(self) -> None:
        """Do nothing: the store lives as long as the object."""

    def _pair(
        self, source: Source, chunks: Sequence[Chunk], start: int
    ) -> tuple[list[Held | None], list[Held]]:
        """Return for each chunk the drawer that has its text, and the drawers left over."""
        free = [held for held in self._of(source) if held.drawer.chunk_index >= start]
        free.sort(key=lambda held: (held.drawer.deleted_at is not None, held.lapsed))
        kept: list[Held | None] = []
        for chunk in chunks:
            wanted = source.room, chunk.content
            same = (held for held in free if (held.drawer.room, held.drawer.content) == wanted)
            kept.append(next(same, None))
            free = [held for held in free if held is not kept[-1]]
        return kept, free
