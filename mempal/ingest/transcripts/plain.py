"""Plain chats: what the user said stands behind ``> `` at the beginning of a line.

Markdown marks quotations the same way, and so does mail. Unless a file is known to be a chat, only
one that can hardly be anything else is taken for one. The text is cut into turns, never rewritten.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mempal.core.model import SourceClass

# Lines with text before the first turn of a chat.
_PREAMBLE = 3
_TURNS = 2
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})[ \t]*(.*)")
_NESTED = re.compile(r">[ \t]*>")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]|={2,}[ \t]*$")
_MAIL = re.compile(
    r"(?:From|To|Cc|Subject|Date|Message-ID|In-Reply-To):[ \t]|-- ?$"
    r"|.{0,300}\b(?:wrote|writes|schrieb):?[ \t]*$"
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A slice of a text that one speaker said.

    Attributes:
        start: Index of its first character.
        end: Index behind its last one, which is where the next turn begins.
        speaker: As the text spells it; ``None`` for what stands before the first turn.
    """

    start: int
    end: int
    speaker: str | None
    source_class: SourceClass


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text: where it begins, its text without the line end, whether code holds it."""

    start: int
    text: str
    fenced: bool

    @property
    def blank(self) -> bool:
        """Whether it says nothing."""
        return not self.text.strip()


def split(text: str, *, force: bool = False) -> list[Turn] | None:
    """Cut a chat into turns that follow each other and together are the whole text.

    What the user said is each run of lines that begin with ``>``, the first with ``> ``, outside of
    fenced code; the lines in between are the assistant's.

    Args:
        text: A whole file, line ends folded.
        force: Whether it is known to be a chat, so that one turn is enough.

    Returns:
        The turns; ``None`` for a text that is no such chat.
    """
    if "> " not in text:
        return None
    lines = read_lines(text)
    runs = list(_find_runs(lines))
    if not runs or not (force or _is_chat(lines, runs)):
        return None
    turns = []
    if runs[0][0] > 0:
        turns.append(Turn(0, lines[runs[0][0]].start, None, SourceClass.FILE))
    ends = [*(first for first, _ in runs[1:]), len(lines)]
    for (first, last), following in zip(runs, ends, strict=True):
        begin = lines[first].start
        end = lines[following].start if following < len(lines) else len(text)
        if all(line.blank for line in lines[last:following]):
            turns.append(Turn(begin, end, "user", SourceClass.PERSON))
            continue
        middle = lines[last].start
        turns.append(Turn(begin, middle, "user", SourceClass.PERSON))
        turns.append(Turn(middle, end, "assistant", SourceClass.ASSISTANT))
    return turns


def read_lines(text: str) -> list[Line]:
    """Return the lines of a text; a fence of code that is never closed holds nothing."""
    starts = [(found.start(), found.group().rstrip("\r\n")) for found in _LINE.finditer(text)]
    fenced: set[int] = set()
    opening = 0
    fence = ""
    for number, (_, line) in enumerate(starts):
        found = _FENCE.match(line)
        if not found:
            continue
        if not fence:
            opening, fence = number, found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fenced.update(range(opening, number + 1))
            fence = ""
    return [Line(start, line, number in fenced) for number, (start, line) in enumerate(starts)]


def _find_runs(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yield where each run of the user's lines begins and where the line behind it is."""
    number = 0
    while number < len(lines):
        if not lines[number].text.startswith("> ") or lines[number].fenced:
            number += 1
            continue
        first = number
        while number < len(lines) and lines[number].text.startswith(">"):
            number += 1
        yield first, number


def _is_chat(lines: Sequence[Line], runs: Sequence[tuple[int, int]]) -> bool:
    if len(runs) < _TURNS or any(_is_prose(line) for line in lines):
        return False
    if sum(not line.blank for line in lines[: runs[0][0]]) > _PREAMBLE:
        return False
    answered = asked = 0
    for _, last in runs:
        following = next((line for line in lines[last:] if not line.blank), None)
        answered += following is not None and not following.text.startswith(">")
        # Nobody who quotes puts text right below the quotation: Markdown would make it part of it.
        direct = last < len(lines) and not lines[last].blank
        asked += direct or lines[last - 1].text.rstrip().endswith("?")
    return answered >= max(_TURNS, len(runs) - 1) and asked * 2 > len(runs)


def _is_prose(line: Line) -> bool:
    """Tell a line that is no part of a plain chat: a heading, or something out of a mail."""
    if line.fenced:
        return False
    return any(pattern.match(line.text) for pattern in (_NESTED, _HEADING, _MAIL))
