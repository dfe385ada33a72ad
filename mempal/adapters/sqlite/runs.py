"""Runs: which commands changed the palace, and how each is taken back."""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mempal.adapters.sqlite.base import Database, guarded
from mempal.adapters.sqlite.journal import (
    has_changes,
    start_journal,
    stop_journal,
    trim_journal,
)
from mempal.adapters.sqlite.rows import encode_name
from mempal.adapters.sqlite.undo import find_obstacle, undo
from mempal.core.clock import now
from mempal.core.errors import NotFoundError, UsageError
from mempal.core.runs import Run, Undone, refuse_undoing

_COLUMNS = "id, verb, wing, process, started_at, finished_at, undone_at, detail"


def _read_run(row: tuple[Any, ...]) -> Run:
    *values, detail = row
    return replace(Run(*values), detail=json.loads(detail))


class RunTables(Database):
    """The part ``RunLog`` of the port ``Store``."""

    @guarded
    def begin_run(self, verb: str, wing: str | None, detail: Mapping[str, object]) -> int:
        """Record that a command begins in this process; return the run's number."""
        with self._change() as connection:
            cursor = connection.execute(
                "INSERT INTO runs (verb, wing, process, started_at, detail) VALUES (?, ?, ?, ?, ?)",
                (verb, encode_name(wing), os.getpid(), now(), json.dumps(dict(detail))),
            )
        self._run = int(cursor.lastrowid or 0)
        start_journal(self._connection, self._run)
        return self._run

    @guarded
    def finish_run(self, detail: Mapping[str, object]) -> None:
        """Record that the run ends, and add ``detail`` to what was recorded about it."""
        run, self._run = self._run, None
        stop_journal(self._connection)
        if run is None:
            return
        with self._change() as connection:
            trim_journal(connection, run)
            if not has_changes(connection, run):
                connection.execute("DELETE FROM runs WHERE id = ?", (run,))
                return
            (former,) = connection.execute(
                "SELECT detail FROM runs WHERE id = ?", (run,)
            ).fetchone()
            connection.execute(
                "UPDATE runs SET finished_at = ?, detail = ? WHERE id = ?",
                (now(), json.dumps({**json.loads(former), **detail}), run),
            )

    @guarded
    def runs(self, limit: int) -> list[Run]:
        """Return the newest runs, newest first."""
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM runs ORDER BY id DESC LIMIT ?", (max(0, limit),)
        )
        return list(map(_read_run, rows))

    @guarded
    def run(self, run_id: int) -> Run | None:
        """Return one run."""
        row = self._connection.execute(
            f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (run_id,)
        ).fetchone()
        return None if row is None else _read_run(row)

    @guarded
    def undo_run(self, run_id: int, at: int) -> Undone:
        """Bring everything that a run changed back to what it was before."""
        with self._without_journal(), self._change() as connection:
            run = self.run(run_id)
            if run is None:
                raise NotFoundError(f"there is no run {run_id}", hint="`mempal runs` lists them")
            refuse_undoing(run)
            obstacle = find_obstacle(connection, run_id)
            if obstacle is not None:
                raise obstacle.explain(run)
            try:
                return undo(connection, run, at)
            except sqlite3.IntegrityError as error:
                raise UsageError(
                    f"what run {run_id} changed was changed again since",
                    hint="`mempal runs` lists what came after it",
                ) from error

    @contextmanager
    def _without_journal(self) -> Iterator[None]:
        stop_journal(self._connection)
        try:
            yield
        finally:
            if self._run is not None:
                start_journal(self._connection, self._run)
