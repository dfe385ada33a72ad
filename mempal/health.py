"""A health check that never writes: what is wrong, and the command that mends it."""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from mempal.core.config import Config
from mempal.core.errors import MempalError, PalaceError
from mempal.core.outfit import Outfit
from mempal.core.ports import Store
from mempal.core.reports import Diagnosis, Finding

_REINDEX = "mempal reindex"
# Makes words and vectors anew from the stored text, so it mends whatever the store lacks of both.
_REEMBED = "mempal reindex --reembed"


def diagnose(config: Config, outfit: Outfit) -> Diagnosis:
    """Check folder, database, index, embedder, git and installation."""
    findings = [
        *_check_config(config),
        *_check_home(config.home, outfit),
        *_guard("database", lambda: _check_store(outfit)),
        *_guard("embedder", lambda: _check_embedder(outfit)),
        _check_git(outfit),
        _check_command(),
    ]
    return Diagnosis(str(config.home), tuple(findings))


def _guard(name: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Turn an error that keeps a check from running into its finding."""
    try:
        return list(check())
    except PalaceError as error:
        return [Finding(name, "problem", error.message, error.hint)]
    except MempalError as error:
        return [Finding(name, "warning", error.message, error.hint)]


def _check_config(config: Config) -> Iterator[Finding]:
    for warning in config.warnings:
        yield Finding("config", "warning", warning, "mempal config list")


def _check_home(home: Path, outfit: Outfit) -> Iterator[Finding]:
    if not outfit.has_database():
        yield Finding("home", "ok", f"no palace at {home} yet", "mempal mine")
        return
    yield Finding("home", "ok", str(home))
    if os.name != "posix":
        return
    for path, wanted in ((home, 0o700), (outfit.database, 0o600)):
        if not path.exists():  # a link that leads nowhere
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            yield Finding(
                "permissions",
                "warning",
                f"others may read {path} (mode {mode:04o})",
                f"chmod {wanted:o} {path}",
            )


def _check_store(outfit: Outfit) -> Iterator[Finding]:
    if not outfit.has_database():
        return
    store = outfit.open_store(False)
    try:
        problems = store.problems()
        # Any command that writes takes out the traces of what was forgotten.
        repair = _REINDEX if len(problems) == 1 and store.has_traces() else _REEMBED
        for problem in problems:
            yield Finding("database", "problem", problem, repair)
        if not problems:
            status = store.status()
            yield Finding(
                "database",
                "ok",
                f"schema {status.schema_version}, {status.drawers} drawers,"
                f" {status.sources} sources",
            )
        yield from _check_index(store, outfit)
    finally:
        store.close()


def _check_index(store: Store, outfit: Outfit) -> Iterator[Finding]:
    index = outfit.open_index(store)
    if index is None:
        return
    try:
        problems = index.problems()
        for problem in problems:
            yield Finding("index", "problem", f"{index.name}: {problem}", _REINDEX)
        if problems:
            return
        if index.position() > store.revision():
            detail = f"{index.name}: belongs to a newer state of the database"
            yield Finding("index", "problem", detail, _REINDEX)
            return
        pending = store.count_entries_since(index.position())
        detail = f"{index.name}, {index.count()} drawers"
        if not pending:
            yield Finding("index", "ok", detail)
        elif index.volatile_reads:
            yield Finding("index", "ok", f"{detail}, {pending} more read from the database")
        else:
            yield Finding("index", "warning", f"{detail}, {pending} not in it yet", _REINDEX)
    finally:
        index.close()


def _check_embedder(outfit: Outfit) -> Iterator[Finding]:
    embedder = outfit.open_embedder()
    embedder.embed_query("health")
    stored = None
    with suppress(PalaceError):  # the check of the database has told it
        stored = _read_identity(outfit)
    if stored in {None, embedder.identity}:
        yield Finding("embedder", "ok", embedder.identity)
    else:
        yield Finding(
            "embedder",
            "problem",
            f"the palace was embedded with {stored}, but {embedder.identity} is configured",
            _REEMBED,
        )


def _read_identity(outfit: Outfit) -> str | None:
    if not outfit.has_database():
        return None
    store = outfit.open_store(False)
    try:
        return store.embedder_identity()
    finally:
        store.close()


def _check_git(outfit: Outfit) -> Finding:
    described = outfit.describe_git()
    if described is None:
        return Finding(
            "git",
            "warning",
            "no git binary found; ignore rules are read by mempal itself",
            "install git",
        )
    return Finding("git", "ok", described)


def _check_command() -> Finding:
    found = shutil.which("mempal")
    running = Path(sys.argv[0])
    if found is None:
        return Finding("command", "warning", "mempal is not on PATH; hooks could not call it")
    if running.name == "mempal" and running.exists() and not running.samefile(found):
        return Finding("command", "warning", f"PATH leads to {found}, but {running} is running")
    return Finding("command", "ok", found)
