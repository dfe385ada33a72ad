"""Walking real folders, with what git knows told by a double."""

import os
import socket
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from mempal.core.errors import NotFoundError, SourceError
from mempal.core.model import Repository, Skip, TreeListing
from mempal.ingest import scan
from mempal.ingest.walk import Tree, WalkRules, walk
from mempal.testing import MemoryRepositories
from tests.repositories import write_files


def walk_tree(root: Path, rules: WalkRules | None = None, **options) -> Tree:
    (tree,) = walk(root, MemoryRepositories(), rules or WalkRules(), **options).trees
    return tree


def paths(tree: Tree) -> list[str]:
    return [entry.path for entry in tree.files]


def reasons(skips: tuple[Skip, ...]) -> dict[str, str]:
    assert len({skip.path for skip in skips}) == len(skips)
    return {skip.path: skip.reason for skip in skips}


def test_entries_carry_what_mining_needs(tmp_path):
    write_files(tmp_path, {"b.md": "two\n", "a/c.md": "one"})
    os.utime(tmp_path / "b.md", ns=(5, 1_234_567_890_123_456_789))
    tree = walk_tree(tmp_path)
    assert paths(tree) == ["a/c.md", "b.md"]
    entry = tree.files[1]
    assert entry.absolute == tmp_path / "b.md"
    assert (entry.size, entry.mtime_ns) == (4, 1_234_567_890_123_456_789)
    assert not entry.tracked
    assert (tree.root, tree.repository) == (tmp_path, None)


def test_files_are_in_the_order_of_code_points(tmp_path):
    names = ["a.md", "a/b.md", "a-b.md", "B.md", "é.md", "\U0001f98a.md", "z.md"]
    write_files(tmp_path, dict.fromkeys(names, "x"))
    assert paths(walk_tree(tmp_path)) == sorted(names)


def test_links_pipes_and_loops_end_and_are_named(tmp_path):
    root = write_files(tmp_path / "proj", {"real.md": "real\n", "a/in.md": "in\n"})
    write_files(tmp_path / "outside", {"secret.md": "secret\n"})
    links = {
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
    for name, (target, _) in links.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "events.fifo")
    tree = walk_tree(root)
    assert paths(tree) == ["a/in.md", "real.md"]
    expected = {name: reason for name, (_, reason) in links.items()}
    assert reasons(tree.skipped) == expected | {"events.fifo": "named pipe"}


def test_sockets_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.sock")
        assert reasons(walk_tree(tmp_path).skipped) == {"s.sock": "socket"}


def test_a_folder_that_cannot_be_read_does_not_stop_the_rest(tmp_path, monkeypatch):
    write_files(tmp_path, {"locked/a.md": "a", "open/b.md": "b"})
    real = os.scandir

    def refuse(path):
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(scan.os, "scandir", refuse)
    tree = walk_tree(tmp_path)
    assert paths(tree) == ["open/b.md"]
    assert reasons(tree.skipped) == {"locked": "folder cannot be read: Permission denied"}


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    write_files(tmp_path, {"locked.md": "a", "open.md": "b"})
    monkeypatch.setattr(os, "access", lambda place, _: "locked" not in os.fspath(place))
    tree = walk_tree(tmp_path)
    assert paths(tree) == ["open.md"]
    assert reasons(tree.skipped) == {"locked.md": "file cannot be read: permission denied"}


def test_names_are_data(tmp_path):
    names = [
        *("app/[id]/page.md", 'it\'s "quoted".md', "-rf.md", "new\nline.md", "tab\tname.md"),
        *("trailing space .md", " leading.md", "emoji \U0001f98a.md", "back\\slash.md"),
        *("semi;colon&pipe|.md", "$(touch PWNED).md", "a" * 240 + ".md", "wild*card?.md"),
        unicodedata.normalize("NFC", "r\u00e9sum\u00e9.md"),
        unicodedata.normalize("NFD", "r\u00e9sum\u00e9.md"),
        os.fsdecode(b"caf\xe9.md"),
        "\x1b[31mred.md",
    ]
    root = tmp_path / "my project [v2] (copy)"
    write_files(root, {name: str(index) for index, name in enumerate(names)})
    tree = walk_tree(root)
    assert paths(tree) == sorted(names)
    assert {entry.absolute.read_text() for entry in tree.files} == {
        str(index) for index in range(len(names))
    }


