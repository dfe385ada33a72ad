"""ChatGPT exports: the branch that was seen last, however odd the tree.

Importers crashed on a missing metadata field, rejected exports without lists of children, or mixed
abandoned branches into the talk (danny-avila/LibreChat#15229, Nwflower/dsh-chat-import#62,
nearai/ironclaw#151, animalnots/BetterChatGPT-PLUS PR #53).
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from mempal.core.model import SourceClass
from tests.cases.support import age, open_at
from tests.transcripts import list_drawers, spill, with_word

CASE = Path(__file__).parent / "data" / "B16"
EXPECTED = json.loads((CASE / "expected.json").read_text())


@pytest.fixture
def export(tmp_path):
    for name in ("single", "split"):
        shutil.copytree(CASE / name, tmp_path / name)
    return age(tmp_path)


@pytest.fixture
def report(run, export):
    done = run("mine", export / "single", "--mode", "convos", "--wing", "w", "--json")
    assert done.code == 0
    return done.json


@pytest.fixture
def drawers(isolation, report):
    return list_drawers(open_at(isolation.palace))


@pytest.mark.parametrize(
    ("words", "source_class"),
    [("owner_words", SourceClass.PERSON), ("assistant_words", SourceClass.ASSISTANT)],
)
def test_each_word_is_said_once_by_who_said_it(run, drawers, words, source_class):
    for word in EXPECTED[words]:
        (drawer,) = with_word(drawers, word)
        assert drawer.source_class is source_class
        best = run("search", word, "--json").json["results"][0]
        assert best["drawer_id"] == drawer.id


def test_an_abandoned_answer_is_in_no_thread(isolation, drawers):
    (word,) = EXPECTED["abandoned_branch_not_in_main_thread"]
    assert with_word(drawers, word) == []
    assert list(spill(isolation.palace, [word])) == []


def test_tools_and_what_was_hidden_are_not_the_owners(drawers):
    owned = {
        word
        for drawer in drawers
        if drawer.source_class is SourceClass.PERSON
        for word in re.findall(r"zqeps\d+", drawer.content)
    }
    assert not owned & set(EXPECTED["not_owner"])
    assert owned - {"zqeps11"} == set(EXPECTED["owner_words"])
    assert with_word(drawers, "zqeps17") == []


def test_each_conversation_that_gave_nothing_is_named(report, drawers):
    assert report["warnings"] == [
        "conversations.json: conversation 5 (empty mapping): no messages",
        "conversations.json: conversation 6 (cycle): its messages form a circle; each is read once",
        "conversations.json: conversation 9 (c9): no messages",
        "conversations.json: conversation 10: null entry",
        "conversations.json: conversation 11: {} entry",
    ]
    assert len(report["warnings"]) == len(EXPECTED["skipped_with_reason"])
    for word in ("zqeps11", "zqeps12"):
        assert len(with_word(drawers, word)) <= 1


def test_no_two_conversations_are_mixed(drawers):
    sessions = {drawer.session for drawer in drawers}
    assert sessions == {"c1", "c2", "c3", "c4", "c6", "c7", "c8"}
    for drawer in drawers:
        if "zqeps1 " in drawer.content or "zqeps2 " in drawer.content:
            assert drawer.session == "c1"


def test_a_split_export_is_two_conversations(run, isolation, export):
    report = run("mine", export / "split", "--mode", "convos", "--wing", "w", "--json").json
    assert report["skipped"] == [{"path": "user.json", "reason": "metadata of an export"}]
    drawers = list_drawers(open_at(isolation.palace))
    assert len({drawer.session for drawer in drawers}) == EXPECTED["split_export_conversations"]
    contents = [drawer.content.split()[0] for drawer in drawers]
    assert sorted(contents) == ["zqeps1", "zqeps2", "zqeps7", "zqeps8"]
    assert list(spill(isolation.palace, ["user-x", "someone@example.invalid"])) == []


def test_the_parts_of_a_split_export_add_nothing_to_the_whole(run, isolation, export, drawers):
    report = run("mine", export / "split", "--mode", "convos", "--wing", "w", "--json").json
    assert report["drawers"] == {"added": 0, "unchanged": 4, "superseded": 0, "restored": 0}
    again = run("mine", export / "single", "--mode", "convos", "--wing", "w", "--json").json
    assert again["drawers"]["added"] == 0
    assert len(list_drawers(open_at(isolation.palace))) == len(drawers)
