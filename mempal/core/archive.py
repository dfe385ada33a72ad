"""A palace as it is carried elsewhere: its rows, and the port that gives and takes them.

Rows name each other by numbers that hold within one archive only, and a row comes after those it
names: sources (holders first), readings, drawers by age, then what was forgotten and cited.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mempal.core.model import Chunk, Source
from mempal.core.stores import RunLog


@dataclass(frozen=True, slots=True)
class ArchiveHeader:
    """What an archive says of itself.

    Attributes:
        schema: Version of the tables it was made from.
        embedder: Identity of the embedder of its vectors; ``None`` when there are none.
        dimensions: Components of each vector; ``None`` when there are none.
        exported_at: Instant of the state that it holds.
        counts: Rows of each kind.
        version: Version of mempal that wrote it.
    """

    schema: int
    embedder: str | None
    dimensions: int | None
    exported_at: int
    counts: Mapping[str, int] = field(default_factory=dict)
    version: str = ""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A source; ``source`` lacks holder, blob and commit, which are told by number.

    Attributes:
        reading: Number of the reading it is in now.
        holder: Number of the source that holds it.
    """

    number: int
    source: Source
    reading: int | None = None
    holder: int | None = None


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """One state of a source that drawers were read from."""

    number: int
    content_sha256: str
    blob: str | None
    commit: str | None
    read_at: int


@dataclass(frozen=True, slots=True)
class DrawerRow:
    """A drawer in any state, with its history and its vector.

    Attributes:
        source: Number of its source.
        reading: Number of the reading that its citation is about.
        chunk: Text, span, symbols and voice; the voice is always there.
        lapses: (superseded at, restored at) of each time its text was not in its source.
        vector: Packed vector; ``None`` when it was stored without one.
    """

    id: str
    source: int
    reading: int
    wing: str
    room: str
    chunk: Chunk
    chunk_index: int
    importance: int
    added_at: int
    superseded_at: int | None
    deleted_at: int | None
    lapses: tuple[tuple[int, int], ...] = ()
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    """Hash of a text that must not come back; of a line of one source when ``source`` is given."""

    digest: bytes
    source: int | None
    forgotten_at: int


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A card's link to a drawer; with ``forgotten_at``, to one that a person wanted gone."""

    card_id: str
    role: str
    drawer_id: str
    forgotten_at: int | None = None


Row = SourceRow | ReadingRow | DrawerRow | TombstoneRow | LinkRow
# A row and the number of the line it stood in.
NumberedRow = tuple[int, Row]


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line of an archive that was not taken over, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Destination:
    """What an archive is to be taken into.

    Attributes:
        embedder: Embedder that it is bound to.
        dimensions: Components of its vectors; ``None`` when it has none.
        drawers: Drawers it holds, in whatever state.
    """

    embedder: str | None = None
    dimensions: int | None = None
    drawers: int = 0


@dataclass(frozen=True, slots=True)
class Restored:
    """What taking an archive over did.

    Attributes:
        added: Drawers that are new.
        unchanged: Drawers that were there already, which stay as they are.
        sources: Sources that are new.
    """

    added: int = 0
    unchanged: int = 0
    sources: int = 0
    skipped: tuple[SkippedLine, ...] = ()


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What ``export`` wrote."""

    path: str
    drawers: int
    sources: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What ``import`` did.

    Attributes:
        redactions: Secrets that were taken out, by kind.
    """

    path: str
    restored: Restored
    redactions: Mapping[str, int]
    warnings: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class BackupReport:
    """What ``backup`` wrote."""

    path: str
    bytes: int
    seconds: float


class Archive(RunLog, Protocol):
    """A store as a whole: given away, taken over, copied."""

    def snapshot(self) -> AbstractContextManager[tuple[ArchiveHeader, Iterator[Row]]]:
        """Give every row as of one moment, whoever writes meanwhile."""
        ...

    def destination(self) -> Destination:
        """Return what there is before an archive is taken over."""
        ...

    def withhold(self, source: Source, chunk: Chunk) -> Chunk | None:
        """Return what may be stored of a text here, where things may have been forgotten."""
        ...

    def restore(self, header: ArchiveHeader, rows: Iterable[NumberedRow]) -> Restored:
        """Take rows over in one transaction; what raises while they are read undoes it.

        Sources are known by their place, drawers by their id, and what is known stays as it is. A
        drawer of a source that was read here later than there is history here.

        Raises:
            PalaceError: The store has vectors of another embedder.
        """
        ...

    def copy(self, path: Path, on_step: Callable[[], None]) -> None:
        """Write the whole store as of one moment to an empty file, whoever writes meanwhile.

        The copy holds nothing that was removed, and has a lineage of its own, so that no index of
        the original is taken for one of it.

        Args:
            path: Absolute path of the file.
            on_step: Called from time to time.

        Raises:
            PalaceError: The copy cannot be written.
            DamagedError: The store or its copy is not sound.
        """
        ...

    def close(self) -> None:
        """Release files and handles."""
        ...
