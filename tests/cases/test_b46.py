"""Each file of a palace emptied, cut, overwritten, replaced or removed: named, survived, untouched.

Stack traces and native crashes that name no file, and pretty tracebacks that print the values of
variables, private text included (can1357/oh-my-pi#8082, ruvnet/ruflo#2584, MemPalace/mempalace#72,
openonion/connectonion PR #258).
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mempal.core.files import read_regular
from tests.cases.support import Done, Silence, fingerprint, mine, open_at
from tests.repositories import write_files

NOTES = {
    f"n{n}.md": f"# Note {n}\nzqee{n} stored before the damage, private line {n}\n"
    for n in range(8)
}
READING = (("status",), ("search", "zqee3", "--json"), ("wake-up",), ("doctor",))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A palace with every file that one can have, the database's journal in use among them."""
    folder = tmp_path_factory.mktemp("b46")
    home = folder / "home"
    palace = open_at(home, wing="w")
    repo = write_files(folder / "repo", NOTES)
    mine(palace, repo)
    palace.reindex(reembed=False, progress=Silence())
    (home / "identity.txt").write_text("I keep private notes.\n")
    # As long as a reader has it open, what is written stays in the journal.
    reader = palace.access.outfit.open_store(False)
    write_files(repo, {"n8.md": "zqee8 lies in the journal\n"})
    reader.revision()
    mine(palace, repo)
    copy = shutil.copytree(home, folder / "copy")
    reader.close()
    return copy


FILES = (
    *("palace.db", "palace.db-wal", "palace.db-shm", "config.toml", "identity.txt"),
    *("index/exact.bin", "index/writer.lock", "index/writer.owner", "index"),
)


def garble(path: Path) -> None:
    path.write_bytes(random.Random(path.name).randbytes(max(64, path.stat().st_size)))


def overwrite_head(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(b"NOT A DATABASE!!" + data[16:])


def overwrite_middle(path: Path) -> None:
    data = path.read_bytes()
    third = len(data) // 3
    path.write_bytes(data[:third] + b"\xaa" * third + data[2 * third :])


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replace_by_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


KINDS: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "garbage": garble,
    "header": overwrite_head,
    "middle": overwrite_middle,
    "folder": replace_by_folder,
    "pipe": replace_by_pipe,
    "loop": replace_by_loop,
    "gone": Path.unlink,
}


SPARSE = ("garbage", "folder", "pipe", "gone")
MATRIX = [
    (name, kind)
    for name in FILES
    for kind in (SPARSE if name.startswith(("index/writer", "palace.db-shm")) else KINDS)
    if name != "index" or kind in {"empty", "folder", "gone"}
]


def damage(home: Path, name: str, kind: str) -> Path:
    path = home / name
    if path.is_dir():  # the index: its folder is replaced or removed
        shutil.rmtree(path)
        path.write_bytes(b"x")
    KINDS[kind](path)
    return path


def look(home: Path) -> dict[str, str | None]:
    """Return what a reader must not touch: all but the files that SQLite's readers share."""
    return {
        name: digest
        for name, digest in fingerprint(home).items()
        if name not in {"palace.db-shm", "palace.db-wal"}
    }


def test_the_palace_has_every_kind_of_file(good):
    assert set(FILES) <= set(fingerprint(good))
    assert (good / "palace.db-wal").stat().st_size > 0


@pytest.mark.parametrize(("name", "kind"), MATRIX)
def test_a_damaged_file_is_named_and_left_as_it_is(run, tmp_path, good, name, kind):
    home = shutil.copytree(good, tmp_path / "home")
    path = damage(home, name, kind)
    before = look(home)
    for arguments in READING:
        done: Done = run(*arguments, "--home", home)
        assert done.code in {0, 1}, (arguments, done)
        if done.code == 1 and arguments != ("doctor",):
            assert str(path).removesuffix("-wal").removesuffix("-shm") in done.stderr
            assert "hint: " in done.stderr
        if "--json" in arguments:
            assert isinstance(done.json, dict)
        assert "private line" not in done.stderr
        assert "this is a bug" not in done.stderr
    assert look(home) == before


