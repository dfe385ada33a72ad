"""The word index: what is written to FTS5, and how a question is put to it.

Only here is FTS5's query language spoken; a query is built from quoted strings, so that no text a
user types can act as an operator.
"""

import sqlite3
from collections.abc import Iterator, Sequence

from mempal.adapters.sqlite.rows import scope_clause
from mempal.adapters.sqlite.schema import WORD_COLUMNS
from mempal.core.model import Scope, Term, WordMatch
from mempal.core.words import derive_parts, find_words

_WEIGHTS = ", ".join(str(weight) for weight in WORD_COLUMNS.values())


def _join_words(text: str) -> str:
    # FTS5 gets words only, and so the same ones in a text and in a question. By itself it reads up
    # to the first NUL, takes no half of a surrogate pair, and counts what is younger than its
    # tables of Unicode (emoji, marks of direction) as letters of the word beside it.
    return " ".join(find_words(text))


def _columns(content: str, path: str, symbols: str) -> tuple[str, ...]:
    columns = _join_words(content), _join_words(path), _join_words(symbols)
    # Nor does it know the capitals of scripts that young.
    return tuple(text.lower() for text in (*columns, derive_parts(" ".join(columns))))


def add_words(
    connection: sqlite3.Connection, key: int, content: str, path: str, symbols: str
) -> None:
    """Index one drawer."""
    connection.execute(
        "INSERT INTO words (rowid, content, path, symbols, parts) VALUES (?, ?, ?, ?, ?)",
        (key, *_columns(content, path, symbols)),
    )


def remove_words(
    connection: sqlite3.Connection, key: int, content: str, path: str, symbols: str
) -> None:
    """Take one drawer out; the texts must be those it was indexed with."""
    connection.execute(
        "INSERT INTO words (words, rowid, content, path, symbols, parts)"
        " VALUES ('delete', ?, ?, ?, ?, ?)",
        (key, *_columns(content, path, symbols)),
    )


def move_words(
    connection: sqlite3.Connection, key: int, content: str, paths: tuple[str, str], symbols: str
) -> None:
    """Index one drawer under the second path instead of the first."""
    remove_words(connection, key, content, paths[0], symbols)
    add_words(connection, key, content, paths[1], symbols)


def clear_words(connection: sqlite3.Connection) -> None:
    """Empty the word index."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")


def _quote(term: Term) -> str:
    phrase = _join_words(" ".join(term.tokens)).lower()
    return f'"{phrase}"*' if term.prefix else f'"{phrase}"'


def match(
    connection: sqlite3.Connection, terms: Sequence[Term], scope: Scope, limit: int
) -> list[WordMatch]:
    """Return drawers that hold at least one term, best BM25 score first, ties by key."""
    if not terms or limit <= 0:
        return []
    condition, parameters = scope_clause(scope)
    rows = connection.execute(
        # The cross join keeps SQLite from walking all drawers and asking the word index for each.
        f"SELECT d.key, -bm25(words, {_WEIGHTS}) AS score"
        " FROM words CROSS JOIN drawers AS d ON d.key = words.rowid"
        f" WHERE words MATCH ? AND {condition} ORDER BY score DESC, d.key LIMIT ?",
        (" OR ".join(map(_quote, terms)), *parameters, limit),
    )
    return [WordMatch(key, max(0.0, score)) for key, score in rows]


def holding(connection: sqlite3.Connection, term: Term, keys: Sequence[int]) -> Iterator[int]:
    """Yield those of ``keys`` whose drawers hold a term."""
    marks = ", ".join("?" * len(keys))
    # The plus sign makes SQLite read the term's list once instead of seeking in it for each key.
    rows = connection.execute(
        f"SELECT rowid FROM words WHERE words MATCH ? AND +rowid IN ({marks})",
        (_quote(term), *keys),
    )
    return (int(key) for (key,) in rows)


def document_frequency(connection: sqlite3.Connection, term: Term, wing: str | bytes | None) -> int:
    """Return how many drawers of a wing, or of all, hold a term."""
    if wing is None:
        rows = connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (_quote(term),))
    else:
        rows = connection.execute(
            "SELECT count(*) FROM words CROSS JOIN drawers AS d ON d.key = words.rowid"
            " WHERE words MATCH ? AND d.wing = ?",
            (_quote(term), wing),
        )
    return int(rows.fetchone()[0])
