"""Delete, restore, purge and forget: what each asks of the palace, and what it answers."""

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from mempal.core.clock import parse_instant
from mempal.core.errors import NotFoundError, UsageError
from mempal.core.reports import Forgetting, Removed
from mempal.palace.removal import Selection

Run = Callable[..., Any]
ID = "drawer_0123456789abcdef0123"
APPLY = "hint: --apply removes them for good; nothing can undo that\n"
LISTED = {
    "drawer_id": ID,
    "wing": "shop",
    "room": "billing",
    "source_file": "billing/invoice.py",
    "preview": "def round_invoice(amount): return round(amount, 2)",
}
ROW = f"{ID}  shop/billing  billing/invoice.py  {LISTED['preview']}\n"


@pytest.fixture
def make_drawer(palace: Any) -> Any:
    return sys.modules[type(palace).__module__].make_drawer


@pytest.fixture
def palace(palace: Any) -> Any:
    drawer = sys.modules[type(palace).__module__].make_drawer()
    palace.removal = palace
    palace.answers |= {
        "delete": Removed((drawer,), run=4),
        "restore": Removed((drawer,), run=5),
        "purge": Removed((drawer,), run=6),
        "forget": Forgetting(dry_run=True, drawers=(drawer,)),
    }
    return palace


# --- delete, restore ------------------------------------------------------------------------------


@pytest.mark.parametrize(("verb", "number"), [("delete", 4), ("restore", 5)])
def test_drawers_are_named_one_by_one(run: Run, palace: Any, verb: str, number: int):
    done = f"{verb}d"
    printed = run(verb, "drawer_01", "ab")
    assert palace.called(verb) == ((["drawer_01", "ab"],), {})
    assert (printed.code, printed.err) == (0, "")
    assert printed.out == f"{ROW}1 drawer {done} (run {number})\n"
    assert run(verb, "x", "--json").json == {
        done: 1,
        "dry_run": False,
        "drawers": [LISTED],
        "protected": [],
        "run": number,
        "warnings": [],
    }


@pytest.mark.parametrize("verb", ["delete", "restore"])
def test_without_an_id_nothing_is_asked(run: Run, palace: Any, verb: str):
    assert run(verb).code == 2
    assert palace.calls == []


@pytest.mark.parametrize(
    ("verb", "hint"), [("delete", "already"), ("restore", "only what was deleted")]
)
def test_nothing_to_do_is_no_error_and_is_told(run: Run, palace: Any, verb: str, hint: str):
    palace.answers[verb] = Removed(())
    printed = run(verb, "x")
    assert (printed.code, printed.out) == (0, f"0 drawers {verb}d\n")
    assert printed.err.startswith("hint: ")
    assert hint in printed.err
    printed = run(verb, "x", "--json")
    assert (printed.code, printed.err) == (0, "")
    assert (printed.json[f"{verb}d"], printed.json["run"]) == (0, None)


def test_what_a_card_cites_is_kept_and_named(run: Run, palace: Any, make_drawer: Any):
    cards = ((ID, "card_a"), (ID, "card_b"))
    palace.answers["delete"] = Removed((make_drawer(id="drawer_other"),), protected=cards, run=9)
    printed = run("delete", ID, "drawer_other")
    assert printed.code == 1
    assert "1 drawer deleted (run 9)\n" in printed.out
    assert printed.err == (
        f"warning: {ID} is kept: card card_a cites it\n"
        f"warning: {ID} is kept: card card_b cites it\n"
    )
    printed = run("delete", ID, "drawer_other", "--json")
    assert printed.code == 1
    assert printed.json["deleted"] == 1
    assert printed.json["protected"] == [
        {"drawer_id": ID, "card_id": "card_a"},
        {"drawer_id": ID, "card_id": "card_b"},
    ]


@pytest.mark.parametrize("verb", ["delete", "restore"])
@pytest.mark.parametrize(("error", "code"), [(NotFoundError, 3), (UsageError, 2)])
def test_an_id_of_none_or_several_is_an_error(
    run: Run, palace: Any, verb: str, error: Any, code: int
):
    palace.answers[verb] = error("no drawer 'x'", hint="look again")
    printed = run(verb, "x")
    assert (printed.code, printed.out) == (code, "")
    assert printed.err == "error: no drawer 'x'\nhint: look again\n"
    printed = run(verb, "x", "--json")
    assert printed.code == code
    assert printed.json["error"]["message"] == "no drawer 'x'"


