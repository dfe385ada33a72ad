"""What the SQLite store finds wrong with itself, how it mends words, and what its queries cost."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.model import Chunk, Scope, SourceClass, Term
from mempal.core.vector import pack
from tests.drawers import by_hand, chunks, dump, embed, note, put, source

KIWI = Term(("kiwi",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "palace.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(path, writable=True)
    put(made, source(), "kiwi one", "kiwi two")
    put(made, source("other"), "mango")
    yield made
    made.close()


def plant(path: Path, *statements: str) -> None:
    """Damage a palace behind the store's back."""
    plain = sqlite3.connect(path)
    for statement in statements:
        plain.execute(statement)
    plain.commit()
    plain.close()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DELETE FROM vectors WHERE key = 2", "1 drawers have no vector"),
        ("DELETE FROM words_docsize WHERE id > 1", "2 drawers are missing from the word index"),
        ("INSERT INTO words (words) VALUES ('delete-all')", "3 drawers are missing from the word"),
        ("DELETE FROM sources WHERE path = 'other'", "names a row of sources that is not there"),
        ("DELETE FROM readings WHERE id = 1", "names a row of readings that is not there"),
        ("INSERT INTO vectors VALUES (9, x'00')", "row 9 of vectors names a row of drawers"),
        ("UPDATE vectors SET embedding = x'00000000' WHERE key = 1", "vectors of different length"),
    ],
)
def test_planted_damage_is_found_and_not_mended_on_the_way(store, path, statement, problem):
    assert store.problems() == []
    plant(path, statement)
    first = store.problems()
    assert any(problem in text for text in first), first
    assert store.problems() == first


def test_a_page_that_was_overwritten_is_found(store, path):
    put(store, source("long"), *(f"text {number} " * 50 for number in range(100)))
    store.close()
    data = bytearray(path.read_bytes())
    page = int.from_bytes(data[16:18], "big")
    plain = sqlite3.connect(path)
    (root,) = plain.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'vectors'").fetchone()
    plain.close()
    start = (root - 1) * page
    data[start + 8 : start + 200] = bytes(192)
    path.write_bytes(data)

    damaged = SqliteStore(path, writable=False)
    assert damaged.problems()
    damaged.close()


def test_only_a_few_of_many_broken_references_are_listed(store, path):
    put(store, source("many"), *map(str, range(50)))
    plant(path, "DELETE FROM sources")
    assert 1 < len(store.problems()) < 20


def test_words_are_rebuilt_from_the_stored_text(store, path):
    put(store, source("src/Café.py"), Chunk("pass", symbols="parseConfig"))
    put(store, source(mined_at=200), "kiwi two")
    terms = [KIWI, Term(("mango",)), Term(("config",)), Term(("parseconfig",)), Term(("cafe",))]
    scope = Scope(history=True)

    def ask() -> list[object]:
        return [store.match_words([term], scope, 10) for term in terms]

    before, content = ask(), dump(store)
    assert all(before)
    plant(path, "INSERT INTO words (words) VALUES ('delete-all')")
    assert not any(ask())

    assert store.rebuild_words() == 4
    assert ask() == before
    assert store.rebuild_words() == 4
    assert ask() == before
    assert dump(store) == content
    assert store.problems() == []


