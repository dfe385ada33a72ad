"""Reading a settings file, and replacing it as a whole or not at all.

Links are followed and stay. Before a file is replaced its bytes are kept beside it, and they are
compared with the file once more, so that what somebody else wrote meanwhile is never lost.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

from mempal.core.errors import BusyError, ConfigError
from mempal.core.files import read_regular

Plan = Callable[[bytes | None], bytes | None]

BOM = b"\xef\xbb\xbf"
_SUFFIX = ".mempal-backup"
_MOST_BACKUPS = 10
_LARGEST = 1 << 24
_TRIES = 3
_PATIENCE_SECONDS, _POLL_SECONDS = 5.0, 0.02
_HINT = "nothing was changed; check who may write there, then run the command again"


class Settings:
    """One settings file.

    Attributes:
        path: As the host names it.
        target: What it is when links are followed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.target = Path(os.path.realpath(path))

    def read(self) -> bytes | None:
        """Return its bytes; ``None`` when it is not there.

        Raises:
            ConfigError: It is there and cannot be read.
        """
        return self._read(self.target)

    def decode(self, data: bytes) -> str:
        """Return its text without a byte order mark.

        Raises:
            ConfigError: It is not UTF-8.
        """
        try:
            return data.removeprefix(BOM).decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ConfigError(
                f"{self.path}:{line}: not UTF-8 text",
                hint="it was left as it is; save it as UTF-8, then run the command again",
            ) from error

    def list_backups(self) -> list[bytes]:
        """Return what was kept of it, oldest first.

        Raises:
            ConfigError: A copy is there and cannot be read.
        """
        return [data for path in self._name_backups() if (data := self._read(path)) is not None]

    def change(
        self, plan: Plan, keep: Callable[[bytes], bool]
    ) -> tuple[bytes | None, bytes | None, Path | None]:
        """Replace it by what is planned for its bytes; ``None`` there means no file.

        Args:
            plan: Asked again when the file has changed since it was read.
            keep: Tells whether bytes that are replaced are worth a copy.

        Returns:
            The bytes before and after, and the copy that holds the former.

        Raises:
            ConfigError: It cannot be written, or what ``plan`` raises.
            BusyError: Somebody else holds it or writes to it all the time.
        """
        try:
            made = not self.target.parent.exists()
            self.target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with self._locked():
                    return self._try_changes(plan, keep)
            except BaseException:
                if made:
                    with suppress(OSError):
                        self.target.parent.rmdir()
                raise
        except OSError as error:
            reason = error.strerror or error
            raise ConfigError(f"{self.path} cannot be written ({reason})", hint=_HINT) from error

    def _try_changes(
        self, plan: Plan, keep: Callable[[bytes], bool]
    ) -> tuple[bytes | None, bytes | None, Path | None]:
        for _ in range(_TRIES):
            before = self.read()
            after = plan(before)
            if after == before:
                return before, after, None
            mode = self.check_writable()
            backup = None
            if before is not None and after is not None and keep(before):
                backup = self._keep(before, mode)
            if self._replace(before, after, mode):
                return before, after, backup
        raise BusyError(
            f"{self.path} is changed by another program again and again",
            hint="close what edits it, then run the command again",
        )

    def _read(self, path: Path) -> bytes | None:
        try:
            return read_regular(path, _LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            shown = self.path if path == self.target else path
            reason = error.strerror or "not a regular file, or too large"
            raise ConfigError(f"{shown} cannot be read ({reason})", hint=_HINT) from error

    def check_writable(self) -> int | None:
        """Return the mode of the file, ``None`` for none.

        A file that may not be written is left alone, though its folder would let it be replaced.

        Raises:
            ConfigError: The file or its folder is read-only.
        """
        mode = None
        for path in (self.target.parent, self.target):
            try:
                mode = stat.S_IMODE(path.stat().st_mode)
            except FileNotFoundError:
                return None
            if not os.access(path, os.W_OK):
                shown = self.path if path == self.target else path
                raise ConfigError(f"{shown} is read-only", hint=_HINT)
        return mode

    def _replace(self, before: bytes | None, after: bytes | None, mode: int | None) -> bool:
        """Put new bytes in place; return whether the file was as it had been read."""
        if after is None:
            if self.read() != before:
                return False
            self.target.unlink(missing_ok=True)
            return True
        beside = self._write_beside(after, mode)
        try:
            if self.read() != before:
                return False
            beside.replace(self.target)
        finally:
            beside.unlink(missing_ok=True)
        self._sync_folder()
        return True

    def _write_beside(self, data: bytes, mode: int | None) -> Path:
        path = self.target.with_name(f".{self.target.name}.{token_hex(8)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        descriptor = os.open(path, flags, 0o666 if mode is None else 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if mode is not None:
                    owner = self.target.stat()
                    with suppress(PermissionError):  # whoever may write is not always the owner
                        os.chown(path, owner.st_uid, owner.st_gid)
                    path.chmod(mode)  # after the owner, whose change may take bits away
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    def _name_backups(self) -> list[Path]:
        first = self.target.with_name(self.target.name + _SUFFIX)
        numbered = (first.with_name(f"{first.name}.{n}") for n in range(1, _MOST_BACKUPS))
        return [first, *numbered]

    def _keep(self, data: bytes, mode: int | None) -> Path:
        """Keep a copy of the file's bytes; one that is there already will do."""
        path = self.target
        for path in self._name_backups():
            kept = self._read(path)
            if kept == data:
                return path
            if kept is None:
                break
        # With all names taken, the newest copy gives way, never the first.
        self._write_beside(data, mode).replace(path)
        return path

    def _sync_folder(self) -> None:
        with suppress(OSError):  # not every file system can
            descriptor = os.open(self.target.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder against other processes of ours; no file is left behind by that."""
        descriptor = os.open(self.target.parent, os.O_RDONLY)
        try:
            self._wait(descriptor)
            yield
        finally:
            os.close(descriptor)

    def _wait(self, descriptor: int) -> None:
        try:
            import fcntl  # noqa: PLC0415 - not there on every system
        except ImportError:
            return
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise BusyError(
                        f"another process is changing {self.path}", hint="try again"
                    ) from error
                time.sleep(_POLL_SECONDS)
            except OSError:  # no such lock on this file system; bytes are compared all the same
                return
            else:
                return
