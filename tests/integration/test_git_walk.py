"""Walking real repositories: the files git shows, and the rule behind each one it hides."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mempal.adapters.git import GitRepositories
from mempal.ingest.walk import Tree, WalkRules, walk
from tests.repositories import (
    NO_GIT,
    commit_all,
    hash_blob,
    list_shown,
    make_repository,
    run_git,
    write_files,
)

# The rules and names of a report in which home-made matchers and git disagreed.
_RULES = {
    ".gitignore": (
        "*.log\n!keep.log\nbuild\n!/foo/build\n!build/rescue.txt\n/only-root.txt\ndocs/*\n"
        "!docs/keep/\nspaced\\ \ntrail   \n\\#hash.md\n\\!bang.md\n**/tmp/**\na/**/z.md\n"
        "[Tt]humbs.md\nnode_modules/\n*.py[co]\n"
    ),
    "crlf/.gitignore": "*.bak\r\n!wanted.bak\r\n",
    "nested/.gitignore": "*\n!.gitignore\n!deep/\n!deep/**\n",
    "over/.gitignore": "!special.log\n",
}
_NAMES = (
    *("app.log", "keep.log", "over/special.log", "over/other.log", "build/rescue.txt"),
    *("foo/build/bar.py", "sub/build/x.py", "only-root.txt", "sub/only-root.txt", "docs/drop.md"),
    *("docs/keep/stay.md", "docs/keep/more/stay2.md", "spaced ", "trail", "#hash.md", "!bang.md"),
    *("p/tmp/q/r.md", "a/z.md", "a/b/c/z.md", "a/b/c/y.md", "thumbs.md", "Thumbs.md"),
    *("thumbs2.md", "lib/node_modules/m/readme.md", "mod.pyc", "mod.pyx", "crlf/old.bak"),
    *("crlf/wanted.bak", "nested/drop.md", "nested/deep/stay.md", "nested/deep/er/stay.md"),
    *("README.md", "src/main.py"),
)


@pytest.fixture(params=["git", "no git"])
def repositories(request: pytest.FixtureRequest, isolation: object) -> GitRepositories:
    if request.param == "git":
        return GitRepositories()
    return GitRepositories({**os.environ, **NO_GIT})


def mine(root: Path, repositories: GitRepositories, **rules: bool) -> Tree:
    (tree,) = walk(root, repositories, WalkRules(**rules)).trees
    return tree


def paths(tree: Tree) -> list[str]:
    return [entry.path for entry in tree.files]


def reasons(tree: Tree) -> dict[str, str]:
    skips = (*tree.skipped, *tree.excluded)
    assert len({skip.path for skip in skips}) == len(skips)
    return {skip.path: skip.reason for skip in skips}


def test_negation_anchors_escapes_and_line_ends_are_read_as_git_reads_them(tmp_path, repositories):
    root = write_files(tmp_path / "repo", dict.fromkeys(_NAMES, "x\n"))
    write_files(root, _RULES)
    run_git(root, "init", "-q")
    expected = list_shown(root)
    assert 10 < len(expected) < len(_NAMES)
    tree = mine(root, repositories)
    assert paths(tree) == expected
    named = reasons(tree)
    hidden = set(_NAMES) - set(expected)
    assert all(
        path in named or any(path.startswith(f"{name}/") for name in named) for path in hidden
    )
    assert named["build"] == "ignored by .gitignore:3 build"
    assert named["crlf/old.bak"] == "ignored by crlf/.gitignore:1 *.bak"
    assert named["spaced "] == "ignored by .gitignore:9 spaced\\ "
    (root / ".git").rename(tmp_path / "away")
    assert paths(mine(root, repositories)) == expected


def test_tracked_files_are_shown_whatever_rules_say(tmp_path, repositories):
    root = make_repository(tmp_path / "tree", {"a.log": "", "out/kept.md": "", "b.md": ""})
    write_files(
        root, {".gitignore": "*.log\nout/\n", "new.log": "", "out/new.md": "", "out/in/x": ""}
    )
    tree = mine(root, repositories)
    assert paths(tree) == [".gitignore", "a.log", "b.md", "out/kept.md"]
    assert paths(tree) == list_shown(root)
    assert reasons(tree) == {
        ".git": "git's own data",
        "new.log": "ignored by .gitignore:1 *.log",
        "out/in": "ignored by .gitignore:2 out/",
        "out/new.md": "ignored by .gitignore:2 out/",
    }


def test_what_is_tracked_but_not_there_is_dropped(tmp_path, repositories):
    files = {"gone.md": "", "dir/gone.md": "", "sparse/x.md": "", "here.md": ""}
    root = make_repository(tmp_path / "tree", files)
    (root / "gone.md").unlink()
    (root / "dir" / "gone.md").unlink()
    run_git(root, "sparse-checkout", "set", "--no-cone", "/*", "!/sparse/")
    assert paths(mine(root, repositories)) == ["here.md"]


def test_names_that_git_could_misread_are_data(tmp_path, repositories):
    names = [
        *(":x.md", ":(top)y.md", ":!z.md", "-rf.md", "--all", "new\nline.md", "a\\b.md", '"q".md'),
        *("*.md", "[a].md", "trailing ", "\x1b[1m.md", "é.md", "e\u0301.md"),
        os.fsdecode(b"caf\xe9.md"),
    ]
    root = make_repository(tmp_path / "tree", {f"tracked/{name}": name for name in names})
    write_files(root, {f"new/{name}": name for name in names})
    write_files(root, {f"hidden/{name}": name for name in names})
    write_files(root, {".gitignore": "hidden/*\n"})
    tree = mine(root, repositories)
    expected = [".gitignore", *(f"new/{name}" for name in names)]
    assert paths(tree) == sorted([*expected, *(f"tracked/{name}" for name in names)])
    hidden = {f"hidden/{name}": "ignored by .gitignore:1 hidden/*" for name in names}
    assert reasons(tree) == hidden | {".git": "git's own data"}
    assert all(entry.tracked == entry.path.startswith("tracked/") for entry in tree.files)


def test_a_tracked_name_that_cannot_be_decoded_opens_its_file(tmp_path, repositories):
    name = os.fsdecode(b"caf\xe9.md")
    root = make_repository(tmp_path / "tree", {name: "coffee"})
    (entry,) = mine(root, repositories).files
    assert (entry.path, entry.tracked) == (name, True)
    assert entry.absolute.read_text() == "coffee"
    found = repositories.find(root)
    assert repositories.find_blob(found, hash_blob(root, name)) == name


def test_a_folder_that_became_a_link_leads_nowhere(tmp_path, repositories):
    root = make_repository(tmp_path / "tree", {"dir/a.md": "a", "b.md": "b"})
    write_files(tmp_path / "outside", {"a.md": "secret"})
    (root / "dir" / "a.md").unlink()
    (root / "dir").rmdir()
    (root / "dir").symlink_to("../outside")
    tree = mine(root, repositories)
    assert paths(tree) == ["b.md"]
    assert reasons(tree)["dir"] == "symlink out of the tree"


def test_special_entries_and_other_repositories_have_reasons(tmp_path, repositories):
    root = make_repository(tmp_path / "tree", {"a.md": "a", "link-kept": "x"})
    (root / "link-kept").unlink()
    (root / "link-kept").symlink_to("a.md")
    commit_all(root)
    os.mkfifo(root / "pipe")
    make_repository(root / "nested", {"n.md": "n"})
    run_git(root, "init", "-q", "unborn")
    run_git(root, "init", "-q", "--bare", "data/bare.git")
    run_git(root, "init", "-q", "out/nested")
    write_files(root, {".gitignore": "out/\n"})
    tree = mine(root, repositories)
    assert paths(tree) == [".gitignore", "a.md"]
    assert reasons(tree) == {
        ".git": "git's own data",
        "data/bare.git": "bare git repository",
        "link-kept": "symlink to another file here",
        "nested": "another git repository",
        "out": "ignored by .gitignore:1 out/",
        "pipe": "named pipe",
        "unborn": "another git repository",
    }


def test_a_bare_repository_that_is_tracked_is_test_data(tmp_path, repositories):
    root = write_files(tmp_path / "tree", {"a.md": "a"})
    run_git(root, "init", "-q")
    run_git(root, "init", "-q", "--bare", "--template=", "data/bare.git")
    write_files(root, {"data/bare.git/refs/keep": "", "data/bare.git/objects/keep": ""})
    run_git(root, "add", "-A")
    assert "data/bare.git/HEAD" in paths(mine(root, repositories))


def test_a_folder_of_a_repository_shares_its_sources_with_the_whole(tmp_path, repositories):
    root = make_repository(tmp_path / "tree", {"a.md": "a", "src/b.md": "b", "src/in/c.md": "c"})
    write_files(root, {".gitignore": "*.log\n", "src/d.log": "", "e.log": ""})
    tree = mine(root / "src", repositories)
    assert (tree.root, paths(tree)) == (root, ["src/b.md", "src/in/c.md"])
    assert reasons(tree) == {"src/d.log": "ignored by .gitignore:1 *.log"}
    assert set(tree.files) < set(mine(root, repositories).files)


@pytest.mark.parametrize("rule", ["out/", "*"])
def test_what_is_named_is_mined_though_git_ignores_it(tmp_path, repositories, rule):
    root = make_repository(tmp_path / "tree", {"a.md": "a"})
    write_files(root, {"out/b.md": "b", "out/in/c.md": "c", "out/.gitignore": "*.tmp\n"})
    write_files(root, {"out/d.tmp": "", ".gitignore": f"{rule}\n"})
    tree = mine(root / "out", repositories)
    assert (tree.root, paths(tree)) == (root, ["out/.gitignore", "out/b.md", "out/in/c.md"])
    assert paths(mine(root / "out" / "in", repositories)) == ["out/in/c.md"]
    assert paths(mine(root / "out" / "d.tmp", repositories)) == ["out/d.tmp"]


def test_without_gitignore_ignored_files_are_shown_too(tmp_path, repositories):
    root = make_repository(tmp_path / "tree", {"a.md": "a", "target/own.md": "t"})
    write_files(root, {".gitignore": "*\n", "b.log": "", "node_modules/m.md": "", "target/x": ""})
    make_repository(root / "nested", {"n.md": "n"})
    tree = mine(root, repositories, use_gitignore=False)
    assert paths(tree) == [".gitignore", "a.md", "b.log", "target/own.md", "target/x"]
    assert [entry.path for entry in tree.files if entry.tracked] == ["a.md", "target/own.md"]
    assert set(reasons(tree)) == {".git", "nested", "node_modules"}


def test_one_look_costs_four_processes_and_no_python_package(tmp_path):
    root = make_repository(tmp_path / "tree", {"a.md": "a", ".gitignore": "*.log\n"})
    write_files(root, {"b.log": ""})
    code = (
        "import subprocess, sys\n"
        "from pathlib import Path\n"
        "from mempal.adapters.git import GitRepositories\n"
        "from mempal.ingest.walk import WalkRules, walk\n"
        "calls, run = [], subprocess.run\n"
        "subprocess.run = lambda *given, **named: calls.append(given) or run(*given, **named)\n"
        "(tree,) = walk(Path(sys.argv[1]), GitRepositories(), WalkRules()).trees\n"
        "print(len(tree.files), len(calls), {'git', 'gitdb', 'pathspec'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, root], capture_output=True, check=True, text=True
    )
    assert done.stdout == "2 4 set()\n"


def test_outside_of_a_repository_nothing_is_asked_about_one(tmp_path):
    root = write_files(tmp_path / "tree", {"a.md": "a"})
    repositories = GitRepositories()
    assert repositories.find(root) is None
    assert mine(root, repositories).repository is None
