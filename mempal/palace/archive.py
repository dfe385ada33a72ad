"""Verbs about the palace as a whole: carry it elsewhere, take it over, copy it."""

import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from mempal import __version__
from mempal.core.archive import (
    Archive,
    BackupReport,
    Destination,
    ExportReport,
    ImportReport,
    Restored,
    Row,
)
from mempal.core.errors import (
    EmbedderError,
    MempalError,
    NotFoundError,
    PalaceError,
    SourceError,
    UsageError,
)
from mempal.core.exchange import write_archive
from mempal.core.files import open_regular
from mempal.core.ports import Embedder, Progress
from mempal.palace.access import Access
from mempal.palace.incoming import Incoming

_REEMBED = (
    "run `mempal reindex --reembed` with the embed.* settings of the other palace in one of the two"
)


@dataclass(frozen=True, slots=True)
class Archives:
    """The palace as a whole: export, import, backup."""

    access: Access

    def export(self, path: Path, *, force: bool, progress: Progress) -> ExportReport:
        """Write everything, as of one moment, to one file of JSON lines.

        Raises:
            NotFoundError: There is no palace, or no such folder.
            UsageError: The file exists and ``force`` is not given, or is one of the palace.
            MempalError: The file cannot be written.
        """
        started = monotonic()
        self.access.require()
        target = self._check_target(path)
        with (
            _replacing(target, force=force) as fresh,
            self._archive(writable=False) as archive,
            archive.snapshot() as (header, rows),
            fresh.open("wb") as file,
        ):
            progress.start("exporting", sum(header.counts.values()))
            signed = replace(header, version=__version__)
            counts = write_archive(file, signed, _count_rows(rows, progress))
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        return ExportReport(
            path=str(target),
            drawers=counts.get("drawer", 0),
            sources=counts.get("source", 0),
            bytes=size,
            seconds=round(monotonic() - started, 3),
        )

    def import_(self, path: Path, progress: Progress) -> ImportReport:
        """Take over what an export holds, all of it or nothing.

        What is in the palace already stays as it is. An empty palace becomes what was exported.

        Raises:
            NotFoundError: There is no such file.
            SourceError: The file is no export, is damaged, or holds what no palace could.
            PalaceError: The palace was embedded by another embedder.
        """
        started = monotonic()
        with _open_file(path) as file, self._existing() as archive:
            incoming = Incoming(file, archive)
            _check_embedder(incoming, archive.destination() if archive else Destination())
            incoming.check(progress)
            warnings = list(self._prepare(incoming, progress))
            restored, late = self._store(path, incoming, progress)
        return ImportReport(
            path=str(path),
            restored=restored,
            redactions=dict(sorted(incoming.redactions.items())),
            warnings=(*warnings, *late),
            seconds=round(monotonic() - started, 3),
        )

    def backup(self, path: Path, *, force: bool, progress: Progress) -> BackupReport:
        """Copy the database as of one moment, whoever writes meanwhile.

        Raises:
            NotFoundError: There is no palace, or no such folder.
            UsageError: The file exists and ``force`` is not given, or is one of the palace.
            PalaceError: The copy cannot be written or is not sound.
        """
        started = monotonic()
        self.access.require()
        target = self._check_target(path)
        with _replacing(target, force=force) as fresh, self._archive(writable=False) as archive:
            progress.start("copying", None)
            archive.copy(fresh, progress.advance)
            size = fresh.stat().st_size
        return BackupReport(str(target), size, round(monotonic() - started, 3))

    # --- import --------------------------------------------------------------------------------

    @contextmanager
    def _archive(self, *, writable: bool) -> Iterator[Archive]:
        with closing(self.access.outfit.open_archive(writable)) as archive:
            yield archive

    @contextmanager
    def _existing(self) -> Iterator[Archive | None]:
        """Open what there is for reading; nothing is created for an import that may be refused."""
        if not self.access.exists():
            yield None
            return
        with self._archive(writable=False) as archive:
            yield archive

    def _prepare(self, incoming: Incoming, progress: Progress) -> Iterator[str]:
        """Embed what changed, and yield what the user should know."""
        for kind, count in incoming.unknown.items():
            yield f"{count} lines of the unknown kind {kind!r} were left out"
        bound = incoming.header.embedder
        if bound is None:
            return
        configured: Embedder | None = self.access.outfit.open_embedder()
        try:
            identity = configured.identity if configured else ""
        except EmbedderError as error:
            identity = f"an embedder that does not answer ({error.message})"
        if identity != bound:
            configured = None
            yield (
                f"the palace is embedded with {bound}, but {identity} is configured: search goes"
                " by word only until you restore the embed.* settings of the export, or run"
                " `mempal reindex --reembed`"
            )
        if incoming.unembedded:
            incoming.embed(configured, progress)
        if incoming.unembedded and configured is None:
            yield (
                f"{incoming.unembedded} texts changed and could not be embedded: they are found by"
                " word only until `mempal reindex --reembed`"
            )

    def _store(
        self, path: Path, incoming: Incoming, progress: Progress
    ) -> tuple[Restored, tuple[str, ...]]:
        # The store is opened first: it brings tables and words up to date.
        with self.access.open(writable=True) as store, self._archive(writable=True) as archive:
            # The archive has a connection of its own, and so a run of its own.
            archive.begin_run("import", None, {"path": str(path)})
            try:
                restored = archive.restore(incoming.header, incoming.rows(progress))
            except BaseException as error:
                with suppress(MempalError):  # the first error is the one to report
                    archive.finish_run({"stopped": type(error).__name__})
                raise
            archive.finish_run({"added": restored.added, "sources": restored.sources})
            late = self.access.refresh(store)
        skipped = sorted((*incoming.skipped, *restored.skipped), key=lambda one: one.line)
        return (
            Restored(restored.added, restored.unchanged, restored.sources, tuple(skipped)),
            late,
        )

    # --- the file that is written --------------------------------------------------------------

    def _check_target(self, path: Path) -> Path:
        """Return the absolute path of a file that may be written.

        Raises:
            NotFoundError: Its folder is not there.
            UsageError: It is no plain file, or belongs to the palace.
        """
        if path == Path("-"):
            raise UsageError("standard output takes no copy of a palace", hint="name a file")
        target = Path(os.path.abspath(path))  # noqa: PTH100 - a link is replaced, not followed
        if not target.parent.is_dir():
            raise NotFoundError(f"there is no folder {target.parent}", hint="make it first")
        if (target.exists() and not target.is_file()) or _is_stream(target):
            raise UsageError(f"{target} is no file", hint="name a file, which is made or replaced")
        database = self.access.outfit.database
        inside = target.parent.resolve().is_relative_to(self.access.home.resolve())
        if inside or (target.exists() and target.samefile(database)):
            raise UsageError(
                f"{target} belongs to the palace", hint="choose a file outside of its folder"
            )
        return target


