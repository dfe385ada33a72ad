"""The miner on real files, with store, embedder and git told by doubles."""

import errno
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mempal.core.files import read_regular
from mempal.core.model import Changes, Repository, TreeListing
from mempal.core.ports import Embedder
from mempal.core.reports import MineMode, MineOptions, MineReport
from mempal.ingest import filing
from mempal.ingest import tree as module
from mempal.ingest.mine import Miner, list_trees
from mempal.testing import HashEmbedder, MemoryRepositories, MemoryStore
from tests.cases.support import LONG_AGO_NS, Silence, age
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
    assert pit.mine().drawers == Changes(unchanged=2)
    assert pit.embedder.opened == 1


@pytest.mark.parametrize("dry_run", [True, False])
def test_text_that_needs_no_embedding_does_not_pile_up(pit, monkeypatch, dry_run):
    """Neither a dry run nor new rules hold a whole tree in memory."""
    monkeypatch.setattr(filing, "_MOST_WAITING", 5_000)
    write_files(pit.root, {f"n{number}.md": f"note {number}\n" * 100 for number in range(50)})
    if not dry_run:
        pit.mine()
        write_files(pit.root, {"mempal.yaml": "rooms: [elsewhere]\n"})
    largest = 0
    flush = filing.Filer.flush

    def watch(self: filing.Filer) -> None:
        nonlocal largest
        largest = max(largest, self._characters)
        flush(self)

    monkeypatch.setattr(filing.Filer, "flush", watch)
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
        assert report.drawers == Changes(unchanged=1)
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


def forbid(*_: object) -> bytes:
    raise AssertionError("an unchanged file was read")


def test_what_did_not_change_is_not_read(pit, monkeypatch):
    write_files(pit.root, {"empty.md": "", "image.png": b"\x89PNG\r\n\x1a\n\0\0", "yarn.lock": "x"})
    age(pit.root)
    first = pit.mine()
    assert len(first.skipped) == 3
    monkeypatch.setattr(module, "read_regular", forbid)
    again = pit.mine()
    assert (again.files.unchanged, again.skipped) == (2, first.skipped)
    assert again.drawers == Changes(unchanged=2)


@pytest.mark.parametrize("change", ["size", "time", "room", "rooms", "version"])
def test_what_may_have_changed_is_read(pit, monkeypatch, change):
    pit.mine()
    options = {}
    if change == "size":
        write_files(pit.root, {"a.md": "# A\n\nalpha!\n"})
        os.utime(pit.root / "a.md", ns=(LONG_AGO_NS, LONG_AGO_NS))
    elif change == "time":
        os.utime(pit.root / "a.md", ns=(LONG_AGO_NS + 1, LONG_AGO_NS + 1))
    elif change == "room":
        options = {"room": "attic"}
    elif change == "rooms":
        write_files(pit.root, {"mempal.yaml": "rooms: [b]\n"})
    else:
        monkeypatch.setattr(module, "READER_VERSION", 99)
    opened = fail_on(monkeypatch, "nothing", OSError())
    pit.mine(**options)
    assert "a.md" in opened


def test_a_file_written_within_a_tick_of_being_read_is_read_again(pit, monkeypatch):
    """Size and time cannot tell a second write in the same instant from none."""
    instant = 1_700_000_000_000
    monkeypatch.setattr(module, "now", lambda: instant)
    just = instant * 1_000_000 - 1
    age(pit.root, just)
    pit.mine()
    write_files(pit.root, {"a.md": "# A\n\nomega\n"})
    age(pit.root, just)
    assert pit.mine().mined == ("a.md",)
    assert pit.text_of("a.md") == "# A\n\nomega\n"
    settled = just - 10**9
    age(pit.root, settled)
    pit.mine()
    opened = fail_on(monkeypatch, "nothing", OSError())
    pit.mine()
    assert opened == []


def test_a_touched_file_is_neither_stored_again_nor_embedded(pit):
    pit.mine()
    embedded = len(pit.embedder.batches)
    os.utime(pit.root / "a.md", ns=(LONG_AGO_NS + 5, LONG_AGO_NS + 5))
    report = pit.mine()
    assert (report.files.unchanged, report.mined) == (2, ())
    assert report.drawers == Changes(unchanged=2)
    assert len(pit.embedder.batches) == embedded
    source = pit.store.sources("w", str(pit.root))["a.md"]
    assert source.mtime_ns == LONG_AGO_NS + 5


