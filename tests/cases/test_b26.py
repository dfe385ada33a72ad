"""Any text is a query: nothing in it is an operator, a column or an error.

Raw text put to a full-text index means syntax errors, missing columns, or operators that change
what was asked (spences10/ccrecall#23 and #29, yetidevworks/yetisearch#30).
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from mempal.core.model import Scope
from mempal.palace import Palace
from mempal.search.engine import MODES
from mempal.wiring import open_palace
from tests.cases.support import Done, mine, open_at, snapshot, sources_of
from tests.repositories import write_files

LINES = (
    "zqomi0 the multi-agent plan",
    "zqomi1 we don't use agents here",
    "zqomi2 saved in Downloads/transcripts",
    "zqomi3 runs on ubuntu 20.04 only",
    'zqomi4 she said "stop" twice',
    "zqomi5 written in C++ and C#",
    "zqomi6 setting col:val decides",
    "zqomi7 run rm -rf with care",
    "zqomi8 pass --wing to scope",
    "zqomi9 order BENCH-100821 shipped",
    "zqomi10 100% of a_b_c done",
    "zqomi11 NEAR the river AND the mill OR the weir NOT the lock",
    "zqomi12 see {a b}: c^2 * (d)",
    r"zqomi13 path C:\new\table",
    "zqomi14 emoji 🦊 fox",
    "zqomi15 f(x, y) -> [0..9]",
    "zqomi16 Robert'); DROP TABLE drawers;--",
)
# By the number of the line that must be among the first three: what is asked.
REPORTED = {
    0: ("multi-agent",),
    1: ("don't",),
    2: ("Downloads/transcripts",),
    3: ("ubuntu 20.04",),
    4: ('"stop"', '"stop'),
    5: ("C++",),
    6: ("col:val",),
    7: ("-rf",),
    8: ("--wing",),
    9: ("BENCH-100821", "-100821"),
    10: ("100%", "a_b_c"),
    11: ("NEAR the river", "river AND", "OR", "NOT the lock"),
    12: ("c^2 * (d)", "{a b}: c"),
    13: (r"C:\new\table",),
    15: ("[0..9]",),
    16: ("Robert'); DROP TABLE drawers;--",),
}
# The same in the dress of column filters, operators, other languages' syntax and odd characters.
DRESSED = {
    0: ("content:multi agent", "multi + agent", "- multi-agent", '"multi" + "agent"'),
    3: ("path:l03 ubuntu", "{path} : ubuntu", "ubuntu^2", "ubuntu~"),
    11: ("- content:river", "NEAR/5 river", "NEAR(river mill, 3)", "river -- mill", "river\rmill"),
    14: (
        *("rowid:1 fox", "words MATCH 'fox'", "fox*", "*fox", "^fox", "fox\0river", "fox\ud83d"),
        *("\u202efox\u202c", "fox\r\n", "\ufefffox", "FOX", "(fox", "fox)", 'fox"', '""fox""'),
        *("'fox'", "`fox`", "$fox", "${fox}", "%66ox fox", "fox;", "fox\\", "fox\t\v\f", "fox OR"),
        *("OR fox", "fox AND AND", '"fox" NEAR "river"', "{content path}: fox", "fox+emoji"),
        *("fox || 1=1", "<b>fox</b>", "/fox/i", "fox\u2028fox", "🦊fox", "symbols : fox"),
    ),
}
EMPTY = (
    *("*", "(", ")", '"', "''", " ", "", "\n", "^", "\\", "%", "_", "🦊", "\0", "\0\0\0", "\ud83d"),
    *(
        "\u202e",
        "\u200b",
        "\ufeff",
        "\u0301",
        "-",
        "--",
        "---",
        "->",
        "||",
        "&&",
        "!",
        "?",
        "@",
        "#",
    ),
    *(
        "{}",
        "[]",
        "<>",
        "“”",
        "…",
        ":",
        ";",
        ",",
        ".",
        "//",
        "^*",
        '""',
        '"""',
        '" "',
        '"*"',
        "\U000e0041",
    ),
)
ANYTHING = (
    *("NEAR(a b, 2", "AND OR NOT", "NEAR", "NOT", "NEAR()", "NOT NOT NOT", "a AND", "^ a", "a : b"),
    *("a" * 5000, "決定" * 3000, "fox " * 50_000, '"' * 999, "(" * 5000, "* " * 5000, "a-" * 5000),
    *("x\0y" * 999, "e\u0301" * 999, "\ud83d\ude80", "\udcff" * 50, "fox river " * 20_000),
    *(" ".join(f"word{n}" for n in range(20_000)), "-1e309", "NaN", "0x00", "١٢٣", "ＦＯＸ", "ﬁn"),
    *("col:val:val", "a.b.c.d.e", "::", "SELECT * FROM drawers", "1; ATTACH 'x' AS y", "ｆｏｘ"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("b26")
    repo = write_files(
        folder / "repo", {f"l{n:02d}.md": f"{line}\n" for n, line in enumerate(LINES)}
    )
    mine(open_at(folder / "home"), repo, wing="w")
    return folder / "home"


@pytest.fixture(scope="module")
def palace(home: Path) -> Palace:
    return open_at(home)


@pytest.fixture(scope="module")
def lenient(palace: Palace) -> Palace:
    """Return the palace without a floor, which the words beside the known one would not reach."""
    values = MappingProxyType({**palace.config.values, "search.floor": 0.0})
    return open_palace(palace.home, config=replace(palace.config, values=values))


@pytest.fixture(scope="module", autouse=True)
def _nothing_was_changed(palace: Palace, home: Path) -> object:
    before = snapshot(palace)
    yield
    assert snapshot(palace) == before
    with closing(sqlite3.connect(home / "palace.db")) as connection:
        assert connection.execute("SELECT count(*) FROM drawers").fetchone() == (len(LINES),)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def flatten(wanted: Mapping[int, tuple[str, ...]]) -> list[tuple[str, int]]:
    return [(query, number) for number, queries in wanted.items() for query in queries]


@pytest.mark.parametrize(("query", "number"), flatten(REPORTED), ids=ascii)
def test_what_was_asked_for_is_found(palace: Palace, query: str, number: int):
    assert f"l{number:02d}.md" in sources_of(palace, query)[:3]


@pytest.mark.parametrize(("query", "number"), flatten(DRESSED), ids=ascii)
def test_it_is_found_in_any_dress(lenient: Palace, query: str, number: int):
    assert f"l{number:02d}.md" in sources_of(lenient, query)[:3]


@pytest.mark.parametrize("query", EMPTY, ids=ascii)
def test_a_query_without_a_word_is_told(palace: Palace, query: str):
    for mode in MODES:
        result = palace.search(query, Scope(), mode=mode)
        assert result.hits == ()
        assert result.hint == "the query holds no word to search for"


@pytest.mark.parametrize("query", ANYTHING, ids=lambda query: ascii(query[:20]))
def test_every_query_is_answered_in_every_mode(palace: Palace, query: str):
    for mode in MODES:
        result = palace.search(query, Scope(), mode=mode, context=1)
        assert result.degraded == ()
        assert [hit.score for hit in result.hits] == sorted(
            (hit.score for hit in result.hits), reverse=True
        )


@pytest.mark.parametrize("scope", [Scope(wing=q) for q in ("'", '"', "%", "w'--", "\0", "\ud83d")])
def test_names_are_no_syntax_either(palace: Palace, scope: Scope):
    for room in (None, scope.wing):
        asked = Scope(wing=scope.wing, room=room)
        assert palace.search("fox", asked).hits == ()
        assert palace.search("fox", Scope(wing="w", room=scope.wing)).hits == ()


NASTY = ("-rf", "--wing", "--json", "--", "-n", "fox\udce9", '"stop', "🦊", " ", "", "--help", "-")


@pytest.mark.parametrize("query", NASTY, ids=ascii)
def test_the_command_takes_any_query_behind_two_dashes(
    run: Callable[..., Done], home: Path, monkeypatch: pytest.MonkeyPatch, query: str
):
    if query == "-":  # that is standard input
        import io
        import sys

        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"fox \xf0\x9f\xa6\x8a")))
    done = run("search", "--home", home, "--json", "--", query)
    assert done.code == 0
    assert isinstance(done.json["results"], list)
    done.stdout.encode()


def test_the_command_in_a_process_of_its_own(mempal, home: Path):
    for query, number in (("-rf", 7), ("NEAR the river", 11), (LINES[16][8:], 16)):
        done = mempal("search", "--home", home, "--json", "--", query)
        names = [row["source_file"] for row in done.json["results"][:3]]
        assert f"l{number:02d}.md" in names
    done = mempal("search", "--home", home, "--json", "-", stdin="fox " * 50_000)
    assert done.json["results"][0]["source_file"] == "l14.md"
    assert mempal("search", "--home", home, "-rf").code == 2
