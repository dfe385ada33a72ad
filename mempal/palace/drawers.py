"""Verbs about single drawers."""

from dataclasses import dataclass

from mempal.core.errors import NotFoundError, UsageError
from mempal.core.model import Addition, Drawer
from mempal.core.ports import Store
from mempal.core.reports import Shown
from mempal.ingest.note import add_note, prepare_note
from mempal.ingest.text import read_text
from mempal.palace.access import Access
from mempal.search.cite import Citer

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Drawers:
    """Drawers one by one: add, show."""

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
        with self.access.run("add", note.source.wing) as running:
            embedder = self.access.outfit.open_embedder()
            addition = add_note(running.store, embedder, note, importance)
            self.access.refresh(running.store)
        return addition

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