def _is_stream(path: Path) -> bool:
    """Return whether a path is a name for what a process has open, as ``/dev/stdout`` is."""
    return path.is_symlink() and str(path.readlink()).startswith(("/proc/", "/dev/fd", "fd/"))


def _check_embedder(incoming: Incoming, there: Destination) -> None:
    """Refuse vectors that cannot be compared with those in the palace.

    Raises:
        PalaceError: They are another embedder's.
    """
    header = incoming.header
    if header.embedder is None or not there.drawers:
        return
    if header.embedder != there.embedder:
        raise PalaceError(
            f"the palace was embedded with {there.embedder}, the export with {header.embedder}",
            hint=f"{_REEMBED}, and export again; or import it into an empty palace (--home)",
        )
    if there.dimensions not in {None, header.dimensions}:
        raise PalaceError(
            f"vectors of {there.dimensions} components and of {header.dimensions} do not mix",
            hint=_REEMBED,
        )


def _count_rows(rows: Iterator[Row], progress: Progress) -> Iterator[Row]:
    for row in rows:
        yield row
        progress.advance()


@contextmanager
def _open_file(path: Path) -> Iterator[BinaryIO]:
    try:
        file = open_regular(Path(os.path.realpath(path)))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} cannot be read ({error})", hint="name a plain file") from error
    with file:
        yield file


@contextmanager
def _replacing(target: Path, *, force: bool) -> Iterator[Path]:
    """Give an empty file for its owner only, which takes the place of ``target`` in the end.

    Raises:
        UsageError: There is such a file already.
        MempalError: It cannot be written.
    """
    _refuse_existing(target, force=force)
    fresh = target.with_name(f".mempal-{secrets.token_hex(8)}.new")
    try:
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield fresh
        _refuse_existing(target, force=force)
        fresh.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise MempalError(
            f"{target} cannot be written ({error.strerror or error})",
            hint="check the folder's permissions and the free space",
        ) from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def _refuse_existing(target: Path, *, force: bool) -> None:
    if not force and os.path.lexists(target):
        raise UsageError(f"{target} exists", hint="name another file, or replace it with --force")


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where a folder can be opened at all."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
