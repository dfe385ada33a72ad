"""Working trees in every state git knows, with and without the git program."""

import os
import shutil
from pathlib import Path

import pytest

from mempal.adapters.git import GitRepositories, command, describe_git
from mempal.core.errors import SourceError
from mempal.core.model import Repository
from mempal.ingest.walk import Walk, WalkRules, walk
from tests.repositories import (
    NO_GIT,
    commit_all,
    hash_blob,
    make_repository,
    run_git,
    write_files,
)

_FOREIGN = "detected dubious ownership"


@pytest.fixture(params=["git", "no git"])
def repositories(request: pytest.FixtureRequest, isolation: object) -> GitRepositories:
    if request.param == "git":
        return GitRepositories()
    return GitRepositories({**os.environ, **NO_GIT})


def mine(root: Path, repositories: GitRepositories) -> Walk:
    return walk(root, repositories, WalkRules())


def shown(found: Walk) -> dict[str, list[str]]:
    return {tree.root.name: [entry.path for entry in tree.files] for tree in found.trees}


def only_notice(repository: Repository) -> str:
    (notice,) = repository.notices
    assert notice.isprintable()
    return notice


def test_before_the_first_commit_there_is_no_commit(tmp_path, repositories):
    root = write_files(tmp_path / "unborn", {"a.md": "a"})
    run_git(root, "init", "-q")
    assert repositories.find(root).commit is None
    assert shown(mine(root, repositories)) == {"unborn": ["a.md"]}


@pytest.mark.parametrize("pack", [False, True])
def test_the_commit_is_found_on_a_branch_and_detached(tmp_path, repositories, pack):
    root = make_repository(tmp_path / "tree", {"a.md": "a"})
    commit = run_git(root, "rev-parse", "HEAD").strip()
    if pack:
        run_git(root, "pack-refs", "--all")
        run_git(root, "gc", "-q")
    assert repositories.find(root).commit == commit
    run_git(root, "checkout", "-q", "--detach")
    assert repositories.find(root).commit == commit
    assert repositories.find_blob(repositories.find(root), hash_blob(root, "a.md")) == "a.md"


def test_a_bare_repository_holds_nothing_to_mine(tmp_path, repositories):
    run_git(tmp_path, "init", "-q", "--bare", "bare.git")
    assert repositories.find(tmp_path / "bare.git") is None
    with pytest.raises(SourceError, match="nothing to mine"):
        mine(tmp_path / "bare.git", repositories)


def test_a_submodule_is_mined_once_from_its_own_repository(tmp_path, repositories):
    library = make_repository(tmp_path / "lib-src", {"lib.md": "lib"})
    root = make_repository(tmp_path / "super", {"top.md": "top"})
    run_git(root, "submodule", "--quiet", "add", str(library), "vendor/lib")
    commit_all(root)
    found = mine(root, repositories)
    assert shown(found) == {"super": [".gitmodules", "top.md"], "lib": ["lib.md"]}
    inner = found.trees[1]
    assert inner.root == root / "vendor" / "lib"
    assert inner.repository.commit == run_git(library, "rev-parse", "HEAD").strip()
    assert all(entry.tracked for tree in found.trees for entry in tree.files)
    assert shown(mine(root / "vendor", repositories)) == {"super": [], "lib": ["lib.md"]}
    assert shown(mine(root / "vendor" / "lib", repositories)) == {"lib": ["lib.md"]}


def test_a_submodule_that_is_not_checked_out_is_nothing(tmp_path, repositories):
    library = make_repository(tmp_path / "lib-src", {"lib.md": "lib"})
    root = make_repository(tmp_path / "super", {"top.md": "top"})
    run_git(root, "submodule", "--quiet", "add", str(library), "lib")
    commit_all(root)
    run_git(root, "submodule", "--quiet", "deinit", "-f", "lib")
    assert shown(mine(root, repositories)) == {"super": [".gitmodules", "top.md"]}
    assert mine(root, repositories).trees[0].skipped == ()


def test_a_broken_link_costs_the_git_data_only(tmp_path, repositories):
    root = write_files(tmp_path / "broken", {".git": "gitdir: /does/not/exist\n", "a.md": "a"})
    assert "no git data" in only_notice(repositories.find(root))
    assert repositories.list_tree(repositories.find(root)) is None
    found = mine(root, repositories)
    assert shown(found) == {"broken": ["a.md"]}
    assert len(found.notices) == 1


