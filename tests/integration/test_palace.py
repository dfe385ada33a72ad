"""A palace as a folder on disk: who may read it, who shares it, and where it may be carried."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mempal.core.model import Scope
from tests.cases.support import Silence, holders, mine, open_at, snapshot, sources_of
from tests.repositories import write_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_files(
        tmp_path / "shop",
        {
            "README.md": "# Shop\n\nzqshop sells lamps.\n",
            "billing/invoice.py": "def round_total(x):\n    return round(x)\n",
        },
    )


def in_another_process(home: Path, code: str, *arguments: str | Path) -> None:
    """Run code that uses the palace while this process has it open."""
    subprocess.run(
        [sys.executable, "-P", "-c", code, str(home), *map(str, arguments)],
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


_MINE = """
import sys
from pathlib import Path
from tests.cases.support import mine, open_at
mine(open_at(Path(sys.argv[1])), Path(sys.argv[2]), wing="w")
"""


@pytest.mark.parametrize("backend", ["exact", pytest.param("chroma", marks=pytest.mark.chroma)])
def test_a_long_lived_palace_sees_what_others_write(isolation, tmp_path, tree, backend):
    palace = open_at(isolation.palace, index__backend=backend, search__floor="0")
    mine(palace, tree, wing="w")
    palace.reindex(reembed=False, progress=Silence())
    assert sources_of(palace, "round_total")[0] == "billing/invoice.py"
    for number in range(2):
        more = write_files(
            tmp_path / f"more{number}", {f"m{number}.md": f"zqmore{number} trumpet\n"}
        )
        in_another_process(isolation.palace, _MINE, more)
        for mode in ("hybrid", "keyword", "vector"):
            result = palace.search(f"zqmore{number} trumpet", Scope(), mode=mode)
            assert f"m{number}.md" in [hit.drawer.source_file for hit in result.hits][:2]
            assert result.degraded == ()
        mine(palace, write_files(tmp_path / f"own{number}", {"o.md": f"zqown{number}\n"}), wing="w")
        assert holders(palace, f"zqown{number}")
    assert palace.diagnose().healthy
    status = palace.status()
    assert status.store is not None
    assert status.store.drawers == 2 + 4


def test_a_reader_from_before_the_first_run_sees_it(isolation, tree):
    palace = open_at(isolation.palace)
    assert "no palace" in palace.search("lamps", Scope()).hint
    in_another_process(isolation.palace, _MINE, tree)
    assert sources_of(palace, "lamps") == ["README.md"]


def test_only_the_owner_may_read_any_of_it(isolation, tree):
    former = os.umask(0)
    try:
        palace = open_at(isolation.palace, wing="w")
        mine(palace, tree)
        palace.reindex(reembed=False, progress=Silence())
        palace.search("lamps", Scope())
    finally:
        os.umask(former)
    for path in (isolation.palace, *isolation.palace.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_palace_can_be_carried_elsewhere(isolation, tmp_path, tree):
    palace = open_at(isolation.palace)
    mine(palace, tree, wing="w")
    palace.reindex(reembed=False, progress=Silence())
    before = snapshot(palace), palace.search("lamps", Scope()).hits
    carried = open_at(Path(shutil.move(isolation.palace, tmp_path / "new home")))
    assert (snapshot(carried), carried.search("lamps", Scope()).hits) == before
    assert carried.diagnose().healthy
    assert mine(carried, tree, wing="w").drawers.added == 0


def test_an_older_copy_put_back_is_not_mixed_with_a_newer_index(isolation, tmp_path, tree):
    palace = open_at(isolation.palace)
    mine(palace, tree, wing="w")
    shutil.copy(isolation.palace / "palace.db", tmp_path / "backup.db")
    for number in range(3):
        mine(
            palace, write_files(tmp_path / "late", {f"l{number}.md": f"zqlate{number}\n"}), wing="w"
        )
    palace.reindex(reembed=False, progress=Silence())
    shutil.copy(tmp_path / "backup.db", isolation.palace / "palace.db")
    mine(palace, write_files(tmp_path / "other", {"x.md": "zqother lamp oil\n"}), wing="w")
    for mode in ("hybrid", "vector"):
        result = palace.search("zqother lamp oil", Scope(), mode=mode)
        assert result.hits[0].drawer.source_file == "x.md"
    assert not holders(palace, "zqlate1")
    palace.reindex(reembed=False, progress=Silence())
    assert palace.diagnose().healthy


@pytest.mark.parametrize("damaged", [False, True])
def test_everything_derived_can_be_rebuilt(isolation, tree, damaged):
    palace = open_at(isolation.palace)
    mine(palace, tree, wing="w")
    before = {
        (query, mode): palace.search(query, Scope(), mode=mode).hits
        for query in ("lamps", "round_total")
        for mode in ("hybrid", "keyword", "vector")
    }
    if damaged:
        (isolation.palace / "index").mkdir(exist_ok=True)
        (isolation.palace / "index" / "exact.bin").write_bytes(b"garbage")
    for reembed in (False, True):
        report = palace.reindex(reembed=reembed, progress=Silence())
        assert (report.backend, report.drawers) == ("exact", 2)
        assert report.reembedded == (2 if reembed else 0)
        assert {
            (query, mode): palace.search(query, Scope(), mode=mode).hits for query, mode in before
        } == before


def test_one_life_on_the_command_line(mempal: Any, tree):
    """Mine, ask, note, look, count, check, wake up: one palace, one story."""
    assert mempal("mine", tree).code == 0
    added = mempal("add", "We close at five.", "--room", "decisions", cwd=tree).stdout
    assert "drawer_" in added
    found = mempal("search", "when do we close", "--json", cwd=tree).json["results"]
    assert found[0]["content"] == "We close at five."
    shown = mempal("show", found[0]["drawer_id"][:14], "--json").json
    assert (shown["wing"], shown["room"], shown["verdict"]) == ("shop", "decisions", "unknown")
    rooms = {row["room"]: row["drawers"] for row in mempal("rooms", "--json").json["rooms"]}
    assert rooms == {"general": 1, "billing": 1, "decisions": 1}
    assert mempal("status", "--json").json["drawers"] == 3
    assert mempal("doctor").code == 0
    assert mempal("audit").code == 0
    text = mempal("wake-up", "--wing", "shop", "--json").json["text"]
    assert "We close at five." in text
    assert "zqshop sells lamps" in text
