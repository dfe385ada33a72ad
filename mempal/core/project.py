"""Which project a folder belongs to, told without git.

Walk up to the folder that holds ``.git``.
"""

from pathlib import Path


def find_git_root(path: Path) -> Path | None:
    """Return the nearest folder at or above ``path`` that holds a ``.git`` file or folder."""
    resolved = path.resolve()
    for folder in (resolved, *resolved.parents):
        if (folder / ".git").exists():
            return folder
    return None


def default_wing(path: Path) -> str:
    """Return the wing a path belongs to when none is named.

    Its git root's folder name, else its folder's own.
    """
    resolved = path.resolve()
    root = find_git_root(resolved) or (resolved if resolved.is_dir() else resolved.parent)
    return root.name or "default"
