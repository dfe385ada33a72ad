"""What every part of the store stands on: one connection, guarded calls, one table of settings."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mempal.adapters.sqlite.connection import (
    open_reading,
    open_writing,
    transaction,
    translate_errors,
)
from mempal.core.clock import format_instant
from mempal.core.runs import is_alive

# Below the number of parameters that the oldest supported SQLite takes in one statement.
_BATCH = 500

_P = ParamSpec("_P")
_T = TypeVar("_T")
_S = TypeVar("_S", bound="Database")


def guarded(
    method: Callable[Concatenate[_S, _P], _T],
) -> Callable[Concatenate[_S, _P], _T]:
    """Let a method raise mempal's errors instead of SQLite's."""

    @wraps(method)
    def call(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        with self._errors():
            return method(self, *args, **kwargs)

    return call


def split_keys(keys: Iterable[int]) -> Iterator[list[int]]:
    """Yield keys in lists short enough for one statement."""
    ordered = list(keys)
    for start in range(0, len(ordered), _BATCH):
        yield ordered[start : start + _BATCH]


def _describe(process: int, verb: str, started_at: int) -> str:
    moment = (format_instant(started_at) or "")[11:19]
    return f"process {process} ({verb}, since {moment}Z)"


def marks(values: Sequence[object]) -> str:
    """Return a place holder for each value."""
    return ", ".join("?" * len(values))


class Database:
    """An open palace database.

    Args:
        path: The database file.
        writable: Whether to open it for writing, which creates it when it is not there.

    Raises:
        DamagedError: The file is no palace database.
        SchemaError: A newer mempal wrote it.
    """

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self._connection = open_writing(path) if writable else open_reading(path)
        # The run that changes are recorded for, while there is one.
        self._run: int | None = None

    def _errors(self) -> AbstractContextManager[None]:
        """Return a context that raises mempal's errors for SQLite's."""
        return translate_errors(self.path, self._find_writer)

    def _find_writer(self) -> str | None:
        """Name the processes that changed the palace last and have not finished."""
        with suppress(sqlite3.Error):  # the message does without
            rows = self._connection.execute(
                "SELECT process, verb, started_at FROM runs WHERE finished_at IS NULL"
                " AND undone_at IS NULL AND id IS NOT ? ORDER BY id DESC LIMIT 20",
                (self._run,),
            ).fetchall()
            living = [row for row in rows if is_alive(row[0])]
            return " or ".join(_describe(*row) for row in living[:3]) or None
        return None

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with transaction(self._connection):
            yield self._connection

    def _meta(self, key: str) -> str | None:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def close(self) -> None:
        """Release files and handles."""
        self._connection.close()
