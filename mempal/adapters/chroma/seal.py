"""Sealing the files of Chroma's graph, so that only what Chroma wrote is ever loaded.

Chroma loads its graph files unchecked: bytes that are not its own end the whole process with a
segmentation fault (seen with 1.5.9), which no handler can catch. After each commit size, time and
checksum of each file go into the record; before a file is loaded they are compared. A copy that
kept the content but not the times is recognised by its checksum.

Chroma's own ``chroma.sqlite3`` changes when it is merely opened; SQLite notices most of its damage.
A graph that was never written out (less than 1000 vectors) has files too, but no metadata: they are
not loaded but written anew each time, so there is nothing to seal.
"""

import os
import zlib
from collections.abc import Mapping
from pathlib import Path

from mempal.adapters.chroma.record import Seal
from mempal.core.files import open_regular

DATABASE = "chroma.sqlite3"
_SQLITE_MAGIC = b"SQLite format 3\0"
_METADATA = "index_metadata.pickle"
_BLOCK_BYTES = 1 << 20


def seal_files(data: Path, former: Mapping[str, Seal]) -> dict[str, Seal]:
    """Flush the graph's files to disk and return what they are now.

    Args:
        data: Chroma's folder.
        former: Seals whose checksums still hold where size and time do.

    Raises:
        OSError: A file cannot be read.
    """
    seals = {}
    for name in sorted(_find_graph_files(data)):
        path = data / name
        status = path.stat()
        seal = former.get(name)
        if seal is None or (seal.size, seal.mtime_ns) != (status.st_size, status.st_mtime_ns):
            seal = Seal(status.st_size, status.st_mtime_ns, _flush_and_sum(path))
        seals[name] = seal
    return seals


def find_damage(data: Path, seals: Mapping[str, Seal], *, thorough: bool = False) -> str | None:
    """Return what is wrong with Chroma's folder, in words; ``None`` when it is as it was sealed.

    Args:
        data: Chroma's folder.
        seals: What its files should be.
        thorough: Also read files whose size and time are right.
    """
    database = data / DATABASE
    path = database
    try:
        with open_regular(database) as file:
            if file.read(len(_SQLITE_MAGIC)) != _SQLITE_MAGIC:
                return f"{database} is not a database"
        if unknown := _find_graph_files(data) - seals.keys():
            return f"{data / min(unknown)} is not what mempal wrote last"
        for name, seal in seals.items():
            path = data / name
            status = path.stat()
            if status.st_size != seal.size:
                return f"{path} has {status.st_size} bytes instead of {seal.size}"
            known = status.st_mtime_ns == seal.mtime_ns and not thorough
            if not known and _sum(path) != seal.checksum:
                return f"{path} is not what was written"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror or error})"
    return None


def _find_graph_files(data: Path) -> set[str]:
    return {
        path.relative_to(data).as_posix()
        for metadata in data.glob(f"*/{_METADATA}")
        for path in metadata.parent.iterdir()
    }


def _sum(path: Path) -> int:
    checksum = 0
    with open_regular(path) as file:
        while block := file.read(_BLOCK_BYTES):
            checksum = zlib.crc32(block, checksum)
    return checksum


def _flush_and_sum(path: Path) -> int:
    with path.open("r+b") as file:
        os.fsync(file.fileno())
    return _sum(path)
