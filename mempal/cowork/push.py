"""Putting a message into the partner's inbox: all of it or none, with a handle of its own."""

import os
import time
from contextlib import suppress
from itertools import count

from mempal.core.errors import InboxError, InboxFullError, MessageTooLargeError, UsageError
from mempal.cowork.lock import hold_lock
from mempal.cowork.names import TOOLS, parse_tool
from mempal.cowork.places import Place, is_at, read_descriptor, read_file, write_all
from mempal.cowork.receipts import Event, read_waiting, try_append
from mempal.cowork.wire import (
    build_message_id,
    encode_line,
    parse_receipt,
    split_lines,
    stamp_now,
)

MOST_CONTENT = 8192  # bytes of UTF-8
MOST_MESSAGES = 16
MOST_BYTES = 32768
# Times that an inbox may be taken away between opening it and writing.
_TRIES = 16
_counter = count()


class Pushed:
    """What a push came to.

    Attributes:
        target: The tool whose inbox it is.
        path: That inbox.
        pushed_at: When, to the second.
        size: Bytes in the inbox now.
        message_id: The handle by which the message's delivery can be asked for.
        warning: What went wrong beside it; empty for nothing.
    """

    __slots__ = ("message_id", "path", "pushed_at", "size", "target", "warning")

    def __init__(self, target: str, path: str, pushed_at: str, size: int, handle: str) -> None:
        self.target = target
        self.path = path
        self.pushed_at = pushed_at
        self.size = size
        self.message_id = handle
        self.warning = ""


def push(
    home: str, cwd: str, sender: str, target: str, content: str, *, pushed_at: str | None = None
) -> Pushed:
    """Put a message into the inbox of ``target``.

    Args:
        home: The palace folder.
        cwd: A folder of the project.
        sender: The tool that writes.
        target: The tool that is to read.
        content: At most 8192 bytes as UTF-8.
        pushed_at: The second it is written; the present one when not given.

    Raises:
        UsageError: Sender and target are one tool, or one of them is none.
        InvalidFolderError: ``cwd`` is relative or has a ``..`` part.
        MessageTooLargeError: The content, or the line it makes, is too large.
        InboxFullError: The inbox would hold more than 16 messages or 32768 bytes.
        InboxError: The inbox cannot be written.
    """
    sender, target = parse_tool(sender), parse_tool(target)
    if sender == target:
        raise UsageError(
            f"cannot push to self: sender and target are both {target}",
            hint="name the partner as the target",
        )
    size = len(content.encode("utf-8", "replace"))
    if size > MOST_CONTENT:
        raise MessageTooLargeError(size, MOST_CONTENT)
    place = Place(home, cwd)
    moment = pushed_at or stamp_now()
    with hold_lock(place.lock) as held:
        handle = _choose_handle(place, build_message_id(moment, sender, content), locked=held)
        fields = {
            "pushed_at": moment,
            "from": sender,
            "content": content,
            "message_id": handle,
            "project": place.project,
        }
        path = place.inbox(target)
        pushed = Pushed(target, path, moment, _append(path, encode_line(fields)), handle)
        event: Event = {
            "event": "queued",
            "message_id": handle,
            "from": sender,
            "to": target,
            "at": moment,
            "project": place.project,
        }
        pushed.warning = try_append(place.receipts, [event])
    return pushed


def _choose_handle(place: Place, base: str, *, locked: bool) -> str:
    used = _list_handles(place)
    if not locked or used is None:
        # Nobody can say which handles are taken, so this one is like no other.
        return f"{base}-u{os.getpid():x}-{time.time_ns():x}-{next(_counter):x}"
    if base not in used:
        return base
    return next(name for n in count(2) if (name := f"{base}-{n}") not in used)


def _list_handles(place: Place) -> set[str] | None:
    """Return every handle that is taken; ``None`` when a log or an inbox cannot tell."""
    used: set[str] = set()
    try:
        for _, line in split_lines(read_file(place.receipts) or b""):
            event = parse_receipt(line)
            if event is None and line.strip():
                return None
            used.add(str((event or {}).get("message_id")))
        live = {place.inbox(tool) for tool in TOOLS}
        for _, path, message in read_waiting(place):
            if message is None and path in live:
                return None
            used.add(str(message and message.message_id))
    except InboxError:
        return None
    return used


def _append(path: str, line: bytes) -> int:
    """Add a line to an inbox; return the bytes it has now."""
    if len(line) + 1 > MOST_BYTES:
        raise MessageTooLargeError(len(line) + 1, MOST_BYTES, "the message, encoded,")
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        for _ in range(_TRIES):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
            try:
                _wait_for(descriptor)
                if not is_at(path, descriptor):  # a drain took it away before we had it
                    continue
                size = _write(descriptor, path, line)
                # Ours cannot take it away while we hold it; a peer's drain without a lock can,
                # and may have read it before. The handle tells a repeated line.
                if is_at(path, descriptor):
                    return size
            finally:
                os.close(descriptor)
    except OSError as error:
        raise InboxError(
            f"{path} cannot be written ({error.strerror or error})", hint="nothing was pushed"
        ) from error
    raise InboxError(f"{path} is taken away again and again", hint="try again")


def _wait_for(descriptor: int) -> None:
    with suppress(ImportError, OSError):  # a system without this lock has no other either
        import fcntl  # noqa: PLC0415

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _write(descriptor: int, path: str, line: bytes) -> int:
    data = read_descriptor(descriptor, path)
    taken = sum(1 for _, one in split_lines(data) if one.strip())
    torn = b"\n" if data and not data.endswith(b"\n") else b""
    size = len(data) + len(torn) + len(line) + 1
    if taken + 1 > MOST_MESSAGES or size > MOST_BYTES:
        raise InboxFullError(taken, len(data), (MOST_MESSAGES, MOST_BYTES))
    try:
        write_all(descriptor, torn + line + b"\n")
    except OSError:
        os.ftruncate(descriptor, len(data))  # what was written of it would be half a line
        raise
    return size
