r"""Where a text may be cut between lines, and what each cut costs.

An *edge* is the start of a line that is not blank; so white space between lines always belongs to
what stands before it. The price of an edge says how much is torn apart there. The order of the
prices, not their exact size, is what the rules below are about.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from mempal.ingest.chunk import WHITE_SPACE
from mempal.ingest.languages import HEAD, Family, Nesting, compile_definitions
from mempal.ingest.symbols import Outline

# Prices of edges, cheapest first. Indentation adds up to INDENTED, a deeper heading level less.
TOP = 0.0  # before a definition at the margin, before a heading
NESTED = 1.0  # before a definition inside another
BLOCK = 2.0  # after a blank line, where the indentation becomes less
BLANK = 3.0  # after a blank line: a paragraph, a group of statements
ITEM = 4.5  # before an item of a list
LINE = 6.0  # between two lines
GLUED = 10.0  # between a comment or decorator and its definition, a heading and its text
FENCED = 60.0  # inside a fenced code block
INDENTED = 2.0
_LEVEL_STEP = 0.25
_DEEPEST_LEVEL = 6
_CLOSER = 3.0  # on top, when the line only goes on with or closes what stands above
_OFFSET = 1.0  # on or off, where a line is a somewhat worse or better beginning
_TAB_WIDTH = 4
_INDENT_UNIT = 8
_CODE_INDENT = 4  # from which prose shows code
_TRAILING = " \t\r"
_NONE = -1
_SENTENCE_MARKS = (".", "!", "?", ":", "\u3002")

_BLANK = re.escape(WHITE_SPACE.replace("\n", ""))
_LINE = re.compile(rf"^([{_BLANK}]*+)([^{_BLANK}\n][^\n]{{0,{HEAD - 1}}})[^\n]*+\n?", re.MULTILINE)
# A line that closes or goes on with what stands above; the second group begins another branch.
_CONTINUATION = re.compile(
    r"([)\]}>,;{]|/>|</|&&|\|\||\.\w|[?:+]\s|(?:and|or)\b"
    r"|(?:end|then|do|fi|done|esac)\b(?![ \t]*[(=.\[,:]))"
    r"|(?:else|elif|elsif|except|finally|catch|rescue|ensure)\b"
)
_ITEM = re.compile(r"(?:[-*+\u2022]|\d{1,3}[.)]|#\.)[ \t]")
_RULE = re.compile(r"([=\-~^\"'`*+#<>_:.])\1{2,}$")
_TRAILER = re.compile(r"[ \t]+[#=]+$")
_FENCE = re.compile(r"(`{3,})[^`\n]*$|(~{3,})")


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of a text in order: offsets of characters, and prices. The first is 0."""

    offsets: list[int] = field(default_factory=list)
    prices: list[float] = field(default_factory=list)

    def add(self, offset: int, price: float) -> int:
        """Add an edge behind all others; return its number."""
        self.offsets.append(offset)
        self.prices.append(price)
        return len(self.offsets) - 1


class _Line(NamedTuple):
    """A line that is not blank: offset, indentation, beginning, and whether blank lines precede."""

    start: int
    indent: int
    head: str
    gap: bool


def find_edges(text: str, family: Family) -> tuple[Edges, Outline]:
    """Return the edges of a text that is not blank, and what it defines."""
    reader = _Prose(text, family) if family.nesting is Nesting.LEVEL else _Code(text, family)
    ended = 0
    for match in _LINE.finditer(text):
        start, stop = match.span()
        indent = match.end(1) - start
        if indent and text[start] == "\t":
            indent *= _TAB_WIDTH
        reader.read(_Line(start, indent, match[2].rstrip(_TRAILING), start > ended))
        ended = stop
    reader.edges.offsets[0] = 0
    return reader.edges, reader.outline


class _Code:
    """Reads lines of code: definitions, with what is attached above them, blocks and lines."""

    def __init__(self, text: str, family: Family) -> None:
        self.edges = Edges()
        self.outline = Outline(len(text))
        self._define_margin, self._define = compile_definitions(family)
        self._flat = family.nesting is Nesting.FLAT
        self._comments = family.comments
        self._attached = re.compile(family.attached or "(?!)")
        self._block = family.block
        self._closing = ""  # what ends the block comment that is being read
        self._anchor = _NONE  # edge where the comments and decorators just above begin
        self._anchor_indent = 0
        self._anchor_first = False  # whether they follow the header of what encloses them
        self._indent = 0  # of the line above
        self._header = False  # whether the line above is a definition

    def read(self, line: _Line) -> None:
        if self._closing:
            self._read_comment(line)
            self._indent = line.indent
            return
        if line.gap:
            self._anchor = _NONE
        pattern = self._define if line.indent else self._define_margin
        if match := pattern.match(line.head):
            self._read_definition(line, " ".join(filter(None, match.groups())))
        elif line.head.startswith(self._comments):
            self._read_comment(line)
        else:
            self._read_plain(line)
        self._indent = line.indent

    def _read_definition(self, line: _Line, name: str) -> None:
        price = NESTED + _price_indent(line.indent) / INDENTED if line.indent else TOP
        start = line.start
        if self._anchor_first if self._anchor != _NONE else self._is_first(line):
            price = LINE
        if self._anchor != _NONE:
            start = self.edges.offsets[self._anchor]
            self.edges.prices[self._anchor] = price
            price = GLUED
        self.edges.add(line.start, price)
        self.outline.open(start, line.indent, name)
        self._anchor = _NONE
        self._header = True

    def _read_comment(self, line: _Line) -> None:
        if not self._closing and self._block and line.head.startswith(self._block[0]):
            if self._block[1] not in line.head[len(self._block[0]) :]:
                self._closing = self._block[1]
        elif self._closing and self._closing in line.head:
            self._closing = ""
        inside = self._anchor != _NONE
        price = self._price(line) + (_OFFSET if inside else -_OFFSET)
        self._attach(line, self.edges.add(line.start, price))
        self._header = False

    def _read_plain(self, line: _Line) -> None:
        price = self._price(line)
        if goes_on := _CONTINUATION.match(line.head):
            price += _CLOSER if goes_on[1] else _OFFSET
        number = self.edges.add(line.start, price)
        if not (goes_on or self._flat) and line.indent <= self.outline.depth:
            above = self._anchor != _NONE and line.indent == self._anchor_indent
            start = self.edges.offsets[self._anchor] if above else line.start
            self.outline.close(start, line.indent)
        if self._attached.match(line.head):
            self._attach(line, number)
        elif not (goes_on or line.indent > self._anchor_indent):
            # Deeper lines and closing brackets are the rest of a decorator over several lines.
            self._anchor = _NONE
        self._header = False

    def _attach(self, line: _Line, number: int) -> None:
        if self._anchor == _NONE:
            self._anchor = number
            self._anchor_indent = line.indent
            self._anchor_first = self._is_first(line)

    def _is_first(self, line: _Line) -> bool:
        """Tell whether a line is the first below the header of a definition."""
        return self._header and (self._flat or line.indent > self._indent)

    def _price(self, line: _Line) -> float:
        indent = _price_indent(line.indent)
        if self._is_first(line):
            return LINE + _OFFSET + indent
        if line.gap:
            return (BLOCK if line.indent < self._indent else BLANK) + indent
        if line.indent > self._indent:
            return LINE + indent + _OFFSET
        return LINE + indent - (_OFFSET if line.indent < self._indent else 0)


