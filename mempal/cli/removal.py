"""``mempal delete``, ``restore``, ``purge`` and ``forget``: taking drawers away."""

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line, Table
from mempal.cli.documents import Document
from mempal.cli.options import HomeOption, JsonOption, WingOption, decode_argument, decode_each
from mempal.cli.session import open_palace
from mempal.core.clock import parse_instant
from mempal.core.model import Drawer
from mempal.core.reports import Forgetting, Removed

_PREVIEW = 60
_LISTED = 20

IdsArgument = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Ids of drawers, or the beginnings of them.")
]
BeforeOption = Annotated[
    str | None,
    typer.Option("--before", metavar="DATE", help="Only what is older; 2026-05-01 or an instant."),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Remove nothing, say what would be.")]
ApplyOption = Annotated[bool, typer.Option("--apply", help="Do it; else it is only said.")]
ForgetIdOption = Annotated[
    list[str] | None, typer.Option("--id", metavar="ID", help="One drawer; repeatable.")
]
ForgetSourceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="PATH",
        help="All that came from one file, note or conversation; repeatable.",
        callback=decode_each,
    ),
]
TopicOption = Annotated[
    str,
    typer.Option(
        "--topic", metavar="QUERY", help="What a search surely finds.", callback=decode_argument
    ),
]


def delete(drawer_ids: IdsArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Hide drawers from every search; `restore` brings them back."""
    removed = open_palace(home).removal.delete(drawer_ids)
    _answer(removed, "deleted", as_json=as_json, idle="that is what they were already")
    _refuse_cited(removed.protected)


def restore(drawer_ids: IdsArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Bring deleted drawers back."""
    restored = open_palace(home).removal.restore(drawer_ids)
    _answer(restored, "restored", as_json=as_json, idle="only what was deleted can be restored")


def purge(
    before: BeforeOption = None,
    wing: WingOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Remove deleted drawers for good."""
    instant = None if before is None else parse_instant(before)
    removed = open_palace(home).removal.purge(before=instant, wing=wing or None, dry_run=dry_run)
    _answer(removed, "purged", as_json=as_json)


def forget(
    drawer_ids: ForgetIdOption = None,
    sources: ForgetSourceOption = None,
    topic: TopicOption = "",
    before: BeforeOption = None,
    wing: WingOption = None,
    apply: ApplyOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Remove for good, and keep from coming back; a dry run without --apply."""
    from mempal.palace.removal import Selection

    selection = Selection(
        ids=tuple(drawer_ids or ()),
        sources=tuple(sources or ()),
        topic=topic,
        before=None if before is None else parse_instant(before),
        wing=wing or None,
    )
    forgetting = open_palace(home).removal.forget(selection, apply=apply)
    found = forgetting.drawers or forgetting.sources
    hint = "--apply removes them for good; nothing can undo that"
    render.answer(
        forgetting,
        as_json=as_json,
        document=describe_forgetting,
        view=show_forgetting,
        warnings=forgetting.warnings,
        next_step=hint if found and forgetting.dry_run else "",
    )


def _answer(removed: Removed, done: str, *, as_json: bool, idle: str = "") -> None:
    """Print what was done; ``idle`` is the hint when there was nothing to do."""
    render.answer(
        removed,
        as_json=as_json,
        document=lambda report: describe_removed(report, done),
        view=lambda report: show_removed(report, done),
        warnings=[*_tell_cards(removed.protected), *removed.warnings],
        next_step="" if removed.drawers or removed.protected else idle,
    )


def _refuse_cited(protected: tuple[tuple[str, str], ...]) -> None:
    if protected:
        raise typer.Exit(1)


def describe_removed(removed: Removed, done: str) -> Document:
    """Return the document of ``delete``, ``restore`` and ``purge``; ``done`` names the count."""
    return {
        done: 0 if removed.dry_run else len(removed.drawers),
        "dry_run": removed.dry_run,
        "drawers": [_describe(drawer) for drawer in removed.drawers],
        "protected": _describe_cards(removed.protected),
        "run": removed.run,
        "warnings": list(removed.warnings),
    }


def describe_forgetting(forgetting: Forgetting) -> Document:
    """Return the document of ``forget``."""
    return {
        "dry_run": forgetting.dry_run,
        "forgotten": 0 if forgetting.dry_run else len(forgetting.drawers),
        "drawers": [_describe(drawer) for drawer in forgetting.drawers],
        "sources": [{"root": root, "source_file": path} for root, path in forgetting.sources],
        "cited": _describe_cards(forgetting.cited),
        "warnings": list(forgetting.warnings),
    }


def show_removed(removed: Removed, done: str) -> Iterator[Block]:
    """Show what was taken away or brought back, one drawer a line."""
    yield from _list(removed.drawers)
    would = "would be " if removed.dry_run else ""
    yield Line(f"{_count(len(removed.drawers))} {would}{done}{_name_run(removed.run)}")


def show_forgetting(forgetting: Forgetting) -> Iterator[Block]:
    """Show what is forgotten: sources, drawers, and cards that lose their evidence."""
    yield from (Line(f"source  {path}  {root}".rstrip()) for root, path in forgetting.sources)
    yield from _list(forgetting.drawers)
    yield from (
        Line(f"{drawer_id} is cited by card {card}") for drawer_id, card in forgetting.cited
    )
    would = "would be " if forgetting.dry_run else ""
    yield Line(f"{_count(len(forgetting.drawers))} {would}forgotten")


def _list(drawers: Iterable[Drawer]) -> Iterator[Block]:
    listed = tuple(drawers)
    rows = tuple(
        (drawer.id, f"{drawer.wing}/{drawer.room}", drawer.source_file, _preview(drawer.content))
        for drawer in listed[:_LISTED]
    )
    if rows:
        yield Table((), rows)
    if len(listed) > _LISTED:
        yield Line(f"… and {len(listed) - _LISTED} more (--json lists all)")


def _preview(content: str) -> str:
    line = " ".join(content.split())
    return line if len(line) <= _PREVIEW else line[: _PREVIEW - 1] + "…"


def _count(number: int) -> str:
    return f"{number} drawer" if number == 1 else f"{number} drawers"


def _name_run(run: int | None) -> str:
    return "" if run is None else f" (run {run})"


def _describe(drawer: Drawer) -> Document:
    return {
        "drawer_id": drawer.id,
        "wing": drawer.wing,
        "room": drawer.room,
        "source_file": drawer.source_file,
        "preview": _preview(drawer.content),
    }


def _describe_cards(cards: Iterable[tuple[str, str]]) -> list[Document]:
    return [{"drawer_id": drawer_id, "card_id": card} for drawer_id, card in cards]


def _tell_cards(cards: Iterable[tuple[str, str]]) -> Iterator[str]:
    return (f"{drawer_id} is kept: card {card} cites it" for drawer_id, card in cards)
