"""Each command: what it asks of the palace, and what it answers in JSON and in text."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mempal.core.clock import parse_instant
from mempal.core.model import (
    Addition,
    Citation,
    RoomCount,
    Scope,
    Skip,
    StoreStatus,
    Verdict,
)
from mempal.core.reports import (
    AuditReport,
    AuditRoot,
    Diagnosis,
    Finding,
    HistoryReport,
    IndexStatus,
    MineMode,
    MineOptions,
    ReindexReport,
    RoomList,
    Shown,
    Status,
    WakeUp,
)

Run = Callable[..., Any]


@pytest.fixture
def make(request: pytest.FixtureRequest) -> Any:
    """The makers of reports that stand beside the fake palace."""
    module = sys.modules[type(request.getfixturevalue("palace")).__module__]
    return SimpleNamespace(**vars(module))


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    def feed(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))

    return feed


class TestMine:
    def test_defaults(self, run: Run, palace: Any):
        assert run("mine").code == 0
        (paths, options, _), _ = palace.called("mine")
        assert paths == [Path()]
        assert options == MineOptions()

    def test_every_option_reaches_the_palace(self, run: Run, palace: Any):
        run(
            *("mine", "a", "b", "--wing", "w", "--room", "r", "--mode", "convos"),
            *("--ignore-file", "x", "--ignore-file", "y", "--no-gitignore", "--no-mempalignore"),
            *("--limit-file-size", "2MB", "--dry-run", "--git-log", "--since", "v1"),
        )
        (paths, options, _), _ = palace.called("mine")
        assert paths == [Path("a"), Path("b")]
        assert options == MineOptions(
            wing="w",
            room="r",
            mode=MineMode.CONVOS,
            ignore_files=("x", "y"),
            use_gitignore=False,
            use_mempalignore=False,
            limit_file_size=2 * 2**20,
            dry_run=True,
            git_log=True,
            since="v1",
        )

    def test_an_empty_path_is_not_the_current_folder(self, run: Run, palace: Any):
        printed = run("mine", "")
        assert printed.code == 2
        assert "empty path" in printed.err
        assert not palace.calls

    def test_since_is_about_commits(self, run: Run, palace: Any):
        printed = run("mine", "--since", "v1")
        assert printed.code == 2
        assert "--git-log" in printed.err
        assert not palace.calls

    def test_what_a_history_came_to_is_told(self, run: Run, palace: Any, make: Any):
        history = HistoryReport("/nowhere/shop", 12, 9, {"merge": 2, "bot": 1})
        palace.answers["mine"] = make.make_mining(
            history=(history,), wings=("till",), gone=2, run=7
        )
        printed = run("mine", "--git-log")
        assert "history: 12 commits read, 9 stored; folded: 1 bot, 2 merge" in printed.out
        assert "conversations also went to: till" in printed.out
        assert "2 files are gone" in printed.err
        assert "`mempal sync --wing shop`" in printed.err
        document = run("mine", "--git-log", "--json").json
        assert document["history"] == [
            {"root": "/nowhere/shop", "read": 12, "stored": 9, "folded": {"merge": 2, "bot": 1}}
        ]
        assert (document["wings"], document["gone"], document["run"]) == (["till"], 2, 7)

    def test_undecodable_and_odd_names_reach_the_palace_as_they_are(self, run: Run, palace: Any):
        names = [os.fsdecode(b"caf\xe9"), "-dashdir", "we\nird", "my project [v2] (copy)"]
        assert run("mine", "--", *names).code == 0
        assert palace.called("mine")[0][0] == [Path(name) for name in names]

    def test_the_configured_size_is_the_default(self, run: Run, palace: Any, isolation: Any):
        isolation.palace.mkdir()
        (isolation.palace / "config.toml").write_text("[mine]\nlimit_file_size = 99\n")
        run("mine")
        assert palace.called("mine")[0][1].limit_file_size == 99

    def test_ingest_is_the_same(self, run: Run, palace: Any):
        assert run("ingest", "a", "--json").json["wing"] == "shop"

    def test_json(self, run: Run, palace: Any):
        assert run("mine", "--json").json == {
            "wing": "shop",
            "root": "/nowhere/shop",
            "roots": ["/nowhere/shop"],
            "dry_run": False,
            "files": {"seen": 9, "mined": 3, "unchanged": 4, "skipped": 2, "excluded": 1},
            "drawers": {"added": 5, "unchanged": 6, "superseded": 1, "restored": 0},
            "skipped": [
                {"path": "logo.png", "reason": "binary file"},
                {"path": "empty.md", "reason": "nothing in it"},
            ],
            "excluded": [{"path": "build/", "reason": ".gitignore:1: build"}],
            "redactions": {},
            "warnings": [],
            "mined_files": ["a.py", "b.py", "c.py"],
            "gone": 0,
            "wings": [],
            "history": [],
            "run": None,
            "seconds": 1.235,
        }

    def test_text_adds_up(self, run: Run, palace: Any):
        printed = run("mine")
        assert printed.out == (
            "wing shop: 9 files = 3 mined + 4 unchanged + 2 skipped"
            " (1 excluded by rules) in 1.2 s\n"
            "drawers: 5 added, 6 unchanged, 1 superseded, 0 restored\n"
            "skipped:\n"
            "  logo.png  binary file\n"
            "  empty.md  nothing in it\n"
        )
        assert printed.err == ""

    def test_many_skips_are_cut_off_with_a_count(self, run: Run, palace: Any, make: Any):
        skips = tuple(Skip(f"f{number:03}", "binary file") for number in range(33))
        palace.answers["mine"] = make.make_mining(skipped=skips, warnings=("no git",))
        printed = run("mine")
        assert "f019" in printed.out
        assert "f020" not in printed.out
        assert "... and 13 more (--json lists all)" in printed.out
        assert printed.err == "warning: no git\n"
        assert len(run("mine", "--json").json["skipped"]) == 33

    def test_a_dry_run_lists_what_would_be_stored(self, run: Run, palace: Any, make: Any):
        palace.answers["mine"] = make.make_mining(dry_run=True, redactions={"aws key": 2, "jwt": 1})
        out = run("mine", "--dry-run").out
        assert "dry run: nothing was stored\nwould mine  a.py\nwould mine  b.py\n" in out
        assert "redacted: 2 aws key, 1 jwt\n" in out


class TestSearch:
    KEYS = frozenset(
        (
            *("drawer_id", "wing", "room", "source_file", "root", "path"),
            *("line_start", "line_end", "byte_start", "byte_end", "content"),
            *("score", "matched_by", "source_class", "commit", "blob", "verdict", "moved_to"),
            *("added_at", "superseded_at", "speaker", "said_at", "session"),
        )
    )

    def test_defaults(self, run: Run, palace: Any):
        run("search", "round invoice")
        assert palace.called("search") == (
            ("round invoice", Scope()),
            {"limit": 10, "mode": "hybrid", "context": 0},
        )

    def test_every_option_reaches_the_palace(self, run: Run, palace: Any):
        run(
            *("search", "a", "b", "--wing", "w", "--room", "r", "-n", "3", "--mode", "vector"),
            *("--as-of", "2026-05-01", "--all", "--context", "2"),
        )
        instant = parse_instant("2026-05-01", end_of_day=True)
        assert palace.called("search") == (
            ("a b", Scope("w", "r", instant, True)),
            {"limit": 3, "mode": "vector", "context": 2},
        )

    @pytest.mark.parametrize("option", ["-n", "--limit", "--top-k"])
    def test_a_limit_above_the_maximum_is_clamped_with_a_word(
        self, option: str, run: Run, palace: Any
    ):
        printed = run("search", "x", option, "5000")
        assert palace.called("search")[1]["limit"] == 1000
        assert printed.err == "warning: at most 1000 results are given\n"

    def test_the_query_may_come_from_stdin(self, run: Run, palace: Any, pipe: Any):
        pipe("決定 採用\n".encode())
        run("search", "-")
        assert palace.called("search")[0][0] == "決定 採用"

    def test_a_query_typed_under_an_ascii_locale_is_understood(self, run: Run, palace: Any):
        run("search", "決定".encode().decode("ascii", "surrogateescape"))
        assert palace.called("search")[0][0] == "決定"

    def test_a_query_is_always_text(self, run: Run, palace: Any):
        run("search", "half \ud83d", os.fsdecode(b"caf\xe9"))
        assert palace.called("search")[0][0] == "half \ufffd caf\ufffd"

    def test_an_empty_query_is_answered(self, run: Run, palace: Any, make: Any):
        palace.answers["search"] = replace(make.make_result(), hits=(), hint="ask something")
        printed = run("search", "")
        assert (printed.code, printed.out) == (0, "")
        assert printed.err == "hint: ask something\n"

    def test_json(self, run: Run, palace: Any):
        document = run("search", "x", "--json").json
        assert set(document) == {
            *("query", "mode", "wing", "results", "tunnels", "degraded", "hint")
        }
        assert document["tunnels"] == []
        (row,) = document["results"]
        assert set(row) == self.KEYS
        assert row == {
            "drawer_id": "drawer_0123456789abcdef0123",
            "wing": "shop",
            "room": "billing",
            "source_file": "billing/invoice.py",
            "root": "/nowhere/shop",
            "path": "/nowhere/shop/billing/invoice.py",
            "line_start": 10,
            "line_end": 11,
            "byte_start": 200,
            "byte_end": 254,
            "content": "def round_invoice(amount):\n    return round(amount, 2)",
            "score": 0.8123,
            "matched_by": ["keyword", "vector"],
            "source_class": "file",
            "speaker": None,
            "said_at": None,
            "session": None,
            "commit": "a" * 40,
            "blob": "b" * 40,
            "verdict": "same",
            "moved_to": None,
            "added_at": "2026-01-01T00:00:00.000Z",
            "superseded_at": None,
        }

    def test_neighbors_are_there_only_when_asked_for(self, run: Run, palace: Any, make: Any):
        near = make.make_drawer(id="drawer_near", content="near", span=None)
        palace.answers["search"] = make.make_result(make.make_hit(before=(near,)))
        (row,) = run("search", "x", "--json", "--context", "1").json["results"]
        assert row["neighbors"] == {
            "before": [
                {
                    "drawer_id": "drawer_near",
                    "line_start": None,
                    "line_end": None,
                    "byte_start": None,
                    "byte_end": None,
                    "content": "near",
                }
            ],
            "after": [],
        }
        (row,) = run("search", "x", "--json").json["results"]
        assert set(row) == self.KEYS
        assert run("search", "x", "--context", "1").out.startswith(
            "/nowhere/shop/billing/invoice.py  context  drawer_near\nnear\n\n"
        )

    def test_text(self, run: Run, palace: Any):
        printed = run("search", "x")
        assert printed.out == (
            "/nowhere/shop/billing/invoice.py:10-11  0.81  shop/billing"
            "  drawer_0123456789abcdef0123  same\n"
            "def round_invoice(amount):\n    return round(amount, 2)\n\n"
        )
        assert printed.err == ""

    def test_a_path_below_the_current_folder_is_relative(
        self, run: Run, palace: Any, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.chdir(tmp_path)
        drawer = make.make_drawer(root=str(tmp_path / "shop"))
        palace.answers["search"] = make.make_result(make.make_hit(drawer))
        assert run("search", "x", "--json").json["results"][0]["path"] == "shop/billing/invoice.py"
        assert run("search", "x").out.startswith("shop/billing/invoice.py:10-11  ")
        monkeypatch.chdir("/")
        row = run("search", "x", "--json").json["results"][0]
        assert Path("/", row["path"]) == tmp_path / "shop/billing/invoice.py"

    def test_a_sibling_with_the_same_beginning_is_not_below(
        self, run: Run, palace: Any, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        (tmp_path / "a").mkdir()
        monkeypatch.chdir(tmp_path / "a")
        drawer = make.make_drawer(root=str(tmp_path / "ab"))
        palace.answers["search"] = make.make_result(make.make_hit(drawer))
        row = run("search", "x", "--json").json["results"][0]
        assert row["path"] == f"{tmp_path}/ab/billing/invoice.py"

    def test_a_text_that_moved(self, run: Run, palace: Any, make: Any):
        moved = Citation(Verdict.MOVED, "src/new.py", 21, 22)
        palace.answers["search"] = make.make_result(make.make_hit(citation=moved))
        (row,) = run("search", "x", "--json").json["results"]
        assert (row["verdict"], row["moved_to"]) == ("moved", "src/new.py:21-22")
        assert row["path"] == "/nowhere/shop/src/new.py"
        assert (row["source_file"], row["line_start"]) == ("billing/invoice.py", 10)
        out = run("search", "x").out
        assert out.startswith("/nowhere/shop/src/new.py:21-22  ")
        assert "moved from billing/invoice.py:10-11" in out

    def test_a_text_that_is_gone(self, run: Run, palace: Any, make: Any):
        gone = Citation(Verdict.GONE, "billing/invoice.py")
        drawer = make.make_drawer(superseded_at=1_767_225_600_000)
        palace.answers["search"] = make.make_result(make.make_hit(drawer, citation=gone))
        (row,) = run("search", "x", "--json").json["results"]
        assert (row["verdict"], row["path"]) == ("gone", None)
        out = run("search", "x").out
        assert out.startswith("billing/invoice.py:10-11  ")
        assert "gone  superseded 2026-01-01\n" in out

    def test_a_text_given_by_hand(self, run: Run, palace: Any, make: Any):
        drawer = make.make_drawer(root="", source_file="", span=None)
        hit = make.make_hit(drawer, citation=Citation(Verdict.UNKNOWN, ""))
        palace.answers["search"] = make.make_result(hit)
        (row,) = run("search", "x", "--json").json["results"]
        assert (row["root"], row["path"], row["line_start"]) == (None, None, None)
        assert run("search", "x").out.startswith("(given by hand)  0.81")

    def test_names_that_are_no_text_stay_valid_json(self, run: Run, palace: Any, make: Any):
        name = os.fsdecode(b"caf\xe9\x1b.md")
        palace.answers["search"] = make.make_result(
            make.make_hit(make.make_drawer(source_file=name, content="x \ud83d\ude80 \ud83d"))
        )
        (row,) = run("search", "x", "--json").json["results"]
        assert row["source_file"] == "caf\ufffd\x1b.md"
        assert row["content"] == "x 🚀 \ufffd"
        assert run("search", "x").out.startswith("/nowhere/shop/caf\ufffd\\x1b.md:10-11")

    def test_a_weaker_answer_says_so(self, run: Run, palace: Any, make: Any):
        palace.answers["search"] = make.make_result(degraded=("index is broken",))
        assert run("search", "x").err == "warning: index is broken\n"
        printed = run("search", "x", "--json")
        assert printed.json["degraded"] == ["index is broken"]
        assert printed.err == ""


class TestWing:
    """Which wing is asked when none is named."""

    @pytest.fixture
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        def enter(name: str) -> None:
            (tmp_path / name).mkdir()
            monkeypatch.chdir(tmp_path / name)

        return enter

    def configure(self, isolation: Any, wing: str) -> None:
        isolation.palace.mkdir()
        (isolation.palace / "config.toml").write_text(f'wing = "{wing}"\n')

    def test_a_named_wing_is_asked_without_looking_further(self, run: Run, palace: Any):
        assert run("search", "x", "--wing", "other", "--json").json["wing"] == "other"
        assert [name for name, *_ in palace.calls] == ["search"]

    def test_the_project_of_the_current_folder(self, run: Run, palace: Any, here: Any):
        here("shop")
        assert run("search", "x", "--json").json["wing"] == "shop"
        assert palace.called("search")[0][1].wing == "shop"

    def test_a_folder_that_was_never_mined_asks_every_wing(self, run: Run, palace: Any, here: Any):
        here("elsewhere")
        assert run("search", "x", "--json").json["wing"] is None

    def test_the_configured_wing_wins_over_the_project(
        self, run: Run, palace: Any, here: Any, isolation: Any
    ):
        here("shop")
        self.configure(isolation, "tools")
        assert run("search", "x", "--json").json["wing"] == "tools"

    def test_every_wing_on_demand(self, run: Run, palace: Any, here: Any, isolation: Any):
        here("shop")
        self.configure(isolation, "tools")
        assert run("search", "x", "--all-wings", "--json").json["wing"] is None
        run("wake-up", "--all-wings")
        assert palace.called("wake_up")[0] == (None,)

    def test_a_deleted_folder_asks_every_wing(
        self, run: Run, palace: Any, here: Any, tmp_path: Path
    ):
        here("shop")
        (tmp_path / "shop").rmdir()
        printed = run("search", "x", "--json")
        assert printed.json["wing"] is None
        assert printed.json["results"][0]["path"] == "/nowhere/shop/billing/invoice.py"

    def test_wake_up_follows_the_same_rule(self, run: Run, palace: Any, here: Any):
        here("shop")
        run("wake-up", "--max-tokens", "77")
        assert palace.called("wake_up") == (("shop",), {"max_tokens": 77})

    def test_nothing_found_names_the_way_to_every_wing(
        self, run: Run, palace: Any, here: Any, make: Any
    ):
        here("shop")
        found = make.make_result()
        palace.answers["search"] = replace(found, hits=(), hint="nothing known about this")
        hint = "only wing shop was asked, --all-wings asks every wing"
        assert run("search", "x").err == f"hint: nothing known about this; {hint}\n"
        assert run("search", "x", "--all-wings").err == "hint: nothing known about this\n"
        assert run("search", "x", "--wing", "w").err == "hint: nothing known about this\n"
        palace.answers["search"] = replace(found, hits=())
        assert run("search", "x", "--json").json["hint"] == hint

    def test_an_assumed_wing_is_told_at_a_terminal(
        self, run: Run, palace: Any, here: Any, monkeypatch: pytest.MonkeyPatch
    ):
        here("shop")
        monkeypatch.setattr("mempal.cli.streams.is_terminal", lambda stream: stream is sys.stderr)
        assert run("search", "x").err == (
            "note: only wing shop was asked (--all-wings asks every wing)\n"
        )


def test_wake_up(run: Run, palace: Any):
    assert run("wake-up", "--json").json == {
        "wing": "shop",
        "text": "# shop\nremember",
        "estimated_tokens": 4,
        "items": [{"drawer_id": "drawer_0123456789abcdef0123", "source_file": "a.md"}],
        "hint": "",
    }
    assert run("wake-up").out == "# shop\nremember\n"
    palace.answers["wake_up"] = WakeUp(None, "", 0, hint="no palace yet")
    printed = run("wake-up")
    assert (printed.code, printed.out, printed.err) == (0, "", "hint: no palace yet\n")


class TestAdd:
    def test_text_and_options_reach_the_palace(self, run: Run, palace: Any):
        printed = run(
            *("add", "a text", "--wing", "w", "--room", "r", "--source", "s"),
            *("--importance", "5", "--json"),
        )
        assert palace.called("add") == (
            ("a text",),
            {"wing": "w", "room": "r", "source": "s", "importance": 5},
        )
        assert printed.json == {
            "drawer_id": "drawer_new",
            "drawer_ids": ["drawer_new"],
            "created": True,
            "duplicate_of": None,
            "wing": "w",
            "room": "r",
            "redactions": {},
        }

    def test_wing_and_room_have_defaults(
        self, run: Run, palace: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.chdir(tmp_path)
        run("add", "x")
        assert palace.called("add")[1]["wing"] == tmp_path.name
        assert palace.called("add")[1]["room"] == "general"

    @pytest.mark.parametrize("arguments", [("add", "-"), ("add",)])
    @pytest.mark.parametrize("data", ["é 決\nb\n", "\ufeffé 決\nb\r\n", "é 決\nb"])
    def test_stdin_is_read_as_utf8(
        self, data: str, arguments: tuple[str, ...], run: Run, palace: Any, pipe: Any
    ):
        pipe(data.encode())
        run(*arguments)
        assert palace.called("add")[0] == ("é 決\nb",)

    def test_stdin_that_is_no_text_is_refused(self, run: Run, palace: Any, pipe: Any):
        pipe(b"caf\xe9")
        printed = run("add", "-")
        assert printed.code == 2
        assert "not UTF-8" in printed.err
        assert palace.calls == []

    def test_a_terminal_is_not_waited_for(
        self, run: Run, palace: Any, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
        assert run("add").code == 2
        monkeypatch.setattr(sys, "stdin", None)
        assert run("add", "-").code == 2

    def test_text_tells_what_was_stored(self, run: Run, palace: Any):
        assert run("add", "x").out == "added drawer_new\n"
        palace.answers["add"] = Addition(("drawer_old",), created=False, duplicate_of="drawer_old")
        assert run("add", "x").out == "already stored as drawer_old\n"


def test_show(run: Run, palace: Any, make: Any):
    document = run("show", "drawer_01", "--json").json
    assert palace.called("show")[0] == ("drawer_01",)
    assert set(document) == (TestSearch.KEYS - {"score", "matched_by"}) | {
        *("chunk_index", "speaker", "importance", "deleted_at", "content_sha256", "source_sha256")
    }
    drawer = make.make_drawer(deleted_at=1_767_225_600_000)
    palace.answers["show"] = Shown(drawer, make.make_hit().citation)
    assert run("show", "drawer_01").out == (
        "/nowhere/shop/billing/invoice.py:10-11  shop/billing  drawer_0123456789abcdef0123  same"
        "  file  commit aaaaaaaaaaaa  deleted 2026-01-01T00:00:00.000Z\n"
        "def round_invoice(amount):\n    return round(amount, 2)\n\n"
    )


def test_wings_are_rooms_added_up(run: Run, palace: Any):
    assert run("wings", "--json").json == {
        "wings": [
            {
                "wing": "shop",
                "rooms": 2,
                "drawers": 8,
                "sources": 4,
                "last_added_at": "2026-01-01T00:00:00.000Z",
            },
            {
                "wing": "tools",
                "rooms": 1,
                "drawers": 2,
                "sources": 1,
                "last_added_at": "2026-01-01T00:00:00.001Z",
            },
        ],
        "hint": "",
    }
    assert run("wings").out == (
        "wing   rooms  drawers  sources  last added\n"
        "shop       2        8        4  2026-01-01\n"
        "tools      1        2        1  2026-01-01\n"
    )


def test_rooms(run: Run, palace: Any):
    document = run("rooms", "--wing", "shop", "--json").json
    assert palace.called("rooms")[0] == ("shop",)
    assert document["rooms"][1] == {
        "wing": "shop",
        "room": "general",
        "drawers": 1,
        "sources": 1,
        "last_added_at": None,
    }
    assert "shop   general        1        1  -\n" in run("rooms").out


@pytest.mark.parametrize("command", ["wings", "rooms"])
def test_an_empty_palace_lists_nothing_and_says_so(command: str, run: Run, palace: Any):
    palace.answers["rooms"] = RoomList((), hint="nothing stored yet")
    printed = run(command)
    assert (printed.code, printed.out, printed.err) == (0, "", "hint: nothing stored yet\n")
    assert run(command, "--json").json == {command: [], "hint": "nothing stored yet"}


STORE = StoreStatus(
    schema_version=3,
    revision=9,
    embedder="static-1",
    drawers=8,
    superseded=2,
    deleted=1,
    sources=4,
    skipped_sources=1,
    bytes=1_234_567,
    text_bytes=999,
    rooms=(RoomCount("shop", "billing", 8, 4, None),),
)


class TestStatus:
    def test_of_nothing(self, run: Run, palace: Any):
        printed = run("status")
        assert printed.code == 0
        assert printed.err == "hint: no palace yet\n"
        document = run("status", "--json").json
        assert document["exists"] is False
        assert (document["drawers"], document["index"], document["rooms"]) == (0, None, [])

    def test_keys_are_the_same_with_and_without_a_palace(self, run: Run, palace: Any):
        empty = run("status", "--json").json
        palace.answers["status"] = Status(
            "/home/p", "0.1.0", STORE, IndexStatus("exact", None, 7), "hash"
        )
        full = run("status", "--json").json
        assert set(full) == set(empty)
        assert full == {
            "home": "/home/p",
            "version": "0.1.0",
            "exists": True,
            "drawers": 8,
            "superseded": 2,
            "deleted": 1,
            "sources": 4,
            "skipped_sources": 1,
            "bytes": 1_234_567,
            "text_bytes": 999,
            "schema_version": 3,
            "revision": 9,
            "embedder": "hash",
            "stored_embedder": "static-1",
            "index": {"backend": "exact", "count": None, "pending": 7},
            "rooms": [
                {
                    "wing": "shop",
                    "room": "billing",
                    "drawers": 8,
                    "sources": 4,
                    "last_added_at": None,
                }
            ],
            "warnings": [],
            "hint": "",
        }
        assert run("status").out == (
            "palace    /home/p\n"
            "mempal    0.1.0\n"
            "embedder  static-1 (hash is set)\n"
            "drawers   8 (2 superseded, 1 deleted)\n"
            "sources   4 (1 skipped)\n"
            "size      1.2 MB for 999 B of text\n"
            "schema    version 3, revision 9\n"
            "index     exact, not loaded, 7 pending\n"
            "\n"
            "wing  room     drawers  sources  last added\n"
            "shop  billing        8        4  -\n"
        )

    def test_a_doubtful_setting_is_told_once(self, run: Run, palace: Any, isolation: Any):
        isolation.palace.mkdir()
        (isolation.palace / "config.toml").write_text("colour = 1\n")
        unknown = f"{isolation.palace}/config.toml:1: unknown key colour"
        palace.answers["status"] = Status(
            "/home/p", "0.1.0", STORE, None, "static", (unknown, "another")
        )
        assert run("status").err == f"warning: {unknown}\nwarning: another\n"


def test_doctor(run: Run, palace: Any):
    assert run("doctor").code == 0
    palace.answers["diagnose"] = Diagnosis(
        "/home/p",
        (
            Finding("database", "ok", "sound"),
            Finding("index", "problem", "damaged", "mempal reindex"),
            Finding("words", "problem", "damaged", "mempal reindex"),
        ),
    )
    printed = run("doctor")
    assert printed.code == 1
    assert printed.out.endswith("repair with: mempal reindex\n")
    assert printed.out.count("repair with") == 1
    printed = run("doctor", "--json")
    assert printed.code == 1
    assert printed.json["healthy"] is False
    assert printed.json["findings"][1] == {
        "name": "index",
        "level": "problem",
        "detail": "damaged",
        "repair": "mempal reindex",
    }


def test_a_warning_alone_is_healthy(run: Run, palace: Any):
    palace.answers["diagnose"] = Diagnosis("/p", (Finding("git", "warning", "not found"),))
    assert run("doctor").code == 0


def test_audit(run: Run, palace: Any):
    printed = run("audit", "--wing", "shop")
    assert printed.code == 0
    assert palace.called("audit")[0][0] == "shop"
    assert printed.out == (
        "wing shop: /nowhere/shop\n"
        "  5 files = 3 stored + 2 skipped + 0 changed + 0 new; 1 excluded by rules, 0 gone\n"
        "complete\n"
    )
    root = AuditRoot("shop", "/nowhere/shop", 3, 2, 1, 0, 4, 0, ("a.py: text differs",))
    palace.answers["audit"] = AuditReport((root,))
    printed = run("audit")
    assert printed.code == 1
    assert "  problem: a.py: text differs\nnot complete" in printed.out
    printed = run("audit", "--json")
    assert printed.code == 1
    assert printed.json == {
        "complete": False,
        "roots": [
            {
                "seen": 9,
                "complete": False,
                "wing": "shop",
                "root": "/nowhere/shop",
                "stored": 3,
                "skipped": 2,
                "excluded": 1,
                "changed": 0,
                "new": 4,
                "gone": 0,
                "problems": ["a.py: text differs"],
            }
        ],
        "hint": "",
    }


def test_reindex(run: Run, palace: Any):
    assert run("reindex").out == "10 drawers in index exact in 0.5 s\n"
    palace.answers["reindex"] = ReindexReport("exact", "static-1", 10, 10, 1.23456)
    printed = run("reindex", "--reembed")
    assert printed.out == ("10 drawers in index exact, 10 embedded again with static-1 in 1.2 s\n")
    assert palace.calls[-1][2]["reembed"] is True
    assert run("reindex", "--json").json["seconds"] == 1.235
