"""Whatever lies in a tree: a run ends, its balance adds up, nothing is lost or made up."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from mempal.core.reports import MineOptions, MineReport
from mempal.ingest.audit import audit
from mempal.ingest.decode import UndecodableError, decode
from mempal.ingest.mine import Miner, list_trees
from mempal.testing import HashEmbedder, MemoryRepositories, MemoryStore
from tests.cases.support import Silence, check_text

NAMES = st.sampled_from(["a", "b.py", "c.md", "d.json", "e.txt", "ß.md", "g h", "mempal.yaml"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
MARKED = st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"# @generated\n", b"\0"])
TEXT = st.text(max_size=2000).map(lambda text: text.encode("utf-8", "surrogatepass"))
PROSE = st.lists(
    st.sampled_from(["# Head", "word", "", "def f():", "    x = 1", "```", "決定", "é"]),
    max_size=300,
).map(lambda lines: "\n".join(lines).encode())
CONTENT = st.one_of(
    st.binary(max_size=500),
    TEXT,
    PROSE,
    PROSE.map(lambda data: data.replace(b"\n", b"\r\n")),
    st.tuples(MARKED, st.one_of(TEXT, st.binary(max_size=200))).map(b"".join),
    TEXT.map(lambda data: data.decode("utf-8", "replace").encode("utf-16")),
    PROSE.map(lambda data: data.decode().encode("gb18030")),
)
TREES = st.dictionaries(PATHS, CONTENT, max_size=6)


def write(root: Path, files: Mapping[str, bytes]) -> None:
    """Write what can be written: a name may already be a folder, or a folder a file."""
    for name, data in files.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError:
            continue


@contextmanager
def new_tree(files: Mapping[str, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "tree"
        root.mkdir()
        write(root, files)
        yield root


def mine(store: MemoryStore, root: Path) -> MineReport:
    options = MineOptions()
    trees = list_trees([root], MemoryRepositories(), options)
    report = Miner(store, lambda: HashEmbedder(8), Silence()).mine(trees, "w", options)
    files = report.files
    assert files.seen == files.mined + files.unchanged + files.skipped
    assert files.seen == sum(len(names) for _, _, names in os.walk(root))
    assert (files.mined, files.skipped) == (len(report.mined), len(report.skipped))
    assert all(skip.reason for skip in report.skipped)
    return report


def check(store: MemoryStore, root: Path) -> None:
    """Hold everything that is current to the disk."""
    for path in store.sources("w", str(root)):
        drawers = store.drawers_of("w", str(root), path)
        if drawers:
            check_text(drawers, (root / path).read_bytes())


@given(TREES)
@settings(max_examples=60)
def test_any_tree_is_mined_once_and_can_be_rebuilt(files):
    with new_tree(files) as root:
        store = MemoryStore()
        first = mine(store, root)
        check(store, root)
        revision = store.revision()
        second = mine(store, root)
        assert (second.mined, second.skipped) == ((), first.skipped)
        assert second.drawers.added == second.drawers.superseded == second.drawers.restored == 0
        assert second.drawers.unchanged == first.drawers.added == store.count_drawers()
        assert store.revision() == revision
        assert audit(store, MemoryRepositories(), "w", (), Silence()).complete


@given(TREES, TREES)
@settings(max_examples=40)
def test_any_change_is_followed_and_undone(before, after):
    """What is current is what a fresh palace would hold, and all that ever was stays."""
    with new_tree(before) as root:
        store, fresh = MemoryStore(), MemoryStore()
        mine(store, root)
        former = {drawer.id for drawer in store.get(range(1, store.count_drawers() + 1))}
        write(root, after)
        mine(store, root)
        mine(fresh, root)
        check(store, root)

        def current(held: MemoryStore) -> list[tuple[str, int, str, str]]:
            return [
                (path, drawer.chunk_index, drawer.room, drawer.content)
                for path in sorted(held.sources("w", str(root)))
                for drawer in held.drawers_of("w", str(root), path)
            ]

        assert current(store) == current(fresh)
        ids = [drawer.id for drawer in store.get(range(1, store.count_drawers() + 1))]
        assert former <= set(ids)
        assert len(ids) == len(set(ids))
        write(root, before)
        mine(store, root)
        check(store, root)


@given(CONTENT)
def test_nothing_is_stored_that_the_file_does_not_say(data):
    with new_tree({"note.txt": data}) as root:
        store = MemoryStore()
        mine(store, root)
        drawers = store.drawers_of("w", str(root), "note.txt")
        if not drawers:
            return
        try:
            decoded = decode(data)
        except UndecodableError:
            raise AssertionError("what cannot be decoded was stored") from None
        stored = "".join(drawer.content for drawer in drawers)
        assert stored.count("\ufffd") - decoded.text.count("\ufffd") == decoded.replaced
        assert "\ufeff" not in stored[:1]