def test_a_long_list_is_cut_with_a_count(run: Run, palace: Any, make_drawer: Any):
    drawers = [make_drawer(id=f"drawer_{number:02}") for number in range(23)]
    palace.answers["delete"] = Removed(tuple(drawers), run=1)
    printed = run("delete", "x")
    assert "drawer_19 " in printed.out
    assert "drawer_20" not in printed.out
    assert "and 3 more (--json lists all)\n23 drawers deleted (run 1)\n" in printed.out
    assert len(run("delete", "x", "--json").json["drawers"]) == 23
    palace.answers["delete"] = Removed(tuple(drawers[:20]), run=1)
    assert "more" not in run("delete", "x").out


@pytest.mark.parametrize(
    ("content", "preview"),
    [
        ("  two\n\n lines\t", "two lines"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("", ""),
    ],
)
def test_a_preview_is_one_short_line(
    run: Run, palace: Any, make_drawer: Any, content: str, preview: str
):
    palace.answers["delete"] = Removed((make_drawer(content=content),), run=1)
    assert run("delete", "x", "--json").json["drawers"][0]["preview"] == preview
    first, *rest = run("delete", "x").out.splitlines()
    assert first == f"{ID}  shop/billing  billing/invoice.py  {preview}".rstrip()
    assert len(rest) == 1


@pytest.mark.parametrize("verb", ["delete", "forget"])
def test_odd_names_and_text_cannot_play_tricks(run: Run, palace: Any, make_drawer: Any, verb: str):
    odd = make_drawer(
        source_file=os.fsdecode(b"caf\xe9\x1b[2J\nx.md"), content="\x1b]0;owned\x07 \u202egnp"
    )
    palace.answers |= {"delete": Removed((odd,), run=1), "forget": Forgetting(True, (odd,))}
    arguments = (verb, "x") if verb == "delete" else (verb, "--id", "x")
    printed = run(*arguments)
    assert len(printed.out.splitlines()) == 2
    for character in ("\x1b", "\x07", "\u202e"):
        assert character not in printed.out
    assert "caf\ufffd" in printed.out
    assert r"\x1b[2J\nx.md" in printed.out
    listed = run(*arguments, "--json").json["drawers"][0]
    assert listed["source_file"] == "caf\ufffd\x1b[2J\nx.md"


# --- purge ----------------------------------------------------------------------------------------


def test_purge_takes_everything_unless_told(run: Run, palace: Any):
    printed = run("purge")
    assert palace.called("purge") == ((), {"before": None, "wing": None, "dry_run": False})
    assert (printed.code, printed.out, printed.err) == (
        *(0, f"{ROW}1 drawer purged (run 6)\n", ""),
    )


def test_every_option_of_purge_reaches_the_palace(run: Run, palace: Any, make_drawer: Any):
    palace.answers["purge"] = Removed((make_drawer(), make_drawer(id="drawer_b")), dry_run=True)
    arguments = ("purge", "--before", "2026-05-01", "--wing", "shop", "--dry-run")
    printed = run(*arguments)
    instant = parse_instant("2026-05-01T00:00:00Z")
    assert palace.called("purge")[1] == {"before": instant, "wing": "shop", "dry_run": True}
    assert printed.out.endswith("2 drawers would be purged\n")
    document = run(*arguments, "--json").json
    assert (document["purged"], document["dry_run"], document["run"]) == (0, True, None)
    assert len(document["drawers"]) == 2


def test_a_purge_that_cards_hold_back_is_told_and_no_failure(run: Run, palace: Any):
    palace.answers["purge"] = Removed((), protected=((ID, "card_a"),))
    printed = run("purge")
    assert (printed.code, printed.out) == (0, "0 drawers purged\n")
    assert printed.err == f"warning: {ID} is kept: card card_a cites it\n"


@pytest.mark.parametrize("verb", ["purge", "forget"])
@pytest.mark.parametrize("date", ["yesterday", "2026-13-01", "2026-05-01T25:00", ""])
def test_a_date_that_is_none_is_refused(run: Run, palace: Any, verb: str, date: str):
    printed = run(verb, "--before", date)
    assert printed.code == 2
    assert "not a date" in printed.err
    assert "2026-05-01" in printed.err
    assert palace.calls == []
    assert run(verb, "--before", date, "--json").json["error"]["code"] == "usage"


# --- forget ---------------------------------------------------------------------------------------


def test_every_option_of_forget_reaches_the_palace(run: Run, palace: Any):
    run(
        *("forget", "--id", "a", "--id", "b", "--source", "x.md", "--source", "my notes"),
        *("--topic", "the Übernahme", "--before", "2026-05-01T12:00:00+02:00"),
        *("--wing", "shop", "--apply"),
    )
    assert palace.called("forget") == (
        (
            Selection(
                ids=("a", "b"),
                sources=("x.md", "my notes"),
                topic="the Übernahme",
                before=parse_instant("2026-05-01T10:00:00Z"),
                wing="shop",
            ),
        ),
        {"apply": True},
    )


def test_without_options_the_palace_is_asked_for_nothing_and_refuses(run: Run, palace: Any):
    palace.answers["forget"] = UsageError("nothing to forget is named", hint="give --id")
    printed = run("forget")
    assert palace.called("forget") == ((Selection(),), {"apply": False})
    assert printed.code == 2
    assert printed.err == "error: nothing to forget is named\nhint: give --id\n"


def test_a_dry_run_names_everything_and_the_next_step(run: Run, palace: Any, make_drawer: Any):
    drawer = make_drawer()
    palace.answers["forget"] = Forgetting(
        dry_run=True,
        drawers=(drawer,),
        sources=(("/nowhere/shop", "billing/invoice.py"), ("", "note")),
        cited=((ID, "card_a"),),
    )
    printed = run("forget", "--source", "billing/invoice.py")
    assert printed.code == 0
    assert printed.out == (
        "source  billing/invoice.py  /nowhere/shop\n"
        "source  note\n"
        f"{ROW}"
        f"{ID} is cited by card card_a\n"
        "1 drawer would be forgotten\n"
    )
    assert printed.err == APPLY
    printed = run("forget", "--source", "x", "--json")
    assert printed.err == ""
    assert printed.json == {
        "dry_run": True,
        "forgotten": 0,
        "drawers": [LISTED],
        "sources": [
            {"root": "/nowhere/shop", "source_file": "billing/invoice.py"},
            {"root": "", "source_file": "note"},
        ],
        "cited": [{"drawer_id": ID, "card_id": "card_a"}],
        "warnings": [],
    }


def test_what_was_forgotten_is_told_with_what_stood_in_the_way(
    run: Run, palace: Any, make_drawer: Any
):
    palace.answers["forget"] = Forgetting(
        False, (make_drawer(),), warnings=("traces are still in the file",)
    )
    printed = run("forget", "--id", "x", "--apply")
    assert printed.out == f"{ROW}1 drawer forgotten\n"
    assert printed.err == "warning: traces are still in the file\n"
    document = run("forget", "--id", "x", "--apply", "--json").json
    assert (document["forgotten"], document["dry_run"]) == (1, False)
    assert document["warnings"] == ["traces are still in the file"]


def test_where_nothing_is_found_nothing_is_to_be_applied(run: Run, palace: Any):
    palace.answers["forget"] = Forgetting(dry_run=True)
    printed = run("forget", "--topic", "nobody said it")
    assert (printed.code, printed.out, printed.err) == (0, "0 drawers would be forgotten\n", "")


def test_many_drawers_to_forget_are_cut_with_a_count(run: Run, palace: Any, make_drawer: Any):
    drawers = tuple(make_drawer(id=f"drawer_{number:02}") for number in range(30))
    palace.answers["forget"] = Forgetting(True, drawers)
    printed = run("forget", "--before", "2026-01-01")
    assert "drawer_20" not in printed.out
    assert "and 10 more (--json lists all)\n30 drawers would be forgotten\n" in printed.out
    assert len(run("forget", "--before", "2026-01-01", "--json").json["drawers"]) == 30


@pytest.mark.parametrize("verb", ["delete", "restore", "purge", "forget"])
def test_help_has_an_example(run: Run, palace: Any, verb: str):
    printed = run(verb, "-h")
    assert printed.code == 0
    assert f"Example: mempal {verb} " in printed.out
    assert palace.calls == []
