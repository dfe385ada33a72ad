"""What is ours in a settings file, where the files are, and what is written into them."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mempal.core.errors import ConfigError
from mempal.cowork.install import hosts, install_hooks, merge, uninstall_hooks
from mempal.cowork.install.owner import Owner, runs_drain
from mempal.cowork.install.tree import Kind, parse

CLAUDE, CODEX = ("claude", "project"), ("codex", "project")
ALONE = {"hooks": {"E": [{"hooks": [{"H": 1}]}]}}
REFERENCE = "bash .claude/hooks/user-prompt-submit.sh"
SCRIPT = """\
#!/usr/bin/env bash
# Written by an installer.
mempal cowork-drain --target claude \\
  --cwd "${CLAUDE_PROJECT_CWD:-$PWD}" 2>/dev/null || true
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def settings(project):
    path = project / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


def install(project, *targets, **options):
    return install_hooks(targets or [CLAUDE], project, dry_run=False, **options)


def uninstall(project, *targets):
    return uninstall_hooks(targets or [CLAUDE], project, dry_run=False)


def with_handlers(*handlers):
    return json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": list(handlers)}]}})


def handlers_of(path):
    groups = json.loads(path.read_text())["hooks"]["UserPromptSubmit"]
    return [handler for group in groups for handler in group["hooks"]]


# --- ownership ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "mempal cowork-drain",
        "mempal cowork-drain --target codex --format codex-hook-json --cwd-source stdin-json",
        "'/home/a b/.venv/bin/mempal' cowork-drain --target claude",
        '"C:\\\\Tools\\\\mempal.exe" cowork-drain',
        "python3.12 -m mempal cowork-drain",
        "/usr/bin/python -m mempal cowork-drain || true",
        "mempal cowork-drain --cwd . 2>/dev/null || true",
        "mempal cowork-drain || exit 0",
        "/old/venv/bin/mempal cowork drain --target claude --cwd .",
    ],
)
def test_drains_are_ours(line):
    assert runs_drain(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "echo mine # mempal cowork-drain",
        "echo 'mempal cowork-drain'",
        "mempal cowork-drained",
        "mempal cowork-status",
        "mempal search cowork-drain",
        "mempalace cowork-drain",
        "mempal cowork-drain; make notes",
        "mempal cowork-drain && make notes",
        "mempal cowork-drain | tee log",
        "(mempal cowork-drain)",
        "mempal cowork-drain\nmake notes",
        "mempal cowork-drain 'never closed",
        "python -m mempalace cowork-drain",
        "python mempal cowork-drain",
    ],
)
def test_what_does_something_else_too_is_not(line):
    assert not runs_drain(line)


@pytest.mark.parametrize(
    ("handler", "ours"),
    [
        ({"command": "mempal", "args": ["cowork-drain"]}, True),
        ({"command": "mempal", "args": ["search", "cowork-drain"]}, False),
        ({"type": "prompt", "command": "mempal cowork-drain"}, False),
        ({"command": ["mempal", "cowork-drain"]}, False),
        ({"prompt": "mempal cowork-drain"}, False),
        ("mempal cowork-drain", False),
    ],
)
def test_the_parts_of_a_handler_count(tmp_path, handler, ours):
    assert Owner(tmp_path).owns(parse(json.dumps(handler), "s.json")) is ours


@pytest.mark.parametrize("command", [REFERENCE, '"$CLAUDE_PROJECT_DIR"/' + REFERENCE[5:]])
def test_the_former_script_is_healed_and_left(project, settings, command):
    script = project / ".claude" / "hooks" / "user-prompt-submit.sh"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    settings.write_text(with_handlers({"type": "command", "command": command}))
    report = install(project)
    assert report.results[0].action == "healed"
    (handler,) = handlers_of(settings)
    assert handler == {"type": "command", "command": report.results[0].command, "timeout": 10}
    assert script.read_text() == SCRIPT
    assert f"{script} is not used any more" in report.next_steps


@pytest.mark.parametrize("text", [None, SCRIPT + "make notes\n", "make notes\n"])
def test_a_script_that_is_the_users_is_kept(project, settings, text):
    if text is not None:
        script = project / ".claude" / "hooks" / "user-prompt-submit.sh"
        script.parent.mkdir()
        script.write_text(text)
    settings.write_text(with_handlers({"type": "command", "command": REFERENCE}))
    assert install(project).results[0].action == "registered"
    assert handlers_of(settings)[0]["command"] == REFERENCE
    assert len(handlers_of(settings)) == 2


# --- healing --------------------------------------------------------------------------------------


