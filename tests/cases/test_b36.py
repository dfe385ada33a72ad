"""Hooks are merged into settings of every condition, and nothing of the user's is lost.

Installers replaced the user's hooks, wiped settings they could not parse, stacked duplicates or
missed stale entries (JuliusBrussee/cavemem#12, eltmon/overdeck#1137,
tirth8205/code-review-graph#263).
"""

import copy
import json
import os
import shutil
from pathlib import Path

import pytest

from mempal.core.errors import ConfigError
from mempal.cowork.install import install_hooks, uninstall_hooks
from tests.cases.support import fingerprint

CASE = Path(__file__).parent / "data" / "B36"
CLAUDE, CODEX = ("claude", "project"), ("codex", "project")
REFUSED = {
    "array": ":1: the document is an array",
    "comments": ":1: a comment",
    "empty": ":1: the file is empty",
    "event-wrong-type": ':1: "UserPromptSubmit" is an object',
    "hooks-wrong-type": ':1: "hooks" is an array',
    "trailing-comma": ":1: a comma before '}'",
    "truncated": ":1: a value is missing",
}
MERGED = ["bom", "crlf", "plain"]


@pytest.fixture
def place(tmp_path):
    """Return a function that lays out one variant as a project of its own."""

    def lay_out(name):
        project = Path(shutil.copytree(CASE / "variants" / name, tmp_path / name))
        (project / ".git").mkdir()
        return project

    return lay_out


def load(path):
    return json.loads(path.read_bytes().decode("utf-8-sig"))


def list_commands(path):
    groups = load(path)["hooks"]["UserPromptSubmit"]
    return [handler["command"] for group in groups for handler in group["hooks"]]


def run(verb, project, target=CLAUDE):
    (result,) = verb([target], project, dry_run=False).results
    return result


def test_each_variant_of_the_case_is_judged():
    assert {path.name for path in (CASE / "variants").iterdir()} == {*REFUSED, *MERGED, "stale"}


@pytest.mark.parametrize("verb", [install_hooks, uninstall_hooks])
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_understood_is_refused(place, name, verb):
    project = place(name)
    before = fingerprint(project)
    path = project / ".claude" / "settings.json"
    with pytest.raises(ConfigError) as caught:
        run(verb, project)
    assert caught.value.message.startswith(f"{path}{REFUSED[name]}")
    assert caught.value.hint
    assert fingerprint(project) == before


@pytest.mark.parametrize("name", MERGED)
def test_three_runs_add_one_handler_and_keep_the_rest(place, name):
    project = place(name)
    path = project / ".claude" / "settings.json"
    before, settings = path.read_bytes(), load(path)
    done = [run(install_hooks, project) for _ in range(3)]
    assert [one.action for one in done] == ["registered", "unchanged", "unchanged"]
    expected = copy.deepcopy(settings)
    handler = {"type": "command", "command": done[0].command, "timeout": 10}
    expected["hooks"]["UserPromptSubmit"].append({"hooks": [handler]})
    after = path.read_bytes()
    assert json.dumps(load(path)) == json.dumps(expected)
    assert Path(done[0].backup).read_bytes() == before
    assert after.startswith(b"\xef\xbb\xbf") == before.startswith(b"\xef\xbb\xbf")
    if b"\r\n" in before:
        assert after.count(b"\n") == after.count(b"\r\n")
    assert run(uninstall_hooks, project).action == "removed"
    assert path.read_bytes() == before


def test_stale_handlers_are_healed_and_a_mention_stays(place):
    project = place("stale")
    path = project / ".claude" / "settings.json"
    mention = "echo mine-3 # mentions mempal cowork-drain in a comment"
    done = [run(install_hooks, project) for _ in range(3)]
    assert [one.action for one in done] == ["healed", "unchanged", "unchanged"]
    assert list_commands(path) == [done[0].command, mention]
    run(uninstall_hooks, project)
    assert list_commands(path) == [mention]


def test_a_link_stays_and_its_target_is_edited(tmp_path):
    target = tmp_path / "dotfiles" / "claude-settings.json"
    target.parent.mkdir()
    stop = [{"hooks": [{"type": "command", "command": "echo linked"}]}]
    target.write_text(json.dumps({"hooks": {"Stop": stop}}) + "\n")
    before = target.read_bytes()
    link = tmp_path / "symlink" / ".claude" / "settings.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    for action in ("registered", "unchanged", "unchanged"):
        assert run(install_hooks, tmp_path / "symlink").action == action
    assert link.is_symlink()
    assert len(list_commands(target)) == 1
    assert load(target)["hooks"]["Stop"] == stop
    run(uninstall_hooks, tmp_path / "symlink")
    assert link.is_symlink()
    assert target.read_bytes() == before


@pytest.mark.parametrize("locked", ["file", "folder"])
def test_what_is_read_only_is_told_and_left(tmp_path, monkeypatch, locked):
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"hooks":{}}')
    what = path if locked == "file" else path.parent
    mode = what.stat().st_mode
    what.chmod(0o444 if locked == "file" else 0o555)
    if os.geteuid() == 0:  # whom no permission binds
        access = os.access
        monkeypatch.setattr(os, "access", lambda at, how: Path(at) != what and access(at, how))
    try:
        with pytest.raises(ConfigError) as caught:
            run(install_hooks, tmp_path)
        assert caught.value.message == f"{what} is read-only"
        assert path.read_text() == '{"hooks":{}}'
        assert [entry.name for entry in path.parent.iterdir()] == ["settings.json"]
    finally:
        what.chmod(mode)


def test_an_odd_folder_name(tmp_path):
    project = tmp_path / "dir with space & 'quote'"
    project.mkdir()
    path = project / ".claude" / "settings.json"
    for action in ("registered", "unchanged", "unchanged"):
        assert run(install_hooks, project).action == action
    assert len(list_commands(path)) == 1
    run(uninstall_hooks, project)
    assert not path.exists()


def test_codex_hooks_are_healed_in_place(tmp_path):
    project = tmp_path / "project"
    path = project / ".codex" / "hooks.json"
    path.parent.mkdir(parents=True)
    shutil.copyfile(CASE / "codex" / "hooks.json", path)
    done = [run(install_hooks, project, CODEX) for _ in range(3)]
    assert [one.action for one in done] == ["healed", "unchanged", "unchanged"]
    assert list_commands(path) == [done[0].command, "echo other-tool"]
    assert "--target codex --format codex-hook-json --cwd-source stdin-json" in done[0].command
    settings = load(path)
    assert list(settings) == ["hooks"]
    assert settings["hooks"]["SessionStart"] == []
    handler = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    assert handler["statusMessage"] == "mempal cowork drain"
    run(uninstall_hooks, project, CODEX)
    assert list_commands(path) == ["echo other-tool"]
