"""The JSON document of each answer. Keys may be added, never renamed or removed."""

import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mempal.core.clock import format_instant
from mempal.core.model import (
    Addition,
    Citation,
    Drawer,
    Hit,
    RoomCount,
    SearchResult,
    Skip,
    SourceClass,
    Verdict,
)
from mempal.core.reports import (
    AuditReport,
    AuditRoot,
    Diagnosis,
    HistoryReport,
    MineReport,
    ReindexReport,
    RoomList,
    Shown,
    Status,
    WakeUp,
)

Document = dict[str, Any]


def describe_mining(report: MineReport) -> Document:
    """Return the document of ``mine``."""
    files = report.files
    return {
        "wing": report.wing,
        "root": report.roots[0] if report.roots else None,
        "roots": list(report.roots),
        "dry_run": report.dry_run,
        "files": {"seen": files.seen, **asdict(files)},
        "drawers": asdict(report.drawers),
        "skipped": _list_skips(report.skipped),
        "excluded": _list_skips(report.excluded),
        "redactions": dict(report.redactions),
        "warnings": list(report.warnings),
        "mined_files": list(report.mined),
        "gone": report.gone,
        "wings": list(report.wings),
        "history": [_describe_history(history) for history in report.history],
        "run": report.run,
        "seconds": round(report.seconds, 3),
    }


def describe_search(result: SearchResult, *, wing: str | None, context: bool) -> Document:
    """Return the document of ``search``; with ``context`` each result has its neighbours."""
    return {
        "query": result.query,
        "mode": result.mode,
        "wing": wing,
        "results": [_describe_hit(hit, context=context) for hit in result.hits],
        "tunnels": [],
        "degraded": list(result.degraded),
        "hint": result.hint,
    }


def describe_wakeup(wakeup: WakeUp) -> Document:
    """Return the document of ``wake-up``."""
    return {
        "wing": wakeup.wing,
        "text": wakeup.text,
        "estimated_tokens": wakeup.estimated_tokens,
        "items": [asdict(item) for item in wakeup.items],
        "hint": wakeup.hint,
    }


def describe_shown(shown: Shown) -> Document:
    """Return the document of ``show``."""
    drawer = shown.drawer
    return {
        **_describe_drawer(drawer, shown.citation),
        "chunk_index": drawer.chunk_index,
        "importance": drawer.importance,
        "deleted_at": format_instant(drawer.deleted_at),
        "content_sha256": drawer.content_sha256,
        "source_sha256": drawer.source_sha256,
    }


def describe_addition(addition: Addition, *, wing: str, room: str) -> Document:
    """Return the document of ``add``."""
    return {
        "drawer_id": addition.drawer_ids[0] if addition.drawer_ids else None,
        "drawer_ids": list(addition.drawer_ids),
        "created": addition.created,
        "duplicate_of": addition.duplicate_of,
        "wing": wing,
        "room": room,
        "redactions": dict(addition.redactions),
    }


def describe_status(status: Status) -> Document:
    """Return the document of ``status``; counts are 0 where there is no palace yet."""
    store = status.store
    counts = ("drawers", "superseded", "deleted", "sources", "skipped_sources")
    sizes = ("bytes", "text_bytes", "schema_version", "revision")
    return {
        "home": status.home,
        "version": status.version,
        "exists": store is not None,
        **{name: getattr(store, name, 0) for name in (*counts, *sizes)},
        "embedder": status.embedder,
        "stored_embedder": store.embedder if store else None,
        "index": asdict(status.index) if status.index else None,
        "rooms": [_describe_room(room) for room in (store.rooms if store else ())],
        "warnings": list(status.warnings),
        "hint": status.hint,
    }


def describe_diagnosis(diagnosis: Diagnosis) -> Document:
    """Return the document of ``doctor``."""
    return {
        "home": diagnosis.home,
        "healthy": diagnosis.healthy,
        "findings": [asdict(finding) for finding in diagnosis.findings],
        "sessions": [asdict(balance) for balance in diagnosis.sessions],
    }


def describe_audit(report: AuditReport) -> Document:
    """Return the document of ``audit``."""
    return {
        "complete": report.complete,
        "roots": [_describe_root(root) for root in report.roots],
        "hint": report.hint,
    }


def describe_reindexing(report: ReindexReport) -> Document:
    """Return the document of ``reindex``."""
    return {**asdict(report), "seconds": round(report.seconds, 3)}


