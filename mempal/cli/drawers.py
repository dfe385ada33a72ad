"""``mempal show``, ``add``, ``wings`` and ``rooms``: single drawers and where they lie."""

from pathlib import Path
from typing import Annotated

import typer

from mempal.cli import documents, render, views
from mempal.cli.options import (
    HomeOption,
    JsonOption,
    RoomOption,
    TextArgument,
    WingOption,
    decode_argument,
    read_text,
)
from mempal.cli.session import open_palace

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="A drawer's id, or the beginning of one.")
]
SourceOption = Annotated[
    str, typer.Option("--source", help="Where the text comes from.", callback=decode_argument)
]
ImportanceOption = Annotated[
    int, typer.Option("--importance", min=0, max=5, help="From 0 (plain) to 5 (wake up with it).")
]


def show(drawer_id: IdArgument, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Print one drawer in full, with its citation."""
    shown = open_palace(home).drawers.show(drawer_id)
    render.answer(shown, as_json=as_json, document=documents.describe_shown, view=views.show_drawer)


def add(
    text: TextArgument = None,
    wing: WingOption = None,
    room: RoomOption = None,
    source: SourceOption = "",
    importance: ImportanceOption = 0,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Store a text by hand, the same text only once."""
    content = read_text(text)
    palace = open_palace(home)
    filed, topic = wing or palace.default_wing(Path.cwd()), room or "general"
    addition = palace.drawers.add(
        content, wing=filed, room=topic, source=source, importance=importance
    )
    render.answer(
        addition,
        as_json=as_json,
        document=lambda added: documents.describe_addition(added, wing=filed, room=topic),
        view=views.show_addition,
    )


def wings(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List the wings with their sizes."""
    listing = open_palace(home).rooms()
    render.answer(
        listing,
        as_json=as_json,
        document=documents.describe_wings,
        view=views.show_wings,
        next_step=listing.hint,
    )


def rooms(wing: WingOption = None, as_json: JsonOption = False, home: HomeOption = None) -> None:
    """List the rooms with their sizes."""
    listing = open_palace(home).rooms(wing or None)
    render.answer(
        listing,
        as_json=as_json,
        document=documents.describe_rooms,
        view=views.show_rooms,
        next_step=listing.hint,
    )
