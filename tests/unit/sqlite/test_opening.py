"""Opening a palace database: what is created, what is refused, and what is left alone."""

import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mempal.adapters.sqlite import connection, schema
from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.errors import (
    BusyError,
    DamagedError,
    EmbedderMismatchError,
    PalaceError,
    SchemaError,
)
from mempal.core.model import Changes, Chunk, Scope, SourceClass, Term
from mempal.core.words import ANALYZER_VERSION
from mempal.testing import HashEmbedder
from tests.drawers import dump, embed, put, source


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "palace.db"


def fill(path: Path, sources: int = 3) -> tuple[object, ...]:
    """Make a palace; return what is in it."""
    store = SqliteStore(path, writable=True)
    for number in range(sources):
        put(store, source(f"file{number}"), f"kiwi {number}", "mango " * 500)
    content = dump(store)
    store.close()
    return content


def read(path: Path) -> tuple[object, ...]:
    store = SqliteStore(path, writable=False)
    try:
        return dump(store)
    finally:
        store.close()


def hash_files(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in folder.iterdir()
    }


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_only_the_owner_may_read_a_palace(path):
    former = os.umask(0)
    try:
        store = SqliteStore(path, writable=True)
        put(store, source(), "secret")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        store.close()
    finally:
        os.umask(former)

    assert set(modes) == {"palace.db", "palace.db-wal", "palace.db-shm"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["pala ce?mode=rwc#x%20.db", "caf\udce9.db", "決定.db"])
