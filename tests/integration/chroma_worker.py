"""One process of several that share a Chroma index: does what standard input says, line by line.

Each line is a JSON object whose ``do`` names a function; the answer is one JSON line.
"""

import json
import random
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from mempal.adapters.chroma import ChromaIndex
from mempal.adapters.lock import FileLock
from mempal.core.model import IndexEntry, Scope
from mempal.core.vector import pack

DIMENSIONS = 16
EVERYTHING = Scope(history=True)


def make_vector(key: int) -> bytes:
    """Return the vector of a key: the same in every process, and like no other."""
    source = random.Random(key)
    return pack([source.gauss(0, 1) for _ in range(DIMENSIONS)])


def make_entries(keys: Iterable[int]) -> list[IndexEntry]:
    return [IndexEntry(key, make_vector(key), "wing", "room") for key in keys]


class Worker:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._index = self._open()
        self._lock = FileLock(folder.parent / "writer.lock")

    def _open(self) -> ChromaIndex:
        return ChromaIndex(self._folder, "test", DIMENSIONS)

    def find(self, keys: list[int]) -> list[int]:
        """Return those keys whose vector, searched for, finds them."""
        return [key for key in keys if self._finds(self._index, key)]

    def find_anew(self, rounds: int) -> int:
        """Open the index, search and close it, over and over, as cold commands do."""
        done = 0
        for _ in range(rounds):
            with closing(self._open()) as index:
                done += self._finds(index, 1)
        return done

    def search_all(self) -> list[int]:
        """Search every stored vector for itself; return how many were tried and how many found."""
        with closing(self._open()) as index:
            return list(index._view(index._read()).search_sample(0, 1_000_000))

    def _finds(self, index: ChromaIndex, key: int) -> bool:
        found = index.nearest(make_vector(key), 10, EVERYTHING)
        return key in [neighbor.key for neighbor in found]

    def position(self) -> int:
        return self._index.position()

    def write(self, first: int, last: int, batch: int) -> int:
        """Add keys in commits of ``batch``, under the palace's lock."""
        position = 0
        for start in range(first, last + 1, batch):
            with self._lock.hold():
                position = self._index.position() + 1
                self._index.apply(make_entries(range(start, min(start + batch, last + 1))))
                self._index.commit(position)
        return position

    def remove(self, keys: list[int]) -> int:
        with self._lock.hold():
            position = self._index.position() + 1
            self._index.apply(IndexEntry(key, None, "wing", "room") for key in keys)
            self._index.commit(position)
        return position

    def rebuild(self, first: int, last: int, position: int) -> int:
        with self._lock.hold():
            self._index.reset()
            self._index.apply(make_entries(range(first, last + 1)))
            self._index.commit(position)
        return position

    def problems(self) -> list[str]:
        return self._index.problems()


def main() -> None:
    worker = Worker(Path(sys.argv[1]))
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.write(json.dumps(getattr(worker, order.pop("do"))(**order)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