def test_a_tree_of_somebody_else_is_mined_without_git_data(tmp_path, isolation, monkeypatch):
    root = make_repository(tmp_path / "foreign", {"a.md": "a", ".gitignore": "*.log\n"})
    write_files(root, {"b.log": "b"})
    # git's own switch for tests that cannot give a tree to another user.
    monkeypatch.setitem(command._FIXED, "GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    repositories = GitRepositories()
    settings = (isolation.home / ".gitconfig").read_bytes()
    found = repositories.find(root)
    assert found.commit is None
    notice = only_notice(found)
    assert _FOREIGN in notice
    assert f"git config --global --add safe.directory {root}" in notice
    assert repositories.list_tree(found) is None
    assert repositories.tracked_paths(found) == frozenset()
    assert shown(mine(root, repositories)) == {"foreign": [".gitignore", "a.md"]}
    assert (isolation.home / ".gitconfig").read_bytes() == settings


def test_an_unknown_repository_format_costs_the_git_data_only(tmp_path):
    root = make_repository(tmp_path / "tree", {"a.md": "a", ".gitignore": "*.log\n"})
    write_files(root, {"b.log": "b"})
    run_git(root, "config", "core.repositoryFormatVersion", "99")
    found = mine(root, GitRepositories())
    assert shown(found) == {"tree": [".gitignore", "a.md"]}
    assert "99" in found.notices[0]


@pytest.mark.parametrize("place", ["elsewhere", ".."])
def test_settings_that_name_another_working_tree_are_not_followed(tmp_path, place):
    root = make_repository(tmp_path / "outer" / "tree", {"a.md": "a"})
    write_files(tmp_path / "outer", {"secret.md": "s"})
    write_files(root / "elsewhere", {"b.md": "b"})
    run_git(root, "config", "core.worktree", str(root / place))
    repositories = GitRepositories()
    assert "another folder" in only_notice(repositories.find(root))
    assert repositories.list_tree(repositories.find(root)) is None
    assert shown(mine(root, repositories)) == {"tree": ["a.md", "elsewhere/b.md"]}


def test_variables_that_point_elsewhere_are_not_believed(tmp_path, monkeypatch):
    root = write_files(tmp_path / "unborn", {"a.md": "a"})
    run_git(root, "init", "-q")
    other = make_repository(tmp_path / "other", {"b.md": "b"})
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git" / "index",
        "GIT_OBJECT_DIRECTORY": other / ".git" / "objects",
        "GIT_COMMON_DIR": other / ".git",
        "GIT_NAMESPACE": "x",
        "GIT_CEILING_DIRECTORIES": root,
        "GIT_CONFIG_COUNT": "nonsense",
        "GIT_EXEC_PATH": tmp_path,
        "GIT_LITERAL_PATHSPECS": "nonsense",
    }.items():
        monkeypatch.setenv(name, str(value))
    found = mine(root, GitRepositories())
    assert shown(found) == {"unborn": ["a.md"]}
    assert found.trees[0].repository == Repository(root)


def test_linked_working_trees_are_trees_and_nested_ones_are_left_alone(tmp_path, repositories):
    root = make_repository(tmp_path / "my-app", {"README.md": "shared"})
    run_git(root, "worktree", "add", "-q", "-b", "x", str(tmp_path / "wt"))
    run_git(root, "worktree", "add", "-q", "-b", "y", str(root / ".claude" / "worktrees" / "otter"))
    run_git(root, "worktree", "add", "-q", "-b", "z", str(tmp_path / "gone"))
    shutil.rmtree(tmp_path / "gone")
    found = mine(root, repositories)
    assert shown(found) == {"my-app": ["README.md"]}
    assert [skip.path for skip in found.trees[0].skipped] == [".claude/worktrees/otter"]
    linked = mine(tmp_path / "wt", repositories)
    assert shown(linked) == {"wt": ["README.md"]}
    assert linked.trees[0].repository.commit == found.trees[0].repository.commit
    assert [entry.tracked for entry in linked.trees[0].files] == [True]
    # Added by mistake, a nested tree would pass for a submodule.
    run_git(root, "-c", "advice.addEmbeddedRepo=false", "add", "-A")
    assert GitRepositories().list_tree(repositories.find(root)).nested == (
        ".claude/worktrees/otter",
    )


def test_a_sha256_repository_names_its_blobs_by_sha256(tmp_path, repositories):
    root = make_repository(tmp_path / "tree", {"a.md": "a"}, "--object-format=sha256")
    found = repositories.find(root)
    assert found.object_format == "sha256"
    assert len(found.commit) == 64
    assert shown(mine(root, repositories)) == {"tree": ["a.md"]}


def test_a_name_with_a_line_end_is_no_trouble(tmp_path, repositories):
    root = make_repository(tmp_path / ("x\n" + "a" * 40), {"a\nb.md": "a"})
    found = mine(root, repositories)
    assert found.trees[0].repository.commit == run_git(root, "rev-parse", "HEAD").strip()
    assert shown(found) == {root.name: ["a\nb.md"]}


def test_a_folder_that_only_is_called_git_is_passed_over(tmp_path, repositories):
    root = make_repository(tmp_path / "tree", {"in/a.md": "a"})
    (root / "in" / ".git").mkdir()
    assert repositories.find(root / "in").root == root
    assert shown(mine(root, repositories)) == {"tree": ["in/a.md"]}


