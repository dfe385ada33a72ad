"""What waits in a project's two inboxes, and what became of what was pushed; nothing is changed."""

from typing import NamedTuple

from mempal.core.errors import MempalError
from mempal.cowork.names import TOOLS
from mempal.cowork.places import Place, read_file
from mempal.cowork.receipts import Row, list_states
from mempal.cowork.wire import Message, parse_message, split_lines

_PREVIEWS = 3
STATES = ("pending", "drained", "lost")


class Inbox(NamedTuple):
    """One tool's inbox.

    Attributes:
        tool: Who reads it.
        exists: Whether there is a file.
        messages: Lines in it that are not blank.
        size: Its bytes.
        previews: The messages among its first three lines.
        problem: Why it cannot be read; empty when it can.
    """

    tool: str
    exists: bool
    messages: int
    size: int
    previews: tuple[Message, ...]
    problem: str


class Status(NamedTuple):
    """Both inboxes of a project and how many of the messages to each tool are in which state.

    Attributes:
        project: Identity of the project.
        inboxes: That of claude, then that of codex.
        counts: By tool, how many messages are pending, drained and lost.
        problem: Why the states cannot be told; empty when they can.
        unreadable: Numbers of lines of the log that are no receipts.
    """

    project: str
    inboxes: tuple[Inbox, ...]
    counts: dict[str, dict[str, int]]
    problem: str
    unreadable: tuple[int, ...]


def read_status(home: str, cwd: str) -> Status:
    """Tell what waits.

    Raises:
        InvalidFolderError: ``cwd`` is relative or has a ``..`` part.
    """
    place = Place(home, cwd)
    inboxes = tuple(_read_inbox(place, tool) for tool in TOOLS)
    try:
        rows, unreadable = list_states(place)
    except MempalError as error:
        return Status(place.project, inboxes, {}, error.message, ())
    counts = {tool: count_states([row for row in rows if row["to"] == tool]) for tool in TOOLS}
    return Status(place.project, inboxes, counts, "", tuple(unreadable))


def read_states(home: str, cwd: str, limit: int | None) -> tuple[list[Row], list[int]]:
    """Return the newest states, and the numbers of lines of the log that are no receipts.

    Raises:
        InvalidFolderError: ``cwd`` is relative or has a ``..`` part.
        InboxError: The log or an inbox is there and cannot be read.
    """
    rows, unreadable = list_states(Place(home, cwd))
    return rows[:limit], unreadable


def count_states(rows: list[Row]) -> dict[str, int]:
    """Return how many rows are in each state."""
    return {state: sum(row["status"] == state for row in rows) for state in STATES}


def _read_inbox(place: Place, tool: str) -> Inbox:
    try:
        data = read_file(place.inbox(tool))
    except MempalError as error:
        return Inbox(tool, True, 0, 0, (), error.message)
    lines = [line for _, line in split_lines(data or b"") if line.strip()]
    parsed = (parse_message(line) for line in lines[:_PREVIEWS])
    previews = tuple(message for message in parsed if message)
    return Inbox(tool, data is not None, len(lines), len(data or b""), previews, "")
