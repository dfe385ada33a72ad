"""A store without a database."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import log1p
from operator import attrgetter

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
    StoreStatus,
    Term,
    Voice,
    WordMatch,
)
from mempal.core.vector import dimensions
from mempal.core.words import derive_parts, find_words


def _fold_words(text: str) -> tuple[str, ...]:
    # As the word index reads text: accents do not count.
    split = unicodedata.normalize("NFD", text)
    return tuple(find_words("".join(c for c in split if not "\u0300" <= c <= "\u036f").lower()))


@dataclass(slots=True, eq=False)
class _Held:
    """A drawer, and what its store knows beside it."""

    place: Place
    drawer: Drawer
    symbols: str
    vector: bytes | None
    revision: int
    columns: tuple[tuple[str, ...], ...] = ()
    lapses: dict[int, int] = field(default_factory=dict)

    @property
    def current(self) -> bool:
        return self.drawer.superseded_at is None and self.drawer.deleted_at is None

    @property
    def lapsed(self) -> bool:
        return self.drawer.superseded_at is not None and self.drawer.deleted_at is None

    def read_words(self) -> None:
        texts = self.drawer.content, self.place.path, self.symbols
        parts = derive_parts(" ".join(texts))
        self.columns = tuple(map(_fold_words, (*texts, parts)))

    def count(self, term: Term) -> int:
        """Return how often a term stands in the drawer's text, path, symbols and parts."""
        wanted = _fold_words(" ".join(term.tokens))
        if not wanted:
            return 0
        size, joined = len(wanted), "\0".join(wanted)
        places = (
            "\0".join(words[start : start + size])
            for words in self.columns
            for start in range(len(words) - size + 1)
        )
        return sum(place.startswith(joined) if term.prefix else place == joined for place in places)

    def is_admitted(self, scope: Scope) -> bool:
        drawer = self.drawer
        named = scope.wing in {None, drawer.wing} and scope.room in {None, drawer.room}
        if drawer.deleted_at is not None or not named:
            return False
        if scope.as_of is None:
            return scope.history or drawer.superseded_at is None
        away = dict(self.lapses)
        if drawer.superseded_at is not None:
            away[drawer.superseded_at] = scope.as_of + 1
        return drawer.added_at <= scope.as_of and not any(
            left <= scope.as_of < back for left, back in away.items()
        )


