"""Sessions of Claude Code."""

import json
from io import BytesIO

import pytest

from mempal.core.model import SourceClass
from mempal.core.recall import wrap_recalled
from mempal.ingest.transcripts import claude

SAID_AT = "2026-03-01T09:01:00.000Z"


def record(kind, content, **fields):
    message = {"role": kind, "content": content}
    if "id" in fields:
        message["id"] = fields.pop("id")
    return {"type": kind, "sessionId": "s", "timestamp": SAID_AT, "message": message, **fields}


def text(words):
    return {"type": "text", "text": words}


def use(name, call="t1", **arguments):
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def result(content, call="t1", **fields):
    return {"type": "tool_result", "tool_use_id": call, "content": content, **fields}


def encode(*lines):
    parts = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return b"".join(part + b"\n" for part in parts)


def read(*lines):
    return claude.read(BytesIO(encode(*lines)))


def said(*lines):
    return [(message.voice.speaker, message.text) for message in read(*lines).messages]


def test_content_of_every_shape():
    assert said(
        record("user", "a string"),
        record("assistant", [text("one"), text("two")]),
        record("user", [text("a list"), {"type": "image", "source": {"data": "iVBO"}}]),
        {"type": "user", "message": "bare", "uuid": "u"},
        record("user", None),
        record("user", []),
        record("user", " \n"),
        record("assistant", [{"type": "thinking", "thinking": "t", "signature": "c2ln"}]),
        record("assistant", [{"type": "new", "text": "n"}, text("beside")]),
    ) == [
        ("user", "a string"),
        ("assistant", "one\n\ntwo"),
        ("user", "a list"),
        ("user", "bare"),
        ("assistant", "beside"),
    ]


def test_who_said_it_when_and_where():
    data = encode(record("user", "words", cwd="/w/demo"))

    transcript = claude.read(BytesIO(data))

    (message,) = transcript.messages
    assert message.voice.source_class is SourceClass.PERSON
    assert message.voice.said_at == 1772355660000
    assert (message.span.byte_start, message.span.byte_end) == (0, len(data) - 1)
    assert transcript.sessions["s"].folder == "/w/demo"
    assert transcript.format == "claude"


@pytest.mark.parametrize("stamp", [None, "", "yesterday", {}, [1]])
def test_odd_time_stamps_cost_only_the_time(stamp):
    (message,) = read(record("user", "words", timestamp=stamp)).messages

    assert message.voice.said_at is None


def test_lines_of_one_answer_are_joined():
    lines = [
        record("assistant", [text("one")], id="m"),
        record("assistant", [{"type": "thinking", "thinking": "x"}], id="m"),
        record("assistant", [text("two")], id="m"),
        record("assistant", [text("next")], id="n"),
    ]
    data = encode(*lines)

    first, second = claude.read(BytesIO(data)).messages

    assert (first.text, second.text) == ("one\n\ntwo", "next")
    assert (first.span.line_start, first.span.line_end, first.span.digest) == (1, 3, None)
    assert data[first.span.byte_start : first.span.byte_end].count(b"\n") == 2


def test_touching_lines_of_one_answer_have_a_digest():
    from hashlib import sha256

    data = encode(*(record("assistant", [text(word)], id="m") for word in "abc"))

    (message,) = claude.read(BytesIO(data)).messages

    assert message.text == "a\n\nb\n\nc"
    assert message.span.digest == sha256(data[:-1]).hexdigest()


def test_an_answer_ends_where_something_else_is_said():
    lines = [
        record("assistant", [text("one"), use("Bash", command="ls")], id="m"),
        record("assistant", [text("two")], id="m"),
        record("user", "stop"),
        record("assistant", [text("three")], id="m"),
    ]

    assert [words for _, words in said(*lines)] == ["one", "Bash: ls", "two", "stop", "three"]


def test_an_answer_ends_after_many_lines_of_others():
    gap = [{"type": "system"}] * 64
    one, two = (record("assistant", [text(word)], id="m") for word in ("one", "two"))

    assert len(said(one, *gap[1:], two)) == 1
    assert len(said(one, *gap, two)) == 2


def test_tools_are_told_in_one_line():
    lines = [
        record("assistant", [use("Bash", command="pytest -q")]),
        record("user", [result("3 passed\nin 2 s")]),
        record("user", [result([text("no such call"), {"type": "image"}], "t9", is_error=True)]),
        record("user", [result(None)]),
        record("user", [{"type": "tool_result", "tool_use_id": "t1"}]),
        record("assistant", [{"type": "server_tool_use", "name": "web", "input": {}}]),
    ]

    messages = read(*lines).messages

    assert [(message.voice.speaker, message.text) for message in messages] == [
        ("Bash", "Bash: pytest -q"),
        ("Bash", "Bash -> 3 passed in 2 s"),
        ("tool", "tool -> error: no such call"),
    ]
    assert {message.voice.source_class for message in messages} == {SourceClass.TOOL}


@pytest.mark.parametrize(
    "call",
    [use("mcp__mempal__search", query="zq"), use("Bash", command="cd /w && mempal search zq")],
)
def test_what_mempal_answered_is_not_stored_again(call):
    assert said(record("assistant", [call]), record("user", [result("zq found")])) == []


def test_what_mempal_put_in_is_not_the_owners():
    recalled = wrap_recalled([("a drawer", "zq")])

    assert said(record("user", f"{recalled}\nmy question")) == [("user", "my question")]
    assert said(record("user", recalled)) == []