def test_any_file_name_will_do(tmp_path, name):
    content = fill(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert read(tmp_path / name) == content


def test_a_reader_sees_what_was_written_and_changes_nothing(path):
    content = fill(path)
    before = hash_files(path.parent)

    store = SqliteStore(path, writable=False)
    assert dump(store) == content
    assert store.problems() == []
    assert store.match_words([Term(("kiwi",))], Scope(), 10)
    store.close()

    after = hash_files(path.parent)
    assert after["palace.db"] == before["palace.db"]
    assert set(after) - set(before) <= {"palace.db-wal", "palace.db-shm"}


def test_a_reader_may_not_write(path):
    content = fill(path)
    store = SqliteStore(path, writable=False)
    with pytest.raises(PalaceError, match=r"palace\.db cannot be written"):
        put(store, source(), "more")
    with pytest.raises(PalaceError, match=r"palace\.db cannot be written"):
        store.bind_embedder("any")
    assert dump(store) == content
    store.close()


def test_a_reader_creates_nothing(path):
    with pytest.raises(DamagedError, match=r"palace\.db is not a file"):
        SqliteStore(path, writable=False)
    assert not path.parent.exists()


def test_a_folder_that_cannot_be_written_is_read(path):
    content = fill(path)
    path.parent.chmod(0o500)
    try:
        if os.access(path.parent, os.W_OK):
            pytest.skip("permissions do not bind this user")
        assert read(path) == content
        with pytest.raises(PalaceError, match=r"palace\.db"):
            put(SqliteStore(path, writable=True), source(), "more")
    finally:
        path.parent.chmod(0o700)


def test_a_folder_that_cannot_be_written_is_read_as_it_lies(path, monkeypatch):
    """The same, on any system: SQLite may open the file, but make no file beside it."""
    content = fill(path)
    connected: list[str] = []
    connect, read_version = connection._connect, connection._read_version

    def note_connection(uri: str) -> sqlite3.Connection:
        connected.append(uri)
        return connect(uri)

    def refuse_unless_immutable(opened: sqlite3.Connection) -> int:
        if "immutable" not in connected[-1]:
            raise sqlite3.OperationalError("unable to open database file")
        return read_version(opened)

    monkeypatch.setattr(connection, "_connect", note_connection)
    monkeypatch.setattr(connection, "_read_version", refuse_unless_immutable)
    with pytest.raises(PalaceError, match=r"palace\.db cannot be opened"):
        SqliteStore(path, writable=False)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert read(path) == content
    assert len(connected) == 3


# --- what is no palace ------------------------------------------------------------------------


def make_garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def make_text(path: Path) -> None:
    path.write_text("not a database\n" * 500, "utf-8")


def make_short(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_header_only(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes(len(data) - 100))


def make_truncated(path: Path) -> None:
    os.truncate(path, 4096 * 3)


def make_other_program(path: Path) -> None:
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (text)")
    other.commit()
    other.close()


def make_other_palace(path: Path) -> None:
    """Another program's palace, whose schema happens to have a version that this one knows."""
    make_other_program(path)
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION}")
    other.close()


DAMAGES = [
    make_garbage,
    make_text,
    make_short,
    make_folder,
    make_header_only,
    make_truncated,
    make_other_program,
    make_other_palace,
]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("writable", [False, True])
def test_what_is_no_palace_is_refused_by_name_and_left_alone(path, damage, writable):
    fill(path)
    damage(path)
    before = path.read_bytes() if path.is_file() else None

    with pytest.raises(DamagedError, match=r"palace\.db") as caught:
        # Damage behind the first page shows when it is read.
        dump(SqliteStore(path, writable=writable))

    assert caught.value.hint
    assert (path.read_bytes() if path.is_file() else None) == before


def test_an_empty_file_is_damage_to_a_reader_and_a_beginning_to_a_writer(path):
    path.parent.mkdir()
    path.touch()
    with pytest.raises(DamagedError, match=r"palace\.db is empty"):
        SqliteStore(path, writable=False)
    assert path.stat().st_size == 0
    # A first run that was killed leaves such a file.
    SqliteStore(path, writable=True).close()
    assert read(path)[0] == 0


def test_a_newer_palace_is_refused_and_left_alone(path):
    fill(path)
    newer = sqlite3.connect(path)
    newer.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    newer.close()
    before = path.read_bytes()

    for writable in (False, True):
        with pytest.raises(SchemaError, match=r"palace\.db has schema version") as caught:
            SqliteStore(path, writable=writable)
        assert caught.value.hint == "install a newer mempal"
    assert path.read_bytes() == before


def test_a_palace_whose_making_was_interrupted_is_completed(path):
    path.parent.mkdir()
    begun = sqlite3.connect(path)
    begun.execute("PRAGMA journal_mode = WAL")
    begun.close()
    assert path.stat().st_size > 0
    assert read(path)[0] == 0


def test_a_step_of_an_upgrade_that_fails_leaves_the_former_version(path, monkeypatch):
    content = fill(path)
    failing = "CREATE TABLE later (x);\nINSERT INTO nowhere VALUES (1);\n"
    monkeypatch.setattr(connection, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    monkeypatch.setattr(connection, "MIGRATIONS", (*schema.MIGRATIONS, failing))
    with pytest.raises(DamagedError, match="nowhere"):
        SqliteStore(path, writable=True)

    monkeypatch.undo()
    assert read(path) == content
    plain = sqlite3.connect(path)
    tables = plain.execute("SELECT name FROM sqlite_schema WHERE name = 'later'").fetchall()
    plain.close()
    assert tables == []


@pytest.mark.parametrize("writable", [False, True])
def test_an_older_palace_is_brought_up_to_date_by_whoever_opens_it(path, monkeypatch, writable):
    content = fill(path)
    step = "CREATE TABLE later (x);\nINSERT INTO later VALUES ('a;\nb');\n"
    monkeypatch.setattr(connection, "SCHEMA_VERSION", schema.SCHEMA_VERSION + 1)
    monkeypatch.setattr(connection, "MIGRATIONS", (*schema.MIGRATIONS, step))
    store = SqliteStore(path, writable=writable)
    assert store._connection.execute("SELECT x FROM later").fetchall() == [("a;\nb",)]
    assert store.status().schema_version == schema.SCHEMA_VERSION + 1
    assert dump(store) == content
    store.close()


def test_words_are_read_again_under_new_rules(path):
    fill(path)
    plain = sqlite3.connect(path)
    plain.execute("INSERT INTO words (words) VALUES ('delete-all')")
    plain.execute("UPDATE meta SET value = 'older' WHERE key = 'analyzer'")
    plain.commit()
    plain.close()

    store = SqliteStore(path, writable=True)
    assert len(store.match_words([Term(("kiwi",))], Scope(), 10)) == 3
    assert store._meta("analyzer") == str(ANALYZER_VERSION)
    assert store.problems() == []
    store.close()


# --- two at a time ----------------------------------------------------------------------------


class Interrupting(dict[str, bytes]):
    """Vectors that let something happen in the middle of a transaction."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self.act = act

    def __getitem__(self, key: str) -> bytes:
        self.act()
        return super().__getitem__(key)


def replace_with(store: SqliteStore, content: str, vectors: Interrupting) -> Changes:
    pieces = [Chunk(content)]
    vectors.update(embed(pieces))
    return store.replace_source(source("first"), pieces, vectors, SourceClass.FILE)


def test_a_second_writer_is_told_that_the_palace_is_busy(path, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 50)
    fill(path)
    first, second = SqliteStore(path, writable=True), SqliteStore(path, writable=True)

    def meddle() -> None:
        with pytest.raises(
            BusyError, match=r"another process is writing to .*palace\.db"
        ) as caught:
            put(second, source("second"), "two")
        assert caught.value.retryable

    changes = replace_with(first, "one", Interrupting(meddle))
    assert changes.added == 1
    assert put(second, source("second"), "two").added == 1
    assert first.revision() == second.revision() == 5
    first.close()
    second.close()


def test_a_reader_sees_all_of_a_change_or_nothing(path):
    before = fill(path)
    writer, reader = SqliteStore(path, writable=True), SqliteStore(path, writable=False)
    seen = []
    replace_with(writer, "new", Interrupting(lambda: seen.append(dump(reader))))
    assert seen == [before]
    assert dump(reader) == dump(writer) != before
    reader.close()
    writer.close()


def test_a_process_that_dies_in_mid_change_leaves_what_was_before(path, tmp_path):
    before = fill(path)
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    writer = SqliteStore(path, writable=True)
    put(writer, source("large"), "x" * 100_000)
    before = dump(writer)

    def copy() -> None:
        for name in ("palace.db", "palace.db-wal"):
            (crashed / name).write_bytes(path.with_name(name).read_bytes())

    writer._connection.execute("PRAGMA cache_size = 1")  # spill the change into the file
    replace_with(writer, "y" * 500_000, Interrupting(copy))
    assert dump(writer) != before
    writer.close()

    for writable in (False, True):
        store = SqliteStore(crashed / "palace.db", writable=writable)
        assert dump(store) == before
        assert store.problems() == []
        store.close()


def test_a_full_disk_is_named_and_leaves_what_was_before(path):
    before = fill(path)
    store = SqliteStore(path, writable=True)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(PalaceError, match=r"no space left to write .*palace\.db") as caught:
        put(store, source("large"), "z" * 1_000_000)
    assert not isinstance(caught.value, DamagedError)
    assert dump(store) == before
    assert store.problems() == []
    store.close()


def test_vectors_of_a_former_embedder_are_refused_inside_the_transaction(path):
    one, other = SqliteStore(path, writable=True), SqliteStore(path, writable=True)
    former, newer = HashEmbedder(8, "A"), HashEmbedder(16, "B")
    one.bind_embedder(former.identity)
    other.replace_vectors(newer.identity, [])
    chunk = Chunk("text that was embedded before the change")
    vectors = {chunk.content: former.embed_query(chunk.content)}
    with pytest.raises(EmbedderMismatchError):
        one.replace_source(source("a.md"), [chunk], vectors, SourceClass.FILE)
    with pytest.raises(EmbedderMismatchError):
        one.add_manual(
            source("a.md"), [chunk], vectors, importance=0, source_class=SourceClass.PERSON
        )
    assert one.count_drawers() == 0
    assert one.roots() == []
    one.close()
    other.close()
