"""Files that were renamed: their drawers go along, and nothing else does."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from mempal.core.model import Changes
from mempal.core.reports import MineReport
from mempal.ingest import moves as module
from tests.drawers import cite
from tests.palaces import WING, Life
from tests.repositories import write_files


@pytest.fixture(params=["sqlite", "memory"])
def life(request, tmp_path: Path) -> Life:
    life = Life(tmp_path, request.param)
    write_files(life.root, {"a.md": "alpha", "b.md": "beta", "sub/c.md": "gamma"})
    return life


def told(life: Life) -> dict[str, str]:
    return {drawer.source_file: drawer.content for drawer in life.current()}


def ids(life: Life) -> dict[str, str]:
    return {drawer.content: drawer.id for drawer in life.current()}


def move(life: Life, old: str, new: str) -> None:
    target = life.root / new
    target.parent.mkdir(parents=True, exist_ok=True)
    (life.root / old).rename(target)


def mine(life: Life) -> MineReport:
    """Mine, after a dry run that must have changed nothing and said the same."""
    before = life.dump()
    dry = life.mine(dry_run=True)
    assert life.dump() == before
    done = life.mine()
    assert (dry.files, dry.drawers, dry.mined, dry.gone) == (
        *(done.files, done.drawers),
        *(done.mined, done.gone),
    )
    return done


@pytest.mark.parametrize("new", ["z.md", "0.md", "sub/deep/a.md", "A.MD", "a.txt"])
def test_a_renamed_file_keeps_its_drawers(life, new):
    mine(life)
    before = ids(life)
    move(life, "a.md", new)
    report = mine(life)
    assert (report.drawers, report.mined, report.gone) == (Changes(unchanged=3), (), 0)
    assert told(life) == {new: "alpha", "b.md": "beta", "sub/c.md": "gamma"}
    assert ids(life) == before


def test_a_copy_is_not_a_rename(life):
    mine(life)
    write_files(life.root, {"z.md": "alpha"})
    assert mine(life).drawers == Changes(added=1, unchanged=3)
    assert (told(life)["a.md"], told(life)["z.md"]) == ("alpha", "alpha")
    (life.root / "a.md").unlink()
    report = mine(life)
    assert (report.drawers, report.gone) == (Changes(unchanged=3), 1)


def test_a_file_that_was_renamed_and_changed_is_a_new_one(life):
    mine(life)
    move(life, "a.md", "z.md")
    write_files(life.root, {"z.md": "alpha more"})
    report = mine(life)
    assert (report.drawers, report.gone) == (Changes(added=1, unchanged=2), 1)
    assert told(life) == {
        "a.md": "alpha",
        "z.md": "alpha more",
        "b.md": "beta",
        "sub/c.md": "gamma",
    }


def test_two_files_that_swap_names_hold_what_they_hold(life):
    mine(life)
    before = ids(life)
    for _ in range(2):
        move(life, "a.md", "x")
        move(life, "b.md", "a.md")
        move(life, "x", "b.md")
        mine(life)
        expected = life.mine_afresh()
        assert told(life) == {drawer.source_file: drawer.content for drawer in expected}
    assert ids(life) == before


def test_a_chain_of_renames_over_runs_keeps_the_drawers(life):
    mine(life)
    before = ids(life)
    for old, new in pairwise(["a.md", "x.md", "0.md", "sub/y.md", "a.md"]):
        move(life, old, new)
        assert mine(life).drawers == Changes(unchanged=3)
        assert told(life)[new] == "alpha"
        assert ids(life) == before
    store = life.open()
    assert store.sources(WING, str(life.root))["a.md"].moved_to is None
    assert store.sources(WING, str(life.root))["x.md"].moved_to == "0.md"
    store.close()


def test_a_chain_of_renames_in_one_run_loses_nothing(life):
    mine(life)
    move(life, "b.md", "z.md")
    move(life, "a.md", "b.md")
    report = mine(life)
    held = told(life)
    assert (held["b.md"], held["z.md"]) == ("alpha", "beta")
    assert (held["a.md"], report.gone) == ("alpha", 1)  # until `sync --apply`
    life.palace.mining.sync(WING, apply=True, skip_missing=False)
    assert told(life) == {"b.md": "alpha", "z.md": "beta", "sub/c.md": "gamma"}
    assert mine(life).gone == 0


def test_a_name_may_be_given_to_another_file(life):
    """The drawers go along with the text; the name begins anew and gets them back later."""
    mine(life)
    alpha = ids(life)["alpha"]
    move(life, "a.md", "z.md")
    mine(life)
    write_files(life.root, {"a.md": "another"})
    assert mine(life).drawers == Changes(added=1, unchanged=3)
    assert told(life)["z.md"] == "alpha"
    (life.root / "a.md").unlink()
    life.palace.mining.sync(WING, apply=True, skip_missing=False)
    move(life, "z.md", "a.md")
    assert mine(life).drawers == Changes(unchanged=3)
    assert (told(life)["a.md"], ids(life)["alpha"]) == ("alpha", alpha)


@pytest.mark.parametrize("left", ["a.md", "e.md"])
def test_of_two_equal_files_one_is_moved(life, left):
    write_files(life.root, {"e.md": "alpha"})
    mine(life)
    other = {"a.md": "e.md", "e.md": "a.md"}[left]
    move(life, other, "z.md")
    report = mine(life)
    assert (report.drawers, report.gone) == (Changes(unchanged=4), 0)
    assert {path for path, text in told(life).items() if text == "alpha"} == {left, "z.md"}


def test_two_equal_files_may_both_be_moved_or_one_be_dropped(life):
    write_files(life.root, {"e.md": "alpha"})
    mine(life)
    move(life, "a.md", "x.md")
    move(life, "e.md", "y.md")
    assert mine(life).drawers == Changes(unchanged=4)
    (life.root / "x.md").unlink()
    move(life, "y.md", "z.md")
    report = mine(life)
    assert (report.drawers.added, report.gone) == (0, 1)
    assert told(life)["z.md"] == "alpha"


def test_one_file_that_is_gone_stands_for_one_copy_only(life):
    mine(life)
    move(life, "a.md", "x.md")
    write_files(life.root, {"y.md": "alpha"})
    assert mine(life).drawers == Changes(added=1, unchanged=3)


def test_a_file_that_came_back_is_no_copy(life):
    mine(life)
    before = ids(life)
    (life.root / "a.md").unlink()
    assert mine(life).gone == 1
    write_files(life.root, {"a.md": "alpha"})
    report = mine(life)
    assert (report.drawers, report.gone) == (Changes(unchanged=3), 0)
    (life.root / "a.md").unlink()
    life.palace.mining.sync(WING, apply=True, skip_missing=False)
    write_files(life.root, {"a.md": "alpha"})
    assert mine(life).drawers == Changes(unchanged=2, restored=1)
    assert ids(life) == before


def test_a_rename_takes_deleted_and_former_text_along(life):
    mine(life)
    write_files(life.root, {"a.md": "later"})
    mine(life)
    (later,) = [drawer for drawer in life.current() if drawer.content == "later"]
    life.palace.removal.delete([later.id])
    move(life, "a.md", "z.md")
    assert life.mine().drawers.added == 0
    assert "z.md" not in told(life)
    write_files(life.root, {"z.md": "alpha"})
    drawers = mine(life).drawers
    assert (drawers.added, drawers.restored) == (0, 1)
    life.palace.removal.restore([later.id])
    assert {drawer.source_file for drawer in life.every()} == {"z.md", "b.md", "sub/c.md"}


def test_a_name_whose_text_a_card_cites_is_not_given_away(life):
    """What is protected stays where it was, and the other text is stored beside it."""
    mine(life)
    store = life.palace.access.outfit.open_store(True)
    cite(store, "card_1", ids(life)["alpha"])
    store.close()
    (life.root / "a.md").unlink()
    outcome = life.palace.mining.sync(WING, apply=True, skip_missing=False)
    assert len(outcome.protected) == 1
    move(life, "b.md", "a.md")
    mine(life)
    assert "beta" in [d.content for d in life.current() if d.source_file == "a.md"]


def test_a_case_only_rename_is_one_where_both_names_are_one_file(life, monkeypatch):
    """On file systems that fold case, the former name still leads to the file."""
    mine(life)
    before = ids(life)
    move(life, "a.md", "A.md")
    names = {str(life.root / "a.md"), str(life.root / "A.md")}

    def exists(root: str, path: str) -> bool:
        return str(Path(root) / path) in names or os.path.lexists(Path(root) / path)

    monkeypatch.setattr(module, "exists", exists)
    monkeypatch.setattr(Path, "samefile", lambda path, other: {str(path), str(other)} <= names)
    assert mine(life).drawers == Changes(unchanged=3)
    assert told(life) == {"A.md": "alpha", "b.md": "beta", "sub/c.md": "gamma"}
    assert ids(life) == before


def test_rules_may_change_with_the_name(life):
    """A file that is read under other rules is still the file that was renamed."""
    mine(life)
    before = ids(life)
    move(life, "a.md", "z.md")
    write_files(life.root, {"mempal.yaml": "rooms: [sub]\n"})
    report = mine(life)
    assert report.drawers == Changes(added=1, unchanged=3)
    assert before.items() <= ids(life).items()


def test_a_tree_that_moved_is_known_though_files_were_renamed_often(life):
    mine(life)
    names = ["a.md", "x.md", "y.md", "z.md", "v.md", "w.md"]
    for old, new in pairwise(names):
        move(life, old, new)
        mine(life)
    life.root.rename(life.folder / "moved")
    life.settle(life.folder / "moved")
    assert mine(life).drawers == Changes(unchanged=3)
    assert {drawer.root for drawer in life.current()} == {str(life.root)}


def test_a_tree_that_moved_may_have_changed_too(life):
    mine(life)
    life.root.rename(life.folder / "moved")
    life.settle(life.folder / "moved")
    move(life, "a.md", "z.md")
    write_files(life.root, {"new.md": "new"})
    assert mine(life).drawers == Changes(added=1, unchanged=3)


@pytest.mark.parametrize("rules", ["*.md\n", "sub/\n*.md\n"])
def test_a_tree_that_moved_is_known_though_rules_leave_its_files_out_by_now(life, rules):
    life.mine()
    write_files(life.root, {".gitignore": rules})
    life.root.rename(life.folder / "moved")
    life.settle(life.folder / "moved")
    dry = life.mine(dry_run=True)
    assert dry.drawers == life.mine().drawers == Changes(added=1)
    assert {drawer.root for drawer in life.current()} == {str(life.root)}
    assert told(life).keys() == {"a.md", "b.md", "sub/c.md", ".gitignore"}


def test_a_link_in_a_files_place_does_not_make_a_tree_known(life):
    life.mine()
    life.root.rename(life.folder / "moved")
    life.settle(life.folder / "moved")
    write_files(life.root, {".gitignore": "*.md\n"})
    for name in ("a.md", "b.md"):
        (life.root / name).rename(life.folder / name)
        # As long as the file that it stands for: what a link is measured by.
        (life.root / name).symlink_to("x" * len((life.folder / name).read_bytes()))
    life.mine()
    assert {drawer.root for drawer in life.current()} == {
        str(life.root),
        str(life.folder / "tree"),
    }