def _price_indent(indent: int) -> float:
    return indent / _INDENT_UNIT if indent < INDENTED * _INDENT_UNIT else INDENTED


class _Prose:
    """Reads lines of prose: headings, paragraphs, items and fenced blocks."""

    def __init__(self, text: str, family: Family) -> None:
        self.edges = Edges()
        self.outline = Outline(len(text))
        self._heading, _ = compile_definitions(family)
        self._underlines = family.underlines
        self._styles: dict[tuple[str, bool], int] = {}  # levels of underlines, as they appear
        self._fence = ""  # what closes the fenced block that is being read
        self._above = ""  # beginning of the line above
        self._after_heading = False
        self._title = _NONE  # edge of the line above, if an underline may make it a heading
        self._rule = _NONE  # edge of the line above, if it is a rule that may be an overline
        self._overline = _NONE  # edge of the overline above the title

    def read(self, line: _Line) -> None:
        if line.gap:
            self._title = self._rule = _NONE
        if self._fence:
            self._read_fenced(line)
        elif line.indent >= _CODE_INDENT:
            self._read_plain(line)
        elif match := self._heading.match(line.head):
            mark, title = filter(None, match.groups())
            number = self.edges.add(line.start, self._price(line))
            self._open_heading(number, len(mark), title)
        elif (rule := _RULE.match(line.head)) and rule[1] in self._underlines:
            self._read_rule(line, rule[1])
        else:
            self._read_plain(line)
        self._above = line.head

    def _read_fenced(self, line: _Line) -> None:
        price = FENCED + _price_indent(line.indent) + (0 if line.gap else BLANK)
        if line.head.startswith(self._fence) and not line.head.strip(self._fence[0]):
            self._fence = ""
            price += _CLOSER
        self.edges.add(line.start, price)

    def _open_heading(self, number: int, level: int, title: str) -> None:
        if self.edges.prices[number] < GLUED:  # else it follows another heading
            self.edges.prices[number] = TOP + _LEVEL_STEP * min(level - 1, _DEEPEST_LEVEL)
        self.outline.open(self.edges.offsets[number], level, _TRAILER.sub("", title))
        self._after_heading = True
        self._title = self._rule = _NONE

    def _read_rule(self, line: _Line, mark: str) -> None:
        long_enough = mark in "=-" or len(line.head) >= len(self._above)
        if self._title == _NONE or not long_enough:
            begins = line.gap or self._after_heading or not self.edges.offsets
            number = self.edges.add(line.start, self._price(line))
            self._rule = number if begins else _NONE
            self._title = _NONE
            self._after_heading = False
            return
        overlined = self._overline != _NONE
        level = self._styles.setdefault((mark, overlined), len(self._styles) + 1)
        if overlined:
            self.edges.prices[self._title] = GLUED
        self._open_heading(self._overline if overlined else self._title, level, self._above)
        self.edges.add(line.start, GLUED)

    def _read_plain(self, line: _Line) -> None:
        fence = _FENCE.match(line.head)
        if fence and line.head[0] not in self._underlines:
            self._fence = fence[1] or fence[2]
        begins = line.gap or self._after_heading or not self.edges.offsets
        number = self.edges.add(line.start, self._price(line))
        self._title = number if begins or self._rule != _NONE else _NONE
        self._overline, self._rule = self._rule, _NONE
        self._after_heading = False

    def _price(self, line: _Line) -> float:
        if self._after_heading:
            return GLUED
        indent = _price_indent(line.indent)
        last = self._above[-1:]
        if line.gap:
            return BLANK + indent + (_OFFSET if last == ":" else 0)
        if _ITEM.match(line.head):
            return ITEM + indent
        if line.head[0] == "|":
            return LINE + indent + _OFFSET
        return LINE + indent - (_OFFSET if last in _SENTENCE_MARKS else 0)
