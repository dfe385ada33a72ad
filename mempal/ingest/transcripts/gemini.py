"""Sessions of Gemini CLI: one JSON document, JSON lines, logs of prompts, and saved chats.

The lines are a journal: a message is written again whenever it grows, and a line may take back
messages from one on. Such files are therefore always read whole. What compression replaced in the
model's context was said nevertheless, and stays.

Speakers: ``user`` is the owner and ``assistant`` the model; tools speak under their own names. In a
subagent's session nobody is the owner: ``main agent`` wrote its prompts, ``subagent`` answers.
"""

import re
from collections.abc import Iterator, Sequence
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

FORMAT = "gemini"

_ROLES = {"user": "user", "gemini": "assistant", "model": "assistant"}
_HEADS = ("projectHash", "startTime", "lastUpdated")
_FILES = re.compile(
    r"\n?--- Content from referenced files ---.*?(?:--- End of content ---\n?|\Z)", re.DOTALL
)
_SETUP = "This is the Gemini CLI. We are setting up the context for our chat."
# What logs of prompts hold besides prompts.
_COMMAND = re.compile(
    r"[/?](?:about|auth|bug|chat|clear|compress|copy|corgi|directory|docs|editor|exit|extensions"
    r"|help|hooks|ide|init|mcp|memory|model|permissions|policies|privacy|quit|restore|resume"
    r"|rewind|settings|setup-github|shells|skills|stats|terminal-setup|theme|tools|vim)?(?:\s.*)?",
    re.DOTALL,
)


def recognises(records: Sequence[dict[str, object]]) -> bool:
    """Tell whether the first records of a file of JSON lines are a session of Gemini CLI."""
    if not records or not _is_head(records[0]):
        return False
    known = sum(_is_message(record) or _is_change(record) for record in records[1:])
    return 2 * known >= len(records) - 1


def recognises_document(value: object) -> bool:
    """Tell whether a JSON document is a session, a log of prompts or a saved chat."""
    if isinstance(value, dict):
        listed = isinstance(value.get("messages"), list)
        return (listed and _is_head(value)) or _are_contents(value.get("history"))
    items = read_list(value)
    return _are_contents(items) or _are_prompts(items)


def _is_head(record: dict[str, object]) -> bool:
    return isinstance(record.get("sessionId"), str) and any(name in record for name in _HEADS)


def _is_message(record: dict[str, object]) -> bool:
    return isinstance(record.get("id"), str) and isinstance(record.get("type"), str)


def _is_change(record: dict[str, object]) -> bool:
    return "$set" in record or "$rewindTo" in record


def _are_contents(value: object) -> bool:
    """Tell whether a value is a list of what the model's interface calls contents."""
    items = read_list(value)
    return bool(items) and all(
        read_object(item).get("role") in ("user", "model")
        and isinstance(read_object(item).get("parts"), list)
        for item in items
    )


def _are_prompts(items: list[object]) -> bool:
    names = ("sessionId", "messageId", "type", "message")
    return bool(items) and all(
        all(name in read_object(item) for name in names)
        and isinstance(read_object(item).get("message"), str)
        for item in items
    )


def read(file: BinaryIO, checkpoint: Checkpoint | None = None) -> Transcript:
    """Read a session of JSON lines; always whole, so a checkpoint changes nothing.

    Raises:
        OSError: The file cannot be read on.
    """
    del checkpoint
    problems = Problems()
    journal = _Journal()
    for item in read_records(file):
        if isinstance(item, Problem):
            problems.add(item)
        else:
            journal.take(item)
    speaker = _Speaker(journal.head)
    for message, span in journal.messages.values():
        speaker.tell(message, span)
    return speaker.finish(problems.tell())


def read_document(value: object) -> Transcript:
    """Read a JSON document that :func:`recognises_document` knows; of others nothing is told."""
    if isinstance(value, dict):
        speaker = _Speaker(value)
        messages = [*read_list(value.get("messages")), *read_list(value.get("history"))]
    else:
        speaker = _Speaker({})
        messages = read_list(value)
    for message in messages:
        speaker.tell(read_object(message), None)
    return speaker.finish(())


class _Journal:
    """The messages that a journal ends with, by id, each with the record that told it last."""

    def __init__(self) -> None:
        self.head: dict[str, object] = {}
        self.messages: dict[str, tuple[dict[str, object], Span | None]] = {}

    def take(self, record: Record) -> None:
        """Take in the next record."""
        value = record.value
        if isinstance(value.get("$rewindTo"), str):
            self._rewind(read_string(value["$rewindTo"]))
        elif "$set" in value:
            self._patch(read_object(value["$set"]))
        elif _is_message(value):
            span = Span(record.line, record.line, record.byte_start, record.byte_end, record.digest)
            self.messages[read_string(value["id"])] = (value, span)
        elif _is_head(value):
            self._patch(value)

    def _rewind(self, message_id: str) -> None:
        ids = list(self.messages)
        if message_id in self.messages:
            for taken_back in ids[ids.index(message_id) :]:
                del self.messages[taken_back]

    def _patch(self, patch: dict[str, object]) -> None:
        self.head = {**self.head, **{k: v for k, v in patch.items() if k != "messages"}}
        for message in map(read_object, read_list(patch.get("messages"))):
            if _is_message(message):
                message_id = read_string(message["id"])
                _, span = self.messages.get(message_id, (None, None))
                same = span is not None and self.messages[message_id][0] == message
                self.messages[message_id] = (message, span if same else None)


