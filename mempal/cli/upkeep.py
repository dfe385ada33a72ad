"""``mempal status``, ``doctor``, ``audit`` and ``reindex``: the palace itself."""

from typing import Annotated

import typer

from mempal.cli import documents, render, views
from mempal.cli.options import HomeOption, JsonOption, WingOption
from mempal.cli.progress import open_progress
from mempal.cli.session import open_palace

ReembedOption = Annotated[
    bool, typer.Option("--reembed", help="Embed every drawer again with the configured model.")
]


def status(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Print what the palace holds and its state."""
    palace = open_palace(home)
    report = palace.status()
    render.answer(
        report,
        as_json=as_json,
        document=documents.describe_status,
        view=views.show_status,
        warnings=[text for text in report.warnings if text not in palace.config.warnings],
        next_step=report.hint,
    )


def doctor(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Check the palace and name the command that mends it."""
    diagnosis = open_palace(home).diagnose()
    render.answer(
        diagnosis,
        as_json=as_json,
        document=documents.describe_diagnosis,
        view=views.show_diagnosis,
    )
    if not diagnosis.healthy:
        raise typer.Exit(1)


def audit(wing: WingOption = None, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Prove that every mined file is stored or accounted for."""
    with open_progress() as progress:
        report = open_palace(home).audit(wing or None, progress)
    render.answer(
        report,
        as_json=as_json,
        document=documents.describe_audit,
        view=views.show_audit,
        next_step=report.hint,
    )
    if not report.complete:
        raise typer.Exit(1)


def reindex(
    reembed: ReembedOption = False, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """Rebuild word and vector index from what is stored."""
    with open_progress() as progress:
        report = open_palace(home).reindex(reembed=reembed, progress=progress)
    render.answer(
        report, as_json=as_json, document=documents.describe_reindexing, view=views.show_reindexing
    )
