"""Which stored conversation a conversation is: one in several files, moved, split or gone."""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from mempal.core.model import Changes, SourceClass
from mempal.palace.removal import Selection
from tests.palaces import Life
from tests.repositories import write_files
from tests.transcripts import chatgpt_conversation, claude_row, codex_rows, say, to_lines

ONE, TWO = "11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000002"


@dataclass
class Talks(Life):
    """A tree of transcripts."""

    def write(self, name: str, *words: str | dict[str, object], key: str = ONE) -> None:
        """Write a session; a word is what the owner said, an odd one gives the same record."""
        rows = [
            word if isinstance(word, dict) else claude_row(ord(word[0]), "user", word)
            for word in words
        ]
        write_files(self.root, {name: to_lines(row | {"sessionId": key} for row in rows)})

    def told(self) -> list[tuple[str, str]]:
        """Return (file, text) of all that is current."""
        return [(drawer.source_file, drawer.content) for drawer in self.current()]

    def texts(self) -> Counter[str]:
        return Counter(text for _, text in self.told())


@pytest.fixture(params=["sqlite", "memory"])
def talks(request, tmp_path: Path) -> Talks:
    return Talks(tmp_path, request.param)


def at(name: str, words: str) -> list[tuple[str, str]]:
    return [(name, word) for word in words]


@pytest.mark.parametrize("short", ["a.jsonl", "z.jsonl"])
@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("first", ["short", "long"])
def test_of_two_files_the_longer_holds_a_conversation(talks, short, runs, first):
    files = {short: "ab", "m.jsonl": "abcd"}
    order = [short, "m.jsonl"] if first == "short" else ["m.jsonl", short]
    for name in order:
        talks.write(name, *files[name])
        if runs == 2:
            talks.mine()
    talks.mine()
    assert talks.told() == at("m.jsonl", "abcd")
    assert talks.mine().drawers == Changes(unchanged=4)


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("part", ["a.jsonl", "z.jsonl"])
def test_a_copy_without_the_beginning_does_not_double_the_rest(talks, part, runs):
    """Whichever is met first, the file that holds all of it is cited."""
    talks.write(part, *"cd")
    if runs == 2:
        talks.mine()
    talks.write("m.jsonl", *"abcd")
    talks.mine()
    assert talks.told() == at("m.jsonl", "abcd")


@pytest.mark.parametrize("copy", ["a.jsonl", "z.jsonl"])
@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("first", ["copy", "whole"])
def test_a_copy_made_amid_an_answer_takes_nothing_back(talks, copy, runs, first):
    """An answer comes in several records; a copy may have been made between two of them."""
    parts = [
        claude_row(1, "user", "question"),
        claude_row(2, "assistant", say("half"), uuid="x") | {"requestId": "r"},
        claude_row(2, "assistant", say("rest"), uuid="y") | {"requestId": "r"},
        claude_row(3, "user", "thanks"),
    ]
    files = {copy: parts[:2], "m.jsonl": parts}
    for name in [copy, "m.jsonl"] if first == "copy" else ["m.jsonl", copy]:
        talks.write(name, *files[name])
        if runs == 2:
            talks.mine()
    talks.mine()
    assert talks.told() == [
        ("m.jsonl", "question"),
        ("m.jsonl", "half\n\nrest"),
        ("m.jsonl", "thanks"),
    ]
    assert talks.mine().drawers.added == 0


@pytest.mark.parametrize("runs", [1, 2])
def test_what_goes_on_in_another_file_is_stored_beside(talks, runs):
    talks.write("a.jsonl", *"ab")
    if runs == 2:
        talks.mine()
    talks.write("b.jsonl", *"cd")
    talks.mine()
    assert talks.told() == at("a.jsonl", "ab") + at("b.jsonl", "cd")
    talks.write("b.jsonl", *"cde")
    talks.write("a.jsonl", *"abx")
    assert talks.mine().drawers.added == 2
    assert talks.told() == at("a.jsonl", "abx") + at("b.jsonl", "cde")


