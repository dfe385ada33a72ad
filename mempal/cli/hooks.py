"""``mempal cowork-install-hooks`` and ``cowork-uninstall-hooks``."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line
from mempal.cli.documents import Document
from mempal.cli.options import HomeOption, JsonOption
from mempal.core.errors import UsageError

if TYPE_CHECKING:
    from mempal.cowork.install import Report, Result

ClaudeOption = Annotated[bool, typer.Option("--claude", help="Claude Code (default).")]
CodexOption = Annotated[bool, typer.Option("--codex", help="Codex.")]
ProjectOption = Annotated[
    bool, typer.Option("--project", help="For this project, at its git root (default).")
]
UserOption = Annotated[bool, typer.Option("--user", help="For every project of yours.")]
GlobalCodexOption = Annotated[
    bool, typer.Option("--global-codex", help="Also what --codex --user does.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would change.")]

_SAID = {
    ("claude", "registered"): "registered Claude Code hook",
    ("claude", "unchanged"): "already registered",
    ("claude", "healed"): "healed stale Claude Code drain hook",
    ("claude", "removed"): "removed Claude Code hook",
    ("claude", "absent"): "no Claude Code hook of mempal",
    ("codex", "registered"): "merged Codex hook",
    ("codex", "unchanged"): "already installed",
    ("codex", "healed"): "healed stale Codex drain hook",
    ("codex", "removed"): "removed Codex hook",
    ("codex", "absent"): "no Codex hook of mempal",
}


def cowork_install_hooks(
    claude: ClaudeOption = False,
    codex: CodexOption = False,
    project: ProjectOption = False,
    user: UserOption = False,
    global_codex: GlobalCodexOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Have Claude Code or Codex show the partner's messages before each prompt."""
    from mempal.cowork.install import install_hooks

    targets = choose_targets((claude, codex), (project, user), global_codex=global_codex)
    folder = Path(home).expanduser() if home else None
    report = install_hooks(targets, Path.cwd(), home=folder, dry_run=dry_run)
    _answer(report, as_json=as_json)


def cowork_uninstall_hooks(
    claude: ClaudeOption = False,
    codex: CodexOption = False,
    project: ProjectOption = False,
    user: UserOption = False,
    global_codex: GlobalCodexOption = False,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Take the hooks out again; what else the files hold stays as it is."""
    from mempal.cowork.install import uninstall_hooks

    del home  # every command takes it; a hook goes whichever palace it names
    targets = choose_targets((claude, codex), (project, user), global_codex=global_codex)
    _answer(uninstall_hooks(targets, Path.cwd(), dry_run=dry_run), as_json=as_json)


def choose_targets(
    hosts: tuple[bool, bool], scopes: tuple[bool, bool], *, global_codex: bool
) -> list[tuple[str, str]]:
    """Return the pairs of host and scope that options ask for.

    Args:
        hosts: Whether Claude Code and Codex are named.
        scopes: Whether the project and the user are named.
        global_codex: Whether Codex is asked for the user besides.

    Raises:
        UsageError: Both scopes are named.
    """
    if all(scopes):
        raise UsageError("--project and --user exclude each other", hint="give one of them")
    scope = "user" if scopes[1] else "project"
    named = [name for name, on in zip(("claude", "codex"), hosts, strict=True) if on]
    targets = [(name, scope) for name in named or ["claude"]]
    if global_codex:
        targets.append(("codex", "user"))
    return list(dict.fromkeys(targets))


def describe_hooks(report: "Report") -> Document:
    """Return the document of both commands."""
    return asdict(report)


def show_hooks(report: "Report") -> Iterator[Block]:
    """Show what was done, or the difference it would make, and what is left to do."""
    for result in report.results:
        yield Line(f"{_SAID[result.host, result.action]}: {result.path}")
        if report.dry_run:
            yield from (Line(line.rstrip("\r")) for line in _split(result))
        elif result.backup:
            yield Line(f"  as it was before: {result.backup}")
    if report.dry_run:
        yield Line("dry run: nothing was written")
    if report.next_steps:
        yield Line("next steps:")
        yield from (Line(f"  - {step}") for step in report.next_steps)


def _split(result: "Result") -> list[str]:
    return result.diff.removesuffix("\n").split("\n") if result.diff else []


def _answer(report: "Report", *, as_json: bool) -> None:
    render.answer(
        report,
        as_json=as_json,
        document=describe_hooks,
        view=show_hooks,
        warnings=report.warnings,
    )
