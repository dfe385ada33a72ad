"""Taking messages out of an inbox such that a crash at any point loses none of them.

What is taken lies in a file of its own, the claim, until it has been shown. Its process holds a
lock on it; a claim that nobody holds belongs to a process that died, and the next drain takes it
over. The order is: write the claim, then take its lines out of the inbox. A crash in between leaves
lines in both, and the next drain knows them again by their handles.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from mempal.core.errors import InboxError
from mempal.cowork.lock import try_flock
from mempal.cowork.places import (
    Place,
    explain_unreadable,
    is_at,
    read_descriptor,
    replace_file,
    write_all,
)
from mempal.cowork.wire import Message, parse_message, split_lines

SHOWN = "-shown"
# A drain of the reference is done with its claim within milliseconds; one this old is orphaned.
_PEER_SECONDS = 1.0
_POLL_SECONDS = 0.02
_LONGEST_WAIT = 2.0

Show = Callable[[Message, bool], str]
Fits = Callable[[Sequence[str]], bool]


class Taken:
    """Messages that a drain holds.

    Attributes:
        messages: Each with what a host is shown of it.
        waiting: How many are left in the inboxes.
        unreadable: How many lines were no messages; they are kept beside the inbox.
        path: The claim; empty when nothing was taken.
    """

    __slots__ = ("_descriptor", "messages", "path", "unreadable", "waiting")

    def __init__(self) -> None:
        self.messages: list[tuple[Message, str]] = []
        self.waiting = 0
        self.unreadable = 0
        self.path = ""
        self._descriptor = -1

    def write(self, path: str) -> None:
        """Write the claim, held from the moment it can be seen."""
        beside = f"{path}.new"
        self._descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try_flock(self._descriptor)
        write_all(self._descriptor, b"".join(m.line + b"\n" for m, _ in self.messages))
        os.fsync(self._descriptor)
        os.rename(beside, path)  # noqa: PTH104
        self.path = path

    def mark_shown(self) -> None:
        """Note that from now on the messages may have been seen."""
        os.rename(self.path, self.path + SHOWN)  # noqa: PTH104
        self.path += SHOWN

    def finish(self) -> None:
        """Let go of messages that were shown."""
        os.unlink(self.path)  # noqa: PTH108
        os.close(self._descriptor)


class _Source:
    """One file of messages, held while its lines are sorted out."""

    __slots__ = ("descriptor", "lines", "name", "path", "rest", "unreadable")

    def __init__(self, path: str, name: str, descriptor: int) -> None:
        self.path = path
        self.name = name
        self.descriptor = descriptor
        self.lines = [line for _, line in split_lines(read_descriptor(descriptor, path))]
        self.rest: list[bytes] = []
        self.unreadable: list[bytes] = []

    @property
    def shown(self) -> bool:
        """Whether its messages may have been seen."""
        return self.path.endswith((SHOWN, ".draining"))


def take(place: Place, target: str, show: Show, fits: Fits) -> Taken:
    """Take the oldest messages for a tool, as many as fit; the others stay.

    Args:
        place: The project; its lock should be held.
        target: The tool that reads.
        show: Returns what a host is shown of a message that may have been shown before, or not.
        fits: Tells whether a host shows all of these at once.

    Raises:
        InboxError: An inbox cannot be read; nothing was taken.
        OSError: The system refuses to write; nothing is lost.
    """
    sources: list[_Source] = []
    try:
        for name in place.names:
            _open_sources(place, target, name, sources)
        taken = Taken()
        _sort(sources, place.project, taken, (show, fits))
        if taken.messages:
            nonce = f"{os.getpid():x}-{time.time_ns():x}"
            base = place.inbox(target).removesuffix(".jsonl")
            taken.write(f"{base}.claim-{nonce}")
        if taken.messages or taken.unreadable:
            _leave(place, target, sources)
        return taken
    finally:
        for source in sources:
            os.close(source.descriptor)


def _open_sources(place: Place, target: str, name: str, sources: list[_Source]) -> None:
    inbox = place.inbox(target, name)
    for path in (*place.list_claims(target, name), inbox):
        if path.endswith(".draining"):
            _wait_for_peer(path)
        descriptor = _hold(path, wait=path == inbox)
        if descriptor is None:
            continue
        try:
            sources.append(_Source(path, name, descriptor))
        except InboxError:
            os.close(descriptor)
            raise


def _wait_for_peer(path: str) -> None:
    """Give a peer's drain the time to finish its claim."""
    deadline = time.monotonic() + _LONGEST_WAIT
    while time.monotonic() < deadline:
        try:
            if time.time() - os.stat(path).st_ctime >= _PEER_SECONDS:  # noqa: PTH116
                return
        except OSError:
            return
        time.sleep(_POLL_SECONDS)


def _hold(path: str, *, wait: bool) -> int | None:
    """Open a file and take its lock; ``None`` when it is gone or another process has it."""
    deadline = time.monotonic() + _LONGEST_WAIT
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explain_unreadable(path, error) from error
        if try_flock(descriptor) and is_at(path, descriptor):
            return descriptor
        os.close(descriptor)
        if not wait or time.monotonic() >= deadline:
            return None
        time.sleep(_POLL_SECONDS)


def _sort(sources: list[_Source], project: str, taken: Taken, rendering: tuple[Show, Fits]) -> None:
    """Decide of each line whether it is taken, stays, or is no message."""
    show, fits = rendering
    shown: list[str] = []
    known: set[tuple[str, str, str, str]] = set()
    for source in sources:
        for line in source.lines:
            if not line.strip():
                continue
            message = parse_message(line)
            if message is None:
                source.unreadable.append(line)
                taken.unreadable += 1
                continue
            if message.project not in {None, project}:
                source.rest.append(line)
                continue
            if message.message_id is not None:
                key = (message.message_id, message.pushed_at, message.sender, message.content)
                if key in known:
                    continue
                known.add(key)
            if not taken.waiting:
                shown.append(show(message, source.shown))
            if taken.waiting or not fits(shown):
                source.rest.append(line)
                taken.waiting += 1
            else:
                taken.messages.append((message, shown[-1]))


def _leave(place: Place, target: str, sources: list[_Source]) -> None:
    """Write back what stays, and keep what is no message beside its inbox."""
    for name in place.names:
        own = [source for source in sources if source.name == name]
        inbox = place.inbox(target, name)
        if unreadable := [line for source in own for line in source.unreadable]:
            _keep(inbox.removesuffix(".jsonl") + ".unreadable", unreadable)
        rest = [line for source in own for line in source.rest]
        if rest:
            replace_file(inbox, b"".join(line + b"\n" for line in rest))
        for source in own:
            if source.path != inbox or not rest:
                with suppress(FileNotFoundError):  # a peer's drain was faster
                    os.unlink(source.path)  # noqa: PTH108


def _keep(path: str, lines: list[bytes]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        write_all(descriptor, b"".join(line + b"\n" for line in lines))
    finally:
        os.close(descriptor)
