"""Asking real palaces: every answer is cited, judged, and honest about what it lacks."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mempal.core.clock import parse_instant
from mempal.core.model import Hit, Scope, Verdict
from mempal.ingest import tree as module
from mempal.palace import Palace
from tests.cases.support import (
    Silence,
    check_spans,
    drawers_of,
    holders,
    mine,
    open_at,
    sources_of,
)
from tests.repositories import commit_all, make_repository, run_git, write_files
from tests.servers import find_free_port

ROOT = Path(__file__).parents[2]


@pytest.fixture
def palace(isolation: Any) -> Palace:
    return open_at(isolation.palace)


def best(palace: Palace, query: str) -> Hit:
    return palace.search(query, Scope()).hits[0]


# What is found.


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Palace:
    """This project's own package, mined once for many questions."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(
        ROOT / "mempal",
        folder / "mempal" / "mempal",
        ignore=shutil.ignore_patterns("__pycache__", "data"),
    )
    palace = open_at(folder / "home")
    mine(palace, folder / "mempal", wing="mempal")
    palace.reindex(reembed=False, progress=Silence())
    return palace


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("make_drawer_id", "mempal/core/ids.py"),
        ("makeDrawerId", "mempal/core/ids.py"),
        ("read_regular", "mempal/core/files.py"),
        ("class RoomRules", "mempal/ingest/rooms.py"),
        ("BUSY_TIMEOUT_MS", "mempal/adapters/sqlite/connection.py"),
        ("mempal/core/clock.py", "mempal/core/clock.py"),
        ("read an ISO 8601 date as an instant", "mempal/core/clock.py"),
        ("shell exit code 2 blocks the prompt of a hook", "mempal/entry.py"),
        ("one writer at a time across processes with a lock file", "mempal/adapters/lock.py"),
    ],
)
def test_code_is_found_by_name_and_by_purpose(own, query, path):
    assert path in sources_of(own, query)[:3]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_every_hit_stands_where_it_is_cited(own, mode):
    cited = 0
    for query in ("drawer", "how is a file decoded", "def close", "lock", "raise ConfigError"):
        result = own.search(query, Scope(), limit=50, mode=mode)
        assert [hit.score for hit in result.hits] == sorted(
            (hit.score for hit in result.hits), reverse=True
        )
        for hit in result.hits:
            data = (Path(hit.drawer.root) / hit.citation.path).read_bytes()
            check_spans([hit.drawer], data)
            assert hit.citation.verdict is Verdict.SAME
            assert 0 <= hit.score <= 1
            assert hit.matched_by
            cited += 1
    assert cited > (0 if mode == "vector" else 20)


def test_neighbors_continue_the_text(own):
    for hit in own.search("decode", Scope(), limit=10, context=2).hits:
        around = (*hit.before, hit.drawer, *hit.after)
        text = "".join(drawer.content for drawer in around)
        whole = drawers_of(own, "mempal", Path(hit.drawer.root))[hit.drawer.source_file]
        assert text in "".join(drawer.content for drawer in whole)
        assert len(around) == min(len(whole), len(around))
        assert len(hit.before) <= 2
        assert len(hit.after) <= 2


def test_what_nobody_wrote_is_not_found(own):
    for query in ("risotto with saffron", "zqnothing", "Wimbledon tennis final"):
        assert own.search(query, Scope()).hits == ()


# Whether it still holds.

NOTE = "# Notes\n\nzqvalve opens at noon.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    filler = "".join(f"## Part {n}\n\n{'many words ' * 60}\n\n" for n in range(3))
    return make_repository(tmp_path / "repo", {"docs/notes.md": f"{filler}{NOTE}", "b.md": "b\n"})


def edit_elsewhere(root: Path) -> None:
    path = root / "docs" / "notes.md"
    path.write_text(path.read_text() + "\nmore at the end\n")


def push_down(root: Path) -> None:
    path = root / "docs" / "notes.md"
    path.write_text("one\ntwo\nthree\n\n" + path.read_text())


def rewrite(root: Path) -> None:
    path = root / "docs" / "notes.md"
    path.write_text(path.read_text().replace("opens at noon", "opens at dawn"))


def move_in_git(root: Path) -> None:
    run_git(root, "mv", "docs/notes.md", "moved.md")
    commit_all(root)


