"""Running mempal so that it dies, or is refused something, at a moment that a test names.

As a script this is a process that has imported mempal once and runs each command in a fork of
itself, which costs a tenth of a new interpreter. A fork may be armed: it counts the moments at
which something is about to be written (statements that write, transactions, files that are made,
filled, renamed or removed, locks taken and given back) and kills itself with SIGKILL at one of
them. SQLite, the index files and the signal are the real ones.
"""

import ctypes
import importlib
import io
import json
import os
import pkgutil
import re
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WRITES = re.compile(
    r"(?:\s*--[^\n]*\n)*[\s-]*"
    r"(?:(BEGIN|COMMIT|ROLLBACK|VACUUM|PRAGMA (?:wal_checkpoint|journal_mode|user_version(?= =)))\b"
    r"|(INSERT|REPLACE|UPDATE|DELETE|CREATE|DROP|ALTER)\s"
    r"(?:OR \w+\s+)?(?:INTO\s|FROM\s)?\s*(?:VIRTUAL\s|UNIQUE\s)?(?:TABLE\s|INDEX\s|"
    r"TRIGGER\s)?(?:IF (?:NOT )?EXISTS\s)?+\s*(?!temp\b)([\w.'\"]+))",
    re.IGNORECASE,
)
_CREATING = os.O_CREAT | os.O_TRUNC
_CHANGING = frozenset({"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"})
# Capabilities by which root passes over permission bits: DAC_OVERRIDE and DAC_READ_SEARCH.
_OVERRIDING = 1 << 1 | 1 << 2
_CAPABILITY_VERSION = 0x20080522


@dataclass(frozen=True, slots=True)
class Fault:
    """What one run of a command meets.

    Attributes:
        watched: Whether moments are counted; they are when anything else is asked for.
        kill: Number of the moment, from 1 on, at which the process kills itself.
        pause: Number of the moment at which it waits; see :func:`held`. 0: before it begins.
        gate: The pipe at which it waits.
        largest: Bytes beyond which no file may grow.
        dies: Whether growing beyond that kills the process amid the write; else it is an error.
        pages: Pages beyond which the database may not grow, as on a disk that is full.
        checkpoint: Pages of the WAL after which SQLite moves them into the database.
        patience: Seconds to wait for locks.
        bound: Whether permission bits bind the process, whoever it runs as.
    """

    watched: bool = False
    kill: int | None = None
    pause: int | None = None
    gate: str = ""
    largest: int | None = None
    dies: bool = False
    pages: int | None = None
    checkpoint: int | None = None
    patience: float | None = None
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """How one run of a command ended.

    Attributes:
        code: Exit code; negative for the signal that killed it, and then nothing else is known.
        moments: Names of the moments at which something was about to be written, in order.
    """

    code: int
    stdout: str = ""
    stderr: str = ""
    moments: tuple[str, ...] = ()

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


class Driver:
    """The process that runs commands, as a test sees it."""

    def __init__(self) -> None:
        self._due = 0
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        )

    def start(self, home: Path, *commands: Sequence[str | Path], **fault: Any) -> None:
        """Start commands one after the other; ``wait`` tells how they ended.

        Args:
            home: The palace's folder.
            commands: Command lines after ``mempal``.
            fault: What they meet; see :class:`Fault`.
        """
        assert self._process.stdin
        while self._due:  # a test that failed did not wait
            self._take()
        order = {"home": str(home), "commands": [list(map(str, command)) for command in commands]}
        self._process.stdin.write(json.dumps({**order, "fault": fault}) + "\n")
        self._process.stdin.flush()
        self._due += 1

    def wait(self) -> list[Ran]:
        """Return how the commands ended that were started last; one that was killed is the last."""
        ended = self._take()
        for ran in ended:
            assert "Traceback" not in ran.stdout + ran.stderr, ran
        return ended

    def _take(self) -> list[Ran]:
        assert self._process.stdout
        answers = json.loads(self._process.stdout.readline())
        self._due -= 1
        return [Ran(**{**answer, "moments": tuple(answer["moments"])}) for answer in answers]

    def run_all(self, home: Path, *commands: Sequence[str | Path], **fault: Any) -> list[Ran]:
        """Run commands in one process and return how they ended."""
        self.start(home, *commands, **fault)
        return self.wait()

    def run(self, home: Path, *arguments: str | Path, **fault: Any) -> Ran:
        """Run one command and return how it ended."""
        (ran,) = self.run_all(home, arguments, **fault)
        return ran

    def close(self) -> None:
        """End the process, which must have had nothing to say."""
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0