def test_the_limit_decides_anew_in_each_run(pit, monkeypatch):
    write_files(pit.root, {"long.md": "line of a long note\n" * 50})
    age(pit.root)
    (skip,) = pit.mine(limit_file_size=500).skipped
    assert skip.reason == "too large (1000 bytes, limit 500 bytes)"
    assert pit.mine(limit_file_size=1000).mined == ("long.md",)
    assert pit.mine(limit_file_size=500).drawers.superseded == 2
    assert pit.mine(limit_file_size=1000).drawers.restored == 2
    monkeypatch.setattr(module, "read_regular", forbid)
    assert pit.mine(limit_file_size=1001).files.unchanged == 3


def test_a_file_that_grows_beyond_the_limit_while_it_is_read_is_skipped(pit):
    trees = list_trees([pit.root], pit.repositories, MineOptions())
    write_files(pit.root, {"a.md": "x" * 200})
    options = MineOptions(limit_file_size=100)
    report = Miner(pit.store, pit.embedder.open, Silence()).mine(trees, "w", options)
    (skip,) = report.skipped
    assert skip.path == "a.md"
    assert skip.reason.endswith("is larger than 100 bytes)")


def test_another_room_files_everything_anew(pit):
    pit.mine()
    assert {room.room for room in pit.store.rooms()} == {"general", "b"}
    report = pit.mine(room="attic")
    assert report.drawers == Changes(added=2, superseded=2)
    assert {room.room for room in pit.store.rooms()} == {"attic"}
    assert pit.mine().drawers == Changes(restored=2, superseded=2)


def test_a_tree_that_moved_keeps_its_drawers(pit, monkeypatch):
    pit.mine()
    before = [drawer.id for drawer in pit.store.get(range(1, 9))]
    new = pit.root.rename(pit.root.with_name("elsewhere"))
    monkeypatch.setattr(module, "read_regular", forbid)
    pit.root = new
    assert pit.mine(dry_run=True).files.unchanged == 2
    assert pit.store.roots() == [("w", str(new.with_name("tree")))]
    report = pit.mine()
    assert (report.files.unchanged, report.drawers) == (2, Changes(unchanged=2))
    assert pit.store.roots() == [("w", str(new))]
    assert [drawer.id for drawer in pit.store.get(range(1, 9))] == before


def test_another_tree_does_not_inherit_one_that_is_gone(pit):
    pit.mine()
    (pit.root / "a.md").unlink()
    (pit.root / "b" / "c.py").unlink()
    (pit.root / "b").rmdir()
    pit.root.rmdir()
    other = write_files(pit.root.with_name("other"), {"x.md": "ex\n", "y.md": "why\n"})
    pit.mine(other)
    assert pit.store.roots() == [("w", str(other)), ("w", str(pit.root))]
    assert pit.text_of("a.md") == "# A\n\nalpha\n"


def test_a_copy_beside_the_original_is_a_tree_of_its_own(pit):
    pit.mine()
    copy = write_files(pit.root.with_name("copy"), {"a.md": "# A\n\nalpha\n"})
    report = pit.mine(copy)
    assert report.drawers == Changes(added=1)
    assert pit.store.roots() == [("w", str(copy)), ("w", str(pit.root))]


@pytest.mark.parametrize("edit", ["", "# A\n\nalpha\n\n# B\n\nbeta\n", "\0\1\2binary"])
def test_a_dry_run_says_what_a_run_then_does(pit, edit):
    for _ in range(2):
        said, before = pit.mine(dry_run=True), dump(pit.store)
        assert dump(pit.store) == before
        assert said.dry_run
        done = pit.mine()
        assert (said.files, said.drawers, said.mined, said.skipped) == (
            done.files,
            done.drawers,
            done.mined,
            done.skipped,
        )
        write_files(pit.root, {"a.md": edit})


def test_blobs_and_commits_are_noted_where_git_knows_them(pit):
    data = (pit.root / "a.md").read_bytes()
    pit.repositories.add(
        Repository(pit.root, commit="c0ffee", object_format="sha1"),
        TreeListing(("a.md", "b/c.py"), frozenset({"a.md"})),
    )
    pit.mine()
    tracked, untracked = pit.store.sources("w", str(pit.root)).values()
    assert tracked.blob == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324
    assert (tracked.commit, untracked.commit) == ("c0ffee", None)
    assert tracked.content_sha256 == hashlib.sha256(data).hexdigest()


