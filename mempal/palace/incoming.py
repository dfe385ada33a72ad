"""An archive that is to be taken over: read once to check and clean all of it, once to store it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from mempal.core.archive import (
    Archive,
    ArchiveHeader,
    DrawerRow,
    NumberedRow,
    ReadingRow,
    Row,
    SkippedLine,
    SourceRow,
    TombstoneRow,
)
from mempal.core.errors import SourceError
from mempal.core.exchange import ArchiveReader
from mempal.core.model import Chunk, Source
from mempal.core.ports import Embedder, Progress
from mempal.core.secrets import redact
from mempal.core.vector import dimensions, pack

# Texts embedded in one call.
_BATCH = 256


@dataclass(slots=True)
class _References:
    """What the lines so far are about, so that no row names another that is not there."""

    reader: ArchiveReader
    sources: dict[int, Source] = field(default_factory=dict)
    readings: set[int] = field(default_factory=set)
    wanted: dict[int, int] = field(default_factory=dict)

    def check(self, line: int, row: Row) -> None:
        """Check what a row names.

        Raises:
            SourceError: It is not there, or names something of another.
        """
        match row:
            case SourceRow():
                self._check_source(line, row)
            case ReadingRow():
                if row.number in self.readings:
                    raise self.reader.fail(f"reading {row.number} is there already")
                self.readings.add(row.number)
            case DrawerRow():
                self._check_drawer(row)
            case TombstoneRow() if row.source is not None:
                self.source(row.source)

    def source(self, number: int) -> Source:
        """Return a source by its number.

        Raises:
            SourceError: There is none before this line.
        """
        try:
            return self.sources[number]
        except KeyError:
            raise self.reader.fail(f"source {number} is not there") from None

    def check_all(self) -> None:
        """Check what sources say of readings, which come after them."""
        for number, line in self.wanted.items():
            if number not in self.readings:
                raise self.reader.fail(f"reading {number} is not there", line)

    def _check_source(self, line: int, row: SourceRow) -> None:
        if row.number in self.sources:
            raise self.reader.fail(f"source {row.number} is there already")
        holder = None if row.holder is None else self.source(row.holder).place
        self.sources[row.number] = replace(row.source, holder=holder)
        if row.reading is not None:
            self.wanted.setdefault(row.reading, line)

    def _check_drawer(self, row: DrawerRow) -> None:
        header = self.reader.header
        if row.wing != self.source(row.source).wing:
            raise self.reader.fail("wing is not that of its source")
        if row.reading not in self.readings:
            raise self.reader.fail(f"reading {row.reading} is not there")
        if header.embedder is None:
            raise self.reader.fail("a drawer, and the first line names no embedder")
        if row.vector is not None and dimensions(row.vector) != header.dimensions:
            raise self.reader.fail(f"vector has not {header.dimensions} components")


class Incoming:
    """One archive on its way into a palace.

    Args:
        file: The archive; read from its first byte each time.
        archive: Store that it goes into; ``None`` when there is none yet.

    Attributes:
        header: What it says of itself.
        redactions: Secrets that were taken out, by kind.
        skipped: Lines that are not to be stored.
        unknown: Lines of each kind that this version does not know.

    Raises:
        SourceError: It is no archive.
    """

    def __init__(self, file: BinaryIO, archive: Archive | None) -> None:
        self._file = file
        self._archive = archive
        self._chunks: dict[int, Chunk] = {}
        self._unembedded: dict[int, str] = {}
        self._vectors: dict[int, bytes] = {}
        self._digest = ""
        self.header: ArchiveHeader = self._open().header
        self.redactions: Counter[str] = Counter()
        self.skipped: list[SkippedLine] = []
        self.unknown: Counter[str] = Counter()

    @property
    def unembedded(self) -> int:
        """Number of texts that need a vector."""
        return len(self._unembedded)

    def check(self, progress: Progress) -> None:
        """Read everything, clean every text, and note what changes.

        Raises:
            SourceError: A line is not what it should be.
        """
        reader = self._open()
        references = _References(reader)
        progress.start("checking", sum(self.header.counts.values()))
        for line, row in reader:
            references.check(line, row)
            if isinstance(row, DrawerRow):
                self._clean(line, row, references.source(row.source))
            progress.advance()
        references.check_all()
        self.unknown, self._digest = reader.unknown, reader.digest

    def embed(self, embedder: Embedder | None, progress: Progress) -> None:
        """Give every text that changed a vector.

        Args:
            embedder: The archive's; without it such a text gets a vector that is near to nothing.
            progress: Where to tell of each text.
        """
        lines = list(self._unembedded)
        progress.start("embedding", len(lines))
        for start in range(0, len(lines), _BATCH):
            batch = lines[start : start + _BATCH]
            texts = [self._unembedded[line] for line in batch]
            blank = pack([0.0] * (self.header.dimensions or 1))
            vectors = embedder.embed_documents(texts) if embedder else [blank] * len(texts)
            for line, vector in zip(batch, vectors, strict=True):
                self._vectors[line] = vector
                progress.advance()

    def rows(self, progress: Progress) -> Iterator[NumberedRow]:
        """Read everything again and yield what is to be stored.

        Raises:
            SourceError: The file is not the one that was checked.
        """
        reader = self._open()
        references = _References(reader)
        left_out = {skipped.line for skipped in self.skipped}
        progress.start("storing", sum(self.header.counts.values()))
        for line, row in reader:
            references.check(line, row)
            if line not in left_out:
                yield line, self._renew(line, row)
            progress.advance()
        if reader.digest != self._digest:
            raise SourceError("the file changed while it was read", hint="run it again")

    def _open(self) -> ArchiveReader:
        self._file.seek(0)
        return ArchiveReader(self._file)

    def _clean(self, line: int, row: DrawerRow, source: Source) -> None:
        """Note what may be stored of a drawer where that is not what the line says."""
        content, symbols = redact(row.chunk.content), redact(row.chunk.symbols)
        self.redactions.update(content.counts())
        self.redactions.update(symbols.counts())
        clean = replace(row.chunk, content=content.text, symbols=symbols.text)
        kept = self._archive.withhold(source, clean) if self._archive else clean
        if kept is None:
            self.skipped.append(SkippedLine(line, "its text was forgotten here"))
            return
        if kept != row.chunk:
            self._chunks[line] = kept
        changed = kept.content != row.chunk.content
        if changed if row.vector is not None else row.deleted_at is None:
            self._unembedded[line] = kept.content

    def _renew(self, line: int, row: Row) -> Row:
        if not isinstance(row, DrawerRow) or not (line in self._chunks or line in self._vectors):
            return row
        return replace(
            row,
            chunk=self._chunks.get(line, row.chunk),
            vector=self._vectors.get(line, row.vector),
        )
