"""Whatever a transcript file holds and however it grows: nothing raises, is lost or doubled."""

import json
from dataclasses import replace
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mempal.core.model import SourceClass
from mempal.ingest.transcripts import claude, codex, gemini
from mempal.ingest.transcripts.message import Checkpoint
from mempal.ingest.transcripts.records import Problem, read_instant, read_records

READERS = [claude.read, codex.read, gemini.read]
GROWING = [claude.read, codex.read]

TEXTS = st.sampled_from(
    ["go on", "yes", "a\nb", "\u4f60\u597d \U0001f680", "x\u2028y", " lead", "", "<b>", "\x85"]
) | st.text(st.characters(exclude_characters="\r<[=#", exclude_categories=["Cs"]), max_size=9)
FEW = st.sampled_from(["1", "2", "3"])
TIMES = st.sampled_from([None, "2026-03-01T09:01:00.000Z", "odd", 17, 1.7e12])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "content"]) | TEXTS, inner)
    ),
    max_leaves=6,
)


def text_block(text):
    return {"type": "text", "text": text}


CLAUDE_BLOCKS = st.one_of(
    TEXTS.map(text_block),
    TEXTS,
    st.builds(
        lambda call, name, text: {
            "type": "tool_use",
            "id": call,
            "name": name,
            "input": {"command": text},
        },
        FEW,
        st.sampled_from(["Bash", "Read", "mcp__mempal__search"]),
        TEXTS,
    ),
    st.builds(
        lambda call, text: {"type": "tool_result", "tool_use_id": call, "content": text},
        FEW,
        TEXTS | JSON,
    ),
    st.just({"type": "thinking", "thinking": "hidden"}),
    JSON,
)
CLAUDE = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "assistant", "assistant", "system"]),
        "message": st.fixed_dictionaries(
            {"content": TEXTS | st.lists(CLAUDE_BLOCKS, max_size=3) | JSON},
            optional={"id": FEW, "role": TEXTS, "model": st.just("<synthetic>")},
        )
        | TEXTS,
    },
    optional={
        "sessionId": st.sampled_from(["s", "t"]),
        "uuid": st.integers(0, 40).map(str),
        "timestamp": TIMES,
        "cwd": st.sampled_from(["/a", "/b"]),
        "isSidechain": st.booleans(),
        "agentId": FEW,
        "isMeta": st.just(False),
        "customTitle": TEXTS,
    },
)
ITEMS = st.one_of(
    st.builds(
        lambda role, text: {
            "type": "message",
            "role": role,
            "content": [{"type": "input_text", "text": text}],
        },
        st.sampled_from(["user", "assistant", "developer"]),
        TEXTS,
    ),
    st.builds(
        lambda call, name, text: {
            "type": "function_call",
            "call_id": call,
            "name": name,
            "arguments": json.dumps({"command": ["bash", "-lc", text]}),
        },
        FEW,
        st.sampled_from(["shell", "mempal_search"]),
        TEXTS,
    ),
    st.builds(
        lambda call, text: {"type": "function_call_output", "call_id": call, "output": text},
        FEW,
        TEXTS | JSON,
    ),
    JSON,
)
EVENTS = st.builds(
    lambda kind, text: {"type": kind, "message": text},
    st.sampled_from(["user_message", "agent_message", "token_count"]),
    TEXTS,
)
CODEX = st.one_of(
    st.builds(
        lambda kind, payload, time: {"timestamp": time, "type": kind, "payload": payload},
        st.sampled_from(["response_item", "event_msg", "compacted"]),
        ITEMS | EVENTS,
        TIMES,
    ),
    ITEMS,
    st.builds(
        lambda key, folder: {"type": "session_meta", "payload": {"id": key, "cwd": folder}},
        FEW,
        TEXTS,
    ),
    st.just({"record_type": "state"}),
)
GEMINI = st.one_of(
    st.fixed_dictionaries(
        {"id": FEW, "type": st.sampled_from(["user", "gemini", "info"]), "content": TEXTS | JSON},
        optional={"toolCalls": st.lists(JSON, max_size=2), "timestamp": TIMES},
    ),
    st.fixed_dictionaries({"$rewindTo": FEW}),
    st.fixed_dictionaries({"$set": JSON}),
    st.fixed_dictionaries({"sessionId": FEW, "projectHash": TEXTS}),
)
RECORDS = CLAUDE | CODEX | GEMINI | JSON


