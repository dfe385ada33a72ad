"""Sessions, logs and saved chats of Gemini CLI."""

import json
from io import BytesIO

import pytest

from mempal.core.model import SourceClass
from mempal.ingest.transcripts import gemini
from mempal.ingest.transcripts.message import Checkpoint

HEAD = {"sessionId": "g1", "projectHash": "h", "startTime": "2025-10-18T14:57:28.974Z"}


def entry(number, kind, content, **fields):
    return {
        "id": str(number),
        "timestamp": "2025-10-18T14:57:29Z",
        "type": kind,
        "content": content,
        **fields,
    }


def told(transcript):
    return [(message.voice.speaker, message.text) for message in transcript.messages]


def read(*lines):
    return gemini.read(BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))


CALL = {
    "id": "c",
    "name": "run_shell_command",
    "args": {"command": "ls"},
    "status": "error",
    "result": [{"functionResponse": {"response": {"output": "no such folder"}}}],
}


def test_a_session_document():
    document = {
        **HEAD,
        "summary": "A title",
        "directories": ["/w/demo"],
        "messages": [
            entry(1, "user", "question"),
            entry(2, "gemini", [{"text": "answer"}, {"thought": True, "text": "hidden"}]),
            entry(3, "gemini", "", thoughts=[{"subject": "x"}], toolCalls=[CALL]),
            entry(4, "info", "an update is there"),
            entry(5, "user", [{"text": "see"}, {"inlineData": {"data": "iVBO"}}]),
            None,
        ],
    }

    transcript = gemini.read_document(document)

    assert gemini.recognises_document(document)
    assert told(transcript) == [
        ("user", "question"),
        ("assistant", "answer"),
        ("run_shell_command", "run_shell_command: ls"),
        ("run_shell_command", "run_shell_command -> error: no such folder"),
        ("user", "see"),
    ]
    assert transcript.messages[0].voice.said_at == 1760799449000
    session = transcript.sessions["g1"]
    assert (session.title, session.folder) == ("A title", "/w/demo")
    assert (transcript.checkpoint, transcript.messages[0].span) == (None, None)


def test_what_is_not_the_owners_is_left_out():
    files = "look at @a\n--- Content from referenced files ---\nx\n--- End of content ---"
    messages = [
        entry(1, "user", files),
        entry(2, "user", "long x", displayContent="short"),
        entry(3, "user", "<session_context>x</session_context>"),
        entry(4, "gemini", "", toolCalls=[{**CALL, "name": "mempal_search"}]),
    ]

    assert told(gemini.read_document({**HEAD, "messages": messages})) == [
        ("user", "look at @a"),
        ("user", "short"),
    ]


def test_a_journal_tells_what_it_ends_with():
    transcript = read(
        HEAD,
        entry(1, "user", "question"),
        entry(2, "gemini", "half"),
        entry(2, "gemini", "whole answer"),
        entry(3, "user", "taken back"),
        entry(4, "gemini", "too"),
        {"$rewindTo": "3"},
        {"$rewindTo": "unknown"},
        {"$set": {"summary": "A title", "messages": [entry(9, "user", "in a patch")]}},
        entry(5, "user", "after"),
    )

    assert told(transcript) == [
        ("user", "question"),
        ("assistant", "whole answer"),
        ("user", "in a patch"),
        ("user", "after"),
    ]
    lines = [message.span and message.span.line_start for message in transcript.messages]
    assert lines == [2, 4, None, 10]
    assert transcript.sessions["g1"].title == "A title"


def test_a_journal_is_always_read_whole():
    data = b"".join(json.dumps(line).encode() + b"\n" for line in (HEAD, entry(1, "user", "a")))

    transcript = gemini.read(BytesIO(data), Checkpoint(len(data), 3))

    assert told(transcript) == [("user", "a")]
    assert (transcript.resumed, transcript.checkpoint) == (False, None)


def test_a_subagents_journal_has_no_owner():
    transcript = read({**HEAD, "kind": "subagent"}, entry(1, "user", "a"), entry(2, "gemini", "b"))

    assert [name for name, _ in told(transcript)] == ["main agent", "subagent"]
    assert {m.voice.source_class for m in transcript.messages} == {SourceClass.OTHER_AGENT}


def test_a_log_of_prompts():
    log = [
        {"sessionId": session, "messageId": number, "type": "user", "message": words}
        for number, (session, words) in enumerate(
            [("a", "first"), ("b", "second"), ("b", "/quit"), ("b", "/etc/hosts is wrong")]
        )
    ]

    transcript = gemini.read_document(log)

    assert gemini.recognises_document(log)
    assert [(message.session, message.text) for message in transcript.messages] == [
        ("a", "first"),
        ("b", "second"),
        ("b", "/etc/hosts is wrong"),
    ]
    assert set(transcript.sessions) == {"a", "b"}


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_saved_chat(wrapped):
    chat = [
        {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the "
                                            "context for our chat. x"}]},
        {"role": "user", "parts": [{"text": "question"}]},
        {"role": "model", "parts": [{"text": "answer"},
                                    {"functionCall": {"name": "ls", "args": {"path": "/w"}}},
                                    {"functionCall": {"name": "mempal_search", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls",
                                                         "response": {"output": "a"}}},
                                   {"functionResponse": {"name": "mempal_search",
                                                         "response": {"output": "b"}}}]},
    ]  # fmt: skip
    document = {"history": chat, "authType": "x"} if wrapped else chat

    assert gemini.recognises_document(document)
    assert told(gemini.read_document(document)) == [
        ("user", "question"),
        ("assistant", "answer"),
        ("ls", "ls: /w"),
        ("ls", "ls -> a"),
    ]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"messages": []},
        {"messages": [{"role": "user", "content": "x"}], "sessionId": "s"},
        {"mapping": {}},
        [{"role": "user", "content": "x"}],
        [{"type": "message", "user": "U", "text": "x"}],
        [{"role": [], "parts": []}],
        {"history": [1]},
    ],
)
def test_other_documents_are_not_recognised(value):
    assert not gemini.recognises_document(value)


def test_journals_are_recognised():
    assert gemini.recognises([HEAD])
    assert gemini.recognises([HEAD, entry(1, "user", "a"), {"$set": {}}])
    assert not gemini.recognises([])
    assert not gemini.recognises([entry(1, "user", "a")])
    assert not gemini.recognises([{"sessionId": "s", "type": "user", "message": {}}])
    assert not gemini.recognises([HEAD, {"type": "x"}, {"type": "x"}])
