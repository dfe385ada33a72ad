"""Chats that were exported as Markdown, or copied out of a window.

Who speaks stands in a heading (``## User``), in bold (``**You:** …``), in bold italics
(``_**User**_``) or before a colon (``User: …``); aider puts what it was asked in headings of its
own. The text is cut into turns and never rewritten.

Documents *about* roles look much the same, so a text must read as a dialogue: both sides speak, in
turns, from near its beginning, and nothing else in it is marked in the same way.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mempal.core.model import SourceClass
from mempal.ingest.transcripts.plain import Line, Turn, read_lines

_PERSON = r"user|human|you|me|you said|user prompt|user question|my prompt"
_ASSISTANT = (
    r"(?:the )?(?:ai )?assistant|ai|llm|chat ?bot|(?:github )?copilot|claude|chat ?gpt|gpt|gemini"
    r"|codex|bard|grok|deepseek|mistral|llama|qwen|perplexity|cursor|aider|sonnet|opus|haiku"
    r"|(?:chat ?gpt|claude|gemini|copilot|ai|assistant) (?:said|response|answer|replied)"
)
# A model's name may be followed by its version: `Claude 3.5 Sonnet`, `gpt-4o`, `GPT-5 (thinking)`.
_VERSION = (
    r"(?:[ -]?[0-9][\w.-]{0,20}|[ -](?:code|cli|ai|chat|pro|flash|sonnet|opus|haiku|mini|turbo|plus"
    r"|max|advanced|thinking|coder|cascade)\b){0,4}"
)
_OTHER = r"system|tool|tools|developer|system prompt"
_WHEN = (
    r"(?:[ \t]*(?:\([^()\n]{1,80}\)|\[[^\[\]\n]{1,80}\]"
    r"|[-–—·|,@][ \t]*[\d:., TZAPMapm/+-]{4,40}))?"  # noqa: RUF001 - dashes as people write them
)
_NAME = rf"(?P<name>{_PERSON}|(?:{_ASSISTANT}){_VERSION}|{_OTHER}){_WHEN}"
# A word too common for any other style.
_AGENT = rf"(?P<agent>agent){_WHEN}"
# Pictures that some exports put before a name, with their joiners and variants.
_PICTURE = r"(?:[^\w\s*#>`_:-]{1,4}[ \t]*)?"
_STYLES = {
    "heading": re.compile(
        rf"(?P<level>\#{{1,6}})[ \t]+{_PICTURE}(?:\*\*|__|_)?{_PICTURE}{_NAME}:?(?:\*\*|__|_)?:?"
        r"[ \t]*\#*[ \t]*$",
        re.IGNORECASE,
    ),
    "italic": re.compile(
        rf"(?:_\*\*|\*\*_|\*\*\*)(?:{_NAME}|{_AGENT}):?(?:\*\*_|_\*\*|\*\*\*):?[ \t]*$",
        re.IGNORECASE,
    ),
    "bold": re.compile(
        rf"(?P<bold>\*\*|__){_PICTURE}{_NAME}(?::[ \t]*(?P=bold)|(?P=bold)[ \t]*(?::|$))",
        re.IGNORECASE,
    ),
    "label": re.compile(rf"{_PICTURE}{_NAME}:(?=[ \t]|$)", re.IGNORECASE),
}
# What else is marked like a speaker, by style.
_OTHERS = {
    "heading": re.compile(r"#{1,6}[ \t]"),
    "italic": re.compile(r"(?:_\*\*|\*\*_|\*\*\*)[^*_\n]{1,60}(?:\*\*_|_\*\*|\*\*\*):?[ \t]*$"),
    "bold": re.compile(
        r"(?P<bold>\*\*|__)[^*_\n]{1,60}(?::[ \t]*(?P=bold)|(?P=bold)[ \t]*(?::|$))"
    ),
    "label": re.compile(r"[A-Z][\w.-]{0,30}(?: [\w.-]{1,30}){0,2}:(?=[ \t]|$)"),
}
_IS_PERSON = re.compile(rf"(?:{_PERSON})$", re.IGNORECASE)
_IS_OTHER = re.compile(rf"(?:{_OTHER})$", re.IGNORECASE)
_CHAPTER = re.compile(r"#{1,2}[ \t]")
# How documents about roles put it.
_EXPLAINS = re.compile(
    r"\b(?:roles?|persona|end[- ]users?|refers to|represents?|messages? (?:from|sent)|sent by"
    r"|(?:an?|the|any) \w{2,20} (?:who|that|which))\b",
    re.IGNORECASE,
)
_AIDER_START = "# aider chat started at "
_AIDER_ASKED = "#### "
_AIDER_TOLD = ">"
# Turns from which on a text needs no further proof than their changing.
_DIALOGUE = 3
# Lines with text before the first turn, and before a single question with its answer.
_PREAMBLE = 12
_SHORT_PREAMBLE = 6
# Part of the text, in characters, that may stand before the first turn.
_LATE = 0.4
# Part of a longer text that its last turn may fill when chapters begin in it.
_LONG = 0.6
# For so many turns one heading above them is too many.
_TURNS_PER_HEADING = 4
# Characters of a turn that would explain a role.
_EXPLAINED = 400


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line that says who speaks from here on."""

    start: int
    line: int
    speaker: str
    source_class: SourceClass
    level: int = 0

    @property
    def spoken(self) -> bool:
        """Whether one of the two sides speaks."""
        return self.source_class is not SourceClass.TOOL


