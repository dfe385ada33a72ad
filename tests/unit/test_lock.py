"""The lock of the index: who holds it is named, and naming never keeps anyone waiting."""

import os
from pathlib import Path

import pytest

from mempal.adapters.lock import FileLock
from mempal.core.errors import BusyError, PalaceError

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index" / "writer.lock"


def check_refused(path: Path, wanted: str) -> None:
    # The lock is the holder's own even within one process.
    with pytest.raises(BusyError, match=wanted), FileLock(path, patience=0).hold():
        pytest.fail("two hold the lock")


def test_the_holder_is_named(path: Path):
    with FileLock(path).hold():
        check_refused(path, f"^process {os.getpid()} is writing")
    with FileLock(path, patience=0).hold():
        assert path.with_suffix(".owner").read_text() == str(os.getpid())


@pytest.mark.parametrize("text", ["", "x", "1" * 1000, "\udcff"])
def test_a_name_that_makes_no_sense_is_left_out(path: Path, text: str):
    with FileLock(path).hold():
        path.with_suffix(".owner").write_bytes(text.encode("utf-8", "surrogateescape"))
        check_refused(path, "^another process is writing")


@needs_pipes
def test_a_pipe_in_place_of_the_name_is_not_waited_for(path: Path):
    path.parent.mkdir()
    os.mkfifo(path.with_suffix(".owner"))
    with FileLock(path).hold():
        check_refused(path, "^another process is writing")


def test_a_folder_in_place_of_the_lock_is_named(path: Path):
    path.mkdir(parents=True)
    with pytest.raises(PalaceError, match=r"writer\.lock cannot be written"), FileLock(path).hold():
        pytest.fail("a folder was locked")
