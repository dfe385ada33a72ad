"""Options and arguments that several commands share, and how their text is read.

Typer evaluates these annotations when the command line is built, so they name builtins,
enumerations and aliases only.
"""

import os
import re
import sys
from enum import StrEnum
from typing import Annotated

import typer

from mempal.cli.escape import mend_surrogates
from mempal.core.errors import UsageError

MAXIMUM_RESULTS = 1000
_SIZE = re.compile(r"(\d+)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class SearchMode(StrEnum):
    """Which lists a search draws on."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    VECTOR = "vector"


class Format(StrEnum):
    """How an answer is printed, by the option that the peers' commands have."""

    PLAIN = "plain"
    JSON = "json"


def _inherit_home(context: typer.Context, value: str | None) -> str | None:
    """Take ``--home`` from before the command when it is not given after it."""
    return value or context.find_root().params.get("home")


def _inherit_json(context: typer.Context, value: bool) -> bool:
    return value or bool(context.find_root().params.get("as_json"))


def decode_argument(value: str | None) -> str | None:
    """Read a text argument as the UTF-8 it was typed in, whatever the locale makes of it."""
    if value is None or value.isprintable():
        return value
    try:
        return os.fsencode(value).decode()
    except UnicodeError:
        return mend_surrogates(value)


def decode_each(values: list[str] | None) -> list[str]:
    """Read each of several text arguments, see :func:`decode_argument`."""
    return [decode_argument(value) or "" for value in values or ()]


HomeOption = Annotated[
    str | None,
    typer.Option(
        "--home",
        metavar="PATH",
        help="Palace folder (default: $MEMPAL_HOME, else ~/.mempal).",
        callback=_inherit_home,
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document.", callback=_inherit_json),
]
WingOption = Annotated[
    str | None,
    typer.Option("--wing", help="Wing (project).", callback=decode_argument, show_default=False),
]
RoomOption = Annotated[
    str | None,
    typer.Option(
        "--room", help="Room (topic) of the wing.", callback=decode_argument, show_default=False
    ),
]
AllWingsOption = Annotated[bool, typer.Option("--all-wings", help="Ask every wing.")]
CwdOption = Annotated[
    str | None, typer.Option("--cwd", help="A folder of the project (default: the current one).")
]
FormatOption = Annotated[Format, typer.Option("--format", help="plain or json.")]
QueryArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="QUERY", help="What to look for; - reads it from stdin.", callback=decode_each
    ),
]
TextArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[TEXT|-]",
        help="The text; - or nothing reads it from stdin.",
        callback=decode_argument,
        show_default=False,
    ),
]


def read_text(given: str | None) -> str:
    """Return a text argument, or what standard input holds when it is ``-`` or missing.

    Raises:
        UsageError: Nothing is given and nothing is piped in, or what is piped in is not UTF-8.
    """
    if given is not None and given != "-":
        return given
    if sys.stdin is None or (given is None and sys.stdin.isatty()):
        raise UsageError("no text given", hint="name it, or pipe it in and write -")
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            "standard input is not UTF-8 text", hint="convert it first, for instance with iconv"
        ) from error
    return text.removesuffix("\n").removesuffix("\r")


def choose_folder(cwd: str | None) -> str:
    """Return the folder that ``--cwd`` names, else the current one.

    Raises:
        UsageError: There is no current folder any more.
    """
    if cwd is not None:
        return cwd
    try:
        return os.getcwd()  # noqa: PTH109 - as text, it may not be UTF-8
    except FileNotFoundError as error:
        raise UsageError("the current folder was deleted", hint="name one with --cwd") from error


def parse_size(text: str | None, default: int) -> int:
    """Read a number of bytes such as ``2097152``, ``512k`` or ``2MB``; units are powers of 1024.

    Raises:
        UsageError: The text is no such number, or it is zero.
    """
    if text is None:
        return default
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    if not size:
        raise UsageError(f"not a file size: {text!r}", hint="write bytes, or 512k, 2MB, 1G")
    return size
