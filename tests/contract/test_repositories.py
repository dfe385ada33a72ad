"""What every implementation of the port ``Repositories`` promises."""

import hashlib
from pathlib import Path

import pytest

from mempal.adapters.git import GitRepositories
from mempal.core.model import Repository, Skip, TreeListing
from mempal.core.ports import Repositories
from mempal.testing import MemoryRepositories
from tests.repositories import NO_GIT, make_repository, run_git, write_files

_TRACKED = {"a.md": "one\n", "b/copy.md": "one\n", "b/two.md": "two\n", ".gitignore": "*.log\n"}
_UNTRACKED = {"new.md": "new\n", "b/new.md": "new\n"}
_IGNORED = {"run.log": "log\n"}


def _blob(text: str) -> str:
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _build_tree(folder: Path) -> Path:
    root = make_repository(folder / "tree", _TRACKED)
    write_files(root, _UNTRACKED | _IGNORED)
    make_repository(root / "nested", {"n.md": "n\n"})
    run_git(folder, "init", "-q", "--bare", "bare.git")
    return root


def _with_git(folder: Path) -> tuple[Repositories, Path]:
    return GitRepositories(), _build_tree(folder)


def _without_git(folder: Path) -> tuple[Repositories, Path]:
    return GitRepositories(NO_GIT), _build_tree(folder)


def _in_memory(folder: Path) -> tuple[Repositories, Path]:
    root = write_files(folder / "tree", _TRACKED | _UNTRACKED | _IGNORED | {"nested/n.md": "n\n"})
    known = MemoryRepositories()
    known.add(
        Repository(root, commit="c" * 40),
        TreeListing(
            files=tuple(sorted(_TRACKED | _UNTRACKED)),
            tracked=frozenset(_TRACKED),
            nested=("nested",),
            ignored=(Skip("run.log", "ignored by .gitignore:1 *.log"),),
        ),
        blobs={path: _blob(text) for path, text in _TRACKED.items()},
    )
    (folder / "bare.git").mkdir()
    known.add_bare(folder / "bare.git")
    return known, root


@pytest.fixture(params=[_with_git, _without_git, _in_memory])
def known(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Repositories, Path]:
    return request.param(tmp_path)


def test_any_spelling_of_a_path_finds_one_repository(known, tmp_path):
    repositories, root = known
    (tmp_path / "alias").symlink_to(root)
    found = repositories.find(root)
    assert found is not None
    assert found.root == root
    for path in (root / "b", root / "b" / "two.md", root / "b" / "..", tmp_path / "alias" / "b"):
        assert repositories.find(path) == found


def test_outside_of_any_repository_nothing_is_found(known, tmp_path):
    repositories, root = known
    assert repositories.find(tmp_path) is None
    assert repositories.find(tmp_path / "bare.git") is None
    assert repositories.find(root / "missing") is None


def test_the_commit_is_that_of_head(known):
    repositories, root = known
    found = repositories.find(root)
    assert found.commit is not None
    if not isinstance(repositories, MemoryRepositories):
        assert found.commit == run_git(root, "rev-parse", "HEAD").strip()
    assert found.object_format == "sha1"


def test_a_listing_is_sorted_and_its_parts_are_apart(known):
    repositories, root = known
    listing = repositories.list_tree(repositories.find(root))
    if listing is None:  # no git program: rules decide
        assert repositories.tracked_paths(repositories.find(root)) == frozenset(_TRACKED)
        return
    assert listing.files == tuple(sorted(_TRACKED | _UNTRACKED))
    assert listing.tracked == frozenset(_TRACKED)
    assert listing.nested == ("nested",)
    assert listing.submodules == ()
    assert listing.ignored == (Skip("run.log", "ignored by .gitignore:1 *.log"),)


def test_tracked_paths_are_those_of_the_index(known):
    repositories, root = known
    assert repositories.tracked_paths(repositories.find(root)) == frozenset(_TRACKED)


def test_a_blob_is_found_at_its_first_path(known):
    repositories, root = known
    found = repositories.find(root)
    assert repositories.find_blob(found, _blob("one\n")) == "a.md"
    assert repositories.find_blob(found, _blob("two\n")) == "b/two.md"
    assert repositories.find_blob(found, _blob("new\n")) is None  # not in the commit


@pytest.mark.parametrize("blob", ["", "HEAD", "--all", "0" * 40, "f" * 64, "a.md\n"])
def test_what_is_no_blob_of_the_commit_is_not_found(known, blob):
    repositories, root = known
    assert repositories.find_blob(repositories.find(root), blob) is None


def test_a_blob_is_not_looked_for_before_the_first_commit(known):
    repositories, root = known
    assert repositories.find_blob(Repository(root), _blob("one\n")) is None


def test_bare_repositories_are_told_from_working_trees(known, tmp_path):
    repositories, root = known
    assert repositories.is_bare(tmp_path / "bare.git")
    assert not repositories.is_bare(root)
    assert not repositories.is_bare(root / "b")
    assert not repositories.is_bare(tmp_path / "missing")


def test_ignore_files_that_are_named_exist(known):
    repositories, root = known
    for repository in (None, repositories.find(root)):
        assert all(file.is_file() for file in repositories.excludes_file(repository))
