"""Proving the balance again.

Every file on disk is stored as it is, or skipped or excluded for a named reason.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mempal.core.errors import NotFoundError, SourceError
from mempal.core.files import read_regular
from mempal.core.model import Source, SourceState
from mempal.core.ports import Progress, Repositories, Store
from mempal.core.reports import AuditReport, AuditRoot
from mempal.ingest.read import read_text
from mempal.ingest.walk import Tree, WalkRules, walk

_LARGEST_FILE = 1 << 30
_SHOWN = 20


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
        stored = Counter(source.state for source in known.values())
        problem = f"{root} is not there any more; {stored[SourceState.STORED]} sources are stored"
        return AuditRoot(wing, str(root), 0, 0, 0, 0, 0, len(known), (problem,))
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for entry in tree.files:
        progress.advance(entry.path)
        source = known.pop(entry.path, None)
        outcome, complaint = _compare(store, source, entry.absolute, entry.size)
        counts[outcome] += 1
        if complaint:
            problems.append(f"{entry.path}: {complaint}")
    problems.extend(f"{path}: stored, but the file is gone" for path in _stored_paths(known))
    return AuditRoot(
        wing=wing,
        root=str(root),
        stored=counts["stored"],
        skipped=counts["skipped"] + len(tree.skipped),
        excluded=len(tree.excluded),
        changed=counts["changed"],
        new=counts["new"],
        gone=sum(source.state is SourceState.STORED for source in known.values()),
        problems=tuple(problems[:_SHOWN]),
    )


def _find_tree(root: Path, repositories: Repositories, exclude: tuple[Path, ...]) -> Tree | None:
    try:
        found = walk(root, repositories, WalkRules(), exclude)
    except (NotFoundError, SourceError):
        return None
    return next((tree for tree in found.trees if tree.root == root), None)


def _stored_paths(known: dict[str, Source]) -> Iterator[str]:
    return (path for path, source in known.items() if source.state is SourceState.STORED)


def _compare(store: Store, source: Source | None, path: Path, size: int) -> tuple[str, str | None]:
    """Return what became of one file, and what is wrong with it."""
    if source is None:
        return "new", "not mined yet"
    if source.state is SourceState.SKIPPED:
        return ("skipped", None) if source.size == size else ("changed", "changed since mined")
    try:
        data = read_regular(path, _LARGEST_FILE)
    except OSError as error:
        return "changed", f"cannot be read ({error.strerror or error})"
    if hashlib.sha256(data).hexdigest() != source.content_sha256:
        return "changed", "changed since mined"
    drawers = store.drawers_of(source.wing, source.root, source.path)
    if "".join(drawer.content for drawer in drawers) != read_text(data):
        return "stored", "the stored text differs from the file"
    return "stored", None