@contextmanager
def held(gate: Path) -> Iterator[None]:
    """Wait until a command has come to its pause, and hold it there.

    Whoever opens one end of a pipe waits for the other, so nobody has to look again and again.
    """
    descriptor = os.open(gate, os.O_WRONLY)
    try:
        yield
    finally:
        os.close(descriptor)


# --- in the driver -----------------------------------------------------------------------------


class Moments:
    """The moments at which one command is about to write, in the order in which they come.

    Args:
        fault: At which of them the process dies, or waits.
        home: Only what happens to files below this folder counts.
    """

    def __init__(self, fault: Fault, home: str) -> None:
        self.names: list[str] = []
        self._fault = fault
        self._home = home

    def meet(self, name: str) -> None:
        """Note a moment; die when it is the last one."""
        self.names.append(name)
        if len(self.names) == self._fault.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if len(self.names) == self._fault.pause:
            self.wait()

    def wait(self) -> None:
        """Wait until the test lets go of the gate."""
        descriptor = os.open(self._fault.gate, os.O_RDONLY)
        os.read(descriptor, 1)
        os.close(descriptor)

    def see_statement(self, statement: str) -> None:
        """Look at a statement that SQLite is about to run, its own on the word index included."""
        found = _WRITES.match(statement)
        if found:
            what, verb, table = found.groups()
            self.meet(what.upper() if what else f"{verb.upper()} {_name_table(table)}")

    def see_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Look at what the interpreter is about to do."""
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _CREATING and self._is_ours(path):
                self.meet(f"open {_name_file(path)}")
        elif event in _CHANGING and self._is_ours(arguments[0]):
            self.meet(f"{event} {_name_file(arguments[0])}")
        elif event == "fcntl.flock":
            self.meet(f"flock {arguments[1]}")

    def _is_ours(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self._home)


def _name_table(table: str) -> str:
    return re.sub(r"['\"]", "", table).removeprefix("main.")


def _name_file(path: str | os.PathLike[str]) -> str:
    return re.sub(r"[0-9a-f]{16}", "*", Path(path).name)


class _CountingFile(io.BufferedWriter):
    """A file that keeps nothing back, so that a process that dies leaves what it wrote before."""

    moments: Moments

    def write(self, data: Any) -> int:
        self.moments.meet("write")
        written = super().write(data)
        self.flush()
        return written

    def truncate(self, size: int | None = None) -> int:
        self.moments.meet("truncate")
        return super().truncate(size)


def _watch(moments: Moments, fault: Fault) -> None:
    """Let every way to write be a moment."""
    connect, fdopen, fsync = sqlite3.connect, os.fdopen, os.fsync

    def connect_watched(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        if fault.pages is not None:
            connection.execute(f"PRAGMA max_page_count = {fault.pages}")
        if fault.checkpoint is not None:
            connection.execute(f"PRAGMA wal_autocheckpoint = {fault.checkpoint}")
        connection.set_trace_callback(moments.see_statement)
        return connection

    def fdopen_watched(descriptor: int, mode: str = "r", **options: Any) -> Any:
        if mode != "wb":
            return fdopen(descriptor, mode, **options)
        file = _CountingFile(io.FileIO(descriptor, mode))
        file.moments = moments
        return file

    def fsync_watched(descriptor: int) -> None:
        moments.meet("fsync")
        fsync(descriptor)

    sqlite3.connect = connect_watched  # type: ignore[assignment]
    os.fdopen, os.fsync = fdopen_watched, fsync_watched  # type: ignore[assignment]
    sys.addaudithook(moments.see_event)


def _bind_permissions() -> None:
    """Give up root's right to pass over permission bits; others do not have it."""
    if os.geteuid() or sys.platform != "linux":
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice
    library = ctypes.CDLL(None, use_errno=True)
    if library.capget(header, sets):
        raise OSError(ctypes.get_errno(), "capget")
    sets[0] &= ~_OVERRIDING
    sets[1] &= ~_OVERRIDING
    if library.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


