"""What is stored of files that are gone, or that rules leave out now.

Only files are looked at. A transcript that its tool deleted is what a memory is for, so what was
said in it stays.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mempal.core.errors import NotFoundError, SourceError, UsageError
from mempal.core.files import open_regular
from mempal.core.model import Place, Source, SourceState
from mempal.core.ports import Repositories, Store
from mempal.ingest.conversation import exists
from mempal.ingest.usage import Usage
from mempal.ingest.walk import Tree, WalkRules, walk

_HINT = "mount its disk or move it back; --skip-missing leaves such trees alone"


@dataclass(frozen=True, slots=True)
class Stale:
    """A file that something is stored of and that mining would not find now.

    Attributes:
        drawers: How many of its drawers are current.
        reason: The rule that leaves the file out; ``None`` when it is not there any more.
        moved_to: Path in the same tree where its text is now.
        is_stored: Whether something is stored of that path already.
    """

    place: Place
    drawers: int
    reason: str | None = None
    moved_to: str | None = None
    is_stored: bool = True


def find_stale(
    store: Store,
    repositories: Repositories,
    wing: str,
    usage: Mapping[str, Usage],
    exclude: tuple[Path, ...],
    *,
    skip_missing: bool,
) -> list[Stale]:
    """List what is stored of a wing's trees and not there to be mined.

    Args:
        store: Record of truth.
        repositories: What git knows.
        wing: The one wing to look at.
        usage: How each tree was mined last, by root.
        exclude: Folders that are never read: the palace itself.
        skip_missing: Whether trees that are not there are left alone rather than refused.

    Raises:
        NotFoundError: There is nothing in the wing, or a tree is not there.
    """
    roots = [root for _, root in store.roots(wing)]
    if not roots and not store.has_wing(wing):
        raise NotFoundError(
            f"nothing was mined into wing {wing!r}", hint="`mempal wings` lists wings"
        )
    stale: list[Stale] = []
    for root in roots:
        how = usage.get(root, Usage())
        tree = _find_tree(Path(root), repositories, how.rules, exclude)
        known = store.sources(wing, root)
        if tree is None or _is_suspicious(tree, known):
            if skip_missing:
                continue
            state = "is not there" if tree is None else "is empty"
            raise NotFoundError(f"{root} {state}; nothing was changed", hint=_HINT)
        stale.extend(_compare(store, tree, known, how.named))
    return stale


def _find_tree(
    root: Path, repositories: Repositories, rules: WalkRules, exclude: tuple[Path, ...]
) -> Tree | None:
    if not root.is_dir():
        return None
    try:
        found = walk(root, repositories, rules, exclude)
    except (NotFoundError, SourceError, UsageError):
        return None
    return next((tree for tree in found.trees if tree.root == root), None)


def _is_suspicious(tree: Tree, known: Mapping[str, Source]) -> bool:
    """Return whether a tree looks like the place where a disk is not mounted."""
    holds = any(source.state is SourceState.STORED for source in known.values())
    return holds and not (tree.files or tree.excluded or tree.skipped)


def _compare(
    store: Store, tree: Tree, known: Mapping[str, Source], named: frozenset[str]
) -> Iterator[Stale]:
    offered = {entry.path for entry in tree.files}
    excluded = {skip.path: skip.reason for skip in tree.excluded}
    places: dict[str, str] = {
        source.content_sha256: path
        for path, source in known.items()
        if path in offered and source.state is SourceState.STORED
    }
    unread = _find_unread(tree, known)
    counts = store.count_by_source(_wing_of(known), str(tree.root))
    for path, source in sorted(known.items()):
        if path in offered:
            continue
        if source.state is SourceState.GONE and source.moved_to is not None:
            yield Stale(source.place, 0, None, source.moved_to)
        if source.state is not SourceState.STORED or store.held_in(source.place):
            continue
        drawers = counts.get(path, 0)
        if not exists(source.root, path):
            moved_to = places.get(source.content_sha256)
            is_stored = moved_to is not None
            if moved_to is None and drawers:
                moved_to = unread.pop(source.content_sha256, None)
            yield Stale(source.place, drawers, None, moved_to, is_stored)
        elif path not in named and (reason := _find_reason(path, excluded)):
            yield Stale(source.place, drawers, reason)


def _find_unread(tree: Tree, known: Mapping[str, Source]) -> dict[str, str]:
    """Return files that nothing is stored of, by what they hold, as far as one that is gone may."""
    offered = {entry.path for entry in tree.files}
    sizes = {
        source.size
        for path, source in known.items()
        if path not in offered and source.state is SourceState.STORED
    }
    found: dict[str, str] = {}
    for entry in tree.files:
        source = known.get(entry.path)
        if entry.size in sizes and (source is None or source.state is SourceState.GONE):
            with suppress(OSError, ValueError), open_regular(entry.absolute) as file:
                found.setdefault(hashlib.file_digest(file, "sha256").hexdigest(), entry.path)
    return found


def _wing_of(known: Mapping[str, Source]) -> str:
    return next((source.wing for source in known.values()), "")


def _find_reason(path: str, excluded: Mapping[str, str]) -> str | None:
    """Return why a path is left out: by itself, or with a folder that it lies in."""
    while path:
        if path in excluded:
            return excluded[path]
        path = path.rpartition("/")[0]
    return None
