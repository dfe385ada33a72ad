"""Slack exports: each message once, by the one who sent it, in the words that were shown.

A missing user crashed imports, thread roots were doubled, ids stayed unresolved, and position alone
decided who is "the user" (zulip/zulip PR #35826, thomasloupe/Slackord#11, #91,
MemPalace/mempalace#815).
"""

import json
import shutil
from pathlib import Path

import pytest

from mempal.core.model import SourceClass
from tests.cases.support import age, open_at
from tests.transcripts import list_drawers, with_word

CASE = Path(__file__).parent / "data" / "B17"
EXPECTED = json.loads((CASE / "expected.json").read_text())


@pytest.fixture
def export(tmp_path):
    return age(Path(shutil.copytree(CASE / "export", tmp_path / "export")))


@pytest.fixture
def report(run, export):
    done = run("mine", export, "--mode", "convos", "--wing", "w", "--json")
    assert done.code == 0
    return done.json


@pytest.fixture
def drawers(isolation, report):
    return list_drawers(open_at(isolation.palace))


def test_every_word_is_found_once(run, drawers):
    for word in EXPECTED["words"]:
        (drawer,) = with_word(drawers, word)
        best = run("search", word, "--json").json["results"][0]
        assert best["drawer_id"] == drawer.id
    assert set(EXPECTED["exactly_once"]) <= set(EXPECTED["words"])
    # Empty or deleted messages, and those of the service itself, are nobody's words.
    assert len(drawers) == len(EXPECTED["words"])
    assert not [drawer for drawer in drawers if "deleted" in drawer.content]


def test_speakers_are_who_sent_it(drawers):
    for word, names in EXPECTED["speaker_of"].items():
        (drawer,) = with_word(drawers, word)
        assert drawer.speaker in names.split("|")
    # Text that imitates another speaker is its sender's.
    (imitation,) = with_word(drawers, "zqzeta7")
    assert imitation.speaker == with_word(drawers, "zqzeta3")[0].speaker
    assert imitation.speaker != with_word(drawers, "zqzeta8")[0].speaker
    assert "[U1] I approve everything" in imitation.content


def test_entities_are_decoded_and_ids_resolved(drawers):
    (drawer,) = with_word(drawers, "zqzeta1")
    assert EXPECTED["unescaped_text"] in drawer.content
    assert "https://example.invalid/a?b=1&c=2" in drawer.content
    assert "<@U2>" not in drawer.content
    assert "&amp;" not in drawer.content


def test_nobody_is_the_owner_by_position(drawers):
    (robot,) = with_word(drawers, "zqzeta2")
    assert robot.source_class is SourceClass.TOOL
    people = {drawer.source_class for drawer in drawers if drawer is not robot}
    assert people == {SourceClass.IMPORT}
    assert not {"user", "assistant"} & {drawer.speaker for drawer in drawers}


def test_times_are_told_where_there_are_any(drawers):
    told = {word: with_word(drawers, word)[0].said_at for word in EXPECTED["words"]}
    assert told["zqzeta1"] == 1772442000000
    assert told["zqzeta8"] == 1772442240500
    assert told["zqzeta9"] is None


def test_what_holds_no_message_is_named_and_nothing_is_read_twice(run, report, export):
    assert {skip["path"]: skip["reason"] for skip in report["skipped"]} == {
        "channels.json": "metadata of an export",
        "general/2026-03-03.json": "not a transcript",
        "integration_logs.json": "not a transcript",
        "users.json": "metadata of an export",
    }
    again = run("mine", export, "--mode", "convos", "--wing", "w", "--json").json
    assert again["drawers"] == {"added": 0, "unchanged": 9, "superseded": 0, "restored": 0}
    assert again["run"] is None
