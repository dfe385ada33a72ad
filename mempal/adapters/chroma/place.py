"""Where Chroma's data lie: folders beside the record, or collections of a server."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from mempal.adapters.chroma.client import REINDEX, Collection, open_collection
from mempal.adapters.chroma.record import Record, Seal, is_token
from mempal.adapters.chroma.seal import find_damage, seal_files
from mempal.core.errors import BusyError, DamagedError, MempalError


class Place:
    """Opens, locks, checks and removes the data that a token names.

    A server looks after its own files, so it has neither locks nor seals.

    Args:
        folder: Folder of the record.
        url: A server; empty for embedded databases.
    """

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url

    def describe(self, token: str) -> str:
        """Return where data lie, for messages."""
        return self._url or str(self._folder / token)

    @contextmanager
    def hold(self, token: str, patience: float) -> Iterator[None]:
        """Hold the right to open data and to write to them.

        Args:
            token: The data.
            patience: Seconds to wait for another holder.

        Raises:
            BusyError: Another process holds it.
            DamagedError: The lock file cannot be written.
        """
        if self._url:
            yield
            return
        import filelock

        path = self._lock_path(token)
        lock = filelock.FileLock(path, timeout=patience, mode=0o600)
        try:
            lock.acquire()
        except filelock.Timeout as error:
            raise BusyError(
                f"another process is writing the vector index in {self._folder}",
                hint="try again when it has finished",
            ) from error
        except OSError as error:
            raise DamagedError(
                f"{path} cannot be written ({error.strerror}); Chroma cannot read without writing",
                hint="check the folder's permissions, or set `index.backend` to exact",
            ) from error
        try:
            yield
        finally:
            lock.release()

    def open(self, record: Record, *, create: bool = False) -> Collection:
        """Open data; the caller holds them.

        Raises:
            BusyError: Another program holds the database.
            DamagedError: They are not as they were sealed, cannot be opened, or hold the writes of
                somebody else.
        """
        if self._url:
            collection = open_collection(self._url, record.collection, create=create)
        else:
            data = self._folder / record.token
            if create:
                self._make(data)
            elif damage := self.find_damage(record):
                raise DamagedError(damage, hint=REINDEX)
            collection = open_collection(data, record.collection, create=create)
        if not create and not record.committed <= collection.generation <= record.generation:
            collection.close()
            raise DamagedError(
                f"{self.describe(record.token)} holds write {collection.generation} where this"
                f" palace made {record.committed}: a copy or a backup",
                hint=REINDEX,
            )
        return collection

    def find_damage(self, record: Record, *, thorough: bool = False) -> str | None:
        """Return what is wrong with the files, in words; ``thorough`` reads all of them."""
        if self._url:
            return None
        return find_damage(self._folder / record.token, record.seals, thorough=thorough)

    def seal(self, record: Record) -> dict[str, Seal]:
        """Flush the files to disk and return what they are now; the caller holds them.

        Raises:
            DamagedError: A file cannot be read.
        """
        if self._url:
            return {}
        data = self._folder / record.token
        try:
            return seal_files(data, record.seals)
        except OSError as error:
            raise DamagedError(f"{data} cannot be read ({error.strerror})", hint=REINDEX) from error

    def discard(self, record: Record) -> None:
        """Remove data that nobody needs any more, as far as possible.

        What another process is opening, and what cannot be removed, stays until the next rebuild.
        """
        if self._url:
            with suppress(MempalError):
                self.open(record).drop()
            return
        with suppress(MempalError), self.hold(record.token, 0):
            rmtree(self._folder / record.token, ignore_errors=True)
        if not (self._folder / record.token).exists():
            self._lock_path(record.token).unlink(missing_ok=True)

    def sweep(self, keep: str) -> None:
        """Remove all embedded data but one: former ones, and what broken-off rebuilds left."""
        if self._url:
            return
        for path in list(self._folder.iterdir()):
            if is_token(path.stem) and path.stem != keep:
                self.discard(Record("", 0, "", path.stem))

    def _lock_path(self, token: str) -> Path:
        return self._folder / f"{token}.lock"

    def _make(self, data: Path) -> None:
        try:
            data.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise DamagedError(
                f"{data} cannot be made ({error.strerror})",
                hint="check the folder's permissions, move away what is in its place, then run"
                " `mempal reindex`",
            ) from error
