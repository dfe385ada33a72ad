"""``mempal search`` and ``mempal wake-up``: ask the palace."""

from dataclasses import replace
from typing import Annotated

import typer

from mempal.cli import documents, render, views
from mempal.cli.options import (
    MAXIMUM_RESULTS,
    AllWingsOption,
    HomeOption,
    JsonOption,
    QueryArgument,
    RoomOption,
    SearchMode,
    WingOption,
    read_text,
)
from mempal.cli.session import choose_wing, note_wing, open_palace
from mempal.core.clock import parse_instant
from mempal.core.model import Scope

LimitOption = Annotated[
    int, typer.Option("-n", "--limit", "--top-k", min=1, help="How many results at most.")
]
ModeOption = Annotated[SearchMode, typer.Option("--mode", help="By word, by meaning, or both.")]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="What was current then: 2026-05-01[T12:00Z]."),
]
HistoryOption = Annotated[bool, typer.Option("--all", help="Also what has been superseded.")]
ContextOption = Annotated[
    int, typer.Option("--context", min=0, help="Neighbouring drawers shown with each result.")
]
TokensOption = Annotated[int, typer.Option("--max-tokens", min=1, help="Length of the text.")]


def search(
    query: QueryArgument,
    wing: WingOption = None,
    room: RoomOption = None,
    limit: LimitOption = 10,
    mode: ModeOption = SearchMode.HYBRID,
    as_of: AsOfOption = None,
    history: HistoryOption = False,
    context: ContextOption = 0,
    all_wings: AllWingsOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Find what is stored, by word and by meaning, cited."""
    if limit > MAXIMUM_RESULTS:
        render.warn(f"at most {MAXIMUM_RESULTS} results are given")
    instant = parse_instant(as_of, end_of_day=True) if as_of is not None else None
    asked = read_text(" ".join(query))
    palace = open_palace(home)
    choice = choose_wing(palace, wing, everywhere=all_wings)
    scope = Scope(wing=choice.wing, room=room or None, as_of=instant, history=history)
    result = palace.search(
        asked, scope, limit=min(limit, MAXIMUM_RESULTS), mode=mode.value, context=context
    )
    if result.hits:
        note_wing(choice)
    else:
        result = replace(result, hint=choice.name_way_out(result.hint))
    render.answer(
        result,
        as_json=as_json,
        document=lambda found: documents.describe_search(
            found, wing=choice.wing, context=context > 0
        ),
        view=views.show_search,
        warnings=result.degraded,
        next_step=result.hint,
    )


def wake_up(
    wing: WingOption = None,
    max_tokens: TokensOption = 900,
    all_wings: AllWingsOption = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Print what an agent should know when it starts."""
    palace = open_palace(home)
    choice = choose_wing(palace, wing, everywhere=all_wings)
    wakeup = palace.wake_up(choice.wing, max_tokens=max_tokens)
    note_wing(choice)
    render.answer(
        wakeup,
        as_json=as_json,
        document=documents.describe_wakeup,
        view=views.show_wakeup,
        next_step=wakeup.hint,
    )
