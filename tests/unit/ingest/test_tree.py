"""What decides whether a file is read, and what it is taken for."""

from pathlib import Path

import pytest

from mempal.core.model import SourceState
from mempal.core.reports import MineMode, MineOptions
from mempal.ingest.mine import list_trees
from mempal.ingest.rooms import load_rooms
from mempal.ingest.tree import RETRY, Found, TreeReader
from mempal.testing import MemoryRepositories
from tests.cases.support import age
from tests.repositories import write_files
from tests.transcripts import claude_row, to_lines

TALK = to_lines([claude_row(1, "user", "why?")])
CHAT = "> why is that so?\n\nBecause it is.\n\n> and then?\n\nNothing.\n\n> right\n\nYes.\n"


def draw_reader(root: Path, **options) -> TreeReader:
    chosen = MineOptions(**options)
    (tree,) = list_trees([root], MemoryRepositories(), chosen)
    return TreeReader(tree, "w", chosen, load_rooms(root)[0])


def read(root: Path, name: str, **options) -> Found:
    reader = draw_reader(root, **options)
    (entry,) = [entry for entry in reader.tree.files if entry.path == name]
    return reader.read(entry, None, may_resume=False)


@pytest.mark.parametrize(
    ("name", "text", "mode", "expected"),
    [
        ("a.jsonl", TALK, MineMode.AUTO, "talk"),
        ("a.jsonl", TALK, MineMode.CONVOS, "talk"),
        ("a.jsonl", TALK, MineMode.FILES, "text"),
        ("a.md", "# Head\n\nwords\n", MineMode.AUTO, "text"),
        ("a.md", "# Head\n\nwords\n", MineMode.CONVOS, "not a transcript"),
        ("a.txt", CHAT, MineMode.AUTO, "chat"),
        ("a.txt", CHAT, MineMode.FILES, "text"),
        ("a.json", '{"plain": true}\n', MineMode.AUTO, "text"),
        ("a.json", '{"plain": true}\n', MineMode.CONVOS, "not a transcript"),
        ("users.json", '[{"id": "U1", "name": "a", "team_id": "T"}]', MineMode.AUTO, "metadata"),
        ("a.jsonl", "", MineMode.AUTO, "empty"),
    ],
)
def test_what_a_file_is_taken_for(tmp_path, name, text, mode, expected):
    write_files(tmp_path, {name: text})
    found = read(tmp_path, name, mode=mode)
    if found.source.state is SourceState.SKIPPED:
        assert expected in (found.source.reason or "")
        assert found.chunks == ()
    elif expected == "talk":
        assert found.talk is not None
        assert found.source.room == "conversations"
    else:
        assert (found.talk, bool(found.chunks)) == (None, True)
        spoken = any(chunk.voice is not None for chunk in found.chunks or ())
        assert spoken is (expected == "chat")


def test_a_transcript_without_a_message_is_named(tmp_path):
    row = claude_row(1, "user", "<system-reminder>all noise</system-reminder>")
    write_files(tmp_path, {"a.jsonl": to_lines([row])})
    found = read(tmp_path, "a.jsonl")
    assert found.source.reason == "no message in it (claude transcript)"


def test_a_file_that_went_meanwhile_is_tried_again(tmp_path):
    write_files(tmp_path, {"a.md": "words", "b.jsonl": TALK})
    reader = draw_reader(tmp_path)
    for entry in reader.tree.files:
        entry.absolute.unlink()
        found = reader.read(entry, None, may_resume=False)
        assert (found.source.state, found.source.mtime_ns) == (SourceState.SKIPPED, RETRY)
        assert (found.source.reason or "").startswith("unreadable (No such file")


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({}, True),
        ({"mode": MineMode.FILES}, False),
        ({"room": "attic"}, False),
        ({"limit_file_size": 3}, False),
    ],
)
def test_other_rules_read_a_file_again(tmp_path, options, same):
    write_files(tmp_path, {"a.md": "words"})
    age(tmp_path)
    found = read(tmp_path, "a.md")
    reader = draw_reader(tmp_path, **options)
    assert reader.is_current(reader.tree.files[0], found.source) is same


def test_rooms_are_rules_too(tmp_path):
    write_files(tmp_path, {"a.md": "words"})
    before = draw_reader(tmp_path).rules
    write_files(tmp_path, {"mempal.yaml": "rooms: [attic]\n"})
    assert draw_reader(tmp_path).rules != before


def test_a_limit_holds_for_files_and_not_for_sessions(tmp_path):
    write_files(tmp_path, {"a.jsonl": TALK, "a.md": "words " * 200})
    assert "too large" in (read(tmp_path, "a.md", limit_file_size=100).source.reason or "").lower()
    assert read(tmp_path, "a.jsonl", limit_file_size=100).talk is not None
