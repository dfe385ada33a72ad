"""What integration tests share: the command, run in this process."""

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
    """Return a function that runs the command, a tenth of the cost of a process of its own."""

    def call(*arguments: str | Path, cwd: Path = isolation.home) -> Done:
        monkeypatch.chdir(cwd)
        capsysbinary.readouterr()
        code = app.main([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        assert b"Traceback" not in captured.out + captured.err
        return Done(code, captured.out.decode(), captured.err.decode())

    return call
