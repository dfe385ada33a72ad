"""Runs in the palace database: processes that died, messages that name who is writing."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mempal.adapters.sqlite import connection
from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.clock import parse_instant
from mempal.core.errors import BusyError, DamagedError, PalaceError, UsageError
from mempal.core.model import Place
from mempal.core.runs import RunState
from tests.drawers import put, snapshot, source

NOON = parse_instant("2026-05-01T12:01:07.250Z")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "palace.db"


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid


def test_the_run_of_a_process_that_died_is_undone(path, dead):
    store = SqliteStore(path, writable=True)
    put(store, source(), "one", "two")
    before = snapshot(store, "one", "two", "three")
    number = store.begin_run("mine", "w", {})
    put(store, source(mined_at=200), "two", "three")
    store.close()

    store = SqliteStore(path, writable=True)
    put(store, source("other"), "kept")
    with pytest.raises(UsageError, match="is under way in process"):
        store.undo_run(number, 300)
    store._connection.execute("UPDATE runs SET process = ?", (dead,))
    run = store.run(number)
    assert run is not None
    assert run.state is RunState.RUNNING
    store.undo_run(number, 300)
    run = store.run(number)
    assert run is not None
    assert (run.state, run.finished_at) == (RunState.UNDONE, 300)
    store.delete_drawers([4], 400)
    store.purge([4])
    store.drop_sources([Place("w", "/tree", "other")])
    store._connection.execute("DELETE FROM sources WHERE path = 'other'")
    assert snapshot(store, "one", "two", "three") == before
    store.close()


def test_what_is_changed_after_a_run_belongs_to_no_run(path):
    store = SqliteStore(path, writable=True)
    store.begin_run("mine", "w", {})
    put(store, source(), "one")
    store.finish_run({})
    put(store, source("other"), "two")
    store.touch_source(source("other", mined_at=300))
    assert store._connection.execute("SELECT count(*) FROM journal").fetchone() == (1,)
    store.close()


def test_two_runs_at_once_are_kept_apart(path):
    one, two = SqliteStore(path, writable=True), SqliteStore(path, writable=True)
    first, second = one.begin_run("mine", "w", {}), two.begin_run("mine", "w", {})
    put(one, source("a"), "one")
    put(two, source("b"), "two")
    put(one, source("c"), "three")
    one.finish_run({})
    two.finish_run({})
    one.undo_run(first, 9)
    assert [drawer.content for drawer in one.get(range(9))] == ["two"]
    two.undo_run(second, 9)
    assert one.get(range(9)) == []
    one.close()
    two.close()


def test_runs_that_overlap_on_one_source_do_not_undo_each_other(path):
    one, two = SqliteStore(path, writable=True), SqliteStore(path, writable=True)
    put(one, source(), "one")
    first, second = one.begin_run("mine", "w", {}), two.begin_run("mine", "w", {})
    put(two, source(mined_at=200), "two")
    put(one, source(mined_at=300), "three")
    one.finish_run({})
    two.finish_run({})
    for store, number in ((one, first), (two, second)):
        with pytest.raises(UsageError, match="has changed what"):
            store.undo_run(number, 9)
    one.close()
    two.close()


def test_a_change_outside_of_any_run_that_took_the_place_is_told(path):
    store = SqliteStore(path, writable=True)
    put(store, source())
    store.retire_sources([Place("w", "/tree", "notes.md")], 200)
    number = store.begin_run("sync", "w", {})
    put(store, source("other"))
    store.drop_sources([Place("w", "/tree", "notes.md")])
    store.finish_run({})
    put(store, source("third"))
    put(store, source(mined_at=300), "one")
    before = snapshot(store, "one")
    with pytest.raises(UsageError, match=f"what run {number} changed was changed again since"):
        store.undo_run(number, 9)
    assert snapshot(store, "one") == before
    # The transaction is over, and the store goes on.
    assert put(store, source(mined_at=400), "two").added == 1
    store.close()


def test_a_reader_begins_no_run(path):
    SqliteStore(path, writable=True).close()
    reader = SqliteStore(path, writable=False)
    with pytest.raises(PalaceError, match="cannot be written"):
        reader.begin_run("mine", "w", {})
    assert reader.runs(5) == []
    reader.close()


# --- who is writing ---------------------------------------------------------------------------


def test_a_writer_that_waits_too_long_is_told_who_is_writing(path, monkeypatch, dead):
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 50)
    first, second = SqliteStore(path, writable=True), SqliteStore(path, writable=True)
    first.begin_run("mine", "w", {})
    put(first, source("x"), "x")
    second.begin_run("sync", "w", {})
    first._connection.execute(
        "INSERT INTO runs (verb, process, started_at) VALUES ('sync', ?, 0)", (dead,)
    )
    first._connection.execute("UPDATE runs SET started_at = ? WHERE verb = 'mine'", (NOON,))
    first._connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError) as caught:
        put(second, source(), "one")
    assert caught.value.message == (
        f"process {os.getpid()} (mine, since 12:01:07Z) is writing to {path}"
    )
    first._connection.execute("ROLLBACK")
    first.finish_run({})
    first._connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusyError, match="another process is writing to"):
        put(second, source(), "one")
    first._connection.execute("ROLLBACK")
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("code", "text", "kind", "message"),
    [
        (sqlite3.SQLITE_FULL, "database or disk is full", PalaceError, "no space left"),
        (sqlite3.SQLITE_IOERR_WRITE, "disk I/O error", PalaceError, "the disk failed"),
        (sqlite3.SQLITE_IOERR_FSYNC, "disk I/O error", PalaceError, "the disk failed"),
        (None, "disk I/O error", PalaceError, "the disk failed"),
        (sqlite3.SQLITE_IOERR_SHORT_READ, "disk I/O error", DamagedError, "is damaged"),
        (sqlite3.SQLITE_READONLY, "attempt to write a readonly database", PalaceError, "cannot be"),
        (sqlite3.SQLITE_ERROR, "no such table: meta", DamagedError, "is damaged"),
    ],
)
def test_a_disk_that_fails_is_no_damaged_palace(path, code, text, kind, message):
    error = sqlite3.OperationalError(text)
    if code is not None:
        error.sqlite_errorcode = code
    with pytest.raises(PalaceError, match=message) as caught, connection.translate_errors(path):
        raise error
    assert type(caught.value) is kind
    assert caught.value.hint
