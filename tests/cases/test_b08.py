"""A project has one wing however its path is spelled; each of its working trees is one of its own.

The folder's name as a project's identity split the memory of a repository, and nested working trees
of agents were mined a second time (thedotmack/claude-mem#1819, PR #1541,
rohitg00/agentmemory#1387, anthropics/claude-code#34437, #30667, #39920).
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.cases.support import holders, open_at
from tests.repositories import NO_GIT, make_repository, run_git
from tests.transcripts import list_drawers

NESTED = ".claude/worktrees/modest-otter"
ASK = ("search", "zqpanda", "--mode", "keyword")
FILES = {"README.md": "zqpanda shared readme\n", "src/deep/notes.md": "zqbamboo further below\n"}


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A repository with a working tree beside it, one inside it, one that is gone, and a link."""
    main = make_repository(tmp_path / "my-app", FILES)
    run_git(main, "worktree", "add", "-q", "-b", "feature-x", str(tmp_path / "wt-feature-x"))
    run_git(main, "worktree", "add", "-q", "-b", "agent-1", str(main / NESTED))
    run_git(main, "worktree", "add", "-q", "-b", "gone", str(tmp_path / "wt-gone"))
    shutil.rmtree(tmp_path / "wt-gone")
    (tmp_path / "alias-to-my-app").symlink_to(main)
    return tmp_path


SPELLINGS = [
    "my-app",
    "my-app/",
    "my-app/.",
    "my-app//",
    "./my-app",
    "wt-feature-x/../my-app",
    "alias-to-my-app",
    "alias-to-my-app/",
]
BELOW = ["my-app/src", "my-app/src/deep/", "alias-to-my-app/src/deep", "my-app/README.md"]


def test_what_nested_working_trees_hold_is_stored_once(run, isolation, places):
    done = run("mine", places / "my-app", "--json")
    assert (done.code, done.stderr) == (0, "")
    report = done.json
    assert (report["wing"], report["drawers"]["added"]) == ("my-app", 2)
    assert report["warnings"] == []
    # Left out by name, with a reason.
    left_out = {skip["path"]: skip["reason"] for skip in report["skipped"] + report["excluded"]}
    ((path, reason),) = [item for item in left_out.items() if item[0].startswith(".claude")]
    assert NESTED in path
    assert reason
    palace = open_at(isolation.palace)
    (drawer,) = holders(palace, "zqpanda")
    assert (drawer.wing, drawer.source_file) == ("my-app", "README.md")
    assert run("audit", "--json").json["complete"]


def test_the_same_without_a_git_binary(mempal, isolation, places):
    done = mempal("mine", places / "my-app", "--json", env=NO_GIT)
    assert done.code == 0
    assert done.json["drawers"]["added"] == 2
    drawers = list_drawers(open_at(isolation.palace))
    assert sorted(drawer.source_file for drawer in drawers) == sorted(FILES)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_any_spelling_is_one_project(run, isolation, places, spelling):
    first = run("mine", places / "my-app", "--json").json
    again = run("mine", f"{places}/{spelling}", "--json").json
    relative = run("mine", spelling, "--json", cwd=places).json
    for report in (again, relative):
        assert (report["wing"], report["root"]) == (first["wing"], first["root"])
        assert report["drawers"] == {"added": 0, "unchanged": 2, "superseded": 0, "restored": 0}
    assert len(list_drawers(open_at(isolation.palace), history=True)) == 2


@pytest.mark.parametrize("spelling", BELOW)
def test_any_place_in_it_belongs_to_it(run, isolation, places, spelling):
    below = run("mine", f"{places}/{spelling}", "--json").json
    assert (below["wing"], below["root"]) == ("my-app", str(places / "my-app"))
    assert below["drawers"]["added"] == 1
    whole = run("mine", places / "my-app", "--json").json
    assert whole["drawers"]["added"] == 1
    assert len(list_drawers(open_at(isolation.palace), history=True)) == 2