def test_a_file_that_is_stored_beside_may_grow(talks):
    talks.write("a.jsonl", *"abx")
    talks.write("b.jsonl", *"abcd")
    talks.mine()
    for words in ("abcde", "abcdef"):
        talks.write("b.jsonl", *words)
        assert talks.mine().drawers.added == 1
    talks.write("a.jsonl", *"abxy")
    assert talks.mine().drawers.added == 1
    assert talks.told() == at("a.jsonl", "abxy") + at("b.jsonl", "cdef")


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize(("one", "other"), [("abx", "abcd"), ("abcd", "abx")])
def test_of_two_files_that_go_apart_nothing_is_lost(talks, one, other, runs):
    """Both are there, so all that is said in either is current, and what both say is so once."""
    talks.write("a.jsonl", *one)
    if runs == 2:
        talks.mine()
    talks.write("b.jsonl", *other)
    talks.mine()
    assert talks.texts() == Counter("abcdx")
    before = talks.told()
    assert talks.mine().drawers.added == 0
    os.utime(talks.root / "a.jsonl", ns=(1, 1))
    os.utime(talks.root / "b.jsonl", ns=(1, 1))
    assert talks.mine().drawers.added == 0
    assert talks.told() == before


def test_a_conversation_stays_when_its_file_goes(talks):
    talks.write("a.jsonl", *"ab")
    talks.mine()
    (talks.root / "a.jsonl").unlink()
    assert talks.mine().gone == 1
    assert talks.told() == at("a.jsonl", "ab")


@pytest.mark.parametrize(("grown", "holder"), [("abc", "b.jsonl"), ("ab", "b.jsonl")])
def test_a_conversation_is_cited_in_the_file_it_was_moved_to(talks, grown, holder):
    talks.write("a.jsonl", *"ab")
    talks.mine()
    (talks.root / "a.jsonl").unlink()
    talks.write("b.jsonl", *grown)
    report = talks.mine()
    assert talks.told() == at(holder, grown)
    assert report.drawers == Changes(added=len(grown) - 2, unchanged=2)
    assert report.gone == 0


def test_a_shorter_copy_of_what_is_gone_takes_nothing_back(talks):
    talks.write("a.jsonl", *"abcd")
    talks.mine()
    (talks.root / "a.jsonl").unlink()
    talks.write("b.jsonl", *"ab")
    assert talks.mine().drawers == Changes(unchanged=2)
    assert talks.told() == at("a.jsonl", "abcd")
    talks.write("b.jsonl", *"abcde")
    talks.mine()
    assert talks.told() == at("b.jsonl", "abcde")


def test_what_is_no_longer_in_a_file_is_superseded(talks):
    talks.write("a.jsonl", *"abc")
    talks.mine()
    talks.write("a.jsonl", *"ac")
    assert talks.mine().drawers == Changes(unchanged=2, superseded=1)
    before = {drawer.content: drawer.id for drawer in talks.every()}
    talks.write("a.jsonl", *"abc")
    assert talks.mine().drawers == Changes(unchanged=2, restored=1)
    assert {drawer.content: drawer.id for drawer in talks.current()} == before


def test_a_conversation_that_left_its_file_is_superseded(talks):
    rows = [claude_row(1, "user", "a"), claude_row(2, "user", "b", sessionId=TWO)]
    write_files(talks.root, {"a.jsonl": to_lines(rows)})
    talks.mine()
    assert set(talks.texts()) == {"a", "b"}
    talks.write("a.jsonl", "a", "c")
    talks.mine()
    assert talks.told() == at("a.jsonl", "ac")


# A file that was read while another one held all of its conversation is not known to hold it, too.
FORGETS_COPIES = pytest.mark.xfail(strict=True, reason="nobody knows of the copies in other files")


@pytest.mark.parametrize(
    ("source", "target", "runs"),
    [
        ("a", "b", 1),
        pytest.param("a", "b", 2, marks=FORGETS_COPIES),
        ("b", "a", 1),
        pytest.param("b", "a", 2, marks=FORGETS_COPIES),
    ],
)
def test_a_conversation_may_go_from_one_file_to_another(talks, source, target, runs):
    """Files are read by name; the one it goes to may be read before or after the one it leaves."""
    both = to_lines([claude_row(1, "user", "a"), claude_row(2, "user", "b", sessionId=TWO)])
    write_files(talks.root, {f"{source}.jsonl": both})
    talks.mine()
    moved = to_lines([claude_row(2, "user", "b", sessionId=TWO)])
    write_files(talks.root, {f"{target}.jsonl": moved})
    if runs == 2:
        talks.mine()
    talks.write(f"{source}.jsonl", "a", "c")
    talks.mine()
    talks.mine()
    assert talks.texts() == Counter("abc")
    assert (f"{target}.jsonl", "b") in talks.told()


