"""Transcripts of Claude Code: which belong to a project, and what a record says.

A project's transcripts lie in a folder named after it, but several projects may share a name; the
folder that a transcript names decides. What subagents say is no part of the talk.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mempal.cowork.peek.folders import Project, Session, list_files, list_names, locate
from mempal.cowork.peek.records import Message, join_texts, make_message, read_records

_HOME, _NAME = "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_PROJECT_DIR_NAME"
_LONGEST_NAME = 200
_NO_NAMES = frozenset({"", ".", ".."})
_HEAD = 4 << 20  # bytes within which a transcript names its folder
_LAST_BASIC = "\uffff"
_STRANGE = re.compile(r"[^A-Za-z0-9]")


def find(
    projects: Sequence[Project], environment: Mapping[str, str], home: Path
) -> Iterator[Session]:
    """Yield the transcripts of the first project that has any, newest first."""
    base = locate(environment, _HOME, home / ".claude") / "projects"
    given = environment.get(_NAME, "") if environment.get(_HOME) else ""
    for project in projects:
        found = False
        for session, is_sure in _list(base, project, given):
            if _belongs(session.path, project, is_sure=is_sure):
                found = True
                yield session
        if found:
            return


def read(record: Mapping[str, Any]) -> Message | None:
    """Return what a record says; ``None`` for nothing."""
    if record.get("type") not in ("user", "assistant"):
        return None
    message = record.get("message")
    if record.get("isMeta") is True or record.get("isSidechain") is True:
        return None
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    if isinstance(content, list):
        text = join_texts(content, "text")
    else:
        text = content.strip() if isinstance(content, str) else ""
    return make_message(message.get("role"), record.get("timestamp"), text)


def _list(base: Path, project: Project, given: str) -> list[tuple[Session, bool]]:
    """Return the files that may be a project's, and of each whether its folder's name tells so."""
    exact, starts = _name(project)
    folders = dict.fromkeys(exact, True)
    if starts:
        for name in list_names(base):
            if name.startswith(starts):
                folders.setdefault(name, False)
    if given not in _NO_NAMES and "/" not in given:
        folders.setdefault(given, False)
    found = [
        (session, is_sure)
        for name, is_sure in folders.items()
        for session in list_files(base / name, _is_transcript)
    ]
    return sorted(found, key=lambda pair: pair[0].rank())


def _name(project: Project) -> tuple[list[str], tuple[str, ...]]:
    """Return the names that a project's folder may have, and the beginnings of cut ones."""
    exact: list[str] = []
    starts: list[str] = []
    composed = [unicodedata.normalize("NFC", path) for path in project.spellings]
    for path in (*project.spellings, *composed):
        name = _STRANGE.sub(lambda match: "-" * _count_units(match[0]), path)
        if len(name) > _LONGEST_NAME:
            starts.append(name[:_LONGEST_NAME])
        else:
            exact.append(name)
    exact += [path.replace("/", "-") for path in project.spellings]  # as it was named formerly
    return exact, tuple(starts)


def _count_units(character: str) -> int:
    # JavaScript takes a character beyond the first 65536 for two.
    return 2 if character > _LAST_BASIC else 1


def _is_transcript(name: str) -> bool:
    return name.endswith(".jsonl") and not name.startswith("agent-")


def _belongs(path: Path, project: Project, *, is_sure: bool) -> bool:
    for record in read_records(path, _HEAD):
        cwd = record.get("cwd")
        if isinstance(cwd, str):
            return record.get("isSidechain") is not True and project.holds(cwd)
    return is_sure