def _limit_files(largest: int, *, dies: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if dies else signal.SIG_IGN)


def _run(order: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run commands in this process, which does nothing else any more."""
    fault = Fault(**order["fault"])
    os.environ["MEMPAL_HOME"] = order["home"]
    moments = Moments(fault, order["home"])
    _arrange(fault, moments)
    if fault.pause == 0:
        moments.wait()
    answers = []
    for arguments in order["commands"]:
        answers.append(_call(arguments))
        answers[-1]["moments"], moments.names = moments.names, []
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return answers


def _arrange(fault: Fault, moments: Moments) -> None:
    """Let the process meet a fault."""
    from mempal.adapters import lock
    from mempal.adapters.sqlite import connection
    from mempal.search import meaning

    # The index file is written by the first change, and not only by hundreds of them.
    meaning._PATIENCE, meaning._PATIENCE_SHARE = 0, 0.0
    if fault.patience is not None:
        connection.BUSY_TIMEOUT_MS = int(fault.patience * 1000)
        lock.FileLock.__init__.__defaults__ = (fault.patience,)  # type: ignore[misc]
    if fault.bound:
        _bind_permissions()
    if fault != Fault():
        _watch(moments, fault)
    if fault.largest is not None:
        _limit_files(fault.largest, dies=fault.dies)


def _call(arguments: Sequence[str]) -> dict[str, Any]:
    from mempal.cli import app

    sys.stdout, sys.stderr = _capture(), _capture()
    code = app.main(arguments)
    return {"code": code, "stdout": _read(sys.stdout), "stderr": _read(sys.stderr)}


def _capture() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _read(stream: Any) -> str:
    stream.flush()
    text: str = stream.buffer.getvalue().decode()
    return text


def _fork(work: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Do something in a fork; return what it returns, or the signal that it died of."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(reading)
            answer = json.dumps(work()).encode()
            while answer:
                answer = answer[os.write(writing, answer) :]
            os._exit(0)
        finally:  # only on a fault of the driver itself, which is told first
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
            os._exit(99)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        received = pipe.read()
    _, status = os.waitpid(process, 0)
    code = os.waitstatus_to_exitcode(status)
    return json.loads(received) if code == 0 else [{"code": code, "moments": []}]


def _warm() -> None:
    """Load all that a command may load, and build the command line, once for all forks."""
    import filelock  # noqa: F401
    import numpy as np  # noqa: F401

    import mempal
    from mempal.cli import app

    for module in pkgutil.walk_packages(mempal.__path__, "mempal."):
        if not module.name.startswith(("mempal.__main__", "mempal.adapters.chroma")):
            importlib.import_module(module.name)
    command = app.get_command(app.build_app(rich=False))
    app.build_app = lambda **_: None  # type: ignore[assignment]
    app.get_command = lambda _: command


def main() -> None:
    """Run a command for each line of standard input, and answer with a line."""
    _warm()
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.write(json.dumps(_fork(lambda order=order: _run(order))) + "\n")  # type: ignore[misc]
        sys.stdout.flush()


if __name__ == "__main__":
    main()
