"""The record beside Chroma's data: which data counts, how far it goes, what its files are.

One small JSON file, replaced whole. It names the folder (or the server's collection) that is the
index, so that a rebuild can be made beside it and take its place in one step. Everything before the
record is rewritten counts as not done, and is done again.

``generation`` moves before the first write to Chroma and ``committed`` follows it after the last
one; between the two, or after a crash between the two, they differ.
"""

import json
import os
import re
import secrets
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from mempal.core.errors import DamagedError
from mempal.core.files import read_linked

NAME = "record.json"
VERSION = 1
_LARGEST = 10_000_000  # bytes
_TOKEN = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Seal:
    """What a file was when it was last written.

    Attributes:
        size: Bytes.
        mtime_ns: Modification time in nanoseconds.
        checksum: CRC-32 of its content.
    """

    size: int
    mtime_ns: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Record:
    """State of one index.

    Attributes:
        identity: Identity of the embedder.
        url: Server; empty for an embedded database.
        token: Names the data: a folder beside this record, a part of the collection's name.
        position: Store revision the data holds everything up to.
        generation: Number of the last write that began.
        committed: Number of the last write that ended.
        count: Drawers the data held then.
        seals: The files of the graph, by path relative to the data folder; none on a server.
        lineage: Names the store whose drawers the data hold.
    """

    identity: str
    dimensions: int
    url: str
    token: str
    position: int = 0
    generation: int = 0
    committed: int = 0
    count: int = 0
    seals: dict[str, Seal] = field(default_factory=dict)
    lineage: str = ""

    @property
    def collection(self) -> str:
        """Name of Chroma's collection."""
        digest = sha256(self.identity.encode("utf-8", "surrogatepass")).hexdigest()
        return f"mempal-{digest[:16]}-{self.token}"


class UnusableError(Exception):
    """The record cannot serve this index; the message says why.

    Attributes:
        damaged: Whether it is not what its writer left, as opposed to missing or made for another
            embedder, server or store.
        record: The record, when it is sound but not for this index.
        foreign: Whether it was made for another store. Nothing is wrong then: it is replaced like a
            record that is missing is made.
    """

    def __init__(
        self,
        reason: str,
        *,
        damaged: bool = True,
        record: Record | None = None,
        foreign: bool = False,
    ) -> None:
        super().__init__(reason)
        self.damaged = damaged and not foreign
        self.record = record
        self.foreign = foreign


def make_token() -> str:
    """Return a name for new data."""
    return secrets.token_hex(8)


def is_token(name: str) -> bool:
    """Return whether a name is one that :func:`make_token` makes."""
    return _TOKEN.fullmatch(name) is not None


def read_record(folder: Path, identity: str, dimensions: int, url: str, lineage: str) -> Record:
    """Read the record of an index for one embedder, place and store.

    Raises:
        UnusableError: There is none, or none that can serve.
    """
    path = folder / NAME
    try:
        document = json.loads(read_linked(path, _LARGEST))
    except FileNotFoundError as error:
        raise UnusableError(f"{path} does not exist", damaged=False) from error
    except (OSError, ValueError, RecursionError) as error:
        raise UnusableError(f"{path} cannot be read ({error})") from error
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise UnusableError(f"{path} is no record of this version of mempal")
    try:
        record = _parse(document)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UnusableError(f"{path} is damaged ({error!r})") from error
    if (record.identity, record.dimensions) != (identity, dimensions):
        raise UnusableError(f"{path} was made for another embedder", damaged=False, record=record)
    if record.url != url:
        raise UnusableError(f"{path} was made for another place", damaged=False, record=record)
    if record.lineage != lineage:
        raise UnusableError(f"{path} was made for another palace", record=record, foreign=True)
    return record


def _parse(document: dict[str, Any]) -> Record:
    token = document["token"]
    if not is_token(token):
        raise ValueError("token")
    numbers = {
        name: int(document[name])
        for name in ("dimensions", "position", "generation", "committed", "count")
    }
    return Record(
        identity=str(document["identity"]),
        url=str(document["url"]),
        token=token,
        seals={
            str(name): Seal(int(seal["size"]), int(seal["mtime_ns"]), int(seal["checksum"]))
            for name, seal in document["seals"].items()
        },
        lineage=str(document.get("lineage", "")),
        **numbers,
    )


def write_record(folder: Path, record: Record) -> None:
    """Replace the record in one step.

    Raises:
        DamagedError: It cannot be written.
    """
    path = folder / NAME
    fresh = folder / f"{NAME}.new"
    text = json.dumps({"version": VERSION, **asdict(record)}, indent=1)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_folder(folder)
    except OSError as error:
        raise DamagedError(
            f"{path} cannot be written ({error.strerror})",
            hint="check it and its folder, then run `mempal reindex`",
        ) from error


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power cut, where a folder can be opened at all."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
