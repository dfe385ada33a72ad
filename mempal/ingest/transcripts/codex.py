"""Rollouts of Codex: JSON lines, old and new kinds of records, one session in a file.

What is said stands there once or twice: as an item of the model's conversation and as an event for
the screen, in either order. Each is told once: a record takes the part of the other kind's nearest
one with the same words that has no partner yet, and what was told once is never changed later.

Speakers: ``user`` is the owner and ``assistant`` the model; tools speak under their own names. In a
subagent's rollout nobody is the owner: ``main agent`` wrote its prompts, ``subagent`` answers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import BinaryIO

from mempal.core.model import SourceClass, Span, Voice
from mempal.ingest.transcripts.message import Checkpoint, Message, Session, Transcript
from mempal.ingest.transcripts.noise import keep_said, strip_noise, strip_unwanted
from mempal.ingest.transcripts.records import (
    Problem,
    Problems,
    Record,
    read_instant,
    read_list,
    read_object,
    read_records,
    read_string,
    read_texts,
)
from mempal.ingest.transcripts.tools import describe_call, describe_result, is_own, read_output

FORMAT = "codex"

_KINDS = frozenset(
    {
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "world_state",
        "ghost_snapshot",
    }
)
_HEADS = ("instructions", "git")
_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output"})
_EVENTS = {"user_message": "user", "agent_message": "assistant"}
_TEXTS = frozenset({"input_text", "output_text", "text"})
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_PICTURE = re.compile(r"</?image\b[^<>]*>")
_SUMMARY = "Another language model started to solve this problem"
_EDITOR = "# Context from my IDE setup:"
_REQUEST = re.compile(r"^## My request for Codex:[^\S\n]*\n?", re.MULTILINE)
# Lines within which the two records of one message stand.
_WINDOW = 64
_DIGEST_BYTES = 8
# Tool calls that may still wait for a result.
_WAITING = 256


def recognises(records: Sequence[dict[str, object]]) -> bool:
    """Tell whether the first records of a file are a rollout of Codex."""
    shaped = sum(
        read_string(record.get("type")) in _KINDS and isinstance(record.get("payload"), dict)
        for record in records
    )
    if shaped and 2 * shaped >= len(records):
        return True
    old = sum(map(_is_old, records[1:]))
    return bool(records) and _is_head(records[0]) and 2 * old >= len(records) - 1


def _is_head(record: dict[str, object]) -> bool:
    """Tell whether an old rollout begins with this record."""
    named = isinstance(record.get("id"), str) and isinstance(record.get("timestamp"), str)
    return named and "type" not in record and any(name in record for name in _HEADS)


def _is_old(record: dict[str, object]) -> bool:
    return "record_type" in record or read_string(record.get("type")) in {*_ITEMS, *_CALLS}


def read(file: BinaryIO, checkpoint: Checkpoint | None = None) -> Transcript:
    """Read a rollout, or what was added to it since a checkpoint.

    Raises:
        OSError: The file cannot be read on.
    """
    resumed = checkpoint is not None and file.seekable()
    reader = _Reader(checkpoint if resumed and checkpoint else Checkpoint(0, 1))
    for item in read_records(file, reader.start.offset, reader.start.line):
        reader.take(item)
    return replace(reader.finish(), resumed=resumed)


class _Balance:
    """Tells the second record of a message from the first one of the next."""

    def __init__(self, waiting: Sequence[tuple[str, str, int]] = ()) -> None:
        self._waiting = list(waiting)  # (kind of record, digest of role and words, line)

    def is_double(self, kind: str, role: str, text: str, line: int) -> bool:
        """Take in what a record says.

        Args:
            kind: ``item`` or ``event``.
            role: Who says it.
            text: The words; white space does not matter.
            line: Number of the record's line.

        Returns:
            Whether the other kind's record of the same message was there before.
        """
        words = " ".join((role, *text.split()))
        digest = blake2b(words.encode(), digest_size=_DIGEST_BYTES).hexdigest()
        self._waiting = [entry for entry in self._waiting if line - entry[2] <= _WINDOW]
        for entry in self._waiting:
            if entry[0] != kind and entry[1] == digest:
                self._waiting.remove(entry)
                return True
        self._waiting.append((kind, digest, line))
        return False

    def dump(self) -> list[list[object]]:
        """Return what waits for its partner, as JSON values."""
        return [list(entry) for entry in self._waiting]


class _Reader:
    """Takes records in order; whatever it has told is settled but for a line without its end."""

    def __init__(self, start: Checkpoint) -> None:
        state = start.state
        self.start = start
        self._messages: list[Message] = []
        self._problems = Problems()
        self._key = read_string(state.get("key"))
        self._title = ""  # words, which no checkpoint keeps: it is stored as it is
        self._folder = read_string(state.get("folder"))
        self._begun = state.get("begun") is True
        self._aside = state.get("aside") is True
        self._balance = _Balance(_load_waiting(state))
        self._names = _load_names(state)
        self._next = (start.offset, start.line)
        self._settled: Checkpoint | None = None

    def take(self, item: Record | Problem) -> None:
        """Take in the next record or problem."""
        complete = not item.torn if isinstance(item, Problem) else item.complete
        if not complete and self._settled is None:
            self._settled = self._checkpoint()
        if isinstance(item, Problem):
            self._problems.add(item)
        else:
            self._read(item)
        if complete:
            self._next = (item.line_end, item.line + 1)

    def finish(self) -> Transcript:
        """Return all that was read."""
        keys = dict.fromkeys(message.session for message in self._messages)
        sessions = {
            key: Session(key, self._title, self._folder) if key == self._key else Session(key)
            for key in keys
        }
        checkpoint = self._settled or self._checkpoint()
        return Transcript(
            FORMAT, tuple(self._messages), sessions, self._problems.tell(), checkpoint
        )

    def _checkpoint(self) -> Checkpoint:
        settled = dict(self.start.settled)
        for message in self._messages:
            settled[message.session] = settled.get(message.session, 0) + 1
        state: dict[str, object] = {
            "key": self._key,
            "folder": self._folder,
            "begun": self._begun,
            "aside": self._aside,
            "waiting": self._balance.dump(),
            "calls": [list(call) for call in self._names.items()],
        }
        return Checkpoint(*self._next, settled, state)

    def _read(self, record: Record) -> None:
        value = record.value
        kind = read_string(value.get("type"))
        payload = read_object(value.get("payload"))
        if kind == "session_meta":
            self._begin(payload)
        elif not self._begun and _is_head(value):
            self._begin(value)
        elif kind == "turn_context":
            self._folder = self._folder or read_string(payload.get("cwd"))
        elif kind == "response_item":
            self._read_item(record, payload)
        elif kind == "event_msg":
            self._read_event(record, payload)
        elif "payload" not in value:
            self._read_item(record, value)

    def _begin(self, head: dict[str, object]) -> None:
        """Take the session's name from its first head; a fork repeats the head it came from."""
        if self._begun:
            return
        self._begun = True
        self._key = read_string(head.get("id")) or read_string(head.get("session_id"))
        self._folder = read_string(head.get("cwd"))
        source = head.get("source")
        self._aside = (
            source == "subagent"
            or (isinstance(source, dict) and "subagent" in source)
            or head.get("thread_source") == "subagent"
        )

    def _read_event(self, record: Record, payload: dict[str, object]) -> None:
        kind = read_string(payload.get("type"))
        if kind == "thread_name_updated":
            self._title = read_string(payload.get("thread_name")) or self._title
        elif kind in _EVENTS:
            self._say(record, "event", _EVENTS[kind], read_string(payload.get("message")))

    def _read_item(self, record: Record, item: dict[str, object]) -> None:
        kind = read_string(item.get("type"))
        if kind == "message":
            texts = read_texts(item.get("content"), _TEXTS)
            text = "\n".join(text for text in texts if not _PICTURE.fullmatch(text.strip()))
            self._say(record, "item", read_string(item.get("role")), text)
        elif kind in _CALLS:
            self._read_call(record, item, kind)
        elif kind in _RESULTS:
            self._read_result(record, item)

    def _say(self, record: Record, kind: str, role: str, text: str) -> None:
        if role == "user":
            text = keep_said(text, _strip_request)
            source_class, speaker = SourceClass.PERSON, "user"
        elif role == "assistant":
            text = keep_said(text, strip_unwanted)
            source_class, speaker = SourceClass.ASSISTANT, "assistant"
        else:
            return
        if not text or self._balance.is_double(kind, role, text, record.line):
            return
        if self._aside:
            source_class = SourceClass.OTHER_AGENT
            speaker = "main agent" if role == "user" else "subagent"
        self._add(record, text, speaker, source_class)

    def _read_call(self, record: Record, item: dict[str, object], kind: str) -> None:
        name = read_string(item.get("name")).strip() or kind.removesuffix("_call")
        space = read_string(item.get("namespace"))
        arguments = next(
            (item[key] for key in ("arguments", "input", "action") if item.get(key)), None
        )
        own = is_own(name, arguments) or is_own(space)
        if call_id := read_string(item.get("call_id")):
            self._names.pop(call_id, None)
            self._names[call_id] = "" if own else name
            while len(self._names) > _WAITING:
                del self._names[next(iter(self._names))]
        if not own and (line := describe_call(name, arguments)):
            self._add(record, line, name, SourceClass.TOOL)

    def _read_result(self, record: Record, item: dict[str, object]) -> None:
        name = self._names.get(read_string(item.get("call_id")), "tool")
        text, failed = read_output(item.get("output"))
        if name and (line := describe_result(name, text, failed=failed)):
            self._add(record, line, name, SourceClass.TOOL)

    def _add(self, record: Record, text: str, speaker: str, source_class: SourceClass) -> None:
        voice = Voice(speaker, source_class, read_instant(record.value.get("timestamp")))
        span = Span(record.line, record.line, record.byte_start, record.byte_end, record.digest)
        self._messages.append(Message(text, voice, self._key, span))


def _strip_request(text: str) -> str:
    """Take out noise, and what an editor puts before the owner's request."""
    rest = strip_noise(text)
    if rest.startswith(_SUMMARY):  # put in place of what was said before
        return ""
    if rest.lstrip().startswith(_EDITOR) and (request := _REQUEST.search(rest)):
        return rest[request.end() :]
    return rest


def _load_waiting(state: Mapping[str, object]) -> list[tuple[str, str, int]]:
    waiting: list[tuple[str, str, int]] = []
    for entry in read_list(state.get("waiting")):
        match entry:
            case [str(kind), str(digest), int(line)]:
                waiting.append((kind, digest, line))
    return waiting


def _load_names(state: Mapping[str, object]) -> dict[str, str]:
    names: dict[str, str] = {}
    for call in read_list(state.get("calls")):
        match call:
            case [str(call_id), str(name)]:
                names[call_id] = name
    return names
