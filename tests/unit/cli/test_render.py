"""Where things are printed, and in which of the three forms."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.cli import render, streams
from mempal.cli.blocks import Line, Passage, Table, Verbatim
from mempal.core.errors import BusyError, MempalError


class Stream(io.TextIOWrapper):
    """A standard stream in memory, with an encoding, and a terminal when asked to be."""

    def __init__(self, encoding: str = "utf-8", *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def bytes(self) -> bytes:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


Streams = Callable[..., tuple[Stream, Stream]]


@pytest.fixture
def replace_streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    def replace(encoding: str = "utf-8", *, terminal: bool = False) -> tuple[Stream, Stream]:
        out, err = Stream(encoding, terminal=terminal), Stream(encoding, terminal=terminal)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        return out, err

    return replace


def print_blocks(*blocks, warnings=(), next_step="", as_json=False):
    render.answer(
        "report",
        as_json=as_json,
        document=lambda report: {"report": report, "warnings": list(warnings)},
        view=lambda _: blocks,
        warnings=warnings,
        next_step=next_step,
    )


PASSAGE = Passage(
    "a\nb.md:3-4", ("0.90", "w/r"), "[red]not red[/red]\n[/etc/hosts] \x1b[31m x\n", 3
)


def test_piped_text_holds_stored_lines_as_they_are(replace_streams: Streams):
    out, _ = replace_streams()
    print_blocks(PASSAGE, Line("li\tne"), Verbatim("[b]x[/b]\ny"))
    assert out.bytes.decode() == (
        "a\\nb.md:3-4  0.90  w/r\n[red]not red[/red]\n[/etc/hosts] \x1b[31m x\n\n"
        "li\\tne\n[b]x[/b]\ny\n"
    )


def test_long_lines_are_neither_wrapped_nor_cut_when_piped(
    replace_streams: Streams, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "20")
    out, _ = replace_streams()
    long = "word " * 500 + "end"
    print_blocks(Passage("a", (), long), Table(("k",), ((long,),)))
    assert out.bytes.decode().count(long) == 2


def test_tables_are_aligned_in_plain_text(replace_streams: Streams):
    out, _ = replace_streams()
    print_blocks(Table(("wing", "n"), (("shop", "7"), ("a\nb", "12")), numeric=(1,)))
    assert out.bytes.decode() == "wing   n\nshop   7\na\\nb  12\n"


def test_a_terminal_is_shown_escapes_colour_and_no_markup(
    replace_streams: Streams, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TERM", "xterm-256color")
    out, _ = replace_streams(terminal=True)
    print_blocks(PASSAGE)
    shown = out.bytes.decode()
    assert "\x1b[1;36ma\\nb.md:3-4\x1b[0m" in shown
    assert "[red]not red[/red]" in shown
    assert r"[/etc/hosts] \x1b[31m x" in shown


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}])
def test_a_terminal_without_colour_gets_none(
    replace_streams: Streams, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out, _ = replace_streams(terminal=True)
    print_blocks(Passage("a", ("same",), "text"), Line("x"), Verbatim("y"))
    shown = out.bytes.decode()
    assert "text" in shown
    # NO_COLOR speaks of colour only, yet bold and dim are escape codes as well.
    assert "\x1b[3" not in shown
    assert "\x1b[9" not in shown
    if variables["TERM"] == "dumb":
        assert "\x1b" not in shown


def test_an_ascii_stream_gets_escapes_instead_of_an_error(replace_streams: Streams):
    out, err = replace_streams("ascii")
    print_blocks(Passage("決.md:1", ("✓",), "決定 caf\udce9"), warnings=["é"])
    assert out.bytes == rb"\u6c7a.md:1  \u2713" + b"\n" + rb"\u6c7a\u5b9a caf\ufffd" + b"\n\n"
    assert err.bytes == b"warning: \\xe9\n"


def test_json_is_utf8_in_every_locale(replace_streams: Streams):
    out, err = replace_streams("ascii")
    render.print_document({"path": "caf\udce9 決定", "text": "a\u202eb\x1b"})
    assert out.bytes.decode() == (
        '{"path": "caf\ufffd 決定", "text": "a' + r"\u202eb\u001b" + '"}\n'
    )
    assert err.bytes == b""


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None)),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_every_document_is_one_strict_json_line(value: object):
    out, kept = Stream(), sys.stdout
    sys.stdout = out
    try:
        render.print_document({"value": value})
    finally:
        sys.stdout = kept
    assert out.bytes.endswith(b"\n")
    assert out.bytes.count(b"\n") == 1
    assert set(json.loads(out.bytes.decode())) == {"value"}


def test_json_refuses_what_is_no_number(replace_streams: Streams):
    replace_streams()
    with pytest.raises(ValueError, match="JSON"):
        render.print_document({"score": float("nan")})


def test_warnings_and_hints_go_to_stderr_in_text_and_into_the_document_in_json(
    replace_streams: Streams,
):
    out, err = replace_streams()
    print_blocks(Line("answer"), warnings=["careful"], next_step="go on")
    assert (out.bytes, err.bytes) == (b"answer\n", b"warning: careful\nhint: go on\n")
    out, err = replace_streams()
    print_blocks(Line("answer"), warnings=["careful"], next_step="go on", as_json=True)
    assert json.loads(out.bytes) == {"report": "report", "warnings": ["careful"]}
    assert err.bytes == b""


def test_json_is_indented_for_a_terminal(replace_streams: Streams):
    out, _ = replace_streams(terminal=True)
    render.print_document({"a": [1]})
    assert out.bytes.decode() == '{\n  "a": [\n    1\n  ]\n}\n'


def test_notes_are_for_terminals_only(replace_streams: Streams):
    _, err = replace_streams()
    render.note("only here")
    assert err.bytes == b""
    _, err = replace_streams(terminal=True)
    render.note("only here")
    assert err.bytes == b"note: only here\n"


def test_an_error_says_message_hint_and_in_json_all_of_it(replace_streams: Streams):
    out, err = replace_streams()
    render.print_error(BusyError("held by 7\x1b[2J", hint="try again"), as_json=True)
    assert json.loads(out.bytes) == {
        "error": {
            "code": "busy",
            "message": "held by 7\x1b[2J",
            "hint": "try again",
            "retryable": True,
        }
    }
    assert err.bytes == b"error: held by 7\\x1b[2J\nhint: try again\n"


def test_streams_that_were_closed_at_the_start_are_no_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    print_blocks(Line("x"), warnings=["y"])
    render.print_document({})


def test_a_full_disk_is_an_error_with_a_name(monkeypatch: pytest.MonkeyPatch):
    class Full(Stream):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    full = Full()
    monkeypatch.setattr(sys, "stdout", full)
    with pytest.raises(MempalError, match="No space left on device"):
        streams.write_output("x")
    monkeypatch.setattr(sys, "stderr", full)
    streams.write_message("nobody is left to tell")
    monkeypatch.undo()


def test_an_unbuffered_stream_may_take_less_than_it_is_given(monkeypatch: pytest.MonkeyPatch):
    class Raw(io.BytesIO):
        def write(self, data, /) -> int:
            return super().write(bytes(data)[:3])

    raw = Raw()
    out = Stream()
    monkeypatch.setattr(type(out), "buffer", raw, raising=False)
    monkeypatch.setattr(sys, "stdout", out)
    streams.write_output("0123456789")
    assert raw.getvalue() == b"0123456789"
    monkeypatch.undo()


def test_a_closed_pipe_is_silent_and_the_command_goes_on():
    """The reader is gone before the first byte; the interpreter must end in silence too."""
    code = (
        "import sys; from mempal.cli import streams;"
        "streams.write_output('x' * 100000); streams.write_output('y'); sys.exit(3)"
    )
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (3, b"")
