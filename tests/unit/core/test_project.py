"""Which project a folder belongs to."""

import pytest

from mempal.core.project import default_wing, find_git_root


@pytest.fixture
def tree(tmp_path):
    for folder in ("app/.git", "app/src/deep", "plain/sub", "worktree/src"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "worktree/.git").write_text("gitdir: elsewhere\n", "utf-8")
    (tmp_path / "app/file.py").touch()
    (tmp_path / "plain/file.py").touch()
    (tmp_path / "alias").symlink_to("app/src")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("app", "app"),
        ("app/src/deep", "app"),
        ("app/src/../src/.", "app"),
        ("alias", "app"),
        ("app/file.py", "app"),
        ("app/missing/below", "app"),
        ("worktree/src", "worktree"),
        ("plain/sub", None),
    ],
)
def test_the_root_is_the_nearest_folder_with_git(tree, path, root):
    assert find_git_root(tree / path) == (tree / root if root else None)


@pytest.mark.parametrize(
    ("path", "wing"),
    [
        ("app/src/deep", "app"),
        ("alias", "app"),
        ("worktree", "worktree"),
        ("plain/sub", "sub"),
        ("plain/file.py", "plain"),
        ("/", "default"),
    ],
)
def test_the_wing_is_named_after_the_project(tree, path, wing):
    assert default_wing(tree / path) == wing