def test_a_very_deep_tree_is_walked(tmp_path):
    deep = "d/" * (sys.getrecursionlimit() + 20)
    subprocess.run(["mkdir", "-p", deep], cwd=tmp_path, check=True)
    (tmp_path / deep / "x.md").write_text("x")
    assert paths(walk_tree(tmp_path)) == [f"{deep}x.md"]
    # Clearing it up as every other test's folder would go down recursively.
    subprocess.run(["rm", "-r", "d"], cwd=tmp_path, check=True)


# --- outside of git ----------------------------------------------------------------------------


def test_rules_hold_outside_of_git_too(tmp_path):
    files = ["a.log", "keep.log", "build/rescue.txt", "sub/b.log", "sub/c.md", "x.md"]
    write_files(tmp_path, dict.fromkeys(files, "x"))
    rules = {".gitignore": "*.log\n!keep.log\nbuild\n!build/rescue.txt\n", "sub/.gitignore": "!*\n"}
    write_files(tmp_path, rules)
    tree = walk_tree(tmp_path)
    assert paths(tree) == [
        ".gitignore",
        "keep.log",
        "sub/.gitignore",
        "sub/b.log",
        "sub/c.md",
        "x.md",
    ]
    assert reasons(tree.excluded) == {
        "a.log": "ignored by .gitignore:1 *.log",
        "build": "ignored by .gitignore:3 build",
    }


def test_global_rules_are_the_weakest(tmp_path):
    excludes = write_files(tmp_path / "home", {"ignore": "*.swp\n*.md\n"}) / "ignore"
    root = write_files(tmp_path / "tree", {"a.swp": "", "b.md": "", ".gitignore": "!b.md\n"})
    known = MemoryRepositories()
    known.add_excludes(excludes)
    (tree,) = walk(root, known, WalkRules()).trees
    assert paths(tree) == [".gitignore", "b.md"]
    assert reasons(tree.excluded) == {"a.swp": f"ignored by {excludes}:1 *.swp"}


def test_copies_and_version_control_are_left_out_and_named(tmp_path):
    folders = ["node_modules", "sub/target", ".hg", "a/.svn"]
    write_files(tmp_path, {f"{folder}/x.md": "x" for folder in folders} | {"target.md": "x"})
    tree = walk_tree(tmp_path)
    assert paths(tree) == ["target.md"]
    assert set(reasons(tree.excluded)) == set(folders)


def test_other_repositories_are_named_and_left_alone(tmp_path):
    write_files(tmp_path, {"nested/.git/HEAD": "ref: refs/heads/main\n", "nested/a.md": "a"})
    write_files(tmp_path, {"linked/.git": "gitdir: /elsewhere\n", "linked/a.md": "a"})
    write_files(tmp_path, {"b.git/HEAD": "ref: refs/heads/main\n", "b.git/objects/x": "x"})
    (tmp_path / "b.git/refs").mkdir()
    write_files(tmp_path, {"empty/a.md": "a"})
    (tmp_path / "empty" / ".git").mkdir()  # not a repository
    tree = walk_tree(tmp_path)
    assert paths(tree) == ["empty/a.md"]
    assert reasons(tree.skipped) == {
        "b.git": "bare git repository",
        "linked": "another git repository",
        "nested": "another git repository",
    }


def test_a_rule_file_that_cannot_be_used_is_a_notice(tmp_path):
    write_files(tmp_path, {"a.md": "a", "rules": "*.md\n"})
    (tmp_path / ".gitignore").symlink_to("rules")
    os.mkfifo(tmp_path / ".mempalignore")
    tree = walk_tree(tmp_path)
    assert paths(tree) == ["a.md", "rules"]
    assert [notice.split(": ")[0] for notice in tree.notices] == [
        f"the rules in {tmp_path / '.gitignore'} do not hold",
        f"the rules in {tmp_path / '.mempalignore'} do not hold",
    ]


# --- mempal's own rules ------------------------------------------------------------------------


def test_mempalignore_holds_at_every_level_relative_to_its_folder(tmp_path):
    write_files(tmp_path, dict.fromkeys(["a.gen", "sub/b.gen", "sub/x", "x", "sub/in/x"], ""))
    write_files(tmp_path, {".mempalignore": "*.gen\n", "sub/.mempalignore": "/x\n!b.gen\n"})
    tree = walk_tree(tmp_path)
    assert paths(tree) == [".mempalignore", "sub/.mempalignore", "sub/b.gen", "sub/in/x", "x"]
    assert reasons(tree.excluded) == {
        "a.gen": "ignored by .mempalignore:1 *.gen",
        "sub/x": "ignored by sub/.mempalignore:1 /x",
    }


