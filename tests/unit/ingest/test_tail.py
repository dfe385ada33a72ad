"""Reading on where a transcript ended, and noticing that it is another one."""

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from mempal.core.model import Changes
from mempal.ingest.tail import Tail, hash_before, load_tail
from mempal.ingest.transcripts.message import Checkpoint
from tests.palaces import WING, Life
from tests.transcripts import Meter, claude_row, codex_rows, to_lines

TAIL = Tail(Checkpoint(5, 2, {"s": 1}, {"session": "s"}), {"s": 3}, "guard", "claude")


def test_a_tail_is_written_down_and_read_back():
    assert load_tail(TAIL.dump()) == TAIL


@pytest.mark.parametrize(
    "text",
    [
        *(None, "", "null", "[]", "7", '"text"', "{", "{}"),
        '{"checkpoint": {}, "drawers": {}, "guard": "", "format": "claude"}',
        '{"checkpoint": {"offset": 1, "line": 1, "more": 2}, "drawers": {}, "guard": ""}',
        '{"checkpoint": {"offset": 1, "line": 1}, "drawers": 7, "guard": "", "format": ""}',
        '{"checkpoint": {"offset": 1, "line": 1}, "drawers": {}, "guard": ""}',
        json.dumps({"drawers": {}, "guard": ""}),
    ],
)
def test_anything_else_is_no_tail(text):
    assert load_tail(text) is None


@pytest.mark.parametrize("offset", [0, 1, 4096, 70_000, 150_000])
def test_bytes_just_before_and_the_first_ones_are_guarded(offset):
    data = bytes(number * 7 % 251 for number in range(150_000))
    guard = hash_before(io.BytesIO(data), offset)
    assert hash_before(io.BytesIO(data + b"more"), offset) == guard
    for at in {0, min(offset, 4096) - 1, offset - 65_536, offset - 1}:
        if 0 <= at < offset:
            other = bytearray(data)
            other[at] ^= 1
            assert hash_before(io.BytesIO(bytes(other)), offset) != guard
    assert offset == 0 or hash_before(io.BytesIO(data[: offset - 1]), offset) != guard


def test_a_file_is_left_at_its_beginning():
    file = io.BytesIO(b"some words")
    tail = Tail(Checkpoint(4, 1), {}, hash_before(file, 4), "claude")
    assert file.tell() == 0
    assert tail.fits(file, "claude")
    assert not tail.fits(file, "codex")
    assert file.tell() == 0


@pytest.fixture(params=["sqlite", "memory"])
def life(request, tmp_path: Path) -> Life:
    return Life(tmp_path, request.param)


def write(life: Life, words: Sequence[str]) -> None:
    rows = [claude_row(number, "user", word) for number, word in enumerate(words)]
    (life.root / "a.jsonl").write_text(to_lines(rows))


def texts(life: Life) -> list[str]:
    return [drawer.content for drawer in life.current()]


MANY = [f"word {number}" for number in range(2000)]


def test_only_the_end_of_a_file_that_has_grown_is_read(life, monkeypatch):
    write(life, MANY)
    life.mine()
    with (life.root / "a.jsonl").open("a") as file:
        file.write(to_lines([claude_row(5000, "user", "the end")]))
    meter = Meter(monkeypatch)
    report = life.mine()
    assert report.drawers.added == 1
    assert texts(life) == [*MANY, "the end"]
    size = (life.root / "a.jsonl").stat().st_size
    assert 0 < meter.read["a.jsonl"] < size // 2 < size


@pytest.mark.parametrize(
    "change",
    [
        lambda words: [*words[:-1], "another word"],
        lambda words: ["another word", *words[1:]],
        lambda words: [*words[:-1], "another word", "and more"],
        lambda words: ["another word, longer", *words[1:], "and more"],
        lambda words: words[:2],
        lambda words: [*words[1:], *words[:1]],
    ],
)
def test_a_file_that_was_written_anew_is_read_whole(life, change):
    words = [f"word {number}" for number in range(8)]
    write(life, words)
    life.mine()
    new = change(words)
    write(life, new)
    os.utime(life.root / "a.jsonl", ns=(1, 1))
    life.mine()
    assert texts(life) == new
    assert life.mine().drawers == Changes(unchanged=len(new))


def test_a_torn_line_is_stored_once_it_is_whole(life):
    write(life, ["a", "b"])
    data = (life.root / "a.jsonl").read_bytes()
    for end in (len(data) - 20, len(data) - 1, len(data)):
        (life.root / "a.jsonl").write_bytes(data[:end])
        life.mine()
    assert texts(life) == ["a", "b"]
    assert len(life.every()) == 2


def test_a_file_may_turn_out_to_be_of_another_tool(life):
    """What decides is the beginning, which is longer when the file has grown."""
    claude = to_lines([claude_row(1, "user", "a")])
    (life.root / "a.jsonl").write_text(claude)
    life.mine()
    assert texts(life) == ["a"]
    turns = [("user", "b"), ("assistant", "c"), ("user", "d")]
    (life.root / "a.jsonl").write_text(claude + to_lines(codex_rows("k", "/x", *turns)))
    life.mine()
    assert texts(life) == ["b", "c", "d"]
    assert [drawer.content for drawer in life.mine_afresh()] == ["b", "c", "d"]


def test_what_was_deleted_or_forgotten_does_not_shift_the_rest(life):
    write(life, ["a", "b", "c"])
    life.mine()
    first = life.current()[0]
    life.palace.removal.delete([first.id])
    write(life, ["a", "b", "c", "d"])
    life.mine()
    assert texts(life) == ["b", "c", "d"]
    life.palace.removal.restore([first.id])
    assert texts(life) == ["a", "b", "c", "d"]


def test_the_tail_says_where_to_go_on(life):
    write(life, ["a", "b"])
    life.mine()
    store = life.open()
    tail = load_tail(store.sources(WING, str(life.root))["a.jsonl"].tail)
    store.close()
    assert tail is not None
    assert tail.checkpoint.offset == (life.root / "a.jsonl").stat().st_size
    assert sum(tail.drawers.values()) == 2
