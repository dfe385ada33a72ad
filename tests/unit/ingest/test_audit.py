"""The audit, held to everything that can come apart between a tree and what is stored of it."""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from mempal.core.model import Chunk, SourceClass, Span
from mempal.core.reports import AuditRoot, MineOptions
from mempal.ingest import audit as module
from mempal.ingest.audit import audit
from mempal.ingest.mine import Miner, list_trees
from mempal.testing import HashEmbedder, MemoryRepositories, MemoryStore
from tests.cases.support import Silence, age
from tests.repositories import write_files


@dataclass
class Ledger:
    root: Path
    store: MemoryStore = field(default_factory=MemoryStore)
    repositories: MemoryRepositories = field(default_factory=MemoryRepositories)

    def mine(self, *paths: Path, **options: Any) -> None:
        chosen = MineOptions(**options)
        trees = list_trees(list(paths) or [self.root], self.repositories, chosen)
        Miner(self.store, HashEmbedder, Silence()).mine(trees, "w", chosen)

    def audit(self) -> AuditRoot:
        (found,) = audit(self.store, self.repositories, "w", (), Silence()).roots
        assert found.seen == found.stored + found.skipped + found.changed + found.new
        return found


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    files = {"a.md": "alpha\n", "b/c.md": "beta\r\nbeta\r\n", "empty.md": "", "x.png": "x"}
    root = age(write_files(tmp_path / "tree", files))
    (root / "link").symlink_to("a.md")
    ledger = Ledger(root)
    ledger.mine()
    return ledger


def test_after_mining_every_file_is_accounted_for(ledger):
    assert ledger.audit() == AuditRoot("w", str(ledger.root), 2, 3, 0, 0, 0, 0)
    assert ledger.audit().complete


def write(name: str, text: str | bytes) -> Callable[[Path], object]:
    return lambda root: write_files(root, {name: text})


@pytest.mark.parametrize(
    ("change", "counts", "problem"),
    [
        (write("new.md", "gamma\n"), {"new": 1}, "new.md: not mined yet"),
        (write("a.md", "another\n"), {"changed": 1}, "a.md: changed since mined"),
        (write("a.md", "ALPHA\n"), {"changed": 1}, "a.md: changed since mined"),
        (write("empty.md", "no more\n"), {"changed": 1}, "empty.md: changed since mined"),
        (lambda root: (root / "a.md").unlink(), {"gone": 1}, "a.md: stored, but the file is gone"),
        (lambda root: (root / "empty.md").unlink(), {}, None),
    ],
)
def test_what_changed_since_is_named(ledger, change, counts, problem):
    change(ledger.root)
    found = ledger.audit()
    names = ("changed", "new", "gone")
    assert {name: n for name in names if (n := getattr(found, name))} == counts
    assert found.problems == ((problem,) if problem else ())
    assert found.complete is not bool(problem)
    ledger.mine()
    assert ledger.audit().complete is (counts.get("gone", 0) == 0)


def test_a_touched_file_is_no_change(ledger):
    os.utime(ledger.root / "a.md")
    assert ledger.audit().complete


def test_stored_text_that_differs_from_the_file_is_a_problem(ledger):
    (source,) = (
        found
        for found in ledger.store.sources("w", str(ledger.root)).values()
        if found.path == "a.md"
    )
    piece = Chunk("alph\n", Span(1, 1, 0, 5))
    ledger.store.replace_source(source, [piece], {piece.content: b"xxxx0"}, SourceClass.FILE)
    found = ledger.audit()
    assert found.problems == ("a.md: the stored text differs from the file",)
    assert not found.complete


def test_a_file_that_cannot_be_read_is_named(ledger, monkeypatch):
    def refuse(path: Path, _: int) -> bytes:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(module, "read_regular", refuse)
    found = ledger.audit()
    assert (found.stored, found.changed) == (0, 2)
    assert found.problems[0] == "a.md: cannot be read (Input/output error)"


def test_a_file_that_grew_is_not_read(ledger, monkeypatch):
    write_files(ledger.root, {"a.md": "alpha\n" * 9, "b/c.md": "b" * 9})
    monkeypatch.setattr(module, "read_regular", None)
    assert ledger.audit().changed == 2


def test_a_file_that_was_named_though_rules_leave_it_out_is_not_gone(ledger):
    write_files(ledger.root, {".mempalignore": "b/\n"})
    ledger.mine()
    found = ledger.audit()
    assert (found.stored, found.gone, found.complete) == (3, 0, True)
    write_files(ledger.root, {"b/c.md": "BETA\r\nbeta\r\n"})
    assert ledger.audit().problems == ("b/c.md: changed since mined",)
    (ledger.root / "b" / "c.md").unlink()
    (ledger.root / "b" / "c.md").symlink_to("../a.md")
    assert ledger.audit().problems == ("b/c.md: stored, but the file is gone",)


def test_a_folder_that_became_a_link_out_of_the_tree_is_not_followed(ledger, tmp_path):
    (ledger.root / "b").rename(tmp_path / "outside")
    (ledger.root / "b").symlink_to(tmp_path / "outside")
    assert ledger.audit().problems == ("b/c.md: stored, but the file is gone",)


def test_a_tree_that_is_gone_is_one_problem(ledger):
    ledger.root.rename(ledger.root.with_name("moved"))
    found = ledger.audit()
    assert (found.gone, found.seen) == (2, 0)
    (problem,) = found.problems
    assert problem == f"{ledger.root} is not there any more; 2 sources are stored"
    assert not found.complete


def test_problems_are_shown_up_to_a_number_and_counted_beyond(ledger):
    write_files(ledger.root, {f"new{number}.md": "new\n" for number in range(50)})
    found = ledger.audit()
    assert (len(found.problems), found.new) == (20, 50)


def test_only_the_wing_that_is_asked_for(ledger, tmp_path):
    other = write_files(tmp_path / "other", {"o.md": "omega\n"})
    ledger.mine(other)
    both = audit(ledger.store, ledger.repositories, None, (), Silence())
    assert [root.root for root in both.roots] == [str(other), str(ledger.root)]
    assert both.complete
    assert audit(ledger.store, ledger.repositories, "v", (), Silence()).roots == ()
    assert not replace(both.roots[0], gone=1).complete
