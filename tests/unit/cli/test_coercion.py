"""The short way around Typer's parser gives what the parser gives."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperOption
from typer.main import get_command

from mempal.cli.coercion import shorten

LINES = [
    "",
    "--text x",
    "--text 5",
    "--text=",
    "--number 5",
    "--number 007",
    "--number 1",
    "--number 0",
    "--number 11",
    "--number -1",
    "--number 1.0",
    "--number ten",
    "--number 99999999999999999999",
    "--number ٣",
    "--colour red",
    "--colour RED",
    "--colour mauve",
    "--flag",
    "--several a --several b",
    "w1 w2 --number 3",
    "--number",
    "--nothing",
]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def build(*, short: bool) -> tuple[Any, list[Any]]:
    app, seen = typer.Typer(), []

    @app.command()
    def command(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        text: Annotated[str | None, typer.Option()] = None,
        number: Annotated[int, typer.Option(min=1, max=10)] = 7,
        colour: Annotated[Colour, typer.Option()] = Colour.BLUE,
        flag: Annotated[bool, typer.Option()] = False,
        several: Annotated[list[str] | None, typer.Option()] = None,
    ) -> None:
        seen.append((list(words or ()), text, number, colour, flag, list(several or ())))

    built = get_command(app)
    if short:
        shorten(built)
    return built, seen


def run(line: str, *, short: bool) -> tuple[Any, list[Any]]:
    command, seen = build(short=short)
    try:
        command.main(line.split(), prog_name="x", standalone_mode=False)
    except Exception as error:  # noqa: BLE001 - Typer's errors have no public base class
        return (type(error).__name__, str(getattr(error, "message", error))), seen
    return None, seen


@pytest.mark.parametrize("line", LINES)
def test_both_ways_agree(line: str):
    assert run(line, short=True) == run(line, short=False)


def test_plain_values_do_not_reach_the_parser(monkeypatch: pytest.MonkeyPatch):
    def refuse(self: TyperOption) -> Callable[..., Any]:
        raise AssertionError(self.name)

    monkeypatch.setattr(TyperOption, "get_runtime_param", refuse)
    failure, seen = run("w --text x --number 5 --colour red --several a", short=True)
    assert failure is None
    assert seen == [(["w"], "x", 5, Colour.RED, False, ["a"])]
    assert run("--number ten", short=True)[0] == ("AssertionError", "number")


def test_a_typer_without_that_parser_is_left_alone():
    class Parameter:
        pass

    class Command:
        params = (Parameter(),)

        def get_help_option(self, ctx: object) -> Parameter:
            return self.params[0]

    command = Command()
    shorten(command)
    assert command.get_help_option(None) is command.params[0]
    assert not vars(command.params[0])
