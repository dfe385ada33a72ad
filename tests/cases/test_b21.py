"""Every text has a drawer of its own, wherever else the same words stand.

Ids made of a text's beginning, of parts joined without a border, or of a short hash collide, and
the later write silently replaces the earlier (MemPalace/mempalace#715, ZhangHanDong/mempal#1,
rtk-ai/rtk#3952).
"""

from collections import Counter
from itertools import product

import pytest

from mempal.core.model import Scope
from tests.cases.support import drawers_of, holders, mine, open_at, snapshot
from tests.repositories import write_files

HEAD = (
    "# Weekly record of the river works office, team blue, form 12-B, printed on recycled paper,"
    " page one of one\n"
)
TREE = {
    "foo": "zqkappa7 " + "word " * 20,
    "foo1": "zqkappa8 " + "word " * 20,
    **{
        f"form-{n}.md": HEAD * 2 + f"Decision {n}: zqkappa{n} use sluice number {n}.\n"
        for n in range(1, 6)
    },
    **{f"{folder}/same.md": "zqkappa6 identical text in two places\n" for folder in "xy"},
}
SECTION = (
    "The gauge board was read at seven, at noon and at dusk, and every reading was entered in ink. "
    * 10
)
PREAMBLE = (
    "var __decorate = (this && this.__decorate) || function (d, t, k, e)"
    " { return d.reduceRight(function (a, f) { return f(a) || a; }, t); };\n" * 8
)
REPEATS = {
    "log.md": "\n\n".join([SECTION] * 30) + "\n\nzqkappa12 text after thirty equal sections\n",
    **{f"part{n}.js": PREAMBLE + f"// zqkappa{13 + n} real body of part {n}\n" for n in range(4)},
}
ADDS = (
    ("a_b", "c", "zqkappa9 same sentence"),
    ("a", "b_c", "zqkappa9 same sentence"),
    ("ab", "c", "zqkappa10 joined"),
    ("a", "bc", "zqkappa10 joined"),
    ("Ops Team", "r", "zqkappa11"),
    ("ops-team", "r", "zqkappa11"),
)


def test_nothing_replaces_anything_else(mempal, isolation, tmp_path):
    tree = write_files(tmp_path / "tree", TREE)
    repeats = write_files(tmp_path / "repeats", REPEATS)
    assert mempal("mine", tree).code == 0
    assert mempal("mine", repeats).code == 0
    for wing, room, text in ADDS:
        added = mempal("add", text, "--wing", wing, "--room", room, "--json").json
        assert added["created"] is True
    palace = open_at(isolation.palace)
    for number in (*range(1, 6), 7, 8, *range(12, 17)):
        assert len(holders(palace, f"zqkappa{number}")) == 1
    same = holders(palace, "zqkappa6")
    assert sorted(drawer.source_file for drawer in same) == ["x/same.md", "y/same.md"]
    for number in (9, 10, 11):
        drawers = holders(palace, f"zqkappa{number}")
        places = [(wing, room) for wing, room, text in ADDS if f"zqkappa{number}" in text.split()]
        assert sorted((drawer.wing, drawer.room) for drawer in drawers) == sorted(places)
    ids = [row[4] for row in snapshot(palace)]
    assert len(ids) == len(set(ids))
    log = drawers_of(palace, "repeats", repeats)["log.md"]
    assert "".join(drawer.content for drawer in log) == REPEATS["log.md"]
    for root in (tree, repeats):
        assert mempal("mine", root, "--json").json["drawers"]["added"] == 0


def test_forty_equal_pieces_in_files_and_rooms_are_forty_drawers(isolation, tmp_path):
    piece = "zqforty the very same paragraph, word for word\n"
    places = [f"room{room}/file{number}.md" for room, number in product(range(4), range(10))]
    tree = write_files(tmp_path / "tree", dict.fromkeys(places, piece))
    palace = open_at(isolation.palace)
    assert mine(palace, tree).drawers.added == 40
    drawers = holders(palace, "zqforty")
    assert sorted(drawer.source_file for drawer in drawers) == sorted(places)
    assert len({drawer.id for drawer in drawers}) == 40
    assert Counter(drawer.room for drawer in drawers) == {f"room{room}": 10 for room in range(4)}
    for place in places[:3]:
        (tree / place).unlink()
        (tree / place).write_text("something else\n")
    mine(palace, tree)
    assert len(holders(palace, "zqforty")) == 37


@pytest.mark.parametrize("count", [2, 3, 40])
def test_equal_pieces_of_one_file_come_and_go_one_by_one(isolation, tmp_path, count):
    def write(times: int) -> None:
        write_files(tmp_path / "tree", {"log.md": "\n\n".join([SECTION[:700]] * times) + "\n"})

    write(count)
    palace = open_at(isolation.palace)
    mine(palace, tmp_path / "tree", wing="w")
    before = [d.id for d in drawers_of(palace, "w", tmp_path / "tree")["log.md"]]
    assert len(set(before)) == len(before) >= count
    write(count - 1)
    assert mine(palace, tmp_path / "tree", wing="w").drawers.superseded >= 1
    assert len(holders(palace, "gauge")) < len(before)
    write(count)
    report = mine(palace, tmp_path / "tree", wing="w")
    assert report.drawers.added == 0
    assert report.drawers.restored >= 1
    assert [d.id for d in drawers_of(palace, "w", tmp_path / "tree")["log.md"]] == before


def test_the_same_tree_gets_the_same_ids_in_every_palace(tmp_path):
    tree = write_files(tmp_path / "tree", {**TREE, **REPEATS})
    first, second = (open_at(tmp_path / home) for home in ("one", "two"))
    mine(first, tree / "x", wing="w")  # in another order, with another tree before it
    for palace in (first, second):
        mine(palace, tree, wing="w")
    rows = {row for row in snapshot(first) if row[1] == str(tree)}
    assert rows == set(snapshot(second))


def test_one_tree_in_two_wings_is_stored_twice(isolation, tmp_path):
    tree = write_files(tmp_path / "tree", TREE)
    palace = open_at(isolation.palace)
    for wing in ("tree", "Tree", "tree ", "TREE"):
        mine(palace, tree, wing=wing)
    wings = {drawer.wing for drawer in holders(palace, "zqkappa7")}
    assert wings == {"tree", "Tree", "TREE"}
    only = holders(palace, "zqkappa7", Scope(wing="Tree"))
    assert [drawer.wing for drawer in only] == ["Tree"]


def test_names_that_join_alike_stay_apart(isolation, tmp_path):
    files = {
        "a/b_c.md": "zqjoin\n",
        "a_b/c.md": "zqjoin\n",
        "ab/c.md": "zqjoin\n",
        "a/bc.md": "zqjoin\n",
    }
    palace = open_at(isolation.palace)
    mine(palace, write_files(tmp_path / "tree", files))
    assert sorted(d.source_file for d in holders(palace, "zqjoin")) == sorted(files)
