"""Drawing an answer for a terminal with Rich: colour, tables, and the matched words of a passage.

Nothing stored is read as markup, and control characters are shown as escapes.
"""

import re
import sys
from collections.abc import Iterable
from itertools import pairwise

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from mempal.cli.blocks import Block, Line, Passage, Table, Verbatim
from mempal.cli.escape import escape_controls, escape_name, mend_surrogates
from mempal.core.model import Term

SNIPPET_LINES = 10
_SHORT_WORD = 4
# English endings that the word index folds; a word is marked whatever ending it has.
_ENDING = re.compile(r"(?:ing|ed|es|e|s|y)$")
_FACT_STYLES = {
    "same": "green",
    "moved": "yellow",
    "changed": "yellow",
    "gone": "red",
    "ok": "green",
    "warning": "yellow",
    "problem": "bold red",
}


def draw(blocks: Iterable[Block]) -> str:
    """Return what standard output's terminal is sent for these blocks, colours included."""
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    with console.capture() as capture:
        for block in blocks:
            match block:
                case Line(text):
                    console.print(Text(_clean_name(text)), soft_wrap=True)
                case Verbatim(text):
                    console.print(Text(_clean(text.rstrip("\n"))), soft_wrap=True)
                case Table():
                    console.print(_draw_table(block))
                case Passage():
                    console.print(_draw_passage(block), soft_wrap=True)
    return capture.get()


def _clean(text: str) -> str:
    return escape_controls(mend_surrogates(text))


def _clean_name(name: str) -> str:
    return escape_name(mend_surrogates(name))


def _draw_table(table: Table) -> Grid:
    grid = Grid(box=None, show_header=bool(table.columns), header_style="bold", pad_edge=False)
    for number in range(len(table.columns or (table.rows or ((),))[0])):
        head = table.columns[number] if table.columns else ""
        style = "dim" if not table.columns and number == 0 else ""
        justify = "right" if number in table.numeric else "left"
        grid.add_column(head, style=style, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in table.rows:
        grid.add_row(*(Text(_clean_name(cell), style=_style(cell)) for cell in row))
    return grid


def _style(fact: str) -> str:
    return _FACT_STYLES.get(fact.partition(" ")[0], "")


def _draw_passage(passage: Passage) -> Text:
    drawn = Text()
    drawn.append(_clean_name(passage.location), style="bold cyan")
    for fact in passage.facts:
        drawn.append("  ")
        drawn.append(_clean_name(fact), style=_style(fact) or "dim")
    lines = passage.content.rstrip("\n").split("\n")
    pattern = _compile_terms(passage.terms)
    shown = _choose_lines(lines, pattern) if passage.terms else range(len(lines))
    first = passage.first_line
    width = len(str(len(lines) + (first or 1)))
    for before, number in pairwise((shown[0] - 1, *shown)):
        if number != before + 1:
            drawn.append("\n" + " " * width + " ...", style="dim")
        label = "" if first is None else str(first + number).rjust(width)
        drawn.append(f"\n{label} " if label else "\n", style="dim")
        line = Text(_clean(lines[number]))
        if pattern:
            line.highlight_regex(pattern, "bold yellow")
        drawn.append_text(line)
    drawn.append("\n")
    return drawn


def _compile_terms(terms: tuple[Term, ...]) -> re.Pattern[str] | None:
    """Return a pattern for what was asked for, as it may stand in a text."""
    spelled = sorted({spelling for term in terms if (spelling := _spell(term))}, key=len)
    if not spelled:
        return None
    return re.compile("|".join(reversed(spelled)), re.IGNORECASE)


def _spell(term: Term) -> str:
    words = []
    for token in term.tokens:
        stem = _ENDING.sub("", token) if token.isascii() else token
        if token.isascii() and len(stem) >= _SHORT_WORD:
            words.append(re.escape(stem) + r"[^\W_]*")
        else:
            words.append(re.escape(token))
    return r"[\W_]*".join(words)


def _choose_lines(lines: list[str], pattern: re.Pattern[str] | None) -> list[int]:
    """Return the numbers of the lines to show.

    Those with matches first, then their surroundings.
    """
    if len(lines) <= SNIPPET_LINES:
        return list(range(len(lines)))
    matched = [number for number, line in enumerate(lines) if pattern and pattern.search(line)]
    chosen = set(matched[:SNIPPET_LINES]) or {0}
    for distance in range(1, len(lines)):
        for number in sorted(chosen.copy()):
            for neighbor in (number - distance, number + distance):
                if len(chosen) < SNIPPET_LINES and 0 <= neighbor < len(lines):
                    chosen.add(neighbor)
        if len(chosen) >= SNIPPET_LINES:
            break
    return sorted(chosen)
