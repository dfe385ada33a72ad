"""Verbs that take drawers away: so that they can come back, or for good."""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mempal.core.clock import now
from mempal.core.errors import NotFoundError, UsageError
from mempal.core.model import Drawer, Place, Scope, Source, SourceKind
from mempal.core.names import normalize_name
from mempal.core.ports import Store
from mempal.core.reports import Forgetting, Removed
from mempal.palace.access import Access
from mempal.palace.answer import answer
from mempal.palace.drawers import find_drawer
from mempal.search.engine import Request
from mempal.search.query import analyze_query

_BATCH = 500
# A topic is everything that answers it at least this surely, or that holds all it names.
_TOPIC_SCORE = 0.5
_MOST_ON_TOPIC = 1000


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be forgotten: drawers that one of these names.

    Attributes:
        ids: Drawers by their ids.
        sources: Whole sources: paths in a tree or on disk, names of notes, keys of conversations.
        topic: What a search for it finds surely.
        before: Drawers said, or stored, before this instant.
        wing: Only in this wing.
    """

    ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    topic: str = ""
    before: int | None = None
    wing: str | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """Deleting, restoring, purging and forgetting."""

    access: Access

    def delete(self, drawer_ids: Sequence[str]) -> Removed:
        """Hide drawers from every search until they are restored.

        Drawers that a card cites stay and are named.

        Raises:
            NotFoundError: There is no palace or no such drawer.
            UsageError: An id names several drawers.
        """
        self.access.require()
        with self.access.run("delete", None) as running:
            store = running.store
            found = _find_drawers(store, drawer_ids)
            gone = set(store.delete_drawers([drawer.key for drawer in found], now()))
            protected = _name_cards(store, found)
            late = self.access.refresh(store)
        drawers = tuple(drawer for drawer in found if drawer.key in gone)
        return Removed(drawers, protected=protected, run=running.number, warnings=late)

    def restore(self, drawer_ids: Sequence[str]) -> Removed:
        """Bring deleted drawers back.

        Raises:
            NotFoundError: There is no palace or no such drawer.
            UsageError: An id names several drawers.
        """
        self.access.require()
        with self.access.run("restore", None) as running:
            store = running.store
            found = _find_drawers(store, drawer_ids)
            back = set(store.restore_drawers([drawer.key for drawer in found]))
            late = self.access.refresh(store)
        drawers = tuple(drawer for drawer in found if drawer.key in back)
        return Removed(drawers, run=running.number, warnings=late)

    def purge(self, *, before: int | None, wing: str | None, dry_run: bool) -> Removed:
        """Remove deleted drawers for good, but for those that a card cites.

        Args:
            before: Only those deleted before this instant.
            wing: Only those of this wing.
            dry_run: Whether to name them only.
        """
        if not self.access.exists():
            return Removed((), dry_run)
        wing = None if wing is None else normalize_name(wing)
        with self.access.open(writable=False) as store:
            found = store.deleted_drawers(before, wing)
            protected = _name_cards(store, found)
            cited = {drawer_id for drawer_id, _ in protected}
        drawers = tuple(drawer for drawer in found if drawer.id not in cited)
        if dry_run or not drawers:
            return Removed(drawers, dry_run, protected)
        with self.access.run("purge", wing) as running:
            running.store.purge([drawer.key for drawer in drawers])
            late = self.access.refresh(running.store)
        return Removed(drawers, dry_run, protected, running.number, late)

    def forget(self, selection: Selection, *, apply: bool) -> Forgetting:
        """Remove what is selected from text, vectors and word index, and keep it from coming back.

        Args:
            selection: What; at least one of its conditions.
            apply: Whether to do it; else it is only named.

        Raises:
            NotFoundError: There is no palace, or nothing of that name.
            UsageError: Nothing is selected, or an id names several drawers.
        """
        named_one = selection.ids or selection.sources or selection.topic
        if not named_one and selection.before is None:
            raise UsageError(
                "nothing to forget is named", hint="give --id, --source, --topic or --before"
            )
        self.access.require()
        if selection.wing is not None:
            selection = replace(selection, wing=normalize_name(selection.wing))
        with self.access.open(writable=False) as store:
            places = list(dict.fromkeys(_find_places(store, selection)))
            keys = dict.fromkeys((*self._find_keys(store, selection), *store.keys_of(places)))
            drawers = store.get(list(keys))
            cited = _name_cards(store, drawers)
        named = tuple((place.root, place.path) for place in places)
        if not apply or not (drawers or places):
            return Forgetting(not apply, tuple(drawers), named, cited)
        warnings = self._forget([drawer.key for drawer in drawers], places)
        return Forgetting(False, tuple(drawers), named, cited, warnings)

    def _forget(self, keys: list[int], places: list[Place]) -> tuple[str, ...]:
        with self.access.run("forget", None) as running:
            running.store.forget(keys, places, now())
            return self.access.remove_traces(running.store)

    def _find_keys(self, store: Store, selection: Selection) -> Iterator[int]:
        wing = selection.wing
        for name in selection.ids:
            drawer = find_drawer(store, name)
            if wing is not None and drawer.wing != wing:
                raise NotFoundError(f"{drawer.id} is in wing {drawer.wing}, not in {wing}")
            # A text is forgotten wherever it stands, else a copy would keep it.
            for copy in store.get(store.equal_to([drawer.key])):
                if wing in {None, copy.wing}:
                    yield copy.key
        if selection.topic:
            for drawer in self._search(store, selection):
                yield drawer.key
        if selection.before is not None:
            for drawer in _walk_drawers(store, wing):
                told = drawer.said_at if drawer.said_at is not None else drawer.added_at
                if told < selection.before:
                    yield drawer.key

    def _search(self, store: Store, selection: Selection) -> list[Drawer]:
        scope = Scope(wing=selection.wing, history=True)
        request = Request(selection.topic, scope, _MOST_ON_TOPIC, floor=_TOPIC_SCORE)
        result = answer(self.access, store, request)
        sure = {hit.drawer.key for hit in result.hits if hit.score >= _TOPIC_SCORE}
        drawers = [hit.drawer for hit in result.hits]
        drawers += store.deleted_drawers(None, selection.wing)
        sure |= _hold_all(store, selection.topic, [drawer.key for drawer in drawers])
        return [drawer for drawer in drawers if drawer.key in sure]


def _hold_all(store: Store, topic: str, keys: list[int]) -> set[int]:
    """Return the drawers that hold everything a topic names, however many answer it better."""
    units = analyze_query(topic).units
    held = set(keys) if units else set()
    for unit in units:
        held &= {key for term in unit.terms for key in store.holding(term, keys)}
    return held


def _find_drawers(store: Store, names: Sequence[str]) -> list[Drawer]:
    """Return the drawers that are named, each once.

    Raises:
        NotFoundError: There is no such drawer.
        UsageError: A name is that of several drawers.
    """
    found = (find_drawer(store, name) for name in names)
    return list({drawer.key: drawer for drawer in found}.values())


def _name_cards(store: Store, drawers: Sequence[Drawer]) -> tuple[tuple[str, str], ...]:
    cards = store.cited(drawer.key for drawer in drawers)
    return tuple((drawer.id, card) for drawer in drawers for card in cards.get(drawer.key, ()))


def _walk_drawers(store: Store, wing: str | None) -> Iterator[Drawer]:
    """Yield every drawer, superseded and deleted ones included."""
    for batch in store.contents(_BATCH, deleted=True):
        for drawer in store.get([key for key, _ in batch]):
            if wing in {None, drawer.wing}:
                yield drawer


def _find_places(store: Store, selection: Selection) -> Iterator[Place]:
    """Yield where the sources that are named are filed.

    Raises:
        NotFoundError: One is not filed anywhere.
    """
    for name in selection.sources:
        paths = _find_paths(name)
        found = [
            source.place
            for source in _list_sources(store, selection.wing)
            if _is_named(source, name, paths)
        ]
        if not found:
            raise NotFoundError(
                f"no source {name!r}", hint="`mempal show ID` prints the source of a drawer"
            )
        yield from found


def _list_sources(store: Store, wing: str | None) -> Iterator[Source]:
    wings = {room.wing for room in store.rooms()} | {owner for owner, _ in store.roots()}
    wings |= {drawer.wing for drawer in store.deleted_drawers(None, wing)}
    for owner in sorted(wings if wing is None else {wing}):
        for _, root in store.roots(owner):
            for kind in (SourceKind.FILE, SourceKind.HISTORY):
                yield from store.sources(owner, root, kind).values()
        for kind in (SourceKind.MANUAL, SourceKind.CONVERSATION):
            yield from store.sources(owner, "", kind).values()


def _find_paths(name: str) -> set[Path]:
    """Return where a file of this name would lie: as it is written, and behind links."""
    if not name or "\0" in name:
        return set()
    return {Path(name).absolute(), Path(os.path.realpath(name))}


def _is_named(source: Source, name: str, paths: Collection[Path]) -> bool:
    """Return whether a source is named.

    Args:
        source: A file, which is named by its path in its tree; a conversation, by its key; a note.
        name: What the user wrote.
        paths: The same as places on disk.
    """
    if name in {source.path, source.session} and name:
        return True
    return source.kind is SourceKind.FILE and Path(source.root, source.path) in paths