def describe_rooms(listing: RoomList) -> Document:
    """Return the document of ``rooms``."""
    return {"rooms": [_describe_room(room) for room in listing.rooms], "hint": listing.hint}


def describe_wings(listing: RoomList) -> Document:
    """Return the document of ``wings``."""
    return {"wings": group_wings(listing.rooms), "hint": listing.hint}


def group_wings(rooms: Iterable[RoomCount]) -> list[Document]:
    """Add up rooms by wing, in the order the wings appear."""
    wings: dict[str, Document] = {}
    for room in rooms:
        wing = wings.setdefault(
            room.wing,
            {"wing": room.wing, "rooms": 0, "drawers": 0, "sources": 0, "last_added_at": None},
        )
        wing["rooms"] += 1
        wing["drawers"] += room.drawers
        wing["sources"] += room.sources
        added = format_instant(room.last_added_at)
        wing["last_added_at"] = max(filter(None, (wing["last_added_at"], added)), default=None)
    return list(wings.values())


def find_path(drawer: Drawer, citation: Citation) -> str | None:
    """Return where a drawer's text can be opened now, or its file when the text has changed.

    Relative to the current folder when it lies below it, else absolute; ``None`` when there is no
    such file (text given by hand, a commit, or a file that is gone).
    """
    is_file = drawer.root and drawer.source_class is not SourceClass.COMMIT
    if not is_file or citation.verdict is Verdict.GONE:
        return None
    path = os.path.normpath(Path(drawer.root) / citation.path)
    try:
        here = os.path.join(os.getcwd(), "")  # noqa: PTH118, PTH109 - as text, it may not be UTF-8
    except FileNotFoundError:  # the current folder was deleted
        return path
    return path.removeprefix(here)


def find_new_place(citation: Citation) -> str | None:
    """Return ``path:first-last`` of a text that has moved; ``None`` when it has not."""
    if citation.verdict is not Verdict.MOVED:
        return None
    return format_location(citation.path, citation.line_start, citation.line_end)


def format_location(path: str, first: int | None, last: int | None) -> str:
    """Return ``path:first-last``, ``path:line``, or only the path when no line is known."""
    if first is None:
        return path
    return f"{path}:{first}" if last in {None, first} else f"{path}:{first}-{last}"


def _describe_history(history: HistoryReport) -> Document:
    return {
        "root": history.root,
        "read": history.read,
        "stored": history.stored,
        "folded": dict(history.folded),
    }


def _describe_hit(hit: Hit, *, context: bool) -> Document:
    document = {
        **_describe_drawer(hit.drawer, hit.citation),
        "score": round(hit.score, 4),
        "matched_by": [str(matcher) for matcher in hit.matched_by],
    }
    if context:
        document["neighbors"] = {
            "before": [_describe_neighbor(drawer) for drawer in hit.before],
            "after": [_describe_neighbor(drawer) for drawer in hit.after],
        }
    return document


def _describe_drawer(drawer: Drawer, citation: Citation) -> Document:
    return {
        "drawer_id": drawer.id,
        "wing": drawer.wing,
        "room": drawer.room,
        "source_file": drawer.source_file,
        "root": drawer.root or None,
        "path": find_path(drawer, citation),
        **_describe_span(drawer),
        "content": drawer.content,
        "source_class": str(drawer.source_class),
        "speaker": drawer.speaker,
        "said_at": format_instant(drawer.said_at),
        "session": drawer.session,
        "commit": drawer.commit,
        "blob": drawer.blob,
        "verdict": str(citation.verdict),
        "moved_to": find_new_place(citation),
        "added_at": format_instant(drawer.added_at),
        "superseded_at": format_instant(drawer.superseded_at),
    }


def _describe_span(drawer: Drawer) -> Document:
    names = ("line_start", "line_end", "byte_start", "byte_end")
    return {name: getattr(drawer.span, name, None) for name in names}


def _describe_neighbor(drawer: Drawer) -> Document:
    return {"drawer_id": drawer.id, **_describe_span(drawer), "content": drawer.content}


def _describe_room(room: RoomCount) -> Document:
    return {**asdict(room), "last_added_at": format_instant(room.last_added_at)}


def _describe_root(root: AuditRoot) -> Document:
    return {"seen": root.seen, "complete": root.complete, **asdict(root)}


def _list_skips(skips: Iterable[Skip]) -> list[Document]:
    return [{"path": skip.path, "reason": skip.reason} for skip in skips]