@pytest.mark.parametrize("runs", [1, pytest.param(2, marks=FORGETS_COPIES)])
def test_a_copy_keeps_current_what_its_original_lost(talks, runs):
    talks.write("a.jsonl", *"abcd")
    talks.mine()
    talks.write("b.jsonl", *"abcd")
    if runs == 2:
        talks.mine()
    talks.write("a.jsonl", *"ab")
    talks.mine()
    talks.mine()
    assert talks.texts() == Counter("abcd")
    assert talks.told() == at("b.jsonl", "abcd")


@pytest.mark.parametrize("new", [b"", b"{}\n", b"[1]\n", b"just words\n"])
def test_a_file_that_is_no_transcript_any_more_holds_none(talks, new):
    talks.write("a.jsonl", *"ab")
    talks.mine()
    write_files(talks.root, {"a.jsonl": new})
    assert talks.mine().drawers.superseded == 2
    assert set(talks.texts()) <= {new.decode()}
    talks.write("a.jsonl", *"ab")
    assert talks.mine().drawers.restored == 2
    assert talks.told() == at("a.jsonl", "ab")


def test_a_file_may_become_a_transcript(talks):
    write_files(talks.root, {"a.jsonl": '{"plain": 1}\n'})
    talks.mine()
    talks.write("a.jsonl", *"ab")
    assert talks.mine().drawers == Changes(added=2, superseded=1)
    assert talks.told() == at("a.jsonl", "ab")


def bare(*words: str) -> str:
    """Return a session whose records name none."""
    rows = [claude_row(ord(word[0]), "user", word) for word in words]
    for row in rows:
        del row["sessionId"]
    return to_lines(rows)


def test_without_keys_each_file_is_a_conversation(talks):
    write_files(talks.root, {"a.jsonl": bare("a", "b"), "b.jsonl": bare("a", "b", "c")})
    talks.mine()
    assert talks.told() == at("a.jsonl", "ab") + at("b.jsonl", "abc")


def test_a_conversation_without_a_key_goes_along_with_its_file(talks):
    write_files(talks.root, {"a.jsonl": bare("a", "b")})
    talks.mine()
    (talks.root / "a.jsonl").rename(talks.root / "b.jsonl")
    assert talks.mine().drawers == Changes(unchanged=2)
    write_files(talks.root, {"b.jsonl": bare("a", "b", "c"), "a.jsonl": bare("a", "x", "y", "z")})
    report = talks.mine()
    assert report.drawers.superseded == 0
    assert talks.told() == at("a.jsonl", "axyz") + at("b.jsonl", "abc")


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_two_exports_of_one_account_hold_each_conversation_once(talks, order):
    jan = [chatgpt_conversation("k1", ("user", "a"), ("assistant", "b"))]
    feb = [
        chatgpt_conversation("k1", ("user", "a"), ("assistant", "b"), ("user", "c")),
        chatgpt_conversation("k2", ("user", "d")),
    ]
    for name, export in zip(order, (jan, feb), strict=True):
        write_files(talks.root, {f"{name}/conversations.json": to_lines([export])})
    talks.mine()
    assert talks.texts() == Counter("abcd")
    assert {file for file, _ in talks.told()} == {f"{order[1]}/conversations.json"}


def test_sessions_of_two_tools_with_one_key_are_two(talks):
    talks.write("a.jsonl", "a", key=ONE)
    write_files(talks.root, {"b.jsonl": to_lines(codex_rows(ONE, "/x", ("user", "a")))})
    talks.mine()
    assert talks.told() == [("a.jsonl", "a"), ("b.jsonl", "a")]


def test_who_said_it_is_kept(talks):
    rows = [claude_row(1, "user", "a"), claude_row(2, "assistant", say("b"))]
    write_files(talks.root, {"a.jsonl": to_lines(rows)})
    talks.mine()
    kinds = [(drawer.content, drawer.source_class) for drawer in talks.current()]
    assert kinds == [("a", SourceClass.PERSON), ("b", SourceClass.ASSISTANT)]


@pytest.mark.parametrize("copy", ["a.jsonl", "z.jsonl"])
def test_a_longer_copy_wins_over_a_file_that_has_grown_meanwhile(talks, copy):
    """What is read on from its tail must not be joined to what another file has taken over."""
    talks.write("m.jsonl", *"ab")
    talks.mine()
    talks.write(copy, *"abcde")
    talks.write("m.jsonl", *"abc")
    talks.mine()
    assert talks.told() == at(copy, "abcde")


