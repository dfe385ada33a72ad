"""check-duplicate: what it asks of the palace, and what it answers."""

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mempal.core.errors import UsageError
from mempal.core.model import Scope
from mempal.core.reports import RoomList
from mempal.palace import Palace
from mempal.search.duplicates import Duplicate, Duplicates
from tests.cases.support import fingerprint, open_at

Run = Callable[..., Any]
ID = "drawer_0123456789abcdef0123"
PREVIEW = "def round_invoice(amount): return round(amount, 2)"
TEXT = "Deploys wait for QA on Fridays."


@pytest.fixture
def palace(palace: Any) -> Any:
    drawer = sys.modules[type(palace).__module__].make_drawer()
    matches = (Duplicate(drawer, 1.0, exact=True), Duplicate(drawer, 0.93456, exact=False, piece=2))
    palace.answers["find_duplicates"] = Duplicates("shop", 0.9, matches, pieces=2)
    return palace


def test_what_is_like_a_text_is_listed(run: Run, palace: Any):
    printed = run("check-duplicate", "some text", "--wing", "shop")
    arguments, options = palace.called("find_duplicates")
    assert (arguments, options) == (("some text",), {"wing": "shop", "threshold": 0.9})
    place = f"{ID}  shop/billing  billing/invoice.py  {PREVIEW}"
    assert printed.out == f"equal  {place}\n0.93   {place}\n"
    assert (printed.code, printed.err) == (0, "")