class _Speaker:
    """Turns messages of every shape into what was said."""

    def __init__(self, head: dict[str, object]) -> None:
        folders = [read_string(folder) for folder in read_list(head.get("directories"))]
        self._key = read_string(head.get("sessionId"))
        self._title = read_string(head.get("summary")).strip()
        self._folder = next(filter(None, folders), "")
        self._aside = head.get("kind") == "subagent"
        self._messages: list[Message] = []
        self._names: dict[str, str] = {}

    def tell(self, item: dict[str, object], span: Span | None) -> None:
        """Take in the next message."""
        kind = read_string(item.get("type") or item.get("role"))
        role = _ROLES.get(kind)
        if role is None:
            return
        key = read_string(item.get("sessionId")) or self._key
        said_at = read_instant(item.get("timestamp"))
        for text, speaker, source_class in self._read(item, role):
            self._messages.append(Message(text, Voice(speaker, source_class, said_at), key, span))

    def finish(self, problems: tuple[str, ...]) -> Transcript:
        """Return all that was said."""
        keys = dict.fromkeys(message.session for message in self._messages)
        sessions = {
            key: Session(key, self._title, self._folder) if key == self._key else Session(key)
            for key in keys
        }
        return Transcript(FORMAT, tuple(self._messages), sessions, problems)

    def _read(self, item: dict[str, object], role: str) -> Iterator[tuple[str, str, SourceClass]]:
        if text := self._read_said(item, role):
            if self._aside:
                yield (
                    text,
                    "main agent" if role == "user" else "subagent",
                    SourceClass.OTHER_AGENT,
                )
            elif role == "user":
                yield text, "user", SourceClass.PERSON
            else:
                yield text, "assistant", SourceClass.ASSISTANT
        lines = [line for call in read_list(item.get("toolCalls")) for line in _tell_call(call)]
        lines += [line for part in _parts(item) for line in self._tell_part(read_object(part))]
        for name, line in lines:
            if line:
                yield line, name, SourceClass.TOOL

    @staticmethod
    def _read_said(item: dict[str, object], role: str) -> str:
        content = item.get("content", item.get("message"))
        if role == "user":
            shown = _join_parts(item.get("displayContent"))
            text = shown or _FILES.sub("", _join_parts(content) or _join_parts(item.get("parts")))
            text = keep_said(text, strip_noise)
            from_log = "messageId" in item and _COMMAND.fullmatch(text)
            return "" if from_log or text.startswith(_SETUP) else text
        return keep_said(_join_parts(content) or _join_parts(item.get("parts")), strip_unwanted)

    def _tell_part(self, part: dict[str, object]) -> Iterator[tuple[str, str]]:
        """Yield what a part of a saved chat tells about a tool; ids are often left out there."""
        call, answer = read_object(part.get("functionCall")), part.get("functionResponse")
        if call:
            name = read_string(call.get("name")).strip() or "tool"
            own = is_own(name, call.get("args"))
            self._names[read_string(call.get("id")) or name] = "" if own else name
            yield name, "" if own else describe_call(name, call.get("args"))
        if answer := read_object(answer):
            name = read_string(answer.get("name")).strip() or "tool"
            known = self._names.get(read_string(answer.get("id")) or name, name)
            if known and not is_own(name):
                text, failed = read_output(answer.get("response"))
                yield name, describe_result(name, text, failed=failed)


def _tell_call(value: object) -> Iterator[tuple[str, str]]:
    """Yield name and line of a call and of its result, as session files keep them."""
    call = read_object(value)
    name = read_string(call.get("name")).strip()
    if not name or is_own(name, call.get("args")):
        return
    yield name, describe_call(name, call.get("args"))
    text, failed = read_output(call.get("resultDisplay"))
    if not text:
        for part in read_list(call.get("result")):
            answer = read_object(read_object(part).get("functionResponse"))
            text, failed = read_output(answer.get("response"))
    failed = failed or call.get("status") == "error"
    yield name, describe_result(name, text, failed=failed)


def _parts(item: dict[str, object]) -> list[object]:
    content = item.get("content")
    return [*read_list(content), *read_list(item.get("parts"))]


def _join_parts(content: object) -> str:
    """Return the text of a message's content: a string, a part, or a list of both."""
    if isinstance(content, str):
        return read_string(content)
    parts = content if isinstance(content, list) else [content]
    texts = (
        read_string(part)
        if isinstance(part, str)
        else ""
        if read_object(part).get("thought")
        else read_string(read_object(part).get("text"))
        for part in parts
    )
    return "\n".join(filter(None, texts))
