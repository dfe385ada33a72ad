"""Several processes share one embedded Chroma index and lose nothing.

Chroma itself gives no such promise: used from two processes without care it forgets vectors, raises
nothing and goes on counting them.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.chroma

WORKER = Path(__file__).with_name("chroma_worker.py")


class Process:
    """A worker in a process of its own.

    ``start`` gives it something to do, ``wait`` takes the answer, ``ask`` does both.
    """

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", WORKER, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self, do: str, **arguments: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()

    def wait(self) -> Any:
        assert self._process.stdout
        assert self._process.stderr
        line = self._process.stdout.readline()
        assert line, self._process.stderr.read()
        return json.loads(line)

    def ask(self, do: str, **arguments: Any) -> Any:
        self.start(do, **arguments)
        return self.wait()

    def stop(self) -> None:
        _, noise = self._process.communicate(timeout=60)
        assert (self._process.returncode, noise) == (0, "")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


Start = Callable[[], Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts another process on the same index."""
    processes: list[Process] = []

    def start() -> Process:
        processes.append(Process(tmp_path / "chroma"))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()


def test_a_long_lived_reader_sees_what_another_process_writes(start: Start):
    reader, writer = start(), start()
    assert reader.ask("find", keys=[1]) == []
    writer.ask("write", first=1, last=300, batch=300)
    assert reader.ask("find", keys=[1, 150, 300, 301]) == [1, 150, 300]

    # Past the thousand after which Chroma writes its graph, in two commits.
    writer.ask("write", first=301, last=1200, batch=450)
    assert reader.ask("position") == 3
    assert reader.ask("find", keys=[1, 300, 301, 750, 751, 1200]) == [1, 300, 301, 750, 751, 1200]

    writer.ask("remove", keys=[750])
    assert reader.ask("find", keys=[300, 750, 751]) == [300, 751]

    # Into a new folder, which takes the place of the one the reader has open.
    writer.ask("rebuild", first=1000, last=1500, position=5)
    assert reader.ask("position") == 5
    assert reader.ask("find", keys=[1, 999, 1000, 1500]) == [1000, 1500]

    start().ask("write", first=1501, last=1600, batch=100)
    assert reader.ask("find", keys=[1000, 1501, 1600]) == [1000, 1501, 1600]
    assert reader.ask("problems") == []
    reader.stop()
    writer.stop()


def test_long_lived_writers_taking_turns_lose_nothing(start: Start):
    pair = start(), start()
    for number in range(6):
        first = 300 * number + 1
        assert pair[number % 2].ask("write", first=first, last=first + 299, batch=300) == number + 1

    assert start().ask("search_all") == [1800, 1800]
    sample = list(range(1, 1801, 37))
    for process in pair:
        assert process.ask("find", keys=sample) == sample
        assert process.ask("problems") == []


def test_writers_at_once_and_readers_that_come_and_go_lose_nothing(start: Start):
    writers, readers = (start(), start()), (start(), start())
    writers[0].ask("write", first=1, last=900, batch=900)

    writers[0].start("write", first=901, last=1900, batch=200)
    writers[1].start("write", first=1901, last=2900, batch=200)
    for reader in readers:
        reader.start("find_anew", rounds=10)

    assert [reader.wait() for reader in readers] == [10, 10]
    assert max(writer.wait() for writer in writers) == 11
    fresh = start()
    assert fresh.ask("search_all") == [2900, 2900]
    assert fresh.ask("problems") == []


def test_a_killed_writer_blocks_nobody_and_leaves_nothing_half_done(start: Start):
    writer, reader = start(), start()
    writer.ask("write", first=1, last=900, batch=900)
    assert reader.ask("find", keys=[1, 900]) == [1, 900]

    writer.start("write", first=901, last=9000, batch=300)
    looks = (reader.ask("position") for _ in range(100_000))
    assert next((position for position in looks if position >= 3), None)
    writer.kill()

    # A writer begins where the record says it must: at the start when the files are in doubt.
    again = start()
    again.ask("write", first=1 if again.ask("position") == 0 else 901, last=1800, batch=1800)
    tried, found = again.ask("search_all")
    assert tried == found >= 1800
    sample = list(range(1, 1801, 37))
    for process in (again, reader):
        assert process.ask("find", keys=sample) == sample
        assert process.ask("problems") == []
