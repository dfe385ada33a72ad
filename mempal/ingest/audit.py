"""Proving the balance again.

Every file on disk is stored as it is, or skipped or excluded for a named reason.
"""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mempal.core.errors import NotFoundError, SourceError
from mempal.core.files import is_inside, read_regular
from mempal.core.model import Source, SourceState
from mempal.core.ports import Progress, Repositories, Store
from mempal.core.reports import AuditReport, AuditRoot
from mempal.ingest.read import read_text
from mempal.ingest.walk import Tree, WalkRules, walk

_SHOWN = 20
_CHANGED = "changed since mined"


def audit(
    store: Store,
    repositories: Repositories,
    wing: str | None,
    exclude: tuple[Path, ...],
    progress: Progress,
) -> AuditReport:
    """Compare every mined tree with what is stored of it.

    For each file that is stored, the text is rebuilt from its drawers and compared with the file.

    Args:
        store: Record of truth.
        repositories: What git knows.
        wing: Only this wing; ``None`` for all.
        exclude: Folders that are never read: the palace itself.
        progress: Where to report how far the audit is.
    """
    roots = store.roots(wing)
    progress.start("auditing", None)
    return AuditReport(
        tuple(
            _audit_root(store, repositories, owner, Path(root), exclude, progress)
            for owner, root in roots
        )
    )


def _audit_root(
    store: Store,
    repositories: Repositories,
    wing: str,
    root: Path,
    exclude: tuple[Path, ...],
    progress: Progress,
) -> AuditRoot:
    known = dict(store.sources(wing, str(root)))
    tree = _find_tree(root, repositories, exclude)
    if tree is None:
        gone = len(list(_stored_paths(known)))
        problem = f"{root} is not there any more; {gone} sources are stored"
        return AuditRoot(wing, str(root), 0, 0, 0, 0, 0, gone, (problem,))
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for path, size in _list_sizes(tree, known):
        progress.advance(path)
        outcome, complaint = _compare(store, known.pop(path, None), root / path, size)
        counts[outcome] += 1
        if complaint:
            problems.append(f"{path}: {complaint}")
    problems.extend(f"{path}: stored, but the file is gone" for path in _stored_paths(known))
    return AuditRoot(
        wing=wing,
        root=str(root),
        stored=counts["stored"],
        skipped=counts["skipped"] + len(tree.skipped),
        excluded=len(tree.excluded),
        changed=counts["changed"],
        new=counts["new"],
        gone=len(list(_stored_paths(known))),
        problems=tuple(problems[:_SHOWN]),
    )


def _find_tree(root: Path, repositories: Repositories, exclude: tuple[Path, ...]) -> Tree | None:
    try:
        found = walk(root, repositories, WalkRules(), exclude)
    except (NotFoundError, SourceError):
        return None
    return next((tree for tree in found.trees if tree.root == root), None)


def _list_sizes(tree: Tree, known: dict[str, Source]) -> Iterator[tuple[str, int]]:
    """Yield path and size of what the walk offers, and of what is stored beside that.

    A file that rules leave out now was mined when it was named, or under other rules.
    """
    offered = {entry.path for entry in tree.files}
    yield from ((entry.path, entry.size) for entry in tree.files)
    for path in [path for path in _stored_paths(known) if path not in offered]:
        absolute = tree.root / path
        try:
            status = os.lstat(absolute)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode) and is_inside(tree.root, absolute):
            yield path, status.st_size


def _stored_paths(known: dict[str, Source]) -> Iterator[str]:
    return (path for path, source in known.items() if source.state is SourceState.STORED)


def _compare(store: Store, source: Source | None, path: Path, size: int) -> tuple[str, str | None]:
    """Return what became of one file, and what is wrong with it."""
    if source is None:
        return "new", "not mined yet"
    if source.size != size:
        return "changed", _CHANGED
    if source.state is SourceState.SKIPPED:
        return "skipped", None
    try:
        data = read_regular(path, size)
    except OSError as error:
        return "changed", f"cannot be read ({error.strerror or error})"
    if hashlib.sha256(data).hexdigest() != source.content_sha256:
        return "changed", _CHANGED
    drawers = store.drawers_of(source.wing, source.root, source.path)
    is_whole = "".join(drawer.content for drawer in drawers) == read_text(data)
    return "stored", None if is_whole else "the stored text differs from the file"
