"""Opening the palace database, and turning SQLite's complaints into mempal's errors."""

import errno
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from mempal.adapters.sqlite.schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from mempal.core.errors import BusyError, DamagedError, PalaceError, SchemaError

# How long a write waits for another process's transaction before it gives up.
BUSY_TIMEOUT_MS = 30_000

_RESTORE = "restore it from a backup, or move it away and mine again; `mempal doctor` checks it"


@contextmanager
def translate_errors(
    path: Path, find_writer: Callable[[], str | None] | None = None
) -> Iterator[None]:
    """Raise mempal's errors for SQLite's.

    Args:
        path: The database file, for messages.
        find_writer: Tells which process is writing, in words.

    Raises:
        BusyError: Another process held the database too long; the message names it if it can.
        DamagedError: The file is not a sound database.
        PalaceError: The disk is full, or the file cannot be opened or written.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        raise _explain(path, error, find_writer) from error
    except sqlite3.DatabaseError as error:
        raise DamagedError(f"{path} is damaged ({error})", hint=_RESTORE) from error


def _explain(
    path: Path, error: sqlite3.OperationalError, find_writer: Callable[[], str | None] | None
) -> PalaceError | BusyError:
    text = str(error)
    if "locked" in text or "busy" in text:
        writer = (find_writer and find_writer()) or "another process"
        return BusyError(f"{writer} is writing to {path}", hint="try again when it has finished")
    if "full" in text:
        return PalaceError(
            f"no space left to write {path}", hint="free some space and run it again"
        )
    if "readonly" in text or "read-only" in text:
        return PalaceError(
            f"{path} cannot be written", hint="check its permissions and its folder's"
        )
    # What SQLite calls an I/O error is a disk that is full or failing, but for a file that ends too
    # early: that one is damaged.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_IOERR if "I/O error" in text else 0)
    if code & 0xFF == sqlite3.SQLITE_IOERR and code != sqlite3.SQLITE_IOERR_SHORT_READ:
        return PalaceError(
            f"the disk failed to read or write {path} ({text})",
            hint="check the disk and its free space, and run it again",
        )
    if "unable to open" in text:
        return PalaceError(f"{path} cannot be opened", hint=f"check its permissions, or {_RESTORE}")
    return DamagedError(f"{path} is damaged ({text})", hint=_RESTORE)


def open_reading(path: Path) -> sqlite3.Connection:
    """Open an existing palace without the right to change it.

    Raises:
        DamagedError: The file is no palace database.
        SchemaError: A newer mempal wrote it.
    """
    if path.is_symlink() and not path.exists():
        raise DamagedError(
            f"{path} is a link to what is not there",
            hint="mount the disk that holds it, or remove the link",
        )
    if not path.is_file():
        raise DamagedError(f"{path} is not a file", hint=_RESTORE)
    if path.stat().st_size == 0:
        raise DamagedError(f"{path} is empty (0 bytes)", hint=_RESTORE)
    with translate_errors(path):
        try:
            connection, version = _connect_checked(path, "mode=ro")
        except sqlite3.OperationalError:
            # In a folder that cannot be written SQLite cannot make the files that WAL readers
            # share; nobody can be writing there either, so the file may be read as it lies.
            if os.access(path.parent, os.W_OK):
                raise
            connection, version = _connect_checked(path, "mode=ro&immutable=1")
    if version < SCHEMA_VERSION:
        connection.close()
        open_writing(path).close()
        return open_reading(path)
    return connection


def open_writing(path: Path) -> sqlite3.Connection:
    """Open a palace for writing; create it, or bring it up to date, when needed.

    Raises:
        DamagedError: The file is no palace database.
        SchemaError: A newer mempal wrote it.
        PalaceError: It cannot be created or written.
    """
    if path.exists() and not path.is_file():
        raise DamagedError(f"{path} is not a file", hint=_RESTORE)
    try:
        if path.exists():
            _refuse_protected(path)
        else:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _create(path)
    except OSError as error:
        raise PalaceError(
            f"{path} cannot be written ({error.strerror})", hint="check the folder's permissions"
        ) from error
    with translate_errors(path):
        connection, version = _connect_checked(path, "mode=rw")
        with _closed_on_error(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if version < SCHEMA_VERSION:
                _migrate(connection)
    return connection


def _refuse_protected(path: Path) -> None:
    # It must not be opened to find that out: closing it again would let go of the locks that other
    # connections of this process hold, and their next transaction could be lost.
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _create(path: Path) -> None:
    """Let a new palace appear in one step, whole, so that nobody ever meets the beginning of one.

    Raises:
        OSError: The folder cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    try:
        os.close(os.open(fresh, flags | os.O_EXCL, 0o600))
        with translate_errors(path), closing(_connect(f"{fresh.as_uri()}?mode=rw")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            _migrate(connection)
        try:
            os.link(fresh, path)
        except FileExistsError:  # another process was first, or a link leads to what is not there
            if not path.exists():
                os.close(os.open(path, flags, 0o600))
        except OSError:  # a file system without links
            os.close(os.open(path, flags, 0o600))
    finally:
        for ending in ("", "-wal", "-shm"):
            with suppress(OSError):
                fresh.with_name(fresh.name + ending).unlink(missing_ok=True)


def _connect_checked(path: Path, options: str) -> tuple[sqlite3.Connection, int]:
    """Connect, and refuse what is no palace before anything in it is changed."""
    connection = _connect(f"{path.as_uri()}?{options}")
    with _closed_on_error(connection):
        version = _read_version(connection)
        _refuse_foreign(connection, path, version)
        _refuse_newer(path, version)
    return connection, version


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _read_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_foreign(connection: sqlite3.Connection, path: Path, version: int) -> None:
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if owner == APPLICATION_ID:
        return
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if owner or version or tables:
        raise DamagedError(
            f"{path} is the database of another program, or of another kind of mempal",
            hint="move it away, or choose another folder with MEMPAL_HOME",
        )


def _refuse_newer(path: Path, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise SchemaError(
            f"{path} has schema version {version}; this mempal knows up to {SCHEMA_VERSION}",
            hint="install a newer mempal",
        )


def _migrate(connection: sqlite3.Connection) -> None:
    # A table that others refer to is replaced by making it anew, which SQLite allows with its
    # checks off only; each step ends with a check of its own.
    connection.execute("PRAGMA foreign_keys = OFF")
    for version, script in enumerate(MIGRATIONS, 1):
        with transaction(connection):
            # Read again under the lock: another process may have migrated in the meantime.
            if _read_version(connection) >= version:
                continue
            for statement in _split(script):
                connection.execute(statement)
            if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                raise sqlite3.IntegrityError("rows name others that are not there")
            connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("PRAGMA foreign_keys = ON")


def _split(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the write lock from the start; commit at the end, roll back on any error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):  # the first error is the one to report
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
