"""When a bar is drawn, and that it never gets in the way."""

import sys

import pytest

from mempal.cli.progress import RichProgress, SilentProgress, open_progress


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_work_under_a_second_draws_nothing(capsys: pytest.CaptureFixture[str]):
    clock = Clock()
    with RichProgress(clock=clock) as progress:
        progress.start("mining", 3)
        clock.now = 0.9
        progress.advance("a.md")
    assert capsys.readouterr().err == ""


def test_longer_work_draws_how_far_it_is(capsys: pytest.CaptureFixture[str]):
    clock = Clock()
    with RichProgress(clock=clock) as progress:
        progress.start("mining", 3)
        progress.advance("[red]a.md[/red]")
        clock.now = 1.0
        progress.advance("b\n.md")
        progress.start("indexing", None)
        progress.advance("caf\udce9")
    shown = capsys.readouterr().err
    assert "mining" in shown
    assert "2/3" in shown
    assert "indexing" in shown
    assert "\udce9" not in shown


def test_it_ends_when_the_work_fails(capsys: pytest.CaptureFixture[str]):
    def work() -> None:
        with RichProgress(delay=0) as progress:
            progress.start("mining", 3)
            progress.advance("[/etc/hosts]")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert "1/3" in capsys.readouterr().err


def test_a_pipe_gets_no_bar(capsys: pytest.CaptureFixture[str]):
    assert isinstance(open_progress(), SilentProgress)
    with open_progress() as progress:
        progress.start("mining", 3)
        progress.advance("a")
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert isinstance(open_progress(), RichProgress)


def test_it_can_be_forced(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMPAL_PROGRESS", "always")
    with open_progress() as progress:
        progress.start("mining", 1)
        progress.advance("a")
    assert "1/1" in capsys.readouterr().err
