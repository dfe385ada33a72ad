"""The Chroma index in one process: damage, interrupted writes, other people's settings."""

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mempal.adapters.chroma import ChromaIndex
from mempal.adapters.chroma.client import Collection
from mempal.core.errors import BusyError, DamagedError
from mempal.core.model import Scope
from tests.indexes import DIMENSIONS, IDENTITY, entry, fill, vector

pytestmark = pytest.mark.chroma

EAST = vector(1)
EVERYTHING = Scope(history=True)
# More than Chroma keeps in its log before it writes the graph's files.
MANY = [entry(key, vector(1, key / 1000, key % 7, key % 11)) for key in range(1, 1301)]
GRAPH = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build an index whose graph is on disk; copy it, do not change it."""
    folder = tmp_path_factory.mktemp("built") / "chroma"
    index = open_index(folder)
    fill(index, *MANY, position=7)
    index.close()
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "chroma"))


def open_index(folder: Path, identity: str = IDENTITY) -> ChromaIndex:
    return ChromaIndex(folder, identity, DIMENSIONS)


def keys(index: ChromaIndex, limit: int = 5) -> list[int]:
    return [near.key for near in index.nearest(EAST, limit, EVERYTHING)]


def find_data(folder: Path) -> Path:
    return folder / json.loads((folder / "record.json").read_text())["token"]


def find_file(folder: Path, name: str) -> Path:
    (path,) = find_data(folder).rglob(name)
    return path


def replace_head(path: Path) -> None:
    path.write_bytes(b"NOT A DATABASE!!" + path.read_bytes()[16:])


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "garbage": lambda path: path.write_bytes(bytes(b ^ 0x5A for b in path.read_bytes())),
    "head": replace_head,
    "folder": make_folder,
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
@pytest.mark.parametrize("name", [*GRAPH, "chroma.sqlite3", "record.json"])
def test_damage_is_named_before_anything_is_loaded(folder: Path, name: str, damage):
    path = folder / name if name == "record.json" else find_file(folder, name)
    before = path.read_bytes()
    damage(path)
    if path.is_file() and path.read_bytes() == before:
        return  # nothing is left of an empty file to damage
    index = open_index(folder)

    seen = (index.position(), index.count())

    if (name, damage) == ("record.json", DAMAGES["gone"]):
        assert keys(index) == []
    elif (name, damage) == ("chroma.sqlite3", DAMAGES["cut"]):
        with pytest.raises(DamagedError, match="malformed"):
            keys(index)
        return
    else:
        with pytest.raises(DamagedError, match=name) as caught:
            keys(index)
        assert "mempal reindex" in caught.value.hint
    (problem,) = index.problems()
    assert name in problem
    assert "mempal reindex" in problem
    assert seen == (0, 0)


@pytest.mark.parametrize("name", ["data_level0.bin", "chroma.sqlite3"])
def test_a_missing_folder_is_named(folder: Path, name: str):
    shutil.rmtree(find_file(folder, name).parent)
    index = open_index(folder)

    assert index.position() == 0
    with pytest.raises(DamagedError, match="chroma"):
        keys(index)


def test_the_next_commit_builds_a_damaged_index_anew(folder: Path):
    DAMAGES["garbage"](find_file(folder, "data_level0.bin"))
    index = open_index(folder)
    assert index.position() == 0

    fill(index, *MANY[:50], position=8)

    assert len(keys(index, 99)) == 50
    assert index.problems() == []
    assert [path.name for path in folder.iterdir() if path.is_dir()] == [find_data(folder).name]
    index.close()


def test_a_cut_database_is_built_anew_by_a_reset(folder: Path):
    DAMAGES["cut"](find_file(folder, "chroma.sqlite3"))
    index = open_index(folder)
    index.position()
    with pytest.raises(DamagedError):
        fill(index, entry(9999, EAST), position=8)

    index.reset()
    fill(index, *MANY[:50], position=8)

    assert index.problems() == []
    index.close()


def test_a_copy_with_other_times_is_recognised(built: Path, tmp_path: Path):
    copy = tmp_path / "chroma"
    shutil.copytree(built, copy, copy_function=shutil.copyfile)
    index = open_index(copy)

    assert index.position() == 7
    assert len(keys(index)) == 5
    assert index.problems() == []
    index.close()


def test_decay_with_the_right_size_and_time_is_found_by_a_check(folder: Path):
    path = find_file(folder, "data_level0.bin")
    times = path.stat()
    DAMAGES["garbage"](path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    (problem,) = open_index(folder).problems()

    assert "data_level0.bin is not what was written" in problem


def test_vectors_that_the_graph_lost_are_found_by_a_check(folder: Path):
    # What two uncoordinated processes leave: the database counts on what the graph does not reach.
    index = open_index(folder)
    index.position()
    index.apply([entry(9000 + key, vector(-1, key)) for key in range(400)])
    index.commit(8)
    data = find_data(folder)
    index.close()
    code = (
        "import sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1])\n"
        "database.execute('DELETE FROM embeddings_queue')\n"
        "database.commit(); database.close()"
    )
    subprocess.run([sys.executable, "-c", code, data / "chroma.sqlite3"], check=True)
    index = open_index(folder)

    assert index.count() == len(MANY) + 400
    problems = index.problems()

    index.close()
    assert problems
    assert "mempal reindex" in problems[0]


def test_position_and_count_do_not_load_chromadb(folder: Path):
    code = (
        "import sys; from pathlib import Path; from mempal.adapters.chroma import ChromaIndex\n"
        f"index = ChromaIndex(Path({str(folder)!r}), {IDENTITY!r}, {DIMENSIONS})\n"
        "index.apply([]); print(index.position(), index.count())\n"
        "index.commit(8); print(index.position())\n"
        "print([name for name in ('chromadb', 'numpy') if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.split() == ["7", str(len(MANY)), "8", "[]"]


@pytest.mark.parametrize("stage", ["upsert", "mark"])
def test_a_write_that_breaks_off_is_done_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stage: str
):
    reader, writer = open_index(folder), open_index(folder)
    before = keys(reader)
    assert writer.position() == 7
    late = [entry(key, EAST) for key in range(5000, 5010)]

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Collection, stage, fail)
        with pytest.raises(KeyboardInterrupt):
            fill(writer, *late, position=8)

    assert open_index(folder).position() == 7
    assert keys(reader) == before
    assert writer.position() == 7
    fill(writer, *late, position=8)
    assert keys(reader, 10) == list(range(5000, 5010))
    assert keys(writer, 10) == list(range(5000, 5010))
    assert writer.problems() == []
    reader.close()
    writer.close()


def test_a_graph_that_a_broken_write_changed_is_not_loaded(folder: Path):
    # 1000 more make Chroma write the graph's files; then the process dies.
    code = (
        "import os, sys; from pathlib import Path\n"
        "from mempal.adapters.chroma import ChromaIndex\n"
        "from mempal.adapters.chroma.client import Collection\n"
        "from tests.indexes import *\n"
        "Collection.mark = lambda self, generation: os._exit(9)\n"
        "index = ChromaIndex(Path(sys.argv[1]), IDENTITY, DIMENSIONS); index.position()\n"
        "fill(index, *(entry(key, vector(1, key)) for key in range(5000, 6100)), position=8)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, folder], check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 9
    index = open_index(folder)

    assert index.position() == 0
    with pytest.raises(DamagedError, match="chroma"):
        keys(index)
    fill(index, *MANY, position=8)
    assert index.position() == 8
    assert index.problems() == []
    index.close()


def test_a_rebuild_that_breaks_off_leaves_the_former_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    index = open_index(folder)
    before = sorted(path.name for path in folder.iterdir())
    index.reset()

    def fail(*_: object) -> None:
        raise DamagedError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Collection, "mark", fail)
        with pytest.raises(DamagedError, match="disk is full"):
            fill(index, entry(1, EAST), position=8)

    assert sorted(path.name for path in folder.iterdir()) == before
    assert open_index(folder).position() == 7


def test_a_rebuild_removes_what_former_ones_left(folder: Path):
    (folder / "0123456789abcdef").mkdir()
    (folder / "0123456789abcdef.lock").touch()
    (folder / "notes").mkdir()
    index = open_index(folder)
    index.reset()

    fill(index, entry(1, EAST), position=8)

    token = find_data(folder).name
    assert {path.name for path in folder.iterdir()} == {
        token,
        f"{token}.lock",
        "notes",
        "record.json",
    }
    index.close()


def test_data_that_somebody_else_wrote_are_not_taken_for_ours(folder: Path, tmp_path: Path):
    backup = Path(shutil.copytree(folder, tmp_path / "backup"))
    index = open_index(folder)
    index.position()
    fill(index, entry(5000, EAST), position=8)
    index.close()
    data = find_data(folder)
    shutil.rmtree(data)
    shutil.copytree(backup / data.name, data)
    index = open_index(folder)

    with pytest.raises(DamagedError, match="a copy or a backup"):
        keys(index)
    (problem,) = index.problems()
    assert "mempal reindex" in problem


def test_a_writer_without_the_palace_lock_is_stopped(folder: Path):
    first, second = open_index(folder), open_index(folder)
    first.position()
    second.position()
    fill(first, entry(5000, EAST), position=8)

    with pytest.raises(BusyError, match="written by another process"):
        fill(second, entry(5001, EAST), position=9)

    assert second.position() == 8
    fill(second, entry(5001, EAST), position=9)
    assert keys(first, 2) == [5000, 5001]
    first.close()
    second.close()


def test_while_another_writes_an_open_reader_answers_and_a_new_one_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    reader, writer = open_index(folder), open_index(folder)
    before = keys(reader)
    during = []
    mark = Collection.mark

    def look(self: Collection, generation: int) -> None:
        late = open_index(folder)
        during.append((late.position(), keys(reader)))
        with pytest.raises(BusyError):
            keys(late)
        mark(self, generation)

    monkeypatch.setattr(Collection, "mark", look)
    monkeypatch.setattr("mempal.adapters.chroma.index._PATIENCE_SECONDS", 0.01)
    writer.position()
    fill(writer, *(entry(key, vector(1, 0, key - 5000)) for key in range(5000, 6100)), position=8)

    assert during == [(7, before)]
    assert keys(reader, 1) == [5000]
    reader.close()
    writer.close()


def test_a_file_in_the_place_of_the_folder_is_an_error_with_a_name(tmp_path: Path):
    (tmp_path / "chroma").write_text("x")
    index = open_index(tmp_path / "chroma")
    assert index.position() == 0

    with pytest.raises(DamagedError, match="chroma cannot be made"):
        fill(index, entry(1, EAST))


def test_only_the_owner_can_enter_the_folder(folder: Path):
    index = open_index(folder.parent / "fresh" / "chroma")
    fill(index, entry(1, EAST))
    index.close()

    fresh = folder.parent / "fresh" / "chroma"
    assert fresh.stat().st_mode & 0o777 == 0o700
    assert find_data(fresh).stat().st_mode & 0o777 == 0o700
    assert (fresh / "record.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "dotenv",
    [
        b"IS_PERSISTENT=perhaps\nCHROMA_SERVER_HTTP_PORT=none\n",
        "A=ü\n".encode("utf-16"),
        b"CHROMA_PRODUCT_TELEMETRY_IMPL=planted.Telemetry\nCHROMA_API_IMPL=planted.Telemetry\n",
    ],
    ids=["nonsense", "utf-16", "hostile"],
)
def test_the_settings_of_a_working_directory_are_not_read(folder: Path, tmp_path: Path, dotenv):
    work = tmp_path / "work"
    work.mkdir()
    (work / ".env").write_bytes(dotenv)
    (work / "planted.py").write_text("open('planted.txt', 'w').close()\nclass Telemetry: pass\n")
    code = (
        "import sys; sys.path.insert(0, ''); from pathlib import Path\n"
        "from mempal.adapters.chroma import ChromaIndex\n"
        "from mempal.core.model import Scope\n"
        "from mempal.core.vector import pack\n"
        f"index = ChromaIndex(Path({str(folder)!r}), {IDENTITY!r}, {DIMENSIONS})\n"
        "print(len(index.nearest(pack([1, 0, 0, 0]), 5, Scope()))); index.close()"
    )

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=work,
        timeout=60,
        env={**os.environ, "CHROMA_OTEL_COLLECTION_ENDPOINT": "http://127.0.0.1:9"},
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")
    assert sorted(path.name for path in work.iterdir()) == [".env", "planted.py"]


def test_chroma_says_nothing(folder: Path, capfd: pytest.CaptureFixture[str]):
    index = open_index(folder)
    index.position()
    fill(index, entry(1, None), entry(77777, None), position=8)
    keys(index)
    index.problems()
    logging.getLogger("chromadb.api").error("chatter")
    index.close()

    assert capfd.readouterr() == ("", "")
