"""From a transcript file to what is stored of it."""

from pathlib import Path

import pytest
import zstandard

from mempal.core.model import SourceClass
from mempal.ingest import conversation as module
from mempal.ingest.conversation import (
    detect_format,
    exists,
    is_compressed,
    may_be_transcript,
    read_talk,
)
from mempal.ingest.transcripts.detect import Format
from tests.transcripts import chatgpt_conversation, claude_row, codex_rows, say, to_lines


def write(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        *(("a.json", True), ("A.JSONL", True), ("a.ndjson", True), ("a.jsonl.zst", True)),
        *(("a.md", False), ("json", False), ("a.zst", False), ("a.json.bak", False)),
    ],
)
def test_names_of_transcripts(name, answer):
    assert may_be_transcript(name) is answer
    assert is_compressed(name) is name.endswith(".jsonl.zst")


def test_a_name_rules_out_without_a_look_at_the_file(tmp_path):
    assert detect_format(tmp_path / "missing.md", "missing.md") is None
    with pytest.raises(OSError, match="No such file"):
        detect_format(tmp_path / "missing.json", "missing.json")


def test_messages_keep_who_spoke_and_where_it_stands(tmp_path):
    rows = [claude_row(1, "user", "why?"), claude_row(2, "assistant", say("because"))]
    path = write(tmp_path, "a.jsonl", to_lines(rows))
    assert detect_format(path, "a.jsonl") is Format.CLAUDE
    talk = read_talk(path, "a.jsonl", Format.CLAUDE, None)
    (conversation,) = talk.conversations
    assert conversation.key == "claude:11111111-0000-4000-8000-000000000001"
    assert (conversation.folder, conversation.start, talk.resumed) == ("/work/demo", 0, False)
    told = [(chunk.content, chunk.voice.source_class) for chunk in conversation.chunks]
    assert told == [("why?", SourceClass.PERSON), ("because", SourceClass.ASSISTANT)]
    data = path.read_bytes()
    for chunk, line in zip(conversation.chunks, data.splitlines(), strict=True):
        assert data[chunk.span.byte_start : chunk.span.byte_end] == line


def test_a_long_message_is_cut_and_nothing_of_it_lost(tmp_path):
    text = "".join(f"line {number} of many\n" for number in range(200))
    path = write(tmp_path, "a.jsonl", to_lines([claude_row(1, "user", text)]))
    (conversation,) = read_talk(path, "a.jsonl", Format.CLAUDE, None).conversations
    assert len(conversation.chunks) > 3
    assert max(len(chunk.content) for chunk in conversation.chunks) <= 800
    assert "".join(chunk.content for chunk in conversation.chunks) == text
    assert len({chunk.span for chunk in conversation.chunks}) == 1


def test_secrets_are_taken_out_before_a_message_is_cut(tmp_path):
    token = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    text = "x " * 390 + token + " y" * 300
    path = write(tmp_path, "a.jsonl", to_lines([claude_row(1, "user", text)]))
    talk = read_talk(path, "a.jsonl", Format.CLAUDE, None)
    stored = "".join(chunk.content for chunk in talk.conversations[0].chunks)
    assert (token[4:20] in stored, sum(talk.redactions.values())) == (False, 1)
    assert "[redacted:github-token]" in stored


def test_only_what_follows_a_tail_is_read(tmp_path):
    rows = [claude_row(number, "user", f"word {number}") for number in range(4)]
    path = write(tmp_path, "a.jsonl", to_lines(rows[:2]))
    tail = read_talk(path, "a.jsonl", Format.CLAUDE, None).tail
    path.write_text(to_lines(rows))
    talk = read_talk(path, "a.jsonl", Format.CLAUDE, tail)
    (conversation,) = talk.conversations
    assert (talk.resumed, conversation.start) == (True, 2)
    assert [chunk.content for chunk in conversation.chunks] == ["word 2", "word 3"]
    other = read_talk(path, "a.jsonl", Format.CODEX, tail)
    assert not other.resumed


def test_several_conversations_of_a_file_are_told_apart(tmp_path):
    export = [chatgpt_conversation(key, ("user", f"in {key}")) for key in ("k1", "k2")]
    path = write(tmp_path, "conversations.json", to_lines([export]))
    assert detect_format(path, "conversations.json") is Format.CHATGPT
    talk = read_talk(path, "conversations.json", Format.CHATGPT, None)
    assert [one.key for one in talk.conversations] == ["chatgpt:k1", "chatgpt:k2"]
    assert talk.tail is None


def test_a_compressed_session_has_lines_and_no_bytes(tmp_path):
    text = to_lines(codex_rows("c", "/x", ("user", "why?")))
    data = zstandard.ZstdCompressor().compress(text.encode())
    path = write(tmp_path, "a.jsonl.zst", data)
    assert detect_format(path, "a.jsonl.zst") is Format.CODEX
    talk = read_talk(path, "a.jsonl.zst", Format.CODEX, None)
    (chunk,) = talk.conversations[0].chunks
    assert (chunk.content, chunk.span.line_start, chunk.span.byte_start) == ("why?", 2, None)
    assert talk.tail is None
    path.write_bytes(data[:6] + b"\xff" * 40)
    with pytest.raises(ValueError, match="damaged compression"):
        read_talk(path, "a.jsonl.zst", Format.CODEX, None)


def test_only_a_regular_file_is_there(tmp_path):
    write(tmp_path, "file", "text")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    assert exists(str(tmp_path), "file")
    assert not exists(str(tmp_path), "link")
    assert not exists(str(tmp_path), "folder")
    assert not exists(str(tmp_path), "nowhere")
    assert not exists(str(tmp_path), "a\0b")


@pytest.mark.parametrize("line", [b"\n", b'{"a":1}\n'])
def test_a_compressed_file_that_grows_without_end_is_given_up(tmp_path, monkeypatch, line):
    monkeypatch.setattr(module, "_LEAST_LIMIT", 100_000)
    data = zstandard.ZstdCompressor().compress(line * (4_000_000 // len(line)))
    path = write(tmp_path, "a.jsonl.zst", data)
    with pytest.raises(OSError, match="grows to more than"):
        read_talk(path, "a.jsonl.zst", Format.CODEX, None)
