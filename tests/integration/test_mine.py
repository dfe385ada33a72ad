"""Mining real trees into real palaces: what is stored is what is there, however a run goes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mempal.core.errors import EmbedderMismatchError
from mempal.core.model import Changes, Scope, Verdict
from mempal.core.reports import MineReport
from mempal.ingest import tree as module
from mempal.palace import Palace
from tests.cases.support import (
    Silence,
    age,
    check_text,
    drawers_of,
    fingerprint,
    holders,
    mine,
    open_at,
    run_measured,
    snapshot,
    sources_of,
)
from tests.repositories import commit_all, list_shown, make_repository, run_git, write_files
from tests.unit.embedders.endpoint import Endpoint, Reply, Request, answer_well, run_endpoint

ROOT = Path(__file__).parents[2]
KEYS = {
    *("wing", "root", "dry_run", "files", "drawers", "skipped", "redactions", "warnings"),
    "seconds",
}


def forbid(*_: object) -> bytes:
    raise AssertionError("an unchanged file was read")


def check_tree(palace: Palace, wing: str, root: Path) -> int:
    """Hold every stored file of a tree to the disk; return how many there are."""
    stored = {path: held for path, held in drawers_of(palace, wing, root).items() if held}
    for path, drawers in stored.items():
        check_text(drawers, (root / path).read_bytes())
    return len(stored)


def is_still(report: MineReport) -> bool:
    """Return whether a run changed nothing."""
    return (report.files.mined, report.drawers) == (
        0,
        Changes(unchanged=report.drawers.unchanged),
    )


def check_report(document: dict[str, Any]) -> None:
    """Hold a document to the command contract."""
    assert set(document) >= KEYS
    files = document["files"]
    assert files["seen"] == files["mined"] + files["unchanged"] + files["skipped"]
    assert set(document["drawers"]) == {"added", "unchanged", "superseded", "restored"}
    assert len(document["skipped"]) == files["skipped"]
    assert all(set(skip) == {"path", "reason"} for skip in document["skipped"])
    assert all(skip["reason"] for skip in document["skipped"])


def copy_own_source(folder: Path) -> Path:
    """Return this project's source as a repository, as a user would have cloned it.

    Where the tests lie in no repository, or in one that git does not trust, it is copied.
    """
    root = folder / "mempal"
    run_git(folder, "clone", "-q", str(ROOT), str(root), check=False)
    if (root / "mempal").is_dir():
        return root
    for name in ("mempal", "docs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    return make_repository(root, {"README.md": (ROOT / "README.md").read_bytes()})


def generate(folder: Path, count: int = 1_050) -> Path:
    """Return a repository of many small files, some of each kind that one meets."""
    files: dict[str, str | bytes] = {".gitignore": "*.log\nbuild/\n", "noise.log": "noise\n"}
    for number in range(count):
        package = f"src/part{number % 30}"
        files[f"{package}/verb{number}.py"] = (
            f'"""Module {number}."""\n\n\ndef handle_{number}(value):\n'
            f'    """Return the value after step {number}."""\n    return value + {number}\n'
        )
    files["src/part7/ferry.py"] = (
        "def reconcile_ledger(entries):\n"
        '    """Bring the account book in line with the bank statement."""\n'
        "    return sorted(entries)\n"
    )
    files |= {"empty.md": "", "logo.png": b"\x89PNG\r\n\x1a\n\0", "docs/a.md": "# A\n\nalpha\n"}
    return make_repository(folder / "many", files)


def plain_folder(folder: Path) -> Path:
    """Return a folder that git knows nothing of."""
    return write_files(
        folder / "papers",
        {
            "letters/harbour.txt": "The harbour master answered in March.\r\nHe agreed.\r\n",
            "letters/2024/crane.md": "# Crane\n\nThe crane was repaired twice.\n" * 40,
            "plan.rst": "Plan\n====\n\nWe weigh every crate before it is lifted.\n",
            "Makefile": "all:\n\techo crate\n",
            "node_modules/x/index.js": "var x\n",
            "photo.jpg": b"\xff\xd8\xff\xe0\0\0",
            "blank.txt": " \n",
        },
    )


@pytest.mark.parametrize(
    ("build", "purpose", "name", "path"),
    [
        (
            copy_own_source,
            "name a drawer deterministically and safe against collisions",
            "make_drawer_id",
            "mempal/core/ids.py",
        ),
        (
            generate,
            "bring the account book in line with the bank statement",
            "reconcile_ledger",
            "src/part7/ferry.py",
        ),
        (plain_folder, "how heavy crates are weighed before lifting", "crate", "plan.rst"),
    ],
)
def test_a_tree_is_mined_once_found_and_not_read_again(
    mempal, isolation, tmp_path, monkeypatch, build, purpose, name, path
):
    root = age(build(tmp_path))
    first = mempal("mine", root, "--json").json
    check_report(first)
    assert (first["root"], first["dry_run"]) == (str(root), False)
    assert first["drawers"]["added"] > 0
    if (root / ".git").exists() and not (root / ".mempalignore").exists():
        assert first["files"]["seen"] == len(list_shown(root))
    palace = open_at(isolation.palace)
    stored = drawers_of(palace, first["wing"], root)
    talk = [name for name in first["mined_files"] if not stored[name]]
    assert all(name.endswith((".json", ".jsonl")) for name in talk)
    assert check_tree(palace, first["wing"], root) == first["files"]["mined"] - len(talk)
    second = mempal("mine", root, "--json").json
    check_report(second)
    kept = first["drawers"]["added"]
    assert second["drawers"] == {"added": 0, "unchanged": kept, "superseded": 0, "restored": 0}
    assert (second["files"]["mined"], second["files"]["seen"]) == (0, first["files"]["seen"])
    assert second["skipped"] == first["skipped"]
    monkeypatch.setattr(module, "read_regular", forbid)
    assert mine(palace, root).files.unchanged == first["files"]["mined"]
    assert path in sources_of(palace, purpose)[:3]
    assert path in sources_of(palace, name)[:3]
    audit = mempal("audit", "--json")
    assert (audit.code, audit.json["complete"]) == (0, True)
    (audited,) = audit.json["roots"]
    assert audited["seen"] == first["files"]["seen"]


def test_an_audit_is_incomplete_after_an_edit_until_the_tree_is_mined_again(mempal, tmp_path):
    root = plain_folder(tmp_path)
    assert mempal("mine", root).code == 0
    write_files(root, {"plan.rst": "Another plan.\n"})
    done = mempal("audit", "--json")
    assert (done.code, done.json["complete"]) == (1, False)
    assert done.json["roots"][0]["problems"] == ["plan.rst: changed since mined"]
    assert mempal("mine", root).code == 0
    assert mempal("audit").code == 0


def test_a_dry_run_writes_nothing_at_all(mempal, isolation, tmp_path):
    root = generate(tmp_path, 20)
    before = fingerprint(tmp_path)
    report = mempal("mine", root, "--dry-run", "--json").json
    check_report(report)
    assert (report["dry_run"], report["files"]["mined"]) == (True, 23)
    assert report["drawers"]["added"] >= 23
    assert not isolation.palace.exists()
    assert mempal("mine", root).code == 0
    after = fingerprint(isolation.palace)
    again = mempal("mine", root, "--dry-run", "--json").json
    assert again["files"]["unchanged"] == 23
    assert fingerprint(isolation.palace).keys() >= after.keys()
    assert fingerprint(isolation.palace)["palace.db"] == after["palace.db"]
    assert fingerprint(tmp_path) == before


# What a tree may go through between two runs.


@pytest.fixture
def palace(isolation: Any) -> Palace:
    return open_at(isolation.palace)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    body = "".join(f"## Part {n}\n\n{'words of part ' * 30}{n}\n\n" for n in range(6))
    return age(
        write_files(
            tmp_path / "tree",
            {"notes.md": f"# Notes\n\nzqfirst stands here.\n\n{body}", "other.md": "zqother\n"},
        )
    )


def test_edited_text_leaves_search_stays_readable_and_comes_back(palace, tree, monkeypatch):
    clock = iter(range(1_800_000_000_000, 1_900_000_000_000, 1000))
    monkeypatch.setattr(module, "now", lambda: next(clock))
    mine(palace, tree, wing="w")
    before = next(clock)
    original = (tree / "notes.md").read_text()
    write_files(tree, {"notes.md": original.replace("zqfirst stands", "zqsecond stands")})
    edited = mine(palace, tree, wing="w")
    assert (edited.files.mined, edited.files.unchanged) == (1, 1)
    assert (edited.drawers.added, edited.drawers.superseded) == (1, 1)
    assert edited.drawers.unchanged > 3
    after = next(clock)
    assert not holders(palace, "zqfirst")
    assert len(holders(palace, "zqsecond")) == 1
    assert len(holders(palace, "zqfirst", Scope(as_of=before))) == 1
    assert not holders(palace, "zqsecond", Scope(as_of=before))
    (old,) = holders(palace, "zqfirst", Scope(history=True))
    assert old.superseded_at is not None
    assert before < old.superseded_at <= after
    write_files(tree, {"notes.md": original})
    back = mine(palace, tree, wing="w")
    assert (back.drawers.added, back.drawers.restored, back.drawers.superseded) == (0, 1, 1)
    (now,) = holders(palace, "zqfirst")
    assert now.id == old.id
    assert not holders(palace, "zqfirst", Scope(as_of=after))
    assert len(holders(palace, "zqfirst", Scope(as_of=before))) == 1
    check_tree(palace, "w", tree)


def test_a_file_that_grew_keeps_what_it_had(palace, tree):
    mine(palace, tree, wing="w")
    ids = [drawer.id for drawer in drawers_of(palace, "w", tree)["notes.md"]]
    with (tree / "notes.md").open("a") as file:
        file.write("## Part 6\n\n" + "zqgrown words " * 30 + "\n")
    report = mine(palace, tree, wing="w")
    assert report.drawers.added <= 2
    assert report.drawers.unchanged >= len(ids) - 1
    kept = [drawer.id for drawer in drawers_of(palace, "w", tree)["notes.md"]]
    assert kept[: len(ids) - 1] == ids[:-1]
    check_tree(palace, "w", tree)


def test_lines_pushed_down_are_cited_where_they_are_now(palace, tree):
    mine(palace, tree, wing="w")
    text = (tree / "notes.md").read_text()
    write_files(tree, {"notes.md": "# Before\n\n" + "new lines\n" * 60 + "\n" + text})
    report = mine(palace, tree, wing="w")
    assert report.drawers.unchanged > 3
    check_tree(palace, "w", tree)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (bytes(range(256)) * 8, "binary"),
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n\0\0", "binary (PNG image)"),
        (b"# @generated by a tool\nx = 1\n", None),
    ],
)
def test_a_file_that_holds_no_text_any_more_is_superseded(palace, tree, content, reason):
    mine(palace, tree, wing="w")
    original = (tree / "other.md").read_bytes()
    write_files(tree, {"other.md": content})
    report = mine(palace, tree, wing="w")
    assert report.drawers.superseded == 1
    assert not holders(palace, "zqother")
    assert len(holders(palace, "zqother", Scope(history=True))) == 1
    if reason:
        assert [(skip.path, skip.reason) for skip in report.skipped] == [("other.md", reason)]
    write_files(tree, {"other.md": original})
    assert mine(palace, tree, wing="w").drawers.restored == 1


def test_rooms_of_the_tree_itself_file_it_anew(palace, tree):
    write_files(tree, {"billing/invoice.md": "zqinvoice\n"})
    mine(palace, tree, wing="w")
    assert holders(palace, "zqother")[0].room == "general"
    rooms = "rooms:\n  - name: money\n    keywords: [zqother]\n  - billing\n"
    write_files(tree, {"mempal.yaml": rooms})
    report = mine(palace, tree, wing="w")
    assert report.drawers.superseded >= 1
    assert holders(palace, "zqother")[0].room == "money"
    assert holders(palace, "zqinvoice")[0].room == "billing"
    for room in ("general", "money"):
        found = [d.source_file for d in holders(palace, "zqother", Scope(room=room))]
        assert ("other.md" in found) is (room == "money")
    assert is_still(mine(palace, tree, wing="w"))


def test_a_project_that_moved_is_the_same_project(palace, tree, tmp_path, monkeypatch):
    mine(palace, tree, wing="w")
    ids = {row[4] for row in snapshot(palace)}
    (hit,) = palace.search("zqfirst", Scope(), limit=1).hits
    assert hit.citation.verdict is Verdict.SAME
    moved = tree.rename(tmp_path / "elsewhere")
    (hit,) = palace.search("zqfirst", Scope(), limit=1).hits
    assert hit.citation.verdict is Verdict.GONE
    monkeypatch.setattr(module, "read_regular", forbid)
    report = mine(palace, moved, wing="w")
    assert report.files.unchanged == 2
    assert is_still(report)
    assert {row[4] for row in snapshot(palace)} == ids
    (hit,) = palace.search("zqfirst", Scope(), limit=1).hits
    assert (hit.drawer.root, hit.citation.verdict) == (str(moved), Verdict.SAME)
    assert palace.audit("w", Silence()).complete


def test_two_trees_share_a_wing(palace, tree, tmp_path):
    second = write_files(tmp_path / "second", {"notes.md": "zqsecond tree\n", "empty.md": ""})
    report = mine(palace, tree, second, wing="w")
    assert report.roots == (str(tree), str(second))
    assert [skip.path for skip in report.skipped] == [f"{second}/empty.md"]
    assert len(holders(palace, "zqsecond")) == 1
    assert len(holders(palace, "zqfirst")) == 1
    assert check_tree(palace, "w", tree) + check_tree(palace, "w", second) == 3
    assert is_still(mine(palace, second, wing="w"))
    audit = palace.audit("w", Silence())
    assert (len(audit.roots), audit.complete) == (2, True)


def test_a_palace_in_the_tree_is_not_mined(tree):
    palace = open_at(tree / ".mempal")
    for _ in range(2):
        report = mine(palace, tree, wing="w")
        assert report.files.seen == 2
        assert [skip.path for skip in report.excluded] == ([".mempal"] if _ else [])


def test_new_commits_are_noted_with_the_next_change(palace, tmp_path):
    root = make_repository(tmp_path / "repo", {"a.md": "zqalpha\n", "b.md": "zqbeta\n"})
    first = run_git(root, "rev-parse", "HEAD").strip()
    mine(palace, root)
    write_files(root, {"a.md": "zqalpha\nand more\n"})
    second = commit_all(root)
    mine(palace, root)
    assert holders(palace, "zqalpha")[0].commit == second
    assert holders(palace, "zqbeta")[0].commit == first


# Runs that are stopped, and runs at the same time.

COUNT = 600


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """A tree that takes several batches."""
    return age(
        write_files(
            tmp_path / "crowd",
            {f"n{number:03d}.md": f"zqcrowd note number {number}\n" for number in range(COUNT)},
        )
    )


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with run_endpoint() as running:
        yield running


def use_endpoint(home: Path, endpoint: Endpoint) -> Palace:
    return open_at(
        home,
        embed__backend="ollama",
        embed__endpoint=endpoint.url,
        embed__model="m",
        embed__dim="16",
    )


def is_late(request: Request) -> bool:
    """Return whether a request comes after the first batch was stored."""
    return any("note number 400" in text for text in request.document["input"])


# Tests that a shell started in the background ignore interrupts, and so do their children.
_INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mempal.entry import main
main()
"""


