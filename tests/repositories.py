"""Real repositories for tests, built with the git program in the isolated home of the test."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

NO_GIT = {"PATH": "/nonexistent"}


def run_git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as a user would, in ``folder``; return its output."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        check=check,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return os.fsdecode(done.stdout)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below ``folder``, which is created."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else os.fsencode(content))
    return folder


def make_repository(folder: Path, files: Mapping[str, str | bytes], *options: str) -> Path:
    """Create a repository whose first commit holds ``files``; ``options`` are those of ``init``."""
    write_files(folder, files)
    run_git(folder, "init", "-q", *options)
    commit_all(folder)
    return folder


def commit_all(folder: Path) -> str:
    """Commit whatever is in the tree and not ignored; return the commit's id."""
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", "change", "--allow-empty")
    return run_git(folder, "rev-parse", "HEAD").strip()


def list_shown(folder: Path) -> list[str]:
    """Return what git itself shows of a tree: tracked, and untracked but not ignored."""
    output = run_git(folder, "ls-files", "-z", "-c", "-o", "--exclude-standard")
    return sorted(set(output.split("\0")) - {""})


def hash_blob(folder: Path, name: str) -> str:
    """Return git's id of the content of a file."""
    return run_git(folder, "hash-object", "--", name).strip()