def test_settings_that_git_cannot_read_cost_the_git_data_only(tmp_path):
    root = make_repository(tmp_path / "tree", {"a.md": "a"})
    with (root / ".git" / "config").open("a") as file:
        file.write("[broken\n")
    repositories = GitRepositories()
    assert "bad config" in only_notice(repositories.find(root))
    assert shown(mine(root, repositories)) == {"tree": ["a.md"]}


def test_a_damaged_index_or_object_is_no_error(tmp_path, repositories):
    root = make_repository(tmp_path / "tree", {"a.md": "a"})
    found = repositories.find(root)
    blob = hash_blob(root, "a.md")
    for path in (root / ".git" / "objects").glob("??/*"):
        path.chmod(0o600)
        path.write_bytes(b"damaged")
    (root / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\7damaged")
    assert repositories.find_blob(found, blob) is None
    assert repositories.tracked_paths(found) == frozenset()
    assert shown(mine(root, repositories)) == {"tree": ["a.md"]}


def test_a_rule_file_that_never_ends_is_given_up(tmp_path):
    root = make_repository(tmp_path / "tree", {"a.md": "a"})
    os.mkfifo(root / ".gitignore")
    repositories = GitRepositories(timeout=0.3)
    found = mine(root, repositories)
    assert shown(found) == {"tree": ["a.md"]}
    assert found.notices[0] == f"git did not list {root}: mempal read its ignore rules"


def test_git_is_looked_for_in_absolute_places_only(tmp_path, monkeypatch):
    planted = write_files(tmp_path, {"git": "#!/bin/sh\ntouch ran\n"}) / "git"
    planted.chmod(0o755)
    make_repository(tmp_path / "tree", {"a.md": "a"})
    monkeypatch.chdir(tmp_path)
    for search_path in (".", "", ":.", "tree/.."):
        found = GitRepositories({**os.environ, "PATH": search_path}).find(tmp_path / "tree")
        assert "git is not installed" in only_notice(found)
    assert not (tmp_path / "ran").exists()


def test_the_program_is_described_when_there_is_one(monkeypatch):
    assert describe_git().startswith("git version ")
    monkeypatch.setenv("PATH", NO_GIT["PATH"])
    assert describe_git() is None


@pytest.mark.parametrize("place", [".config/git/ignore", "named"])
def test_rules_for_all_trees_hold_everywhere(tmp_path, isolation, repositories, place):
    file = write_files(isolation.home, {place: "*.swp\n"}) / place
    if place == "named":
        run_git(isolation.home, "config", "--global", "core.excludesFile", "~/named")
    assert repositories.excludes_file(None) == [file]
    files = {"a.md": "a", "b.swp": "b", "c.tmp": "c", "d/e.swp": ""}
    root = make_repository(tmp_path / "tree", files)
    write_files(root, {".git/info/exclude": "*.tmp\n", "new.tmp": "", "new.swp": ""})
    assert repositories.excludes_file(repositories.find(root)) == [
        file,
        root / ".git" / "info" / "exclude",
    ]
    outside = write_files(tmp_path / "outside", files)
    assert shown(mine(outside, repositories)) == {"outside": ["a.md", "c.tmp"]}
    found = mine(root, repositories)
    assert shown(found) == {"tree": ["a.md", "c.tmp"]}  # c.tmp was committed before
    excluded = {skip.path: skip.reason for skip in found.trees[0].excluded}
    assert excluded["new.tmp"] == "ignored by .git/info/exclude:1 *.tmp"
    assert excluded["new.swp"] == f"ignored by {file}:1 *.swp"


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_tracked_paths_are_read_from_every_kind_of_index(tmp_path, version, object_format):
    names = ["a.md", "b/a.md", "b/ab.md", os.fsdecode(b"b/\xe9"), "x" * 200 + "/" + "y" * 250, "z"]
    root = make_repository(
        tmp_path / "tree", dict.fromkeys(names, ""), f"--object-format={object_format}"
    )
    run_git(root, "update-index", f"--index-version={version}")
    if version == 3:  # written only when an entry has a flag of that version
        run_git(root, "update-index", "--skip-worktree", "b/a.md")
    index = (root / ".git" / "index").read_bytes()
    assert index[:8] == b"DIRC" + version.to_bytes(4, "big")
    repositories = GitRepositories({**os.environ, **NO_GIT})
    assert repositories.tracked_paths(repositories.find(root)) == frozenset(names)
    # Cut short anywhere, it is no index, and never an error.
    for size in range(0, len(index) - 20, 7):
        (root / ".git" / "index").write_bytes(index[:size])
        assert repositories.tracked_paths(repositories.find(root)) in (set(), set(names))


def test_an_index_in_two_files_is_not_half_believed(tmp_path):
    root = make_repository(tmp_path / "tree", {"a.md": "a"})
    run_git(root, "update-index", "--split-index")
    write_files(root, {"b.md": "b"})
    run_git(root, "add", "b.md")
    repositories = GitRepositories({**os.environ, **NO_GIT})
    assert repositories.tracked_paths(repositories.find(root)) == frozenset()
