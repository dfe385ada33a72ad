"""What is taken away from, and moved within, the store without a database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mempal.core.forgetting import hash_lines, hash_text
from mempal.core.model import Chunk, Drawer, Place, Source, SourceState
from mempal.core.runs import Forgotten, RetireOutcome
from mempal.testing.held import Held, MemoryState, stamp_place


class MemoryRemoval(MemoryState):
    """The part ``Removal`` of the port ``Store``."""

    def cited(self, keys: Iterable[int]) -> Mapping[int, tuple[str, ...]]:
        """Return which cards cite each of these drawers, sorted."""
        return {key: self.cards_of(key) for key in keys if self.cards_of(key)}

    def delete_drawers(self, keys: Sequence[int], at: int) -> list[int]:
        """Hide drawers that no card cites from every search; return the keys of those hidden."""
        known = [key for key in dict.fromkeys(keys) if key in self._held]
        free = [key for key in known if not self.cards_of(key)]
        return self._mark([key for key in free if self._deleted_at(key) is None], at)

    def restore_drawers(self, keys: Sequence[int]) -> list[int]:
        """Bring deleted drawers back, as current or superseded as they were."""
        known = [key for key in dict.fromkeys(keys) if key in self._held]
        return self._mark([key for key in known if self._deleted_at(key) is not None], None)

    def _deleted_at(self, key: int) -> int | None:
        return self._held[key].drawer.deleted_at

    def _mark(self, keys: list[int], deleted_at: int | None) -> list[int]:
        self._revision += bool(keys)
        for key in keys:
            held = self._held[key]
            held.drawer = replace(held.drawer, deleted_at=deleted_at)
            held.revision = self._revision
        return keys

    def deleted_drawers(self, before: int | None, wing: str | None) -> list[Drawer]:
        """Return deleted drawers by key."""
        drawers = [held.drawer for held in self._held.values() if wing in {None, held.drawer.wing}]
        return [
            drawer
            for drawer in drawers
            if drawer.deleted_at is not None and (before is None or drawer.deleted_at < before)
        ]

    def keys_of(self, places: Sequence[Place]) -> list[int]:
        """Return the drawers of sources, and of the conversations they hold, by key."""
        held = (source.place for place in places for source in self.held_in(place))
        wanted = {*places, *held}
        return sorted(key for key, item in self._held.items() if item.place in wanted)

    def equal_to(self, keys: Sequence[int]) -> list[int]:
        """Return these drawers and all others that hold one of their texts, by key."""
        texts = {self._held[key].drawer.content for key in keys if key in self._held}
        return sorted(key for key, held in self._held.items() if held.drawer.content in texts)

    def purge(self, keys: Sequence[int]) -> int:
        """Remove for good those of these drawers that are deleted and that no card cites."""
        deleted = {drawer.key for drawer in self.deleted_drawers(None, None)}
        return self._remove([key for key in keys if key in deleted and not self.cards_of(key)])

    def forget(self, keys: Sequence[int], sources: Sequence[Place], at: int) -> Forgotten:
        """Remove drawers for good and bar their text from returning."""
        barred: list[Place] = []
        for place in sources:
            known = [self._sources[place]] if place in self._sources else []
            for source in [*known, *self.held_in(place)]:
                if source.state is not SourceState.FORGOTTEN:
                    barred.append(source.place)
                    self._file(_bar(source, at))
        within = [held.drawer.key for place in barred for held in self._of(place)]
        removable = [key for key in dict.fromkeys([*keys, *within]) if key in self._held]
        for key in removable:
            held = self._held[key]
            self._texts.add(hash_text(held.drawer.content))
            lines = self._lines.setdefault(self._numbers[held.place], set())
            lines.update(hash_lines(held.drawer.content))
            self._links.pop(key, None)
        self._final = self._final or bool(removable or barred)
        return Forgotten(self._remove(removable), len(barred))

    def has_traces(self) -> bool:
        """Return that there are none: there is no file."""
        return False

    def scrub(self) -> None:
        """Do nothing: there is no file."""

    def withhold(self, source: Source, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return chunks without what was forgotten."""
        return self._admit(source, chunks)


class MemoryRelocation(MemoryState):
    """The part ``Relocation`` of the port ``Store``."""

    def rename_source(self, place: Place, path: str, room: str, at: int) -> int:
        """Record that the file at ``place`` now lies at ``path`` of the same tree."""
        source, target = self._sources.get(place), replace(place, path=path)
        known = self._sources.get(target)
        if source is None or source.state is SourceState.FORGOTTEN or target == place:
            return 0
        if known is not None and (
            known.state is SourceState.FORGOTTEN or self._count_current(target)
        ):
            return 0
        state = SourceState.STORED if source.state is SourceState.GONE else source.state
        moved = replace(source, path=path, room=room, mined_at=at, state=state, moved_to=None)
        self._file(moved)
        drawers = self._of(place)
        self._revision += bool(drawers)
        for held in drawers:
            self._move_drawer(held, moved)
        for conversation in self.held_in(place):
            self._file(replace(conversation, holder=target))
            for held in self._of(conversation):
                held.drawer = stamp_place(held.drawer, self._sources[held.place])
        lines = self._lines.get(self._numbers[place], set())
        self._lines.setdefault(self._numbers[target], set()).update(lines)
        self._file(replace(_retire(source, at), moved_to=path))
        return self._count_current(target)

    def _move_drawer(self, held: Held, moved: Source) -> None:
        held.place, held.revision = moved.place, self._revision
        held.drawer = replace(stamp_place(held.drawer, moved), room=moved.room)
        held.read_words()

    def _count_current(self, place: Place) -> int:
        places = [place, *(source.place for source in self.held_in(place))]
        return sum(held.current for home in places for held in self._of(home))

    def retire_sources(self, places: Sequence[Place], at: int) -> RetireOutcome:
        """Record that files are gone: their drawers are superseded, but for those a card cites."""
        left: list[Held] = []
        protected: list[tuple[str, str]] = []
        for place in dict.fromkeys(places):
            source = self._sources.get(place)
            if source is None or source.state is SourceState.FORGOTTEN:
                continue
            current = [held for held in self._of(place) if held.current]
            left.extend(held for held in current if not self.cards_of(held.drawer.key))
            for held in self._of(place):
                if held.drawer.deleted_at is not None and held.drawer.superseded_at is None:
                    held.drawer = replace(held.drawer, superseded_at=at)
            protected.extend(
                sorted(
                    (held.drawer.id, card)
                    for held in current
                    for card in self.cards_of(held.drawer.key)
                )
            )
            if source.state is not SourceState.GONE:
                self._file(_retire(source, at))
        self._revision += bool(left)
        for held in left:
            held.drawer = replace(held.drawer, superseded_at=at)
            held.revision = self._revision
        return RetireOutcome(len(left), tuple(protected))

    def drop_sources(self, places: Sequence[Place]) -> int:
        """Drop the record of sources that are gone and that have and hold nothing; count them."""
        idle = [
            place
            for place in dict.fromkeys(places)
            if place in self._sources
            and self._sources[place].state is SourceState.GONE
            and not self._of(place)
            and not self.held_in(place)
            and not self._lines.get(self._numbers[place])
        ]
        for place in idle:
            self._drop(place)
        return len(idle)


def _retire(source: Source, at: int) -> Source:
    return replace(source, state=SourceState.GONE, reason=None, tail=None, mined_at=at)


def _bar(source: Source, at: int) -> Source:
    return replace(
        source, state=SourceState.FORGOTTEN, reason=None, tail=None, moved_to=None, mined_at=at
    )
