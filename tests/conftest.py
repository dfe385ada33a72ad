"""What every test stands on: no way to the user's files or the network.

Each test gets a home folder of its own, so nothing it runs (git included) reads the settings of
whoever runs the suite, and ``MEMPAL_HOME`` is never the user's palace. The folders lie beside
``tmp_path``, not in it: a test may mine ``tmp_path`` and find only what it put there.
"""

import ipaddress
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No deadlines: a slow machine is not a bug. `ci` draws the same examples each time, so that a
# commit has one verdict; `dev` draws new ones and keeps what failed in `.hypothesis`.
_SLOW_MACHINE = (HealthCheck.too_slow,)
settings.register_profile(
    "dev", max_examples=50, deadline=None, suppress_health_check=_SLOW_MACHINE
)
settings.register_profile(
    "ci",
    max_examples=200,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=_SLOW_MACHINE,
)
settings.load_profile("ci" if os.environ.get("CI", "").lower() in {"1", "true"} else "dev")

# Variables that would let the caller's terminal, git, agents or mempal settings decide what a test
# sees.
_FOREIGN_PREFIXES = ("GIT_", "MEMPAL_", "XDG_", "CLICOLOR")
_FOREIGN_NAMES = frozenset(
    {
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COLUMNS",
        "FORCE_COLOR",
        "GITHUB_ACTIONS",
        "LANGUAGE",
        "LINES",
        "NO_COLOR",
        "PY_COLORS",
        "PYTHONPATH",
        "TTY_COMPATIBLE",
        "TTY_INTERACTIVE",
    }
)
_GIT_CONFIG = """\
[user]
\tname = Ada Tester
\temail = ada@mempal.test
[init]
\tdefaultBranch = main
[commit]
\tgpgSign = false
"""


@dataclass(frozen=True, slots=True)
class Isolation:
    """Where one test's processes live.

    Attributes:
        home: The home folder; holds a ``.gitconfig`` with an identity for commits.
        palace: ``MEMPAL_HOME``; not created.
    """

    home: Path
    palace: Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run of the command ended.

    Attributes:
        code: Exit code; negative for a signal.
        stdout: Standard output, read as strict UTF-8.
        stderr: Standard error; bytes that are not UTF-8 are escaped.
    """

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output; anything else there fails the test."""
        try:
            return json.loads(self.stdout, parse_constant=_refuse_constant)
        except ValueError as error:
            message = f"not one strict JSON document ({error}): {self.stdout!r}\n{self.stderr}"
            raise AssertionError(message) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _isolate(patch: pytest.MonkeyPatch, folder: Path) -> Isolation:
    places = Isolation(home=folder / "home", palace=folder / "palace")
    places.home.mkdir()
    (places.home / ".gitconfig").write_text(_GIT_CONFIG, encoding="utf-8")
    for name in tuple(os.environ):
        if name.startswith(_FOREIGN_PREFIXES) or name in _FOREIGN_NAMES:
            patch.delenv(name)
    for name, part in (
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
    ):
        patch.setenv(name, str(places.home / part))
    patch.setenv("HOME", str(places.home))
    patch.setenv("MEMPAL_HOME", str(places.palace))
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    patch.setenv("GIT_TERMINAL_PROMPT", "0")
    patch.setenv("LC_ALL", "C.UTF-8")
    patch.setenv("TERM", "dumb")
    return places


def _is_local(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket
    host = str(address[0])
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in {"", "localhost"}


@pytest.fixture(scope="session", autouse=True)
def _isolate_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Isolate fixtures of wider scope, and refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def connect_locally(self: socket.socket, address: Any) -> None:
        if not _is_local(address):
            pytest.fail(f"a test must not use the network, but connects to {address!r}")
        connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        _isolate(patch, tmp_path_factory.mktemp("session"))
        patch.setattr(socket.socket, "connect", connect_locally)
        yield


@pytest.fixture(autouse=True)
def isolation(
    _isolate_session: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Isolation:
    """Give the test its own HOME, XDG folders, git settings and MEMPAL_HOME."""
    return _isolate(monkeypatch, tmp_path_factory.mktemp("isolated"))


@pytest.fixture
def mempal(isolation: Isolation) -> Callable[..., Outcome]:
    """Return a function that runs the installed command in a process of its own."""

    def run(
        *arguments: str | os.PathLike[str],
        cwd: Path = isolation.home,
        env: Mapping[str, str | None] | None = None,
        stdin: str | bytes | None = None,
        timeout: float = 120,
    ) -> Outcome:
        """Run ``mempal ARGUMENTS``.

        Args:
            arguments: The command line after ``mempal``.
            cwd: Folder to run in.
            env: Variables set for this run only; ``None`` removes one.
            stdin: What is piped in; ``None``: an empty standard input.
            timeout: Seconds after which the process is killed and the test fails.
        """
        variables = dict(os.environ)
        for name, value in (env or {}).items():
            if value is None:
                variables.pop(name, None)
            else:
                variables[name] = value
        # -P: what lies in the working directory must not pose as the installed package.
        done = subprocess.run(
            [sys.executable, "-P", "-m", "mempal", *arguments],
            cwd=cwd,
            env=variables,
            input=stdin.encode() if isinstance(stdin, str) else stdin or b"",
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        return Outcome(
            done.returncode, done.stdout.decode(), done.stderr.decode(errors="backslashreplace")
        )

    return run
