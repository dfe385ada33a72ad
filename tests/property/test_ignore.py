"""Ignore rules and walking compared with git itself, on rules and trees nobody thought of."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mempal.adapters.git import GitRepositories
from mempal.ingest.ignore import RuleSet, read_rules
from mempal.ingest.walk import WalkRules, walk
from tests.repositories import NO_GIT, list_shown, run_git, write_files

_FOLDERS = ("a", "b", "ab", "x y", "build")
_NAMES = (
    *("c", "abc", "a.b", "foo.log", "x ", "é", "[a]", "a]", "-a", "a-b", "!b", "#c", "a\\b", "A"),
    *("0", "a\nb", "**", ":", "^a", "z\t", "ab\n"),
)
_PIECES = (
    *("a", "b", "c", "ab", "foo", "log", "build", "x", "é", "0", "A", "."),
    *("*", "*", "**", "***", "?", "/", "/", "**/", "/**", "/*/", "\\", "\\*", "\\/", "\\ ", " "),
    *(
        "!",
        "#",
        "-",
        "]",
        "[",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-c]",
        "[]-]",
        "[!]a]",
        "[a\\]b]",
        "[z-a]",
    ),
    *("[[:alpha:]]", "[[:space:]]", "[[:digit:][:upper:]]", "[[:foo:]]", "[[:alpha:]", "[a-", "[["),
    *("[[a]", "[[:]", "[--a]", "[a--]", "[\\a-\\c]", "[a-[:alpha:]]", "\t", "\r", ":", "^"),
)
_rules = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "", "!", "/", "!/"]),
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map("".join),
    st.sampled_from(["", "", "/", " "]),
)
_files = st.builds(
    lambda mark, end, lines: mark + end.join(lines),
    st.sampled_from(["", "", "\ufeff"]),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.lists(_rules, max_size=4),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository without rules: every name in every folder, three levels deep."""
    root = tmp_path_factory.mktemp("tree")
    inner = {f"{name}/{file}": "" for name in ("a", "b") for file in ("c", "abc", "foo.log", "x ")}
    outer = {f"{folder}/{name}": "" for folder in _FOLDERS for name in (*inner, *_NAMES[:9])}
    write_files(root, outer | dict.fromkeys(_NAMES, ""))
    run_git(root, "init", "-q")
    return root


def _ask_git(root: Path, paths: list[str]) -> dict[str, str]:
    """Return the rule that excludes each path, as git tells it."""
    given_paths = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
    done = subprocess.run(
        ["git", "check-ignore", "-v", "-z", "--stdin"],
        cwd=root,
        input=given_paths,
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    fields = os.fsdecode(done.stdout).split("\0")[:-1]
    rows = zip(*(fields[start::4] for start in range(4)), strict=True)
    return {
        path.removeprefix("./"): f"ignored by {origin}:{line} {text}"
        for origin, line, text, path in rows
        if not text.startswith("!")
    }


def _ask_rules(root: Path) -> tuple[list[str], dict[str, str]]:
    """Return all paths and the rule that excludes each."""
    paths: list[str] = []
    reasons: dict[str, str] = {}

    def visit(folder: str, rules: RuleSet) -> None:
        if (root / folder / ".gitignore").exists():
            name = f"{folder}/.gitignore".removeprefix("/")
            rules = rules.joined(folder, read_rules(root / name, name))
        for entry in os.scandir(root / folder):
            path = f"{folder}/{entry.name}".removeprefix("/")
            if path == ".git":
                continue
            rule = rules.find_exclusion(path, is_folder=entry.is_dir())
            if rule is not None:
                reasons[path] = rule.reason
            paths.append(path)
            if entry.is_dir():
                visit(path, rules if rule is None else rules.closed_by(rule))

    visit("", RuleSet())
    return paths, reasons


@settings(max_examples=100)  # each runs git
@given(outer=_files, inner=_files)
@example(outer="build\n!build/a.b", inner="")
@example(outer="*\n!a/\n!a/**", inner="!*")
@example(outer="a**/c", inner="/b/\n!c")
def test_every_path_is_decided_by_the_rule_that_git_names(tree, outer, inner):
    (tree / ".gitignore").write_bytes(outer.encode())
    (tree / "a" / ".gitignore").write_bytes(inner.encode())
    paths, reasons = _ask_rules(tree)
    assert reasons == _ask_git(tree, paths)


_paths = st.lists(st.sampled_from((*_FOLDERS, *_NAMES)), min_size=1, max_size=4).map("/".join)


def _build(root: Path, paths: list[str], rules: list[str], forced: list[bool]) -> None:
    """Make a repository of the paths that fit together, some rule files, and forced additions."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    run_git(root, "init", "-q")
    for path in paths:
        parents = [str(parent) for parent in Path(path).parents][:-1]
        if not (root / path).exists() and not any((root / name).is_file() for name in parents):
            write_files(root, {path: path})
    folders = sorted(folder for folder in root.rglob("*") if folder.is_dir() and _is_ours(folder))
    for folder, text in zip([root, *folders], rules, strict=False):
        (folder / ".gitignore").write_bytes(text.encode())
    present = [path for path in paths if (root / path).is_file()]
    added = [path for path, force in zip(present, forced, strict=False) if force]
    if added:
        run_git(root, "--literal-pathspecs", "add", "-f", "--", *added)


def _is_ours(path: Path) -> bool:
    return ".git" not in path.parts


@settings(max_examples=40)  # each runs git some ten times
@given(
    paths=st.lists(_paths, min_size=1, max_size=10),
    rules=st.lists(_files, max_size=3),
    forced=st.lists(st.booleans(), max_size=10),
)
def test_walking_shows_what_git_shows_and_accounts_for_every_file(
    tmp_path_factory, paths, rules, forced
):
    root = tmp_path_factory.getbasetemp() / "random-tree"
    _build(root, paths, rules, forced)
    shown = [path for path in list_shown(root) if (root / path).is_file()]
    walks = [
        walk(root, repositories, WalkRules())
        for repositories in (GitRepositories(), GitRepositories({**os.environ, **NO_GIT}))
    ]
    on_disk = sorted(
        file.relative_to(root).as_posix()
        for file in root.rglob("*")
        if file.is_file() and _is_ours(file.relative_to(root))
    )
    for (tree,) in (found.trees for found in walks):
        listed = [entry.path for entry in tree.files]
        assert listed == shown
        left_out = [skip.path for skip in (*tree.skipped, *tree.excluded)]
        for path in on_disk:
            covered = [name for name in left_out if name == path or path.startswith(f"{name}/")]
            assert len(covered) + (path in listed) == 1, (path, covered)
    with_git, without_git = (found.trees[0] for found in walks)
    assert with_git.files == without_git.files  # tracked or not included
    assert with_git.skipped == without_git.skipped
    assert with_git.excluded == without_git.excluded  # the same rules named
