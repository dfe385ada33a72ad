"""Which sessions of coding agents on this machine are not stored yet, and how long they have left.

Told from names, sizes and times alone: no session is opened. A host's own folder may be a link, as
it is with people who keep their settings elsewhere; no link inside of it is followed.
"""

import json
import math
import os
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from mempal.core.files import read_linked
from mempal.core.model import Source, SourceState
from mempal.core.ports import Store
from mempal.core.reports import Finding, SessionBalance

CLAUDE, CODEX = "claude-code", "codex"
_NAMES = {CLAUDE: "Claude Code", CODEX: "Codex"}
_SETTINGS = "settings.json"
_LARGEST_SETTINGS = 1_000_000
_CLEANUP = "cleanupPeriodDays"
# How long Claude Code keeps a session that nothing was added to, unless its settings say otherwise.
_DEFAULT_DAYS = 30.0
_MOST_DAYS = 1e6
_SOON_DAYS = 7
_DAY_MS = 86_400_000
_COMPRESSED = ".zst"


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """Where a host keeps sessions.

    Attributes:
        host: ``claude-code`` or ``codex``.
        kept_days: Days after its last change after which the host deletes a session; ``None`` for
            never.
        note: What is odd about how long that is; empty for nothing.
    """

    host: str
    folder: Path
    kept_days: float | None = None
    note: str = ""


class _State(Enum):
    STORED = auto()
    GROWN = auto()
    MISSING = auto()


def find_session_folders(environment: Mapping[str, str], home: Path) -> list[SessionFolder]:
    """Return the folders in which hosts keep their sessions, whether they are there or not.

    Args:
        environment: May move them with ``CLAUDE_CONFIG_DIR`` and ``CODEX_HOME``.
        home: The user's home folder.
    """
    claude = _place(environment, "CLAUDE_CONFIG_DIR", home / ".claude")
    codex = _place(environment, "CODEX_HOME", home / ".codex")
    days, note = _read_kept_days(claude / _SETTINGS)
    return [
        SessionFolder(CLAUDE, claude / "projects", days, note),
        SessionFolder(CODEX, codex / "sessions"),
        SessionFolder(CODEX, codex / "archived_sessions"),
    ]


def _place(environment: Mapping[str, str], name: str, default: Path) -> Path:
    given = environment.get(name)
    return Path(given).absolute() if given else default


def _read_kept_days(path: Path) -> tuple[float, str]:
    """Return how long sessions are kept, and what is odd about that."""
    try:
        document = json.loads(read_linked(path, _LARGEST_SETTINGS))
    except FileNotFoundError:
        return _DEFAULT_DAYS, ""
    except (OSError, ValueError, RecursionError):
        return _DEFAULT_DAYS, f"{_SETTINGS} cannot be read, {_DEFAULT_DAYS:g} days are assumed"
    days = document.get(_CLEANUP, _DEFAULT_DAYS) if isinstance(document, dict) else None
    if isinstance(days, bool) or not isinstance(days, int | float) or days != days:  # noqa: PLR0124
        return _DEFAULT_DAYS, f"{_CLEANUP} is no number, {_DEFAULT_DAYS:g} days are assumed"
    if days <= 0:
        # Newer versions refuse such a value; older ones keep nothing at all.
        return 0.0, f"{_CLEANUP} is not above 0, so all may be deleted when it starts"
    return float(min(days, _MOST_DAYS)), ""


def count_sessions(
    folders: Sequence[SessionFolder], store: Store | None, at: int
) -> tuple[SessionBalance, ...]:
    """Hold the sessions on disk to what is stored; folders without any are left out.

    Args:
        folders: Where to look.
        store: Record of truth; ``None`` when there is none yet.
        at: The present instant.
    """
    balances = (_count(folder, store, at) for folder in folders)
    return tuple(balance for balance in balances if balance.total)


def _count(place: SessionFolder, store: Store | None, at: int) -> SessionBalance:
    top = os.path.realpath(place.folder)
    sessions = dict(_list_claude(top) if place.host == CLAUDE else _list_codex(top))
    known = _list_known(store, top) if store and sessions else {}
    counts = dict.fromkeys(_State, 0)
    oldest = None
    for path, stat in sessions.items():
        state = _judge(stat, known.get(path, []))
        counts[state] += 1
        if state is not _State.STORED:
            changed = stat.st_mtime_ns // 1_000_000
            oldest = changed if oldest is None else min(oldest, changed)
    days_left = None
    if place.kept_days is not None and oldest is not None:
        days_left = max(0, math.floor(place.kept_days - (at - oldest) / _DAY_MS))
    return SessionBalance(
        place.host,
        str(place.folder),
        len(sessions),
        counts[_State.MISSING],
        counts[_State.GROWN],
        days_left,
        place.note,
    )


