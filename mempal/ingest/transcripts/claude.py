"""Sessions of Claude Code: JSON lines, one record each, several for one answer of the model.

Speakers: ``user`` is the owner and ``assistant`` the model; tools speak under their own names. In a
subagent's thread (a sidechain) nobody is the owner: ``main agent`` wrote its prompts, ``subagent``
answers, and it is a conversation of its own, ``<session>/<agent>``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
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
)
from mempal.ingest.transcripts.tools import describe_call, describe_result, is_own, read_output

FORMAT = "claude"

_ROLES = {"user": "user", "human": "user", "assistant": "assistant"}
# Types of records that nobody speaks in, and a field by which they are known.
_SILENT = {
    "summary": "leafUuid",
    "file-history-snapshot": "messageId",
    "queue-operation": "sessionId",
    "mode": "sessionId",
    "permission-mode": "sessionId",
    "custom-title": "sessionId",
    "ai-title": "sessionId",
    "last-prompt": "sessionId",
    "agent-name": "sessionId",
    "pr-link": "sessionId",
    "system": "parentUuid",
    "attachment": "parentUuid",
    "progress": "parentUuid",
}
_HOST_SAYS = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")
_CONTINUED = "This session is being continued from a previous conversation"
_TEAMMATE = "<teammate-message"
# Lines after which an answer is taken for finished, though nothing else was said in its thread.
_WINDOW = 64
# Records among which a repeated one is known again.
_REMEMBERED = 2048
_DIGEST_BYTES = 8
# Tool calls that may still wait for a result.
_CALLS = 256


def recognises(records: Sequence[dict[str, object]]) -> bool:
    """Tell whether the first records of a file are a session of Claude Code."""
    shaped = sum(map(_is_shaped, records))
    if shaped and 2 * shaped >= len(records):
        return True
    roles = {read_string(record.get("type")) for record in records}
    plain = all(isinstance(record.get("message"), str) for record in records)
    return plain and roles <= set(_ROLES) and "assistant" in roles and len(roles) > 1


def _is_shaped(record: dict[str, object]) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _SILENT:
        known = isinstance(record.get("sessionId"), str) or kind == "summary"
        return (_SILENT[kind] in record and known) or kind == "file-history-snapshot"
    if kind not in _ROLES:
        return False
    message = record.get("message")
    named = isinstance(record.get("uuid"), str) or isinstance(record.get("sessionId"), str)
    if isinstance(message, dict):
        return named and ("role" in message or "content" in message)
    return isinstance(record.get("uuid"), str) and ("message" in record or "sessionId" in record)


def read(file: BinaryIO, checkpoint: Checkpoint | None = None) -> Transcript:
    """Read a session file, or what was added to it since a checkpoint.

    Raises:
        OSError: The file cannot be read on.
    """
    resumed = checkpoint is not None and file.seekable()
    reader = _Reader(checkpoint if resumed and checkpoint else Checkpoint(0, 1))
    for item in read_records(file, reader.start.offset, reader.start.line):
        reader.take(item)
    return replace(reader.finish(), resumed=resumed)


@dataclass(slots=True)
class _Answer:
    """An assistant message that the next record may still add to."""

    message_id: str
    index: int
    first: Record
    last: Record
    data: list[bytes] | None

    def extend(self, record: Record) -> Span:
        """Take in another record; return the lines and bytes of all."""
        if record is not self.last:
            touching = record.byte_start == self.last.byte_end + 1
            self.data = [*self.data, record.data] if self.data and touching else None
            self.last = record
        digest = sha256(b"\n".join(self.data)).hexdigest() if self.data else None
        first = self.first
        return Span(first.line, record.line, first.byte_start, record.byte_end, digest)


@dataclass(frozen=True, slots=True)
class _Mark:
    """How much was known at the beginning of a line: lengths of lists that only grow."""

    offset: int
    line: int
    session: str
    messages: int = 0
    uuids: int = 0
    calls: int = 0
    facts: int = 0


@dataclass(slots=True)
class _Known:
    """What records tell that matters for later ones; every list only grows."""

    uuids: list[str] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    facts: list[tuple[str, str, str]] = field(default_factory=list)


class _Reader:
    """Takes records in order.

    A mark is set where everything before is settled: at the beginning of a line, when no answer
    before it can grow. Reading on from there with what was known there gives the same messages.
    """

    def __init__(self, start: Checkpoint) -> None:
        self.start = start
        self._messages: list[Message] = []
        self._problems = Problems()
        self._answers: dict[str, _Answer] = {}
        self._known = _load(start.state)
        self._recent = set(self._known.uuids)
        self._names = dict(self._known.calls)
        self._folders = {key for key, what, _ in self._known.facts if what == "folder"}
        self._session = read_string(start.state.get("session"))
        self._line = 0
        self._next = (start.offset, start.line)
        self._here: _Mark | None = None
        self._settled = self._mark(start.offset, start.line)

    def take(self, item: Record | Problem) -> None:
        """Take in the next record or problem."""
        for key, answer in list(self._answers.items()):
            if item.line - answer.last.line > _WINDOW:
                del self._answers[key]
        self._here = None
        if item.line != self._line:
            self._line = item.line
            self._here = self._mark(item.line_start, item.line)
            self._settle()
        if isinstance(item, Problem):
            self._problems.add(item)
            complete = not item.torn
        else:
            complete = item.complete
            if not complete:
                self._here = None  # what it says may change
            self._read(item)
        if complete:
            self._next = (item.line_end, item.line + 1)

    def finish(self) -> Transcript:
        """Return all that was read."""
        if self._next[1] > self._line and not self._answers:
            self._settled = self._mark(*self._next)
        told = _gather(self._known.facts)
        keys = dict.fromkeys(message.session for message in self._messages)
        sessions = {
            key: Session(
                key,
                told.get((key, "name"), told.get((key, "title"), "")),
                told.get((key, "folder"), ""),
            )
            for key in keys
        }
        return Transcript(
            FORMAT, tuple(self._messages), sessions, self._problems.tell(), self._checkpoint()
        )

    def _mark(self, offset: int, line: int) -> _Mark:
        known = self._known
        return _Mark(
            offset,
            line,
            self._session,
            len(self._messages),
            len(known.uuids),
            len(known.calls),
            len(known.facts),
        )

    def _settle(self) -> None:
        """Everything before this line is settled if no answer is open."""
        if self._here and not self._answers:
            self._settled = self._here

    def _checkpoint(self) -> Checkpoint:
        mark, known = self._settled, self._known
        settled = dict(self.start.settled)
        for message in self._messages[: mark.messages]:
            settled[message.session] = settled.get(message.session, 0) + 1
        calls: dict[str, str] = {}
        for call_id, name in reversed(known.calls[: mark.calls]):
            calls.setdefault(call_id, name)
        told = _gather(known.facts[: mark.facts])
        state: dict[str, object] = {
            "session": mark.session,
            "uuids": "".join(known.uuids[max(0, mark.uuids - _REMEMBERED) : mark.uuids]),
            "calls": [list(call) for call in calls.items()][_CALLS - 1 :: -1],
            # Titles are left out: they are words, and what is kept here is never redacted.
            "facts": [[*fact, value] for fact, value in told.items() if fact[1] == "folder"],
        }
        return Checkpoint(mark.offset, mark.line, settled, state)

    def _read(self, record: Record) -> None:
        value = record.value
        self._session = read_string(value.get("sessionId")) or self._session
        kind = read_string(value.get("type"))
        for title, what in (("customTitle", "name"), ("aiTitle", "title")):
            if text := read_string(value.get(title)).strip():
                self._known.facts.append((self._session, what, text))
        role = _ROLES.get(kind)
        if role is None or any(value.get(flag) is True for flag in _HOST_SAYS):
            return
        if self._is_repeated(value):
            return
        turn = _Turn(self, record, role)
        self._note_folder(turn.key, read_string(value.get("cwd")))
        turn.read()
        if not turn.message_id:
            self._answers.pop(turn.key, None)

    def _is_repeated(self, value: dict[str, object]) -> bool:
        uuid = read_string(value.get("uuid"))
        if not uuid:
            return False
        mark = blake2b(uuid.encode(), digest_size=_DIGEST_BYTES).hexdigest()
        if mark in self._recent:
            return True
        known = self._known.uuids
        known.append(mark)
        self._recent.add(mark)
        if len(known) > _REMEMBERED:
            self._recent.discard(known[-_REMEMBERED - 1])
        return False

    def _note_folder(self, key: str, folder: str) -> None:
        if folder and key not in self._folders:
            self._folders.add(key)
            self._known.facts.append((key, "folder", folder))

    @property
    def session(self) -> str:
        """The session that was named last."""
        return self._session

    def note_call(self, call_id: str, name: str) -> None:
        """Remember whose result will come; an empty name is a call whose result is not told."""
        self._known.calls.append((call_id, name))
        self._names.pop(call_id, None)
        self._names[call_id] = name
        while len(self._names) > _CALLS:
            del self._names[next(iter(self._names))]

    def find_call(self, call_id: str) -> str | None:
        """Return the name of the tool that was called; ``None`` when the call is not known."""
        return self._names.get(call_id)

    def say(self, key: str, message: Message) -> None:
        """Add a message after which nothing said before it in its thread can grow."""
        self._answers.pop(key, None)
        self._settle()
        self._here = None
        self._messages.append(message)

    def answer(self, record: Record, message: Message, message_id: str) -> None:
        """Add an assistant message, or add to the one with the same id if it is still the last."""
        answer = self._answers.get(message.session)
        if answer and answer.message_id == message_id:
            self._here = None
            former = self._messages[answer.index]
            text = f"{former.text}\n\n{message.text}"
            self._messages[answer.index] = replace(former, text=text, span=answer.extend(record))
            return
        self.say(message.session, message)
        index = len(self._messages) - 1
        answer = _Answer(message_id, index, record, record, [record.data])
        self._answers[message.session] = answer


class _Turn:
    """Reads one record of a user or an assistant."""

    def __init__(self, reader: _Reader, record: Record, role: str) -> None:
        value = record.value
        message = value.get("message")
        body = read_object(message)
        agent = read_string(value.get("agentId"))
        self._aside = bool(agent) or value.get("isSidechain") is True
        self.key = f"{reader.session}/{agent or 'sidechain'}" if self._aside else reader.session
        self.message_id = read_string(body.get("id"))
        self._reader = reader
        self._record = record
        self._role = role
        self._synthetic = body.get("model") == "<synthetic>"
        self._content = message if isinstance(message, str) else body.get("content")
        self._said_at = read_instant(value.get("timestamp"))
        self._span: Span | None = None

    def read(self) -> None:
        """Tell the reader what is said in the record."""
        content = self._content
        blocks = [content] if isinstance(content, str) else read_list(content)
        if self._role == "user":
            self._read_user(blocks)
        elif not self._synthetic:
            self._read_assistant(blocks)

    def _read_user(self, blocks: Sequence[object]) -> None:
        texts = []
        for block in blocks:
            if read_object(block).get("type") == "tool_result":
                self._read_result(read_object(block))
            elif text := keep_said(_read_text(block), strip_noise):
                texts.append(text)
        text = "\n\n".join(texts)
        if not text or text.startswith(_CONTINUED):
            return
        voice = self._voice("user", SourceClass.PERSON)
        if self._aside:
            voice = self._voice("main agent", SourceClass.OTHER_AGENT)
        elif text.startswith(_TEAMMATE):
            voice = self._voice("teammate", SourceClass.OTHER_AGENT)
        self._reader.say(self.key, self._message(text, voice))

    def _read_assistant(self, blocks: Sequence[object]) -> None:
        voice = self._voice("assistant", SourceClass.ASSISTANT)
        if self._aside:
            voice = self._voice("subagent", SourceClass.OTHER_AGENT)
        for block in blocks:
            if read_object(block).get("type") in ("tool_use", "server_tool_use"):
                self._read_call(read_object(block))
            elif text := keep_said(_read_text(block), strip_unwanted):
                self._reader.answer(self._record, self._message(text, voice), self.message_id)

    def _read_call(self, block: dict[str, object]) -> None:
        name = read_string(block.get("name")).strip() or "tool"
        own = is_own(name, block.get("input"))
        if call_id := read_string(block.get("id")):
            self._reader.note_call(call_id, "" if own else name)
        self._tell(name, "" if own else describe_call(name, block.get("input")))

    def _read_result(self, block: dict[str, object]) -> None:
        name = self._reader.find_call(read_string(block.get("tool_use_id")))
        if name != "":
            text, failed = read_output(block.get("content"))
            failed = failed or block.get("is_error") is True
            self._tell(name or "tool", describe_result(name or "", text, failed=failed))

    def _tell(self, name: str, line: str) -> None:
        if line:
            message = self._message(line, self._voice(name, SourceClass.TOOL))
            self._reader.say(self.key, message)

    def _voice(self, speaker: str, source_class: SourceClass) -> Voice:
        return Voice(speaker, source_class, self._said_at)

    def _message(self, text: str, voice: Voice) -> Message:
        if self._span is None:
            record = self._record
            self._span = Span(
                record.line, record.line, record.byte_start, record.byte_end, record.digest
            )
        return Message(text, voice, self.key, self._span)


def _read_text(block: object) -> str:
    if isinstance(block, dict):
        return read_string(block.get("text")) if block.get("type") == "text" else ""
    return read_string(block)


def _gather(facts: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str], str]:
    """Return the last value of each fact about a session."""
    return {(key, what): value for key, what, value in facts}


def _load(state: Mapping[str, object]) -> _Known:
    """Read back what a checkpoint knows; anything odd is taken for unknown."""
    uuids = read_string(state.get("uuids"))
    size = 2 * _DIGEST_BYTES
    known = _Known([uuids[at : at + size] for at in range(0, len(uuids), size)])
    for call in read_list(state.get("calls")):
        match call:
            case [str(call_id), str(name)]:
                known.calls.append((call_id, name))
    for fact in read_list(state.get("facts")):
        match fact:
            case [str(key), str(what), str(value)]:
                known.facts.append((key, what, value))
    return known
