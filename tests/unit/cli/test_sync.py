"""Sync: what it asks of the palace, and what it answers."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mempal.core.errors import NotFoundError
from mempal.core.reports import GoneFile, SyncReport

Run = Callable[..., Any]
DRY = SyncReport(
    "shop",
    dry_run=True,
    gone=(
        GoneFile("old.md", "/nowhere/shop", 2),
        GoneFile("here.md", "/nowhere/shop", 1, moved_to="there.md"),
    ),
    ignored=(GoneFile("build/x.js", "/nowhere/shop", 4, reason=".gitignore:1: build/"),),
)
DONE = replace(DRY, dry_run=False, pruned=6, protected=(("drawer_a", "card_a"),), run=8)
HINT = "hint: --apply takes them out of search; --all still finds them\n"


@pytest.fixture
def palace(palace: Any) -> Any:
    palace.answers["sync"] = DRY
    return palace


@pytest.mark.parametrize("arguments", [(), ("--wing", ""), ("--apply",)])
def test_a_wing_must_be_named(run: Run, palace: Any, arguments: tuple[str, ...]):
    printed = run("sync", *arguments)
    assert (printed.code, printed.out) == (2, "")
    assert "--wing" in printed.err
    assert "`mempal wings`" in printed.err
    assert run("sync", *arguments, "--json").json["error"]["code"] == "usage"
    assert palace.calls == []


def test_not_even_the_configured_wing_stands_in_for_it(run: Run, palace: Any, isolation: Any):
    isolation.palace.mkdir()
    (isolation.palace / "config.toml").write_text('wing = "shop"\n')
    assert run("sync", "--apply").code == 2
    assert palace.calls == []


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ((), {"apply": False, "skip_missing": False}),
        (("--dry-run",), {"apply": False, "skip_missing": False}),
        (("--apply",), {"apply": True, "skip_missing": False}),
        (("--apply", "--skip-missing"), {"apply": True, "skip_missing": True}),
    ],
)
def test_every_option_reaches_the_palace(
    run: Run, palace: Any, options: tuple[str, ...], how: dict[str, bool]
):
    assert run("sync", "--wing", "Øl shop", *options).code == 0
    assert palace.called("sync") == (("Øl shop",), how)


def test_both_at_once_are_refused(run: Run, palace: Any):
    assert run("sync", "--wing", "shop", "--apply", "--dry-run").code == 2
    assert palace.calls == []


def test_a_dry_run_says_what_would_be_and_how_to_do_it(run: Run, palace: Any):
    printed = run("sync", "--wing", "shop")
    assert printed.out == (
        "gone     old.md  (2 drawers)\n"
        "gone     here.md -> there.md  (1 drawers)\n"
        "ignored  build/x.js  (4 drawers; .gitignore:1: build/)\n"
        "wing shop: 7 drawers would be superseded\n"
    )
    assert printed.err == HINT
    printed = run("sync", "--wing", "shop", "--json")
    assert printed.err == ""
    assert printed.json == {
        "wing": "shop",
        "dry_run": True,
        "gone": [
            {"source_file": "old.md", "root": "/nowhere/shop", "drawers": 2},
            {
                "source_file": "here.md",
                "root": "/nowhere/shop",
                "drawers": 1,
                "moved_to": "there.md",
            },
        ],
        "ignored": [
            {
                "source_file": "build/x.js",
                "root": "/nowhere/shop",
                "drawers": 4,
                "reason": ".gitignore:1: build/",
            }
        ],
        "pruned": 0,
        "protected": [],
        "run": None,
        "warnings": [],
    }


def test_what_was_done_is_told_with_what_a_card_keeps(run: Run, palace: Any):
    palace.answers["sync"] = DONE
    printed = run("sync", "--wing", "shop", "--apply")
    assert printed.code == 0
    assert "kept     drawer_a  (card card_a cites it)\n" in printed.out
    assert printed.out.endswith("wing shop: 6 drawers superseded\n")
    assert printed.err == ""
    document = run("sync", "--wing", "shop", "--apply", "--json").json
    assert (document["pruned"], document["run"], document["dry_run"]) == (6, 8, False)
    assert document["protected"] == [{"drawer_id": "drawer_a", "card_id": "card_a"}]


@pytest.mark.parametrize("file", ["gone", "ignored"])
def test_either_list_alone_has_a_next_step(run: Run, palace: Any, file: str):
    palace.answers["sync"] = replace(DRY, **{file: ()})
    assert run("sync", "--wing", "shop").err == HINT


def test_where_all_is_in_line_there_is_no_next_step(run: Run, palace: Any):
    palace.answers["sync"] = SyncReport("shop", dry_run=True)
    printed = run("sync", "--wing", "shop")
    assert (printed.code, printed.out, printed.err) == (
        *(0, "wing shop: 0 drawers would be superseded\n", ""),
    )


def test_odd_names_are_harmless(run: Run, palace: Any):
    odd = os.fsdecode(b"caf\xe9\x1b[2J\nx.md")
    palace.answers["sync"] = SyncReport(
        "shop",
        dry_run=True,
        gone=(GoneFile(odd, "/nowhere", 1, moved_to=odd),),
        ignored=(GoneFile(odd, "/nowhere", 1, reason=f".gitignore:1: {odd}"),),
    )
    printed = run("sync", "--wing", "shop")
    assert len(printed.out.splitlines()) == 3
    assert "\x1b" not in printed.out
    assert printed.out.count("caf\ufffd\\x1b[2J\\nx.md") == 4
    listed = run("sync", "--wing", "shop", "--json").json["gone"][0]
    assert listed["source_file"] == listed["moved_to"] == "caf\ufffd\x1b[2J\nx.md"


def test_a_tree_that_is_not_there_is_an_error(run: Run, palace: Any):
    palace.answers["sync"] = NotFoundError("/nowhere is not there", hint="mount its disk")
    printed = run("sync", "--wing", "shop", "--apply")
    assert (printed.code, printed.out) == (3, "")
    assert printed.err == "error: /nowhere is not there\nhint: mount its disk\n"
    assert run("sync", "--wing", "shop", "--json").json["error"]["code"] == "not_found"


def test_help_has_an_example(run: Run, palace: Any):
    printed = run("sync", "-h")
    assert printed.code == 0
    assert "Example: mempal sync --wing shop --apply" in printed.out
