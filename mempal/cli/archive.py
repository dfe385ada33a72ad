"""``mempal export``, ``import`` and ``backup``: the palace as a whole."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line, Table
from mempal.cli.documents import Document
from mempal.cli.options import HomeOption, JsonOption
from mempal.cli.progress import open_progress
from mempal.cli.session import open_palace
from mempal.cli.views import LISTED_SKIPS, format_bytes
from mempal.core.archive import BackupReport, ExportReport, ImportReport

TargetArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")]
SourceArgument = Annotated[Path, typer.Argument(metavar="FILE", help="What `export` wrote.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]


def export(
    file: TargetArgument,
    force: ForceOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Write everything to one file of JSON lines, history included."""
    with open_progress() as progress:
        report = open_palace(home).archive.export(file, force=force, progress=progress)
    render.answer(report, as_json=as_json, document=describe_export, view=show_export)


def import_(file: SourceArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Take over an export; what is stored already stays as it is."""
    with open_progress() as progress:
        report = open_palace(home).archive.import_(file, progress)
    render.answer(
        report,
        as_json=as_json,
        document=describe_import,
        view=show_import,
        warnings=report.warnings,
    )


def backup(
    file: TargetArgument,
    force: ForceOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Copy the database, consistent while others write to it."""
    with open_progress() as progress:
        report = open_palace(home).archive.backup(file, force=force, progress=progress)
    render.answer(report, as_json=as_json, document=describe_backup, view=show_backup)


def describe_export(report: ExportReport) -> Document:
    """Return the document of ``export``."""
    return {**asdict(report), "seconds": round(report.seconds, 3)}


def describe_import(report: ImportReport) -> Document:
    """Return the document of ``import``."""
    restored = report.restored
    return {
        "path": report.path,
        "added": restored.added,
        "unchanged": restored.unchanged,
        "sources": restored.sources,
        "skipped": [asdict(skipped) for skipped in restored.skipped],
        "redactions": dict(report.redactions),
        "warnings": list(report.warnings),
        "seconds": round(report.seconds, 3),
    }


def describe_backup(report: BackupReport) -> Document:
    """Return the document of ``backup``."""
    return {**asdict(report), "seconds": round(report.seconds, 3)}


def show_export(report: ExportReport) -> Iterator[Block]:
    """Show what ``export`` wrote."""
    yield Line(
        f"{report.drawers} drawers of {report.sources} sources in {report.path}"
        f" ({format_bytes(report.bytes)}, {report.seconds:.1f} s)"
    )


def show_import(report: ImportReport) -> Iterator[Block]:
    """Show what ``import`` took over, and what it left out and why."""
    restored = report.restored
    skipped = restored.skipped
    yield Line(
        f"drawers: {restored.added} added, {restored.unchanged} unchanged,"
        f" {len(skipped)} skipped; {restored.sources} sources added in {report.seconds:.1f} s"
    )
    if report.redactions:
        kinds = ", ".join(f"{count} {kind}" for kind, count in report.redactions.items())
        yield Line(f"redacted: {kinds}")
    if skipped:
        yield Line("skipped:")
        shown = skipped[:LISTED_SKIPS]
        yield Table((), tuple((f"  line {one.line}", one.reason) for one in shown))
    if len(skipped) > LISTED_SKIPS:
        yield Line(f"  ... and {len(skipped) - LISTED_SKIPS} more (--json lists all)")


def show_backup(report: BackupReport) -> Iterator[Block]:
    """Show what ``backup`` wrote."""
    yield Line(f"copied to {report.path} ({format_bytes(report.bytes)}, {report.seconds:.1f} s)")