def test_the_document(run: Run, palace: Any):
    where = {
        "wing": "shop",
        "room": "billing",
        "source_file": "billing/invoice.py",
        "preview": PREVIEW,
    }
    printed = run("check-duplicate", "x", "--threshold", "0.5", "--wing", "shop", "--json")
    assert palace.called("find_duplicates")[1]["threshold"] == 0.5
    assert (printed.code, printed.err) == (0, "")
    assert printed.json == {
        "duplicate": True,
        "wing": "shop",
        "threshold": 0.9,
        "pieces": 2,
        "matches": [
            {"drawer_id": ID, "similarity": 1.0, "exact": True, "piece": 1, **where},
            {"drawer_id": ID, "similarity": 0.9346, "exact": False, "piece": 2, **where},
        ],
        "degraded": [],
        "hint": "",
    }


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_the_text_may_be_piped_in(
    run: Run, palace: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a\r\nnaïve\n".encode())))
    assert run("check-duplicate", *arguments).code == 0
    assert palace.called("find_duplicates")[0] == ("a\r\nnaïve",)


@pytest.mark.parametrize("threshold", ["-0.1", "1.1", "nan", "much"])
def test_a_threshold_is_a_share(run: Run, palace: Any, threshold: str):
    printed = run("check-duplicate", "x", "--threshold", threshold)
    assert printed.code == 2
    assert palace.calls == []


def test_nothing_like_it(run: Run, palace: Any):
    palace.answers["find_duplicates"] = Duplicates(None, 0.9, degraded=("slow",), hint="mine first")
    palace.answers["rooms"] = RoomList(())
    printed = run("check-duplicate", "x")
    assert palace.called("find_duplicates")[1]["wing"] is None
    assert printed.out == "nothing like it is stored\n"
    assert printed.err == "warning: slow\nhint: mine first\n"
    assert printed.code == 0
    document = run("check-duplicate", "x", "--json").json
    assert (document["duplicate"], document["matches"]) == (False, [])
    assert (document["degraded"], document["hint"]) == (["slow"], "mine first")


def test_the_project_s_own_wing_is_asked_and_named(
    run: Run, palace: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    palace.answers["find_duplicates"] = Duplicates("shop", 0.9)
    printed = run("check-duplicate", "x")
    assert palace.calls[-1][2]["wing"] == "shop"
    assert printed.err == "hint: only wing shop was asked, --all-wings asks every wing\n"
    run("check-duplicate", "x", "--all-wings")
    assert palace.calls[-1][2]["wing"] is None
    assert run("check-duplicate", "x", "--all-wings", "--wing", "shop").code == 2


def test_a_long_text_is_cut_short_on_one_line(run: Run, palace: Any):
    module = sys.modules[type(palace).__module__]
    drawer = module.make_drawer(content="line\n" * 60)
    palace.answers["find_duplicates"] = Duplicates("w", 0.9, (Duplicate(drawer, 1.0, exact=True),))
    (match,) = run("check-duplicate", "x", "--json").json["matches"]
    assert match["preview"] == ("line " * 20)[:99] + "…"
    assert len(match["preview"]) == 100


# --- a palace of its own --------------------------------------------------------------------------


@pytest.fixture
def real(tmp_path: Path, isolation: object) -> Iterator[Palace]:
    made = open_at(tmp_path / "real", embed__backend="hash", index__backend="exact")
    made.drawers.add(TEXT, wing="w", room="r")
    return made


def test_a_long_text_is_cut_as_it_was_when_it_was_added(real: Palace):
    paragraphs = [f"## Part {n}\n\n" + f"Words of part {n} go on. " * 25 for n in range(9)]
    long = "\n\n".join(paragraphs)
    added = real.drawers.add(long, wing="w", room="r")
    assert len(added.drawer_ids) > 5
    found = real.drawers.find_duplicates(long)
    assert found.pieces == len(added.drawer_ids)
    assert {match.drawer.id for match in found.matches} <= set(added.drawer_ids)
    assert [match.similarity for match in found.matches] == [1.0] * 5


def test_secrets_do_not_matter(real: Palace):
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    real.drawers.add(f"the token is {secret} today", wing="w", room="r")
    (match, *_) = real.drawers.find_duplicates(f"the token is {secret} today").matches
    assert match.exact
    assert secret not in match.drawer.content


def test_half_a_surrogate_pair_is_compared_as_it_is_stored(real: Palace):
    real.drawers.add("half \ud83d of it", wing="w", room="r")
    assert real.drawers.find_duplicates("half \ud83d of it").matches[0].exact


@pytest.mark.parametrize("threshold", [-0.01, 1.01, float("nan")])
def test_the_library_checks_the_threshold_too(real: Palace, threshold: float):
    with pytest.raises(UsageError, match="from 0 to 1"):
        real.drawers.find_duplicates(TEXT, threshold=threshold)


def test_a_blank_text_is_refused(real: Palace):
    with pytest.raises(UsageError, match="no text"):
        real.drawers.find_duplicates(" \n")


def test_where_there_is_nothing_it_says_so(tmp_path: Path, real: Palace):
    absent = open_at(tmp_path / "absent")
    found = absent.drawers.find_duplicates(TEXT)
    assert (found.duplicate, "no palace" in found.hint) == (False, True)
    assert not (tmp_path / "absent").exists()
    unknown = real.drawers.find_duplicates(TEXT, wing="nowhere")
    assert (unknown.duplicate, "wings: w" in unknown.hint) == (False, True)
    assert real.drawers.find_duplicates("something else", wing=" w ").hint == ""
    real.removal.delete([hit.drawer.id for hit in real.search("deploys", Scope()).hits])
    emptied = real.drawers.find_duplicates(TEXT)
    assert (emptied.duplicate, "empty" in emptied.hint) == (False, True)


def test_another_embedder_finds_equal_texts_and_says_why_no_others(real: Palace):
    other = open_at(real.home, embed__model="B")
    found = other.drawers.find_duplicates(TEXT)
    assert [match.exact for match in found.matches] == [True]
    (reason,) = found.degraded
    assert "mempal reindex --reembed" in reason


def test_nothing_is_written(real: Palace):
    before = {k: v for k, v in fingerprint(real.home).items() if not k.endswith(("-shm", "-wal"))}
    real.drawers.find_duplicates(TEXT)
    real.drawers.find_duplicates("🦊")
    after = {k: v for k, v in fingerprint(real.home).items() if not k.endswith(("-shm", "-wal"))}
    assert after == before