def write_line(value):
    return json.dumps(value).encode() + b"\n"


LINES = st.one_of(
    RECORDS.map(write_line),
    RECORDS.map(write_line),
    RECORDS.map(write_line),
    st.builds(lambda value, cut: write_line(value)[:cut], RECORDS, st.integers(1, 60)),
    st.builds(lambda value: json.dumps(value, ensure_ascii=False).encode() + b"\r\n", RECORDS),
    st.sampled_from([b"\n", b"  \n", b"\0\0\n", b"null\n", b"{\n", b"\xff\xfe\n", b'{"a":NaN}\n']),
    st.sampled_from(
        [b'{"type":"user","message":"\\ud83d"}\n', b'{"type":"user","message":"\xff"}']
    ),
)
FILES = st.lists(LINES, max_size=14).map(b"".join)
CLAUDE_FILES = st.lists(CLAUDE.map(write_line) | LINES, max_size=14).map(b"".join)
CODEX_FILES = st.lists(CODEX.map(write_line) | LINES, max_size=14).map(b"".join)
ANY_BYTES = st.binary() | st.lists(st.sampled_from([*b'{}[]",:\n\\0atypeu\xff\xef\xbb\xbf'])).map(
    bytes
)


def carry(checkpoint):
    """Write a checkpoint down and read it back."""
    return replace(
        checkpoint,
        settled=json.loads(json.dumps(dict(checkpoint.settled))),
        state=json.loads(json.dumps(dict(checkpoint.state))),
    )


def grow(read, data, stops):
    """Read a file each time it has grown; return all settled messages and the last reading."""
    checkpoint = None
    settled = []
    for stop in (*sorted(stops), len(data)):
        transcript = read(BytesIO(data[:stop]), checkpoint)
        before = sum(checkpoint.settled.values()) if checkpoint else 0
        assert transcript.resumed is (checkpoint is not None)
        checkpoint = carry(transcript.checkpoint)
        count = sum(checkpoint.settled.values()) - before
        settled += transcript.messages[:count]
        rest = transcript.messages[count:]
    return settled, list(rest), transcript


@pytest.fixture(params=["as built", "short memory"], scope="module")
def memory(request):
    """Let readers forget so soon that small files show it."""
    short = {
        claude: {"_WINDOW": 2, "_REMEMBERED": 3, "_CALLS": 2},
        codex: {"_WINDOW": 2, "_WAITING": 2},
    }
    with pytest.MonkeyPatch.context() as patch:
        for module, limits in short.items() if request.param == "short memory" else ():
            for name, limit in limits.items():
                patch.setattr(module, name, limit)
        yield


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("read", GROWING)
@given(st.data())
def test_reading_on_gives_what_one_reading_gives(read, data):
    file = data.draw(CLAUDE_FILES if read is claude.read else CODEX_FILES)
    stops = data.draw(st.lists(st.integers(0, len(file)), max_size=6))

    settled, rest, last = grow(read, file, stops)

    whole = read(BytesIO(file))
    assert settled + rest == list(whole.messages)
    counts = {}
    for message in settled:
        counts[message.session] = counts.get(message.session, 0) + 1
    assert {key: n for key, n in last.checkpoint.settled.items() if n} == counts
    assert last.sessions.items() <= whole.sessions.items()
    assert file[: last.checkpoint.offset].count(b"\n") == last.checkpoint.line - 1
    assert last.checkpoint.offset in {0, file.rfind(b"\n", 0, last.checkpoint.offset) + 1}