def split(text: str) -> list[Turn] | None:
    """Cut a chat into turns that follow each other and together are the whole text.

    Args:
        text: A whole file, line ends folded.

    Returns:
        The turns, names as they are spelt; ``None`` for a text that is no chat.
    """
    if ":" not in text and "#" not in text and "**" not in text:
        return None
    lines = read_lines(text)
    aider = _split_aider(lines, len(text))
    if aider:
        return aider
    for style in _STYLES:
        marks = list(_find_marks(lines, style))
        for chosen in _choose_levels(marks):
            if _is_dialogue(text, lines, chosen, style):
                return _make_turns(chosen, len(text))
    return None


def _find_marks(lines: Sequence[Line], style: str) -> Iterator[_Mark]:
    pattern = _STYLES[style]
    for number, line in enumerate(lines):
        found = None if line.fenced else pattern.match(line.text)
        if found:
            name = found["name"] or found["agent"]
            level = len(found["level"]) if style == "heading" else 0
            yield _Mark(line.start, number, name, _classify(name), level)


def _classify(name: str) -> SourceClass:
    if _IS_PERSON.match(name):
        return SourceClass.PERSON
    return SourceClass.TOOL if _IS_OTHER.match(name) else SourceClass.ASSISTANT


def _choose_levels(marks: Sequence[_Mark]) -> Iterator[list[_Mark]]:
    """Yield the marks of each level of headings, highest first, then all of them together.

    An answer may have a heading of its own that reads like a speaker's.
    """
    levels = sorted({mark.level for mark in marks})
    for level in levels:
        yield [mark for mark in marks if mark.level == level]
    if len(levels) > 1:
        yield list(marks)


def _is_dialogue(text: str, lines: Sequence[Line], marks: Sequence[_Mark], style: str) -> bool:
    spoken = [mark for mark in marks if mark.spoken]
    classes = {mark.source_class for mark in spoken}
    if len(classes) < len((SourceClass.PERSON, SourceClass.ASSISTANT)):
        return False
    before = sum(not line.blank for line in lines[: marks[0].line])
    if marks[0].start > len(text) * _LATE or before > _PREAMBLE:
        return False
    if len(spoken) < _DIALOGUE or not _is_repeated(spoken):
        return before <= _SHORT_PREAMBLE and _is_exchange(text, lines, marks, style)
    changes = sum(one.source_class is not two.source_class for one, two in pairwise(spoken))
    return changes >= _DIALOGUE - 1 and not _is_document(text, lines, marks, style)


