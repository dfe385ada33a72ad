"""A torn line costs itself and nothing else, and what was cut off is read once it is whole.

One torn line made readers stop, or show an empty conversation (anthropics/claude-code#53821,
#50347, #52387, delexw/claude-code-trace#66).
"""

import json
import shutil
from pathlib import Path

import pytest

from mempal.core.model import SourceClass
from tests.cases.support import open_at
from tests.transcripts import list_drawers, spill, tell, with_word

CASE = Path(__file__).parent / "data" / "B12"
EXPECTED = json.loads((CASE / "expected.json").read_text())
REMAINDER = (CASE / "step2" / "remainder.txt").read_bytes()
# What each line that cannot be read is; the others are blank, say nothing, or are read.
BAD = {
    2: "not valid JSON",
    6: "not a JSON object",
    7: "not a JSON object",
    8: "not a JSON object",
    9: "not a JSON object",
    10: "its beginning was cut off and is lost",
    14: "cut off at the end of the file",
}


@pytest.fixture
def convos(tmp_path):
    return Path(shutil.copytree(CASE / "convos", tmp_path / "convos"))


def test_what_is_whole_is_read_and_what_is_not_is_reported(run, isolation, convos):
    report = run("mine", convos, "--wing", "w", "--mode", "convos", "--json")
    assert report.code == 0
    bad = report.json["warnings"]
    assert bad == [f"torn.jsonl: line {line}: {what}" for line, what in BAD.items()]
    assert len(bad) >= EXPECTED["bad_lines_min"]
    drawers = list_drawers(open_at(isolation.palace))
    for word in EXPECTED["first_pass_words"]:
        (drawer,) = with_word(drawers, word)
        found = run("search", word, "--wing", "w", "--json").json["results"][0]
        assert (found["drawer_id"], found["content"]) == (drawer.id, drawer.content)
    assert [drawer.content for drawer in sorted(drawers, key=lambda one: one.chunk_index)] == [
        "zqalpha1 first question",
        "zqalpha2 first answer",
        "zqalpha3 second question",
        "zqalpha4 second answer",
        "zqalpha5 third question",
    ]
    assert "torn.jsonl: line 10: its beginning was cut off" in run("mine", convos).stderr


def test_the_message_glued_to_a_torn_line_is_one_of_its_own(run, isolation, convos):
    run("mine", convos, "--wing", "w", "--mode", "convos")
    drawers = list_drawers(open_at(isolation.palace))
    (drawer,) = with_word(drawers, EXPECTED["glued_line_word_optional"])
    assert drawer.content == "zqalpha3 second question"
    assert (drawer.speaker, drawer.source_class) == ("user", SourceClass.PERSON)
    # It is cited without the piece before it.
    data = (convos / "torn.jsonl").read_bytes()
    cited = json.loads(data[drawer.span.byte_start : drawer.span.byte_end])
    assert cited["message"]["content"] == drawer.content
    assert list(spill(isolation.palace, ["prNu"])) == []


def test_the_rest_of_a_cut_line_adds_its_message_once(run, isolation, convos):
    mine = ("mine", convos, "--wing", "w", "--mode", "convos", "--json")
    run(*mine)
    before = list_drawers(open_at(isolation.palace))
    with (convos / "torn.jsonl").open("ab") as file:
        file.write(REMAINDER)
    second = run(*mine).json
    assert second["drawers"] == {"added": 1, "unchanged": 0, "superseded": 0, "restored": 0}
    assert second["warnings"] == []
    after = list_drawers(open_at(isolation.palace), history=True)
    new = [drawer for drawer in after if drawer.id not in {one.id for one in before}]
    assert [drawer.content for drawer in new] == ["zqalpha6 third answer"]
    assert len(with_word(after, EXPECTED["after_step2_word"])) == 1
    third = run(*mine).json
    assert third["drawers"]["added"] == 0
    assert tell(list_drawers(open_at(isolation.palace), history=True)) == tell(after)


@pytest.mark.parametrize("cut", range(1, len(REMAINDER), 17))
def test_wherever_the_rest_is_cut_again(run, isolation, convos, cut):
    mine = ("mine", convos, "--wing", "w", "--mode", "convos", "--json")
    path = convos / "torn.jsonl"
    run(*mine)
    for part in (REMAINDER[:cut], REMAINDER[cut:]):
        path.write_bytes(path.read_bytes() + part)
        run(*mine)
    grown = list_drawers(open_at(isolation.palace), history=True)
    assert len(with_word(grown, "zqalpha6")) == 1
    whole = isolation.palace.with_name("whole")
    run(*mine, "--home", whole)
    assert tell(grown) == tell(list_drawers(open_at(whole), history=True))
