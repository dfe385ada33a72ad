"""The command line: which commands there are, and where their errors end.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 busy, 70 a bug of ours, 130 interrupted.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import typer
from typer.main import get_command

from mempal import __version__
from mempal.cli import (
    archive,
    cowork,
    drawers,
    duplicates,
    failures,
    hooks,
    mine,
    peek,
    removal,
    render,
    runs,
    search,
    settings,
    streams,
    sync,
    upkeep,
)
from mempal.cli.coercion import shorten
from mempal.cli.options import HomeOption, JsonOption

Command = tuple[str, Callable[..., None], str]

_COMMANDS: tuple[Command, ...] = (
    ("mine", mine.mine, "mempal mine ~/src/shop --wing shop"),
    ("search", search.search, "mempal search 'where are invoices rounded' -n 5"),
    ("wake-up", search.wake_up, "mempal wake-up --wing shop --max-tokens 600"),
    ("add", drawers.add, "mempal add 'Deploys wait for QA.' --room decisions"),
    (
        "check-duplicate",
        duplicates.check_duplicate,
        "mempal check-duplicate 'Deploys wait for QA.' --threshold 0.85",
    ),
    ("show", drawers.show, "mempal show drawer_4f2a"),
    ("sync", sync.sync, "mempal sync --wing shop --apply"),
    ("delete", removal.delete, "mempal delete drawer_4f2a"),
    ("restore", removal.restore, "mempal restore drawer_4f2a"),
    ("purge", removal.purge, "mempal purge --before 2026-01-01 --dry-run"),
    ("forget", removal.forget, "mempal forget --source notes/private.md --apply"),
    ("runs", runs.runs, "mempal runs -n 5"),
    ("undo", runs.undo, "mempal undo 12"),
    ("wings", drawers.wings, "mempal wings --json"),
    ("rooms", drawers.rooms, "mempal rooms --wing shop"),
    ("status", upkeep.status, "mempal status --json"),
    ("doctor", upkeep.doctor, "mempal doctor"),
    ("audit", upkeep.audit, "mempal audit --wing shop"),
    ("reindex", upkeep.reindex, "mempal reindex --reembed"),
    ("export", archive.export, "mempal export palace.jsonl"),
    ("import", archive.import_, "mempal import palace.jsonl"),
    ("backup", archive.backup, "mempal backup palace-backup.db --force"),
    ("cowork-push", cowork.cowork_push, "mempal cowork-push --to codex 'Review the retry code.'"),
    ("cowork-drain", cowork.cowork_drain, "mempal cowork-drain --cwd-source stdin-json"),
    ("cowork-status", cowork.cowork_status, "mempal cowork-status --cwd ~/src/shop"),
    ("cowork-receipts", cowork.cowork_receipts, "mempal cowork-receipts --limit 5"),
    (
        "cowork-install-hooks",
        hooks.cowork_install_hooks,
        "mempal cowork-install-hooks --claude --codex --dry-run",
    ),
    (
        "cowork-uninstall-hooks",
        hooks.cowork_uninstall_hooks,
        "mempal cowork-uninstall-hooks --codex",
    ),
    ("cowork-peek", peek.cowork_peek, "mempal cowork-peek --tool codex --limit 10"),
)
_CONFIG_COMMANDS: tuple[Command, ...] = (
    ("get", settings.get, "mempal config get wing"),
    ("set", settings.set_, "mempal config set index.backend exact"),
    ("list", settings.list_all, "mempal config list"),
)


def _print_version(value: bool) -> None:
    if value:
        streams.write_output(f"mempal {__version__}\n")
        raise typer.Exit


VersionOption = Annotated[
    bool,
    typer.Option(
        "--version", "-V", help="Print the version.", callback=_print_version, is_eager=True
    ),
]


def _accept_global_options(
    home: HomeOption = None, as_json: JsonOption = False, version: VersionOption = False
) -> None:
    """Local-first project memory: mine a repository, find it again, cited, offline."""


def build_app(*, rich: bool) -> typer.Typer:
    """Register every command.

    Args:
        rich: Whether help is drawn with panels and colours.
    """
    markup: Literal["rich"] | None = "rich" if rich else None
    app = typer.Typer(
        rich_markup_mode=markup,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(epilog="Example: mempal mine . && mempal search 'retry with backoff'")(
        _accept_global_options
    )
    for name, command, example in _COMMANDS:
        app.command(name, epilog=f"Example: {example}")(command)
    app.command("ingest", hidden=True, epilog="Example: mempal mine .")(mine.mine)
    config = typer.Typer(
        help="Read and change config.toml.",
        rich_markup_mode=markup,
        epilog="Example: mempal config get index.backend",
    )
    for name, command, example in _CONFIG_COMMANDS:
        config.command(name, epilog=f"Example: {example}")(command)
    app.add_typer(config, name="config")
    return app


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; nothing is raised."""
    try:
        return _run(list(arguments))
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - here every error ends
        failure = failures.explain(error)
        render.print_error(failure, as_json=_wants_json(arguments))
        return failure.exit_code


def _run(arguments: list[str]) -> int:
    command = get_command(build_app(rich=streams.is_terminal(sys.stdout)))
    shorten(command)
    try:
        code = command.main(arguments or ["--help"], prog_name="mempal", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except SystemExit as leaving:  # shell completion is done, or help met a closed pipe
        if not isinstance(leaving.__context__, BrokenPipeError):
            raise
        streams.silence()
        return 0
    if code == failures.EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    return code or 0


def _wants_json(arguments: Sequence[str]) -> bool:
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options