WORDS = st.sampled_from(["go", "on"])
DENSE_CLAUDE = st.one_of(
    st.builds(
        lambda key, uuid, blocks: {
            "type": "assistant",
            "uuid": uuid,
            "message": {"id": key, "content": blocks},
        },
        st.sampled_from(["1", "2"]),
        st.sampled_from(["a", "b", "c", "d", "e", "f", "g", "h"]) | st.none(),
        st.lists(
            WORDS.map(text_block)
            | FEW.map(lambda n: {"type": "tool_use", "id": n, "name": f"T{n}", "input": {"x": n}}),
            max_size=2,
        ),
    ),
    FEW.map(
        lambda n: {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": n, "content": "r"}]},
        }
    ),
    WORDS.map(lambda text: {"type": "user", "cwd": f"/{text}", "message": text}),
    FEW.map(lambda key: {"type": "assistant", "sessionId": "s", "message": {"content": key}}),
    FEW.map(lambda key: {"type": "custom-title", "sessionId": "s", "customTitle": key}),
    st.just({"type": "assistant", "agentId": "x", "message": {"id": "1", "content": "aside"}}),
)
DENSE_CODEX = st.one_of(
    st.builds(
        lambda role, text: {"type": "message", "role": role, "content": text},
        st.sampled_from(["user", "assistant"]),
        WORDS,
    ),
    st.builds(
        lambda kind, text: {"type": "event_msg", "payload": {"type": kind, "message": text}},
        st.sampled_from(["user_message", "agent_message"]),
        WORDS,
    ),
    FEW.map(lambda n: {"type": "function_call", "call_id": n, "name": f"T{n}", "arguments": n}),
    FEW.map(lambda n: {"type": "function_call_output", "call_id": n, "output": "r"}),
    FEW.map(lambda n: {"type": "session_meta", "payload": {"id": n, "cwd": f"/{n}"}}),
)


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("read", GROWING)
@given(st.data())
def test_a_file_may_have_ended_at_every_line_or_just_beside(read, data):
    dense = DENSE_CLAUDE if read is claude.read else DENSE_CODEX
    lines = data.draw(st.lists(dense.map(write_line), min_size=3, max_size=10))
    lines[-1] = lines[-1].rstrip()
    file = b"".join(lines)
    whole = read(BytesIO(file))
    ends = [number + 1 for number, byte in enumerate(file) if byte == ord("\n")]

    for end in ends:
        for stops in ([end], [end - 1], [end + 9], ends):
            settled, rest, last = grow(read, file, stops)
            assert settled + rest == list(whole.messages)
            # No checkpoint keeps titles, which are words.
            assert last.sessions == {
                key: replace(whole.sessions[key], title=session.title)
                for key, session in last.sessions.items()
            }


@pytest.mark.parametrize("read", GROWING)
def test_a_line_without_its_end_may_turn_out_to_be_another(read):
    """A whole object is no whole line: what follows may make it one that cannot be read."""
    parts = claude_file([("user", "a"), ("assistant", "b"), ("user", "c")])
    if read is codex.read:
        parts = codex_file([("user", "a"), ("assistant", "b"), ("user", "c")])
    lines = [json.dumps(part).encode() for part in parts]
    before = b"\n".join(lines)
    after = before + b" x\n" + lines[-2] + b"\n"

    settled, rest, _ = grow(read, after, [len(before)])

    assert settled + rest == list(read(BytesIO(after)).messages)


@pytest.mark.parametrize("read", READERS)
@given(FILES | ANY_BYTES)
@example(b"[" * 100_000)
@example(b'{"type":"user","message":' + b'{"content":' * 5000 + b"1" + b"}" * 5001)
@example(b'{"type":"user","message":' + b'{"content":' * 900 + b"1" + b"}" * 901)
@example(b'{"type":"user","uuid":"u","message":"m","timestamp":' + b"9" * 6000 + b"}")
@example(b'{"type":["user"],"uuid":{},"message":{"content":[{"type":{}}]},"payload":[]}\n')
def test_any_file_is_read(read, file):
    transcript = read(BytesIO(file))

    for message in transcript.messages:
        assert message.text.strip(" \t\n")
        assert "\r" not in message.text
        assert message.text.encode().decode() == message.text
        assert message.session in transcript.sessions
        assert message.voice.speaker
        assert message.span is None or 0 <= message.span.byte_start < message.span.byte_end
    if transcript.checkpoint:
        json.dumps(dict(transcript.checkpoint.state))


