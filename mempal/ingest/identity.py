"""Which stored conversation a conversation that was read is.

A conversation is one source whatever file holds it: an export that has grown and has another name,
a session that its tool moved to an archive. The file that holds most of it is the one it is cited
in. Where two files go apart, or one begins in the middle, what only the second holds is stored
beside, so that nothing is lost or doubled and every drawer is cited where it stands.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mempal.core.ids import hash_parts
from mempal.core.model import Changes, Place, Source, SourceClass, SourceKind, SourceState
from mempal.core.names import clean_name
from mempal.core.ports import Store
from mempal.core.project import default_wing
from mempal.ingest.conversation import Conversation, Talk
from mempal.ingest.filing import Filer, Part
from mempal.ingest.tail import load_tail

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Household:
    """Files the conversations of one file, each under the source that it is.

    Attributes:
        filer: What stores them.
        file: The source of the file that holds them.
        known: What was stored of that file.
        wing: Wing for conversations that have none of their own.
        own_wings: Whether a conversation goes to the wing of the project it was held in.
    """

    filer: Filer
    file: Source
    known: Source | None
    wing: str
    own_wings: bool

    def add(self, talk: Talk) -> set[str]:
        """Store what was said, then the state of the file; return the wings it went to.

        The file counts as read only once all its conversations are stored, so that a run that is
        stopped in between reads it again.
        """
        store = self.filer.store
        held = {} if store is None else self._list_held(store)
        if self.known is None:
            # Neither its time nor what it holds may be taken for what is stored of it.
            unread = replace(self.file, mtime_ns=-1, content_sha256="", tail=None)
            self.filer.add(Part(unread, ()))
        wings = set()
        for conversation in talk.conversations:
            source = self._make_source(conversation)
            part = Part(source, conversation.chunks, conversation.start, SourceClass.IMPORT)
            if store is not None:
                former = held.get(source.session or "")
                if former is not None and self._stays(former, source, conversation, talk):
                    del held[source.session or ""]
                else:
                    former = None
                settled = self._identify(store, part, former)
                if settled is None:
                    # What was forgotten is in the file, yet nobody holds it.
                    held_elsewhere = store.withhold(part.source, part.chunks or ())
                    self.filer.changes += Changes(unchanged=len(held_elsewhere))
                    continue
                part = settled
            self.filer.add(part)
            wings.add(part.source.wing)
        self._let_go(self._list_lost(held) if talk.resumed else held)
        self.filer.add(Part(self.file, ()))
        return wings

    def _stays(
        self, former: Source, source: Source, conversation: Conversation, talk: Talk
    ) -> bool:
        """Return whether a conversation stays in the wing where it is.

        Only a file that is read whole can move it, and only to a project that is really there.
        """
        if talk.resumed or former.wing == source.wing or not self.own_wings:
            return True
        return not (conversation.folder and Path(conversation.folder).is_dir())

    def disband(self) -> None:
        """Supersede what was said in a file that is there and is no transcript any more."""
        if self.filer.store is None or self.known is None:
            return
        self._let_go(self._list_held(self.filer.store))

    def _list_lost(self, held: Mapping[str, Source]) -> dict[str, Source]:
        """Return the conversations of which nothing lies before the place that was read on from.

        All of it would have been met behind it, if the file held them still.
        """
        tail = load_tail(self.known.tail) if self.known is not None else None
        if tail is None:
            return {}
        return {key: former for key, former in held.items() if key not in tail.drawers}

    def _let_go(self, held: Mapping[str, Source]) -> None:
        """Supersede conversations that the file holds no more, and note that it does not.

        Whether a file is as it was read says nothing about what it had lost by then.
        """
        for former in held.values():
            gone = replace(former, state=SourceState.GONE, mined_at=self.file.mined_at)
            self.filer.add(Part(gone, ()))

    def _list_held(self, store: Store) -> dict[str, Source]:
        self.filer.settle(self.file.place)
        place = self.file.place
        if self.filer.dry_run and self.filer.former:
            place = replace(place, root=self.filer.former)
        return {source.session or "": source for source in store.held_in(place)}

    def _make_source(self, conversation: Conversation) -> Source:
        key = conversation.key
        wing = self.wing
        if self.own_wings and conversation.folder:
            wing = _name_project(conversation.folder)
        path = key + self._name_file() if key.endswith(":") else key
        return replace(
            self.file,
            wing=wing,
            root="",
            path=path,
            kind=SourceKind.CONVERSATION,
            size=0,
            mtime_ns=0,
            session=key.partition(":")[2],
            holder=self.file.place,
            tail=None,
        )

    def _name_file(self) -> str:
        return hash_parts(self.file.root, self.file.path)[:_DIGITS]

    def _identify(self, store: Store, part: Part, held: Source | None) -> Part | None:
        """Return the part as it is to be stored; ``None`` when another file holds all of it."""
        place = part.source.place
        self.filer.settle(place)
        if held is not None:
            keeps = held.path == place.path or not part.source.session
            return self._as(part, held.place) if keeps else self._split(store, part, held.place)
        stored = store.source(place)
        if stored is None or stored.holder is None or stored.holder == self.file.place:
            return part
        beside = replace(place, path=f"{place.path}@{self._name_file()}")
        # Without a key, what another file once had in this place is another conversation.
        if not part.source.session:
            return self._as(part, beside)
        if store.source(beside) is not None:
            return self._split(store, part, beside)
        if stored.state is SourceState.GONE:
            return part  # the file that it was cited in has lost it
        return self._weigh(store, part, stored.holder, beside)

    def _weigh(self, store: Store, part: Part, holder: Place, beside: Place) -> Part | None:
        """Return the part as it is to be stored when ``holder`` holds the conversation so far."""
        left = _is_as_read(store, holder)
        changes = store.preview_source(part.source, part.chunks or ())
        brings = changes.added or changes.restored
        if not brings and (left or changes.superseded):
            return None
        if not changes.superseded:
            return part
        told, said = _join(store, part)
        # An answer that was stored may have been longer since, or not so long yet.
        if said.startswith(told) or (not left and _begins_alike(store, part)):
            return part
        return None if told.startswith(said) else self._split(store, part, beside)

    def _split(self, store: Store, part: Part, beside: Place) -> Part:
        """Return what a file holds behind the beginning that both have, to be stored beside."""
        place, chunks = part.source.place, part.chunks or ()
        stored = store.drawers_of(place.wing, place.root, place.path)
        shared = 0
        for drawer, chunk in zip(stored, chunks, strict=False):
            if drawer.content != chunk.content:
                break
            shared += 1
        return replace(self._as(part, beside), chunks=chunks[shared:])

    def _as(self, part: Part, place: Place) -> Part:
        wing, root, path = place.wing, place.root, place.path
        return replace(part, source=replace(part.source, wing=wing, root=root, path=path))


def _name_project(folder: str) -> str:
    """Return the wing of the project that was worked on in a folder, which may be gone by now."""
    path = Path(folder)
    if path.is_absolute() and path.is_dir():
        return clean_name(default_wing(path))
    # The folder of another machine, where only its own name can be told.
    return clean_name(re.split(r"[/\\]", folder.rstrip("/\\"))[-1])


def _is_as_read(store: Store, place: Place) -> bool:
    """Return whether a file is there as it was when it was read, and so holds what is stored."""
    known = store.source(place)
    try:
        found = Path(place.root, place.path).lstat()
    except (OSError, ValueError):
        return False
    return known is None or (known.size, known.mtime_ns) == (found.st_size, found.st_mtime_ns)


def _join(store: Store, part: Part) -> tuple[str, str]:
    """Return all that is stored of a conversation, and all that a file holds of it."""
    place = part.source.place
    stored = store.drawers_of(place.wing, place.root, place.path)
    chunks = store.withhold(part.source, part.chunks or ())
    told = "".join(drawer.content for drawer in stored)
    return told, "".join(chunk.content for chunk in chunks)


def _begins_alike(store: Store, part: Part) -> bool:
    place = part.source.place
    stored = store.drawers_of(place.wing, place.root, place.path)
    return not stored or not part.chunks or stored[0].content == part.chunks[0].content
