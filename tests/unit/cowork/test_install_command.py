"""The options of both commands, and what they print."""

import json

import pytest
import typer

from mempal.cli import hooks
from mempal.core.errors import UsageError
from mempal.cowork.install import Report, Result


@pytest.fixture
def run(tmp_path, monkeypatch, capsysbinary):
    """Return a function that runs one of the commands in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command("install")(hooks.cowork_install_hooks)
    app.command("uninstall")(hooks.cowork_uninstall_hooks)

    def call(*arguments):
        app(list(arguments), standalone_mode=False)
        captured = capsysbinary.readouterr()
        return captured.out.decode(), captured.err.decode()

    return call


@pytest.mark.parametrize(
    ("hosts", "scopes", "global_codex", "expected"),
    [
        ((False, False), (False, False), False, ["claude project"]),
        ((False, False), (False, True), False, ["claude user"]),
        ((False, True), (False, False), False, ["codex project"]),
        ((False, True), (False, True), False, ["codex user"]),
        ((True, True), (True, False), False, ["claude project", "codex project"]),
        ((False, False), (False, False), True, ["claude project", "codex user"]),
        ((False, True), (False, True), True, ["codex user"]),
    ],
)
def test_options_choose_the_files(hosts, scopes, global_codex, expected):
    targets = hooks.choose_targets(hosts, scopes, global_codex=global_codex)
    assert [" ".join(target) for target in targets] == expected


def test_two_scopes_are_one_too_many():
    with pytest.raises(UsageError):
        hooks.choose_targets((True, False), (True, True), global_codex=False)


def test_what_is_said(run, tmp_path, isolation):
    claude = tmp_path / ".claude" / "settings.json"
    codex = isolation.home / ".codex" / "hooks.json"
    printed, _ = run("install", "--global-codex")
    assert printed.startswith(
        f"registered Claude Code hook: {claude}\nmerged Codex hook: {codex}\nnext steps:\n"
    )
    assert "codex exec" in printed
    printed, _ = run("install", "--global-codex")
    assert printed.startswith(f"already registered: {claude}\nalready installed: {codex}\n")
    for path in (claude, codex):
        path.write_text(path.read_text().replace("/mempal ", "/old/mempal "))
    printed, _ = run("install", "--global-codex")
    assert printed.startswith(f"healed stale Claude Code drain hook: {claude}\n")
    assert f"\nhealed stale Codex drain hook: {codex}\n" in printed
    printed, _ = run("uninstall", "--global-codex")
    assert printed == f"removed Claude Code hook: {claude}\nremoved Codex hook: {codex}\n"
    printed, _ = run("uninstall")
    assert printed == f"no Claude Code hook of mempal: {claude}\n"


def test_a_dry_run_prints_the_difference(run, tmp_path):
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(b'{\r\n  "a": 1\r\n}\r\n')
    printed, _ = run("install", "--dry-run")
    lines = printed.splitlines()
    assert lines[1:6] == [f"--- {path}", f"+++ {path}", "@@ -1,3 +1,16 @@", " {", '-  "a": 1']
    assert '+  "a": 1,' in lines
    assert "dry run: nothing was written" in lines
    assert path.read_bytes() == b'{\r\n  "a": 1\r\n}\r\n'


def test_the_document(run, tmp_path, isolation):
    config = isolation.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text("features.hooks = false")
    path = tmp_path / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_text('{"hooks":{}}')
    printed, told = run("install", "--codex", "--json")
    document = json.loads(printed)
    assert told == ""
    assert set(document) == {"dry_run", "results", "next_steps", "warnings"}
    assert document["dry_run"] is False
    (result,) = document["results"]
    assert {name: result[name] for name in ("host", "scope", "path", "action", "backup")} == {
        "host": "codex",
        "scope": "project",
        "path": str(path),
        "action": "registered",
        "backup": f"{path}.mempal-backup",
    }
    assert result["command"] in result["diff"]
    assert len(document["warnings"]) == 1
    _, told = run("install", "--codex")
    assert told == f"warning: {document['warnings'][0]}\n"


def test_a_named_palace_is_named_to_the_hook(run, tmp_path):
    run("install", "--home", "palace of mine")
    command = json.loads((tmp_path / ".claude" / "settings.json").read_text())
    (group,) = command["hooks"]["UserPromptSubmit"]
    assert group["hooks"][0]["command"].endswith(f" --home '{tmp_path}/palace of mine'")


@pytest.mark.parametrize("action", ["registered", "unchanged", "healed", "removed", "absent"])
@pytest.mark.parametrize("host", ["claude", "codex"])
def test_every_outcome_has_words(host, action):
    result = Result(host, "user", "/s.json", action, None, "", None)
    (line,) = hooks.show_hooks(Report(dry_run=False, results=(result,), next_steps=(), warnings=()))
    assert line.text.endswith(": /s.json")