def start(*arguments: str | Path) -> "subprocess.Popen[str]":
    """Start the command as a terminal would: an interrupt reaches it."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _INTERRUPTIBLE, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill"])
def test_a_run_that_is_stopped_is_completed_by_the_next(isolation, tmp_path, crowd, endpoint, sent):
    """The embedder never answers in the second batch; that is where the run is stopped."""
    undisturbed = use_endpoint(tmp_path / "calm", endpoint)
    mine(undisturbed, crowd, wing="w")
    asked, stopped = threading.Event(), threading.Event()

    def stall(request: Request) -> Reply:
        if not is_late(request):
            return answer_well(request)
        asked.set()
        stopped.wait(60)
        return Reply()

    endpoint.answer = stall
    palace = use_endpoint(isolation.palace, endpoint)
    with start("mine", crowd, "--wing", "w") as process:
        try:
            assert asked.wait(60)
            process.send_signal(sent)
            output, complaint = process.communicate(timeout=60)
        finally:
            process.kill()
            stopped.set()
    endpoint.answer = answer_well
    if sent is signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted; what was stored so far is kept" in complaint
        assert "Traceback" not in output + complaint
    stored = palace.status().store
    assert stored is not None
    assert 0 < stored.drawers < COUNT
    assert holders(palace, "zqcrowd")
    assert palace.diagnose().healthy
    check_tree(palace, "w", crowd)
    report = mine(palace, crowd, wing="w")
    assert report.drawers.added == COUNT - stored.drawers
    assert report.files.unchanged == stored.drawers
    assert snapshot(palace) == snapshot(undisturbed)
    assert palace.audit("w", Silence()).complete


# Kills its own process at the `count`-th call of a function, as a power cut would.
_DYING = """
import importlib, os, signal, sys
from mempal.cli import app
place, count, *arguments = sys.argv[1:]
module, _, name = place.partition(":")
owner = importlib.import_module(module)
*path, name = name.split(".")
for part in path:
    owner = getattr(owner, part)
