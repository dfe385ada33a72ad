"""``mempal config``: read and change ``config.toml``."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from mempal.cli import render
from mempal.cli.blocks import Block, Line, Table
from mempal.cli.options import HomeOption, JsonOption, decode_argument
from mempal.core.config import (
    FILE_NAME,
    KEYS,
    Config,
    find_home,
    find_key,
    load_config,
)

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="Key; `config list` names all.")]
OptionalKeyArgument = Annotated[
    str | None, typer.Argument(metavar="[KEY]", help="Key; without one, all are printed.")
]
ValueArgument = Annotated[
    str, typer.Argument(metavar="VALUE", help="New value.", callback=decode_argument)
]


def get(
    key: OptionalKeyArgument = None, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """Print the value of one setting, or of all."""
    if key is None:
        list_all(as_json=as_json, home=home)
        return
    find_key(key)
    config = load_config(find_home(home))
    render.answer(
        config.values[key],
        as_json=as_json,
        document=lambda value: {"key": key, "value": value},
        view=lambda value: [Line(_format(value))],
        warnings=config.warnings,
    )


def set_(
    key: KeyArgument, value: ValueArgument, as_json: JsonOption = False, home: HomeOption = None
) -> None:
    """Change one setting in place; comments and order of the file stay."""
    from mempal import wiring

    folder = find_home(home)
    path = folder / FILE_NAME
    parsed = wiring.change_setting(folder, key, value)
    render.answer(
        parsed,
        as_json=as_json,
        document=lambda new: {"key": key, "value": new, "path": str(path)},
        view=lambda new: [Line(f"{key} = {_format(new)}")],
    )


def list_all(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Print every setting with its value and what it is for."""
    config = load_config(find_home(home))
    render.answer(
        config,
        as_json=as_json,
        document=_describe,
        view=_show,
        warnings=config.warnings,
    )


def _describe(config: Config) -> dict[str, Any]:
    return {
        "path": str(config.home / FILE_NAME),
        "values": dict(config.values),
        "warnings": list(config.warnings),
    }


def _show(config: Config) -> Iterator[Block]:
    rows = [(key, _format(config.values[key]), rule.help) for key, rule in KEYS.items()]
    yield Table(("key", "value", "meaning"), tuple(rows))


def _format(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
