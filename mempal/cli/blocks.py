"""What an answer for people is made of; terminal and plain text draw the same blocks."""

from dataclasses import dataclass

from mempal.core.model import Term


@dataclass(frozen=True, slots=True)
class Line:
    """One line of our own words, names included."""

    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Stored text without a citation of its own."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under column heads.

    Attributes:
        columns: Head of each column; empty for none.
        rows: Cells as text; every row has as many as there are heads.
        numeric: Numbers of the columns that are set flush right.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A stored text under its citation.

    Attributes:
        location: Where it is, as ``path:first-last``.
        facts: What else is known, in short words.
        content: The stored text.
        first_line: Number of its first line in the source; ``None`` when it has none.
        terms: What was asked for. A terminal marks it and shows only the lines around it; without
            terms all of the text is shown.
    """

    location: str
    facts: tuple[str, ...]
    content: str
    first_line: int | None = None
    terms: tuple[Term, ...] = ()


Block = Line | Verbatim | Table | Passage
