"""Which format a JSON file is in, told by its beginning.

What a file holds decides; its name only rules out. Ordinary JSON is dismissed by a search for the
few field names that transcripts have, without parsing it.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath

from mempal.ingest.transcripts import chatgpt, claude, codex, gemini, slack
from mempal.ingest.transcripts.documents import decode_head, load

_LINE_ENDINGS = (".jsonl", ".ndjson", ".jsonl.zst", ".ndjson.zst")
_DOCUMENT_ENDING = ".json"
# Of these names, however deep, none is a transcript.
_ORDINARY = frozenset(
    {
        "composer.json",
        "jsconfig.json",
        "manifest.json",
        "package-lock.json",
        "package.json",
        "tsconfig.json",
    }
)
_LINE_SIGNS = re.compile(rb'"(?:type|sessionId|instructions|git)"')
_DOCUMENT_SIGNS = re.compile(
    rb'"(?:mapping|messages|sessionId|parts|history)"|"type"\s*:\s*"message"'
)
_SLACK_ID = re.compile(r"[A-Z][A-Z0-9]+")
_BLANK = b" \t\r\n\v\f\0"
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
# Records and list elements that are looked at.
_RECORDS = 50
_ELEMENTS = 12
# Strings, brackets and what stands between; a quote alone begins a string that is cut off.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:"]|[^\s{}\[\],:"]++', re.DOTALL)
_CUT_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CLOSING = {"{": "}", "[": "]"}


class Kind(StrEnum):
    """How a file holds its values."""

    LINES = "lines"
    DOCUMENT = "document"


class Format(StrEnum):
    """What a JSON file is.

    ``METADATA`` is a part of an export in which nothing is said.
    """

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    GEMINI_DOCUMENT = "gemini document"
    CHATGPT = "chatgpt"
    SLACK = "slack"
    METADATA = "metadata"

    @property
    def kind(self) -> Kind:
        """How files of this format hold their values."""
        return Kind.LINES if self in _OF_LINES else Kind.DOCUMENT


_OF_LINES = frozenset({Format.CLAUDE, Format.CODEX, Format.GEMINI})


def detect(path: str, head: bytes) -> Format | None:
    """Tell the format of a file.

    Args:
        path: Its path or name, of which the last part counts.
        head: Its first bytes, 64 KiB or all if there are fewer; decompressed if it is compressed.
            May be cut anywhere.

    Returns:
        The format; ``None`` for a file that is no transcript in JSON.
    """
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    if name in _ORDINARY:
        return None
    if head.startswith(_WIDE):
        head = decode_head(head).encode(errors="replace")
    head = head.removeprefix(_BOM).strip(_BLANK)
    if name.endswith(_LINE_ENDINGS):
        return _detect_lines(head)
    if not name.endswith(_DOCUMENT_ENDING):
        return None
    if name in _METADATA:
        value = _read_start(head)
        if _is_metadata(name, value):
            return Format.METADATA
    found = _detect_document(head)
    return found or (_detect_lines(head) if b"\n" in head else None)


def _detect_lines(head: bytes) -> Format | None:
    if not head.startswith(b"{") or not _LINE_SIGNS.search(head):
        return None
    first, *others = head.split(b"\n", _RECORDS + 1)
    records = [record for line in (first, *others[:_RECORDS]) if (record := _read_line(line))]
    if not others and not records:
        cut = _read_start(first)
        if not isinstance(cut, dict):
            return None
        if _is_cut_claude(cut):
            return Format.CLAUDE
        records = [cut]
    if claude.recognises(records):
        return Format.CLAUDE
    if codex.recognises(records):
        return Format.CODEX
    return Format.GEMINI if gemini.recognises(records) else None


def _is_cut_claude(record: Mapping[str, object]) -> bool:
    """Tell a session whose first record is so long that what identifies it lies behind."""
    message = record.get("message")
    return (
        record.get("type") in ("user", "assistant")
        and isinstance(message, dict)
        and message.get("role") == record["type"]
    )


def _detect_document(head: bytes) -> Format | None:
    if not head.startswith((b"[", b"{")) or not _DOCUMENT_SIGNS.search(head):
        return None
    value = _read_start(head)
    if value is None:
        return None
    if gemini.recognises_document(value):
        return Format.GEMINI_DOCUMENT
    items = value[:_ELEMENTS] if isinstance(value, list) else [value]
    if any(map(chatgpt.recognises, items)):
        return Format.CHATGPT
    if isinstance(value, list) and any(map(slack.recognises, items)):
        return Format.SLACK
    return None


def _read_line(line: bytes) -> dict[str, object]:
    try:
        value = load(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_start(head: bytes) -> object:
    """Read the beginning of a JSON value: of what is cut off, the part that is there.

    Of a list that is cut off, the last element is left out unless it is the only one.
    """
    text = decode_head(head)
    try:
        return load(text)
    except RecursionError:
        return None
    except ValueError:
        pass  # most likely cut off
    try:
        value = load(_close(text))
    except (ValueError, RecursionError):
        return None
    return value[:-1] if isinstance(value, list) and len(value) > 1 else value


def _close(text: str) -> str:
    """Close every string, list and object that is open at the end of a text."""
    opened: list[str] = []
    kept, before = 0, ""
    for found in _TOKEN.finditer(text):
        mark = found.group()
        if mark in _CLOSING:
            opened.append(mark)
            kept = found.end()
        elif mark in ("}", "]"):
            if not opened:
                break
            opened.pop()
            kept = found.end()
        elif mark == ",":
            kept = found.start()
        elif mark == '"':
            if before == ":" or (opened and opened[-1] == "[" and before in ("[", ",")):
                text = _CUT_ESCAPE.sub(r"\1", text) + '"'
                kept = len(text)
            break
        before = mark
    return text[:kept] + "".join(_CLOSING[mark] for mark in reversed(opened))


def _is_metadata(name: str, value: object) -> bool:
    """Tell a part of an export that holds no talk, by its fields as much as by its name."""
    samples = value[:_ELEMENTS] if isinstance(value, list) else [value]
    fields, needed = _METADATA[name]
    return bool(samples) and all(
        isinstance(sample, dict)
        and not fields.isdisjoint(sample)
        and needed <= sample.keys()
        and (name not in _SLACK_LISTS or _has_slack_id(sample))
        for sample in samples
    )


def _has_slack_id(sample: Mapping[str, object]) -> bool:
    identity = sample.get("id")
    return isinstance(identity, str) and _SLACK_ID.fullmatch(identity) is not None


_SLACK_CHANNEL = (frozenset({"members", "created", "creator"}), frozenset({"id"}))
_SLACK_USER = (frozenset({"profile", "team_id"}), frozenset({"id", "name"}))
_SLACK_LISTS = {
    "channels.json": _SLACK_CHANNEL,
    "groups.json": _SLACK_CHANNEL,
    "dms.json": _SLACK_CHANNEL,
    "mpims.json": _SLACK_CHANNEL,
    "users.json": _SLACK_USER,
    "org_users.json": _SLACK_USER,
}
# Fields of which an element has at least one, and those that it has all of.
_METADATA: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    **_SLACK_LISTS,
    "integration_logs.json": (
        frozenset({"service_id", "service_type", "app_id", "app_type"}),
        frozenset({"change_type"}),
    ),
    "user.json": (frozenset({"email", "phone_number"}), frozenset({"id"})),
    "message_feedback.json": (
        frozenset({"rating", "content", "user_id"}),
        frozenset({"conversation_id"}),
    ),
    "shared_conversations.json": (
        frozenset({"title", "is_anonymous"}),
        frozenset({"conversation_id"}),
    ),
}
