"""The format of a file is told by how it begins; its name only rules out."""

import json

import pytest

from mempal.ingest.transcripts.detect import Format, Kind, detect

CLAUDE = {
    "parentUuid": None,
    "sessionId": "s1",
    "cwd": "/w",
    "type": "user",
    "message": {"role": "user", "content": "hello"},
    "uuid": "u1",
    "timestamp": "2026-01-02T10:00:00.000Z",
}
CODEX = {
    "timestamp": "2026-01-02T10:00:00.000Z",
    "type": "session_meta",
    "payload": {"id": "s1", "cwd": "/w", "instructions": "be kind"},
}
CODEX_OLD = {"id": "s1", "timestamp": "2025-06-10T08:00:00.000Z", "instructions": None}
GEMINI = {
    "sessionId": "s1",
    "projectHash": "p",
    "startTime": "2026-01-02T10:00:00.000Z",
    "messages": [{"id": "m", "type": "user", "content": "hello", "timestamp": "x"}],
}
CONVERSATION = {
    "title": "t",
    "create_time": 1.5,
    "mapping": {
        "r": {"id": "r", "message": None, "parent": None, "children": ["u"]},
        "u": {
            "id": "u",
            "message": {"author": {"role": "user"}, "content": {"parts": ["hello"]}},
            "parent": "r",
            "children": [],
        },
    },
    "conversation_id": "c",
}
SLACK = {"type": "message", "user": "U1", "text": "hello", "ts": "1772442000.000100"}


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def document(value, **options):
    return json.dumps(value, **options).encode()


@pytest.mark.parametrize(
    ("name", "head", "expected"),
    [
        ("a.jsonl", lines(CLAUDE, CLAUDE), Format.CLAUDE),
        ("a.ndjson", lines(CLAUDE), Format.CLAUDE),
        ("A.JSONL", lines(CLAUDE), Format.CLAUDE),
        ("C:\\x\\a.jsonl", lines(CLAUDE), Format.CLAUDE),
        ("a.json", lines(CLAUDE, CLAUDE), Format.CLAUDE),
        ("a.jsonl", b"\xef\xbb\xbf" + lines(CLAUDE), Format.CLAUDE),
        ("a.jsonl", b"\n" + lines(CLAUDE) + b'{"broken\n', Format.CLAUDE),
        ("rollout.jsonl", lines(CODEX), Format.CODEX),
        ("rollout.jsonl.zst", lines(CODEX), Format.CODEX),
        ("rollout.jsonl", lines(CODEX_OLD, {"record_type": "state"}), Format.CODEX),
        ("session.json", document(GEMINI, indent=2), Format.GEMINI_DOCUMENT),
        ("conversations.json", document([CONVERSATION]), Format.CHATGPT),
        ("conversations.json", document([None, {}, CONVERSATION]), Format.CHATGPT),
        ("one.json", document(CONVERSATION, indent=1), Format.CHATGPT),
        ("c.json", document([CONVERSATION]).decode().encode("utf-16"), Format.CHATGPT),
        ("2026-03-02.json", document([SLACK]), Format.SLACK),
        ("2026-03-02.json", document([{"type": "x"}, SLACK], indent=4), Format.SLACK),
    ],
)
def test_formats(name, head, expected):
    assert detect(name, head) is expected


def test_every_format_says_how_it_holds_its_values():
    assert [each for each in Format if each.kind is Kind.LINES] == [
        Format.CLAUDE,
        Format.CODEX,
        Format.GEMINI,
    ]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("a.jsonl", {**CLAUDE, "message": {"role": "user", "content": "é\\x" * 40_000}}, "claude"),
        (
            "a.jsonl",
            {"type": "user", "message": {"role": "user", "content": "x" * 70_000}},
            "claude",
        ),
        ("r.jsonl", {**CODEX, "payload": {"instructions": "x" * 70_000}}, "codex"),
        ("r.jsonl", {**CODEX_OLD, "instructions": "\n" * 40_000}, "codex"),
        ("c.json", [{**CONVERSATION, "z": ["x" * 70_000]}], "chatgpt"),
        ("c.json", [CONVERSATION] * 500, "chatgpt"),
        ("s.json", [{**SLACK, "blocks": [{"text": "x" * 70_000}]}], "slack"),
        ("s.json", [SLACK] * 2000, "slack"),
        ("g.json", {**GEMINI, "messages": GEMINI["messages"] * 2000}, "gemini document"),
    ],
    ids=[
        *("claude", "claude without ids", "codex", "old codex", "chatgpt", "many chatgpt", "slack"),
        *("many slack", "gemini"),
    ],
)
@pytest.mark.parametrize("size", [65_536, 65_535, 65_534, 65_533])
def test_a_head_may_be_cut_anywhere(name, value, expected, size):
    data = document(value)
    assert len(data) > size
    assert detect(name, data[:size]) == expected