def test_words_are_rebuilt_as_a_whole_or_not_at_all(store, monkeypatch):
    before = store.match_words([KIWI], Scope(), 10)
    calls = []

    def fail(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("mempal.adapters.sqlite.words.add_words", fail)
    with pytest.raises(KeyboardInterrupt):
        store.rebuild_words()
    assert store.match_words([KIWI], Scope(), 10) == before
    assert store.problems() == []


def test_an_interrupted_change_leaves_nothing(store):
    class Interrupted(dict[str, bytes]):
        def __contains__(self, key: object) -> bool:
            return True

        def __getitem__(self, key: str) -> bytes:
            raise KeyboardInterrupt

    before = dump(store)
    with pytest.raises(KeyboardInterrupt):
        store.replace_source(source(), chunks("new"), Interrupted(), SourceClass.FILE)
    assert dump(store) == before
    assert put(store, source(mined_at=200), "new").added == 1


def test_an_unchanged_source_writes_no_reading_twice(store, path):
    def count_readings() -> int:
        return int(store._connection.execute("SELECT count(*) FROM readings").fetchone()[0])

    before = count_readings()
    put(store, source(mined_at=300), "kiwi one", "kiwi two")
    store.touch_source(source(mined_at=400))
    assert count_readings() == before
    store.touch_source(source(commit="new"))
    assert count_readings() == before + 1


@pytest.mark.parametrize("name", ["caf\udce9", "\ud83d", "a\udfffb"])
def test_half_a_surrogate_pair_in_a_name_finds_nothing(store, name):
    assert store.match_words([KIWI], Scope(wing=name), 10) == []
    assert store.match_words([KIWI], Scope(room=name), 10) == []
    assert store.visible([1, 2], Scope(wing=name)) == set()
    assert store.resolve(name) == []
    assert store.resolve(f"drawer_{name}") == []
    assert store.recent(name, 5) == []
    assert store.roots(name) == []
    assert not store.has_wing(name)
    assert dict(store.sources(name, "/tree")) == {}
    assert dict(store.sources("w", f"/{name}")) == {}
    assert store.drawers_of(name, "/tree", "notes.md") == []
    assert store.paths_of_content(name, "/tree", "aa") == []


# --- what queries cost ------------------------------------------------------------------------


def explain(store: SqliteStore, ask) -> list[str]:
    """Return how SQLite goes about every query that ``ask`` makes, a line for each step."""
    statements: list[str] = []
    store._connection.set_trace_callback(statements.append)
    ask()
    store._connection.set_trace_callback(None)
    # What FTS5 asks of its own tables is traced as a comment.
    queries = [text for text in statements if text.startswith("SELECT")]
    assert queries
    return [
        str(row[3])
        for text in queries
        for row in store._connection.execute(f"EXPLAIN QUERY PLAN {text}")
    ]


@pytest.mark.parametrize(
    "scope",
    [
        Scope(),
        Scope(history=True),
        Scope(wing="w"),
        Scope(wing="w", room="r"),
        Scope(as_of=150, wing="w", room="r"),
    ],
)
def test_words_are_looked_up_before_drawers(store, scope):
    plan = explain(store, lambda: store.match_words([KIWI, Term(("man",), prefix=True)], scope, 5))
    assert plan[0].startswith("SCAN words VIRTUAL TABLE INDEX")
    assert plan[1].startswith("SEARCH d USING INTEGER PRIMARY KEY")
    assert not [step for step in plan if step.startswith("SCAN d")]


@pytest.mark.parametrize(
    "ask",
    [
        lambda store: store.get([1, 2]),
        lambda store: store.visible([1, 2], Scope(wing="w", room="r")),
        lambda store: store.visible([1, 2], Scope(as_of=150)),
        lambda store: store.vectors([1, 2]),
        lambda store: store.resolve(store.get([1])[0].id),
        lambda store: store.drawers_of("w", "/tree", "notes.md"),
        lambda store: store.neighbors(store.get([1])[0], 2),
        lambda store: store.paths_of_content("w", "/tree", "aa"),
        lambda store: store.sources("w", "/tree"),
        lambda store: store.missing_contents(source(), chunks("kiwi one", "new")),
        lambda store: store.preview_source(source(), chunks("kiwi one", "new")),
        lambda store: put(store, source(), "kiwi one", "new"),
        lambda store: note(store, by_hand(), "kiwi one"),
        lambda store: note(store, by_hand(), "new"),
        lambda store: list(store.entries_since(2)),
        lambda store: store.count_entries_since(2),
        lambda store: store.has_wing("w"),
        lambda store: list(store.contents(2)),
    ],
)
def test_no_question_about_few_walks_through_all(store, ask):
    def ask_all() -> None:
        ask(store)
        store.get([1])  # so that something is asked, whatever is lazy

    harmless = ("SCAN words VIRTUAL TABLE", "SCAN CONSTANT ROW")
    walks = [step for step in explain(store, ask_all) if step.startswith("SCAN")]
    assert [step for step in walks if not step.startswith(harmless)] == []


def test_the_holders_of_a_term_are_read_once_for_all_keys(store):
    plan = explain(store, lambda: store.holding(KIWI, [1, 2, 3]))
    # An equals sign at the end would say that each key is sought by itself.
    assert len(plan) == 1
    assert re.fullmatch(r"SCAN words VIRTUAL TABLE INDEX 0:M\d*", plan[0])
    assert store.holding(KIWI, [1, 3]) == {1}


def test_an_index_is_told_in_the_order_of_keys_without_sorting(store):
    plan = explain(store, lambda: list(store.entries_since(0)))
    assert "USE TEMP B-TREE FOR ORDER BY" not in plan


def test_vectors_of_any_length_are_kept(path):
    store = SqliteStore(path, writable=True)
    for dimensions in (1, 2, 4096):
        vector = pack([1.0] * dimensions)
        store.replace_source(source(str(dimensions)), [Chunk("x")], {"x": vector}, SourceClass.FILE)
        assert vector in store.vectors(range(9)).values()
    assert store.problems() == ["vectors of different lengths are mixed"]
    assert embed([Chunk("x")])["x"] not in store.vectors(range(9)).values()
    store.close()
