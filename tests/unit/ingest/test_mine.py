"""The miner on real files, with store, embedder and git told by doubles."""

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mempal.core.files import read_regular
from mempal.core.model import Changes, Repository
from mempal.core.ports import Embedder
from mempal.core.reports import MineOptions, MineReport
from mempal.ingest import mine as module
from mempal.ingest.mine import Miner, list_trees
from mempal.testing import HashEmbedder, MemoryRepositories, MemoryStore
from tests.cases.support import Silence, age
from tests.drawers import dump
from tests.repositories import write_files


@dataclass
class Watched:
    """An embedder that remembers what it was asked."""

    batches: list[Sequence[str]] = field(default_factory=list)
    opened: int = 0
    model: HashEmbedder = field(default_factory=lambda: HashEmbedder(16))

    def open(self) -> Embedder:
        self.opened += 1
        return self

    @property
    def identity(self) -> str:
        return self.model.identity

    @property
    def dimensions(self) -> int:
        return self.model.dimensions

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        self.batches.append(texts)
        return self.model.embed_documents(texts)

    def embed_query(self, text: str) -> bytes:
        return self.model.embed_query(text)


@dataclass
class Pit:
    """A tree, a store, and a fresh miner for each run."""

    root: Path
    store: MemoryStore = field(default_factory=MemoryStore)
    embedder: Watched = field(default_factory=Watched)
    repositories: MemoryRepositories = field(default_factory=MemoryRepositories)

    def mine(
        self,
        *paths: Path,
        open_embedder: Callable[[], Embedder] | None = None,
        **options: Any,
    ) -> MineReport:
        chosen = MineOptions(**options)
        trees = list_trees(list(paths) or [self.root], self.repositories, chosen)
        miner = Miner(self.store, open_embedder or self.embedder.open, Silence())
        return miner.mine(trees, "w", chosen)

    def text_of(self, path: str) -> str:
        drawers = self.store.drawers_of("w", str(self.root), path)
        return "".join(drawer.content for drawer in drawers)


@pytest.fixture
def pit(tmp_path: Path) -> Pit:
    root = write_files(
        tmp_path / "tree", {"a.md": "# A\n\nalpha\n", "b/c.py": "def gamma(): ...\n"}
    )
    return Pit(age(root))


def test_an_embedder_is_opened_once_however_much_there_is(pit):
    write_files(pit.root, {f"n{number}.md": f"note {number}\n" for number in range(600)})
    report = pit.mine()
    assert report.drawers.added == 602
    assert pit.embedder.opened == 1
    assert max(map(len, pit.embedder.batches)) <= 256
    assert sum(map(len, pit.embedder.batches)) == 602


def test_without_new_text_no_embedder_is_opened(pit):
    pit.mine()
    assert pit.mine(room="elsewhere", dry_run=True).drawers == Changes(added=2, superseded=2)
    assert pit.mine().drawers == Changes()
    assert pit.embedder.opened == 1


@pytest.mark.parametrize("dry_run", [True, False])
def test_text_that_needs_no_embedding_does_not_pile_up(pit, monkeypatch, dry_run):
    """Neither a dry run nor new rules hold a whole tree in memory."""
    monkeypatch.setattr(module, "_MOST_WAITING", 5_000)
    write_files(pit.root, {f"n{number}.md": f"note {number}\n" * 100 for number in range(50)})
    if not dry_run:
        pit.mine()
        write_files(pit.root, {"mempal.yaml": "rooms: [elsewhere]\n"})
    largest = 0
    flush = Miner._flush

    def watch(self: Miner, *arguments: Any) -> None:
        nonlocal largest
        largest = max(largest, self._queue.characters)
        flush(self, *arguments)

    monkeypatch.setattr(Miner, "_flush", watch)
    report = pit.mine(dry_run=dry_run)
    assert report.files.mined + report.files.unchanged >= 52
    assert 0 < largest < 7_000


def test_what_cannot_be_embedded_leaves_no_trace(pit):
    """A run that is refused has written nothing, not even that a file was touched."""
    pit.mine()
    os.utime(pit.root / "a.md", ns=(1, 1))
    write_files(pit.root, {"b/c.py": "def delta(): ...\n", "empty.md": ""})
    before = dump(pit.store)

    def refuse() -> Embedder:
        raise RuntimeError("no embedder today")

    with pytest.raises(RuntimeError):
        pit.mine(open_embedder=refuse)
    assert dump(pit.store) == before


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_paths_that_lie_in_each_other_are_mined_once(pit, order):
    write_files(pit.root, {".mempalignore": "hidden/\n", "hidden/d.md": "delta\n"})
    (pit.root / "link").symlink_to("a.md")
    pit.repositories.add(Repository(pit.root))
    named = [pit.root, pit.root / "b", pit.root / "hidden" / "d.md"]
    report = pit.mine(*(named[number] for number in order), pit.root, pit.root / "a.md")
    assert list(report.mined) == [".mempalignore", "a.md", "b/c.py", "hidden/d.md"]
    assert [skip.path for skip in report.skipped] == ["link"]
    assert report.roots == (str(pit.root),)


def test_outside_of_git_each_named_folder_is_a_tree_of_its_own(pit):
    report = pit.mine(pit.root / "a.md", pit.root / "b")
    assert report.roots == (str(pit.root), str(pit.root / "b"))
    assert list(report.mined) == ["a.md", "b/c.py"]
    assert set(pit.store.sources("w", str(pit.root / "b"))) == {"c.py"}


def fail_on(monkeypatch: pytest.MonkeyPatch, name: str, error: OSError) -> list[str]:
    """Let reading one file fail; return the names of those that are read."""
    opened = []

    def read(path: Path, limit: int) -> bytes:
        opened.append(path.name)
        if path.name == name:
            raise error
        return read_regular(path, limit)

    monkeypatch.setattr(module, "read_regular", read)
    return opened


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EIO, "Input/output error"),
        FileNotFoundError(errno.ENOENT, "No such file or directory"),
        OSError("it is not a regular file"),
    ],
)
def test_what_is_stored_of_a_file_that_cannot_be_read_stays(pit, monkeypatch, error):
    pit.mine()
    write_files(pit.root, {"a.md": "# A\n\nanother alpha\n"})
    with monkeypatch.context() as patch:
        fail_on(patch, "a.md", error)
        report = pit.mine()
        assert report.drawers == Changes()
        (skip,) = report.skipped
        assert (skip.path, skip.reason) == ("a.md", f"unreadable ({error.strerror or error})")
        assert pit.text_of("a.md") == "# A\n\nalpha\n"
    assert pit.mine().mined == ("a.md",)
    assert pit.text_of("a.md") == "# A\n\nanother alpha\n"


def test_a_new_file_that_cannot_be_read_is_tried_again(pit, monkeypatch):
    with monkeypatch.context() as patch:
        fail_on(patch, "a.md", OSError(errno.EIO, "Input/output error"))
        assert pit.mine().mined == ("b/c.py",)
    opened = fail_on(monkeypatch, "nothing", OSError())
    assert pit.mine().mined == ("a.md",)
    assert opened == ["a.md"]
