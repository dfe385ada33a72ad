"""One writer at a time, across processes.

An advisory file lock that the system frees when its holder dies.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mempal.core.errors import BusyError, PalaceError
from mempal.core.files import read_regular

_PATIENCE_SECONDS = 60.0
_LONGEST_OWNER = 64  # bytes


class FileLock:
    """The port ``Lock`` on a file.

    Args:
        path: The lock file; a file beside it with the ending ``.owner`` names the holder.
        patience: Seconds to wait for another holder.
    """

    def __init__(self, path: Path, patience: float = _PATIENCE_SECONDS) -> None:
        self._path = path
        self._owner = path.with_suffix(".owner")
        self._patience = patience

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Wait for the lock and hold it.

        Raises:
            BusyError: Another process kept it too long.
            PalaceError: The lock file cannot be written.
        """
        import filelock

        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = filelock.FileLock(self._path, timeout=self._patience, mode=0o600)
            lock.acquire()
        except filelock.Timeout as error:
            raise BusyError(
                f"{self._describe_owner()} is writing the palace's index",
                hint="try again when it has finished",
            ) from error
        except OSError as error:
            raise PalaceError(
                f"{self._path} cannot be written ({error.strerror})",
                hint="check the folder's permissions",
            ) from error
        try:
            self._name_owner()
            yield
        finally:
            lock.release()

    def _name_owner(self) -> None:
        # The name only helps a message; the lock holds without it.
        with suppress(OSError):
            # Without NONBLOCK, a pipe in the file's place would be waited for, the lock held.
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
            with os.fdopen(os.open(self._owner, flags, 0o600), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

    def _describe_owner(self) -> str:
        try:
            return f"process {int(read_regular(self._owner, _LONGEST_OWNER))}"
        except (OSError, ValueError):
            return "another process"
