"""Each shape of content is read, and nobody but the owner speaks with the owner's voice.

Parsers crashed on block types, stored pictures, and filed what a subagent or the host said as the
owner's words (raine/claude-code-proxy#13, diegosouzapw/OmniRoute PR #5100,
SeemSeam/claude_codex_bridge PR #342, MemPalace/mempalace#654).
"""

import base64
import json
import random
import re
import shutil
from pathlib import Path

import pytest

from mempal.core.model import SourceClass
from tests.cases.support import age, open_at
from tests.transcripts import Meter, list_drawers, spill, tell, with_word

CASE = Path(__file__).parent / "data" / "B13"
EXPECTED = json.loads((CASE / "expected.json").read_text())
PICTURE = random.Random(13).randbytes(200_000)
ENCODED = base64.b64encode(PICTURE).decode()


@pytest.fixture
def convos(tmp_path):
    """The sessions, with a picture of 260 KB put into one of them."""
    folder = Path(shutil.copytree(CASE / "convos", tmp_path / "convos"))
    mixed = folder / "mixed.jsonl"
    mixed.write_text(mixed.read_text().replace("@@BIGIMAGE@@", ENCODED))
    (folder / "empty.jsonl").touch()
    return age(folder)


@pytest.fixture
def drawers(run, isolation, convos):
    assert run("mine", convos, "--mode", "convos", "--wing", "w").code == 0
    return list_drawers(open_at(isolation.palace))


@pytest.mark.parametrize(
    ("words", "speaker", "source_class"),
    [
        ("owner_words", "user", SourceClass.PERSON),
        ("assistant_words", "assistant", SourceClass.ASSISTANT),
    ],
)
def test_each_word_is_said_once_by_who_said_it(run, drawers, words, speaker, source_class):
    for word in EXPECTED[words]:
        (drawer,) = with_word(drawers, word)
        assert (drawer.speaker, drawer.source_class) == (speaker, source_class)
        best = run("search", word, "--json").json["results"][0]
        assert word in best["content"].split()
        assert (best["speaker"], best["source_class"]) == (speaker, str(source_class))


def test_tools_are_heard_at_most_once(drawers):
    for word in EXPECTED["tool_words_each_at_most_once"]:
        assert len(with_word(drawers, word)) <= 1
        assert {drawer.source_class for drawer in with_word(drawers, word)} <= {SourceClass.TOOL}


def test_nobody_else_is_the_owner(drawers):
    owned = {
        word
        for drawer in drawers
        if drawer.source_class is SourceClass.PERSON
        for word in re.findall(r"zqbeta\d+", drawer.content)
    }
    assert owned == set(EXPECTED["owner_words"])
    assert not owned & set(EXPECTED["never_as_owner"])


def test_the_subagent_is_another_agent_in_a_conversation_of_its_own(drawers):
    ((asked,), (answered,)) = (with_word(drawers, word) for word in ("zqbeta9", "zqbeta10"))
    assert {asked.source_class, answered.source_class} == {SourceClass.OTHER_AGENT}
    assert {asked.speaker, answered.speaker} == {"main agent", "subagent"}
    assert asked.session == answered.session == "s-nul/ag1"


def test_neither_pictures_nor_signatures_nor_what_nobody_said_are_kept(isolation, drawers):
    line = next(
        row for row in (CASE / "convos/mixed.jsonl").read_text().split("\n") if "sig" in row
    )
    signature = json.loads(line)["message"]["content"][0]["signature"]
    samples = [ENCODED[at : at + 24] for at in range(0, len(ENCODED), 9973)]
    raw = [PICTURE[at : at + 12] for at in range(0, len(PICTURE), 9973)]
    hidden = ["zqbeta0", "zqbeta3", "zqbeta11", "zqbeta12", "zqbeta15", "iVBORw0KGgo"]
    needles = [*samples, *raw, signature[:16], signature[200:216], *hidden]
    assert list(spill(isolation.palace, needles)) == []
    assert list(spill(isolation.palace, [b"zqbeta16 last answer"]))  # the search does find


def test_a_second_run_reads_and_adds_nothing(run, isolation, drawers, convos, monkeypatch):
    before = tell(drawers)
    meter = Meter(monkeypatch)
    report = run("mine", convos, "--mode", "convos", "--wing", "w", "--json").json
    assert not {"mixed.jsonl", "bom.jsonl", "only-meta.jsonl", "empty.jsonl"} & meter.read.keys()
    assert report["drawers"]["added"] == 0
    assert report["files"]["unchanged"] == 2
    assert {skip["path"]: skip["reason"] for skip in report["skipped"]} == {
        "empty.jsonl": "empty",
        "only-meta.jsonl": "no message in it (claude transcript)",
    }
    assert tell(list_drawers(open_at(isolation.palace))) == before
    # The meter does count: a changed file is read.
    (convos / "only-meta.jsonl").write_text('{"type":"mode","mode":"plan","sessionId":"s"}\n')
    run("mine", convos, "--mode", "convos", "--wing", "w")
    assert meter.read["only-meta.jsonl"] > 0


def test_files_without_a_message_have_no_drawers(run, isolation, drawers, convos):
    assert {drawer.source_file for drawer in drawers} == {"mixed.jsonl", "bom.jsonl"}
    text = run("mine", convos, "--mode", "convos", "--wing", "w").stdout
    assert "empty.jsonl" in text
    assert "only-meta.jsonl" in text
