"""Palaces for tests of whole histories: a store of choice, an embedder without a model, no git.

The verbs are the real ones; only what is slow or outside (git, the index file, its lock) is told by
doubles. A fresh palace mined from the same files is what an old one is held to.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.config import Config, load_config
from mempal.core.model import Drawer, Repository
from mempal.core.outfit import Outfit
from mempal.core.ports import Store
from mempal.core.reports import MineOptions, MineReport
from mempal.ingest.mine import Miner, list_trees
from mempal.palace import Palace
from mempal.testing import HashEmbedder, MemoryRepositories, MemoryStore
from tests.cases.support import Silence
from tests.drawers import dump

WING = "w"


class FreeLock:
    """A lock that nobody else wants."""

    def hold(self) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass
class Life:
    """A tree, a palace that follows it, and looks at both.

    Attributes:
        folder: Where everything lies; the tree is ``tree`` in it.
        kind: ``sqlite`` or ``memory``.
    """

    folder: Path
    kind: str = "sqlite"
    repositories: MemoryRepositories = field(default_factory=MemoryRepositories)
    palace: Palace = field(init=False)
    root: Path = field(init=False)

    def __post_init__(self) -> None:
        home = self.folder / "home"
        home.mkdir()
        config: Config = load_config(home)
        self.palace = Palace(
            config,
            Outfit(
                database=home / "palace.db",
                open_store=self._opener(home),
                open_archive=lambda _: (_ for _ in ()).throw(AssertionError("no archive here")),
                open_embedder=lambda: HashEmbedder(4),
                open_index=lambda _: None,
                lock=FreeLock(),
                repositories=self.repositories,
                describe_git=lambda: None,
            ),
        )
        self.settle(self.folder / "tree")

    def _opener(self, home: Path) -> Callable[[bool], Store]:
        if self.kind == "sqlite":
            return lambda writable: SqliteStore(home / "palace.db", writable=writable)
        (home / "palace.db").touch()
        store = MemoryStore()
        return lambda _: store

    def settle(self, root: Path) -> None:
        """Let the tree be, or lie, at ``root``, as a working tree that git cannot list."""
        root.mkdir(exist_ok=True)
        self.root = root
        self.repositories.add(Repository(root))

    def mine(self, *below: str, **options: Any) -> MineReport:
        """Mine the tree, or folders and files of it; check that the balance adds up."""
        paths = [self.root / name for name in below] or [self.root]
        chosen = MineOptions(**({"wing": WING} | options))
        report = self.palace.mining.mine(paths, chosen, Silence())
        files = report.files
        assert files.seen == files.mined + files.unchanged + files.skipped
        assert (files.mined, files.skipped) == (len(report.mined), len(report.skipped))
        assert all(skip.reason for skip in report.skipped)
        return report

    def mine_afresh(self, **options: Any) -> list[Drawer]:
        """Return what a palace that has seen nothing yet makes of the tree."""
        store = MemoryStore()
        chosen = MineOptions(**({"wing": WING} | options))
        trees = list_trees([self.root], self.repositories, chosen)
        Miner(store, lambda: HashEmbedder(4), Silence()).mine(trees, WING, chosen)
        return current(every(store))

    def open(self) -> Store:
        return self.palace.access.outfit.open_store(False)

    def every(self) -> list[Drawer]:
        """Return every drawer of the palace, superseded and deleted ones included."""
        store = self.open()
        try:
            return every(store)
        finally:
            store.close()

    def dump(self) -> tuple[object, ...]:
        """Return everything a caller can see of the palace; nothing when there is none yet."""
        if not self.palace.access.exists():
            return ()
        store = self.open()
        try:
            return (*dump(store), every(store))
        finally:
            store.close()

    def current(self) -> list[Drawer]:
        return current(self.every())


def every(store: Store) -> list[Drawer]:
    """Return every drawer of a store by key."""
    keys = [key for batch in store.contents(1000, deleted=True) for key, _ in batch]
    return store.get(keys)


def current(drawers: list[Drawer]) -> list[Drawer]:
    """Return the drawers that are neither superseded nor deleted, in the order of their sources."""
    there = [drawer for drawer in drawers if drawer.superseded_at is drawer.deleted_at is None]
    return sorted(there, key=lambda drawer: (*home_of(drawer), drawer.chunk_index))


def home_of(drawer: Drawer) -> tuple[str, str, str, str]:
    """Return what tells the source of a drawer: its tree, its file and its conversation."""
    return drawer.root, drawer.source_file, drawer.session or "", drawer.wing


def tell(drawer: Drawer) -> tuple[object, ...]:
    """Return what a drawer says and cites, whatever its place among others and its history."""
    return (
        *home_of(drawer),
        drawer.room,
        drawer.content,
        drawer.speaker,
        drawer.source_class,
        drawer.said_at,
        str(drawer.span),
    )
