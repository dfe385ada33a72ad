"""What is no longer in a file leaves the search when the file is mined, what has no file by `sync`.

Mining only added, so deleted facts came back as current; the opposite cure, deleting on every mine,
destroyed history (MemPalace/mempalace#224, #848, #1252, #1593, #2119).
"""

import json
import shutil
from pathlib import Path

import pytest

from tests.cases.support import open_at
from tests.repositories import run_git
from tests.transcripts import list_drawers, tell, with_word

CASE = Path(__file__).parent / "data" / "B19"
EXPECTED = json.loads((CASE / "expected.json").read_text())
GONE = [
    {"source_file": "b.md", "drawers": 0, "moved_to": "moved/b2.md"},
    {"source_file": "c.md", "drawers": 1},
]
IGNORED = {"source_file": "d.md", "drawers": 1}


def everything(home: Path) -> list[tuple[object, ...]]:
    return tell(list_drawers(open_at(home), history=True))


@pytest.fixture(params=["plain", "git", "cloned"])
def repo(request, run, tmp_path):
    """A tree that was mined and then changed; a new clone does not hold the ignored file."""
    folder = tmp_path / "repo"
    shutil.copytree(CASE / "v1" / "repo", folder)
    if request.param == "git":
        run_git(folder, "init", "-q")
    assert run("mine", folder, "--wing", "w", "--json").json["drawers"]["added"] >= 6
    for name in ("a.md", "b.md", "c.md", *(["d.md"] if request.param == "cloned" else [])):
        (folder / name).unlink()
    shutil.copytree(CASE / "v2" / "repo", folder, dirs_exist_ok=True)
    return folder


def find(run, word: str, *options: str) -> list[dict]:
    """Return the hits of a default search that hold a word."""
    results = run("search", word, "--wing", "w", "--json", "-n", "50", *options).json["results"]
    return [hit for hit in results if word in hit["content"].split()]


def shorten(files: list[dict]) -> list[dict]:
    return [{key: file[key] for key in file if key not in {"root", "reason"}} for file in files]


def test_mining_supersedes_what_was_cut_off_and_deletes_nothing(run, isolation, repo):
    before = {drawer.id for drawer in list_drawers(open_at(isolation.palace), history=True)}
    report = run("mine", repo, "--wing", "w", "--json").json
    assert report["drawers"]["superseded"] >= 2  # the sections of a.md; one documented rule
    left = (repo / "d.md").exists()
    assert report["gone"] == (1 if left else 2)
    for word in ("zqtheta2", "zqtheta3"):
        assert find(run, word) == []
        assert len(find(run, word, "--all")) == 1
    # What has no file, or no longer may have one, stays until `sync` is told to let go of it.
    for word in ("zqtheta1", "zqtheta4", "zqtheta5", "zqtheta6", "zqtheta7"):
        assert len(find(run, word)) == 1
    held = list_drawers(open_at(isolation.palace), history=True)
    assert before <= {drawer.id for drawer in held}
    assert [drawer.source_file for drawer in with_word(held, "zqtheta4")] == ["moved/b2.md"]


def test_the_dry_run_lists_and_changes_nothing(run, isolation, repo):
    run("mine", repo, "--wing", "w")
    before, runs = everything(isolation.palace), run("runs", "--json").json
    for arguments in ((), ("--dry-run",)):
        done = run("sync", "--wing", "w", "--json", *arguments)
        assert done.code == 0
        report = done.json
        assert report["dry_run"] is True
        left = (repo / "d.md").exists()
        assert shorten(report["gone"]) == (GONE if left else [*GONE, IGNORED])
        assert shorten(report["ignored"]) == ([IGNORED] if left else [])
        assert all(".gitignore" in file["reason"] for file in report["ignored"])
        assert report["pruned"] == EXPECTED["dry_run_deletes"]
        assert report["run"] is None
    shown = run("sync", "--wing", "w").stdout
    for line in EXPECTED["dry_run_lists"]:
        assert line in shown
    assert everything(isolation.palace) == before
    assert run("runs", "--json").json == runs


def test_applied_nothing_stale_is_found_and_nothing_is_lost(run, isolation, repo):
    run("mine", repo, "--wing", "w")
    held = {drawer.id for drawer in list_drawers(open_at(isolation.palace), history=True)}
    report = run("sync", "--wing", "w", "--apply", "--json").json
    assert report["pruned"] == 2
    for word in EXPECTED["after_sync_not_in_default_search"]:
        assert find(run, word) == []
        assert len(find(run, word, "--all")) == 1  # history is kept
    for word in EXPECTED["after_sync_found_once"]:
        (hit,) = find(run, word)
        assert hit["verdict"] == "same"
        assert word in (repo / hit["source_file"]).read_text().split()
    assert {drawer.id for drawer in list_drawers(open_at(isolation.palace), history=True)} == held
    again = run("sync", "--wing", "w", "--apply", "--json").json
    assert (again["gone"], again["ignored"], again["run"]) == ([], [], None)


def test_a_missing_root_is_refused_and_nothing_is_removed(run, isolation, repo):
    run("mine", repo, "--wing", "w")
    before = everything(isolation.palace)
    repo.rename(repo.with_name("elsewhere"))
    for arguments in ((), ("--apply",)):
        done = run("sync", "--wing", "w", *arguments)
        assert done.code == 3
        assert str(repo) in done.stderr
        assert "hint: " in done.stderr
    assert everything(isolation.palace) == before
    repo.mkdir()  # where a disk is not mounted
    assert run("sync", "--wing", "w", "--apply").code == 3
    assert everything(isolation.palace) == before
    repo.rmdir()
    skipped = run("sync", "--wing", "w", "--apply", "--skip-missing", "--json").json
    assert (skipped["gone"], skipped["ignored"], skipped["pruned"]) == ([], [], 0)
    assert everything(isolation.palace) == before