@pytest.mark.parametrize(
    ("change", "verdict", "path", "shift"),
    [
        (lambda _: None, Verdict.SAME, "docs/notes.md", 0),
        (lambda root: (root / "docs" / "notes.md").touch(), Verdict.SAME, "docs/notes.md", 0),
        (edit_elsewhere, Verdict.SAME, "docs/notes.md", 0),
        (push_down, Verdict.MOVED, "docs/notes.md", 4),
        (rewrite, Verdict.CHANGED, "docs/notes.md", 0),
        (move_in_git, Verdict.MOVED, "moved.md", 0),
        (lambda root: (root / "docs" / "notes.md").unlink(), Verdict.GONE, "docs/notes.md", 0),
        (shutil.rmtree, Verdict.GONE, "docs/notes.md", 0),
    ],
)
def test_a_citation_is_judged_when_it_is_read(
    palace, mempal, repository, change, verdict, path, shift
):
    mine(palace, repository)
    line = best(palace, "zqvalve").drawer.span.line_start
    change(repository)
    hit = best(palace, "zqvalve")
    assert (hit.citation.verdict, hit.citation.path) == (verdict, path)
    assert hit.citation.line_start == line + shift
    assert "zqvalve opens at noon" in hit.drawer.content
    found = mempal("search", "zqvalve", "--json").json["results"][0]
    assert found["verdict"] == str(verdict)
    if verdict is Verdict.MOVED:
        assert found["moved_to"].startswith(f"{path}:{line + shift}")
    assert (found["path"] is None) is (verdict is Verdict.GONE)


def test_a_renamed_file_that_was_mined_again_is_cited_at_its_new_place(palace, tmp_path):
    root = write_files(tmp_path / "plain", {"old.md": NOTE, "other.md": "other\n"})
    mine(palace, root)
    (root / "old.md").rename(root / "new.md")
    assert best(palace, "zqvalve").citation.verdict is Verdict.GONE
    mine(palace, root)
    hits = [
        hit for hit in palace.search("zqvalve", Scope()).hits if "zqvalve" in hit.drawer.content
    ]
    assert {hit.citation.path for hit in hits} == {"new.md"}
    assert hits[0].citation.verdict in {Verdict.SAME, Verdict.MOVED}


# Where and when.


def test_wing_room_and_time_narrow_an_answer(mempal, palace, tmp_path, monkeypatch):
    clock = iter(range(1_750_000_000_000, 1_900_000_000_000, 86_400_000))
    monkeypatch.setattr(module, "now", lambda: next(clock))
    one = write_files(tmp_path / "one", {"docs/a.md": "zqshared text of one\n"})
    two = write_files(tmp_path / "two", {"notes/a.md": "zqshared text of two\n"})
    mine(palace, one)  # 2025-06-15
    mine(palace, two)  # 2025-06-16
    write_files(one, {"docs/a.md": "zqshared text rewritten\n"})
    mine(palace, one)  # 2025-06-17

    def ask(as_of: str | None = None, **where: Any) -> list[str]:
        instant = None if as_of is None else parse_instant(as_of, end_of_day=True)
        drawers = holders(palace, "zqshared", Scope(as_of=instant, **where))
        return sorted(drawer.content.split()[-1] for drawer in drawers)

    assert ask() == ["rewritten", "two"]
    assert ask(wing="one") == ["rewritten"]
    assert ask(room="notes") == ["two"]
    assert ask(wing="one", room="notes") == []
    assert ask(history=True) == ["one", "rewritten", "two"]
    assert ask("2025-06-14") == []
    assert ask("2025-06-15") == ["one"]
    assert ask("2025-06-15T12:00Z") == []
    assert ask("2025-06-16") == ["one", "two"]
    assert ask("2025-06-17") == ["rewritten", "two"]
    options = ("--as-of", "2025-06-16", "--wing", "one", "--room", "docs")
    (row,) = mempal("search", "zqshared", "--json", *options).json["results"]
    assert (row["content"], row["room"]) == ("zqshared text of one\n", "docs")
    assert row["superseded_at"].startswith("2025-06-")
    unknown = mempal("search", "zqshared", "--json", "--wing", "three").json
    assert (unknown["results"], "three" in unknown["hint"]) == ([], True)


# What it lacks.


def test_another_embedder_leaves_words_until_everything_is_embedded_again(mempal, palace, tmp_path):
    mine(palace, write_files(tmp_path / "one", {"a.md": NOTE}), wing="w")
    assert mempal("config", "set", "embed.backend", "hash").code == 0
    answer = mempal("search", "zqvalve", "--json")
    assert answer.code == 0
    (reason,) = answer.json["degraded"]
    assert "words only" in reason
    assert "mempal reindex --reembed" in reason
    assert answer.json["results"][0]["matched_by"] == ["keyword"]
    assert reason in mempal("search", "zqvalve").stderr
    assert mempal("search", "zqvalve", "--json", "--mode", "vector").json["results"] == []
    assert mempal("mine", tmp_path / "one", "--wing", "w").code == 1  # before anything is written
    refused = mempal("add", "another note", "--wing", "w", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "embedder_mismatch")
    assert mempal("reindex", "--reembed", "--json").json["reembedded"] == 1
    answer = mempal("search", "zqvalve", "--json").json
    assert answer["degraded"] == []
    assert answer["results"][0]["matched_by"] == ["keyword", "vector"]


