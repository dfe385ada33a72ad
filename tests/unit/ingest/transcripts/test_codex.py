"""Rollouts of Codex, old and new."""

import json
from io import BytesIO

import pytest

from mempal.core.model import SourceClass
from mempal.ingest.transcripts import codex

META = {"id": "r1", "cwd": "/w/demo", "source": "cli"}


def head(**fields):
    return {"timestamp": "t", "type": "session_meta", "payload": {**META, **fields}}


def item(payload):
    return {"timestamp": "2026-02-03T10:00:04.000Z", "type": "response_item", "payload": payload}


def message(role, *texts):
    content = [{"type": "input_text", "text": text} for text in texts]
    return item({"type": "message", "role": role, "content": content})


def event(kind, words):
    return {"type": "event_msg", "payload": {"type": kind, "message": words}}


def call(name, arguments, call_id="c1"):
    return item({"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id})


def output(value, call_id="c1"):
    return item({"type": "function_call_output", "call_id": call_id, "output": value})


def read(*lines):
    return codex.read(BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))


def said(*lines):
    return [(message.voice.speaker, message.text) for message in read(*lines).messages]


def test_who_said_it_when_and_where():
    transcript = read(head(), message("user", "words"))

    (told,) = transcript.messages
    assert (told.voice.source_class, told.voice.said_at) == (SourceClass.PERSON, 1770112804000)
    assert (told.session, told.span.line_start) == ("r1", 2)
    assert transcript.sessions["r1"].folder == "/w/demo"
    assert transcript.format == "codex"


@pytest.mark.parametrize(
    "lines",
    [
        [message("user", "go"), event("user_message", "go")],
        [event("user_message", "go"), message("user", "go")],
        [message("user", "go")],
        [event("user_message", "go")],
        [message("user", "<image>", "</image>", "go\n"), event("user_message", "go")],
    ],
)
def test_every_message_is_told_once(lines):
    assert [(name, words.strip()) for name, words in said(*lines)] == [("user", "go")]
    assert len(said(*lines, *lines)) == 2


def test_order_and_roles_do_not_confuse_the_balance():
    go, gone = message("user", "go"), event("user_message", "go")

    assert len(said(go, go, gone, gone)) == 2
    assert len(said(go, gone, gone, go)) == 2
    assert len(said(message("assistant", "go"), gone)) == 2
    assert len(said(go, *[event("token_count", None)] * 63, gone)) == 1
    assert len(said(go, *[event("token_count", None)] * 64, gone)) == 2


@pytest.mark.parametrize(
    "line",
    [
        message("developer", "x"),
        message("system", "x"),
        message("user", "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
        message("user", "<environment_context>x</environment_context>"),
        message("user", "<user_instructions>x</user_instructions>", "<skill>x</skill>"),
        message("user", "<permissions instructions>x"),
        message("user", "Another language model started to solve this problem and left a summary"),
        message("user", "<image name=[Image #1]>", "</image>"),
        event("agent_reasoning", "x"),
        item({"type": "reasoning", "encrypted_content": "gAAA", "summary": [{"text": "x"}]}),
        {"type": "compacted", "payload": {"message": "x"}},
        {"type": "brand_new", "payload": {"type": "message", "role": "user", "content": "x"}},
        {"record_type": "state"},
        event("user_message", {"no": "text"}),
    ],
)
def test_what_nobody_said_is_left_out_without_a_problem(line):
    transcript = read(head(), line)

    assert (transcript.messages, transcript.problems) == ((), ())


def test_what_an_editor_puts_before_a_request_is_not_the_owners():
    words = (
        "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nfix it"
    )

    assert said(message("user", words), event("user_message", words)) == [("user", "fix it")]


def test_tools_are_told_in_one_line():
    lines = [
        call("shell", json.dumps({"command": ["bash", "-lc", "pytest -q"]})),
        output(json.dumps({"output": "1 failed", "metadata": {"exit_code": 1}})),
        item({"type": "custom_tool_call", "name": "apply_patch", "input": "x\n", "call_id": "c2"}),
        item({"type": "custom_tool_call_output", "call_id": "c2", "output": "done"}),
        item({"type": "web_search_call", "action": {"type": "search", "query": "docs"}}),
        item({"type": "local_shell_call", "action": {"type": "exec", "command": ["ls", "-l"]}}),
        output([{"type": "input_text", "text": "as a list"}], "unknown"),
        output(None),
    ]

    assert said(*lines) == [
        ("shell", "shell: pytest -q"),
        ("shell", "shell -> error: 1 failed"),
        ("apply_patch", "apply_patch: x"),
        ("apply_patch", "apply_patch -> done"),
        ("web_search", "web_search: docs"),
        ("local_shell", "local_shell: ls -l"),
        ("tool", "tool -> as a list"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        call("mcp__mempal__search", '{"query": "zq"}'),
        call("shell", json.dumps({"command": ["bash", "-lc", "mempal search zq"]})),
        item({"type": "function_call", "name": "search", "namespace": "mcp__mempal__",
              "arguments": "{}", "call_id": "c1"}),
    ],
)  # fmt: skip
def test_what_mempal_answered_is_not_stored_again(line):
    assert said(line, output("zq found")) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"source": {"subagent": "review"}},
        {"source": {"subagent": {"thread_spawn": {"depth": 1}}}},
        {"thread_source": "subagent"},
    ],
)
def test_a_subagents_rollout_has_no_owner(fields):
    transcript = read(head(**fields), message("user", "prompt"), message("assistant", "answer"))

    assert [m.voice.speaker for m in transcript.messages] == ["main agent", "subagent"]
    assert {m.voice.source_class for m in transcript.messages} == {SourceClass.OTHER_AGENT}


def test_a_fork_keeps_its_own_name():
    lines = [head(), head(id="parent"), message("user", "a")]
    lines.append({"type": "event_msg", "payload": {"type": "thread_name_updated",
                                                   "thread_name": "named"}})  # fmt: skip

    assert [(s.key, s.title) for s in read(*lines).sessions.values()] == [("r1", "named")]


def test_old_rollouts():
    lines = [
        {"id": "old", "timestamp": "t", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
        {"type": "reasoning", "summary": [{"text": "b"}], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "c"}]},
        {"type": "function_call", "name": "shell", "arguments": '{"cmd": "ls"}', "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output": "d"}'},
    ]

    assert codex.recognises(lines)
    told = [("user", "a"), ("assistant", "c"), ("shell", "shell: ls"), ("shell", "shell -> d")]
    assert said(*lines) == told
    assert set(read(*lines).sessions) == {"old"}


def test_memory_for_calls_is_limited(monkeypatch):
    monkeypatch.setattr(codex, "_WAITING", 2)
    calls = [call(f"T{n}", "", f"c{n}") for n in (1, 2, 1, 3)]

    names = [name for name, _ in said(*calls, *(output("r", f"c{n}") for n in (1, 2, 3)))]
    assert names == ["T1", "tool", "T3"]


@pytest.mark.parametrize(
    "records",
    [
        [],
        [{"hello": 1}],
        [{"type": "session_meta"}],
        [{"type": "response_item", "payload": "x"}],
        [{"type": "message", "role": "user", "content": []}],
        [{"id": "1", "timestamp": "t", "type": "user", "git": {}}],
        [{"type": [], "payload": {}}],
        [{"type": "user", "uuid": "u", "message": {"role": "user", "content": "x"}}],
    ],
)
def test_other_records_are_not_recognised(records):
    assert not codex.recognises(records)


def test_new_rollouts_are_recognised():
    assert codex.recognises([head()])
    assert codex.recognises([message("user", "a"), {"type": "new"}])