@pytest.mark.parametrize("module", [claude, codex, gemini])
@given(st.lists(RECORDS, max_size=5))
def test_any_records_are_judged(module, values):
    assert module.recognises([value for value in values if isinstance(value, dict)]) in (
        True,
        False,
    )


@given(JSON | GEMINI | st.lists(GEMINI, max_size=3) | st.builds(dict, messages=st.lists(GEMINI)))
def test_any_document_is_judged_and_read(value):
    assert gemini.recognises_document(value) in (True, False)
    gemini.read_document(value)


@given(ANY_BYTES | FILES)
def test_lines_are_accounted_for(file):
    for item in read_records(BytesIO(file)):
        line = file[item.line_start : item.line_end]
        assert line.count(b"\n") <= 1
        assert file[: item.line_start].count(b"\n") == item.line - 1
        if isinstance(item, Problem):
            assert item.torn is not line.endswith(b"\n")
        else:
            assert item.complete is line.endswith(b"\n")
            assert file[item.byte_start : item.byte_end] == item.data
            assert item.line_start <= item.byte_start < item.byte_end <= item.line_end


@given(JSON | st.integers() | st.floats() | st.datetimes().map(str))
def test_any_time_stamp_is_read(value):
    instant = read_instant(value)
    assert instant is None or isinstance(instant, int)


SAID = st.text(st.characters(exclude_characters="\r<[=#", exclude_categories=["Cs"])).filter(
    lambda text: text.strip()
)
TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), SAID), max_size=8)
CLASSES = {"user": SourceClass.PERSON, "assistant": SourceClass.ASSISTANT}


def claude_file(turns):
    for number, (role, text) in enumerate(turns):
        content = text if number % 2 else [text_block(text)]
        message = {"role": role, "content": content, "id": f"m{number}"}
        yield {"type": role, "sessionId": "s", "uuid": f"u{number}", "message": message}


def codex_file(turns):
    for number, (role, text) in enumerate(turns):
        item = {"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}
        kind = "user_message" if role == "user" else "agent_message"
        both = [
            {"type": "response_item", "payload": item},
            {"type": "event_msg", "payload": {"type": kind, "message": text}},
        ]
        yield from (both, both[::-1], both[:1])[number % 3]


def gemini_file(turns):
    yield {"sessionId": "s", "projectHash": "h"}
    for number, (role, text) in enumerate(turns):
        kind = "user" if role == "user" else "gemini"
        yield {"id": str(number), "type": kind, "content": text if number % 2 else [{"text": text}]}


@pytest.mark.parametrize(
    ("read", "build"),
    [(claude.read, claude_file), (codex.read, codex_file), (gemini.read, gemini_file)],
)
@pytest.mark.parametrize("ascii_only", [True, False])
@given(TURNS)
def test_text_in_equals_text_out(read, build, ascii_only, turns):
    lines = [json.dumps(record, ensure_ascii=ascii_only) for record in build(turns)]

    transcript = read(BytesIO("\n".join(lines).encode()), None)

    said = [(message.voice.source_class, message.text) for message in transcript.messages]
    assert said == [(CLASSES[role], text) for role, text in turns]
    assert transcript.problems == ()


def test_a_file_that_cannot_seek_is_read_whole():
    class Pipe(BytesIO):
        def seekable(self):
            return False

        def seek(self, *_):
            raise OSError

    file = b"".join(map(write_line, codex_file([("user", "a"), ("assistant", "b")])))

    transcript = codex.read(Pipe(file), Checkpoint(7, 2))

    assert [message.text for message in transcript.messages] == ["a", "b"]
    assert not transcript.resumed
