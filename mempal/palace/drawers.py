"""Verbs about single drawers."""

from dataclasses import dataclass, replace

from mempal.core.errors import NotFoundError, UsageError
from mempal.core.model import Addition, Drawer, Scope
from mempal.core.names import normalize_name
from mempal.core.ports import Store
from mempal.core.reports import Shown
from mempal.ingest.note import add_note, prepare_note
from mempal.ingest.text import read_text
from mempal.palace.access import Access
from mempal.palace.answer import opening_meaning
from mempal.search.cite import Citer
from mempal.search.duplicates import THRESHOLD, Duplicates, find_duplicates
from mempal.search.hints import explain_nothing

_NAMED = 5
# Where a text would be filed does not matter to what would be stored of it.
_ANY = "any"


@dataclass(frozen=True, slots=True)
class Drawers:
    """Drawers one by one: add, show, ask whether a text is there already."""

    access: Access

    def add(
        self, text: str, *, wing: str, room: str, source: str = "", importance: int = 0
    ) -> Addition:
        """Store a text given by hand; a long one in several drawers.

        Raises:
            UsageError: The text is blank, a name is not valid or the importance is not 0 to 5.
            EmbedderMismatchError: The palace was embedded by another embedder.
        """
        note = prepare_note(text, wing, room, source)
        with self.access.run("add", note.source.wing, embeds=True) as running:
            embedder = self.access.outfit.open_embedder()
            addition = add_note(running.store, embedder, note, importance)
            self.access.refresh(running.store)
        return addition

    def find_duplicates(
        self, text: str, *, wing: str | None = None, threshold: float = THRESHOLD
    ) -> Duplicates:
        """Tell what is stored already of a text, or of something nearly the same.

        Compared is what ``add`` would store of it: without secrets, a long text in pieces.

        Raises:
            UsageError: The text is blank, or the threshold is not from 0 to 1.
        """
        if not 0 <= threshold <= 1:
            raise UsageError(f"a similarity is from 0 to 1, not {threshold}", hint="try 0.9")
        if not text.strip():
            raise UsageError(
                "there is no text to look for", hint="give it as an argument, or `-` to read stdin"
            )
        scope = Scope(wing=None if wing is None else normalize_name(wing))
        if not self.access.exists():
            return Duplicates(scope.wing, threshold, hint=self.access.absence)
        pieces = [chunk.content for chunk in prepare_note(text, _ANY, _ANY, "").chunks]
        with (
            self.access.open(writable=False) as store,
            opening_meaning(self.access, store) as open_meaning,
        ):
            found = find_duplicates(store, open_meaning, pieces, scope, threshold)
            holds = store.rooms() if scope.wing is None else store.has_wing(scope.wing)
            if found.duplicate or holds:
                return found
            return replace(found, hint=explain_nothing(store, scope))

    def show(self, drawer_id: str) -> Shown:
        """Return one drawer by its id or the beginning of it.

        Raises:
            NotFoundError: No drawer has such an id.
            UsageError: Several have.
        """
        self.access.require()
        with self.access.open(writable=False) as store:
            drawer = find_drawer(store, drawer_id)
            citer = Citer(store, self.access.outfit.repositories, read_text)
            return Shown(drawer, citer.cite(drawer))


def find_drawer(store: Store, drawer_id: str) -> Drawer:
    """Return the one drawer whose id is, or begins with, ``drawer_id``.

    Raises:
        NotFoundError: No drawer has such an id.
        UsageError: Several have.
    """
    found = store.resolve(drawer_id) if drawer_id else []
    if not found:
        raise NotFoundError(f"no drawer {drawer_id!r}", hint="`mempal search` prints ids")
    if len(found) > 1:
        names = ", ".join(drawer.id for drawer in found[:_NAMED])
        raise UsageError(f"{drawer_id!r} names several drawers: {names}")
    return found[0]
