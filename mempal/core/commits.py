"""Commits as git tells of them, and the parts a commit message has.

A message is a subject (its first paragraph), a body, and trailers: lines such as ``Fixes: #12`` or
``Reviewed-by: Ada`` that make up the whole of the last paragraph. All words stay as written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Paths of one commit that are kept; of the others only the number is.
MOST_FILES = 50

_BLANK_LINE = re.compile(r"\n(?:[ \t]*\n)+")
# A key is one with a hyphen or one of these: the prose of a message has words with a colon, too.
_KEYS = (
    "bugs?|cc|closes|fixes|implements|issues?|jira|link|pr|references|refs?|related|relates|resolves"
    "|see|task|ticket"
)
_TRAILER = re.compile(
    rf"(?P<key>[a-z0-9]+(?:-[a-z0-9]+)+|{_KEYS}):[ \t]+(?P<value>\S.*)", re.IGNORECASE | re.ASCII
)
_PICKED = re.compile(r"\((?P<key>cherry picked from commit) (?P<value>[0-9a-f]{7,64})\)")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a commit changed.

    Attributes:
        status: git's letter for what happened: ``A``, ``M``, ``D``, ``R``, ``C`` or ``T``.
        path: Path below the top of the repository; bytes that are no UTF-8 are surrogate escapes.
        former: Path it had before, where it was renamed or copied.
    """

    status: str
    path: str
    former: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """The parts of a commit message, line ends folded, without blank lines around them."""

    subject: str = ""
    body: str = ""
    trailers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Attributes:
        sha: Its id, 40 or 64 hex digits.
        parents: Ids of its parents; none where a shallow clone is cut off.
        author: Name of who wrote it.
        authored_at: Instant it was written; ``None`` when its date is no instant of the calendar.
        committed_at: Instant it was made a part of the history; ``None`` as above.
        subject: First paragraph of its message.
        body: The message without subject and trailers.
        trailers: Keys and values of the message's last lines, in order, keys repeated as they are.
        files: The first ``MOST_FILES`` files it changed; none for a merge, and none where a shallow
            clone is cut off.
        file_count: How many files it changed.
    """

    sha: str
    parents: tuple[str, ...] = ()
    author: str = ""
    authored_at: int | None = None
    committed_at: int | None = None
    subject: str = ""
    body: str = ""
    trailers: tuple[tuple[str, str], ...] = ()
    files: tuple[ChangedFile, ...] = ()
    file_count: int = 0


@dataclass(frozen=True, slots=True)
class CommitListing:
    """Commits, each after its parents.

    Reading may stop anywhere: what follows a commit in the listing is not among its ancestors, so
    going on behind the last commit that was read misses none.

    Attributes:
        commits: The commits; read once, while they are asked for. Raises ``SourceError`` when git
            stops before the end.
        complete: Whether the listing begins anew, without regard to what was read before.
        notices: What it lacks, in words for the user.
    """

    commits: Iterator[Commit]
    complete: bool = True
    notices: tuple[str, ...] = ()


def split_message(message: str) -> Message:
    r"""Tell the parts of a commit message apart.

    ``\r\n`` and ``\r`` are folded to ``\n``. A message of one paragraph is a subject only.
    """
    text = message.replace("\r\n", "\n").replace("\r", "\n").strip()
    border = _BLANK_LINE.search(text)
    if border is None:
        return Message(text)
    subject, rest = text[: border.start()], _trim(text[border.end() :])
    *_, last = _BLANK_LINE.split(rest)
    trailers = _read_trailers(last)
    if trailers:
        rest = _trim(rest.removesuffix(last))
    return Message(subject, rest, trailers)


def _trim(text: str) -> str:
    """Drop blank lines at the beginning, and blanks and line ends at the end."""
    text = text.rstrip()
    start = len(text) - len(text.lstrip())
    return text[text.rfind("\n", 0, start) + 1 :]


def _read_trailers(paragraph: str) -> tuple[tuple[str, str], ...]:
    """Return the trailers of a paragraph; none unless each line is one or goes on with one."""
    trailers: list[tuple[str, str]] = []
    for line in paragraph.split("\n"):
        found = _TRAILER.fullmatch(line) or _PICKED.fullmatch(line)
        if found is not None:
            trailers.append((found["key"], found["value"]))
        elif trailers and line[:1] in {" ", "\t"}:
            key, value = trailers[-1]
            trailers[-1] = (key, f"{value}\n{line}")
        else:
            return ()
    return tuple(trailers)