function, left = getattr(owner, name), int(count)
def die(*positional, **named):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return function(*positional, **named)
setattr(owner, name, die)
sys.exit(app.main(arguments))
"""


def die_at(place: str, count: int, *arguments: str | Path) -> int:
    return subprocess.run(
        [sys.executable, "-P", "-c", _DYING, place, str(count), *map(str, arguments)],
        capture_output=True,
        check=False,
    ).returncode


@pytest.mark.parametrize(
    ("place", "count"),
    [
        ("mempal.adapters.sqlite.writing:Writer.add", 0),
        ("mempal.adapters.sqlite.writing:Writer.add", 30),
        ("mempal.adapters.sqlite.store:write_source", 20),
        ("mempal.adapters.sqlite.store:record_revision", 39),
        ("mempal.adapters.exact.table:_write", 0),
        ("mempal.adapters.exact.table:_sync_folder", 0),
    ],
)
def test_death_in_the_middle_of_a_write_leaves_whole_files(
    isolation, tmp_path, crowd, place, count
):
    if "sqlite" in place:  # so few that no index is written
        for path in sorted(crowd.iterdir())[40:]:
            path.unlink()
    undisturbed = open_at(tmp_path / "calm")
    mine(undisturbed, crowd, wing="w")
    assert die_at(place, count, "mine", crowd, "--wing", "w") == -signal.SIGKILL
    palace = open_at(isolation.palace)
    check_tree(palace, "w", crowd)
    assert palace.diagnose().healthy
    palace.search("zqcrowd", Scope())
    mine(palace, crowd, wing="w")
    assert snapshot(palace) == snapshot(undisturbed)
    assert palace.audit("w", Silence()).complete
    palace.reindex(reembed=False, progress=Silence())
    assert palace.diagnose().healthy
    names = fingerprint(isolation.palace)
    assert not [name for name in names if name.endswith(".new")]


def test_death_in_an_upgrade_of_the_index_is_mended_by_the_next(isolation, crowd):
    palace = open_at(isolation.palace)
    mine(palace, crowd, wing="w")
    assert die_at("mempal.adapters.exact.table:_write", 0, "reindex") == -signal.SIGKILL
    assert palace.search("note number 7", Scope(), mode="vector").degraded == ()
    palace.reindex(reembed=False, progress=Silence())
    status = palace.status().index
    assert status is not None
    assert (status.count, status.pending) == (COUNT, 0)


@pytest.mark.parametrize("same", [True, False], ids=["one tree", "two trees"])
def test_runs_at_the_same_time_neither_fail_nor_repeat(isolation, tmp_path, crowd, same):
    trees = [crowd] * 3
    if not same:
        trees = [crowd, *(shutil.copytree(crowd, tmp_path / f"crowd{n}") for n in (1, 2))]
        age(trees[1])
    processes = [start("mine", root, "--wing", "w", "--json") for root in trees]
    for process in processes:
        output, complaint = process.communicate(timeout=120)
        assert process.returncode == 0, complaint
        report = json.loads(output)
        check_report(report)
        assert report["warnings"] == []
    palace = open_at(isolation.palace)
    rows = snapshot(palace)
    assert len(rows) == COUNT * len(set(trees))
    assert len({row[4] for row in rows}) == len(rows)
    assert len({row[:4] for row in rows}) == len(rows)
    assert palace.diagnose().healthy
    assert palace.audit("w", Silence()).complete
    for root in set(trees):
        assert is_still(mine(palace, root, wing="w"))


def test_a_search_during_a_run_answers(isolation, crowd, endpoint):
    """A reader sees whole files only, and waits for nobody."""
    asked, done = threading.Event(), threading.Event()

    def pause(request: Request) -> Reply:
        if is_late(request):
            asked.set()
            done.wait(60)
        return answer_well(request)

    endpoint.answer = pause
    palace = use_endpoint(isolation.palace, endpoint)
    with start("mine", crowd, "--wing", "w") as process:
        try:
            assert asked.wait(60)
            found = palace.search("zqcrowd", Scope(), mode="keyword")
            assert found.hits
            assert found.degraded == ()
            check_tree(palace, "w", crowd)
        finally:
            done.set()
        process.communicate(timeout=60)
    assert process.returncode == 0
    assert palace.audit("w", Silence()).complete


# Other embedders and limits.


def test_another_embedder_is_refused_before_anything_is_written(isolation, tree):
    palace = open_at(isolation.palace)
    mine(palace, tree, wing="w")
    other = open_at(isolation.palace, embed__backend="hash", embed__dim="32")
    write_files(tree, {"new.md": "zqnew text\n"})
    os.utime(tree / "other.md")
    before = fingerprint(isolation.palace)["palace.db"], snapshot(palace)
    with pytest.raises(EmbedderMismatchError) as caught:
        mine(other, tree, wing="w")
    assert "static:minilm-256" in caught.value.message
    assert "hash:A:32" in caught.value.message
    assert "mempal reindex --reembed" in caught.value.hint
    assert (fingerprint(isolation.palace)["palace.db"], snapshot(palace)) == before
    with pytest.raises(EmbedderMismatchError):
        other.drawers.add("a note", wing="w", room="r")
    assert not holders(palace, "note")
    report = other.reindex(reembed=True, progress=Silence())
    assert report.embedder == "hash:A:32:v1"
    assert mine(other, tree, wing="w").drawers.added == 1
    assert other.diagnose().healthy
    write_files(tree, {"newer.md": "zqnewer text\n"})
    former = open_at(isolation.palace, embed__backend="static")
    with pytest.raises(EmbedderMismatchError):
        mine(former, tree, wing="w")


def test_an_endpoint_that_fails_midway_leaves_what_was_stored(isolation, crowd, endpoint):
    palace = use_endpoint(isolation.palace, endpoint)

    def fail(request: Request) -> Reply:
        return Reply({"error": "out of memory"}, 400) if is_late(request) else answer_well(request)

    endpoint.answer = fail
    with pytest.raises(Exception, match="out of memory"):
        mine(palace, crowd, wing="w")
    stored = palace.status().store
    assert stored is not None
    assert 0 < stored.drawers < COUNT
    assert palace.diagnose().findings
    endpoint.answer = answer_well
    mine(palace, crowd, wing="w")
    assert palace.audit("w", Silence()).complete
    assert check_tree(palace, "w", crowd) == COUNT


@pytest.mark.parametrize(
    "files",
    [
        {"line.txt": "one long line without an end " * 68_000},
        {"unbroken.txt": "x" * 1_900_000},
        {"east.txt": "水泵在四个大气压下运行阀门在中午打开" * 35_000},
    ],
    ids=lambda files: next(iter(files)),
)
def test_memory_stays_bounded(isolation, tmp_path, files):
    """Peak memory is a budget of the design: 350 MB for any tree."""
    crowd = {
        f"d{n % 20}/n{n}.md": f"# Note {n}\n\n" + "words of a note. " * 400 for n in range(200)
    }
    root = write_files(tmp_path / "big", {**crowd, **files})
    output, peak = run_measured("mine", root, "--json")
    assert json.loads(output)["files"]["mined"] == 201
    assert peak < 350 * 1024
    assert mine(open_at(isolation.palace), root).files.unchanged == 201


Command = Callable[..., Any]


def test_the_wing_is_named_configured_or_the_projects(mempal: Command, isolation, tmp_path):
    root = make_repository(tmp_path / "shop", {"src/a.md": "zqalpha\n"})

    def wing(*options: str) -> str:
        return mempal("mine", "--json", *options, cwd=root / "src").json["wing"]

    assert wing() == "shop"
    assert mempal("config", "set", "wing", "configured").code == 0
    assert wing() == "configured"
    assert wing("--wing", "given") == "given"
    assert mempal("ingest", "--json", "--wing", "given", cwd=root).json["drawers"]["added"] == 0
