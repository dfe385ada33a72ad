"""Rollouts of Codex: which belong to a project, and what a record says.

They lie in folders of the day on which a session began, however long ago that is, and in the
archive. The first record of each names its folder, or the session that it is a subagent of.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mempal.cowork.peek.folders import Project, Session, list_files, locate
from mempal.cowork.peek.records import (
    COMPRESSED,
    Message,
    join_texts,
    make_message,
    read_records,
)

_FOLDERS = ("sessions", "archived_sessions")
_DEPTH = 6  # three are year, month and day
_HEAD = 8 << 20  # bytes within which a rollout's first record ends; it holds the instructions
_SUBAGENT = "subagent"


def find(
    projects: Sequence[Project], environment: Mapping[str, str], home: Path
) -> Iterator[Session]:
    """Yield the rollouts of the first project that has any, newest first."""
    if not projects:
        return
    base = locate(environment, "CODEX_HOME", home / ".codex")
    nearest, *wider = projects
    found = False
    later: list[Session] = []
    for session in _list(base):
        cwd = _read_cwd(session.path)
        if cwd is not None and nearest.is_at(cwd):
            found = True
            yield session
        elif cwd is not None and any(project.is_at(cwd) for project in wider):
            later.append(session)
    if not found:
        yield from later


def read(record: Mapping[str, Any]) -> Message | None:
    """Return what a record says; ``None`` for nothing."""
    item = record.get("payload")
    if record.get("type") != "response_item" or not isinstance(item, dict):
        return None
    if item.get("type") != "message":
        return None
    content = item.get("content")
    if isinstance(content, list):
        text = join_texts(content)
    else:
        text = content if isinstance(content, str) else ""
    return make_message(item.get("role"), record.get("timestamp"), text)


def _list(base: Path) -> list[Session]:
    found = {
        str(session.path): session
        for folder in _FOLDERS
        for session in list_files(base / folder, _is_rollout, _DEPTH)
    }
    # Beside a plain file, its compressed copy is what has not been cleared away yet.
    kept = (one for path, one in found.items() if path.removesuffix(COMPRESSED) == path)
    packed = (
        one
        for path, one in found.items()
        if path.endswith(COMPRESSED) and path.removesuffix(COMPRESSED) not in found
    )
    return sorted((*kept, *packed), key=Session.rank)


def _is_rollout(name: str) -> bool:
    return name.startswith("rollout-") and name.removesuffix(COMPRESSED).endswith(".jsonl")


def _read_cwd(path: Path) -> str | None:
    """Return the folder of a rollout; ``None`` when it has none or is a subagent's."""
    head = next(read_records(path, _HEAD), {})
    meta = head.get("payload")
    if head.get("type") != "session_meta" or not isinstance(meta, dict) or _is_aside(meta):
        return None
    cwd = meta.get("cwd")
    return cwd if isinstance(cwd, str) else None


def _is_aside(meta: Mapping[str, Any]) -> bool:
    source = meta.get("source")
    if source == _SUBAGENT or meta.get("thread_source") == _SUBAGENT:
        return True
    return isinstance(source, dict) and _SUBAGENT in source
