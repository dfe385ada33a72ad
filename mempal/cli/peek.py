"""``mempal cowork-peek``: what the other tool has said lately."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line, Verbatim
from mempal.cli.documents import Document
from mempal.cli.escape import escape_name
from mempal.cli.options import (
    CwdOption,
    Format,
    FormatOption,
    HomeOption,
    JsonOption,
    choose_folder,
    decode_argument,
)

if TYPE_CHECKING:
    from mempal.cowork.peek import Peek


ToolOption = Annotated[
    str,
    typer.Option("--tool", help="Whose transcript: claude or codex.", callback=decode_argument),
]
LimitOption = Annotated[int, typer.Option("--limit", min=0, help="How many messages at most.")]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only what was said after 2026-05-01T12:00:00Z.",
        callback=decode_argument,
    ),
]


def cowork_peek(
    tool: ToolOption,
    cwd: CwdOption = None,
    limit: LimitOption = 30,
    since: SinceOption = None,
    form: FormatOption = Format.PLAIN,
    as_json: JsonOption = False,
    home: HomeOption = None,  # noqa: ARG001 - every command takes it
) -> None:
    """Show the end of the other tool's transcript of a project; nothing is written."""
    from mempal.cowork.peek import peek

    user_home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path refuses when there is none
    seen = peek(
        tool, choose_folder(cwd), limit=limit, since=since, environment=os.environ, home=user_home
    )
    render.answer(
        seen,
        as_json=as_json or form is Format.JSON,
        document=describe_peek,
        view=show_peek,
        next_step="" if seen.session_path else f"{seen.partner_tool} has no session in this folder",
    )


def describe_peek(seen: "Peek") -> Document:
    """Return the document of ``cowork-peek``."""
    return {**asdict(seen), "messages": [asdict(message) for message in seen.messages]}


def show_peek(seen: "Peek") -> Iterator[Block]:
    """Show where the messages are from, then each under who said it and when."""
    active = str(seen.partner_active).lower()
    session = seen.session_path or "(none)"
    yield Line(f"partner={seen.partner_tool} active={active} session={session}")
    for message in seen.messages:
        yield Verbatim(f"[{message.role} @ {escape_name(message.at)}] {message.text}")
