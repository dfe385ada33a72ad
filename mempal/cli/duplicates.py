"""``mempal check-duplicate``: ask before storing a text whether it is there."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line, Table
from mempal.cli.documents import Document
from mempal.cli.options import (
    AllWingsOption,
    HomeOption,
    JsonOption,
    TextArgument,
    WingOption,
    read_text,
)
from mempal.cli.session import choose_wing, note_wing, open_palace

if TYPE_CHECKING:  # what compares texts is loaded once there is a text to compare
    from mempal.search.duplicates import Duplicate, Duplicates

_PREVIEW = 100

ThresholdOption = Annotated[
    float,
    typer.Option("--threshold", min=0, max=1, help="Least similarity, from 0 to 1 (equal)."),
]


def check_duplicate(
    text: TextArgument = None,
    wing: WingOption = None,
    threshold: ThresholdOption = 0.9,
    all_wings: AllWingsOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Tell whether a text, or one like it, is stored already."""
    content = read_text(text)
    palace = open_palace(home)
    choice = choose_wing(palace, wing, everywhere=all_wings)
    found = palace.drawers.find_duplicates(content, wing=choice.wing, threshold=threshold)
    if found.duplicate:
        note_wing(choice)
    else:
        found = replace(found, hint=choice.name_way_out(found.hint))
    render.answer(
        found,
        as_json=as_json,
        document=describe_duplicates,
        view=show_duplicates,
        warnings=found.degraded,
        next_step=found.hint,
    )


def describe_duplicates(found: "Duplicates") -> Document:
    """Return the document of ``check-duplicate``."""
    return {
        "duplicate": found.duplicate,
        "wing": found.wing,
        "threshold": found.threshold,
        "pieces": found.pieces,
        "matches": [_describe(match) for match in found.matches],
        "degraded": list(found.degraded),
        "hint": found.hint,
    }


def show_duplicates(found: "Duplicates") -> Iterator[Block]:
    """Show what is like the text, best first, one drawer a line."""
    rows = tuple(
        (
            "equal" if match.exact else f"{match.similarity:.2f}",
            match.drawer.id,
            f"{match.drawer.wing}/{match.drawer.room}",
            match.drawer.source_file,
            _preview(match.drawer.content),
        )
        for match in found.matches
    )
    yield Table((), rows) if rows else Line("nothing like it is stored")


def _describe(match: "Duplicate") -> Document:
    drawer = match.drawer
    return {
        "drawer_id": drawer.id,
        "similarity": round(match.similarity, 4),
        "exact": match.exact,
        "piece": match.piece,
        "wing": drawer.wing,
        "room": drawer.room,
        "source_file": drawer.source_file,
        "preview": _preview(drawer.content),
    }


def _preview(content: str) -> str:
    line = " ".join(content.split())
    return line if len(line) <= _PREVIEW else line[: _PREVIEW - 1] + "…"
