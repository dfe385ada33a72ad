"""Modules, functions and command bodies stay small; there is no list of exceptions."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from mempal.cli.app import build_app

ROOT = Path(__file__).parents[2]
SOURCES = [
    path for folder in ("mempal", "tools", "benchmarks") for path in ROOT.glob(f"{folder}/**/*.py")
]
MODULE_LINES = 500
FUNCTION_LINES = 60
COMMAND_LINES = 25


def find_long_functions(source: str) -> Iterator[str]:
    """Yield name and length of every function over the limit, signature and docstring included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{node.name}: {length} lines"


def measure_body(command: Callable[..., None]) -> int:
    """Return the lines of a function after its signature and docstring."""
    function = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(command)))).body[0]
    assert isinstance(function, ast.FunctionDef)
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def find_commands(app: typer.Typer) -> Iterator[Callable[..., None]]:
    """Yield the function behind every command, those of groups included."""
    for command in app.registered_commands:
        assert command.callback is not None
        yield command.callback
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from find_commands(group.typer_instance)


def test_modules_are_short():
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in SOURCES}

    assert lengths
    assert {str(path): n for path, n in lengths.items() if n > MODULE_LINES} == {}


def test_functions_are_short():
    found = [
        f"{path}: {long}"
        for path in SOURCES
        for long in find_long_functions(path.read_text("utf-8"))
    ]

    assert found == []


def test_a_long_function_is_found():
    source = "class A:\n    def f(self):\n" + "        pass\n" * FUNCTION_LINES

    assert list(find_long_functions(source)) == ["f: 61 lines"]


def test_command_bodies_are_short():
    commands = set(find_commands(build_app(rich=False)))

    assert len(commands) > 10
    assert {c.__qualname__: n for c in commands if (n := measure_body(c)) > COMMAND_LINES} == {}
