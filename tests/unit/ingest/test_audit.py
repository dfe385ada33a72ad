"""The audit, held to everything that can come apart between a tree and what is stored of it."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mempal.core.model import Chunk, Drawer, Place, SourceClass, Span
from mempal.core.reports import AuditRoot, MineOptions
from mempal.ingest import audit as module
from mempal.ingest.audit import audit
from mempal.ingest.mine import Miner, list_trees
from mempal.ingest.usage import describe_usage
from mempal.testing import HashEmbedder, MemoryRepositories, MemoryStore
from tests.cases.support import Silence, age
from tests.repositories import write_files
from tests.transcripts import chatgpt_conversation, claude_row, codex_rows, say, to_lines


@dataclass
class Ledger:
    root: Path
    store: MemoryStore = field(default_factory=MemoryStore)
    repositories: MemoryRepositories = field(default_factory=MemoryRepositories)

    def mine(self, *paths: Path, **options: Any) -> None:
        chosen = MineOptions(**options)
        named = list(paths) or [self.root]
        trees = list_trees(named, self.repositories, chosen)
        self.store.begin_run("mine", "w", describe_usage(named, trees, chosen))
        Miner(self.store, HashEmbedder, Silence()).mine(trees, "w", chosen)
        self.store.finish_run({})

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


# --- what a person took away ----------------------------------------------------------------------


def holding(ledger: Ledger, word: str) -> Drawer:
    keys = [key for batch in ledger.store.contents(100) for key, _ in batch]
    (drawer,) = [drawer for drawer in ledger.store.get(keys) if word in drawer.content]
    return drawer


def test_a_deleted_drawer_is_not_missing(ledger):
    ledger.store.delete_drawers([holding(ledger, "alpha").key], 500)
    assert ledger.audit() == AuditRoot("w", str(ledger.root), 2, 3, 0, 0, 0, 0)


def test_a_forgotten_drawer_is_not_missing(ledger):
    ledger.store.forget([holding(ledger, "alpha").key], [], 500)
    assert ledger.audit() == AuditRoot("w", str(ledger.root), 2, 3, 0, 0, 0, 0)
    write_files(ledger.root, {"a.md": "alpha\nomega\n"})
    assert ledger.audit().problems == ("a.md: changed since mined",)
    ledger.mine()
    assert ledger.audit().complete


def test_a_superseded_drawer_that_was_never_deleted_is_missing(ledger):
    # Cut out of the store with what it was cited by: nobody asked for that.
    (source,) = [
        s for s in ledger.store.sources("w", str(ledger.root)).values() if s.path == "a.md"
    ]
    ledger.store.replace_source(source, [], {}, SourceClass.FILE)
    ledger.store.replace_source(source, [Chunk("x", Span(1, 1))], {"x": b"xxxx0"}, SourceClass.FILE)
    assert ledger.audit().problems == ("a.md: the stored text differs from the file",)


def test_a_forgotten_source_is_skipped_whatever_its_file_holds_now(ledger):
    ledger.store.forget([], [Place("w", str(ledger.root), "a.md")], 500)
    for text in ("alpha\n", "something longer than before\n"):
        write_files(ledger.root, {"a.md": text})
        assert ledger.audit() == AuditRoot("w", str(ledger.root), 1, 4, 0, 0, 0, 0)
    (ledger.root / "a.md").unlink()
    assert ledger.audit() == AuditRoot("w", str(ledger.root), 1, 3, 0, 0, 0, 0)


# --- the rules a tree was mined by ----------------------------------------------------------------


def test_a_tree_is_looked_at_by_the_rules_of_its_last_mine(ledger):
    write_files(ledger.root, {".mempalignore": "b/\nlater.md\n", "later.md": "later\n"})
    ledger.mine(use_mempalignore=False)
    found = ledger.audit()
    assert (found.stored, found.excluded, found.complete) == (4, 0, True)
    write_files(ledger.root, {"more.md": "more\n"})
    ledger.mine()
    found = ledger.audit()
    assert (found.stored, found.complete) == (5, True)
    assert found.excluded > 0
    write_files(ledger.root, {"b/new.md": "new\n"})
    assert ledger.audit().complete


def test_rules_that_were_named_hold_for_the_audit_too(ledger, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("scratch.md\n", "utf-8")
    write_files(ledger.root, {"scratch.md": "scratch\n", "more.md": "more\n"})
    ledger.mine(ignore_files=(str(rules),))
    assert ledger.audit().complete
    rules.unlink()
    assert ledger.audit().problems == ("scratch.md: not mined yet",)


# --- transcripts ----------------------------------------------------------------------------------

ROWS = [
    claude_row(1, "user", "zqask about the valve"),
    claude_row(2, "assistant", say("zqsay it is open")),
    claude_row(3, "user", "zqagain and again"),
]


def make_chats(tmp_path: Path, files: dict[str, str | bytes]) -> Ledger:
    ledger = Ledger(age(write_files(tmp_path / "chats", files)))
    ledger.mine()
    return ledger


@pytest.fixture
def chats(tmp_path: Path) -> Ledger:
    return make_chats(tmp_path, {"p/s.jsonl": to_lines(ROWS)})


FORMATS: dict[str, str | bytes] = {
    "claude.jsonl": to_lines(ROWS),
    "packed.jsonl.zst": zstandard.compress(to_lines(ROWS).encode()),
    "codex.jsonl": to_lines(codex_rows("k1", "/work/x", ("user", "zqask"), ("assistant", "zqsay"))),
    "chatgpt.json": json.dumps([chatgpt_conversation("g1", ("user", "zqask"))]),
    "empty.jsonl": to_lines([claude_row(1, "user", "zqmeta", isMeta=True)]),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_transcript_is_complete_once_it_was_mined(tmp_path, name):
    found = make_chats(tmp_path, {name: FORMATS[name]}).audit()
    assert (found.stored, found.skipped) == ((0, 1) if name == "empty.jsonl" else (1, 0))
    assert (found.seen, found.problems, found.complete) == (1, (), True)


def test_a_session_that_grew_is_complete_once_its_tail_was_mined(chats):
    path = chats.root / "p/s.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write(to_lines([claude_row(4, "user", "zqmore of it")]))
    found = chats.audit()
    assert (found.changed, found.problems) == (1, ("p/s.jsonl: changed since mined",))
    chats.mine()
    assert chats.audit().complete
    assert len(chats.store.get([1, 2, 3, 4, 5])) == 4


@pytest.mark.parametrize(
    ("old", "new", "counts", "problem"),
    [
        ("zqask", "ZQASK", (1, 0), "the stored text differs from the file"),
        ("zqagain", "zqagaix", (1, 0), "the stored text differs from the file"),
        ("000000000001", "000000000002", (1, 0), "the stored text differs from the file"),
        (
            '"type": "assistant"',
            '"type": "assistent"',
            (1, 0),
            "the stored text differs from the file",
        ),
        ("{", "x", (0, 1), "changed since mined"),
    ],
)
def test_a_session_of_the_same_size_is_read(chats, old, new, counts, problem):
    path = chats.root / "p/s.jsonl"
    text = path.read_text("utf-8").replace(old, new)
    path.write_text(text, "utf-8")
    found = chats.audit()
    assert ((found.stored, found.changed), found.problems) == (counts, (f"p/s.jsonl: {problem}",))
    assert not found.complete


def test_a_session_whose_file_is_gone_is_named(chats):
    (chats.root / "p/s.jsonl").unlink()
    found = chats.audit()
    assert (found.gone, found.problems) == (0, ())  # what was said stays


@pytest.mark.parametrize("how", ["delete", "forget"])
def test_what_was_taken_out_of_a_session_is_not_missing(chats, how):
    key = holding(chats, "zqsay").key
    if how == "delete":
        chats.store.delete_drawers([key], 500)
    else:
        chats.store.forget([key], [], 500)
    assert chats.audit() == AuditRoot("w", str(chats.root), 1, 0, 0, 0, 0, 0)


def test_a_message_that_is_not_stored_is_missing(chats):
    (held,) = chats.store.held_in(Place("w", str(chats.root), "p/s.jsonl"))
    kept = [Chunk(drawer.content, drawer.span) for drawer in chats.store.get([1, 2])]
    chats.store.replace_source(held, kept, {}, SourceClass.IMPORT)
    assert chats.audit().problems == ("p/s.jsonl: the stored text differs from the file",)


def test_a_conversation_is_where_it_is_cited(tmp_path):
    """A second file that holds the same is complete, and so is one that holds a part of it."""
    files: dict[str, str | bytes] = {
        "a.jsonl": to_lines(ROWS),
        "b.jsonl": to_lines(ROWS),
        "c.jsonl": to_lines(ROWS[:2]),
    }
    chats = make_chats(tmp_path, files)
    assert len(chats.store.get([1, 2, 3, 4])) == 3
    assert chats.audit() == AuditRoot("w", str(chats.root), 3, 0, 0, 0, 0, 0)


def test_a_conversation_among_others_that_is_cited_elsewhere(tmp_path):
    one, two = (chatgpt_conversation(key, ("user", f"zq{key}")) for key in ("g1", "g2"))
    files: dict[str, str | bytes] = {
        "first.json": json.dumps([one]),
        "second.json": json.dumps([one, two]),
    }
    chats = make_chats(tmp_path, files)
    assert chats.audit() == AuditRoot("w", str(chats.root), 2, 0, 0, 0, 0, 0)


def test_a_forgotten_conversation_is_not_missing(chats):
    (held,) = chats.store.held_in(Place("w", str(chats.root), "p/s.jsonl"))
    chats.store.forget([], [held.place], 500)
    assert chats.audit() == AuditRoot("w", str(chats.root), 1, 0, 0, 0, 0, 0)


def test_a_forgotten_session_is_skipped_and_may_grow(chats):
    chats.store.forget([], [Place("w", str(chats.root), "p/s.jsonl")], 500)
    with (chats.root / "p/s.jsonl").open("a", encoding="utf-8") as file:
        file.write(to_lines([claude_row(4, "user", "zqmore of it")]))
    assert chats.audit() == AuditRoot("w", str(chats.root), 0, 1, 0, 0, 0, 0)


def test_a_compressed_session_that_was_damaged_is_named(tmp_path):
    packed = zstandard.compress(to_lines(ROWS).encode())
    chats = make_chats(tmp_path, {"s.jsonl.zst": packed})
    write_files(chats.root, {"s.jsonl.zst": packed[:-20] + bytes(20)})
    (problem,) = chats.audit().problems
    assert problem.startswith("s.jsonl.zst: cannot be read (damaged compression")
