"""``mempal sync``: letting go of what is stored of files that are gone."""

from collections.abc import Iterator
from typing import Annotated

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line
from mempal.cli.documents import Document
from mempal.cli.options import HomeOption, JsonOption, WingOption
from mempal.cli.session import open_palace
from mempal.core.errors import UsageError
from mempal.core.reports import GoneFile, SyncReport

ApplyOption = Annotated[bool, typer.Option("--apply", help="Do it; else it is only said.")]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Change nothing, which is the default.")
]
SkipMissingOption = Annotated[
    bool, typer.Option("--skip-missing", help="Leave trees alone that are not there.")
]


def sync(
    wing: WingOption = None,
    apply: ApplyOption = False,
    dry_run: DryRunOption = False,
    skip_missing: SkipMissingOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """List stored files that are gone or ignored now; --apply supersedes them."""
    if not wing:
        raise UsageError("sync needs a wing", hint="name it with --wing; `mempal wings` lists them")
    if apply and dry_run:
        raise UsageError("--apply and --dry-run exclude each other", hint="give one of them")
    report = open_palace(home).mining.sync(wing, apply=apply, skip_missing=skip_missing)
    found = report.dry_run and (report.gone or report.ignored)
    render.answer(
        report,
        as_json=as_json,
        document=describe_sync,
        view=show_sync,
        warnings=report.warnings,
        next_step="--apply takes them out of search; --all still finds them" if found else "",
    )


def describe_sync(report: SyncReport) -> Document:
    """Return the document of ``sync``."""
    return {
        "wing": report.wing,
        "dry_run": report.dry_run,
        "gone": [_describe(file) for file in report.gone],
        "ignored": [_describe(file) for file in report.ignored],
        "pruned": report.pruned,
        "protected": [
            {"drawer_id": drawer_id, "card_id": card} for drawer_id, card in report.protected
        ],
        "run": report.run,
        "warnings": list(report.warnings),
    }


def show_sync(report: SyncReport) -> Iterator[Block]:
    """Show each file that is gone or ignored, and what became of its drawers."""
    for file in report.gone:
        target = f" -> {file.moved_to}" if file.moved_to is not None else ""
        yield Line(f"gone     {file.source_file}{target}  ({file.drawers} drawers)")
    for file in report.ignored:
        yield Line(f"ignored  {file.source_file}  ({file.drawers} drawers; {file.reason})")
    for drawer_id, card in report.protected:
        yield Line(f"kept     {drawer_id}  (card {card} cites it)")
    if report.dry_run:
        files = (file for file in (*report.gone, *report.ignored) if not file.moves)
        count = sum(file.drawers for file in files)
        yield Line(f"wing {report.wing}: {count} drawers would be superseded")
    else:
        yield Line(f"wing {report.wing}: {report.pruned} drawers superseded")


def _describe(file: GoneFile) -> Document:
    document: Document = {
        "source_file": file.source_file,
        "root": file.root,
        "drawers": file.drawers,
    }
    if file.moved_to is not None:
        document["moved_to"] = file.moved_to
    if file.reason is not None:
        document["reason"] = file.reason
    return document
