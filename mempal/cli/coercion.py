"""A short way around Typer's value parser for values that need none.

Since 0.29 Typer reads every option's value, even a plain text and even a default, through pydantic,
whose import costs more than all the rest of a short command. Here a value that is plainly what its
option takes is passed on as it is; any other, and every error message, stays Typer's business. A
release of Typer without that parser is left alone.
"""

import re
from collections.abc import Callable
from enum import Enum
from typing import Any

_UNREAD = object()
_NUMBER = re.compile(r"[0-9]{1,9}")


def shorten(command: Any) -> None:  # noqa: ANN401 - Typer's commands have no public type
    """Let a command, and every command below it, take plain values as they are."""
    for parameter in command.params:
        _shorten_parameter(parameter)
    command.get_help_option = _ShortHelp(command.get_help_option)
    for below in getattr(command, "commands", {}).values():
        shorten(below)


def _shorten_parameter(parameter: Any) -> None:  # noqa: ANN401 - Typer's protocol
    known = hasattr(parameter, "type_descriptor") and hasattr(parameter, "get_runtime_param")
    if known and not isinstance(parameter.get_runtime_param, _ShortWay):
        parameter.get_runtime_param = _ShortWay(parameter.get_runtime_param)


class _ShortHelp:
    """Stands in for the method that makes ``--help``, which exists only once a command runs."""

    def __init__(self, make_option: Callable[[Any], Any]) -> None:
        self._make_option = make_option

    def __call__(self, ctx: Any) -> Any:  # noqa: ANN401 - Typer's protocol
        option = self._make_option(ctx)
        _shorten_parameter(option)
        return option


class _ShortWay:
    """Stands in for the parser of one option; called once to get it, as Typer does."""

    def __init__(self, open_parser: Callable[[], Any]) -> None:
        self._open_parser = open_parser

    def __call__(self) -> "_ShortWay":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - Typer's protocol
        """Return what the option takes."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        plain = _read(param.type_descriptor, value)
        if plain is _UNREAD:
            return self._open_parser().coerce(value, param=param, ctx=ctx)
        return plain


def _read(descriptor: Any, value: Any) -> Any:  # noqa: ANN401 - Typer's protocol
    kind = descriptor.annotation
    if kind in {str, bool}:
        return value if isinstance(value, kind) else _UNREAD
    if kind is int:
        return _read_number(descriptor.parameter_info, value)
    if kind == list[str]:
        texts = isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)
        return list(value) if texts else _UNREAD
    if isinstance(kind, type) and issubclass(kind, Enum):
        if isinstance(value, kind):
            return value
        return next((choice for choice in kind if choice.value == value), _UNREAD)
    return _UNREAD


def _read_number(bounds: Any, value: Any) -> Any:  # noqa: ANN401 - Typer's protocol
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value)
    if not isinstance(value, int):
        return _UNREAD
    fits = (bounds.min is None or value >= bounds.min) and (
        bounds.max is None or value <= bounds.max
    )
    return value if fits else _UNREAD
