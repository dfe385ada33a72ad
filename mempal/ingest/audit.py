"""Proving the balance again.

Every file on disk is stored as it is, or skipped or excluded for a named reason.
"""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from mempal.core.errors import NotFoundError, SourceError
from mempal.core.files import is_inside, read_regular
from mempal.core.model import Chunk, Source, SourceState
from mempal.core.ports import Progress, Repositories, Store
from mempal.core.reports import AuditReport, AuditRoot
from mempal.ingest.conversation import detect_format, read_talk
from mempal.ingest.read import read_chunks
from mempal.ingest.text import read_text
from mempal.ingest.usage import Usage, recall_usage
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
    progress.start("auditing", None)
    usage: dict[str, dict[str, Usage]] = {}
    audited = []
    for owner, root in store.roots(wing):
        if owner not in usage:
            usage[owner] = recall_usage(store, owner)
        rules = usage[owner].get(root, Usage()).rules
        tree = _find_tree(Path(root), repositories, rules, exclude)
        audited.append(_audit_root(store, owner, Path(root), tree, progress))
    return AuditReport(tuple(audited))


def _audit_root(
    store: Store, wing: str, root: Path, tree: Tree | None, progress: Progress
) -> AuditRoot:
    known = dict(store.sources(wing, str(root)))
    if tree is None:
        gone = _list_gone(store, known)
        problem = f"{root} is not there any more; {len(gone)} sources are stored"
        problems = [problem] if gone else []
        return AuditRoot(wing, str(root), 0, 0, 0, 0, 0, len(gone), tuple(problems))
    counts: Counter[str] = Counter()
    problems = []
    for path, size in _list_sizes(tree, known):
        progress.advance(path)
        outcome, complaint = _compare(store, known.pop(path, None), root / path, size)
        counts[outcome] += 1
        if complaint:
            problems.append(f"{path}: {complaint}")
    gone = _list_gone(store, known)
    problems.extend(f"{path}: stored, but the file is gone" for path in gone)
    return AuditRoot(
        wing=wing,
        root=str(root),
        stored=counts["stored"],
        skipped=counts["skipped"] + len(tree.skipped),
        excluded=len(tree.excluded),
        changed=counts["changed"],
        new=counts["new"],
        gone=len(gone),
        problems=tuple(problems[:_SHOWN]),
    )


def _list_gone(store: Store, known: dict[str, Source]) -> list[str]:
    """Return the stored files that are not there; a transcript is not missed once it is read."""
    return [path for path in _stored_paths(known) if not store.held_in(known[path].place)]


def _find_tree(
    root: Path, repositories: Repositories, rules: WalkRules, exclude: tuple[Path, ...]
) -> Tree | None:
    try:
        found = walk(root, repositories, rules, exclude)
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
    is_forgotten = source.state is SourceState.FORGOTTEN
    if source.size != size and not is_forgotten:
        return "changed", _CHANGED
    if is_forgotten or source.state is SourceState.SKIPPED:
        return "skipped", None
    held = store.held_in(source.place)
    try:
        # Other files may hold all conversations of this one, and then it has no drawers at all.
        if (
            held
            or source.tail is not None
            or (not store.keys_of([source.place]) and detect_format(path, source.path) is not None)
        ):
            return _compare_talk(store, source, path, {one.session or "": one for one in held})
        return _compare_text(store, source, path, size)
    except (OSError, ValueError) as error:
        return "changed", f"cannot be read ({getattr(error, 'strerror', None) or error})"


def _compare_text(store: Store, source: Source, path: Path, size: int) -> tuple[str, str | None]:
    data = read_regular(path, size)
    if hashlib.sha256(data).hexdigest() != source.content_sha256:
        return "changed", _CHANGED
    drawers = store.drawers_of(source.wing, source.root, source.path)
    if "".join(drawer.content for drawer in drawers) == read_text(data):
        return "stored", None
    # What was deleted or forgotten by a person is not missing.
    chunks = store.withhold(source, read_chunks(source.path, data).chunks)
    return "stored", _find_difference(store, source, chunks)


def _compare_talk(
    store: Store, source: Source, path: Path, held: dict[str, Source]
) -> tuple[str, str | None]:
    """Compare a transcript with the conversations that are cited in it; others are elsewhere."""
    form = detect_format(path, source.path)
    if form is None:
        return "changed", _CHANGED
    said = {
        conversation.key.partition(":")[2]: conversation.chunks
        for conversation in read_talk(path, source.path, form, None).conversations
    }
    for session, stored in held.items():
        chunks = store.withhold(stored, said.get(session, ()))
        difference = _find_difference(store, stored, chunks)
        if difference is not None:
            return "stored", difference
    return "stored", None


def _find_difference(store: Store, source: Source, chunks: Sequence[Chunk]) -> str | None:
    """Say how the drawers of a source differ from its text."""
    drawers = store.get(store.keys_of([source.place]))
    current = Counter(d.content for d in drawers if d.superseded_at is d.deleted_at is None)
    deleted = Counter(d.content for d in drawers if d.deleted_at is not None)
    wanted = Counter(chunk.content for chunk in chunks)
    if current - wanted or wanted - current - deleted:
        return "the stored text differs from the file"
    return None