def test_no_cut_makes_one_format_look_like_another():
    samples = {
        ("a.jsonl", Format.CLAUDE): lines(CLAUDE, CLAUDE),
        ("a.jsonl", Format.CODEX): lines(CODEX, CODEX),
        ("a.json", Format.CHATGPT): document([CONVERSATION, CONVERSATION]),
        ("a.json", Format.SLACK): document([SLACK, SLACK]),
        ("a.json", Format.GEMINI_DOCUMENT): document(GEMINI),
    }
    for (name, expected), data in samples.items():
        found = {detect(name, data[:size]) for size in range(len(data) + 1)}
        assert found == {None, expected}


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.jsonl", b'{"hello":1}'),
        ("a.jsonl", b'{"type":"module","content":"x"}\n'),
        ("a.jsonl", b""),
        ("a.jsonl", b"\0\0"),
        ("a.jsonl", document([CONVERSATION])),
        ("a.jsonl", lines(*[{"messages": [{"role": "user", "content": "q"}]}] * 3)),
        ("a.md", lines(CLAUDE)),
        ("a.py", document([CONVERSATION])),
        ("a", lines(CLAUDE)),
        ("a.json.txt", document([CONVERSATION])),
        ("package.json", document(CONVERSATION)),
        ("en.json", b'{"messages":{"a":"b"}}'),
        ("a.json", b"[]"),
        ("a.json", b"[1,2,3]"),
        ("a.json", b'{"name":"x","type":"module"}'),
        ("openapi.json", b'{"discriminator":{"mapping":{"cat":"#/Cat"}},"messages":{}}'),
        ("index.json", b'{"mapping":{"properties":{"message":{"type":"text"}}}}'),
        ("train.json", document([{"messages": [{"role": "user", "content": "q"}]}])),
        ("user.json", b'{"name":"x"}'),
        ("users.json", b'[{"id":1,"name":"x","profile":{}}]'),
        ("channels.json", b'[{"id":"news","name":"x"}]'),
        ("a.json", b"[" * 70_000 + b'"mapping"'),
        ("a.json", b'{"mapping":' * 5_000),
        ("a.jsonl", b'{"type":' * 5_000),
        ("", b'"mapping"'),
    ],
)
def test_other_files_are_no_transcripts(name, head):
    assert detect(name, head) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("channels.json", [{"id": "C1", "name": "general", "members": ["U1"]}]),
        ("groups.json", [{"id": "G1", "name": "secret", "created": 1, "members": []}]),
        ("dms.json", [{"id": "D1", "created": 1, "members": ["U1", "U2"]}]),
        ("mpims.json", [{"id": "G2", "name": "mpdm-a--b-1", "members": []}]),
        ("users.json", [{"id": "U1", "name": "ana", "profile": {"email": "a@b.invalid"}}] * 3000),
        ("integration_logs.json", [{"app_id": "A1", "change_type": "added", "date": "1"}]),
        ("user.json", {"id": "user-x", "email": "someone@example.invalid"}),
        ("message_feedback.json", [{"conversation_id": "c", "user_id": "u", "rating": "good"}]),
        ("shared_conversations.json", [{"id": "s", "conversation_id": "c", "title": "t"}]),
    ],
)
def test_parts_of_an_export_in_which_nothing_is_said(name, value):
    head = document(value)[:65_536]

    assert detect(f"export/{name}", head) is Format.METADATA
    assert detect("export/other.json", head) is None
