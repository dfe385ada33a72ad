"""Real servers that tests start and stop."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

_TRIES = 3
# A hundred looks a tenth of a second apart are long enough for a slow machine to start a server.
_LOOKS = 100
_PAUSE = 0.1


@dataclass
class ChromaServer:
    """``chroma run`` on a port of this machine.

    Attributes:
        folder: Where it keeps its data.
        port: Where it listens; 0 until it was started.
    """

    folder: Path
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the server, on the port it had before, and wait until it answers."""
        for _ in range(_TRIES):
            if not self.port:
                self.port = find_free_port()
            self._process = subprocess.Popen(
                [
                    Path(sys.executable).with_name("chroma"),
                    "run",
                    *("--path", self.folder),
                    *("--host", "127.0.0.1"),
                    *("--port", str(self.port)),
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
            )
            if self._wait():
                return
            self.stop()
            self.port = 0  # somebody else may have taken it
        pytest.fail("`chroma run` does not answer")

    def _wait(self) -> bool:
        assert self._process
        pause = threading.Event()
        for _ in range(_LOOKS):
            with contextlib.suppress(httpx.TransportError):
                return httpx.get(f"{self.url}/api/v2/heartbeat", trust_env=False).is_success
            if self._process.poll() is not None:
                return False
            pause.wait(_PAUSE)
        return False

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def run_chroma(folder: Path) -> Iterator[ChromaServer]:
    """Run a Chroma server that keeps its data in a folder."""
    server = ChromaServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
