"""The file of an exact index: one table of packed vectors, mapped for reading, replaced whole.

::

    8 bytes   magic
    3 u32     format version, bytes of the header text, its CRC-32
    header    JSON: identity, dimensions, lineage, count, position, scopes, CRC-32 of each column
    columns   keys i64 ascending · scopes u32 · scales f32 · codes i8 [dimensions]

Everything is little endian and every column begins at a multiple of 64 bytes. A scope is one (wing,
room, current) triple; a row names its by number. Opening verifies the header and the three small
columns, 16 bytes a row; the codes have a checksum of their own, which only a check reads.
"""

import json
import mmap
import os
import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from mempal.core.files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

VERSION = 1
_MAGIC = b"mempalXI"
_PREFIX = struct.Struct("<8sIII")
_ALIGNMENT = 64
_SMALL_COLUMNS = (("keys", 8), ("scopes", 4), ("scales", 4))


class ScopeName(NamedTuple):
    """Where a drawer belongs."""

    wing: str
    room: str
    current: bool


class UnusableError(Exception):
    """The file cannot serve as this index; the message says why.

    Attributes:
        damaged: Whether the file is not what its writer left, as opposed to missing or made for
            another embedder or store.
        foreign: Whether it was made for another store. Nothing is wrong then: it is replaced like a
            file that is missing is made.
    """

    def __init__(self, reason: str, *, damaged: bool = True, foreign: bool = False) -> None:
        super().__init__(reason)
        self.damaged = damaged and not foreign
        self.foreign = foreign


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Columns of packed vectors, one row a drawer.

    Attributes:
        keys: Keys of the drawers, ascending, without repeats; shape (n,).
        scopes: Number of each row's scope; shape (n,).
        scales: Scale of each packed vector; shape (n,).
        codes: Codes of each packed vector; shape (n, dimensions).
    """

    keys: "NDArray[np.int64]"
    scopes: "NDArray[np.uint32]"
    scales: "NDArray[np.float32]"
    codes: "NDArray[np.int8]"


@dataclass(frozen=True, slots=True)
class Layout:
    """What the header says, and where the columns lie.

    Attributes:
        position: Store revision the table holds everything up to.
        names: Scope of each scope number.
        checksums: CRC-32 of each column.
        offsets: First byte of each column, and of what would follow the last.
    """

    count: int
    dimensions: int
    position: int
    names: tuple[ScopeName, ...]
    checksums: dict[str, int]
    offsets: dict[str, int]


class Table:
    """An opened, verified file.

    Args:
        layout: What its header says.
        content: The whole file, mapped.
    """

    def __init__(self, layout: Layout, content: mmap.mmap) -> None:
        self.layout = layout
        self._content = content

    @cached_property
    def rows(self) -> Rows:
        """The columns, read from the mapped file as they are touched."""
        import numpy as np

        count, offsets = self.layout.count, self.layout.offsets

        codes = np.frombuffer(
            self._content, np.int8, count * self.layout.dimensions, offsets["codes"]
        )
        return Rows(
            np.frombuffer(self._content, "<i8", count, offsets["keys"]),
            np.frombuffer(self._content, "<u4", count, offsets["scopes"]),
            np.frombuffer(self._content, "<f4", count, offsets["scales"]),
            codes.reshape(count, self.layout.dimensions),
        )

    def verify_codes(self) -> bool:
        """Return whether the codes are what was written; reads the whole file."""
        return _checksum(self._content, self.layout, "codes") == self.layout.checksums["codes"]

    def forget_pages(self) -> None:
        """Give back the memory of pages read so far; they are read again when touched."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._content.madvise(mmap.MADV_DONTNEED)


def open_table(path: Path, identity: str, dimensions: int, lineage: str) -> Table:
    """Map a file that holds the table of one embedder and one store.

    Raises:
        UnusableError: There is no file, or it is none of ours, damaged, of another format or for
            another embedder or store.
    """
    try:
        with open_regular(Path(os.path.realpath(path))) as file:
            size = os.fstat(file.fileno()).st_size
            if size < _PREFIX.size:
                raise UnusableError(f"{path} is cut off ({size} bytes)")
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise UnusableError(f"{path} does not exist", damaged=False) from error
    except (OSError, ValueError) as error:
        raise UnusableError(f"{path} cannot be read ({error})") from error
    document, start = _read_header(path, content)
    if (document.get("identity"), document.get("dimensions")) != (identity, dimensions):
        raise UnusableError(f"{path} was made for another embedder", damaged=False)
    if document.get("lineage") != lineage:
        raise UnusableError(f"{path} was made for another palace", foreign=True)
    try:
        layout = _place(document, dimensions, start)
    except (LookupError, TypeError, ValueError) as error:
        raise UnusableError(f"{path} has a header that makes no sense") from error
    if len(content) != layout.offsets["end"]:
        raise UnusableError(f"{path} is cut off or longer than it was written")
    for name, _ in _SMALL_COLUMNS:
        if _checksum(content, layout, name) != layout.checksums[name]:
            raise UnusableError(f"{path} is damaged: its {name} are not what was written")
    return Table(layout, content)


