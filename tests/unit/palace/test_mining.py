"""Sync and the wings of a mine, on a real palace."""

import shutil

import pytest

from mempal.core.errors import NotFoundError, UsageError
from mempal.core.reports import MineMode
from tests.cases.support import age, mine
from tests.repositories import run_git, write_files
from tests.transcripts import claude_row, list_drawers, to_lines


def words(palace, *, history: bool = False) -> list[str]:
    return sorted(drawer.content.split()[0] for drawer in list_drawers(palace, history=history))


# --- sync -----------------------------------------------------------------------------------------


def test_a_dry_run_changes_nothing_and_applying_it_can_be_undone(mined, tree):
    (tree / "plan.md").unlink()
    dry = mined.mining.sync("w", apply=False)
    assert [(file.source_file, file.root, file.drawers) for file in dry.gone] == [
        ("plan.md", str(tree), 1)
    ]
    assert (dry.dry_run, dry.pruned, dry.run) == (True, 0, None)
    assert words(mined) == ["zqnote", "zqother", "zqplan"]
    done = mined.mining.sync("w", apply=True)
    assert (done.dry_run, done.pruned, done.gone) == (False, 1, dry.gone)
    assert words(mined) == ["zqnote", "zqother"]
    assert words(mined, history=True) == ["zqnote", "zqother", "zqplan"]
    mined.runs.undo(done.run)
    assert words(mined) == ["zqnote", "zqother", "zqplan"]


def test_where_all_is_in_line_there_is_no_run(mined):
    report = mined.mining.sync(" w ", apply=True)
    assert (report.wing, report.gone, report.ignored, report.run) == ("w", (), (), None)
    assert report.dry_run is False
    assert len(mined.runs.list()) == 1


def test_an_unknown_wing_is_not_found(mined):
    with pytest.raises(NotFoundError, match="'nobody'"):
        mined.mining.sync("nobody", apply=True)


def test_a_wing_of_notes_has_no_file_that_could_be_gone(palace):
    palace.drawers.add("zqjot", wing="notes", room="r")
    report = palace.mining.sync("notes", apply=True)
    assert (report.gone, report.pruned, report.run) == ((), 0, None)
    assert words(palace) == ["zqjot"]


def test_a_session_that_its_tool_deleted_is_kept(palace, tmp_path, monkeypatch):
    rows = [claude_row(1, "user", "zqasked", cwd=str(tmp_path / "shop"))]
    chats = age(
        write_files(tmp_path / "chats", {"p/s.jsonl": to_lines(rows), "p/t.jsonl": to_lines(rows)})
    )
    report = mine(palace, chats, mode=MineMode.CONVOS)
    (drawer,) = list_drawers(palace)
    assert report.wings == (drawer.wing,)
    assert drawer.wing != report.wing
    (chats / "p" / "s.jsonl").unlink()
    for wing in (report.wing, drawer.wing):
        assert palace.mining.sync(wing, apply=True).pruned == 0
        assert words(palace) == ["zqasked"]


def test_what_a_card_cites_stays_current(mined, tree, one, link):
    drawer = one("zqplan")
    link("card_a", drawer.id)
    (tree / "plan.md").unlink()
    (tree / "other.md").unlink()
    report = mined.mining.sync("w", apply=True)
    assert (report.pruned, report.protected) == (1, ((drawer.id, "card_a"),))
    assert words(mined) == ["zqnote", "zqplan"]


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_tree_that_is_not_there_stops_everything(mined, tree, tmp_path, how):
    second = age(write_files(tmp_path / "second", {"x.md": "zqsecond\n", "y.md": "zqstays\n"}))
    mine(mined, second, wing="w")
    (second / "x.md").unlink()
    shutil.rmtree(tree)
    if how == "empty":
        tree.mkdir()
    for apply in (False, True):
        with pytest.raises(NotFoundError, match="nothing was changed") as caught:
            mined.mining.sync("w", apply=apply)
        assert str(tree) in caught.value.message
    assert "zqsecond" in words(mined)
    report = mined.mining.sync("w", apply=True, skip_missing=True)
    assert [file.source_file for file in report.gone] == ["x.md"]
    assert words(mined) == ["zqnote", "zqother", "zqplan", "zqstays"]


def test_the_rules_of_the_last_mine_are_those_of_sync(palace, tree):
    run_git(tree, "init", "-q")
    write_files(tree, {".gitignore": "plan.md\n"})
    mine(palace, tree, wing="w", use_gitignore=False)
    assert palace.mining.sync("w", apply=False).ignored == ()
    write_files(tree, {"other.md": "zqother changed\n"})
    mine(palace, tree, wing="w")
    (file,) = palace.mining.sync("w", apply=False).ignored
    assert (file.source_file, file.drawers) == ("plan.md", 1)
    assert ".gitignore" in (file.reason or "")


def test_a_file_named_beside_its_tree_does_not_hide_how_that_was_mined(palace, tree):
    run_git(tree, "init", "-q")
    write_files(tree, {".gitignore": "plan.md\nsub/\n"})
    mine(palace, tree, tree / "sub/note.md", wing="w", use_gitignore=False)
    assert palace.mining.sync("w", apply=False).ignored == ()


def test_a_moved_file_loses_nothing(mined, tree):
    (tree / "plan.md").rename(tree / "sub" / "moved.md")
    mine(mined, tree, wing="w")
    report = mined.mining.sync("w", apply=True)
    (file,) = report.gone
    assert (file.source_file, file.moved_to, file.drawers) == ("plan.md", "sub/moved.md", 0)
    assert report.pruned == 0
    assert words(mined) == ["zqnote", "zqother", "zqplan"]
    assert mined.mining.sync("w", apply=True).gone == ()


# --- mine -----------------------------------------------------------------------------------------


def test_paths_of_several_projects_need_one_wing(palace, tree, tmp_path):
    second = write_files(tmp_path / "second", {"x.md": "zqsecond\n"})
    with pytest.raises(UsageError, match="several projects") as caught:
        mine(palace, tree, second)
    assert "--wing" in (caught.value.hint or "")
    assert not palace.exists()
    assert mine(palace, tree, second, wing="w").drawers.added == 4


def test_a_dry_run_starts_neither_palace_nor_run(palace, tree):
    report = mine(palace, tree, wing="w", dry_run=True)
    assert (report.drawers.added, report.run) == (3, None)
    assert not palace.exists()
    mine(palace, tree, wing="w")
    write_files(tree, {"new.md": "zqnew\n"})
    assert mine(palace, tree, wing="w", dry_run=True).drawers.added == 1
    assert len(palace.runs.list()) == 1
    assert words(palace) == ["zqnote", "zqother", "zqplan"]


def test_a_wing_for_all_keeps_conversations_together(palace, tmp_path):
    rows = [claude_row(1, "user", "zqasked", cwd=str(tmp_path / "shop"))]
    chats = age(write_files(tmp_path / "chats", {"s.jsonl": to_lines(rows)}))
    report = mine(palace, chats, wing="talk", mode=MineMode.CONVOS)
    assert report.wings == ()
    assert {drawer.wing for drawer in list_drawers(palace)} == {"talk"}


def test_history_is_part_of_the_same_run(palace, tree):
    run_git(tree, "init", "-q")
    run_git(tree, "add", "-A")
    run_git(tree, "commit", "-qm", "Drop the cache\n\nIt returned stale prices to customers.")
    report = mine(palace, tree, wing="w", git_log=True)
    assert [history.stored for history in report.history] == [1]
    assert report.drawers.added == 4
    assert palace.runs.undo(report.run).removed == 4
    assert list_drawers(palace, history=True) == []
