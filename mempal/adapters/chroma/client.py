"""One open collection of ChromaDB, embedded or on a server: the only module that imports chromadb.

The public client classes keep one database handle for each folder in a cache that all clients of a
process share, so closing one need not reopen anything, and a stale handle loses vectors when it
writes (seen with 1.5.9). Here every collection has a system of its own, and closing it closes it.

Settings come from arguments alone. Chroma would otherwise also read them from the environment and
from a file ``.env`` in the working directory, which may be a repository that somebody else wrote:
some of them name Python classes to load, others a place to send telemetry to. Chroma's log lines
and warnings are kept from the terminal; what went wrong arrives as an error.
"""

import logging
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mempal.core.errors import BusyError, DamagedError, MempalError
from mempal.core.model import IndexEntry, Scope
from mempal.core.vector import HEADER_BYTES

if TYPE_CHECKING:
    import numpy as np
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection as ChromaCollection
    from chromadb.config import System
    from chromadb.types import Where
    from numpy.typing import NDArray

REINDEX = "`mempal reindex` rebuilds it from the stored vectors"
# Records sent at once, and how long a server may take to answer. Chroma's own limit is larger.
_BATCH = 1000
_SERVER_SECONDS = 60.0
_GENERATION = "generation"
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Match:
    """One record that a query found.

    Attributes:
        similarity: Cosine, in [-1, 1].
        wing: Escaped; compare with :func:`escape`.
        room: Likewise.
    """

    key: int
    similarity: float
    wing: str
    room: str
    current: bool


def escape(name: str) -> str:
    """Return a wing or room as Chroma can hold it; different names stay different.

    Text after a NUL would be lost, and a lone surrogate is refused.
    """
    return name.encode("unicode_escape").decode("ascii")