def _read_header(path: Path, content: mmap.mmap) -> tuple[dict[str, Any], int]:
    magic, version, length, checksum = _PREFIX.unpack_from(content)
    if magic != _MAGIC:
        raise UnusableError(f"{path} is not an index of mempal")
    if version != VERSION:
        raise UnusableError(f"{path} has format {version}, this mempal reads {VERSION}")
    end = _PREFIX.size + length
    text = content[_PREFIX.size : end]
    if len(text) != length or zlib.crc32(text) != checksum:
        raise UnusableError(f"{path} is damaged: its header is not what was written")
    document = json.loads(text)
    return (document if isinstance(document, dict) else {}), end


def _place(document: dict[str, Any], dimensions: int, header_end: int) -> Layout:
    count = int(document["count"])
    names = tuple(
        ScopeName(str(wing), str(room), bool(current)) for wing, room, current in document["scopes"]
    )
    checksums = {name: int(value, 16) for name, value in document["checksums"].items()}
    offsets, start = {}, header_end
    for name, width in (*_SMALL_COLUMNS, ("codes", dimensions)):
        offsets[name] = start = _align(start)
        start += width * count
    offsets["end"] = start
    return Layout(count, dimensions, int(document["position"]), names, checksums, offsets)


def _align(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


def _checksum(content: mmap.mmap, layout: Layout, name: str) -> int:
    widths = {**dict(_SMALL_COLUMNS), "codes": layout.dimensions}
    start = layout.offsets[name]
    with memoryview(content) as view, view[start : start + widths[name] * layout.count] as column:
        return zlib.crc32(column)


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a new file is to hold.

    Attributes:
        blocks: The codes, in blocks of rows, in the order of the keys.
    """

    identity: str
    dimensions: int
    lineage: str
    position: int
    names: tuple[ScopeName, ...]
    keys: "NDArray[np.int64]"
    scopes: "NDArray[np.uint32]"
    scales: "NDArray[np.float32]"
    blocks: "Iterable[NDArray[np.int8]]"


def write_table(path: Path, content: Content) -> None:
    """Replace a file in one step; whoever has the former one mapped keeps it.

    One process at a time may write. A crash leaves the former file, and one beside it that the next
    write removes.

    Raises:
        OSError: The file cannot be written; the former one is untouched.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(fresh, flags, 0o600), "wb") as file:
            _write(file, content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _write(file: BinaryIO, content: Content) -> None:
    # The header comes first in the file and last in time: it holds the checksums. They have a fixed
    # width, so that its length, and with it the place of each column, is known beforehand.
    checksums = dict.fromkeys(("keys", "scopes", "scales", "codes"), 0)
    length = len(_format_header(content, checksums))
    document = json.loads(_format_header(content, checksums))
    offsets = _place(document, content.dimensions, _PREFIX.size + length).offsets
    columns = (
        ("keys", content.keys.astype("<i8", copy=False)),
        ("scopes", content.scopes.astype("<u4", copy=False)),
        ("scales", content.scales.astype("<f4", copy=False)),
    )
    for name, column in columns:
        file.seek(offsets[name])
        data = column.tobytes()
        checksums[name] = zlib.crc32(data)
        file.write(data)
    file.seek(offsets["codes"])
    for block in content.blocks:
        data = block.tobytes()
        checksums["codes"] = zlib.crc32(data, checksums["codes"])
        file.write(data)
    file.truncate(offsets["end"])
    header = _format_header(content, checksums)
    file.seek(0)
    file.write(_PREFIX.pack(_MAGIC, VERSION, len(header), zlib.crc32(header)) + header)


def _format_header(content: Content, checksums: dict[str, int]) -> bytes:
    document = {
        "identity": content.identity,
        "dimensions": content.dimensions,
        "lineage": content.lineage,
        "count": len(content.keys),
        "position": content.position,
        "scopes": content.names,
        "checksums": {name: f"{value:08x}" for name, value in checksums.items()},
    }
    return json.dumps(document).encode("ascii")


def _sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` survive a power cut, where a folder can be opened at all."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
