"""Runs on a real palace: what counts as one, how it ends, and what undoing brings back."""

import subprocess
import sys
from contextlib import closing

import pytest

from mempal.core.errors import BusyError, NotFoundError, UsageError
from mempal.core.reports import MineOptions
from mempal.core.runs import RunState
from mempal.ingest import filing
from mempal.search import meaning
from tests.cases.support import Silence, age, mine
from tests.drawers import put, source
from tests.repositories import write_files
from tests.transcripts import list_drawers, tell


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid


class Interrupted(Silence):
    """Progress during which somebody presses Ctrl-C."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def advance(self, label: str = "") -> None:
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1


def look(palace):
    return tell(list_drawers(palace, history=True))


def test_without_a_palace_nothing_was_done(palace):
    assert palace.runs.list() == ()
    with pytest.raises(NotFoundError, match="there is no palace"):
        palace.runs.undo(1)
    assert not palace.exists()


def test_every_verb_that_changes_something_is_a_run(mined, one):
    drawer = one("zqplan")
    mined.drawers.add("zqjot", wing="v", room="r")
    mined.removal.delete([drawer.id])
    mined.removal.restore([drawer.id])
    mined.removal.delete([drawer.id])
    mined.removal.purge(before=None, wing="w", dry_run=False)
    listed = [(run.id, run.verb, run.wing) for run in mined.runs.list()]
    assert listed == [
        (6, "purge", "w"),
        (5, "delete", None),
        (4, "restore", None),
        (3, "delete", None),
        (2, "add", "v"),
        (1, "mine", "w"),
    ]
    assert [run.id for run in mined.runs.list(2)] == [6, 5]
    assert {run.state for run in mined.runs.list()} == {RunState.DONE}


def test_mining_again_without_a_change_is_no_run(mined, tree):
    before = mined.runs.list()
    assert mine(mined, tree, wing="w").run is None
    assert mined.runs.list() == before


def test_a_mine_writes_down_how_it_was_told(mined, tree):
    (run,) = mined.runs.list()
    assert run.detail["roots"] == run.detail["folders"] == [str(tree)]
    assert run.detail["named"] == []
    assert run.detail["use_gitignore"] is True
    assert "stopped" not in run.detail


@pytest.mark.parametrize("verb", ["add", "delete", "restore", "mine"])
def test_undo_brings_back_what_was_before(mined, tree, one, found, verb):
    drawer = one("zqplan")
    if verb == "restore":
        mined.removal.delete([drawer.id])
    before = look(mined)
    near, worded = found("zqplan summer")
    if verb == "add":
        mined.drawers.add("zqplan by hand", wing="w", room="r")
    elif verb == "mine":
        write_files(tree, {"plan.md": "zqplan changed\n", "new.md": "zqnew plan\n"})
        mine(mined, tree, wing="w")
    else:
        getattr(mined.removal, verb)([drawer.id])
    assert look(mined) != before
    number = mined.runs.list(1)[0].id
    assert mined.runs.undo(number).verb == verb
    assert look(mined) == before
    assert found("zqplan summer") == (near, worded)
    assert mined.runs.list(1)[0].state is RunState.UNDONE
    with pytest.raises(UsageError, match="was undone already"):
        mined.runs.undo(number)


def test_an_unknown_run_is_not_found(mined):
    before = look(mined)
    with pytest.raises(NotFoundError, match="there is no run 99") as caught:
        mined.runs.undo(99)
    assert "mempal runs" in (caught.value.hint or "")
    assert look(mined) == before


def test_what_is_gone_for_good_is_not_undone(mined, one):
    mined.removal.delete([one("zqplan").id])
    number = mined.removal.purge(before=None, wing=None, dry_run=False).run
    with pytest.raises(UsageError, match="gone for good"):
        mined.runs.undo(number)


def test_a_mine_that_was_interrupted_is_a_run_that_can_be_undone(palace, tree, monkeypatch):
    monkeypatch.setattr(filing, "_BATCH", 1)
    with pytest.raises(KeyboardInterrupt):
        mine_with(palace, tree, Interrupted(2))
    (run,) = palace.runs.list()
    assert (run.state, run.detail["stopped"]) == (RunState.DONE, "KeyboardInterrupt")
    assert run.detail["roots"] == [str(tree)]
    assert len(list_drawers(palace)) == 2
    assert palace.runs.undo(run.id).removed == 2
    assert look(palace) == []
    assert mine(palace, tree, wing="w").drawers.added == 3


def test_the_next_mine_completes_an_interrupted_one(palace, tree, monkeypatch):
    monkeypatch.setattr(filing, "_BATCH", 1)
    with pytest.raises(KeyboardInterrupt):
        mine_with(palace, tree, Interrupted(2))
    report = mine(palace, tree, wing="w")
    assert (report.drawers.added, report.drawers.unchanged) == (1, 2)
    assert [run.verb for run in palace.runs.list()] == ["mine", "mine"]


def mine_with(palace, tree, progress):
    return palace.mining.mine([tree], MineOptions(wing="w"), progress)


def test_a_run_that_failed_before_it_changed_anything_is_none(palace, tree):
    with pytest.raises(KeyboardInterrupt):
        mine_with(palace, tree, Interrupted(0))
    assert palace.runs.list() == ()
    assert look(palace) == []


def test_the_first_error_is_the_one_that_is_told(mined, monkeypatch):
    def refuse(*_: object) -> None:
        raise BusyError("the log cannot be written", hint="wait")

    monkeypatch.setattr("mempal.adapters.sqlite.store.SqliteStore.finish_run", refuse)
    with pytest.raises(ZeroDivisionError), mined.access.run("try", "w") as running:
        fail_halfway(running.store)
    # Without an error of its own, a run whose end cannot be written down has failed.
    with pytest.raises(BusyError, match="the log cannot be written"), mined.access.run("try", "w"):
        pass


def fail_halfway(store):
    put(store, source("x.md"), "zqhalf")
    raise ZeroDivisionError


def test_a_run_of_a_process_that_died_is_listed_and_can_be_undone(mined, opened, dead):
    before = look(mined)
    with opened() as store:
        number = store.begin_run("mine", "w", {})
        put(store, source("x.md"), "zqhalf of a run")
    assert mined.runs.list(1)[0].state is RunState.RUNNING
    with pytest.raises(UsageError, match="is under way in process"):
        mined.runs.undo(number)
    with opened() as store:
        store._connection.execute("UPDATE runs SET process = ? WHERE id = ?", (dead, number))
    assert mined.runs.undo(number).removed == 1
    assert look(mined) == before


def test_a_run_that_changed_nothing_has_no_number_in_the_end(mined):
    with mined.access.run("try", "w", why="to see") as running:
        assert running.number is not None
    assert running.number is None
    with mined.access.run("try", "w", why="to see") as running:
        put(running.store, source("x.md"), "zqkept")
    run = mined.runs.list(1)[0]
    assert (run.id, run.verb, run.wing, run.detail) == (
        *(running.number, "try", "w", {"why": "to see"}),
    )


def test_runs_of_two_trees_are_undone_in_any_order(palace, tmp_path):
    one, two = (
        age(write_files(tmp_path / name, {"a.md": f"zq{name}\n"})) for name in ("first", "second")
    )
    first, second = mine(palace, one, wing="w").run, mine(palace, two, wing="w").run
    palace.runs.undo(first)
    assert [drawer.content for drawer in list_drawers(palace)] == ["zqsecond\n"]
    palace.runs.undo(second)
    assert look(palace) == []


def test_every_verb_leaves_the_index_as_new_as_the_store(palace, tree, one, opened, monkeypatch):
    monkeypatch.setattr(meaning, "_PATIENCE", 0)
    monkeypatch.setattr(meaning, "_PATIENCE_SHARE", 0)

    def count() -> int:
        with opened() as store, closing(palace.access.outfit.open_index(store)) as index:
            assert index.position() == store.revision()
            return index.count()

    mine(palace, tree, wing="w")
    assert count() == 3
    drawer = one("zqplan")
    palace.removal.delete([drawer.id])
    assert count() == 2
    palace.removal.restore([drawer.id])
    assert count() == 3
    (added,) = palace.drawers.add("zqjot", wing="w", room="r").drawer_ids
    assert count() == 4
    palace.removal.delete([added])
    palace.removal.purge(before=None, wing=None, dry_run=False)
    assert count() == 3
    (tree / "plan.md").unlink()
    number = palace.mining.sync("w", apply=True).run
    count()
    palace.runs.undo(number)
    assert count() == 3
