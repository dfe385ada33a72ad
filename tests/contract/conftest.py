"""The store on SQLite and its double, for every suite that asks the port ``Store``."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.ports import Store
from mempal.testing import MemoryStore


@pytest.fixture(params=["sqlite", "memory"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    opened: list[Store] = []

    def open_one() -> Store:
        path = tmp_path / f"palace-{len(opened)}.db"
        made = SqliteStore(path, writable=True) if request.param == "sqlite" else MemoryStore()
        opened.append(made)
        return made

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(new_store: Callable[[], Store]) -> Store:
    return new_store()
