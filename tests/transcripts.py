"""Sessions of chat tools for tests, and looks into a whole palace: every drawer, every byte."""

import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mempal.core import files
from mempal.core.model import Drawer
from mempal.palace import Palace

Row = dict[str, Any]


def claude_row(number: int, role: str, content: object, **more: object) -> Row:
    """Return one record of a Claude Code session; ``number`` names it and tells its minute."""
    row: Row = {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/work/demo",
        "sessionId": "11111111-0000-4000-8000-000000000001",
        "version": "2.1.0",
        "type": role,
        "message": {"role": role, "content": content},
        "uuid": f"u{number:06d}",
        "timestamp": f"2026-03-01T{9 + number // 60 % 14:02d}:{number % 60:02d}:00.000Z",
    }
    if role == "assistant":
        row["message"] |= {"id": f"msg_{number}", "model": "m", "type": "message"}
    return row | more


def say(text: str) -> list[Row]:
    """Return the content of an answer in words."""
    return [{"type": "text", "text": text}]


def codex_rows(key: str, folder: str, *turns: tuple[str, str], minute: int = 0) -> list[Row]:
    """Return a rollout of Codex: its head, then each (role, text) as item and as event."""
    rows = [_codex(minute, "session_meta", {"id": key, "cwd": folder, "originator": "codex_cli"})]
    for number, (role, text) in enumerate(turns, minute + 1):
        kind = "output_text" if role == "assistant" else "input_text"
        item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        rows.append(_codex(number, "response_item", item))
        event = {"user": "user_message", "assistant": "agent_message"}.get(role)
        if event:
            rows.append(_codex(number, "event_msg", {"type": event, "message": text}))
    return rows


def _codex(minute: int, kind: str, payload: Row) -> Row:
    moment = f"2026-02-03T10:{minute:02d}:00.000Z"
    return {"timestamp": moment, "type": kind, "payload": payload}


def chatgpt_conversation(key: str, *turns: tuple[str, str]) -> Row:
    """Return a conversation of a ChatGPT export, as a tree without branches."""
    mapping: dict[str, Row] = {"root": {"id": "root", "message": None, "parent": None}}
    parent = "root"
    for number, (role, text) in enumerate(turns):
        name = f"{key}-{number}"
        mapping[name] = {
            "id": name,
            "parent": parent,
            "children": [],
            "message": {
                "id": name,
                "author": {"role": role},
                "create_time": 1770000000.5 + number,
                "content": {"content_type": "text", "parts": [text]},
                "recipient": "all",
            },
        }
        parent = name
    head = {"id": key, "conversation_id": key, "title": key, "create_time": 1770000000.0}
    return {**head, "mapping": mapping, "current_node": parent}


def to_lines(rows: Iterable[object]) -> str:
    """Return records as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def list_drawers(palace: Palace, *, history: bool = False) -> list[Drawer]:
    """Return every drawer of a palace: the current ones, or all that are not deleted."""
    store = palace.access.outfit.open_store(False)
    try:
        keys = [key for batch in store.contents(1000) for key, _ in batch]
        drawers = [drawer for drawer in store.get(keys) if drawer.deleted_at is None]
    finally:
        store.close()
    return [drawer for drawer in drawers if history or drawer.superseded_at is None]


def tell(drawers: Iterable[Drawer]) -> list[tuple[object, ...]]:
    """Return what makes drawers the same, whatever run stored them."""
    return sorted(
        (
            *(drawer.wing, drawer.room, drawer.id, drawer.content, drawer.source_file),
            *(drawer.session or "", str(drawer.speaker), str(drawer.source_class)),
            *(drawer.said_at or 0, str(drawer.span), drawer.superseded_at is not None),
        )
        for drawer in drawers
    )


def with_word(drawers: Iterable[Drawer], word: str) -> list[Drawer]:
    """Return the drawers whose text holds a word."""
    return [drawer for drawer in drawers if word in drawer.content.replace(".", " ").split()]


def spill(home: Path, needles: Sequence[str | bytes]) -> Iterator[tuple[str, str]]:
    """Yield each file below a folder, and the text that it must not hold but does."""
    wanted = [needle.encode() if isinstance(needle, str) else needle for needle in needles]
    files = [path for path in sorted(home.rglob("*")) if path.is_file()]
    assert files, home
    for path in files:
        data = path.read_bytes()
        for needle in wanted:
            if needle in data or needle.decode(errors="replace") in path.name:
                yield str(path.relative_to(home)), needle.decode(errors="replace")


class Meter:
    """Stands in for ``os`` where mempal opens files, and counts what is read of each.

    Attributes:
        read: Bytes read, by file name; 0 for a file that was opened only.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.read: Counter[str] = Counter()
        self._names: dict[int, str] = {}
        patch.setattr(files, "os", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, path: Path, flags: int) -> int:
        descriptor = os.open(path, flags)
        self._names[descriptor] = Path(path).name
        self.read[Path(path).name] += 0
        return descriptor

    def fdopen(self, descriptor: int, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Counted(descriptor, self._names[descriptor], self.read))


class _Counted(io.FileIO):
    def __init__(self, descriptor: int, name: str, counts: Counter[str]) -> None:
        super().__init__(descriptor, "rb")
        self._counts, self._label = counts, name

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self._counts[self._label] += count or 0
        return count

    def read(self, size: int | None = -1) -> Any:
        data = super().read(-1 if size is None else size)
        self._counts[self._label] += len(data or b"")
        return data

    def readall(self) -> Any:
        data = super().readall()
        self._counts[self._label] += len(data or b"")
        return data
