"""Writing to the standard streams as bytes, so that no locale or closed pipe gets in the way.

Characters that the stream's encoding lacks are backslash-escaped. A reader that closed the pipe has
seen enough: the rest is dropped in silence and the command's own exit code stands.
"""

import os
import sys

TYPE_CHECKING = False  # `typing` alone would double the cost of `mempal --version`
if TYPE_CHECKING:
    from typing import TextIO


def write_output(text: str, *, encoding: str | None = None) -> None:
    """Write text to standard output, in the stream's own encoding unless told, and flush it.

    Raises:
        MempalError: The system refuses the write for another reason than a closed pipe.
    """
    try:
        _write(sys.stdout, text, encoding)
    except OSError as error:
        from mempal.core.errors import MempalError

        _silence(sys.stdout)
        raise MempalError(
            f"the output cannot be written: {error.strerror or error}",
            hint="check the disk or the file that standard output goes to",
        ) from error


def write_message(text: str) -> None:
    """Write text to standard error and flush it; when even that fails nobody is left to tell."""
    try:
        _write(sys.stderr, text, None)
    except OSError:
        _silence(sys.stderr)


def is_terminal(stream: "TextIO | None") -> bool:
    """Return whether a person watches the stream."""
    return stream is not None and not stream.closed and stream.isatty()


def silence() -> None:
    """Drop whatever is still to be written to either standard stream."""
    _silence(sys.stdout)
    _silence(sys.stderr)


def _write(stream: "TextIO | None", text: str, encoding: str | None) -> None:
    if stream is None:  # the process was started with the stream closed
        return
    data = text.encode(encoding or stream.encoding or "utf-8", "backslashreplace")
    try:
        stream.flush()
        rest = memoryview(data)
        while rest:  # an unbuffered stream (PYTHONUNBUFFERED) may take less than it is given
            rest = rest[stream.buffer.write(rest) :]
        stream.buffer.flush()
    except BrokenPipeError:
        _silence(stream)


def _silence(stream: "TextIO | None") -> None:
    """Send a stream's bytes nowhere, so that the flush at the end of the process cannot fail."""
    if stream is None:
        return
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # not a file of the system, or closed
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