def test_a_new_commit_alone_reads_nothing(pit, monkeypatch):
    listing = TreeListing(("a.md", "b/c.py"), frozenset({"a.md", "b/c.py"}))
    pit.repositories.add(Repository(pit.root, commit="1" * 40), listing)
    pit.mine()
    pit.repositories.add(Repository(pit.root, commit="2" * 40), listing)
    monkeypatch.setattr(module, "read_regular", forbid)
    assert pit.mine().drawers == Changes(unchanged=2)


def test_what_is_said_of_an_inner_tree_begins_with_its_folder(pit):
    outer = Repository(pit.root)
    inner = Repository(write_files(pit.root / "vendor", {"v.md": "vee\n", "empty.md": ""}))
    pit.repositories.add(outer, TreeListing(("a.md",), frozenset({"a.md"}), submodules=("vendor",)))
    pit.repositories.add(inner, TreeListing(("v.md", "empty.md"), frozenset({"v.md"})))
    report = pit.mine()
    assert report.mined == ("a.md", "vendor/v.md")
    assert "vendor/empty.md" in [skip.path for skip in report.skipped]
    assert report.roots == (str(pit.root), str(inner.root))


def test_what_could_not_be_read_exactly_is_told(pit):
    write_files(
        pit.root, {"bad.py": b"# caf\xe9 and more text\nx = 1\n", "mempal.yaml": "rooms: 3\n"}
    )
    report = pit.mine()
    assert "mempal.yaml: rooms is not a list" in report.warnings
    assert all(warning.isprintable() for warning in report.warnings)


def test_whole_seconds_are_not_trusted_until_they_have_passed(tmp_path):
    pit = Pit(tmp_path)
    write_files(tmp_path, {"a.md": "first"})
    second = (tmp_path / "a.md").stat().st_mtime_ns // 10**9 * 10**9
    os.utime(tmp_path / "a.md", ns=(second, second))
    pit.mine()
    (tmp_path / "a.md").write_text("other")
    os.utime(tmp_path / "a.md", ns=(second, second))
    assert pit.mine().drawers == Changes(added=1, superseded=1)
    assert pit.text_of("a.md") == "other"


def test_a_large_file_that_is_skipped_by_name_is_judged_once(tmp_path, monkeypatch):
    pit = Pit(tmp_path)
    write_files(tmp_path, {"big.png": "x" * 5000, "a.md": "text"})
    age(tmp_path)
    pit.mine(limit_file_size=1000)
    written: list[object] = []
    monkeypatch.setattr(pit.store, "replace_source", lambda *given: written.append(given))
    report = pit.mine(limit_file_size=1000)
    assert [skip.path for skip in report.skipped] == ["big.png"]
    assert written == []


def test_a_touched_file_is_not_cut_again(tmp_path, monkeypatch):
    pit = Pit(tmp_path)
    write_files(tmp_path, {"a.md": "text"})
    age(tmp_path)
    pit.mine()
    os.utime(tmp_path / "a.md", ns=(LONG_AGO_NS + 5, LONG_AGO_NS + 5))
    monkeypatch.setattr(module, "read_chunks", lambda *_, **__: pytest.fail("cut again"))
    assert pit.mine().files.unchanged == 1


def test_a_dry_run_after_a_move_says_what_a_run_would_do(tmp_path):
    write_files(tmp_path, {"old/a.md": "one", "old/b.md": "two", "old/c.md": "three"})
    pit = Pit(tmp_path / "old")
    pit.mine()
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "new/b.md").write_text("changed")
    moved = Pit(tmp_path / "new", pit.store)
    dry = moved.mine(dry_run=True)
    assert dry.drawers == moved.mine().drawers == Changes(added=1, unchanged=2, superseded=1)


def test_looking_for_transcripts_leaves_files_alone(pit):
    pit.mine()
    before = dump(pit.store)
    write_files(pit.root, {"new.md": "new\n"})
    report = pit.mine(mode=MineMode.CONVOS)
    assert report.drawers == Changes()
    assert ("new.md", "not a transcript") in {(skip.path, skip.reason) for skip in report.skipped}
    assert dump(pit.store)[:4] == before[:4]
    assert pit.mine().drawers.superseded == 0
