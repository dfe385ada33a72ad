"""Real reports from peer tools, each with the kind of input behind it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mempal.cli import app
from tests.cases.support import Done


@pytest.fixture
def run(
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    isolation: Any,
) -> Callable[..., Done]:
    """Return a function that runs the command in this process, a tenth of the cost of another."""

    def call(*arguments: str | Path, cwd: Path = isolation.home) -> Done:
        monkeypatch.chdir(cwd)
        capsysbinary.readouterr()
        code = app.main([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        assert b"Traceback" not in captured.out + captured.err
        assert b"locals" not in captured.err
        return Done(code, captured.out.decode(), captured.err.decode())

    return call