def test_families_of_rules_do_not_take_back_each_others(tmp_path):
    write_files(tmp_path, dict.fromkeys(["a.log", "b.gen"], ""))
    write_files(tmp_path, {".gitignore": "*.log\n!b.gen\n", ".mempalignore": "*.gen\n!a.log\n"})
    assert paths(walk_tree(tmp_path)) == [".gitignore", ".mempalignore"]


def test_named_rule_files_are_anchored_at_the_root_and_the_weakest_of_ours(tmp_path):
    rules = write_files(tmp_path / "rules", {"one": "/a.md\n*.txt\n", "two": "!b.txt\n"})
    root = write_files(tmp_path / "tree", dict.fromkeys(["a.md", "sub/a.md", "b.txt", "c.txt"], ""))
    write_files(root, {"d.txt": "", ".mempalignore": "!d.txt\n"})
    named = WalkRules(ignore_files=(rules / "one", rules / "two"))
    tree = walk_tree(root, named)
    assert paths(tree) == [".mempalignore", "b.txt", "d.txt", "sub/a.md"]
    assert reasons(tree.excluded)["c.txt"] == f"ignored by {rules / 'one'}:2 *.txt"
    without = walk_tree(root, WalkRules(use_mempalignore=False, ignore_files=named.ignore_files))
    assert "d.txt" not in paths(without)


def test_each_family_can_be_switched_off(tmp_path):
    write_files(tmp_path, dict.fromkeys(["a.log", "b.gen", "node_modules/c.md"], ""))
    write_files(tmp_path, {".gitignore": "*.log\n", ".mempalignore": "*.gen\n"})
    without_git = walk_tree(tmp_path, WalkRules(use_gitignore=False))
    assert paths(without_git) == [".gitignore", ".mempalignore", "a.log"]
    without_ours = walk_tree(tmp_path, WalkRules(use_mempalignore=False))
    assert paths(without_ours) == [".gitignore", ".mempalignore", "b.gen"]


def test_a_named_rule_file_must_be_readable(tmp_path):
    with pytest.raises(NotFoundError, match="missing"):
        walk_tree(tmp_path, WalkRules(ignore_files=(tmp_path / "missing",)))
    with pytest.raises(SourceError, match="cannot be read"):
        walk_tree(tmp_path, WalkRules(ignore_files=(tmp_path,)))


# --- what is named -----------------------------------------------------------------------------


def test_a_named_file_is_taken_whatever_rules_say(tmp_path):
    write_files(tmp_path, {"node_modules/a.log": "a", ".gitignore": "*.log\n", "b.md": "b"})
    tree = walk_tree(tmp_path / "node_modules" / "a.log")
    assert paths(tree) == ["a.log"]
    assert tree.root == tmp_path / "node_modules"


def test_a_link_that_is_named_stands_for_its_target(tmp_path):
    root = write_files(tmp_path / "real", {"a.md": "a"})
    (tmp_path / "alias").symlink_to("real")
    assert walk_tree(tmp_path / "alias").root == root
    assert walk_tree(tmp_path / "real" / ".." / "alias").root == root


