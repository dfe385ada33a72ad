"""A repository that names programs of its own: none of them is run.

Each trap is first sprung with plain git, so a trap that does not work fails the test.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from mempal.adapters.git import GitRepositories
from mempal.ingest.walk import WalkRules, walk
from tests.repositories import NO_GIT, hash_blob, make_repository, run_git, write_files

_HOOKS = (
    *("post-checkout", "post-index-change", "pre-commit", "post-commit", "reference-transaction"),
    *("fsmonitor-watchman", "pre-auto-gc", "post-rewrite", "pre-push", "update"),
)
_PROGRAM_SETTINGS = (
    *("core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand"),
    *("core.gitProxy", "core.alternateRefsCommand", "diff.external", "diff.trap.command"),
    *("diff.trap.textconv", "filter.trap.clean", "filter.trap.smudge", "filter.trap.process"),
    *("merge.trap.driver", "gpg.program", "gpg.ssh.program", "credential.helper"),
    *("sequence.editor", "pager.ls-files", "pager.ls-tree", "remote.origin.uploadpack"),
    *("uploadpack.packObjectsHook", "interactive.diffFilter", "browser.trap.cmd"),
)
_VARIABLES = (
    *("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EDITOR"),
    *("GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR"),
)


class Trap:
    """A program that leaves a mark when it is run."""

    def __init__(self, folder: Path) -> None:
        self._mark = folder / "sprung"
        self.program = folder / "program"
        # Standard error tells nobody anything: git may close or read the other streams.
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{self._mark}"\n')
        self.program.chmod(0o755)

    def was_sprung(self) -> bool:
        """Return whether the program was run, and set the trap again."""
        sprung = self._mark.exists()
        self._mark.unlink(missing_ok=True)
        return sprung


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def configure(root: Path, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        run_git(root, "config", name, value)


def ask_everything(root: Path, repositories: GitRepositories) -> None:
    """Ask all that mining and citing ask."""
    blob = hash_blob_quietly(root)
    for path in (root, root / "sub"):
        repository = repositories.find(path)
        assert repository is not None
        repositories.is_bare(path)
        repositories.list_tree(repository)
        repositories.tracked_paths(repository)
        repositories.find_blob(repository, blob)
        repositories.find_blob(repository, "0" * 40)
        repositories.excludes_file(repository)
        walk(path, repositories, WalkRules())
        walk(path, repositories, WalkRules(use_gitignore=False))


def hash_blob_quietly(root: Path) -> str:
    """Return the blob id of ``a.md`` computed outside of the repository."""
    return hash_blob(root.parent, str(root / "a.md"))


def build(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "tree", {"a.md": "a\n", "sub/b.md": "b\n"})
    write_files(root, {"new.md": "new\n", "sub/run.log": "log\n", ".gitignore": "*.log\n"})
    return root


def plant_everything(root: Path, trap: Trap) -> None:
    write_files(root, {".gitattributes": "* filter=trap diff=trap merge=trap\n"})
    for folder in (root / ".git" / "hooks", root / "own-hooks"):
        folder.mkdir(exist_ok=True)
        for hook in _HOOKS:
            (folder / hook).unlink(missing_ok=True)
            (folder / hook).symlink_to(trap.program)
    configure(root, dict.fromkeys(_PROGRAM_SETTINGS, str(trap.program)))
    configure(
        root,
        {
            "core.hooksPath": "own-hooks",
            "core.untrackedCache": "true",
            "core.attributesFile": str(root / ".gitattributes"),
            "log.showSignature": "true",
            "filter.trap.required": "true",
            "alias.ls-files": f"!{trap.program}",
            "alias.rev-parse": f"!{trap.program}",
            "submodule.recurse": "true",
            "remote.origin.url": f"ext::{trap.program}",
            "remote.origin.promisor": "true",
            "protocol.ext.allow": "always",
        },
    )


def test_the_fsmonitor_is_not_run(tmp_path, trap):
    root = build(tmp_path)
    configure(root, {"core.fsmonitor": str(trap.program)})
    run_git(root, "ls-files", "-o", "--exclude-standard")
    run_git(root, "status")
    assert trap.was_sprung()
    ask_everything(root, GitRepositories())
    assert not trap.was_sprung()


def test_an_included_file_of_settings_is_no_way_around(tmp_path, trap):
    root = build(tmp_path)
    write_files(root, {"settings": f"[core]\n\tfsmonitor = {trap.program}\n"})
    configure(root, {"include.path": "../settings"})
    run_git(root, "status")
    assert trap.was_sprung()
    ask_everything(root, GitRepositories())
    assert not trap.was_sprung()


def test_filters_and_conversions_are_not_run(tmp_path, trap):
    root = build(tmp_path)
    write_files(root, {".gitattributes": "* filter=trap diff=trap\n", "a.md": "b\n"})
    for name in ("filter.trap.clean", "filter.trap.process", "diff.trap.textconv", "diff.external"):
        configure(root, {name: str(trap.program)})
        run_git(root, "diff", check=False)
        assert trap.was_sprung(), name
        ask_everything(root, GitRepositories())
        assert not trap.was_sprung(), name
        run_git(root, "config", "--unset", name)


def test_hooks_are_not_run(tmp_path, trap):
    root = build(tmp_path)
    hook = root / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to(trap.program)
    os.utime(root / "a.md", ns=(1, 1))
    run_git(root, "update-index", "--refresh")
    assert trap.was_sprung()
    os.utime(root / "a.md", ns=(2, 2))
    ask_everything(root, GitRepositories())
    assert not trap.was_sprung()


def test_missing_objects_are_not_fetched(tmp_path, trap):
    root = build(tmp_path)
    folder = run_git(root, "rev-parse", "HEAD:sub").strip()
    (root / ".git" / "objects" / folder[:2] / folder[2:]).unlink()
    configure(
        root,
        {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.promisor": "true",
            "remote.origin.partialCloneFilter": "tree:0",
            "remote.origin.url": f"ext::{trap.program}",
            "protocol.ext.allow": "always",
        },
    )
    run_git(root, "ls-tree", "-r", "HEAD", check=False)
    assert trap.was_sprung()
    ask_everything(root, GitRepositories())
    assert not trap.was_sprung()
    # The same for a remote reached by a program of its own, and by ssh.
    for settings in (
        {"remote.origin.url": str(root), "remote.origin.uploadpack": str(trap.program)},
        {"remote.origin.url": "ssh://localhost/x", "core.sshCommand": str(trap.program)},
    ):
        configure(root, settings)
        run_git(root, "ls-tree", "-r", "HEAD", check=False)
        assert trap.was_sprung()
        ask_everything(root, GitRepositories())
        assert not trap.was_sprung()


def test_nothing_planted_anywhere_is_run(tmp_path, trap, monkeypatch):
    root = build(tmp_path)
    plant_everything(root, trap)
    for name in _VARIABLES:
        monkeypatch.setenv(name, str(trap.program))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap.program))
    monkeypatch.setenv("PAGER", str(trap.program))
    run_git(root, "status", check=False)
    assert trap.was_sprung()
    repositories = GitRepositories()
    ask_everything(root, repositories)
    assert not trap.was_sprung()
    listing = repositories.list_tree(repositories.find(root))
    assert listing is not None  # none of it stops git from answering
    assert {"a.md", "new.md"} <= set(listing.files)


def test_reading_without_git_runs_nothing_either(tmp_path, trap):
    root = build(tmp_path)
    plant_everything(root, trap)
    ask_everything(root, GitRepositories({**os.environ, **NO_GIT}))
    assert not trap.was_sprung()


def test_asking_changes_nothing_in_the_repository(tmp_path):
    root = build(tmp_path)
    os.utime(root / "a.md", ns=(1, 1))  # git would like to refresh its index

    def picture() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    before = picture()
    ask_everything(root, GitRepositories())
    assert picture() == before
