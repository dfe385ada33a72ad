"""The exact index: its file, whatever becomes of it, and the arithmetic."""

import json
import os
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from mempal.adapters.exact import ExactIndex
from mempal.adapters.exact.delta import Delta
from mempal.core.errors import BusyError, DamagedError
from mempal.core.model import IndexEntry, Scope
from mempal.core.vector import pack, similarity
from mempal.testing import MemoryIndex
from tests.indexes import DIMENSIONS, IDENTITY, entry, fill, vector

EAST = vector(1)
EVERYTHING = Scope(history=True)
ENTRIES = [entry(key, vector(1, key), f"wing {key % 3}") for key in range(1, 40)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file with the index of ``ENTRIES`` at position 3."""
    path = tmp_path / "index" / "exact.bin"
    index = open_index(path)
    fill(index, *ENTRIES, position=3)
    index.close()
    return path


def open_index(path: Path, identity: str = IDENTITY) -> ExactIndex:
    return ExactIndex(path, identity, DIMENSIONS)


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x55
    path.write_bytes(content)


def read_layout(path: Path) -> dict:
    content = path.read_bytes()
    (length,) = struct.unpack_from("<I", content, 12)
    return json.loads(content[20 : 20 + length])


def place_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "short": lambda path: path.write_bytes(path.read_bytes()[:11]),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "one byte less": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "one byte more": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "garbage": lambda path: path.write_bytes(bytes(range(256)) * 8),
    "other magic": lambda path: flip(path, 0),
    "other version": lambda path: flip(path, 8),
    "header length": lambda path: flip(path, 15),
    "header": lambda path: flip(path, 40),
    "keys": lambda path: flip(path, -(-(20 + len(json.dumps(read_layout(path)))) // 64) * 64),
    "scales": lambda path: flip(path, path.stat().st_size - 64 * 3 - 39 * DIMENSIONS + 64 * 2),
    "folder": place_directory,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_file_is_named_and_left_as_it_is(path: Path, damage):
    damage(path)
    before = None if path.is_dir() else path.read_bytes()
    index = open_index(path)

    assert index.position() == 0
    assert index.count() == 0
    with pytest.raises(DamagedError, match=r"exact\.bin") as caught:
        index.nearest(EAST, 5, EVERYTHING)
    assert "mempal reindex" in caught.value.hint
    (problem,) = index.problems()
    assert str(path) in problem
    assert "mempal reindex" in problem
    index.close()
    assert path.is_dir() if before is None else path.read_bytes() == before


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_reader_completes_a_damaged_file_in_memory(path: Path, damage):
    damage(path)
    index = open_index(path)
    index.position()

    index.apply(ENTRIES)

    assert index.count() == len(ENTRIES)
    assert [near.key for near in index.nearest(EAST, 2, EVERYTHING)] == [1, 2]


@pytest.mark.parametrize(
    "damage", [DAMAGES[name] for name in DAMAGES if name != "folder"], ids=lambda _: ""
)
def test_the_next_commit_heals_a_damaged_file(path: Path, damage):
    damage(path)
    index = open_index(path)
    assert index.position() == 0

    fill(index, *ENTRIES, position=4)

    assert index.problems() == []
    assert open_index(path).position() == 4


def test_damaged_codes_are_found_by_a_check(path: Path):
    flip(path, path.stat().st_size - 1)
    index = open_index(path)

    assert index.position() == 3
    assert any("vectors are not what was written" in problem for problem in index.problems())


def test_vectors_of_the_wrong_length_do_not_find_themselves(path: Path):
    index = open_index(path)
    fill(index, entry(1, struct.pack("<f", 0.7) + bytes([1, 1, 1, 1])), position=5)

    assert any("do not find themselves" in problem for problem in index.problems())


def test_an_index_of_another_embedder_is_a_problem_with_a_name(path: Path):
    (problem,) = open_index(path, "test:B").problems()

    assert "another embedder" in problem


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(path: Path):
    path.unlink()
    os.mkfifo(path)
    (problem,) = open_index(path).problems()

    assert "not a regular file" in problem
    assert open_index(path).count() == 0


def test_a_folder_in_the_place_of_the_file_is_not_removed(path: Path):
    place_directory(path)
    (path / "precious").write_text("x")
    index = open_index(path)
    index.apply(ENTRIES)

    with pytest.raises(DamagedError, match=r"exact\.bin cannot be written") as caught:
        index.commit(4)

    assert "mempal reindex" in caught.value.hint
    assert [child.name for child in path.parent.rglob("*")] == ["exact.bin", "precious"]


def test_a_file_in_the_place_of_the_folder_is_an_error_with_a_name(tmp_path: Path):
    (tmp_path / "index").write_text("x")
    index = open_index(tmp_path / "index" / "exact.bin")
    assert index.position() == 0

    with pytest.raises(DamagedError, match="cannot be written"):
        fill(index, *ENTRIES)


def test_a_full_disk_leaves_the_former_file(path: Path, monkeypatch: pytest.MonkeyPatch):
    before = path.read_bytes()
    index = open_index(path)
    index.position()

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(DamagedError, match="No space left"):
        fill(index, entry(99, EAST), position=4)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_what_a_crash_left_is_removed_by_the_next_commit(path: Path):
    path.with_name("exact.bin.new").write_bytes(b"half a fi")
    index = open_index(path)
    index.position()

    fill(index, entry(99, EAST), position=4)

    assert list(path.parent.iterdir()) == [path]
    assert open_index(path).count() == len(ENTRIES) + 1


def test_only_the_owner_can_read_the_file(path: Path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_reading_writes_nothing(tmp_path: Path):
    index = open_index(tmp_path / "index" / "exact.bin")
    index.position()
    index.apply(ENTRIES)
    index.nearest(EAST, 5, EVERYTHING)
    index.close()

    assert list(tmp_path.iterdir()) == []


def test_committing_the_same_again_does_not_rewrite_the_file(path: Path):
    before = path.stat()
    index = open_index(path)
    index.position()

    index.commit(3)

    assert path.stat() == before


def test_a_writer_without_the_lock_is_stopped(path: Path):
    first, second = open_index(path), open_index(path)
    first.position()
    second.position()
    fill(first, entry(50, EAST), position=4)

    with pytest.raises(BusyError, match="changed by another process"):
        fill(second, entry(51, EAST), position=5)

    assert second.position() == 4
    fill(second, entry(51, EAST), position=5)
    assert open_index(path).count() == len(ENTRIES) + 2


def test_a_reader_keeps_the_file_it_has_open(path: Path):
    reader = open_index(path)
    assert reader.position() == 3
    reader.apply([entry(99, EAST)])
    path.unlink()

    assert reader.count() == len(ENTRIES) + 1
    assert [near.key for near in reader.nearest(EAST, 2, EVERYTHING)] == [99, 1]
    assert reader.position() == 0


def test_what_was_applied_stays_when_the_file_is_rebuilt_as_it_was(path: Path):
    reader = open_index(path)
    reader.position()
    reader.apply([entry(99, EAST)])
    writer = open_index(path)
    writer.reset()
    fill(writer, *ENTRIES, position=3)

    assert reader.position() == 3
    assert [near.key for near in reader.nearest(EAST, 2, EVERYTHING)] == [99, 1]


def test_scopes_without_drawers_leave_the_file(path: Path):
    index = open_index(path)
    index.position()
    fill(index, *(entry(key, EAST, "wing 0") for key in range(1, 40)), position=4)

    assert read_layout(path)["scopes"] == [["wing 0", "room", True]]


def test_bringing_the_same_entries_in_again_costs_no_memory():
    delta = Delta(DIMENSIONS)
    entries = [entry(key % 3000, EAST) for key in range(6000)]

    for _ in range(5):
        delta.extend(entries)

    assert len(delta.rows().keys) == 3000


def test_entries_that_break_off_change_nothing(path: Path):
    index = open_index(path)
    index.position()

    def break_off():
        yield entry(1, None)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.apply(break_off())

    assert index.count() == len(ENTRIES)


def test_similarities_are_those_of_the_core_to_the_bit(tmp_path: Path):
    # The longest sums there are: every code at its limit, over more components than single
    # precision adds up without error.
    dimensions = 1100
    loud = struct.pack("<f", 1 / (127 * dimensions**0.5)) + bytes([127] * dimensions)
    odd = loud[:-1] + bytes([126])
    mixed = pack([(-1) ** place * (place % 17 + 0.1) for place in range(dimensions)])
    index = ExactIndex(tmp_path / "exact.bin", IDENTITY, dimensions)
    fill(index, *(entry(key, stored) for key, stored in enumerate((loud, odd, mixed))))

    for query in (loud, odd, mixed):
        found = {near.key: near.similarity for near in index.nearest(query, 3, EVERYTHING)}
        assert found == {
            key: similarity(query, stored) for key, stored in enumerate((loud, odd, mixed))
        }


def test_many_rows_are_compared_in_blocks_and_blocks_lose_none(tmp_path: Path):
    entries = [
        IndexEntry(key, vector(key % 7, key % 11, key % 13, 1), f"w{key % 9}", "r", key % 4 > 0)
        for key in range(1, 2600)
    ]
    index, memory = open_index(tmp_path / "exact.bin"), MemoryIndex(IDENTITY, DIMENSIONS)
    for each in (index, memory):
        fill(each, *entries)
        each.apply([entry(key, None) for key in range(5, 500, 3)])
        each.apply([entry(key, EAST, "w1") for key in range(2000, 2010)])

    for scope in (EVERYTHING, Scope(), Scope(wing="w1"), Scope(wing="w2", room="r", history=True)):
        for limit in (1, 10, 700, 5000):
            query = vector(3, 5, 2, 1)
            assert index.nearest(query, limit, scope) == memory.nearest(query, limit, scope)


def test_asking_for_position_and_count_loads_no_numpy(path: Path):
    code = (
        "import sys; from pathlib import Path; from mempal.adapters.exact import ExactIndex\n"
        f"index = ExactIndex(Path({str(path)!r}), {IDENTITY!r}, {DIMENSIONS})\n"
        "print(index.position(), index.count(), 'numpy' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.split() == ["3", "39", "False"]
