"""A run that is killed leaves a palace that answers, and the next run completes it.

A killed run left a store that hung, crashed or was half filled and counted as done
(MemPalace/mempalace#72, #1845, ruvnet/ruflo#2584). Where exactly a process dies is told by the
tests of faults; here it is killed from outside, with all its children, when it has written so much.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.support import age, open_at, snapshot
from tests.repositories import write_files

NOTES = 400
STARTED = "mining"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    body = "settings text for this note. " * 40
    files: dict[str, str | bytes] = {
        f"n{n:03d}.md": f"# Note {n}\nzqmu{n:03d} {body}\n" for n in range(NOTES)
    }
    return age(write_files(tmp_path / "repo", files))


def start(root: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "mempal", "mine", str(root), "--wing", "w"]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_when(process: subprocess.Popen[bytes], home: Path, size: int) -> None:
    """Kill a process group as soon as the palace's files are so large, or it has ended."""
    while process.poll() is None:
        if sum(path.stat().st_size for path in home.glob("palace.db*") if path.exists()) >= size:
            os.killpg(process.pid, signal.SIGKILL)
            break
    process.wait()


def test_killed_five_times(mempal, isolation, tmp_path, root):
    open_at(isolation.palace, embed__backend="hash")
    stopped = 0
    for size in (1, 200_000, 900_000, 1_600_000, 2_400_000):
        process = start(root)
        kill_when(process, isolation.palace, size)
        stopped += process.returncode == -signal.SIGKILL
        status = mempal("status", "--json", timeout=60)
        found = mempal("search", "zqmu000", "--json", timeout=60)
        expected = {0} if (isolation.palace / "palace.db").exists() else {0, 3}
        assert {status.code, found.code} <= expected, (status, found)
    assert stopped >= 3
    listed = mempal("runs", "--json").json["runs"]
    assert {run["state"] for run in listed} <= {"stopped", "done"}

    final = mempal("mine", root, "--wing", "w", "--json")
    again = mempal("mine", root, "--wing", "w", "--json")
    assert (final.code, again.code) == (0, 0)
    assert again.json["drawers"]["added"] == again.json["files"]["mined"] == 0
    assert mempal("doctor").code == 0

    clean = tmp_path / "clean"
    palace = open_at(clean, embed__backend="hash")
    assert mempal("mine", root, "--wing", "w", "--home", clean).code == 0
    assert snapshot(open_at(isolation.palace)) == snapshot(palace)
    assert len(snapshot(palace)) >= NOTES
