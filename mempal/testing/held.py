"""What the store without a database is made of: drawers, sources with numbers, and lookups."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from operator import attrgetter

from mempal.core.forgetting import withhold
from mempal.core.ids import hash_content, make_drawer_id
from mempal.core.model import (
    Chunk,
    Drawer,
    Place,
    Scope,
    Source,
    SourceClass,
    SourceState,
    Term,
    Voice,
)
from mempal.core.words import derive_parts, find_words


def _fold_words(text: str) -> tuple[str, ...]:
    # As the word index reads text: accents do not count.
    split = unicodedata.normalize("NFD", text)
    return tuple(find_words("".join(c for c in split if not "\u0300" <= c <= "\u036f").lower()))


@dataclass(slots=True, eq=False)
class Held:
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
        """Whether it is neither superseded nor deleted."""
        return self.drawer.superseded_at is None and self.drawer.deleted_at is None

    @property
    def lapsed(self) -> bool:
        """Whether it comes back when its text does."""
        return self.drawer.superseded_at is not None and self.drawer.deleted_at is None

    def read_words(self) -> None:
        """Read the words of its text, path and symbols again."""
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
        """Return whether a scope admits it."""
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


class MemoryState:
    """Everything a store knows, and what its parts ask of it."""

    def __init__(self) -> None:
        self._revision = 0
        self._embedder: str | None = None
        self._sources: dict[Place, Source] = {}
        # A source keeps its number when it moves.
        self._numbers: dict[Place, int] = {}
        self._held: dict[int, Held] = {}
        self._last_key = 0
        self._last_source = 0
        # Drawers that are gone: where they were, and since which revision they are not there.
        self._removed: dict[int, tuple[str, str, int]] = {}
        self._links: dict[int, set[tuple[str, str]]] = {}
        self._texts: set[bytes] = set()
        # Whether anything was forgotten since the last run began.
        self._final = False
        self._lines: dict[int, set[bytes]] = {}

    def link_card(self, card_id: str, key: int, role: str = "supports") -> None:
        """Let a card rest on a drawer."""
        self._links.setdefault(key, set()).add((card_id, role))

    def held_in(self, place: Place) -> list[Source]:
        """Return the conversations that a file holds, by path."""
        found = (source for source in self._sources.values() if source.holder == place)
        return sorted(found, key=attrgetter("path"))

    def cards_of(self, key: int) -> tuple[str, ...]:
        """Return the cards that cite a drawer, sorted."""
        return tuple(sorted({card for card, _ in self._links.get(key, ())}))

    def _file(self, source: Source) -> None:
        """Record a source as it is now."""
        self._sources[source.place] = source
        if source.place not in self._numbers:
            self._last_source += 1
            self._numbers[source.place] = self._last_source

    def _drop(self, place: Place) -> None:
        del self._sources[place], self._numbers[place]

    def _move(self, source: Source, moved: Source) -> None:
        """File a source elsewhere, with its drawers and the conversations that it holds."""
        drawers, conversations = self._of(source), self.held_in(source.place)
        number = self._numbers[source.place]
        self._drop(source.place)
        self._sources[moved.place], self._numbers[moved.place] = moved, number
        for held in drawers:
            held.place = moved.place
            held.drawer = stamp_place(held.drawer, moved)
            held.read_words()
        for conversation in conversations:
            self._move(conversation, replace(conversation, holder=moved.place))

    def _of(self, source: Source | Place) -> list[Held]:
        place = source if isinstance(source, Place) else source.place
        found = [held for held in self._held.values() if held.place == place]
        return sorted(found, key=lambda held: (held.drawer.chunk_index, held.drawer.key))

    def _remove(self, keys: Sequence[int]) -> int:
        """Take drawers out for good, as one change."""
        there = [key for key in dict.fromkeys(keys) if key in self._held]
        self._revision += bool(there)
        for key in there:
            drawer = self._held.pop(key).drawer
            self._removed[key] = drawer.wing, drawer.room, self._revision
        return len(there)

    def _is_barred(self, source: Source) -> bool:
        places = {source.place, source.holder or source.place}
        known = (self._sources[place] for place in places if place in self._sources)
        return any(found.state is SourceState.FORGOTTEN for found in known)

    def _admit(self, source: Source, chunks: Sequence[Chunk]) -> list[Chunk]:
        if self._is_barred(source):
            return []
        lines = self._lines.get(self._numbers.get(source.place, 0), set())
        rest = (withhold(chunk, self._texts.__contains__, lines) for chunk in chunks)
        return [chunk for chunk in rest if chunk is not None]

    def _add(self, source: Source, drawer: Drawer, chunk: Chunk, vector: bytes) -> str:
        place = source.wing, source.room, source.path, chunk.content
        taken = {held.drawer.id for held in self._held.values()}
        names = (make_drawer_id(*place, occurrence) for occurrence in count())
        drawer_id = next(name for name in names if name not in taken)
        self._last_key += 1
        named = replace(drawer, key=self._last_key, id=drawer_id)
        held = Held(source.place, named, chunk.symbols, vector, self._revision)
        held.read_words()
        self._held[self._last_key] = held
        return drawer_id


def draw_drawer(source: Source, chunk: Chunk, index: int, source_class: SourceClass) -> Drawer:
    """Return a new drawer that has neither key nor id yet."""
    place = source.wing, source.room, chunk.content, source.path, source.root, index, chunk.span
    voice = chunk.voice or Voice(None, source_class)
    said, digest = (voice.speaker, voice.source_class), hash_content(chunk.content)
    drawer = Drawer(0, "", *place, *said, 0, source.mined_at, None, None, digest, "", None, None)
    return stamp(replace(drawer, said_at=voice.said_at), source)


def stamp(drawer: Drawer, source: Source) -> Drawer:
    """Return a drawer with the place and the state its source was last read in."""
    return replace(
        stamp_place(drawer, source),
        source_sha256=source.content_sha256,
        blob=source.blob,
        commit=source.commit,
    )


def stamp_place(drawer: Drawer, source: Source) -> Drawer:
    """Return a drawer with the place that its source is filed at."""
    home = source.holder or source.place
    return replace(drawer, root=home.root, source_file=home.path, session=source.session)