def _list_claude(top: str) -> Iterator[tuple[str, os.stat_result]]:
    for project in _scan(top):
        if not project.is_dir(follow_symlinks=False):
            continue
        for entry in _scan(project.path):
            if entry.is_dir(follow_symlinks=False):
                yield from _list_subagents(entry.path)
            elif entry.name.endswith(".jsonl"):
                yield from _stat(entry)


def _list_subagents(session: str) -> Iterator[tuple[str, os.stat_result]]:
    folder = os.path.join(session, "subagents")  # noqa: PTH118 - thousands of them
    if os.path.islink(folder):  # noqa: PTH114
        return
    for entry in _scan(folder):
        if entry.name.startswith("agent-") and entry.name.endswith(".jsonl"):
            yield from _stat(entry)


def _list_codex(top: str) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [top]
    while waiting:
        entries = _scan(waiting.pop())
        names = {entry.name for entry in entries}
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
                continue
            plain = entry.name.removesuffix(_COMPRESSED)
            # Of a session that is there in both forms the plain one counts, as with the host.
            beaten = plain != entry.name and plain in names
            if plain.startswith("rollout-") and plain.endswith(".jsonl") and not beaten:
                yield from _stat(entry)


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # not there, or nothing that could be mined either
        return []


def _stat(entry: os.DirEntry[str]) -> Iterator[tuple[str, os.stat_result]]:
    try:
        if entry.is_file(follow_symlinks=False):
            yield entry.path, entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # deleted since it was listed
        return


def _list_known(store: Store, top: str) -> dict[str, list[Source]]:
    """Return what is stored of each file of every tree that a folder is part of, or holds."""
    known: dict[str, list[Source]] = defaultdict(list)
    folder = Path(top)
    for wing, root in store.roots():
        tree = Path(root)
        if tree.is_relative_to(folder) or folder.is_relative_to(tree):
            for path, source in store.sources(wing, root).items():
                known[os.path.join(root, path)].append(source)  # noqa: PTH118 - thousands of them
    return known


def _judge(stat: os.stat_result, known: Sequence[Source]) -> _State:
    state = _State.MISSING
    for source in known:
        if source.state is SourceState.FORGOTTEN:  # its owner wants it so
            return _State.STORED
        if source.state is SourceState.GONE or source.mtime_ns < 0:  # not read, or not to its end
            continue
        if (source.size, source.mtime_ns) == (stat.st_size, stat.st_mtime_ns):
            return _State.STORED
        state = _State.GROWN
    return state


def judge_sessions(balances: Sequence[SessionBalance], home: Path) -> Finding | None:
    """Say in words what is not stored yet; ``None`` on a machine without sessions.

    Args:
        balances: What :func:`count_sessions` returned.
        home: The user's home folder, which commands name ``~``.
    """
    if not balances:
        return None
    at_risk = any(b.days_left is not None and b.days_left < _SOON_DAYS for b in balances)
    folders = [_quote(Path(b.folder), home) for b in balances if b.missing or b.grown]
    repair = f"mempal mine {' '.join(folders)} --mode convos" if folders else ""
    detail = "; ".join(map(_describe, balances))
    return Finding("sessions", "warning" if at_risk else "ok", detail, repair)


def _describe(balance: SessionBalance) -> str:
    name = _NAMES[balance.host]
    if balance.folder.endswith("archived_sessions"):
        name += " archive"
    total = f"{balance.total} session{'' if balance.total == 1 else 's'}"
    if not balance.missing and not balance.grown:
        return f"{name}: {total}, all stored"
    parts = [f"{name}: {balance.missing} of {total} not stored"]
    if balance.grown:
        parts.append(f"{balance.grown} grown since")
    if balance.days_left is not None:
        parts.append(f"the first may be deleted {_describe_days(balance.days_left)}")
    if balance.note:
        parts.append(balance.note)
    return ", ".join(parts)


def _describe_days(days: int) -> str:
    if days < 1:
        return "at any time"
    return f"in {days} day{'' if days == 1 else 's'}"


def _quote(folder: Path, home: Path) -> str:
    if not folder.is_relative_to(home):
        return shlex.quote(str(folder))
    relative = folder.relative_to(home).as_posix()
    return "~" if relative == "." else f"~/{shlex.quote(relative)}"
