"""The log of what was pushed and delivered, and what it says of each message.

The log keeps the newest 400 events. Lines that cannot be read are counted and told; they leave the
log only when it is cut to size.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from mempal.core.errors import InboxError
from mempal.cowork.names import TOOLS
from mempal.cowork.places import Place, read_file, replace_file, write_all
from mempal.cowork.wire import Message, encode_line, parse_message, parse_receipt, split_lines

MOST_EVENTS = 400
_FIELDS = ("event", "message_id", "from", "to", "at", "injected_as", "hook_runtime", "project")

Event = dict[str, Any]
Row = dict[str, Any]


def read_receipts(path: str) -> tuple[list[Event], list[int]]:
    """Return the events of a log, and the numbers of lines that are none.

    Raises:
        InboxError: The log is there and cannot be read.
    """
    events, unreadable = [], []
    for number, line in split_lines(read_file(path) or b""):
        if not line.strip():
            continue
        event = parse_receipt(line)
        if event is None:
            unreadable.append(number)
        else:
            events.append(event)
    return events, unreadable


def append_receipts(path: str, events: Iterable[Event]) -> None:
    """Add events in one write, on a line of their own; cut the log to its newest 400.

    Raises:
        InboxError: What is there cannot be read.
        OSError: The system refuses to write.
    """
    lines = [encode_line({name: event.get(name) for name in _FIELDS}) for event in events]
    data = read_file(path) or b""
    known = [line for _, line in split_lines(data) if parse_receipt(line) is not None]
    if len(known) + len(lines) > MOST_EVENTS:
        replace_file(path, b"".join(line + b"\n" for line in [*known, *lines][-MOST_EVENTS:]))
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        torn = b"\n" if data and not data.endswith(b"\n") else b""
        write_all(descriptor, torn + b"".join(line + b"\n" for line in lines))
    finally:
        os.close(descriptor)


def list_pending(place: Place) -> list[tuple[str, Message]]:
    """Return every message that waits, with the tool it waits for; claims count.

    Raises:
        InboxError: An inbox is there and cannot be read.
    """
    return [
        (tool, message)
        for tool, _, message in read_waiting(place)
        if message and message.project in {None, place.project}
    ]


def read_waiting(place: Place) -> Iterator[tuple[str, str, Message | None]]:
    """Yield of each line that waits its tool, its file and its message, if it is one.

    Raises:
        InboxError: An inbox is there and cannot be read.
    """
    for tool in TOOLS:
        for name in place.names:
            claims = place.list_claims(tool, name)
            for path in (*claims, place.inbox(tool, name)):
                for _, line in split_lines(read_file(path) or b""):
                    yield tool, path, parse_message(line)


def list_states(place: Place) -> tuple[list[Row], list[int]]:
    """Return the state of every message that is known, newest first, and unreadable lines.

    The k-th time that a handle was queued belongs to the k-th time that it was drained. What was
    queued and not drained is ``pending`` while a line of it waits, and ``lost`` otherwise.

    Raises:
        InboxError: The log or an inbox is there and cannot be read: nothing is called lost then.
    """
    events, unreadable = read_receipts(place.receipts)
    waiting: dict[str, list[tuple[str, Message]]] = {}
    for tool, message in list_pending(place):
        if message.message_id is not None:
            waiting.setdefault(message.message_id, []).append((tool, message))
    groups: dict[str | None, tuple[list[Event], list[Event]]] = {}
    for event in events:
        if event.get("project") not in {None, place.project}:
            continue
        if event["event"] in {"queued", "drained"}:
            handle = event.get("message_id")
            key = handle if isinstance(handle, str) else None
            pair = groups.setdefault(key, ([], []))
            pair[event["event"] == "drained"].append(event)
    rows = []
    for key in dict.fromkeys([*groups, *waiting]):
        queued, drained = groups.get(key, ([], []))
        rows += _join(key, queued, drained, waiting.get(key or "", []))
    rows.sort(key=_rank)
    rows.sort(key=lambda row: row["queued_at"] or "", reverse=True)
    rows.sort(key=lambda row: row["queued_at"] is None)
    return rows, unreadable


def _join(
    handle: str | None,
    queued: list[Event],
    drained: list[Event],
    waiting: list[tuple[str, Message]],
) -> list[Row]:
    rows = []
    waiting = list(waiting)
    for number in range(max(len(queued), len(drained))):
        start = queued[number] if number < len(queued) else None
        end = drained[number] if number < len(drained) else None
        if end is not None:
            status = "drained"
        else:
            status = "pending" if waiting else "lost"
            del waiting[:1]
        known = start or end or {}
        rows.append(
            _make_row(
                handle,
                (known["from"], known["to"]),
                (start["at"] if start else None, end["at"] if end else None),
                end or {},
                status,
            )
        )
    for tool, message in waiting:
        times = (message.pushed_at, None)
        rows.append(_make_row(handle, (message.sender, tool), times, {}, "pending"))
    return rows


def _make_row(
    handle: str | None,
    ends: tuple[str, str],
    times: tuple[str | None, str | None],
    delivery: Event,
    status: str,
) -> Row:
    row: Row = {} if handle is None else {"message_id": handle}
    row |= {"from": ends[0], "to": ends[1], "queued_at": times[0], "drained_at": times[1]}
    for name in ("injected_as", "hook_runtime"):
        if isinstance(delivery.get(name), str):
            row[name] = delivery[name]
    row["status"] = status
    return row


def _rank(row: Row) -> tuple[tuple[bool, str], ...]:
    names = ("message_id", "from", "to", "drained_at", "status", "injected_as", "hook_runtime")
    return tuple((row.get(name) is not None, row.get(name) or "") for name in names)


def try_append(path: str, events: Iterable[Event]) -> str:
    """Add events, and return why that failed; empty when it did not.

    A message is delivered or queued whether the log says so or not.
    """
    try:
        append_receipts(path, events)
    except (InboxError, OSError) as error:
        return f"no receipt was written: {error}"
    return ""