def test_what_a_user_added_to_our_handler_stays(project, settings):
    ours = {"note": 1, "command": "mempal cowork-drain", "timeout": 3, "type": "command", "x": []}
    sibling = {"type": "command", "command": "echo sibling"}
    settings.write_text(with_handlers(sibling, ours))
    command = install(project).results[0].command
    assert json.dumps(handlers_of(settings)) == json.dumps([sibling, {**ours, "command": command}])
    settings.write_text(settings.read_text().replace('"timeout": 3, ', ""))
    before = settings.read_bytes()
    assert install(project).results[0].action == "unchanged"
    assert settings.read_bytes() == before


def test_a_kind_that_is_missing_is_put_in(project, settings):
    command = install(project).results[0].command
    settings.write_text(with_handlers({"command": command, "timeout": 3}))
    assert install(project).results[0].action == "healed"
    assert handlers_of(settings) == [{"command": command, "timeout": 3, "type": "command"}]


def test_arguments_of_their_own_give_way_to_the_line(project, settings):
    ours = {"type": "command", "command": "mempal", "args": ["cowork-drain"]}
    settings.write_text(with_handlers(ours))
    command = install(project).results[0].command
    assert handlers_of(settings) == [{"type": "command", "command": command, "timeout": 10}]


def test_duplicates_go_and_take_only_empty_groups_along(project, settings):
    command = install(project).results[0].command
    ours = {"type": "command", "command": command}
    other = {"type": "command", "command": "echo other"}
    groups = [{"matcher": "", "hooks": [ours]}, {"hooks": [other, ours]}, {"hooks": [ours]}]
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": groups}}))
    assert install(project).results[0].action == "healed"
    left = json.loads(settings.read_text())["hooks"]["UserPromptSubmit"]
    assert left == [groups[0], {"hooks": [other]}]


# --- layout ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}', '{"a":1,"hooks":{"E":[{"hooks":[H]}]}}'),
        ('{ "a": 1 }', '{ "a": 1, "hooks": {"E": [{"hooks": [H]}]} }'),
        ('{"hooks":{"E":[]}}', '{"hooks":{"E":[{"hooks":[H]}]}}'),
        ('{"hooks":{"E":[ 1,2 ]}}', '{"hooks":{"E":[ 1,2,{"hooks":[H]} ]}}'),
        ('{\n\t"hooks": {\n\t\t"E": []\n\t}\n}', json.dumps(ALONE, indent="\t")),
        (
            '{\r\n "hooks": {"E": [3]}\r\n}\r\n',
            '{\r\n "hooks": {"E": [3, {"hooks": [H]}]}\r\n}\r\n',
        ),
        ("{\n}\n", json.dumps(ALONE, indent=2) + "\n"),
    ],
)
def test_what_is_put_in_looks_like_what_is_there(tmp_path, before, after):
    def spell(text):
        return text.replace('"E"', '"UserPromptSubmit"')

    done, _ = merge.register(spell(before), "s.json", {"H": 1}, Owner(tmp_path))
    flat = '{"H": 1}' if '": ' in before else '{"H":1}'
    assert done == spell(after).replace("[H]", f"[{flat}]")


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('{"a": 1,\n"a": 2}', 2, 'the name "a" a second time'),
        ('{"a": {"b": 1,\n"\\u0062": 2}}', 2, 'the name "b" a second time'),
        ('{"a": 1}\n{}', 2, "text after the end"),
        ('{"a" 1}', 1, "':' is missing"),
        ("{a: 1}", 1, "a name in quotes is missing"),
        ("{'a': 1}", 1, "a name in quotes is missing"),
        ('{"a": 1 "b": 2}', 1, "',' or '}' is missing"),
        ('{"a": NaN}', 1, "a value is missing"),
        ('{"a": -Infinity}', 1, "no JSON value"),
        ('{"a": "one\ntwo"}', 1, "invalid control character"),
        ('{"a": "never closed', 1, "unterminated string"),
        ('{"a": 1} // done', 1, "a comment"),
        ("[" * 5000, 1, "nested deeper"),
        ("  \n ", 1, "the file is empty"),
        ("null", 1, "the document is a number, true, false or null"),
        ('{"a":\n01}', 2, "',' or '}' is missing"),
    ],
)
def test_a_refusal_names_the_line(project, settings, text, line, why):
    settings.write_text(text)
    for verb in (install, uninstall):
        with pytest.raises(ConfigError) as caught:
            verb(project)
        assert caught.value.message.startswith(f"{settings}:{line}: {why}")
        assert settings.read_text() == text


def test_what_is_not_utf8_is_refused(project, settings):
    settings.write_bytes(b'{"a":\n"\xff"}')
    with pytest.raises(ConfigError, match=":2: not UTF-8 text"):
        install(project)


