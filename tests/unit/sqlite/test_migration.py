"""A palace of the first schema opens under the present one with everything it held."""

import sqlite3
from pathlib import Path

import pytest

from mempal.adapters.sqlite.schema import MIGRATIONS, SCHEMA_VERSION
from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.ids import hash_content
from mempal.core.model import (
    Changes,
    Drawer,
    Scope,
    Source,
    SourceClass,
    SourceKind,
    SourceState,
    Span,
    Term,
)
from mempal.core.words import ANALYZER_VERSION
from tests.drawers import EMBEDDER, put, source

TEXTS = ("kiwi one", "mango two", "plum three")


def write_first(path: Path, analyzer: str = str(ANALYZER_VERSION)) -> None:
    """Write a palace as the first schema kept it, by its own text and by plain rows."""
    plain = sqlite3.connect(path, isolation_level=None)
    plain.executescript(MIGRATIONS[0])
    plain.execute("PRAGMA journal_mode = WAL")
    plain.executemany(
        "INSERT INTO sources VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [
            (1, "w", "/tree", "notes.md", "file", "r", 7, 8, "bb", "utf-8", "v1", 200, "stored",
             None, 2),
            (5, "w", b"/tr\xff", b"caf\xe9", "file", "r", 9, 9, "cc", "latin-1", "v1", 300,
             "skipped", "binary", None),
            (6, "v", "", "note", "manual", "s", 0, 0, "", "utf-8", "", 400, "stored", None, 3),
        ],
    )  # fmt: skip
    plain.executemany(
        "INSERT INTO readings VALUES (?,?,?,?,?,?)",
        [
            (1, 1, "aa", None, None, 100),
            (2, 1, "bb", "b" * 40, "c" * 40, 200),
            (3, 6, "", None, None, 400),
        ],
    )
    rows = [
        (1, 1, 2, "w", "r", TEXTS[0], 0, 1, 1, 0, 9, None, "file", 0, 100, None),
        (2, 1, 1, "w", "r", TEXTS[1], 1, 2, 2, 9, 18, None, "file", 0, 100, 200),
        (7, 6, 3, "v", "s", TEXTS[2], 0, None, None, None, None, "ana", "person", 4, 400, None),
    ]
    for key, source_id, reading_id, wing, room, text, *rest in rows:
        index, *span, speaker, source_class, importance, added, superseded = rest
        plain.execute(
            "INSERT INTO drawers VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (key, f"drawer_{key}", source_id, reading_id, wing, room, text,
             bytes.fromhex(hash_content(text)), "", index, *span, speaker, source_class,
             importance, added, superseded, None, 1),
        )  # fmt: skip
        plain.execute("INSERT INTO vectors VALUES (?, ?)", (key, EMBEDDER.embed_query(text)))
        plain.execute(
            "INSERT INTO words (rowid, content, path, symbols, parts) VALUES (?, ?, ?, '', '')",
            (key, text, "notes md"),
        )
    plain.execute("INSERT INTO lapses VALUES (1, 120, 150)")
    plain.execute("UPDATE meta SET value = '1' WHERE key = 'revision'")
    plain.execute("UPDATE meta SET value = ? WHERE key = 'analyzer'", (analyzer,))
    plain.execute("INSERT INTO meta VALUES ('embedder', ?)", (EMBEDDER.identity,))
    plain.execute("PRAGMA user_version = 1")
    plain.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "palace.db"
    write_first(path)
    return path


@pytest.mark.parametrize("writable", [False, True])
def test_everything_is_kept(path, writable):
    store = SqliteStore(path, writable=writable)
    assert store.status().schema_version == SCHEMA_VERSION
    assert (store.revision(), store.embedder_identity()) == (1, EMBEDDER.identity)
    first, second, third = store.get([1, 2, 7])
    assert first == Drawer(
        key=1,
        id="drawer_1",
        wing="w",
        room="r",
        content=TEXTS[0],
        source_file="notes.md",
        root="/tree",
        chunk_index=0,
        span=Span(1, 1, 0, 9),
        speaker=None,
        source_class=SourceClass.FILE,
        importance=0,
        added_at=100,
        superseded_at=None,
        deleted_at=None,
        content_sha256=hash_content(TEXTS[0]),
        source_sha256="bb",
        blob="b" * 40,
        commit="c" * 40,
    )
    assert (second.superseded_at, second.source_sha256, second.blob) == (200, "aa", None)
    assert (third.speaker, third.importance, third.span) == ("ana", 4, None)
    assert store.sources("w", "/tree") == {
        "notes.md": Source(
            "w", "/tree", "notes.md", SourceKind.FILE, "r", 7, 8, "bb", "b" * 40, "c" * 40,
            rules="v1", mined_at=200,
        )
    }  # fmt: skip
    (odd,) = store.sources("w", "/tr\udcff").values()
    assert (odd.path, odd.state, odd.reason) == ("caf\udce9", SourceState.SKIPPED, "binary")
    assert list(store.sources("v", "", SourceKind.MANUAL)) == ["note"]
    assert store.vectors([1, 2, 7]) == {
        key: EMBEDDER.embed_query(text) for key, text in zip((1, 2, 7), TEXTS, strict=True)
    }
    assert store.visible([1], Scope(as_of=130)) == set()
    assert store.visible([1], Scope(as_of=150)) == {1}
    assert store.holding(Term(("mango",)), [1, 2, 7]) == {2}
    assert store.problems() == []
    assert len(store.lineage()) == 32
    store.close()


def test_it_is_written_on_as_before(path):
    store = SqliteStore(path, writable=True)
    number = store.begin_run("mine", "w", {})
    assert put(store, source(mined_at=500, content_sha256="dd"), *TEXTS[:2]) == Changes(
        unchanged=1, restored=1
    )
    store.finish_run({})
    store.undo_run(number, 600)
    assert store.get([2])[0].superseded_at == 200
    assert put(store, source("new"), "text").added == 1
    assert store.drawers_of("w", "/tree", "new")[0].key == 8
    store.close()


def test_rows_that_others_name_are_held_again_afterwards(path):
    store = SqliteStore(path, writable=True)
    assert store._connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    assert store._connection.execute("PRAGMA foreign_key_check").fetchall() == []
    for statement in (
        "DELETE FROM sources WHERE id = 1",
        "DELETE FROM readings WHERE id = 2",
        "DELETE FROM drawers WHERE key = 1",
        "UPDATE drawers SET source_id = 99",
        "UPDATE drawers SET run_id = 99",
        "UPDATE sources SET held_in = 99",
        "UPDATE sources SET state = 'lost'",
        "UPDATE sources SET wing = 'w', root = '/tree', path = 'notes.md'",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            store._connection.execute(statement)
    store.close()


def test_two_palaces_get_lineages_of_their_own(path, tmp_path):
    other = tmp_path / "other.db"
    write_first(other)
    lineages = []
    for place in (path, other, path):
        store = SqliteStore(place, writable=False)
        lineages.append(store.lineage())
        store.close()
    assert lineages[0] == lineages[2] != lineages[1]


def test_words_of_older_rules_are_read_again_on_the_way(tmp_path):
    path = tmp_path / "older.db"
    write_first(path, analyzer="older")
    store = SqliteStore(path, writable=True)
    assert store.holding(Term(("md",)), [1, 2, 7]) == {1, 2}
    assert store.problems() == []
    store.close()