@pytest.mark.parametrize(("old", "new"), [("current", "current.1"), ("a", "z")])
def test_a_session_that_was_put_aside_for_another_stays(talks, old, new):
    talks.write(f"{old}.jsonl", *"ab")
    talks.mine()
    before = {drawer.content: drawer.id for drawer in talks.current()}
    (talks.root / f"{old}.jsonl").rename(talks.root / f"{new}.jsonl")
    talks.write(f"{old}.jsonl", *"cd", key=TWO)
    talks.mine()
    assert sorted(talks.told()) == sorted(at(f"{new}.jsonl", "ab") + at(f"{old}.jsonl", "cd"))
    assert before.items() <= {drawer.content: drawer.id for drawer in talks.current()}.items()


def test_two_sessions_may_swap_their_files(talks):
    talks.write("a.jsonl", *"ab")
    talks.write("b.jsonl", *"cd", key=TWO)
    talks.mine()
    talks.write("b.jsonl", *"ab")
    talks.write("a.jsonl", *"cd", key=TWO)
    assert talks.mine().drawers.added == 0
    assert sorted(talks.told()) == sorted(at("b.jsonl", "ab") + at("a.jsonl", "cd"))


def lose(talks: Talks, how: str) -> None:
    """Let ``s.jsonl``, which is read, lose its session, and put that aside for later."""
    talks.write("s.jsonl", *"ab")
    talks.mine()
    (talks.root / "s.jsonl").rename(talks.folder / "aside")
    if how == "another session":
        talks.write("s.jsonl", "c", key=TWO)
    else:
        write_files(talks.root, {"s.jsonl": "just words\n"})


LOSSES = pytest.mark.parametrize("how", ["another session", "no transcript"])


@LOSSES
@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("new", ["a.jsonl", "t.jsonl"])
def test_what_its_file_has_lost_is_cited_where_it_is_found_even_if_deleted(talks, how, runs, new):
    """A deleted drawer that is restored must be current: the text is in a file that was read."""
    lose(talks, how)
    ids = [drawer.id for drawer in talks.every() if drawer.session]
    talks.palace.removal.delete(ids)
    if runs == 2:
        talks.mine()
    (talks.folder / "aside").rename(talks.root / new)
    talks.mine()
    talks.palace.removal.restore(ids)
    assert [place for place in talks.told() if place[0] == new] == at(new, "ab")


@LOSSES
def test_what_was_forgotten_is_not_told_to_be_unchanged(talks, how):
    lose(talks, how)
    ids = tuple(drawer.id for drawer in talks.every() if drawer.session)
    talks.palace.removal.forget(Selection(ids=ids), apply=True)
    (talks.folder / "aside").rename(talks.root / "t.jsonl")
    dry = talks.mine(dry_run=True)
    assert dry.drawers == talks.mine().drawers == Changes(added=1)
    talks.write("u.jsonl", *"ab")  # a copy, of which another file holds all there is
    assert talks.mine().drawers == Changes(unchanged=1)


def test_what_its_file_has_lost_comes_back_to_it(talks):
    lose(talks, "another session")
    before = {drawer.content: drawer.id for drawer in talks.current()}
    talks.mine()
    (talks.folder / "aside").rename(talks.root / "s.jsonl")
    assert talks.mine().drawers == Changes(superseded=1, restored=2)
    assert {drawer.content: drawer.id for drawer in talks.current()} == before


def test_a_session_that_had_settled_nothing_leaves_its_file_for_another(talks):
    """Its only answer might have gone on, so there is no place from which to read on."""
    for key, words in ((ONE, "a"), (TWO, "bc")):
        rows = [claude_row(ord(word), "assistant", say(word), sessionId=key) for word in words]
        write_files(talks.root, {"s.jsonl": to_lines(rows)})
        report = talks.mine()
    assert report.drawers == Changes(added=2, superseded=1)
    assert talks.told() == at("s.jsonl", "bc")


def test_a_session_behind_what_had_settled_may_leave_its_file(talks):
    """What was read before it is as it was, so the file is read on from there."""
    settled = claude_row(1, "user", "a")
    write_files(talks.root, {"s.jsonl": to_lines([settled, answer("b", TWO)])})
    talks.mine()
    write_files(talks.root, {"s.jsonl": to_lines([settled, answer("longer", ONE)])})
    assert talks.mine().drawers == Changes(added=1, unchanged=0, superseded=1)
    assert talks.told() == [("s.jsonl", "a"), ("s.jsonl", "longer")]


def answer(text: str, key: str) -> dict[str, object]:
    return claude_row(2, "assistant", say(text), sessionId=key)
