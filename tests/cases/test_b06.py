"""What is mined is what git shows, to the last odd rule.

Matchers written by hand, and good libraries too, disagree with git about parents, negation, blanks
and classes (MemPalace/mempalace#102, psf/black#3228 and #2084, cpburnz/python-pathspec#129,
libgit2/libgit2#7283).
"""

from pathlib import Path

import pytest

from tests.cases.support import mine, open_at
from tests.repositories import NO_GIT, commit_all, list_shown, run_git, write_files

RULES = {
    ".gitignore": "*.log\n!keep.log\nbuild\n!/foo/build\n!build/rescue.txt\n/only-root.txt\n"
    "docs/*\n!docs/keep/\nspaced\\ \ntrail   \n\\#hash.md\n\\!bang.md\n**/tmp/**\na/**/z.md\n"
    "[Tt]humbs.md\nnode_modules/\n*.py[co]\n",
    "crlf/.gitignore": "*.bak\r\n!wanted.bak\r\n",
    "nested/.gitignore": "*\n!.gitignore\n!deep/\n!deep/**\n",
    "over/.gitignore": "!special.log\n",
}
FILES = (
    *("app.log", "keep.log", "over/special.log", "over/other.log", "build/rescue.txt"),
    *("foo/build/bar.py", "sub/build/x.py", "only-root.txt", "sub/only-root.txt", "docs/drop.md"),
    *("docs/keep/stay.md", "docs/keep/more/stay2.md", "spaced ", "trail", "#hash.md", "!bang.md"),
    *("p/tmp/q/r.md", "a/z.md", "a/b/c/z.md", "a/b/c/y.md", "thumbs.md", "Thumbs.md"),
    *("thumbs2.md", "lib/node_modules/m/readme.md", "mod.pyc", "mod.pyx", "crlf/old.bak"),
    *("crlf/wanted.bak", "nested/drop.md", "nested/deep/stay.md", "nested/deep/er/stay.md"),
    *("README.md", "src/main.py"),
)


def build(root: Path, rules: dict[str, str | bytes], files: tuple[str, ...]) -> Path:
    write_files(root, {name: f"zqnarwhal body of {name}\n" for name in files})
    write_files(root, rules)
    run_git(root, "init", "-q")
    return root


@pytest.mark.parametrize("env", [None, NO_GIT], ids=["git", "no git"])
def test_what_is_mined_is_what_git_shows(mempal, isolation, tmp_path, env):
    root = build(tmp_path / "repo", RULES, FILES)
    report = mempal("mine", root, "--dry-run", "--json", env=env).json
    assert sorted(report["mined_files"]) == list_shown(root)
    assert len(report["mined_files"]) == 18
    excluded = {skip["path"]: skip["reason"] for skip in report["excluded"]}
    assert "*.log" in excluded["app.log"]
    assert "build" in excluded
    assert not isolation.palace.exists()


SIBLINGS = {
    "classes and wildcards": (
        {".gitignore": "foo[!a-c].md\n*.[oO]\na?c/\n/**/x.md\nd/**\n!d/keep.md\n\\*star.md\n[\n"},
        *("fooa.md", "food.md", "m.o", "m.O", "abc/y.md", "a/c/y.md", "x.md", "p/q/x.md"),
        *("d/e.md", "d/keep.md", "*star.md", "tstar.md", "[", "ab.md"),
    ),
    "a mark, blanks and comments": (
        {
            ".gitignore": b"\xef\xbb\xbffirst.md\n\n   \n# second.md\n"
            b"third.md \\\n\tfourth.md\n!\n/\n"
        },
        *("first.md", "second.md", "third.md ", "third.md", "fourth.md", "fifth.md"),
    ),
    "names beyond ASCII": (
        {".gitignore": "größe/\n決*\n*.[é]\n"},
        *("größe/a.md", "決定.md", "a.é", "a.e", "gr/a.md"),
    ),
    "folders only, and files of their name": (
        {".gitignore": "out/\nfoo/*\n!foo/bar\nfoo/bar/*\n!foo/bar/baz\n"},
        *("out", "sub/out/a.md", "foo/x", "foo/bar/x", "foo/bar/baz/y"),
    ),
    "a rule deeper takes back a rule above": (
        {".gitignore": "*.tmp\n", "s/.gitignore": "!*.tmp\n", "s/t/.gitignore": "b.tmp\n"},
        *("a.tmp", "s/a.tmp", "s/t/a.tmp", "s/t/b.tmp", "s/u/b.tmp"),
    ),
    "everything but": (
        {".gitignore": "/*\n!/src\n!.gitignore\n/src/*\n!/src/lib\n"},
        *("a.md", "src/a.md", "src/lib/a.md", "src/lib/deep/a.md", "other/src/a.md"),
    ),
}


@pytest.mark.parametrize("name", SIBLINGS)
@pytest.mark.parametrize("has_git", [True, False])
def test_other_rules_are_read_as_git_reads_them(isolation, tmp_path, monkeypatch, name, has_git):
    rules, *files = SIBLINGS[name]
    root = build(tmp_path / "repo", rules, tuple(files))
    expected = list_shown(root)
    if not has_git:
        monkeypatch.setenv("PATH", NO_GIT["PATH"])
    report = mine(open_at(isolation.palace), root, dry_run=True)
    assert sorted(report.mined) == expected
    assert bool(report.warnings) is not has_git


@pytest.mark.parametrize("has_git", [True, False])
def test_rules_beside_the_tree_and_tracked_files_count(isolation, tmp_path, monkeypatch, has_git):
    """Not only ``info/exclude`` and the user's own rules: what is tracked is never ignored."""
    root = build(tmp_path / "repo", {".gitignore": "*.gen\n"}, ("a.md", "kept.gen", "b.priv"))
    run_git(root, "add", "-f", "kept.gen")
    commit_all(root)
    write_files(root, {"new.gen": "x\n", "mine.local": "x\n", "c.glob": "x\n", "d.md": "x\n"})
    write_files(root / ".git" / "info", {"exclude": "*.local\n"})
    write_files(isolation.home / ".config" / "git", {"ignore": "*.glob\n"})
    expected = list_shown(root)
    assert expected == [".gitignore", "a.md", "b.priv", "d.md", "kept.gen"]
    if not has_git:
        monkeypatch.setenv("PATH", NO_GIT["PATH"])
    assert sorted(mine(open_at(isolation.palace), root).mined) == expected


def test_outside_of_git_the_same_rules_hold(isolation, tmp_path):
    root = build(tmp_path / "repo", RULES, FILES)
    expected = [name for name in list_shown(root) if not name.startswith("lib/node_modules/")]
    plain = tmp_path / "plain"
    write_files(plain, RULES)
    write_files(plain, {name: f"body of {name}\n" for name in FILES})
    assert sorted(mine(open_at(isolation.palace), plain).mined) == expected
