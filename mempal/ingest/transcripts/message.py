"""What every transcript format is turned into.

A reader takes an open binary file and gives a :class:`Transcript`. It keeps what was said verbatim,
leaves out what nobody said (meta data, injected context, reasoning, images), and names in
``problems`` everything that it could not read. It never raises for what a file holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mempal.core.model import Span, Voice


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that was said.

    Attributes:
        text: The words, line ends folded to a newline, never blank, no half of a surrogate pair.
        voice: Who said them, and when.
        session: Key of the conversation in :attr:`Transcript.sessions`.
        span: Lines and bytes of the record that holds them; ``None`` where a record has no lines
            of its own (one JSON document for many conversations).
    """

    text: str
    voice: Voice
    session: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation.

    Attributes:
        key: What tells it from all others of its format, wherever its file lies; empty when the
            format names none, and then the file itself is the conversation.
        title: What its tool calls it; may be empty.
        folder: Folder that was worked in, absolute; empty when unknown.
    """

    key: str
    title: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where reading goes on when a file has grown.

    Everything before ``offset`` is settled: records that come later change no message before it.

    Attributes:
        offset: Bytes from the beginning of the file; the beginning of a line.
        line: Number of that line, from 1.
        settled: For each session, how many of its messages lie before ``offset``.
        state: What the format's reader must know of what lies before; JSON values only.
    """

    offset: int
    line: int
    settled: Mapping[str, int] = field(default_factory=dict)
    state: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What one file holds.

    Attributes:
        format: Name of the format, such as ``claude``.
        messages: In the order of the conversation; those of different sessions may alternate.
        sessions: Every conversation that has a message, by key.
        problems: What could not be read or was left out as broken, each with its line or
            conversation, in words for the user.
        checkpoint: Where to go on; ``None`` for formats that are always read whole.
        resumed: Whether reading began at a checkpoint, so that ``messages`` are only those after
            it.
    """

    format: str
    messages: tuple[Message, ...] = ()
    sessions: Mapping[str, Session] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    checkpoint: Checkpoint | None = None
    resumed: bool = False