@pytest.mark.parametrize(
    "line",
    [
        record("user", "x", isMeta=True),
        record("user", "x", isCompactSummary=True),
        record("assistant", [text("x")], isApiErrorMessage=True),
        record("user", "This session is being continued from a previous conversation that ran out"),
        record("user", "<system-reminder>x</system-reminder>"),
        record("user", "<command-name>/clear</command-name>\n<command-args></command-args>"),
        record("user", [text("[Request interrupted by user]")]),
        record("user", "<private>x</private>"),
        {**record("assistant", "x"), "message": {"model": "<synthetic>", "content": "x"}},
        {"type": "summary", "summary": "x", "leafUuid": "l"},
        {"type": "system", "content": "x"},
        {"type": "attachment", "attachment": {"content": "x"}},
        {"type": "brand-new", "message": {"role": "user", "content": "x"}},
        {"type": "user", "uuid": "u"},
        {"message": {"role": "user", "content": "x"}},
    ],
)
def test_what_nobody_said_is_left_out_without_a_problem(line):
    transcript = read(line)

    assert (transcript.messages, transcript.problems, transcript.sessions) == ((), (), {})


def test_a_subagent_is_not_the_owner_and_has_its_own_conversation():
    lines = [
        record("user", "owner", cwd="/w"),
        record("user", "prompt", isSidechain=True, agentId="a1", cwd="/w/sub"),
        record("assistant", [text("answer")], isSidechain=True, agentId="a1"),
        record("user", "old", isSidechain=True),
        record("user", "<teammate-message teammate_id='x'>hi</teammate-message>"),
    ]

    transcript = read(*lines)

    told = [(m.session, m.voice.speaker, m.voice.source_class.value) for m in transcript.messages]
    assert told == [
        ("s", "user", "person"),
        ("s/a1", "main agent", "other agent"),
        ("s/a1", "subagent", "other agent"),
        ("s/sidechain", "main agent", "other agent"),
        ("s", "teammate", "other agent"),
    ]
    assert transcript.sessions["s/a1"].folder == "/w/sub"


def test_titles_and_sessions():
    transcript = read(
        {"type": "user", "message": "before any", "uuid": "u"},
        {"type": "ai-title", "aiTitle": "guessed", "sessionId": "s"},
        record("user", "words"),
        {"type": "custom-title", "customTitle": "chosen", "sessionId": "s"},
        {"type": "ai-title", "aiTitle": "guessed again", "sessionId": "s"},
        {"type": "user", "message": "no session named", "uuid": "v"},
    )

    assert [message.session for message in transcript.messages] == ["", "s", "s"]
    assert transcript.sessions["s"].title == "chosen"


def test_a_record_that_is_there_twice_is_taken_once():
    line = record("user", "words", uuid="u")

    assert len(said(line, record("user", "words", uuid="v"), line)) == 2


def test_memory_for_records_and_calls_is_limited(monkeypatch):
    monkeypatch.setattr(claude, "_REMEMBERED", 2)
    monkeypatch.setattr(claude, "_CALLS", 2)
    lines = [record("user", word, uuid=word) for word in "abcacb"]
    assert "".join(words for _, words in said(*lines)) == "abcab"

    calls = [record("assistant", [use(f"T{n}", f"t{n}")]) for n in (1, 2, 1, 3)]
    results = [record("user", [result("r", f"t{n}")]) for n in (1, 2, 3)]
    assert [name for name, _ in said(*calls, *results)] == ["T1", "tool", "T3"]


def test_reading_goes_on_behind_what_is_settled():
    data = encode(record("user", "a"), record("assistant", [text("b")], id="m"))
    first = claude.read(BytesIO(data))
    assert (first.checkpoint.line, first.checkpoint.settled) == (2, {"s": 1})

    grown = data + encode(record("assistant", [text("c")], id="m"), record("user", "d"))
    second = claude.read(BytesIO(grown), first.checkpoint)

    assert [message.text for message in second.messages] == ["b\n\nc", "d"]
    assert second.resumed
    assert (second.checkpoint.offset, second.checkpoint.settled) == (len(grown), {"s": 3})


def test_a_torn_line_is_read_when_its_rest_has_come():
    data = encode(record("user", "a"), record("user", "b"))
    first = claude.read(BytesIO(data[:-20]))
    assert first.problems == ("line 2: cut off at the end of the file",)
    assert first.checkpoint.line == 2

    second = claude.read(BytesIO(data), first.checkpoint)

    assert [message.text for message in second.messages] == ["b"]
    assert second.messages == claude.read(BytesIO(data)).messages[1:]


@pytest.mark.parametrize(
    "records",
    [
        [record("user", "a", uuid="u")],
        [{"type": "summary", "summary": "x", "leafUuid": "l"}, {"type": "mode", "sessionId": "s"}],
        [{"type": "file-history-snapshot", "messageId": "m"}, record("user", None)],
        [{"type": "human", "message": "hello"}, {"type": "assistant", "message": "hi"}],
    ],
)
def test_sessions_are_recognised(records):
    assert claude.recognises(records)


@pytest.mark.parametrize(
    "records",
    [
        [],
        [{"messages": [{"role": "user", "content": "x"}]}],
        [{"type": "user", "content": "x"}, {"type": "assistant", "content": "x"}],
        [{"type": "module", "content": "x"}],
        [{"type": "user", "message": "logged in", "level": "info"}],
        [{"type": "system", "message": "started", "sessionId": "s"}],
        [{"type": "message", "role": "user", "content": []}],
        [{"type": [], "message": {}}, {"type": {}, "message": "x"}],
        [{"type": "session_meta", "payload": {}}],
    ],
)
def test_other_records_are_not(records):
    assert not claude.recognises(records)
