"""The command line as a whole: registration, global options, and where errors end."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from mempal.cli import app
from mempal.core.errors import (
    BusyError,
    DamagedError,
    EmbedderMismatchError,
    MempalError,
    NotFoundError,
)

Run = Callable[..., Any]

COMMANDS = (
    "mine",
    "ingest",
    "search",
    "wake-up",
    "add",
    "check-duplicate",
    "show",
    "wings",
    "rooms",
    "sync",
    "delete",
    "restore",
    "purge",
    "forget",
    "runs",
    "undo",
    "export",
    "import",
    "backup",
    "check-duplicate",
    "status",
    "doctor",
    "audit",
    "reindex",
    "config",
    "config get",
    "config set",
    "config list",
    "cowork-push",
    "cowork-drain",
    "cowork-status",
    "cowork-receipts",
    "cowork-peek",
    "cowork-install-hooks",
    "cowork-uninstall-hooks",
)


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_has_help_with_an_example_in_plain_ascii(command: str, flag: str, run: Run):
    printed = run(*command.split(), flag)
    assert printed.code == 0
    assert printed.out.isascii()
    assert "\x1b" not in printed.out
    assert re.search(r"Example: mempal \w+", printed.out)


def test_every_command_that_prints_takes_json_and_home():
    def leaves(command: Any, path: str = "") -> Any:
        if not hasattr(command, "commands"):
            yield path.strip(), command
        for name, below in getattr(command, "commands", {}).items():
            yield from leaves(below, f"{path} {name}")

    found = dict(leaves(get_command(app.build_app(rich=False))))
    assert set(found) == set(COMMANDS) - {"config"}
    for name, command in found.items():
        spelled = {option for parameter in command.params for option in parameter.opts}
        wanted = {"--home"} if name == "cowork-drain" else {"--json", "--home"}
        assert wanted <= spelled, name  # what hosts read has formats of its own


def test_no_argument_prints_help(run: Run):
    printed = run()
    assert (printed.code, printed.err) == (0, "")
    assert "Commands:" in printed.out


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version_is_answered_behind_other_options_too(flag: str, run: Run):
    assert re.fullmatch(r"mempal \d+\.\d+\.\d+\n", run("--home", "x", flag).out)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--home", "{}", "status"),
        ("status", "--home", "{}"),
        ("--home", "/x", "status", "--home={}"),
    ],
)
def test_home_is_taken_before_and_after_the_command(
    arguments: tuple[str, ...], run: Run, palace: Any, tmp_path: Path
):
    place = tmp_path / "elsewhere"
    assert run(*(argument.format(place) for argument in arguments)).code == 0
    assert palace.home == place


def test_the_environment_names_the_home(run: Run, palace: Any, isolation: Any):
    run("status")
    assert palace.home == isolation.palace


def test_json_may_stand_before_the_command(run: Run, palace: Any):
    assert run("--json", "status").json["exists"] is False


ERRORS = [
    (NotFoundError("no such drawer", hint="look"), 3, "not_found", False),
    (BusyError("held by 7", hint="wait"), 4, "busy", True),
    (DamagedError("palace.db is damaged", hint="restore it"), 1, "damaged", False),
    (EmbedderMismatchError("a-1", "b-2"), 1, "embedder_mismatch", False),
    (MempalError("failed"), 1, "failed", False),
    (KeyboardInterrupt(), 130, "interrupted", True),
    (PermissionError(13, "Permission denied", "/p/palace.db"), 1, "system", False),
    (ZeroDivisionError("private line"), 70, "bug", False),
]


@pytest.mark.parametrize(("error", "code", "name", "retryable"), ERRORS)
def test_every_error_ends_in_its_exit_code_and_one_json_document(
    error: BaseException, code: int, name: str, retryable: bool, run: Run, palace: Any
):
    palace.answers["status"] = error
    printed = run("status", "--json")
    assert printed.code == code
    assert set(printed.json) == {"error"}
    document = printed.json["error"]
    assert set(document) == {"code", "message", "hint", "retryable"}
    assert (document["code"], document["retryable"]) == (name, retryable)
    assert printed.err.startswith(f"error: {document['message']}\n")
    assert "Traceback" not in printed.err


@pytest.mark.parametrize(("error", "code", "name", "retryable"), ERRORS)
def test_without_json_stdout_stays_empty(
    error: BaseException, code: int, name: str, retryable: bool, run: Run, palace: Any
):
    palace.answers["search"] = error
    printed = run("search", "x")
    assert (printed.code, printed.out) == (code, "")
    assert printed.err.startswith("error: ")
    assert "Traceback" not in printed.err


def test_an_error_names_the_next_step(run: Run, palace: Any):
    palace.answers["status"] = NotFoundError("not here", hint="look there")
    assert run("status").err == "error: not here\nhint: look there\n"


def test_debugging_shows_the_traceback(run: Run, palace: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMPAL_DEBUG", "1")
    palace.answers["status"] = ZeroDivisionError("deep inside")
    printed = run("status")
    assert printed.code == 70
    assert "Traceback (most recent call last)" in printed.err


def test_a_bug_is_told_in_one_line(run: Run, palace: Any):
    palace.answers["status"] = ValueError("first line\n" + "second line" * 100)
    error, hint = run("status").err.splitlines()
    assert error == "error: this is a bug in mempal: ValueError: first line"
    assert "MEMPAL_DEBUG=1" in hint


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("search",),
        ("search", "x", "--frobnicate"),
        ("search", "-rf"),
        ("search", "x", "-n", "many"),
        ("search", "x", "-n", "0"),
        ("search", "x", "--mode", "psychic"),
        ("search", "x", "--as-of", "yesterday"),
        ("search", "x", "--wing", "a", "--all-wings"),
        ("search", "x", "--context", "-1"),
        ("add", "x", "--importance", "6"),
        ("mine", "--limit-file-size", "huge"),
        ("show",),
        ("config",),
        ("config", "get", "no.such.key"),
    ],
)
def test_wrong_usage_exits_with_2_in_both_forms(arguments: tuple[str, ...], run: Run, palace: Any):
    printed = run(*arguments)
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.startswith("error: ")
    printed = run(arguments[0], "--json", *arguments[1:])
    assert printed.code == 2
    assert printed.json["error"]["code"] == "usage"


def test_a_usage_error_names_the_help_of_its_command(run: Run):
    assert "hint: see mempal search --help" in run("search", "--frobnicate").err


def test_json_behind_a_double_dash_is_a_word_not_an_option(run: Run, palace: Any):
    palace.answers["search"] = NotFoundError("x")
    assert run("search", "--", "--json").out == ""


def test_words_that_look_like_options_are_searched_behind_a_double_dash(run: Run, palace: Any):
    assert run("search", "--", "-rf").code == 0
    assert palace.called("search")[0][0] == "-rf"


def test_an_aborted_prompt_counts_as_an_interruption(run: Run, palace: Any):
    palace.answers["status"] = typer.Abort()
    assert run("status").code == 130


def test_completion_lists_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("_MEMPAL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "mempal se")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit) as leaving:
        app.main([])
    assert leaving.value.code == 0
    assert capsys.readouterr().out == "search\n"


def test_help_that_meets_a_closed_pipe_is_no_error(monkeypatch: pytest.MonkeyPatch):
    class Closed:
        encoding = "utf-8"
        closed = False

        def isatty(self) -> bool:
            return False

        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

        def flush(self) -> None:
            raise BrokenPipeError(32, "Broken pipe")

        def fileno(self) -> int:
            raise OSError

    monkeypatch.setattr(sys, "stdout", Closed())
    code = app.main(["--help"])
    monkeypatch.undo()
    assert code == 0


def test_json_errors_hold_names_that_are_no_text(run: Run, palace: Any):
    palace.answers["status"] = NotFoundError("caf\udce9 is not there")
    assert json.loads(run("status", "--json").out)["error"]["message"] == "caf\ufffd is not there"
