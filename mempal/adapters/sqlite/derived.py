"""What is derived from drawers and kept beside them: the word index and the vectors."""

from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from operator import attrgetter
from typing import Any

from mempal.adapters.sqlite import words
from mempal.adapters.sqlite.base import Database, guarded, marks, split_keys
from mempal.adapters.sqlite.rows import (
    decode_path,
    encode_name,
)
from mempal.adapters.sqlite.writing import (
    next_revision,
    record_revision,
)
from mempal.core.model import (
    IndexEntry,
    Scope,
    Term,
    WordMatch,
)
from mempal.core.vector import dimensions
from mempal.core.words import ANALYZER_VERSION


def _read_entry(row: tuple[Any, ...]) -> IndexEntry:
    key, vector, wing, room, current = row
    return IndexEntry(key, vector, wing, room, bool(current))


class DerivedTables(Database):
    """The part of the port ``Store`` about words and vectors."""

    # --- words ---------------------------------------------------------------------------------

    @guarded
    def match_words(self, terms: Sequence[Term], scope: Scope, limit: int) -> list[WordMatch]:
        """Return drawers in scope that hold at least one term, best first."""
        return words.match(self._connection, terms, scope, limit)

    @guarded
    def document_frequency(self, term: Term, wing: str | None = None) -> int:
        """Return how many drawers of a wing, or of all, hold a term."""
        return words.document_frequency(self._connection, term, encode_name(wing))

    @guarded
    def holding(self, term: Term, keys: Sequence[int]) -> set[int]:
        """Return those of ``keys`` whose drawers hold a term."""
        found: set[int] = set()
        for batch in split_keys(keys):
            found.update(words.holding(self._connection, term, batch))
        return found

    @guarded
    def count_drawers(self, wing: str | None = None) -> int:
        """Return the number of drawers of a wing, or of all, superseded ones included."""
        if wing is None:
            row = self._connection.execute("SELECT count(*) FROM drawers").fetchone()
        else:
            row = self._connection.execute(
                "SELECT count(*) FROM drawers WHERE wing = ?", (encode_name(wing),)
            ).fetchone()
        return int(row[0])

    @guarded
    def rebuild_words(self) -> int:
        """Rebuild the word index from the stored text."""
        with self._change() as connection:
            words.clear_words(connection)
            rows = connection.execute(
                "SELECT d.key, d.content, s.path, d.symbols FROM drawers AS d"
                " JOIN sources AS s ON s.id = d.source_id ORDER BY d.key"
            )
            count = 0
            for key, content, path, symbols in rows:
                words.add_words(connection, key, content, decode_path(path), symbols)
                count += 1
            connection.execute(
                "INSERT OR REPLACE INTO meta VALUES ('analyzer', ?)", (str(ANALYZER_VERSION),)
            )
            return count

    # --- vectors -------------------------------------------------------------------------------

    @guarded
    def vector_dimensions(self) -> int | None:
        """Return the number of components of the stored vectors."""
        row = self._connection.execute("SELECT embedding FROM vectors LIMIT 1").fetchone()
        return None if row is None else dimensions(row[0])

    @guarded
    def vectors(self, keys: Iterable[int]) -> dict[int, bytes]:
        """Return the stored packed vectors of these drawers."""
        found: dict[int, bytes] = {}
        for batch in split_keys(keys):
            found.update(
                self._connection.execute(
                    f"SELECT key, embedding FROM vectors WHERE key IN ({marks(batch)})",
                    batch,
                )
            )
        return found

    def entries_since(self, revision: int) -> Iterator[IndexEntry]:
        """Yield an index entry for every drawer changed after ``revision``, by key."""
        # The plus sign keeps SQLite from what would cost most: from sorting a whole palace when
        # everything is asked for, and else from walking through it for the few that changed.
        condition, order = (
            ("+{0}.revision > ?", "{0}.key") if revision == 0 else ("{0}.revision > ?", "+{0}.key")
        )
        with self._errors():
            rows = self._connection.execute(
                "SELECT d.key, CASE WHEN d.deleted_at IS NULL THEN v.embedding END,"
                " d.wing, d.room, d.superseded_at IS NULL AND d.deleted_at IS NULL"
                " FROM drawers AS d LEFT JOIN vectors AS v ON v.key = d.key"
                f" WHERE {condition.format('d')} ORDER BY {order.format('d')}",
                (revision,),
            )
            removed = self._connection.execute(
                "SELECT r.key, NULL, r.wing, r.room, 0 FROM removals AS r"
                f" WHERE {condition.format('r')} ORDER BY {order.format('r')}",
                (revision,),
            )
            both = (map(_read_entry, found) for found in (rows, removed))
            yield from merge(*both, key=attrgetter("key"))

    @guarded
    def count_entries_since(self, revision: int) -> int:
        """Return how many entries ``entries_since`` would yield."""
        row = self._connection.execute(
            "SELECT (SELECT count(*) FROM drawers WHERE revision > ?)"
            " + (SELECT count(*) FROM removals WHERE revision > ?)",
            (revision, revision),
        ).fetchone()
        return int(row[0])

    def contents(self, batch: int, *, deleted: bool = False) -> Iterator[list[tuple[int, str]]]:
        """Yield (key, content) of every drawer in batches, by key."""
        condition = "" if deleted else " AND deleted_at IS NULL"
        last = 0
        while True:
            with self._errors():
                rows = self._connection.execute(
                    f"SELECT key, content FROM drawers WHERE key > ?{condition}"
                    " ORDER BY key LIMIT ?",
                    (last, batch),
                ).fetchall()
            if not rows:
                return
            yield rows
            last = rows[-1][0]

    @guarded
    def replace_vectors(self, identity: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Give drawers new vectors and bind the store to another embedder, in one transaction."""
        with self._change() as connection:
            revision = next_revision(connection)
            connection.execute("DELETE FROM vectors")
            connection.executemany("INSERT INTO vectors VALUES (?, ?)", vectors)
            connection.execute("UPDATE drawers SET revision = ?", (revision,))
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('embedder', ?)", (identity,))
            record_revision(connection, revision)