def test_numbers_of_any_length_are_kept(project, settings):
    settings.write_text('{"a": %s, "b": 1e999, "c": -0.0}' % ("9" * 5000))
    before = settings.read_text()
    install(project)
    assert settings.read_text().startswith(before[:-1])
    assert parse(settings.read_text(), "s.json").items[0].kind is Kind.OTHER


def test_one_bad_file_keeps_the_others_from_being_written(project, settings):
    settings.write_text("{}")
    (project / ".codex").mkdir()
    (project / ".codex" / "hooks.json").write_text("{,}")
    with pytest.raises(ConfigError, match=r"hooks\.json:1: "):
        install(project, CLAUDE, CODEX)
    assert settings.read_text() == "{}"


# --- places ---------------------------------------------------------------------------------------


def test_projects_are_found_from_below_and_users_by_their_variables(
    project, isolation, monkeypatch
):
    below = project / "a" / "b"
    below.mkdir(parents=True)
    home = isolation.home
    found = {
        (host, scope): hosts.find_place(host, scope, below).path
        for host in ("claude", "codex")
        for scope in ("project", "user")
    }
    assert found == {
        ("claude", "project"): project / ".claude" / "settings.json",
        ("claude", "user"): home / ".claude" / "settings.json",
        ("codex", "project"): project / ".codex" / "hooks.json",
        ("codex", "user"): home / ".codex" / "hooks.json",
    }
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "~/else")
    monkeypatch.setenv("CODEX_HOME", str(project / "codex"))
    assert hosts.find_place("claude", "user", below).path == home / "else" / "settings.json"
    assert hosts.find_place("codex", "user", below).path == project / "codex" / "hooks.json"


def test_a_repository_in_the_home_folder_is_no_project(isolation):
    (isolation.home / ".git").mkdir()
    below = isolation.home / "notes"
    below.mkdir()
    assert hosts.find_place(*CLAUDE, below).root == below
    assert hosts.find_place(*CLAUDE, isolation.home).root == isolation.home


def test_without_a_repository_the_folder_is_the_project(tmp_path):
    assert hosts.find_place(*CLAUDE, tmp_path).root == tmp_path


# --- the command ----------------------------------------------------------------------------------


def lay_program(folder):
    folder.mkdir()
    program = folder / "mempal"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$0" "$@"\n')
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_the_command_survives_a_shell(tmp_path, monkeypatch, host):
    program = lay_program(tmp_path / "a b & 'c' $d")
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    command = hosts.build_command(host, tmp_path / "home's")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        str(program),
        "cowork-drain",
        "--target",
        host,
        "--format",
        f"{host}-hook-json",
        "--cwd-source",
        "stdin-json",
        "--home",
        str(tmp_path / "home's"),
    ]
    assert runs_drain(command)


def test_the_program_is_found_on_the_path_and_links_stay(tmp_path, monkeypatch):
    program = lay_program(tmp_path / "real")
    link = tmp_path / "bin" / "mempal"
    link.parent.mkdir()
    link.symlink_to(program)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(link.parent))
    assert shlex.split(hosts.build_command("claude", None))[:2] == [str(link), "cowork-drain"]


def test_without_a_program_the_interpreter_runs_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    monkeypatch.setenv("PATH", str(tmp_path))
    command = hosts.build_command("claude", None)
    assert shlex.split(command)[:4] == [str(tmp_path / "python3"), "-m", "mempal", "cowork-drain"]
    assert runs_drain(command)


def test_a_path_that_json_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="do not belong"):
        hosts.build_command("claude", Path(f"{tmp_path}/a\udcff"))


# --- Codex's own switch ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (None, None),
        ("", None),
        ("features = 3", None),
        ("[features]\nother = false\n", None),
        ("[features]\nhooks = true\n", None),
        ("features.codex_hooks = true", None),
        ("[features]\nhooks = true\ncodex_hooks = false\n", None),
        ("[features]\nhooks = false\n", "hooks"),
        ("features = {codex_hooks = false}", "codex_hooks"),
    ],
)
def test_only_an_explicit_no_is_warned_of(isolation, text, name):
    path = isolation.home / ".codex" / "config.toml"
    path.parent.mkdir()
    if text is not None:
        path.write_text(text)
    warnings = hosts.warn_of_flag()
    assert len(warnings) == (name is not None)
    if name:
        assert f"`{name}` feature is currently disabled" in warnings[0]
        assert f"codex features enable {name}" in warnings[0]


@pytest.mark.parametrize("data", [b"[features\n", b"\xff"])
def test_a_switch_that_cannot_be_read_is_told(isolation, project, data):
    path = isolation.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(data)
    assert str(path) in install(project, CODEX).warnings[0]
    assert install(project, CLAUDE).warnings == ()
