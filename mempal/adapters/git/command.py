"""The one place where git is started, so that no repository can make it run code of its own.

A repository's configuration and attributes may name programs: an fsmonitor, hooks, filters, a
text conversion, an external diff, a transport, a pager. Each is switched off here for every call.
The settings of the person who runs mempal stay in force, so ignore rules are those they see in git.
"""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mempal.core.errors import SourceError

if TYPE_CHECKING:
    from io import BufferedReader
    from subprocess import Popen

# Configuration given on the command line outranks what a repository says.
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.untrackedCache=false",
    f"core.attributesFile={os.devnull}",
    "core.alternateRefsCommand=",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.pager=cat",
    "credential.helper=",
    "diff.external=",
    "log.showSignature=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "maintenance.auto=false",
    "gc.auto=0",
)
# Variables that only say where the user's own configuration lies. Every other GIT_ variable may
# point git at another repository, index, object store or program, and is dropped.
_KEPT = frozenset({"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"})
_FIXED = {
    # An empty list allows no transport at all, whatever protocol.<name>.allow a repository sets.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_LONGEST_COMPLAINT = 600
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call of git came to.

    Attributes:
        ok: Whether it ended with exit code 0.
        output: Its standard output.
        complaint: Why it failed, in one printable line; empty when it did not.
    """

    ok: bool
    output: bytes = b""
    complaint: str = ""


class Git:
    """Starts git.

    Args:
        environment: Variables of the calling process; ``PATH`` says where git is looked for.
        timeout: Seconds after which a call is given up.
    """

    def __init__(self, environment: Mapping[str, str], timeout: float) -> None:
        self._environment = environment
        self._timeout = timeout

    @cached_property
    def program(self) -> str | None:
        """The absolute path of git; ``None`` when it is not installed."""
        return _find_program(self._environment.get("PATH", os.defpath))

    def run(
        self,
        folder: Path,
        *arguments: str,
        given: bytes = b"",
        variables: Mapping[str, str] | None = None,
    ) -> Answer:
        """Run one git command in ``folder``; ``given`` is its standard input.

        ``variables`` are added to git's environment. Nothing is raised: a program that is missing,
        fails or takes too long gives an answer that says so.
        """
        import subprocess  # it costs more than starting git, and most commands ask git nothing

        if self.program is None:
            return Answer(ok=False, complaint="git is not installed")
        try:
            done = subprocess.run(
                _line_up(self.program, folder, arguments),
                env={**_clean(self._environment), **(variables or {})},
                stdin=None if given else subprocess.DEVNULL,
                input=given or None,
                capture_output=True,
                timeout=self._timeout,
                check=False,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except subprocess.TimeoutExpired:
            return Answer(ok=False, complaint=f"git did not answer within {self._timeout:g} s")
        except (OSError, ValueError) as error:
            return Answer(ok=False, complaint=f"git cannot be started: {error}")
        if done.returncode == 0:
            return Answer(ok=True, output=done.stdout)
        complaint = _read_complaint(done.stderr, done.returncode)
        return Answer(ok=False, output=done.stdout, complaint=complaint)

    def stream(
        self, folder: Path, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> Iterator[bytes]:
        """Run one git command in ``folder`` and yield its output while it comes, in blocks.

        git waits while no block is asked for, and is ended when the iterator is closed.

        Raises:
            SourceError: git is missing, fails, or gives nothing for too long; the blocks before
                were yielded.
        """
        import subprocess
        import tempfile

        if self.program is None:
            raise SourceError("git is not installed")
        # A pipe for complaints would have to be read at the same time, lest git waits for that.
        with tempfile.TemporaryFile() as complaints:
            try:
                process = subprocess.Popen(
                    _line_up(self.program, folder, arguments),
                    env={**_clean(self._environment), **(variables or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
            except (OSError, ValueError) as error:
                raise SourceError(f"git cannot be started: {error}") from error
            with _ended(process):
                late = yield from self._read_blocks(process)
            if late:
                raise SourceError(f"git did not answer within {self._timeout:g} s")
            if process.returncode:
                complaints.seek(0)
                raise SourceError(_read_complaint(complaints.read(_BLOCK), process.returncode))

    def _read_blocks(self, process: "Popen[bytes]") -> Generator[bytes, None, bool]:
        """Yield the output of a process until it ends; return whether it was too slow for that."""
        import threading

        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        output = cast("BufferedReader", process.stdout)
        while process.returncode is None:
            # Only git's own time counts, not that of whoever takes the blocks.
            guard = threading.Timer(self._timeout, give_up)
            guard.daemon = True
            guard.start()
            try:
                block = output.read1(_BLOCK)
                if not block:
                    process.wait()
            finally:
                guard.cancel()
            if block:
                yield block
        return late.is_set()


def printable(text: str) -> str:
    """Return text that can stand in a message: control and undecodable characters are escaped."""
    return text if text.isprintable() else ascii(text)[1:-1]


def _find_program(search_path: str) -> str | None:
    """Return the absolute path of git.

    Relative entries of PATH are passed over: they could find a program in the tree that is read.
    """
    name = "git.exe" if os.name == "nt" else "git"
    for place in map(Path, search_path.split(os.pathsep)):
        program = place / name
        if place.is_absolute() and os.access(program, os.X_OK) and program.is_file():
            return str(program)
    return None


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in environment.items()
        if not name.upper().startswith("GIT_") or name.upper() in _KEPT
    }
    return kept | _FIXED


def _line_up(program: str, folder: Path, arguments: tuple[str, ...]) -> list[str]:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    return [program, "--no-pager", *settings, "-C", str(folder), *arguments]


@contextmanager
def _ended(process: "Popen[bytes]") -> Iterator[None]:
    """Leave no process and no pipe behind."""
    try:
        yield
    finally:
        process.kill()  # nothing happens to one that has ended
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _read_complaint(stderr: bytes, code: int) -> str:
    """Fold git's message and its advice into one line."""
    text = " ".join(stderr.decode(errors="backslashreplace").split()).removeprefix("fatal: ")
    return printable(text)[:_LONGEST_COMPLAINT] or f"git ended with exit code {code}"
