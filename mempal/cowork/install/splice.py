"""Changes of a JSON text that leave every other character where it is.

What is put in is laid out as its surroundings are: on lines of its own where they are, with the
indent, the line ends and the space after commas that the text has already.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from mempal.cowork.install.tree import Node

Entry = tuple[str | None, object]
_LINE_END = re.compile(r"\r\n|\n|\r")
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Splice:
    """What takes the place of the characters from ``start`` up to ``end``."""

    start: int
    end: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text is laid out.

    Attributes:
        newline: What ends its lines.
        indent: What a level is indented by; ``None`` when all is on one line.
        colon: What stands between a name and its value.
        comma: What stands between two entries on one line.
    """

    newline: str
    indent: str | None
    colon: str
    comma: str


def apply(text: str, splices: Iterable[Splice]) -> str:
    """Return the text with changes made, none of which overlap."""
    for splice in sorted(splices, key=lambda one: (one.start, one.end), reverse=True):
        text = text[: splice.start] + splice.text + text[splice.end :]
    return text


def find_layout(text: str, root: Node) -> Layout:
    """Tell how a text is laid out, by its first lines."""
    match = _LINE_END.search(text)
    newline = match.group() if match else "\n"
    if not root.items:
        return Layout(newline, _INDENT, ": ", ", ")
    first = root.start_of(0)
    gap = text[root.start + 1 : first]
    indent = None
    if _LINE_END.search(gap):
        outer = _find_margin(text, root.start)
        own = _find_margin(text, first)
        # Without any indent, entries still stand on lines of their own.
        indent = own.removeprefix(outer)
    colon = text[root.names[0].end : root.items[0].start] if root.names else ": "
    if _LINE_END.search(colon):
        colon = ": "
    return Layout(newline, indent, colon, ", " if colon.endswith(" ") else ",")


def insert(text: str, container: Node, layout: Layout, entries: list[Entry]) -> Splice:
    """Put entries behind the last one of an object or array."""
    if container.items:
        return _append(text, container, layout, entries)
    at = container.start + 1
    if layout.indent is None:
        return Splice(at, at, layout.comma.join(_render_flat(one, layout) for one in entries))
    margin = _find_margin(text, container.start)
    inner = margin + layout.indent
    lines = [layout.newline + inner + _render(one, layout, inner) for one in entries]
    has_line = _LINE_END.search(text[at : container.end - 1])
    return Splice(at, at, ",".join(lines) + ("" if has_line else layout.newline + margin))


def cut(container: Node, number: int) -> Splice:
    """Take an entry out of an object or array, and the comma that it no longer needs."""
    last = len(container.items) - 1
    if last == 0:
        return Splice(container.start + 1, container.end - 1)
    if number == 0:
        return Splice(container.start_of(0), container.start_of(1))
    return Splice(container.items[number - 1].end, container.items[number].end)


def _append(text: str, container: Node, layout: Layout, entries: list[Entry]) -> Splice:
    last = len(container.items) - 1
    at = container.items[last].end
    start = container.start_of(last)
    before = container.items[last - 1].end if last else container.start + 1
    if _LINE_END.search(text[before:start]):
        margin = _find_margin(text, start)
        lead = f",{layout.newline}{margin}"
        return Splice(at, at, "".join(lead + _render(one, layout, margin) for one in entries))
    return Splice(at, at, "".join(layout.comma + _render_flat(one, layout) for one in entries))


def _find_margin(text: str, at: int) -> str:
    """Return the space that the line of a character starts with."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _render(entry: Entry, layout: Layout, margin: str) -> str:
    """Write an entry over several lines; the first has its margin already."""
    if layout.indent is None:
        return _render_flat(entry, layout)
    name, value = entry
    written = json.dumps(
        value, ensure_ascii=False, indent=layout.indent, separators=(",", layout.colon)
    )
    # A text never holds a bare line end, so each one here is layout.
    return _render_name(name, layout) + written.replace("\n", layout.newline + margin)


def _render_flat(entry: Entry, layout: Layout) -> str:
    name, value = entry
    written = json.dumps(value, ensure_ascii=False, separators=(layout.comma, layout.colon))
    return _render_name(name, layout) + written


def _render_name(name: str | None, layout: Layout) -> str:
    return "" if name is None else json.dumps(name, ensure_ascii=False) + layout.colon
