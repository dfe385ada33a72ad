"""``cowork-peek``: what it prints, and how it refuses."""

import json
import os

import pytest
import typer
from typer.main import get_command

from mempal.cli.peek import cowork_peek
from mempal.core.errors import UsageError

NONE = "codex has no session in this folder"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def rollout(isolation, shop):
    path = isolation.home / ".codex" / "sessions" / "rollout-1.jsonl"
    path.parent.mkdir(parents=True)
    records = [{"type": "session_meta", "payload": {"cwd": str(shop)}}]
    for second, role in enumerate(("user", "assistant")):
        payload = {"type": "message", "role": role, "content": [{"text": f"{role}'s\n\x1b[1mword"}]}
        at = f"2026-04-13T02:00:0{second}Z"
        records.append({"type": "response_item", "timestamp": at, "payload": payload})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    os.utime(path, (1_776_045_600, 1_776_045_600))
    return path


@pytest.fixture
def run(capfd):
    app = typer.Typer()
    app.command("cowork-peek")(cowork_peek)

    def run(*arguments):
        get_command(app).main(list(arguments), standalone_mode=False)
        return capfd.readouterr()

    return run


def test_plain_output(run, rollout):
    assert run("--tool", "codex-cli").out == (
        f"partner=codex active=false session={rollout}\n"
        "[user @ 2026-04-13T02:00:00Z] user's\n\x1b[1mword\n"
        "[assistant @ 2026-04-13T02:00:01Z] assistant's\n\x1b[1mword\n"
    )


@pytest.mark.parametrize("form", [["--json"], ["--format", "json"]])
def test_json(run, rollout, shop, form):
    printed = run("--tool", "codex", "--cwd", str(shop), "--limit", "1", *form)
    message = {"role": "assistant", "at": "2026-04-13T02:00:01Z"}
    assert json.loads(printed.out) == {
        "partner_tool": "codex",
        "session_path": str(rollout),
        "session_mtime": "2026-04-13T02:00:00Z",
        "partner_active": False,
        "messages": [{**message, "text": "assistant's\n\x1b[1mword"}],
        "truncated": True,
    }
    assert printed.err == ""


def test_no_session_is_an_answer(run, shop, isolation):
    printed = run("--tool", "codex", "--since", "yesterday", "--home", str(isolation.palace))
    assert printed.out == "partner=codex active=false session=(none)\n"
    assert NONE in printed.err
    assert json.loads(run("--tool", "codex", "--json").out) == {
        "partner_tool": "codex",
        "session_path": None,
        "session_mtime": None,
        "partner_active": False,
        "messages": [],
        "truncated": False,
    }
    assert not isolation.palace.exists()


def test_since_limits_what_is_shown(run, rollout):
    shown = run("--tool", "codex", "--since", "2026-04-13T02:00:00Z").out
    assert "[assistant" in shown
    assert "[user" not in shown


@pytest.mark.parametrize("tool", ["auto", "bogus"])
def test_a_command_line_has_no_partner(run, shop, tool):
    with pytest.raises(UsageError):
        run("--tool", tool)


def test_a_wrong_time_is_refused(run, rollout):
    with pytest.raises(UsageError, match="'yesterday'"):
        run("--tool", "codex", "--since", "yesterday")


def test_a_deleted_folder_has_to_be_named(run, shop):
    shop.rmdir()
    with pytest.raises(UsageError, match="was deleted"):
        run("--tool", "codex")
    assert run("--tool", "codex", "--cwd", str(shop)).out.endswith("session=(none)\n")