def _is_repeated(spoken: Sequence[_Mark]) -> bool:
    """Whether anybody speaks twice; a list of roles names each once."""
    names = [mark.speaker.lower() for mark in spoken]
    return len(set(names)) < len(names)


def _is_exchange(text: str, lines: Sequence[Line], marks: Sequence[_Mark], style: str) -> bool:
    """Tell one question with its answer from a document that says what either side is."""
    spoken = [mark for mark in marks if mark.spoken]
    if spoken[0].source_class is not SourceClass.PERSON or len(marks) > len(spoken) + 1:
        return False
    others = _find_others(lines, marks, style)
    if style == "heading":
        others = [line for line in others if _get_level(line) <= marks[0].level]
    if others or _find_chapters(lines, marks):
        return False
    for turn in _make_turns(marks, len(text)):
        said = text[turn.start : turn.end]
        short = "\n" not in said.strip() and len(said.split()) <= _DIALOGUE
        if turn.speaker is not None and (short or _EXPLAINS.search(said[:_EXPLAINED])):
            return False
    return True


def _is_document(text: str, lines: Sequence[Line], marks: Sequence[_Mark], style: str) -> bool:
    """Tell a document with dialogues in it from a dialogue."""
    spoken = sum(mark.spoken for mark in marks)
    if style == "italic":
        return False
    if style == "heading":
        # A heading with a colon is no document's. Without, there may be chapters above it.
        if all(":" in lines[mark.line].text for mark in marks):
            return False
        highest = min(mark.level for mark in marks)
        others = _find_others(lines, marks, style)
        above = sum(_get_level(line) < highest for line in others)
        return above * _TURNS_PER_HEADING >= spoken
    if style == "label" and len(_find_others(lines, marks, style)) > spoken:
        return True
    chapters = _find_chapters(lines, marks)
    last = marks[-1]
    example = len(text) - last.start > len(text) * _LONG and any(
        line.start > last.start for line in chapters
    )
    return example or len(chapters) > spoken


def _find_others(lines: Sequence[Line], marks: Sequence[_Mark], style: str) -> list[Line]:
    """Return lines behind the first turn that are marked as a speaker is, but name none."""
    return _find_lines(lines, marks, _OTHERS[style])


def _find_chapters(lines: Sequence[Line], marks: Sequence[_Mark]) -> list[Line]:
    return _find_lines(lines, marks, _CHAPTER)


def _find_lines(
    lines: Sequence[Line], marks: Sequence[_Mark], pattern: re.Pattern[str]
) -> list[Line]:
    starts = {mark.start for mark in marks}
    return [
        line
        for line in lines[marks[0].line :]
        if not line.fenced and line.start not in starts and pattern.match(line.text)
    ]


def _get_level(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip("#"))


def _make_turns(marks: Sequence[_Mark], length: int) -> list[Turn]:
    ends = [*(mark.start for mark in marks[1:]), length]
    turns = [
        Turn(mark.start, end, mark.speaker, mark.source_class)
        for mark, end in zip(marks, ends, strict=True)
    ]
    if marks[0].start:
        turns.insert(0, Turn(0, marks[0].start, None, SourceClass.FILE))
    return turns


def _split_aider(lines: Sequence[Line], length: int) -> list[Turn] | None:
    """Cut a log of aider: ``####`` is what it was asked, ``>`` what it said about itself."""
    first = next((line for line in lines if not line.blank), None)
    if first is None or not first.text.startswith(_AIDER_START):
        return None
    marks: list[_Mark] = []
    for number, line in enumerate(lines):
        speaker, source_class = _classify_aider(line)
        if not line.blank and (not marks or marks[-1].source_class is not source_class):
            marks.append(_Mark(line.start, number, speaker, source_class))
    return _make_turns(marks, length)


def _classify_aider(line: Line) -> tuple[str, SourceClass]:
    if line.text.startswith(_AIDER_ASKED) and not line.fenced:
        return "user", SourceClass.PERSON
    told = line.text.startswith((_AIDER_TOLD, _AIDER_START))
    if told and not line.fenced:
        return "aider", SourceClass.TOOL
    return "assistant", SourceClass.ASSISTANT