@pytest.mark.parametrize(("name", "kind"), [pair for pair in MATRIX if "index" in pair[0]])
def test_no_answer_is_lost_with_the_index(run, tmp_path, good, name, kind):
    """The vectors are in the database, so whoever asks completes the index for itself."""
    home = shutil.copytree(good, tmp_path / "home")
    path = damage(home, name, kind)
    for mode in ("hybrid", "vector"):
        found = run("search", "zqee3 damage", "--home", home, "--json", "--mode", mode).json
        whole = run("search", "zqee3 damage", "--home", good, "--json", "--mode", mode).json
        assert found["degraded"] == []
        # What a vector is worth is checked by `doctor` alone: reading all of them costs too much.
        if (name, kind, mode) != ("index/exact.bin", "middle", "vector"):
            assert found["results"][0]["source_file"] == "n3.md"
        if (name, kind) != ("index/exact.bin", "middle"):
            assert found["results"] == whole["results"]
    if name == "index/exact.bin" and kind != "gone":
        diagnosis = run("doctor", "--home", home, "--json").json
        problems = [row for row in diagnosis["findings"] if row["level"] == "problem"]
        assert problems
        assert all(str(path) in problem["detail"] for problem in problems)
        assert {problem["repair"] for problem in problems} == {"mempal reindex"}


@pytest.mark.parametrize(("name", "kind"), MATRIX)
def test_writing_either_works_or_says_what_is_wrong(run, tmp_path, good, name, kind):
    """And whatever was damaged but can be derived is whole again after ``reindex``."""
    home = shutil.copytree(good, tmp_path / "home")
    path = damage(home, name, kind)
    more = write_files(tmp_path / "more", {"more.md": "zqmore after the damage\n"})
    for arguments in (("mine", more, "--wing", "w"), ("reindex",)):
        done: Done = run(*arguments, "--home", home)
        assert done.code in ({0, 1, 3} if (name, kind) == ("palace.db", "loop") else {0, 1})
        if done.code == 1:
            assert str(path).removesuffix("-wal").removesuffix("-shm") in done.stderr
            assert "hint: " in done.stderr
        assert "this is a bug" not in done.stderr
    if name == "index/exact.bin" and path.is_file():
        assert run("doctor", "--home", home).code == 0
        assert run("search", "zqmore", "--home", home, "--json").json["degraded"] == []


@pytest.mark.parametrize("kind", ["cut", "garbage", "folder"])
def test_a_damaged_database_in_a_process_of_its_own(mempal, tmp_path, good, kind):
    home = shutil.copytree(good, tmp_path / "home")
    path = damage(home, "palace.db", kind)
    before = look(home)
    done = mempal("search", "zqee3", "--home", home, timeout=60)
    assert done.code in {0, 1}
    assert "Traceback" not in done.stderr + done.stdout
    assert "locals" not in done.stderr + done.stdout
    if done.code:
        assert done.stdout == ""
        assert str(path) in done.stderr
        assert "hint: " in done.stderr
    assert look(home) == before
    hook = mempal("hook", "user-prompt-submit", env={"MEMPAL_HOME": str(home)}, stdin="{}")
    assert (hook.code, hook.stdout) == (0, "")


def test_a_home_that_is_a_file_or_a_link_to_nowhere(run, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "nowhere").symlink_to("not/there")
    (tmp_path / "loop").symlink_to("loop")
    tree = write_files(tmp_path / "tree", {"a.md": "alpha\n"})
    for name in ("file", "nowhere", "loop"):
        for arguments in (*READING, ("mine", tree)):
            done: Done = run(*arguments, "--home", tmp_path / name)
            assert done.code in {0, 1}
            assert "this is a bug" not in done.stderr
            if done.code:
                assert str(tmp_path / name) in done.stderr


def test_no_traceback_shows_what_is_stored(good):
    """Not even where mempal itself breaks, and not even when asked for the trace."""
    code = (
        "import sys; from mempal.palace import Palace; from mempal.cli import app\n"
        "def fail(self, *a, **k):\n"
        "    private = 'private line 3'; raise RuntimeError('broken')\n"
        "Palace.search = fail; sys.exit(app.main(sys.argv[1:]))"
    )
    for debug in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-P", "-c", code, "search", "x", "--home", str(good)],
            env={**os.environ, "MEMPAL_DEBUG": debug},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 70
        assert ("Traceback" in done.stderr) is (debug == "1")
        assert "locals" not in done.stderr
        assert read_regular.__name__ not in done.stdout
