"""``mempal mine``: store a tree's files as drawers."""

from pathlib import Path
from typing import Annotated

import typer

from mempal.cli import documents, render, views
from mempal.cli.options import (
    HomeOption,
    JsonOption,
    RoomOption,
    WingOption,
    parse_size,
)
from mempal.cli.progress import open_progress
from mempal.cli.session import open_palace
from mempal.core.errors import UsageError
from mempal.core.reports import MineMode, MineOptions, MineReport

PathsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[PATH]...", help="Trees or files to mine (default: .)."),
]
ModeOption = Annotated[MineMode, typer.Option("--mode", help="What files are read as.")]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-file", metavar="FILE", help="One more file of ignore rules; repeatable."
    ),
]
NoGitignoreOption = Annotated[bool, typer.Option("--no-gitignore", help="Leave git's rules out.")]
NoMempalignoreOption = Annotated[
    bool, typer.Option("--no-mempalignore", help="Leave .mempalignore out.")
]
SizeOption = Annotated[
    str | None,
    typer.Option("--limit-file-size", metavar="BYTES", help="Skip larger files; 512k, 2MB."),
]
GitLogOption = Annotated[
    bool, typer.Option("--git-log", help="Store the commits of the repository, too.")
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="REV_OR_DATE", help="Only commits since then."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Store nothing, say what would be.")]


def mine(
    paths: PathsArgument = None,
    wing: WingOption = None,
    room: RoomOption = None,
    mode: ModeOption = MineMode.AUTO,
    git_log: GitLogOption = False,
    since: SinceOption = None,
    ignore_file: IgnoreOption = None,
    no_gitignore: NoGitignoreOption = False,
    no_mempalignore: NoMempalignoreOption = False,
    limit_file_size: SizeOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Store a tree's files and transcripts, cited and searchable."""
    _check(paths, git_log=git_log, since=since)
    palace = open_palace(home)
    options = MineOptions(
        wing=wing or None,
        room=room or None,
        mode=mode,
        ignore_files=tuple(ignore_file or ()),
        use_gitignore=not no_gitignore,
        use_mempalignore=not no_mempalignore,
        limit_file_size=parse_size(limit_file_size, palace.config.number("mine.limit_file_size")),
        dry_run=dry_run,
        git_log=git_log,
        since=since,
    )
    with open_progress() as progress:
        report = palace.mining.mine([Path(path) for path in paths or ["."]], options, progress)
    render.answer(
        report,
        as_json=as_json,
        document=documents.describe_mining,
        view=views.show_mining,
        warnings=report.warnings,
        next_step=_name_next_step(report),
    )


def _check(paths: list[str] | None, *, git_log: bool, since: str | None) -> None:
    if since and not git_log:
        raise UsageError("--since is about commits", hint="give --git-log with it")
    if "" in (paths or ()):
        raise UsageError("an empty path names nothing", hint="a variable may not be set; . is here")


def _name_next_step(report: MineReport) -> str:
    if not report.gone:
        return ""
    files = "1 file is gone that" if report.gone == 1 else f"{report.gone} files are gone that"
    return f"{files} something is stored of; `mempal sync --wing {report.wing}` lists them"
