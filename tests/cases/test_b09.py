"""A working tree is mined in whatever state git left it, and without git at all.

Libraries for git raise, each in its own way, on an unborn or detached HEAD, a bare repository, a
broken link, somebody else's tree, or a missing program (gitpython-developers/GitPython#1616, #510,
#1479, #614, #55, #155, #1882 and #711, agentstack-ai/AgentStack#319).
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from mempal.adapters.git import command
from tests.cases.support import Silence, holders, mine, open_at
from tests.repositories import NO_GIT, commit_all, make_repository, run_git, write_files

WORDS = {
    "unborn": ("zqquail", "no commit yet"),
    "detached": ("zqrabbit", "one"),
    "broken-link": ("zqurial", "broken git file"),
    "foreign-owner": ("zqvole", "owned by somebody else"),
}


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    for name, words in WORDS.items():
        write_files(tmp_path / name, {"a.md": " ".join(words) + "\n"})
    run_git(tmp_path / "unborn", "init", "-q")
    for name in ("detached", "foreign-owner"):
        run_git(tmp_path / name, "init", "-q")
        commit_all(tmp_path / name)
    run_git(tmp_path / "detached", "checkout", "-q", "--detach")
    write_files(tmp_path / "broken-link", {".git": "gitdir: /does/not/exist\n"})
    run_git(tmp_path, "init", "-q", "--bare", "bare.git")
    run_git(tmp_path / "detached", "push", "-q", "../bare.git", "HEAD:refs/heads/main")
    library = make_repository(tmp_path / "lib-src", {"lib.md": "zqsable library\n"})
    root = make_repository(tmp_path / "super", {"top.md": "zqtapir superproject\n"})
    run_git(root, "submodule", "--quiet", "add", str(library), "vendor/lib")
    commit_all(root)
    return tmp_path


@pytest.mark.parametrize("env", [None, NO_GIT], ids=["git", "no git"])
def test_each_state_is_mined_and_its_word_found(mempal, isolation, trees, env):
    settings = (isolation.home / ".gitconfig").read_bytes()
    names = ("unborn", "detached", "super", "broken-link")
    done = mempal("mine", *(trees / name for name in names), "--wing", "w", "--json", env=env)
    assert done.code == 0
    report = done.json
    assert report["mined_files"][:1] == ["a.md"]
    # Without git one notice says so; with it the broken link alone is worth a word.
    assert len(report["warnings"]) == (1 if env is None else 2)
    palace = open_at(isolation.palace)
    for name, word in (
        *((name, WORDS[name][0]) for name in ("unborn", "detached", "broken-link")),
        ("super", "zqtapir"),
        ("super/vendor/lib", "zqsable"),
    ):
        (drawer,) = holders(palace, word)
        assert drawer.root == str(trees / name)
        has_commit = name not in {"unborn", "broken-link"}
        head = run_git(trees / name, "rev-parse", "HEAD").strip() if has_commit else None
        assert drawer.commit == head
    assert [d.source_file for d in holders(palace, "zqsable")] == ["lib.md"]
    assert (isolation.home / ".gitconfig").read_bytes() == settings
    again = mempal("mine", *(trees / name for name in names), "--wing", "w", "--json", env=env)
    assert again.json["drawers"]["added"] == 0


def test_a_bare_repository_is_refused_in_words(mempal, isolation, trees):
    done = mempal("mine", trees / "bare.git")
    assert done.code == 1
    assert "nothing to mine" in done.stderr
    assert "Traceback" not in done.stderr
    assert not isolation.palace.exists()


def test_somebody_elses_tree_is_mined_without_git_data(run, isolation, trees, monkeypatch):
    # git's own switch for tests that cannot give a tree to another user.
    monkeypatch.setitem(command._FIXED, "GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    settings = (isolation.home / ".gitconfig").read_bytes()
    done = run("mine", trees / "foreign-owner", "--json")
    (warning,) = done.json["warnings"]
    assert f"git config --global --add safe.directory {trees / 'foreign-owner'}" in warning
    (drawer,) = holders(open_at(isolation.palace), "zqvole")
    assert drawer.commit is None
    assert (isolation.home / ".gitconfig").read_bytes() == settings


def test_the_environment_is_not_believed(mempal, isolation, trees):
    other = trees / "detached"
    env = {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}
    report = mempal("mine", trees / "unborn", "--json", env=env).json
    assert report["roots"] == [str(trees / "unborn")]
    assert report["warnings"] == []
    (drawer,) = holders(open_at(isolation.palace), "zqquail")
    assert drawer.commit is None
    assert not holders(open_at(isolation.palace), "zqrabbit")


@pytest.mark.parametrize("arguments", [("--help",), ("search", "x"), ("status",), ("doctor",)])
def test_every_command_starts_without_git(mempal, arguments):
    done = mempal(*arguments, env=NO_GIT)
    assert done.code == 0
    assert "Traceback" not in done.stderr


def shallow(root: Path, origin: Path) -> None:
    run_git(root.parent, "clone", "-q", "--depth", "1", f"file://{origin}", root.name)


def linked(root: Path, origin: Path) -> None:
    run_git(origin, "worktree", "add", "-q", str(root))


def lost(root: Path, origin: Path) -> None:
    """A linked working tree whose repository was deleted."""
    linked(root, origin)
    origin.rename(origin.with_name("elsewhere"))


def headless(root: Path, origin: Path) -> None:
    run_git(root.parent, "clone", "-q", str(origin), root.name)
    (root / ".git" / "HEAD").write_bytes(b"\0\xffnonsense")


def dangling(root: Path, origin: Path) -> None:
    run_git(root.parent, "clone", "-q", str(origin), root.name)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/never\n")


def gutted(root: Path, origin: Path) -> None:
    run_git(root.parent, "clone", "-q", str(origin), root.name)
    for path in (root / ".git" / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"")


def unindexed(root: Path, origin: Path) -> None:
    run_git(root.parent, "clone", "-q", str(origin), root.name)
    (root / ".git" / "index").write_bytes(b"DIRC garbage")


def rebasing(root: Path, origin: Path) -> None:
    run_git(root.parent, "clone", "-q", str(origin), root.name)
    write_files(root / ".git" / "rebase-merge", {"head-name": "refs/heads/main\n"})
    write_files(root / ".git", {"index.lock": "", "MERGE_HEAD": "nonsense\n"})


@pytest.mark.parametrize(
    "make", [shallow, linked, lost, headless, dangling, gutted, unindexed, rebasing]
)
@pytest.mark.parametrize("has_git", [True, False])
def test_other_states_cost_at_most_the_git_data(
    isolation, tmp_path, monkeypatch, make: Callable[[Path, Path], None], has_git: bool
):
    files = {"a.md": "zqwombat\n", ".gitignore": "*.log\n"}
    origin = make_repository(tmp_path / "origin", files)
    root = tmp_path / "tree"
    make(root, origin)
    write_files(root, files)
    write_files(root, {"noise.log": "zqnoise\n"})
    if not has_git:
        monkeypatch.setenv("PATH", NO_GIT["PATH"])
    palace = open_at(isolation.palace)
    report = mine(palace, root)
    assert report.mined == (".gitignore", "a.md")
    assert report.roots == (str(root),)
    assert len(report.warnings) <= 2
    assert all(warning.isprintable() for warning in report.warnings)
    assert len(holders(palace, "zqwombat")) == 1
    assert mine(palace, root).drawers.added == 0
    assert palace.audit(None, Silence()).complete


def test_an_empty_repository_holds_nothing(isolation, tmp_path):
    run_git(tmp_path, "init", "-q", "nothing")
    report = mine(open_at(isolation.palace), tmp_path / "nothing")
    assert report.files.seen == 0
