"""What is left in the files of a palace after a person wanted something gone."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mempal.adapters.sqlite import connection
from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.errors import BusyError
from mempal.core.model import Chunk, Place, Scope, Span, Term, Voice
from tests.drawers import chunk, cite, embed, put, source

# Words that stand nowhere else in the files, as they are written and as they are indexed.
SECRETS = ("Xylophagous", "quokkapassword")
LONG = f"the {SECRETS[0]} {SECRETS[1]} is not for everybody"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "palace.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(path, writable=True)
    yield made
    made.close()


def fill(store: SqliteStore) -> int:
    """Store the secret in all that can hold it, among much else; return its drawer's key."""
    for number in range(30):
        put(store, source(f"file{number}"), *(f"kiwi {number} {line} " * 9 for line in range(9)))
    store.begin_run("mine", "w", {})
    secret = Chunk(LONG, Span(1, 1, 0, 9), f"{SECRETS[1]}Name", Voice("ana", "person", 5))
    put(store, source("secret.md"), "before", secret, "after")
    store.finish_run({})
    store.begin_run("mine", "w", {})
    put(store, source("secret.md", mined_at=200, content_sha256="bb"), "begin", "before", secret)
    store.finish_run({})
    (key,) = store.holding(Term((SECRETS[1],)), range(999))
    return key


def find_secrets(folder: Path) -> set[tuple[str, str]]:
    """Return (file, word) for each secret that the bytes of a file hold, in whatever case."""
    return {
        (file.name, word)
        for file in folder.iterdir()
        for word in (SECRETS[0][:8].lower(), SECRETS[1][:8].lower())
        if word.encode() in file.read_bytes().lower()
    }


def test_the_secret_is_in_the_files_at_first(store, path):
    fill(store)
    assert len({word for _, word in find_secrets(path.parent)}) == 2


@pytest.mark.parametrize("whole", [False, True])
def test_nothing_readable_is_left_of_what_was_forgotten(store, path, whole):
    key = fill(store)
    cite(store, "card", store.get([key])[0].id)
    if whole:
        assert store.forget([], [Place("w", "/tree", "secret.md")], 300).drawers == 4
    else:
        assert store.forget([key], [], 300).drawers == 1
    assert store.problems() == ["text that was forgotten still lies in unused parts of the file"]
    store.scrub()

    assert find_secrets(path.parent) == set()
    assert store.problems() == []
    links = store._connection.execute("SELECT card_id, role FROM forgotten_links").fetchall()
    assert links == [("card", "supports")]
    assert len(store.match_words([Term(("kiwi",))], Scope(), 999)) == 270
    store.close()
    assert find_secrets(path.parent) == set()


def test_what_a_dead_process_left_is_taken_out_by_the_next_writer(store, path, tmp_path):
    key = fill(store)
    store.forget([key], [], 300)
    # As a kill leaves them: nothing is closed, the WAL is as long as it was.
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for name in ("palace.db", "palace.db-wal"):
        (crashed / name).write_bytes(path.with_name(name).read_bytes())
    assert find_secrets(crashed)

    reader = SqliteStore(crashed / "palace.db", writable=False)
    assert "forgotten" in reader.problems()[0]
    assert reader.get([key]) == []
    reader.close()
    again = SqliteStore(crashed / "palace.db", writable=True)
    assert again.has_traces()
    again.scrub()
    assert not again.has_traces()
    assert again.problems() == []
    assert find_secrets(crashed) == set()
    again.close()


def test_a_kill_after_the_scrubbing_leaves_nothing_either(store, path):
    key = fill(store)
    store.forget([key], [], 300)
    store.scrub()
    put(store, source("later"), "more")
    assert find_secrets(path.parent) == set()  # the store was not closed


def test_scrubbing_waits_for_readers_and_is_done_later(path, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 50)
    store = SqliteStore(path, writable=True)
    key = fill(store)
    reader = SqliteStore(path, writable=False)
    reader._connection.execute("BEGIN")
    reader.get([key])
    store.forget([key], [], 300)
    with pytest.raises(BusyError, match="still reads a former state"):
        store.scrub()
    assert store.problems() != []
    assert store.has_traces()

    reader._connection.execute("COMMIT")
    reader.close()
    store.scrub()
    assert store.problems() == []
    assert find_secrets(path.parent) == set()
    store.close()


def test_no_former_text_is_kept_for_undoing(store):
    fill(store)
    store.begin_run("mine", "w", {})
    put(store, source("secret.md", mined_at=250), "nothing left")
    store.delete_drawers([1, 2, 3], 250)
    store.rename_source(Place("w", "/tree", "file9"), "file99", "s", 250)
    store.finish_run({})
    rows = store._connection.execute("SELECT former FROM journal").fetchall()
    assert len(rows) > 5
    kept = " ".join(str(former) for (former,) in rows).lower()
    for word in ("kiwi", "before", *(secret.lower() for secret in SECRETS)):
        assert word not in kept
        assert word.encode().hex() not in kept


def test_a_first_mine_keeps_one_row_for_each_source(store):
    store.begin_run("mine", "w", {})
    for number in range(5):
        put(store, source(f"file{number}"), *map(str, range(20)))
    store.finish_run({})
    rows = store._connection.execute("SELECT relation, former FROM journal").fetchall()
    assert rows == [("sources", None)] * 5


def test_asking_costs_little_where_nothing_was_forgotten(store):
    put(store, source(), "one")
    statements: list[str] = []
    store._connection.set_trace_callback(statements.append)
    pieces = [chunk(str(number)) for number in range(50)]
    assert store.withhold(source(), pieces) == pieces
    store._connection.set_trace_callback(None)
    assert len(statements) <= 3


def test_another_process_learns_at_once_what_was_forgotten(store, path):
    other = SqliteStore(path, writable=True)
    put(store, source(), LONG)
    put(other, source("other"), "x")
    store.forget([1], [], 300)
    pieces = [Chunk(LONG)]
    assert other.withhold(source("other"), pieces) == []
    assert other.replace_source(source("other"), pieces, embed(pieces), "file").added == 0
    other.close()


def test_a_link_keeps_a_drawer_that_is_not_forgotten(store):
    put(store, source(), "one")
    cite(store, "card", store.get([1])[0].id)
    store._connection.execute("UPDATE drawers SET deleted_at = 5")
    assert store.purge([1]) == 0
    with pytest.raises(sqlite3.IntegrityError):
        store._connection.execute("DELETE FROM drawers")
