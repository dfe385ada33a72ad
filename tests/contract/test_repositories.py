"""What every implementation of the port ``Repositories`` promises."""

import hashlib
from pathlib import Path

import pytest

from mempal.adapters.git import GitRepositories
from mempal.core.commits import Commit
from mempal.core.errors import UsageError
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


# The history the next tests stand on: subject of each commit, and those of its parents.
_HISTORY = (
    ("first", ()),
    ("side", ("first",)),
    ("second", ("first",)),
    ("join", ("side", "second")),
)
_INSTANT = 1_600_000_000_000


def _commit_history(folder: Path) -> tuple[Path, dict[str, str]]:
    """Make a repository of that history, a day between commits; return its root and ids."""
    run_git(folder, "init", "-q", "told")
    root = folder / "told"
    ids: dict[str, str] = {}
    tree = run_git(root, "write-tree").strip()
    for number, (subject, parents) in enumerate(_HISTORY):
        options = [option for parent in parents for option in ("-p", ids[parent])]
        date = f"@{_INSTANT // 1000 + number * 86_400} +0000"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GIT_AUTHOR_DATE", date)
            patch.setenv("GIT_COMMITTER_DATE", date)
            ids[subject] = run_git(root, "commit-tree", *options, "-m", subject, tree).strip()
    run_git(root, "update-ref", "HEAD", ids["join"])
    return root, ids


def _told_by_git(folder: Path) -> tuple[Repositories, Path, dict[str, str]]:
    return GitRepositories(), *_commit_history(folder)


def _told_in_memory(folder: Path) -> tuple[Repositories, Path, dict[str, str]]:
    ids = {subject: hashlib.sha1(subject.encode()).hexdigest() for subject, _ in _HISTORY}  # noqa: S324
    instants = range(_INSTANT, _INSTANT + 10**10, 86_400_000)
    commits = [
        Commit(
            sha=ids[subject],
            parents=tuple(ids[parent] for parent in parents),
            author="Ada Tester",
            authored_at=instant,
            committed_at=instant,
            subject=subject,
        )
        for (subject, parents), instant in zip(_HISTORY, instants, strict=False)
    ]
    root = write_files(folder / "told", {})
    known = MemoryRepositories()
    known.add(Repository(root, commit=ids["join"]), commits=commits)
    return known, root, ids


@pytest.fixture(params=[_told_by_git, _told_in_memory])
def told(request: pytest.FixtureRequest, tmp_path: Path):
    return request.param(tmp_path)


def _list(told, since: str | None = None, after: str | None = None) -> tuple[bool, list[str]]:
    repositories, root, _ = told
    listing = repositories.list_commits(repositories.find(root), since, after)
    assert listing is not None
    assert listing.notices == ()
    return listing.complete, [commit.subject for commit in listing.commits]


def test_each_commit_is_listed_once_after_its_parents(told):
    repositories, root, ids = told
    commits = list(repositories.list_commits(repositories.find(root), None, None).commits)
    assert sorted(commit.sha for commit in commits) == sorted(ids.values())
    seen: set[str] = set()
    for commit in commits:
        assert seen.issuperset(commit.parents)
        seen.add(commit.sha)
        assert commit.author == "Ada Tester"
        assert commit.authored_at == commit.committed_at
    assert commits[0] == Commit(
        ids["first"], (), "Ada Tester", _INSTANT, _INSTANT, "first", file_count=0
    )


def test_behind_a_known_commit_only_what_it_is_not_made_of_is_listed(told):
    ids = told[2]
    assert _list(told, after=ids["join"]) == (False, [])
    assert _list(told, after=ids["second"]) == (False, ["side", "join"])
    assert _list(told, after=ids["side"]) == (False, ["second", "join"])


@pytest.mark.parametrize("after", ["", "f" * 40, "HEAD", "join"])
def test_behind_an_unknown_commit_the_listing_is_complete(told, after):
    complete, listed = _list(told, after=after)
    assert complete
    assert len(listed) == len(_HISTORY)


def test_since_leaves_out_what_a_revision_is_made_of_and_what_is_older(told):
    ids = told[2]
    assert _list(told, since=ids["side"]) == (True, ["second", "join"])
    assert _list(told, since="2020-09-15") == (True, ["second", "join"])  # third and fourth day
    assert _list(told, since="2020-09-15", after=ids["second"]) == (False, ["join"])
    assert _list(told, since="2100-01-01") == (True, [])


@pytest.mark.parametrize("since", ["", "neither", "--all", "f" * 40])
def test_since_that_is_neither_revision_nor_date_is_refused(told, since):
    repositories, root, _ = told
    with pytest.raises(UsageError, match="neither a revision nor a date") as caught:
        repositories.list_commits(repositories.find(root), since, None)
    assert caught.value.hint


def test_no_history_is_told_of_another_commit(told):
    repositories, root, _ = told
    for commit in (None, "f" * 40):
        assert repositories.list_commits(Repository(root, commit), None, None) is None