class MemoryStore:
    """The port ``Store`` in dictionaries: plain, slow, and gone with the process.

    ``close`` keeps everything, so one instance can stand for a database that is opened often. Word
    matches are exact; English endings are not folded, and scores only resemble BM25.
    """

    def __init__(self) -> None:
        self._revision = 0
        self._embedder: str | None = None
        self._sources: dict[Place, Source] = {}
        self._held: dict[int, _Held] = {}

    def revision(self) -> int:
        """Return the number of the last change to drawers."""
        return self._revision

    def embedder_identity(self) -> str | None:
        """Return the identity of the embedder the store is bound to."""
        return self._embedder

    def bind_embedder(self, identity: str) -> None:
        """Bind an unbound store to an embedder."""
        self._embedder = self._embedder or identity
        if self._embedder != identity:
            raise EmbedderMismatchError(self._embedder, identity)

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

    def held_in(self, place: Place) -> list[Source]:
        """Return the conversations that a file holds, by path."""
        found = (source for source in self._sources.values() if source.holder == place)
        return sorted(found, key=attrgetter("path"))

    def count_by_source(self, wing: str, root: str) -> Mapping[str, int]:
        """Return how many current drawers each file of one tree has or holds, by path."""
        places = (self._sources[held.place] for held in self._held.values() if held.current)
        homes = (source.holder or source.place for source in places)
        return Counter(home.path for home in homes if (home.wing, home.root) == (wing, root))

    def roots(self, wing: str | None = None) -> list[tuple[str, str]]:
        """Return (wing, root) of every tree that was mined, sorted."""
        files = (held for held in self._sources.values() if held.kind is SourceKind.FILE)
        return sorted({(file.wing, file.root) for file in files if wing in {None, file.wing}})

    def move_root(self, wing: str, old: str, new: str) -> None:
        """Record that the tree at ``old`` now lies at ``new``."""
        for source in [s for s in self._sources.values() if (s.wing, s.root) == (wing, old)]:
            self._move(source, replace(source, root=new))

    def _move(self, source: Source, moved: Source) -> None:
        """File a source elsewhere, with its drawers and the conversations that it holds."""
        drawers, conversations = self._of(source), self.held_in(source.place)
        del self._sources[source.place]
        self._sources[moved.place] = moved
        for held in drawers:
            held.place = moved.place
            held.drawer = _stamp(held.drawer, moved)
            held.read_words()
        for conversation in conversations:
            self._move(conversation, replace(conversation, holder=moved.place))

    def missing_contents(
        self, source: Source, chunks: Sequence[Chunk], start: int = 0
    ) -> list[str]:
        """Return, without repeats, the texts that ``replace_source`` would need a vector for."""
        pairs = zip(chunks, self._pair(source, chunks, start)[0], strict=True)
        return list(dict.fromkeys(chunk.content for chunk, held in pairs if held is None))

    def preview_source(self, source: Source, chunks: Sequence[Chunk], start: int = 0) -> Changes:
        """Return what ``replace_source`` would do, without doing it."""
        kept, left = self._pair(source, chunks, start)
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
        changes = self.preview_source(source, chunks, start)
        kept, left = self._pair(source, chunks, start)
        # Whatever may fail comes first, so that nothing is stored by half.
        if any(text not in vectors for text in self.missing_contents(source, chunks, start)):
            raise VectorsMissingError
        given = {
            chunk.content: vectors[chunk.content] for chunk in chunks if chunk.content in vectors
        }
        self._revision += bool(changes.added or changes.superseded or changes.restored)
        self._sources[source.place] = source
        for index, (chunk, held) in enumerate(zip(chunks, kept, strict=True), start):
            if held is None:
                drawer = _draw(source, chunk, index, source_class)
                self._add(source, drawer, chunk, given[chunk.content])
                continue
            if held.lapsed:
                held.lapses[held.drawer.superseded_at or 0] = source.mined_at
                held.revision = self._revision
                held.drawer = replace(held.drawer, superseded_at=None)
            moved = replace(held.drawer, chunk_index=index, span=chunk.span)
            held.drawer, held.symbols = _stamp(moved, source), chunk.symbols
            held.read_words()
        for held in left:
            held.drawer = replace(held.drawer, superseded_at=source.mined_at)
            held.revision = self._revision
        return changes

    def touch_source(self, source: Source) -> None:
        """Update size, time, state and commit of a source whose drawers did not change."""
        self._sources[source.place] = source
        for held in self._of(source):
            if held.current:
                held.drawer = _stamp(held.drawer, source)

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
        there = Scope(source.wing, source.room)
        known = {
            held.drawer.content: held.drawer.id
            for held in reversed(self._held.values())
            if held.is_admitted(there)
        }
        if chunks and all(chunk.content in known for chunk in chunks):
            ids = tuple(known[chunk.content] for chunk in chunks)
            for held in self._held.values():
                if held.drawer.id in ids:
                    most = max(held.drawer.importance, importance)
                    held.drawer = replace(held.drawer, importance=most)
            return Addition(ids, created=False, duplicate_of=ids[0])
        given = [(chunk, vectors[chunk.content]) for chunk in chunks]
        self._revision += 1
        self._sources[source.place] = source
        first = max((held.drawer.chunk_index + 1 for held in self._of(source)), default=0)
        added = []
        for index, (chunk, vector) in enumerate(given, first):
            drawer = replace(_draw(source, chunk, index, source_class), importance=importance)
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

    def recent(self, wing: str | None, limit: int) -> list[Drawer]:
        """Return current drawers, the most important and then the newest first, one per source."""
        first: dict[Place, Drawer] = {}
        for held in self._held.values():
            if held.is_admitted(Scope(wing)):
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
        for key, held in self._held.items():
            if held.revision > revision:
                drawer = held.drawer
                vector = held.vector if drawer.deleted_at is None else None
                yield IndexEntry(key, vector, drawer.wing, drawer.room, held.current)

    def count_entries_since(self, revision: int) -> int:
        """Return how many entries ``entries_since`` would yield."""
        return sum(1 for _ in self.entries_since(revision))

    def contents(self, batch: int) -> Iterator[list[tuple[int, str]]]:
        """Yield (key, content) of every drawer that is not deleted, in batches, by key."""
        drawers = [held.drawer for held in self._held.values() if held.drawer.deleted_at is None]
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
        rooms: dict[tuple[str, str], list[_Held]] = defaultdict(list)
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
        bare = sum(held.vector is None for held in self._held.values())
        return [f"{bare} drawers have no vector"] if bare else []

    def lose_vectors(self, *keys: int) -> None:
        """Be a store that lacks the vectors of these drawers, as a damaged one may."""
        for key in keys:
            self._held[key].vector = None

    def close(self) -> None:
        """Do nothing: the store lives as long as the object."""

    def _of(self, source: Source) -> list[_Held]:
        found = [held for held in self._held.values() if held.place == source.place]
        return sorted(found, key=lambda held: (held.drawer.chunk_index, held.drawer.key))

    def _pair(
        self, source: Source, chunks: Sequence[Chunk], start: int
    ) -> tuple[list[_Held | None], list[_Held]]:
        """Return for each chunk the drawer that has its text, and the current drawers left over."""
        free = [held for held in self._of(source) if held.drawer.chunk_index >= start]
        free.sort(key=lambda held: (held.drawer.deleted_at is not None, held.lapsed))
        kept: list[_Held | None] = []
        for chunk in chunks:
            wanted = source.room, chunk.content
            same = (held for held in free if (held.drawer.room, held.drawer.content) == wanted)
            kept.append(next(same, None))
            free = [held for held in free if held is not kept[-1]]
        return kept, [held for held in free if held.current]

    def _add(self, source: Source, drawer: Drawer, chunk: Chunk, vector: bytes) -> str:
        place = source.wing, source.room, source.path, chunk.content
        taken = {held.drawer.id for held in self._held.values()}
        names = (make_drawer_id(*place, occurrence) for occurrence in count())
        drawer_id = next(name for name in names if name not in taken)
        key = len(self._held) + 1
        named = replace(drawer, key=key, id=drawer_id)
        held = _Held(source.place, named, chunk.symbols, vector, self._revision)
        held.read_words()
        self._held[key] = held
        return drawer_id


def _draw(source: Source, chunk: Chunk, index: int, source_class: SourceClass) -> Drawer:
    """Return a new drawer that has neither key nor id yet."""
    place = source.wing, source.room, chunk.content, source.path, source.root, index, chunk.span
    voice = chunk.voice or Voice(None, source_class)
    said, digest = (voice.speaker, voice.source_class), hash_content(chunk.content)
    drawer = Drawer(0, "", *place, *said, 0, source.mined_at, None, None, digest, "", None, None)
    return _stamp(replace(drawer, said_at=voice.said_at), source)


def _stamp(drawer: Drawer, source: Source) -> Drawer:
    """Return a drawer with the place and the state its source was last read in."""
    home = source.holder or source.place
    return replace(
        drawer,
        root=home.root,
        source_file=home.path,
        source_sha256=source.content_sha256,
        blob=source.blob,
        commit=source.commit,
        session=source.session,
    )
