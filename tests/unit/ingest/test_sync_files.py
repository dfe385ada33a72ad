"""Which stored files are gone or left out now, told file by file."""

import os
from pathlib import Path

import pytest

from mempal.core.errors import NotFoundError
from mempal.ingest.sync import Stale, find_stale
from mempal.ingest.usage import Usage
from mempal.ingest.walk import WalkRules
from tests.palaces import WING, Life
from tests.repositories import write_files
from tests.transcripts import claude_row, to_lines


@pytest.fixture(params=["sqlite", "memory"])
def life(request, tmp_path: Path) -> Life:
    life = Life(tmp_path, request.param)
    write_files(life.root, {"a.md": "alpha", "b.md": "beta", "sub/c.md": "gamma"})
    life.mine()
    return life


def find(
    life: Life, usage: Usage | None = None, *, skip_missing: bool = False, wing: str = WING
) -> dict[str, Stale]:
    store = life.open()
    try:
        usages = {} if usage is None else {str(life.root): usage}
        found = find_stale(store, life.repositories, wing, usages, (), skip_missing=skip_missing)
    finally:
        store.close()
    assert len({one.place for one in found}) == len(found)
    return {one.place.path: one for one in found}


def test_files_that_are_there_are_not_stale(life):
    assert find(life) == {}


def test_a_file_that_is_gone_is(life):
    (life.root / "a.md").unlink()
    stale = find(life)
    assert set(stale) == {"a.md"}
    assert (stale["a.md"].drawers, stale["a.md"].reason, stale["a.md"].moved_to) == (1, None, None)


def test_a_copy_that_is_left_is_where_it_moved_to(life):
    write_files(life.root, {"z.md": "alpha"})
    life.mine()
    (life.root / "a.md").unlink()
    assert find(life)["a.md"].moved_to == "z.md"


def test_a_file_that_moved_and_was_not_mined_since_is_found(life):
    (life.root / "a.md").rename(life.root / "sub/new.md")
    write_files(life.root, {"other.md": "delta"})
    stale = find(life)
    assert set(stale) == {"a.md"}
    assert (stale["a.md"].moved_to, stale["a.md"].is_stored) == ("sub/new.md", False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("kind", ["folder", "link", "loop", "pipe"])
def test_what_took_the_place_of_a_file_is_not_that_file(life, kind):
    path = life.root / "a.md"
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("b.md" if kind == "link" else "a.md")
    assert set(find(life)) == {"a.md"}


def test_a_rename_leaves_a_name_without_drawers(life):
    (life.root / "a.md").rename(life.root / "z.md")
    life.mine()
    stale = find(life)["a.md"]
    assert (stale.drawers, stale.moved_to) == (0, "z.md")
    life.palace.mining.sync(WING, apply=True, skip_missing=False)
    assert find(life) == {}


def test_a_rule_that_came_later_is_told(life):
    write_files(life.root, {".gitignore": "sub/\n*.txt\n"})
    stale = find(life)
    assert set(stale) == {"sub/c.md"}
    assert "sub/" in (stale["sub/c.md"].reason or "")
    write_files(life.root, {".gitignore": "", ".mempalignore": "b.*\n"})
    assert set(find(life)) == {"b.md"}


def test_rules_are_those_the_tree_was_mined_with(life):
    write_files(life.root, {".gitignore": "a.md\n"})
    assert find(life, Usage(WalkRules(use_gitignore=False))) == {}
    assert find(life, Usage(named=frozenset({"a.md"}))) == {}
    (life.root / "a.md").unlink()
    assert set(find(life, Usage(named=frozenset({"a.md"})))) == {"a.md"}


def test_what_was_said_in_a_transcript_stays(life):
    write_files(life.root, {"s.jsonl": to_lines([claude_row(1, "user", "words")])})
    life.mine()
    (life.root / "s.jsonl").unlink()
    assert find(life) == {}


@pytest.mark.parametrize("state", ["gone", "empty", "a file"])
def test_a_tree_that_is_not_there_is_refused(life, state):
    life.root.rename(life.folder / "elsewhere")
    if state == "empty":
        life.root.mkdir()
    elif state == "a file":
        life.root.write_text("no folder")
    with pytest.raises(NotFoundError, match="nothing was changed"):
        find(life)
    assert find(life, skip_missing=True) == {}


def test_a_wing_without_trees_is_refused(life):
    with pytest.raises(NotFoundError, match="nothing was mined"):
        find(life, wing="other")


def test_other_trees_of_the_wing_are_looked_at_too(life):
    other = write_files(life.folder / "other", {"x.md": "ex", "y.md": "why"})
    first, life.root = life.root, other
    life.settle(other)
    life.mine()
    (other / "x.md").unlink()
    (first / "b.md").unlink()
    assert set(find(life)) == {"x.md", "b.md"}


def test_a_file_that_was_forgotten_or_is_skipped_is_nobodys_loss(life):
    write_files(life.root, {"empty.md": ""})
    life.mine()
    (life.root / "empty.md").unlink()
    assert find(life) == {}