@pytest.mark.parametrize(
    "settings",
    [
        {"embed__backend": "ollama", "embed__endpoint": "http://127.0.0.1:{port}"},
        {"embed__backend": "openai", "embed__endpoint": "nonsense"},
        {"embed__backend": "openai", "embed__endpoint": "http://[::1"},
    ],
)
def test_an_embedder_that_does_not_answer_leaves_words(palace, tmp_path, settings):
    mine(palace, write_files(tmp_path / "one", {"a.md": NOTE}), wing="w")
    port = str(find_free_port())
    chosen = {name: value.replace("{port}", port) for name, value in settings.items()}
    away = open_at(palace.home, embed__model="m", embed__dim="8", **chosen)
    result = away.search("zqvalve", Scope())
    assert [hit.drawer.source_file for hit in result.hits] == ["a.md"]
    assert len(result.degraded) == 1
    assert away.search("zqvalve", Scope(), mode="keyword").degraded == ()
    assert away.status().store is not None


def spoil(path: Path) -> None:
    path.write_bytes(path.read_bytes()[::-1])


@pytest.mark.parametrize("harm", [Path.unlink, spoil, lambda path: path.write_bytes(b"")])
def test_an_index_that_is_lost_or_garbled_loses_no_answer(palace, tmp_path, harm: Callable):
    mine(palace, write_files(tmp_path / "one", {"a.md": NOTE, "b.md": "a pump runs\n"}))
    palace.reindex(reembed=False, progress=Silence())
    before = palace.search("when does the valve open", Scope(), mode="vector").hits
    harm(palace.home / "index" / "exact.bin")
    after = palace.search("when does the valve open", Scope(), mode="vector")
    assert (after.hits, after.degraded) == (before, ())
    mine(palace, write_files(tmp_path / "two", {"c.md": "zqnew\n"}))
    assert holders(palace, "zqnew")
    assert palace.reindex(reembed=False, progress=Silence()).backend == "exact"
    assert palace.diagnose().healthy


# The other index.


@pytest.mark.chroma
def test_chroma_from_the_first_run_to_a_rebuilt_index(isolation, tmp_path):
    palace = open_at(isolation.palace, index__backend="chroma", search__floor="0")
    files = {
        "letters.md": "The account book agrees with the bank statement.\n",
        "garden.md": "Roses need water in the morning.\n",
        **{f"n{n}.md": f"zqnote number {n} about a harbour\n" for n in range(40)},
    }
    root = write_files(tmp_path / "papers", files)
    assert mine(palace, root, wing="w").warnings == ()
    query = "watering flowers early in the day"
    result = palace.search(query, Scope(), mode="vector")
    assert result.hits[0].drawer.source_file == "garden.md"
    assert result.degraded == ()
    status = palace.status().index
    assert status is not None
    assert (status.backend, status.count, status.pending) == ("chroma", 42, 0)
    assert palace.diagnose().healthy
    write_files(root, {"letters.md": "A violin was tuned.\n", "new.md": "Bees swarm in May.\n"})
    mine(palace, root, wing="w")
    for question, path in (("insects flying out in spring", "new.md"), ("violins", "letters.md")):
        result = palace.search(question, Scope(), mode="vector")
        assert path in [hit.drawer.source_file for hit in result.hits][:2]
        assert result.degraded == ()
    assert not holders(palace, "statement")
    shutil.rmtree(isolation.palace / "index")
    lost = palace.search(query, Scope())
    assert lost.hits[0].drawer.source_file == "garden.md"
    assert "mempal reindex" in " ".join(lost.degraded)
    report = palace.reindex(reembed=False, progress=Silence())
    assert (report.backend, report.reembedded) == ("chroma", 0)
    assert palace.search(query, Scope(), mode="vector").degraded == ()
    exact = open_at(isolation.palace, index__backend="exact")
    assert best(exact, query).drawer.source_file == "garden.md"
    garbled = next((isolation.palace / "index" / "chroma").rglob("chroma.sqlite3"))
    garbled.write_bytes(b"no database")
    again = open_at(isolation.palace, index__backend="chroma")
    assert best(again, "zqnote number 7").drawer.source_file == "n7.md"
    assert not again.diagnose().healthy
    again.reindex(reembed=False, progress=Silence())
    assert again.diagnose().healthy


@pytest.mark.chroma
def test_a_chroma_server_that_is_away_leaves_words(palace, tmp_path):
    mine(palace, write_files(tmp_path / "one", {"a.md": NOTE}), wing="w")
    url = f"http://127.0.0.1:{find_free_port()}"
    away = open_at(palace.home, index__backend="chroma", index__chroma_url=url)
    result = away.search("zqvalve", Scope())
    assert [hit.drawer.source_file for hit in result.hits] == ["a.md"]
    assert len(result.degraded) == 1
    report = mine(away, write_files(tmp_path / "two", {"b.md": "zqlater\n"}), wing="w")
    assert any("index" in warning for warning in report.warnings)
    assert holders(away, "zqlater")
    assert away.status().store is not None
    assert not away.diagnose().healthy