class Collection:
    """An open collection; made by :func:`open_collection`."""

    def __init__(
        self, place: str, system: "System", api: "ServerAPI", collection: "ChromaCollection"
    ) -> None:
        self._place = place
        self._system = system
        self._collection = collection
        self._api = api

    @property
    def generation(self) -> int:
        """Number of the last write that ended, as the collection has it; 0 before the first."""
        value = (self._collection.metadata or {}).get(_GENERATION, 0)
        return value if isinstance(value, int) else 0

    def mark(self, generation: int) -> None:
        """Record in the collection that a write ended."""
        with translate_errors(self._place):
            self._collection.modify(metadata={_GENERATION: generation})

    def upsert(self, entries: Sequence[IndexEntry]) -> None:
        """Add or replace records; no key twice, and all with a vector."""
        for batch in self._split(entries):
            vectors = _unpack([entry.vector or b"" for entry in batch])
            with translate_errors(self._place):
                self._collection.upsert(
                    ids=[str(entry.key) for entry in batch],
                    embeddings=vectors,
                    metadatas=[
                        {
                            "wing": escape(entry.wing),
                            "room": escape(entry.room),
                            "current": entry.current,
                        }
                        for entry in batch
                    ],
                )

    def remove(self, keys: Sequence[int]) -> None:
        """Remove records; those that are not there are passed over."""
        for batch in self._split(keys):
            with translate_errors(self._place):
                self._collection.delete(ids=[str(key) for key in batch])

    def query(self, vector: bytes, limit: int, scope: Scope | None = None) -> list[Match]:
        """Return the records nearest to a packed vector.

        Args:
            vector: Not without direction.
            limit: At least 1.
            scope: What Chroma is to filter by, which is slow; ``None``: everything.
        """
        with translate_errors(self._place):
            answer = self._collection.query(
                query_embeddings=_unpack([vector]),
                n_results=limit,
                where=None if scope is None else _filter(scope),
                include=["distances", "metadatas"],
            )
        distances, metadatas = answer["distances"], answer["metadatas"]
        if not distances or not metadatas:
            return []
        return [
            Match(
                key=int(key),
                similarity=max(-1.0, min(1.0, 1.0 - float(distance))),
                wing=str(metadata.get("wing")),
                room=str(metadata.get("room")),
                current=metadata.get("current") is True,
            )
            for key, distance, metadata in zip(
                answer["ids"][0], distances[0], metadatas[0], strict=True
            )
        ]

    def search_sample(self, start: int, size: int) -> tuple[int, int]:
        """Search some records' own vectors; return how many were tried and how many found.

        Args:
            start: How many records to pass over.
            size: How many to take.
        """
        with translate_errors(self._place):
            sample = self._collection.get(limit=size, offset=start, include=["embeddings"])
            if not sample["ids"]:
                return 0, 0
            answer = self._collection.query(
                query_embeddings=sample["embeddings"], n_results=10, include=["distances"]
            )
        found = 0
        distances = answer["distances"] or []
        for key, near, far in zip(sample["ids"], answer["ids"], distances, strict=True):
            # Equal vectors may fill the list before this one; then the last is as near as this.
            found += key in near or (len(far) > 0 and far[-1] < 1e-5)  # noqa: PLR2004 - rounding
        return len(sample["ids"]), found

    def count(self) -> int:
        """Return how many records the collection claims to hold."""
        with translate_errors(self._place):
            return self._collection.count()

    def drop(self) -> None:
        """Delete the collection and close it."""
        try:
            with translate_errors(self._place):
                self._api.delete_collection(self._collection.name)
        finally:
            self.close()

    def close(self) -> None:
        """Release files, sockets and threads."""
        _stop(self._system, self._api)

    def _split(self, items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
        with translate_errors(self._place):
            size = min(_BATCH, self._api.get_max_batch_size())
        for start in range(0, len(items), size):
            yield items[start : start + size]


def open_collection(place: Path | str, name: str, *, create: bool) -> Collection:
    """Open a collection.

    An embedded one is wholly loaded when this returns: its first read replays Chroma's log and may
    write files, later ones do not.

    Args:
        place: Folder of an embedded database, or URL of a server.
        name: Name of the collection.
        create: Whether it is a new one.

    Raises:
        BusyError: Another process holds the database.
        DamagedError: It cannot be opened, there is none of this name, or the server does not
            answer.
    """
    _import_chromadb()
    from chromadb.api import ServerAPI
    from chromadb.api.models.Collection import Collection as ChromaCollection
    from chromadb.config import Settings, System

    embedded = isinstance(place, Path)
    chosen: dict[str, Any] = (
        {"is_persistent": True, "persist_directory": str(place)}
        if embedded
        else {
            "chroma_api_impl": "chromadb.api.fastapi.FastAPI",
            "chroma_server_host": place,
            "chroma_server_http_port": 8000,  # demanded, and unused where the host is a URL
        }
    )
    with translate_errors(str(place)):
        # Unlike the constructor, this reads nothing but its arguments and the defaults.
        settings = Settings.model_construct(anonymized_telemetry=False, **chosen)
        system, api = System(settings), None
        try:
            api = system.instance(ServerAPI)  # type: ignore[type-abstract] # it finds the class
            system.start()
            _limit_time(api)
            if create:
                model = api.create_collection(name, configuration={"hnsw": {"space": "cosine"}})
            else:
                model = api.get_collection(name)
            collection = ChromaCollection(client=api, model=model, embedding_function=None)
            if embedded:
                collection.get(limit=1, include=["embeddings"])
        except BaseException:
            _stop(system, api)
            raise
    return Collection(str(place), system, api, collection)


def _import_chromadb() -> None:
    """Import chromadb while settings read neither the environment nor ``.env``.

    Importing it makes a settings object, so a broken ``.env`` in the working directory would keep
    it from being imported at all.
    """
    if "chromadb" in sys.modules:
        return
    from pydantic import BaseModel
    from pydantic_settings import BaseSettings

    def take_arguments(settings: BaseSettings, **values: Any) -> None:  # noqa: ANN401 - theirs
        BaseModel.__init__(settings, **values)

    former = BaseSettings.__init__
    BaseSettings.__init__ = take_arguments  # type: ignore[method-assign, assignment]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import chromadb
    finally:
        BaseSettings.__init__ = former  # type: ignore[method-assign]
    logger = logging.getLogger(chromadb.__name__)
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


@contextmanager
def translate_errors(place: str) -> Iterator[None]:
    """Raise mempal's errors for Chroma's, and keep its warnings quiet.

    Raises:
        BusyError: Another process holds the database.
        DamagedError: Anything else; Chroma raises errors of many unrelated kinds.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except MempalError:
            raise
        except Exception as error:
            raise _explain(place, error) from error
        except BaseException as error:
            # A failed assertion in Chroma's Rust code, which is not an Exception.
            if type(error).__name__ != "PanicException":
                raise
            raise DamagedError(f"Chroma failed on {place} ({error})", hint=REINDEX) from error


def _explain(place: str, error: Exception) -> MempalError:
    import httpx

    text = str(error).strip() or type(error).__name__
    if isinstance(error, httpx.TransportError | httpx.InvalidURL):
        return DamagedError(
            f"the Chroma server at {place} does not answer ({text})",
            hint="start it, or clear `index.chroma_url` and run `mempal reindex`",
        )
    if "database is locked" in text or "code: 5)" in text:
        return BusyError(
            f"another process holds the Chroma database in {place}",
            hint="try again when it has finished",
        )
    return DamagedError(f"Chroma cannot use {place} ({text})", hint=REINDEX)


def _stop(system: "System", api: "ServerAPI | None") -> None:
    # One that did not start, or has stopped, has no bindings to let go of.
    with suppress(AttributeError):
        system.stop()
    # Stopping leaves the connections of Chroma's HTTP client open.
    if session := getattr(api, "_session", None):
        session.close()


def _limit_time(api: "ServerAPI") -> None:
    """Keep a server that accepts a request and never answers it from holding the caller forever.

    Chroma's HTTP client has no setting for that.
    """
    if session := getattr(api, "_session", None):
        session.timeout = _SERVER_SECONDS


def _unpack(vectors: Sequence[bytes]) -> "NDArray[np.float32]":
    """Return packed vectors of one length as rows of numbers."""
    import numpy as np

    packed = np.frombuffer(b"".join(vectors), np.uint8).reshape(len(vectors), -1)
    scales = np.ascontiguousarray(packed[:, :HEADER_BYTES]).view("<f4")
    numbers: NDArray[np.float32] = packed[:, HEADER_BYTES:].view(np.int8) * scales
    return numbers


def _filter(scope: Scope) -> "Where | None":
    conditions: list[Any] = []
    if scope.wing is not None:
        conditions.append({"wing": escape(scope.wing)})
    if scope.room is not None:
        conditions.append({"room": escape(scope.room)})
    if scope.current_only:
        conditions.append({"current": True})
    if len(conditions) > 1:
        return {"$and": conditions}
    return conditions[0] if conditions else None
