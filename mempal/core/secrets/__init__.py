"""Takes secrets out of a text before anything is stored, and says where it took them.

Each secret becomes a placeholder that names its kind, such as `[redacted:github-token]`. Lines
stay: a secret of many lines leaves its placeholder on the first and nothing on the others, and line
ends are never touched, so that a citation of lines holds for both texts.

Invariants: a text without secrets is returned itself; redacting what was redacted changes nothing;
outside the redactions the text is the original; no text, however malformed, raises.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mempal.core.secrets.tokens import Span

_PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9\-]{1,40}\]")
_LINE = re.compile(r"[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Redaction:
    """One replacement: a half-open range of characters of the original, and what stands there now.

    A secret of many lines is one redaction for each of its lines; the first carries the
    placeholder, the others an empty replacement.
    """

    start: int
    end: int
    kind: str
    replacement: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the sorted, disjoint redactions that made it."""

    text: str
    redactions: tuple[Redaction, ...] = ()
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        removed = accumulate(
            (len(one.replacement) - (one.end - one.start) for one in self.redactions), initial=0
        )
        starts = tuple(
            one.start + shift for one, shift in zip(self.redactions, removed, strict=False)
        )
        object.__setattr__(self, "_starts", starts)

    def counts(self) -> dict[str, int]:
        """Return how many secrets of each kind were taken out, by kind in alphabetical order."""
        kinds = Counter(one.kind for one in self.redactions if one.replacement)
        return dict(sorted(kinds.items()))

    def original_offset(self, offset: int) -> int:
        """Return where a character offset of the redacted text lies in the original.

        Inside a placeholder that is the start of what it replaced; at its end, the end. Never falls
        while the offset rises. Takes time logarithmic in the number of redactions.
        """
        number = bisect_right(self._starts, offset) - 1
        if number < 0:
            return offset
        last = self.redactions[number]
        beyond = offset - self._starts[number] - len(last.replacement)
        return last.end + beyond if beyond >= 0 else last.start


def redact(text: str) -> Redacted:
    """Return a text with every recognised secret replaced by a placeholder that names its kind.

    Takes time linear in the text. What one pass leaves is read again until nothing is found, since
    a placeholder changes what its neighbours look like.
    """
    current = Redacted(text)
    while found := tuple(_replace(current.text)):
        current = Redacted(_apply(current.text, found), _join(current, found))
    return current


def _replace(text: str) -> Iterator[Redaction]:
    """Yield the replacements that a text calls for, in order and disjoint."""
    for span in _untouched(text, _find(text)):
        replacement = f"[redacted:{span.kind}]"
        for line in _LINE.finditer(text, span.start, span.end):
            yield Redaction(line.start(), line.end(), span.kind, replacement)
            replacement = ""


def _find(text: str) -> "list[Span]":
    """Return the secrets of a text, in order and disjoint.

    Where several overlap, all they cover is one, of the kind that is known most precisely.
    """
    # Compiling the patterns takes longer than a cold search, which reads files but rarely.
    from mempal.core.secrets.addresses import find_addressed  # noqa: PLC0415
    from mempal.core.secrets.assignments import find_assigned  # noqa: PLC0415
    from mempal.core.secrets.keys import find_keys  # noqa: PLC0415
    from mempal.core.secrets.tokens import Span, find_tokens  # noqa: PLC0415

    # The one letter whose lower case is two characters would move all that follows it.
    lowered = text.lower() if text.isascii() else text.replace("\u0130", "i").lower()
    ranked = (
        (span.start, span.end, rank, span.kind)
        for rank, spans in enumerate(
            (
                find_keys(text),
                find_tokens(text),
                find_addressed(text, lowered),
                find_assigned(text, lowered),
            )
        )
        for span in spans
    )
    found: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in sorted(ranked):
        if not found or start >= found[-1][1]:
            found.append((start, end, rank, kind))
            continue
        first, last, better, known = found[-1]
        found[-1] = (first, max(end, last), *min((better, known), (rank, kind)))
    return [Span(start, end, kind) for start, end, _, kind in found]


def _untouched(text: str, spans: "list[Span]") -> "list[Span]":
    """Return the spans that share no character with a placeholder."""
    if not spans or "[redacted:" not in text:
        return spans
    taken = [match.span() for match in _PLACEHOLDER.finditer(text)]
    starts = [start for start, _ in taken]
    return [
        span
        for span in spans
        if (number := bisect_left(starts, span.end)) == 0 or taken[number - 1][1] <= span.start
    ]


def _apply(text: str, redactions: tuple[Redaction, ...]) -> str:
    parts: list[str] = []
    at = 0
    for one in redactions:
        parts += (text[at : one.start], one.replacement)
        at = one.end
    parts.append(text[at:])
    return "".join(parts)


def _join(before: Redacted, found: tuple[Redaction, ...]) -> tuple[Redaction, ...]:
    """Return the redactions of an earlier pass and those found in its text, all in the original."""
    moved = [
        Redaction(
            before.original_offset(one.start),
            before.original_offset(one.end),
            one.kind,
            one.replacement,
        )
        for one in found
    ]
    return tuple(sorted([*before.redactions, *moved], key=lambda one: one.start))
