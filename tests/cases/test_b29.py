"""A wing or room is one name, whatever wildcard, quote or operator it looks like.

With patterns for filters, ``test`` also hit ``testing``, ``100%`` hit everything, and deleting by
tag removed strangers (doobidoo/mcp-memory-service PR #558, PR #916, #914, #1196).
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.support import Done, fingerprint, open_at

CASE = Path(__file__).parent / "data" / "B29"
ADDS = json.loads((CASE / "adds.json").read_text())
FILTERS = json.loads((CASE / "filters.json").read_text())
WORDS = {item["wing"]: item["content"].split()[0] for item in ADDS}
QUERY = "drawer of wing number"
MISSES = [item["filter"] for item in FILTERS if not item["exact_hits"]]


@pytest.fixture
def filled(run: Any, isolation: Any) -> Any:
    """Return the runner of a palace in which every wing is filled, by the command."""
    open_at(isolation.palace, embed__backend="hash", index__backend="exact")
    for item in ADDS:
        done = run("add", item["content"], "--wing", item["wing"], "--room", item["room"], "--json")
        assert (done.code, done.json["created"]) == (0, True)
        assert done.json["wing"] == item["wing"]
    return run


def found(done: Done) -> list[tuple[str, str]]:
    assert done.code == 0
    return [(hit["wing"], hit["content"].split()[0]) for hit in done.json["results"]]


def expected(wing: str) -> list[tuple[str, str]]:
    return [(wing, WORDS[wing])] if wing in WORDS else []


def test_the_filters_of_the_case_are_the_wings_and_some_others():
    assert [item["exact_hits"] for item in FILTERS] == [
        int(item["filter"] in WORDS) for item in FILTERS
    ]
    assert len(WORDS) == 18
    assert len(MISSES) == 7


def test_each_wing_is_itself_alone(filled):
    for item in FILTERS:
        wing = item["filter"]
        for mode in ("hybrid", "keyword", "vector"):
            asked = ("search", QUERY, "--wing", wing, "--mode", mode, "-n", "50", "--json")
            hits = found(filled(*asked))
            assert hits == expected(wing)
        rooms = filled("rooms", "--wing", wing, "--json").json["rooms"]
        assert [(room["wing"], room["drawers"]) for room in rooms] == [(wing, 1)] * len(hits)
        told = filled("wake-up", "--wing", wing, "--json").json["text"]
        assert [word for word in WORDS.values() if word in told.split()] == [
            word for _, word in expected(wing)
        ]
        same = filled("check-duplicate", ADDS[0]["content"], "--wing", wing, "--json").json
        assert [match["wing"] for match in same["matches"]] == (["test"] if wing == "test" else [])
    listed = filled("wings", "--json").json["wings"]
    assert sorted(wing["wing"] for wing in listed) == sorted(WORDS)


@pytest.mark.chroma
def test_each_wing_is_itself_alone_in_chroma(filled, isolation):
    open_at(isolation.palace, index__backend="chroma")
    filled("reindex")
    for item in FILTERS:
        wing = item["filter"]
        asked = ("search", QUERY, "--wing", wing, "--mode", "vector", "-n", "50", "--json")
        assert found(filled(*asked)) == expected(wing)


def test_each_room_is_itself_alone(filled):
    for item in ADDS:
        filled("add", item["content"], "--wing", "rooms", "--room", item["wing"])
    for item in FILTERS:
        hits = filled(
            "search", "drawer", "--wing", "rooms", "--room", item["filter"], "-n", "50", "--json"
        ).json["results"]
        assert [hit["room"] for hit in hits] == [item["filter"]] * item["exact_hits"]


def test_a_name_that_is_no_wing_is_told(filled):
    for wing in MISSES:
        done = filled("search", "drawer", "--wing", wing, "--json")
        assert done.json["hint"].startswith(f"there is no wing {wing!r}; wings: ")


def test_purging_counts_what_a_search_found(filled):
    drawers = filled("search", "drawer", "--all-wings", "-n", "50", "--json").json["results"]
    assert len(drawers) == 18
    filled("delete", *(hit["drawer_id"] for hit in drawers))
    for item in FILTERS:
        would = filled("purge", "--wing", item["filter"], "--dry-run", "--json").json
        assert [drawer["wing"] for drawer in would["drawers"]] == (
            [item["filter"]] * item["exact_hits"]
        )
    for wing in [*MISSES, "100%", "*"]:
        done = filled("purge", "--wing", wing, "--json").json
        assert done["purged"] == len(expected(wing))
    assert len(filled("purge", "--dry-run", "--json").json["drawers"]) == 16


def test_forgetting_keeps_to_its_wing(filled):
    for wing in [*MISSES, "?", "a"]:
        done = filled("forget", "--topic", "drawer of wing number", "--wing", wing, "--json").json
        assert {drawer["wing"] for drawer in done["drawers"]} == {wing} & set(WORDS)


@pytest.mark.parametrize("name", ["../up", "x/y", "..", "/", "a\\b", "~", "$HOME", "-w"])
def test_a_name_is_never_a_path(run, isolation, name):
    run("add", "zqfirst", "--wing", "w")
    around = isolation.palace.parent
    before = {path for path in fingerprint(around) if "palace" not in path}
    assert run("add", "zqsecond", f"--wing={name}", f"--room={name}").code == 0
    assert found(run("search", "zqsecond", f"--wing={name}", "--json")) == [(name, "zqsecond")]
    assert {path for path in fingerprint(around) if "palace" not in path} == before
    names = {path.rpartition("/")[2] for path in fingerprint(isolation.palace)}
    assert name not in names


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" test ", "test"),
        ("caf\u0065\u0301", "caf\u00e9"),
        ("a  b", "a  b"),
        ("TEST", "TEST"),
        ("🦊", "🦊"),
    ],
)
def test_one_rule_for_names_holds_when_storing_and_when_asking(run, typed, stored):
    """Space around a name is dropped and accents are composed; all else tells names apart."""
    assert run("add", "zqname of it", "--wing", typed, "--room", typed).code == 0
    (hit,) = run("search", "zqname", "--wing", stored, "--room", stored, "--json").json["results"]
    assert (hit["wing"], hit["room"]) == (stored, stored)
    asked = run("search", "zqname", "--wing", typed, "--room", typed, "--json").json["results"]
    assert len(asked) == 1
    other = run("search", "zqname", "--wing", stored.swapcase() + "x", "--json").json["results"]
    assert other == []


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x00b", "\x1b[31m", "w" * 201])
def test_names_that_cannot_be_are_refused(run, isolation, name):
    room = run("add", "zqroom", "--wing", "w", "--room", name)
    wing = run("add", "zqwing", "--wing", name, "--room", "r")
    if not name:  # not given
        assert (room.code, wing.code) == (0, 0)
        return
    assert (room.code, wing.code) == (2, 2)
    assert not isolation.palace.exists()
