"""Looking at what the partner has said lately in the same project.

Nothing is written, and what cannot be read counts as not said.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mempal.core.errors import CannotInferPartnerError, SelfPeekError, UsageError
from mempal.cowork.names import AUTO, CLAUDE, CODEX, parse_tool, parse_tool_or_auto, partner_of
from mempal.cowork.peek import claude, codex
from mempal.cowork.peek.folders import Project, Session, list_projects
from mempal.cowork.peek.records import Message, read_records
from mempal.cowork.stamp import format_stamp, parse_stamp

DEFAULT_LIMIT = 30
_ACTIVE_NS = 30 * 60 * 10**9
_SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class Peek:
    """What a tool has said lately.

    Attributes:
        partner_tool: ``claude`` or ``codex``.
        session_path: The transcript it was read from; ``None`` when the project has none.
        session_mtime: When that was last written to.
        partner_active: Whether that was in the last half hour.
        messages: The last ones, in the order of the file.
        truncated: Whether there are more before them.
    """

    partner_tool: str
    session_path: str | None = None
    session_mtime: str | None = None
    partner_active: bool = False
    messages: tuple[Message, ...] = ()
    truncated: bool = False


class _Adapter(NamedTuple):
    find: Callable[[Sequence[Project], Mapping[str, str], Path], Iterator[Session]]
    read: Callable[[Mapping[str, Any]], Message | None]


_ADAPTERS = {
    CLAUDE: _Adapter(claude.find, claude.read),
    CODEX: _Adapter(codex.find, codex.read),
}


def find_sessions(tool: str, cwd: str, environment: Mapping[str, str], home: Path) -> list[Path]:
    """Return a tool's transcripts of a project, newest first.

    Args:
        tool: Any name of ``claude`` or ``codex``.
        cwd: A folder of the project. Transcripts of that very folder count; only without any, those
            of the repository that it is in.
        environment: Says where the tools keep their files.
        home: The user's home folder, where they are kept otherwise.

    Raises:
        UsageError: The tool is not known.
    """
    found = _ADAPTERS[parse_tool(tool)].find(list_projects(cwd), environment, home)
    return [session.path for session in found]


def peek(  # noqa: PLR0913 - what surfaces pass on one by one
    tool: str,
    cwd: str,
    *,
    limit: int = DEFAULT_LIMIT,
    since: str | None = None,
    caller: str | None = None,
    environment: Mapping[str, str],
    home: Path,
    now: float | None = None,
) -> Peek:
    """Return the last messages of a tool's newest transcript of a project.

    Args:
        tool: Any name of ``claude`` or ``codex``; ``auto`` for the partner of the caller.
        cwd: A folder of the project.
        limit: How many messages at most.
        since: A time; only what was said after it counts.
        caller: What the asking tool calls itself, when it is known.
        environment: Says where the tools keep their files.
        home: The user's home folder, where they are kept otherwise.
        now: The present in seconds since the epoch; ``None``: the clock's.

    Raises:
        CannotInferPartnerError: ``auto``, but the caller is unknown.
        SelfPeekError: The caller is the tool.
        UsageError: The tool is not known; or there is a transcript, and ``since`` is no time.
    """
    partner = _choose(tool, caller)
    adapter = _ADAPTERS[partner]
    session = next(adapter.find(list_projects(cwd), environment, home), None)
    if session is None:
        return Peek(partner)
    cutoff = None if since is None else _read_cutoff(since)
    kept: deque[Message] = deque(maxlen=min(max(limit, 0), sys.maxsize))
    count = 0
    for record in read_records(session.path):
        message = adapter.read(record)
        if message is not None and _is_after(message, cutoff):
            count += 1
            kept.append(message)
    present = time.time_ns() if now is None else int(now * _SECOND_NS)
    return Peek(
        partner_tool=partner,
        session_path=str(session.path),
        session_mtime=format_stamp(session.mtime // _SECOND_NS),
        partner_active=present - session.mtime <= _ACTIVE_NS,
        messages=tuple(kept),
        truncated=count > len(kept),
    )


def _choose(tool: str, caller: str | None) -> str:
    asking = _recognise(caller)
    target = parse_tool_or_auto(tool)
    if target == AUTO:
        if asking is None:
            raise CannotInferPartnerError(
                "cannot infer the partner: the caller is neither claude nor codex",
                hint="name claude or codex instead of auto",
            )
        return partner_of(asking)
    if target == asking:
        raise SelfPeekError(
            f"{target} cannot peek at itself", hint=f"name {partner_of(target)}, or auto"
        )
    return target


def _recognise(caller: str | None) -> str | None:
    if caller is None:
        return None
    try:
        return parse_tool(caller)
    except UsageError:  # some other client, which has no partner
        return None


def _read_cutoff(since: str) -> int:
    try:
        return parse_stamp(since)
    except ValueError as error:
        raise UsageError(
            f"failed to parse session file: since is {since!r}, which is no time",
            hint="write it as 2026-05-01T12:00:00Z or 2026-05-01T14:00:00+02:00",
        ) from error


def _is_after(message: Message, cutoff: int | None) -> bool:
    if cutoff is None:
        return True
    try:
        return parse_stamp(message.at) > cutoff
    except ValueError:  # better once too often than never
        return True
