"""How trees were mined, written down with a run and recalled from it."""

import os
from pathlib import Path

import pytest

from mempal.core.model import SourceClass
from mempal.core.reports import MineOptions
from mempal.ingest.mine import list_trees
from mempal.ingest.usage import Usage, describe_usage, recall_usage
from mempal.ingest.walk import WalkRules
from mempal.testing import MemoryRepositories, MemoryStore
from tests.drawers import chunks, embed, source
from tests.repositories import write_files

PLAIN = Usage()


class Log:
    """A store in which runs of ``mine`` are written down."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self._count = 0

    def mine(self, *paths: Path, wing: str = "w", **options) -> int:
        """Write down a run that changed something."""
        chosen = MineOptions(**options)
        trees = list_trees(list(paths), MemoryRepositories(), chosen)
        return self.write("mine", wing, describe_usage(list(paths), trees, chosen))

    def write(self, verb: str, wing: str | None, detail: dict[str, object]) -> int:
        number = self.store.begin_run(verb, wing, detail)
        self._count += 1
        pieces = chunks(f"text {self._count}")
        place = source(f"{self._count}.md")
        self.store.replace_source(place, pieces, embed(pieces), SourceClass.FILE)
        self.store.finish_run({})
        return number

    def recall(self, wing: str = "w") -> dict[str, Usage]:
        return recall_usage(self.store, wing)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {"a.md": "a\n", "sub/b.md": "b\n", "more.ignore": "x\n"}
    return write_files(tmp_path / "tree", files)


def test_what_was_never_mined_is_not_known(log, tree):
    assert log.recall() == {}
    log.mine(tree, wing="v")
    assert log.recall() == {}


def test_a_tree_that_was_mined_as_always_is_so_recalled(log, tree):
    log.mine(tree)
    assert log.recall() == {str(tree): PLAIN}


@pytest.mark.parametrize(
    ("options", "rules"),
    [
        ({"use_gitignore": False}, WalkRules(use_gitignore=False)),
        ({"use_mempalignore": False}, WalkRules(use_mempalignore=False)),
    ],
)
def test_rules_come_back_as_they_were_given(log, tree, options, rules):
    log.mine(tree, **options)
    assert log.recall() == {str(tree): Usage(rules)}
    log.mine(tree)
    assert log.recall() == {str(tree): PLAIN}


def test_files_of_rules_come_back_as_long_as_they_are_there(log, tree, monkeypatch):
    monkeypatch.chdir(tree)
    log.mine(tree, ignore_files=("more.ignore",))
    monkeypatch.chdir("/")
    assert log.recall()[str(tree)].rules == WalkRules(ignore_files=(tree / "more.ignore",))
    (tree / "more.ignore").unlink()
    assert log.recall()[str(tree)].rules == WalkRules()


def test_files_that_were_named_add_up(log, tree):
    log.mine(tree / "a.md")
    log.mine(tree)
    log.mine(tree / "a.md", tree / "more.ignore")
    # Outside of git, the tree of a file is the folder that it lies in.
    log.mine(tree / "sub/b.md")
    assert log.recall() == {
        str(tree): Usage(named=frozenset({"a.md", "more.ignore"})),
        str(tree / "sub"): Usage(named=frozenset({"b.md"})),
    }


def test_naming_a_file_does_not_change_the_rules_of_its_tree(log, tree):
    log.mine(tree, use_gitignore=False)
    log.mine(tree / "a.md")
    assert log.recall() == {str(tree): Usage(WalkRules(use_gitignore=False), frozenset({"a.md"}))}
    log.mine(tree / "a.md", use_mempalignore=False)
    assert log.recall()[str(tree)].rules == WalkRules(use_gitignore=False)


def test_a_file_named_together_with_its_tree_leaves_the_rules_to_be_recalled(log, tree):
    log.mine(tree, tree / "sub/b.md", use_gitignore=False)
    assert log.recall()[str(tree)] == Usage(WalkRules(use_gitignore=False), frozenset({"sub/b.md"}))


def test_a_file_of_another_tree_does_not_take_over_the_rules(log, tree, tmp_path):
    other = write_files(tmp_path / "other", {"c.md": "c\n"})
    log.mine(other)
    log.mine(tree, other / "c.md", use_gitignore=False)
    assert log.recall() == {
        str(tree): Usage(WalkRules(use_gitignore=False)),
        str(other): Usage(named=frozenset({"c.md"})),
    }


def test_a_name_that_begins_alike_is_another_tree(log, tree, tmp_path):
    twin = write_files(tmp_path / "tree2", {"a.md": "a\n"})
    log.mine(twin, tree / "a.md", use_gitignore=False)
    assert log.recall() == {
        str(twin): Usage(WalkRules(use_gitignore=False)),
        str(tree): Usage(named=frozenset({"a.md"})),
    }


def test_a_run_that_was_undone_tells_nothing(log, tree):
    log.mine(tree)
    number = log.mine(tree, tree / "a.md", use_gitignore=False)
    assert log.recall()[str(tree)] != PLAIN
    log.store.undo_run(number, 500)
    assert log.recall() == {str(tree): PLAIN}


def test_only_mining_counts(log, tree):
    log.mine(tree, use_gitignore=False)
    detail = {"roots": [str(tree)], "folders": [str(tree)], "named": [str(tree / "a.md")]}
    log.write("sync", "w", detail)
    log.write("mine", None, detail)
    assert log.recall() == {str(tree): Usage(WalkRules(use_gitignore=False))}


@pytest.mark.parametrize("odd", [None, 7, "text", {"a": 1}, [], [None, 3]])
@pytest.mark.parametrize("name", ["roots", "folders", "named", "ignore_files"])
def test_what_cannot_be_read_in_a_run_is_passed_over(log, tree, name, odd):
    log.mine(tree, use_gitignore=False)
    whole = describe_usage(
        [tree], list_trees([tree], MemoryRepositories(), MineOptions()), MineOptions()
    )
    log.write("mine", "w", {**whole, name: odd})
    recalled = log.recall()[str(tree)]
    # Without its root or its folders, the run says nothing of the tree; the one before does.
    expected = name not in {"roots", "folders"}
    assert recalled == Usage(WalkRules(use_gitignore=expected))


@pytest.mark.parametrize("odd", [None, 0, "no", []])
def test_a_rule_that_is_not_surely_off_is_on(log, tree, odd):
    log.write(
        "mine",
        "w",
        {"roots": [str(tree)], "folders": [str(tree)], "use_gitignore": odd},
    )
    assert log.recall() == {str(tree): PLAIN}


def test_a_run_without_detail_is_passed_over(log, tree):
    log.write("mine", "w", {})
    assert log.recall() == {}


@pytest.mark.skipif(os.name == "nt", reason="names that are no text")
def test_a_name_that_is_no_text_is_written_as_text(log, tmp_path):
    folder = write_files(tmp_path / os.fsdecode(b"caf\xe9"), {"a.md": "a\n"})
    log.mine(folder, folder / "a.md")
    assert list(log.recall()) == [str(tmp_path / "caf?")]
