"""Vector indexes for tests: every kind behind one function, and entries to put in."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mempal.core.model import IndexEntry
from mempal.core.ports import VectorIndex
from mempal.core.vector import pack
from mempal.testing import MemoryIndex

DIMENSIONS = 4
IDENTITY = "test:A"


@dataclass
class Shelf:
    """Opens indexes that lie in one place.

    Each call gives another instance, as another process would have; ``close`` closes them all.
    """

    make: Callable[[str, int], VectorIndex]

    def __post_init__(self) -> None:
        self._opened: list[VectorIndex] = []

    def open(self, identity: str = IDENTITY, dimensions: int = DIMENSIONS) -> VectorIndex:
        index = self.make(identity, dimensions)
        self._opened.append(index)
        return index

    def close(self) -> None:
        for index in self._opened:
            index.close()


def make_memory_shelf(_: Path) -> Shelf:
    disk = []
    return Shelf(lambda identity, dimensions: MemoryIndex(identity, dimensions, disk))


def make_exact_shelf(folder: Path) -> Shelf:
    from mempal.adapters.exact import ExactIndex

    path = folder / "index" / "exact.bin"
    return Shelf(lambda identity, dimensions: ExactIndex(path, identity, dimensions))


def make_chroma_shelf(folder: Path, url: str | None = None) -> Shelf:
    from mempal.adapters.chroma import ChromaIndex

    path = folder / "index" / "chroma"
    return Shelf(lambda identity, dimensions: ChromaIndex(path, identity, dimensions, url=url))


SHELVES = [
    pytest.param(make_memory_shelf, id="memory"),
    pytest.param(make_exact_shelf, id="exact"),
    pytest.param(make_chroma_shelf, id="chroma", marks=pytest.mark.chroma),
]


def vector(*values: float) -> bytes:
    """Pack numbers, with zeros up to the usual dimensions."""
    return pack([*values, *[0.0] * (DIMENSIONS - len(values))])


def entry(
    key: int,
    packed: bytes | None,
    wing: str = "wing",
    room: str = "room",
    *,
    current: bool = True,
) -> IndexEntry:
    return IndexEntry(key, packed, wing, room, current)


def fill(index: VectorIndex, *entries: IndexEntry, position: int = 1) -> None:
    index.apply(entries)
    index.commit(position)
