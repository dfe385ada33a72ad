"""Rollouts of Codex, old and new: each message once, and only the owner's words are the owner's.

Parsers read one kind of record only, so that messages were lost, or both, so that every message
was stored twice, and filed AGENTS.md and the environment as the user's (neilberkman/ccrider#7,
garrytan/gstack#2105, melagiri/code-insights PR #91).
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from mempal.core.model import SourceClass
from tests.cases.support import age, open_at
from tests.transcripts import list_drawers, spill, with_word

CASE = Path(__file__).parent / "data" / "B14"
EXPECTED = json.loads((CASE / "expected.json").read_text())
DECOY = "2026/02/03/not-a-rollout.jsonl"


@pytest.fixture
def sessions(tmp_path):
    return age(Path(shutil.copytree(CASE / "sessions", tmp_path / "sessions")))


@pytest.fixture
def drawers(run, isolation, sessions):
    assert run("mine", sessions, "--mode", "convos", "--wing", "w").code == 0
    return list_drawers(open_at(isolation.palace))


@pytest.mark.parametrize(
    ("words", "source_class"),
    [
        ("owner_words_exactly_once", SourceClass.PERSON),
        ("assistant_words_exactly_once", SourceClass.ASSISTANT),
    ],
)
def test_each_message_is_stored_exactly_once(run, drawers, words, source_class):
    for word in EXPECTED[words]:
        (drawer,) = with_word(drawers, word)
        assert drawer.source_class is source_class
        results = run("search", word, "--json", "-n", "50").json["results"]
        assert sum(word in hit["content"].split() for hit in results) == 1


def test_what_the_host_adds_is_nobodys(isolation, drawers):
    owned = [d.content for d in drawers if d.source_class is SourceClass.PERSON]
    assert sorted(owned) == ["zqgamma1 legacy user", "zqgamma8 real question"]
    for word in EXPECTED["never_as_owner"]:
        assert with_word(drawers, word) == []
        assert list(spill(isolation.palace, [word])) == []


def test_neither_what_was_encrypted_nor_reasoning_is_stored(isolation, drawers):
    (old,) = (CASE / "sessions/2025/06/10").iterdir()
    encrypted = re.findall(r'"encrypted_content":"([^"]+)"', old.read_text())
    assert encrypted
    assert EXPECTED["never_stored"] == ["encrypted_content"]
    assert list(spill(isolation.palace, ["encrypted_content", *encrypted, encrypted[0][:12]])) == []
    assert list(spill(isolation.palace, ["zqgamma2", "zqgamma9"])) == []


def test_tools_speak_in_one_line(drawers):
    told = {d.content for d in drawers if d.source_class is SourceClass.TOOL}
    assert told == {"shell: ls", "shell -> zqgamma4", "tool -> zqgamma11 output as list"}


def test_what_is_no_rollout_is_skipped_among_transcripts_and_text_elsewhere(
    run, isolation, sessions
):
    report = run("mine", sessions, "--mode", "convos", "--wing", "w", "--json").json
    assert report["skipped"] == [{"path": DECOY, "reason": "not a transcript"}]
    report = run("mine", sessions, "--wing", "w", "--json").json
    assert report["skipped"] == []
    drawers = [d for d in list_drawers(open_at(isolation.palace)) if d.source_file == DECOY]
    assert [d.content for d in drawers] == ['{"hello":1}\n']
    assert {d.source_class for d in drawers} == {SourceClass.FILE}


def test_a_second_run_adds_nothing(run, isolation, drawers, sessions):
    report = run("mine", sessions, "--mode", "convos", "--wing", "w", "--json").json
    assert report["drawers"] == {**report["drawers"], "added": 0, "superseded": 0, "restored": 0}
    assert report["run"] is None
