"""A grown export under another name, or a file with other line ends, adds what is new and no more.

Both duplicated almost every drawer (MemPalace/mempalace#2044, #2213, NousResearch/hermes-agent
PR #59124, microsoft/apm PR #1959).
"""

import json
import shutil
from pathlib import Path

import pytest

from tests.cases.support import age, check_spans, drawers_of, mine, open_at
from tests.transcripts import list_drawers, tell

CASE = Path(__file__).parent / "data" / "B18"
OLD = ("zqeta1", "zqeta2", "zqeta3", "zqeta4")
NEW = ("zqeta5", "zqeta6")
NOTHING = {"added": 0, "superseded": 0, "restored": 0}


@pytest.fixture
def inputs(tmp_path):
    for name in ("v1", "v2"):
        shutil.copytree(CASE / name, tmp_path / name)
    return age(tmp_path)


@pytest.mark.parametrize("mode", ["convos", "auto"])
@pytest.mark.parametrize("deleted", [False, True], ids=["v1 kept", "v1 deleted"])
def test_a_grown_export_adds_only_its_new_messages(run, isolation, inputs, mode, deleted):
    def mine_one(name):
        done = run("mine", inputs / name, "--mode", mode, "--wing", "w", "--json")
        assert done.code == 0
        return done.json["drawers"]

    mine_one("v1")
    before = list_drawers(open_at(isolation.palace))
    if deleted:
        shutil.rmtree(inputs / "v1")
    second = mine_one("v2")
    after = list_drawers(open_at(isolation.palace))
    for word in OLD:
        assert len([drawer for drawer in after if word in drawer.content]) == 1
    assert {**second, **NOTHING, "added": 2} == second
    new = {drawer.content for drawer in after} - {drawer.content for drawer in before}
    assert new == {
        "zqeta5 the only new message in this thread",
        "zqeta6 brand new conversation",
    }
    for word in (*OLD, *NEW):
        results = run("search", word, "--json", "-n", "20").json["results"]
        assert sum(word in hit["content"].split() for hit in results) == 1
    third = mine_one("v2")
    assert {**third, **NOTHING} == third
    assert tell(list_drawers(open_at(isolation.palace), history=True)) == tell(after)


def test_going_back_and_forth_between_exports_changes_nothing(run, isolation, inputs):
    for name in ("v1", "v2"):
        run("mine", inputs / name, "--mode", "convos", "--wing", "w")
    settled = tell(list_drawers(open_at(isolation.palace), history=True))
    for name in ("v1", "v2", "v1"):
        for path in (inputs / name).rglob("*.json"):
            path.touch()
        changes = run("mine", inputs / name, "--mode", "convos", "--wing", "w", "--json").json
        assert {**changes["drawers"], **NOTHING} == changes["drawers"]
    assert tell(list_drawers(open_at(isolation.palace), history=True)) == settled


@pytest.mark.parametrize("ends", ["src-crlf", "src-cr"])
def test_other_line_ends_add_nothing(run, isolation, tmp_path, ends):
    tree = Path(shutil.copytree(CASE / "src-lf", tmp_path / "src"))
    first = run("mine", tree, "--wing", "w", "--json").json["drawers"]
    assert first["added"] > 0
    shutil.copy(CASE / ends / "notes.md", tree / "notes.md")
    second = run("mine", tree, "--wing", "w", "--json").json["drawers"]
    assert second == {**NOTHING, "unchanged": first["added"]}
    palace = open_at(isolation.palace)
    drawers = drawers_of(palace, "w", tree)["notes.md"]
    assert len(list_drawers(palace, history=True)) == first["added"]
    check_spans(drawers, (tree / "notes.md").read_bytes())
    shutil.copy(CASE / "src-lf" / "notes.md", tree / "notes.md")
    assert run("mine", tree, "--wing", "w", "--json").json["drawers"] == second


@pytest.mark.parametrize("ends", ["src-lf", "src-crlf", "src-cr"])
def test_each_line_end_is_read_as_forty_lines(run, isolation, tmp_path, ends):
    tree = Path(shutil.copytree(CASE / ends, tmp_path / "src"))
    palace = open_at(isolation.palace)
    mine(palace, tree, wing="w")
    drawers = drawers_of(palace, "w", tree)["notes.md"]
    text = "".join(drawer.content for drawer in drawers)
    assert text.splitlines() == [f"line {n}: zqeta7 settings for pump {n}" for n in range(40)]
    assert (drawers[0].span.line_start, drawers[-1].span.line_end) == (1, 40)
    assert "\r" not in text
    best = run("search", "zqeta7 pump 39", "--json").json["results"][0]
    assert best["line_end"] == 40


def test_the_inputs_are_what_they_say():
    line_ends = {name: (CASE / name / "notes.md").read_bytes() for name in ("src-crlf", "src-cr")}
    assert line_ends["src-crlf"].count(b"\r\n") == 40
    assert (line_ends["src-cr"].count(b"\r"), line_ends["src-cr"].count(b"\n")) == (40, 0)
    (later,) = (CASE / "v2").rglob("*.json")
    assert [item["id"] for item in json.loads(later.read_text())] == ["g3", "g2", "g1"]
