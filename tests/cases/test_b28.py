"""No palace and an empty palace are two answers, and no query or count is too odd.

An index error on an empty result, one message for two states, and recall that collapses when a
prompt stands before the question (MemPalace/mempalace#195, #1498, #830 and #333,
salishforge/memforge#39).
"""

from pathlib import Path

import pytest

from mempal.core.errors import UsageError
from mempal.core.model import Scope
from mempal.palace import Palace
from tests.cases.support import holders, mine, open_at, sources_of
from tests.repositories import write_files

NOTE = "# Pump note\nzqpi1 the north pump runs at four bar\n"
OTHERS = {
    f"other{n}.md": f"# Other note {n}\nThe {thing} is painted every spring by the crew.\n"
    for n, thing in enumerate(("gate", "fence", "boat", "mill wheel", "lamp", "stair", "roof"))
}
PROMPT = "You are a careful assistant. Follow the house style. " * 60
QUESTION = "\n\nAt what pressure does the north pump run?"
ASKING = (("search", "pump"), ("status",), ("wake-up",), ("wings",), ("rooms",), ("audit",))


def test_the_two_states_are_told_apart(mempal, isolation, tmp_path):
    before = {arguments: mempal(*arguments) for arguments in ASKING}
    as_json = mempal("search", "pump", "--json")
    assert not isolation.palace.exists()
    (tmp_path / "empty-dir").mkdir()
    assert mempal("mine", tmp_path / "empty-dir", "--json").json["files"]["seen"] == 0
    for arguments, first in before.items():
        after = mempal(*arguments)
        assert (first.code, after.code) == (0, 0)
        assert f"there is no palace at {isolation.palace} yet" in first.stderr
        assert "there is no palace" not in after.stderr + after.stdout
    assert as_json.json["results"] == []
    assert as_json.json["hint"].startswith("there is no palace")
    empty = mempal("search", "pump", "--json").json
    assert (empty["results"], "empty" in empty["hint"]) == ([], True)


@pytest.fixture(scope="module")
def palace(tmp_path_factory: pytest.TempPathFactory) -> Palace:
    folder = tmp_path_factory.mktemp("b28")
    palace = open_at(folder / "home")
    mine(palace, write_files(folder / "one", {"only.md": NOTE, **OTHERS}))
    return palace


@pytest.mark.parametrize(
    "query",
    [
        PROMPT + QUESTION,
        PROMPT * 40 + QUESTION,
        QUESTION + "\n\n",
        "north pump pressure " * 10_000,
        "<system>" + PROMPT + "</system>\n\n<user>\nnorth pump pressure\n</user>",
        '{"role": "system", "content": "' + PROMPT + '"}\n\nnorth pump pressure?',
        "\n".join(f"- tool call {n}: ok" for n in range(5000)) + QUESTION,
        "north\tpump\n" + "\n" * 100_000,
    ],
    ids=lambda query: f"{len(query)} characters",
)
def test_the_question_behind_a_preamble_is_answered(palace, query):
    assert sources_of(palace, query)[:1] == ["only.md"]


@pytest.mark.parametrize("question", ["How long does risotto simmer?", "risotto", "x9f3"])
def test_a_preamble_lends_nothing_to_a_question_nobody_can_answer(palace, question):
    assert palace.search(PROMPT + "\n\n" + question, Scope()).hits == ()


@pytest.mark.parametrize("query", ["z" * 100_000, "決" * 100_000, "z-" * 50_000, "é" * 200_000])
def test_a_huge_word_is_answered(palace, query):
    for mode in ("hybrid", "keyword", "vector"):
        assert palace.search(query, Scope(), mode=mode).degraded == ()


@pytest.mark.parametrize("limit", [1, 3, 8, 9, 1000, 1001, 100_000, 10**12, 2**63, 10**30])
def test_a_count_gives_at_most_that_many(palace, limit):
    hits = palace.search("painted pump", Scope(), limit=limit).hits
    assert 0 < len(hits) <= min(limit, 8)
    assert hits == palace.search("painted pump", Scope(), limit=8).hits[:limit]


@pytest.mark.parametrize("limit", [0, -1, -(10**12)])
def test_a_count_below_one_is_refused(palace, limit):
    with pytest.raises(UsageError):
        palace.search("pump", Scope(), limit=limit)


@pytest.mark.parametrize(
    ("count", "code"),
    [
        *(("0", 2), ("-1", 2), ("1", 0), ("3", 0), ("100000", 0), (str(10**12), 0), ("5", 0)),
        *(("abc", 2), ("", 2), ("1.5", 2), ("1e3", 2), ("0x10", 2), ("nan", 2), (" 3 ", 0)),
        *((str(10**30), 0), ("--", 2)),
    ],
)
def test_the_command_takes_a_count_or_says_what_is_wrong(run, palace, count, code):
    done = run("search", "pump", "--home", palace.home, "--json", f"--top-k={count}")
    assert done.code == code
    if code:
        assert done.json["error"]["code"] == "usage"
        assert "--top-k" in done.json["error"]["message"]
    else:
        assert done.json["results"][0]["source_file"] == "only.md"


@pytest.mark.parametrize("option", ["--context=-1", "--mode=nonsense", "--as-of=never", "--mode="])
def test_other_options_say_what_is_wrong(run, palace, option):
    done = run("search", "pump", "--home", palace.home, "--json", option)
    assert (done.code, done.json["error"]["code"]) == (2, "usage")


def test_context_of_any_size_is_no_trouble(run, palace):
    for count in ("0", "1", str(10**6), str(2**62)):
        done = run("search", "pump", "--home", palace.home, "--json", "--context", count)
        assert done.json["results"][0]["source_file"] == "only.md"


def test_a_query_from_a_pipe_in_a_process_of_its_own(mempal, palace):
    for query in (PROMPT + QUESTION, "north pump pressure " * 10_000):
        done = mempal("search", "--home", palace.home, "--json", "-", stdin=query)
        assert done.json["results"][0]["source_file"] == "only.md"
    done = mempal("search", "--home", palace.home, "--json", "-", stdin="z" * 100_000)
    assert (done.code, done.json["results"]) == (0, [])


def test_a_palace_that_holds_only_what_was_superseded_is_no_error(isolation, tmp_path):
    palace = open_at(isolation.palace)
    root = write_files(tmp_path / "one", {"only.md": NOTE})
    mine(palace, root)
    write_files(root, {"only.md": ""})
    mine(palace, root)
    assert palace.search("pump", Scope()).hits == ()
    assert "empty" in palace.search("pump", Scope()).hint
    assert palace.wake_up("one").items == ()
    assert len(holders(palace, "zqpi1", Scope(history=True))) == 1


def test_reading_an_unreadable_home_is_an_error_in_words(run, isolation, tmp_path):
    (tmp_path / "file").write_text("not a folder\n")
    for arguments in ASKING:
        done = run(*arguments, "--home", tmp_path / "file" / "home")
        assert done.code in {0, 1}
    done = run("mine", Path(tmp_path), "--home", tmp_path / "file" / "home")
    assert done.code == 1
    assert str(tmp_path / "file") in done.stderr