def test_what_is_not_there_is_not_found(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("gone")
    write_files(tmp_path, {"file": ""})
    for name in ("missing", "dangling", "file/below", "nul\0"):
        with pytest.raises(NotFoundError):
            walk_tree(tmp_path / name)
    with pytest.raises(SourceError):
        walk_tree(tmp_path / "loop")


def test_what_holds_nothing_to_mine_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    write_files(tmp_path, {"repo/.git/hooks/h": "", "palace/palace.db": ""})
    known = MemoryRepositories()
    known.add_bare(tmp_path / "bare.git")
    (tmp_path / "bare.git").mkdir()
    for name in ("pipe", "repo/.git", "repo/.git/hooks", "repo/.git/hooks/h", "palace", "bare.git"):
        with pytest.raises(SourceError, match="nothing to mine") as caught:
            walk(tmp_path / name, known, WalkRules(), (tmp_path / "palace",))
        assert caught.value.hint


def test_the_palace_in_the_tree_is_left_out(tmp_path):
    write_files(tmp_path, {"a.md": "a", ".mempal/palace.db": "x"})
    (tmp_path / "alias").symlink_to(tmp_path)
    tree = walk_tree(tmp_path, exclude=(tmp_path / "alias" / ".mempal",))
    assert paths(tree) == ["a.md"]
    assert reasons(tree.excluded) == {".mempal": "mempal's own folder"}


# --- what git says -----------------------------------------------------------------------------


def listed(root: Path, listing: TreeListing | None, *notices: str, **options) -> MemoryRepositories:
    known = MemoryRepositories()
    known.add(Repository(root, commit="c" * 40, notices=notices), listing, **options)
    return known


def test_the_listing_decides_and_what_is_gone_is_dropped(tmp_path):
    write_files(tmp_path, dict.fromkeys(["a.md", "b.md", "c.log", "out/x/y.md"], ""))
    write_files(tmp_path, {".gitignore": "*.md\n"})  # git has read it, not the walk
    listing = TreeListing(
        files=(".gitignore", "a.md", "b.md", "deleted.md"),
        tracked=frozenset({"a.md", "deleted.md"}),
        ignored=(Skip("c.log", "ignored by .gitignore:2 *.log"), Skip("out", "ignored by git")),
    )
    (tree,) = walk(tmp_path, listed(tmp_path, listing), WalkRules()).trees
    assert {entry.path: entry.tracked for entry in tree.files} == {
        ".gitignore": False,
        "a.md": True,
        "b.md": False,
    }
    assert reasons(tree.excluded) == {
        "c.log": "ignored by .gitignore:2 *.log",
        "out": "ignored by git",
    }
    assert tree.skipped == ()


def test_what_git_does_not_speak_of_has_a_reason(tmp_path):
    write_files(tmp_path, {"a.md": "", "late.md": "", "sub/node_modules/x.md": ""})
    os.mkfifo(tmp_path / "pipe")
    listing = TreeListing(("a.md", "sub/node_modules/x.md"), frozenset({"a.md"}))
    (tree,) = walk(tmp_path, listed(tmp_path, listing), WalkRules()).trees
    assert paths(tree) == ["a.md", "sub/node_modules/x.md"]
    assert reasons(tree.skipped) == {"late.md": "not in git's listing", "pipe": "named pipe"}


def test_our_rules_come_on_top_of_gits_and_hold_for_tracked_files(tmp_path):
    write_files(tmp_path, {"a.md": "", "b.md": "", ".mempalignore": "b.md\n"})
    listing = TreeListing((".mempalignore", "a.md", "b.md"), frozenset({"a.md", "b.md"}))
    (tree,) = walk(tmp_path, listed(tmp_path, listing), WalkRules()).trees
    assert paths(tree) == [".mempalignore", "a.md"]


def test_a_folder_of_a_repository_keeps_the_paths_of_the_repository(tmp_path):
    write_files(tmp_path, {"a.md": "", "src/b.md": "", "src/c.gen": "", ".mempalignore": "*.gen\n"})
    listing = TreeListing((".mempalignore", "a.md", "src/b.md", "src/c.gen"), frozenset({"a.md"}))
    (tree,) = walk(tmp_path / "src", listed(tmp_path, listing), WalkRules()).trees
    assert tree.root == tmp_path
    assert paths(tree) == ["src/b.md"]
    assert reasons(tree.excluded) == {"src/c.gen": "ignored by .mempalignore:1 *.gen"}


def test_a_file_of_a_repository_keeps_its_path(tmp_path):
    write_files(tmp_path, {"src/b.md": "b"})
    known = listed(tmp_path, TreeListing(("src/b.md",), frozenset({"src/b.md"})), "a notice")
    (tree,) = walk(tmp_path / "src" / "b.md", known, WalkRules()).trees
    assert [(entry.path, entry.tracked) for entry in tree.files] == [("src/b.md", True)]
    assert tree.notices == ("a notice",)


@pytest.mark.parametrize("rule", ["out/", "out", "/out/*", "*"])
def test_an_ignored_folder_that_is_named_is_mined(tmp_path, rule):
    write_files(tmp_path, {"out/in/a.md": "", "out/in/.gitignore": "*.log\n", "out/in/b.log": ""})
    write_files(tmp_path, {".gitignore": f"{rule}\n", ".mempalignore": f"{rule}\n"})
    below = "out/in" if rule == "/out/*" else "out"
    listing = TreeListing((".gitignore",), frozenset(), ignored=(Skip(below, "ignored by git"),))
    for known in (listed(tmp_path, listing), listed(tmp_path, None)):
        (tree,) = walk(tmp_path / "out" / "in", known, WalkRules()).trees
        assert paths(tree) == ["out/in/.gitignore", "out/in/a.md"]


def test_without_gitignore_everything_but_copies_is_listed(tmp_path):
    write_files(
        tmp_path,
        dict.fromkeys(["a.md", "c.log", "target/own.md", "target/x", "node_modules/y"], ""),
    )
    listing = TreeListing(
        ("a.md", "target/own.md"),
        frozenset({"a.md", "target/own.md"}),
        ignored=(Skip("c.log", "ignored by git"), Skip("target/x", "ignored by git")),
    )
    known = listed(tmp_path, listing)
    (tree,) = walk(tmp_path, known, WalkRules(use_gitignore=False)).trees
    # A tracked file shows that this target/ is no copy.
    assert paths(tree) == ["a.md", "c.log", "target/own.md", "target/x"]
    assert [entry.tracked for entry in tree.files] == [True, False, True, False]
    assert set(reasons(tree.excluded)) == {"node_modules"}


def test_where_git_cannot_list_rules_decide_but_not_on_tracked_files(tmp_path):
    write_files(
        tmp_path, dict.fromkeys(["a.log", "b.log", "out/x/keep", "out/x/drop", "out/y/z"], "")
    )
    write_files(tmp_path, {".gitignore": "*.log\nout/\n"})
    known = listed(tmp_path, None, tracked=frozenset({"a.log", "out/x/keep"}))
    (tree,) = walk(tmp_path, known, WalkRules()).trees
    assert paths(tree) == [".gitignore", "a.log", "out/x/keep"]
    assert reasons(tree.excluded) == {
        "b.log": "ignored by .gitignore:1 *.log",
        "out/x/drop": "ignored by .gitignore:2 out/",
        "out/y": "ignored by .gitignore:2 out/",
    }
    assert tree.notices == (f"git did not list {tmp_path}: mempal read its ignore rules",)


def test_a_repository_says_itself_why_it_is_not_listed(tmp_path):
    found = walk(tmp_path, listed(tmp_path, None, "no trust"), WalkRules())
    assert found.notices == ("no trust",)


def build_submodule(root: Path, *, listing: bool) -> MemoryRepositories:
    inner = root / "vendor" / "lib"
    write_files(root, {"top.md": "", "vendor/lib/lib.md": "", "vendor/lib/.git": "gitdir: x\n"})
    write_files(root, {".mempalignore": "/vendor/lib/skip.md\n", "vendor/lib/skip.md": ""})
    write_files(root, {"nested/.git": "gitdir: y\n", "nested/n.md": ""})
    names = frozenset({".mempalignore", "top.md"})
    outer = TreeListing(tuple(sorted(names)), names, ("vendor/lib",), ("nested",))
    known = listed(root, outer if listing else None, tracked=names | {"vendor/lib"})
    shown = TreeListing(("lib.md", "skip.md"), frozenset({"lib.md", "skip.md"}))
    known.add(Repository(inner, commit="d" * 40), shown)
    return known


@pytest.mark.parametrize("listing", [True, False])
def test_a_submodule_is_a_tree_of_its_own(tmp_path, listing):
    outer, inner = walk(tmp_path, build_submodule(tmp_path, listing=listing), WalkRules()).trees
    assert (outer.root, paths(outer)) == (tmp_path, [".mempalignore", "top.md"])
    assert (inner.root, paths(inner)) == (tmp_path / "vendor" / "lib", ["lib.md"])
    assert inner.repository.commit == "d" * 40
    assert reasons(inner.excluded) == {
        ".git": "git's own data",
        "skip.md": "ignored by .mempalignore:1 /vendor/lib/skip.md",
    }
    assert reasons(outer.skipped) == {"nested": "another git repository"}


def test_a_submodule_outside_of_the_named_folder_is_not_walked(tmp_path):
    known = build_submodule(tmp_path, listing=True)
    assert len(walk(tmp_path / "nested", known, WalkRules()).trees) == 1
    assert len(walk(tmp_path / "vendor", known, WalkRules()).trees) == 2


def test_a_submodule_that_git_cannot_read_is_named(tmp_path):
    write_files(tmp_path, {"sub/.git": "gitdir: x\n"})
    listing = TreeListing((), frozenset(), submodules=("sub",))
    (tree,) = walk(tmp_path, listed(tmp_path, listing), WalkRules()).trees
    assert reasons(tree.skipped) == {"sub": "submodule that git cannot read"}
