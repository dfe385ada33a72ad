"""Links, loops, pipes and devices: a walk ends, stays inside, blocks on nothing and says why.

Walks that never ended, read outside the root, hung on a pipe, or skipped links without a trace
(MemPalace/mempalace#1462, oracle/opengrok#1477 and #233, getappmap/appmap-js#917).
"""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from mempal.core.model import Scope
from tests.cases.support import holders, mine, open_at
from tests.repositories import commit_all, run_git, write_files

LINKS = {
    "a/loop": ("..", "symlink to another folder here"),
    "self": ("self", "symlink loop"),
    "x": ("y", "symlink loop"),
    "y": ("x", "symlink loop"),
    "dangling": ("nowhere/at/all", "dangling symlink"),
    "link-to-real.md": ("real.md", "symlink to another file here"),
    "outside-dir": ("../outside", "symlink out of the tree"),
    "outside-file.md": ("../outside/secret.md", "symlink out of the tree"),
    "zero.txt": ("/dev/zero", "symlink out of the tree"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_files(tmp_path / "outside", {"secret.md": "zqmoose file outside the mined root\n"})
    root = write_files(tmp_path / "proj", {"real.md": "# zqlemur the only real note\n"})
    (root / "a").mkdir()
    for name, (target, _) in LINKS.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "events.fifo")
    return root


@pytest.mark.parametrize("in_git", [False, True])
def test_the_walk_ends_stays_inside_and_says_why(mempal, isolation, project, in_git):
    if in_git:
        run_git(project, "init", "-q")
        commit_all(project)
    report = mempal("mine", project, "--json", timeout=20).json
    expected = {name: reason for name, (_, reason) in LINKS.items()} | {"events.fifo": "named pipe"}
    assert {skip["path"]: skip["reason"] for skip in report["skipped"]} == expected
    assert report["mined_files"] == ["real.md"]
    palace = open_at(isolation.palace)
    assert len(holders(palace, "zqlemur")) == 1
    assert not holders(palace, "zqmoose")


def bind_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is at most 108 bytes long
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


SIBLINGS: dict[str, tuple[Callable[[Path], object], str]] = {
    "talk.sock": (bind_socket, "socket"),
    "b/c/up": (lambda path: path.symlink_to("../../.."), "symlink out of the tree"),
    "b/root": (lambda path: path.symlink_to(path.parents[1]), "symlink to another folder here"),
    "proc": (lambda path: path.symlink_to("/proc"), "symlink out of the tree"),
    "proc-self.md": (lambda path: path.symlink_to("/proc/self/environ"), "symlink out of the tree"),
    "dev": (lambda path: path.symlink_to("/dev"), "symlink out of the tree"),
    "chain-1": (lambda path: path.symlink_to("chain-2"), "symlink out of the tree"),
    "chain-2": (lambda path: path.symlink_to("../outside/secret.md"), "symlink out of the tree"),
    "odd\nname": (os.mkfifo, "named pipe"),
}


def test_everything_of_the_kind_is_named(isolation, project):
    for name, (make, _) in SIBLINGS.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path)
    palace = open_at(isolation.palace)
    report = mine(palace, project)
    reasons = {skip.path: skip.reason for skip in report.skipped}
    assert {name: reasons.get(name) for name in SIBLINGS} == {
        name: reason for name, (_, reason) in SIBLINGS.items()
    }
    assert report.mined == ("real.md",)


def test_a_deep_ladder_of_folders_that_lead_back_ends(isolation, tmp_path):
    root = folder = tmp_path / "ladder"
    for depth in range(60):
        folder = folder / f"step{depth}"
    write_files(folder, {"bottom.md": "zqbottom\n"})
    for depth, parent in enumerate(folder.parents[:60]):
        (parent / "back").symlink_to(root)
        (parent / "on").symlink_to(folder if depth % 2 else ".")
    palace = open_at(isolation.palace)
    report = mine(palace, root)
    assert len(report.mined) == 1
    assert report.files.skipped == 120
    assert len(holders(palace, "zqbottom")) == 1


@pytest.mark.parametrize("name", ["events.fifo", "self", "dangling"])
def test_what_is_named_but_is_no_file_is_refused(mempal, isolation, project, name):
    done = mempal("mine", project / name, timeout=20)
    assert done.code in {1, 3}
    assert str(project / name) in done.stderr
    assert not isolation.palace.exists()


def test_a_link_that_is_named_is_followed_once(isolation, project, tmp_path):
    """Whoever names a link means what it leads to, under that folder's own name."""
    alias = tmp_path / "alias"
    alias.symlink_to(project)
    palace = open_at(isolation.palace)
    assert mine(palace, alias).roots == (str(project),)
    again = mine(palace, project)
    assert (again.wing, again.drawers.added) == ("proj", 0)
    assert mine(palace, project / "link-to-real.md").drawers.added == 0


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_what_took_the_place_of_a_mined_file_is_not_opened(isolation, project, kind):
    """Neither the next run nor a search waits for it or follows it."""
    palace = open_at(isolation.palace)
    mine(palace, project)
    real = project / "real.md"
    real.unlink()
    if kind == "pipe":
        os.mkfifo(real)
    elif kind == "link":
        real.symlink_to("../outside/secret.md")
    else:
        real.mkdir()
    (hit,) = palace.search("zqlemur", Scope()).hits
    assert hit.citation.verdict == "gone"
    assert mine(palace, project).mined == ()
    assert len(holders(palace, "zqlemur")) == 1
    assert not holders(palace, "zqmoose")


def test_a_file_without_a_size_is_no_trouble(isolation, tmp_path):
    """Files like those of /proc hold more than they say, or answer differently each time."""
    palace = open_at(isolation.palace)
    source = Path("/proc/self/limits")
    if not source.exists():  # other systems have no such file
        source = write_files(tmp_path, {"limits": ""}) / "limits"
    for _ in range(2):
        report = mine(palace, source, wing="w")
        assert report.files.seen == 1
