"""The lines of an archive: strict JSON objects, the first says what follows, the last proves it.

::

    {"mempal_export": 1, "schema": ..., "embedder": ..., "counts": {...}, ...}
    {"type": "source", ...}
    {"type": "drawer", ..., "vector": "base64"}
    {"type": "end", "counts": {...}, "sha256": "of every byte before this line"}

Kinds of lines that a reader does not know are counted and left out. Whatever the bytes are, reading
raises nothing but :class:`~mempal.core.errors.SourceError`, which names the line.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, BinaryIO

from mempal.core.archive import ArchiveHeader, NumberedRow, Row
from mempal.core.errors import MempalError, SourceError
from mempal.core.fields import Fields, decode_header, decode_row, encode_header, encode_row

FORMAT = 1
_END = "end"
# Longer than any line that mempal writes; a line is held in memory as a whole.
_LONGEST_LINE = 64 * 2**20
_MOST_KINDS = 100
_HINT = "export again, or copy the file again; nothing was changed here"


def write_archive(file: BinaryIO, header: ArchiveHeader, rows: Iterable[Row]) -> Mapping[str, int]:
    """Write an archive; return the number of rows of each kind.

    Raises:
        OSError: The file cannot be written.
    """
    digest = sha256()
    counts: Counter[str] = Counter()

    def put(document: Mapping[str, Any]) -> None:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        line = text.encode() + b"\n"
        digest.update(line)
        file.write(line)

    put({"mempal_export": FORMAT, **encode_header(header)})
    for row in rows:
        document = encode_row(row)
        counts[document["type"]] += 1
        put(document)
    put({"type": _END, "counts": dict(counts), "sha256": digest.hexdigest()})
    return counts


class ArchiveReader:
    """Reads an archive line by line.

    Args:
        file: The archive from its first byte.

    Attributes:
        header: What it says of itself.
        digest: Hash of all of it, once it was read to its end.
        unknown: Lines of each kind that this version does not know, as far as it was read.

    Raises:
        SourceError: It is no archive, or one of a newer mempal.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = sha256()
        self._line = 0
        self.digest = ""
        self.unknown: Counter[str] = Counter()
        self.header = self._read_header()

    def __iter__(self) -> Iterator[NumberedRow]:
        """Yield each row with the number of its line, and check at the end that all are there.

        Raises:
            SourceError: A line is not what it should be, or the file was cut off or changed.
        """
        counts: Counter[str] = Counter()
        while True:
            line = self._next_line()
            former = self._digest.hexdigest()
            document = self._parse(line)
            kind = document.get("type")
            if kind == _END:
                self._check_end(document, former, counts)
                return
            if not isinstance(kind, str) or len(counts) > _MOST_KINDS:
                raise self.fail("no kind of line that mempal writes")
            counts[kind] += 1
            try:
                row = decode_row(kind, Fields(document))
            except (ValueError, MempalError) as error:
                raise self.fail(str(error)) from error
            if row is None:
                self.unknown[kind] += 1
            else:
                yield self._line, row
            self._digest.update(line)

    def fail(self, reason: str, line: int | None = None) -> SourceError:
        """Return the error that a line is wrong; the present one unless another is named."""
        return SourceError(f"line {line or self._line}: {reason}", hint=_HINT)

    def _next_line(self) -> bytes:
        self._line += 1
        try:
            line = self._file.readline(_LONGEST_LINE + 1)
        except OSError as error:
            raise self.fail(f"cannot be read ({error.strerror or error})") from error
        if not line:
            raise self.fail("the file ends before its last line; it was cut off")
        if len(line) > _LONGEST_LINE:
            raise self.fail("longer than any line that mempal writes")
        return line

    def _parse(self, line: bytes) -> dict[str, Any]:
        try:
            document = json.loads(line.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            what = "it was cut off" if not line.endswith(b"\n") else "not a JSON object"
            raise self.fail(f"{what} ({type(error).__name__})") from error
        if not isinstance(document, dict):
            raise self.fail("not a JSON object")
        return document

    def _read_header(self) -> ArchiveHeader:
        line = self._next_line()
        document = self._parse(line)
        version = document.get("mempal_export")
        if type(version) is not int:
            raise self.fail("the file does not begin as an export of mempal does")
        if version != FORMAT:
            raise SourceError(
                f"the export has format {version}, this mempal reads {FORMAT}",
                hint="install a newer mempal",
            )
        try:
            header = decode_header(Fields(document))
        except (ValueError, MempalError) as error:
            raise self.fail(str(error)) from error
        self._digest.update(line)
        return header

    def _check_end(self, document: Mapping[str, Any], digest: str, counts: Counter[str]) -> None:
        if document.get("sha256") != digest or document.get("counts") != dict(counts):
            raise self.fail("the lines before are not those that were written")
        if self._file.read(1):
            raise self.fail("something follows the last line")
        self.digest = digest


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