@pytest.mark.parametrize("spelling", [*SPELLINGS, *BELOW[:3]])
def test_a_question_asked_anywhere_in_it_is_about_it(run, places, spelling):
    run("mine", places / "my-app")
    run("add", "zqpanda of another project", "--wing", "other", "--room", "r")
    for folder in (places / spelling, Path(os.path.realpath(places / spelling))):
        found = run(*ASK, "--json", cwd=folder).json
        assert found["wing"] == "my-app"
        assert [hit["wing"] for hit in found["results"]] == ["my-app"]
    assert run("add", "zqnote", "--json", cwd=places / spelling).json["wing"] == "my-app"


@pytest.mark.parametrize(
    ("tree", "wing"), [("wt-feature-x", "wt-feature-x"), (f"my-app/{NESTED}", "modest-otter")]
)
def test_a_working_tree_is_a_project_of_its_own(run, isolation, places, tree, wing):
    run("mine", places / "my-app")
    own = run("mine", places / tree, "--json").json
    assert (own["wing"], own["root"]) == (wing, str(places / tree))
    assert own["drawers"]["added"] == 2
    palace = open_at(isolation.palace)
    assert sorted(drawer.wing for drawer in holders(palace, "zqpanda")) == sorted({"my-app", wing})
    found = run(*ASK, "--json", cwd=places / tree / "src").json
    assert [hit["wing"] for hit in found["results"]] == [wing]
    # The other tree is untouched by that, and by being mined again.
    assert run("mine", places / "my-app", "--json").json["drawers"]["added"] == 0
    assert run("mine", places / tree, "--json").json["drawers"]["added"] == 0
    for root in run("audit", "--json").json["roots"]:
        assert root["complete"]


def test_a_wing_of_choice_joins_them(run, places):
    for tree in ("my-app", "wt-feature-x"):
        assert run("mine", places / tree, "--wing", "app", "--json").json["wing"] == "app"
    assert [wing["wing"] for wing in run("wings", "--json").json["wings"]] == ["app"]
    run("config", "set", "wing", "app")
    for tree in ("my-app", "wt-feature-x", f"my-app/{NESTED}", "alias-to-my-app"):
        found = run(*ASK, "--json", cwd=places / tree).json
        assert found["wing"] == "app"
        assert len(found["results"]) == 2


def test_a_working_tree_that_is_gone_is_no_error(run, isolation, places):
    assert "wt-gone" in run_git(places / "my-app", "worktree", "list")
    done = run("mine", places / "my-app", "--git-log", "--json")
    assert (done.code, done.stderr) == (0, "")
    missing = run("mine", places / "wt-gone")
    assert missing.code == 3
    assert "does not exist" in missing.stderr
    # Mined while it was there: nothing is lost with it, and nothing fails.
    run("mine", places / "wt-feature-x")
    shutil.rmtree(places / "wt-feature-x")
    for command in (
        ("mine", places / "my-app"),
        ("search", "zqpanda", "--all-wings"),
        ("status",),
        ("doctor",),
        ("wake-up",),
    ):
        done = run(*command)
        assert done.code == 0
    verdicts = {
        hit["wing"]: hit["verdict"] for hit in run(*ASK, "--all-wings", "--json").json["results"]
    }
    assert verdicts == {"my-app": "same", "wt-feature-x": "gone"}
    refused = run("sync", "--wing", "wt-feature-x", "--apply")
    assert refused.code != 0
    assert len(holders(open_at(isolation.palace), "zqpanda")) == 2


def test_a_tree_whose_repository_is_gone_is_mined_as_files(run, isolation, places):
    shutil.rmtree(places / "my-app")
    done = run("mine", places / "wt-feature-x", "--json")
    assert done.code == 0
    assert done.json["wing"] == "wt-feature-x"
    assert len(holders(open_at(isolation.palace), "zqpanda")) == 1
