"""Lines of the inbox and of the receipts log, as both tools write and read them.

One JSON object on each line, compact, in UTF-8; only a newline ends a line. A reader ignores fields
that it does not know, so a line may say more: ``project`` is the identity it was written for.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Message:
    """One line of an inbox: what was pushed, and the bytes of its line without the newline."""

    __slots__ = ("content", "line", "message_id", "project", "pushed_at", "sender")

    def __init__(self, fields: dict[str, Any], line: bytes) -> None:
        self.pushed_at: str = fields["pushed_at"]
        self.sender: str = fields["from"]
        self.content: str = fields["content"]
        self.message_id: str | None = _text_or_none(fields.get("message_id"))
        self.project: str | None = _text_or_none(fields.get("project"))
        self.line = line


def build_message_id(pushed_at: str, from_: str, content: str) -> str:
    """Return ``msg_`` and the first 12 hex digits of SHA-256 over the three, NUL between them."""
    import hashlib  # noqa: PLC0415 - a drain of an empty inbox names no message

    text = f"{pushed_at}\0{from_}\0{content}"
    return "msg_" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def stamp_now() -> str:
    """Return the present second in UTC, as lines have it."""
    return time.strftime(_TIME_FORMAT, time.gmtime(max(0, int(time.time()))))


def encode_line(fields: dict[str, Any]) -> bytes:
    """Return one line without its newline; fields that are ``None`` are left out."""
    kept = {name: value for name, value in fields.items() if value is not None}
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def split_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number (from 1) and bytes of each line, blank ones too, without their line ends."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, 1):
        yield number, line.removesuffix(b"\r")


def parse_message(line: bytes) -> Message | None:
    """Return the message of a line; ``None`` when it is none."""
    fields = parse_object(line)
    if fields is None or not _has_texts(fields, ("pushed_at", "from", "content")):
        return None
    return Message(fields, line)


def parse_receipt(line: bytes) -> dict[str, Any] | None:
    """Return the event of a line of the receipts log; ``None`` when it is none."""
    fields = parse_object(line)
    if fields is None or not _has_texts(fields, ("event", "from", "to", "at")):
        return None
    return fields


def parse_object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object that is a line; ``None`` when it is not one."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _has_texts(fields: dict[str, Any], names: tuple[str, ...]) -> bool:
    return all(isinstance(fields.get(name), str) for name in names)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
