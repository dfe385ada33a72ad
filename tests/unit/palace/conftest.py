"""A real palace on disk, and looks into it."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mempal.core.model import Drawer, Scope
from mempal.core.ports import Store
from mempal.palace import Palace
from tests.cases.support import age, mine, open_at
from tests.drawers import cite
from tests.repositories import write_files
from tests.transcripts import list_drawers

FILES = {
    "plan.md": "zqplan for the summer\n",
    "sub/note.md": "zqnote about the valve\n",
    "other.md": "zqother is something else\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return age(write_files(tmp_path / "tree", FILES))


@pytest.fixture
def palace(isolation: Any) -> Palace:
    return open_at(isolation.palace, embed__backend="hash", index__backend="exact")


@pytest.fixture
def mined(palace: Palace, tree: Path) -> Palace:
    """The palace with the tree in wing ``w``; run 1."""
    assert mine(palace, tree, wing="w").run == 1
    return palace


@pytest.fixture
def opened(palace: Palace) -> Callable[[], Any]:
    """Open the store itself, past the verbs."""

    @contextmanager
    def open_store() -> Iterator[Store]:
        with closing(palace.access.outfit.open_store(True)) as store:
            yield store

    return open_store


@pytest.fixture
def one(palace: Palace) -> Callable[..., Drawer]:
    """Return the only drawer that holds a word, superseded ones included, deleted ones not."""

    def find(word: str, wing: str | None = None) -> Drawer:
        (drawer,) = [
            drawer
            for drawer in list_drawers(palace, history=True)
            if word in drawer.content and wing in {None, drawer.wing}
        ]
        return drawer

    return find


@pytest.fixture
def found(palace: Palace) -> Callable[..., tuple[set[str], set[str]]]:
    """Return the ids that a search finds by meaning, and those it finds by word."""

    def search(query: str, wing: str | None = None) -> tuple[set[str], set[str]]:
        scope = Scope(wing=wing, history=True)
        near, worded = (
            {hit.drawer.id for hit in palace.search(query, scope, limit=50, mode=mode).hits}
            for mode in ("vector", "keyword")
        )
        return near, worded

    return search


@pytest.fixture
def link(opened: Any) -> Callable[[str, str], None]:
    """Let a card rest on a drawer."""

    def call(card: str, drawer_id: str) -> None:
        with opened() as store:
            cite(store, card, drawer_id)

    return call
