"""The one place that prints.

What is printed is chosen in this order: ``--json``; tables, colour and snippets when standard
output is a terminal; plain text otherwise. The answer goes to standard output, all that is said
about it (warnings, hints, errors, progress) to standard error.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from mempal.cli import streams
from mempal.cli.blocks import Block, Line, Passage, Table, Verbatim
from mempal.cli.escape import escape_controls, escape_in_json, escape_name, mend_surrogates
from mempal.core.errors import MempalError

DEBUG_VARIABLE = "MEMPAL_DEBUG"

Report = TypeVar("Report")


def answer(
    report: Report,
    *,
    as_json: bool,
    document: Callable[[Report], Mapping[str, Any]],
    view: Callable[[Report], Iterable[Block]],
    warnings: Iterable[str] = (),
    next_step: str = "",
) -> None:
    """Print a report.

    Args:
        report: What a verb answered with.
        as_json: Whether to print the ``document`` made of it, which holds warnings and hint too, or
            the blocks of its ``view`` with warnings and hint on standard error.
        document: Makes the JSON document.
        view: Makes the blocks.
        warnings: What the reader should know about the answer.
        next_step: What the reader may do next; empty for nothing.
    """
    if as_json:
        print_document(document(report))
        return
    blocks = tuple(view(report))
    if streams.is_terminal(sys.stdout):
        from mempal.cli import terminal

        text = terminal.draw(blocks)
    else:
        text = "".join(map(_draw_plainly, blocks))
    streams.write_output(mend_surrogates(text))
    for warning in warnings:
        warn(warning)
    hint(next_step)


def print_document(document: Mapping[str, Any]) -> None:
    """Print one JSON document, indented for a terminal: strict JSON in UTF-8 in every locale."""
    _print_json(document, indent=2 if streams.is_terminal(sys.stdout) else None)


def print_list(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a JSON array as the one document, indented as the peers' tools print theirs."""
    _print_json(rows, indent=2)


def _print_json(value: object, *, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    streams.write_output(escape_in_json(mend_surrogates(text)) + "\n", encoding="utf-8")


def warn(text: str) -> None:
    """Tell of something that did not stop the command."""
    _print_message("warning", text)


def hint(text: str) -> None:
    """Tell the next step; nothing when there is none."""
    if text:
        _print_message("hint", text)


def note(text: str) -> None:
    """Tell something that only a person at a terminal wants to know."""
    if streams.is_terminal(sys.stderr):
        _print_message("note", text)


def print_error(error: MempalError, *, as_json: bool) -> None:
    """Print an error and its hint; with ``as_json`` also as the one document on standard output."""
    if as_json:
        fields = {
            "code": error.code,
            "message": error.message,
            "hint": error.hint,
            "retryable": error.retryable,
        }
        print_document({"error": fields})
    _print_message("error", error.message)
    hint(error.hint)
    if os.environ.get(DEBUG_VARIABLE) == "1":
        streams.write_message(escape_controls(mend_surrogates(traceback.format_exc())))


def _print_message(kind: str, text: str) -> None:
    streams.write_message(f"{kind}: {escape_controls(mend_surrogates(text))}\n")


def _draw_plainly(block: Block) -> str:
    match block:
        case Line(text):
            return escape_name(text) + "\n"
        case Verbatim(text):
            return text.rstrip("\n") + "\n"
        case Table():
            return _align(block)
        case Passage(location, facts, content):
            head = "  ".join(escape_name(part) for part in (location, *facts))
            return head + "\n" + content.rstrip("\n") + "\n\n"


def _align(table: Table) -> str:
    rows = (table.columns, *table.rows) if table.columns else table.rows
    cells = [[escape_name(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [
            cell.rjust(width) if number in table.numeric else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip() + "\n")
    return "".join(lines)
