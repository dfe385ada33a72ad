"""The installed command in a process of its own: hooks, version, streams, and what gets loaded."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

HOOKS = [
    ("hook",),
    ("hook", "run", "session-start", "--host", "claude-code"),
    ("hook", "user-prompt-submit"),
    ("hook", "--no-such-option", "\udce9"),
    ("hook", "--help"),
    ("cowork-drain",),
    ("cowork-drain", "--target", "nobody", "--format"),
    ("--home", "/nowhere", "hook", "run", "stop"),
    ("--home=/nowhere", "cowork-drain", "--cwd-source", "stdin-json"),
]
PAYLOADS = [b"", b'{"prompt": "x"}', b'{"torn', b"\xff\xfe\x00", b"x" * 200_000]


def run_python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments], capture_output=True, check=False, **options
    )


def list_loaded(code: str, *arguments: str) -> set[str]:
    """Return the top-level packages that a piece of code leaves loaded, whatever it exits with."""
    listing = (
        "import sys\n"
        "try:\n"
        f"    {code}\n"
        "except SystemExit:\n"
        "    pass\n"
        "sys.stderr.write('\\nLOADED ' + ' '.join(sys.modules))\n"
    )
    done = run_python(listing, *arguments)
    names = done.stderr.decode().rpartition("LOADED ")[2].split()
    return {name.partition(".")[0] for name in names}


def outside(loaded: set[str]) -> set[str]:
    """Return what is neither ours nor the standard library's nor loaded by every interpreter."""
    at_start = list_loaded("pass")
    return loaded - at_start - set(sys.stdlib_module_names) - {"mempal"}


@pytest.mark.parametrize("arguments", HOOKS)
def test_hooks_exit_with_0_and_print_nothing_on_stdout(arguments: Sequence[str], mempal: Run):
    done = mempal(*arguments, stdin=b'{"torn')
    assert (done.code, done.stdout) == (0, "")
    if "cowork-drain" in arguments:
        assert done.stderr.startswith("mempal cowork-drain: ")
        assert done.stderr.count("\n") == 1
    else:
        assert done.stderr == "mempal: this version answers no hook events\n"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hooks_survive_any_payload(payload: bytes, mempal: Run):
    assert mempal("hook", "user-prompt-submit", stdin=payload).code == 0


def test_hooks_write_nothing(mempal: Run, isolation: Any):
    mempal("hook", "run", "stop")
    assert not isolation.palace.exists()


@pytest.mark.parametrize("config", ["wing = \n", "index.backend = 3\n"])
def test_hooks_do_not_mind_a_bad_configuration(config: str, mempal: Run, isolation: Any):
    isolation.palace.mkdir()
    (isolation.palace / "config.toml").write_text(config)
    assert mempal("hook", "run", "stop").code == 0


def test_hooks_exit_with_0_when_every_stream_is_closed():
    closed = f"exec {sys.executable} -P -m mempal hook run stop <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", closed], check=False).returncode == 0


def test_hooks_exit_with_0_when_stderr_cannot_be_written():
    full = f"exec {sys.executable} -P -m mempal hook 2>/dev/full"
    assert subprocess.run(["sh", "-c", full], check=False).returncode == 0


def test_hooks_need_no_third_party_package():
    """They answer although every other package is out of reach."""
    source = str(Path(__file__).parents[2])
    code = (
        f"import sys; sys.path.insert(0, {source!r}); sys.argv = ['mempal', 'hook', 'run', 'stop'];"
        "from mempal.entry import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("arguments", [("hook", "run", "stop"), ("cowork-drain",), ("--version",)])
def test_hooks_and_version_load_the_standard_library_only(arguments: tuple[str, ...]):
    loaded = list_loaded("from mempal.entry import main; main()", *arguments)
    assert "mempal" in loaded
    assert not outside(loaded)
    assert not loaded & {"argparse", "json", "sqlite3", "tomllib", "tempfile"}


def test_a_plain_answer_loads_neither_rich_nor_pydantic():
    loaded = list_loaded("from mempal.entry import main; main()", "config", "list", "--json")
    assert "typer" in loaded
    assert not loaded & {"rich", "pydantic", "numpy", "chromadb", "git"}


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag: str, mempal: Run):
    done = mempal(flag)
    assert (done.code, done.stderr) == (0, "")
    assert re.fullmatch(r"mempal \d+\.\d+\.\d+\n", done.stdout)


def test_the_installed_script_is_the_same_command():
    script = Path(sys.executable).with_name("mempal")
    done = subprocess.run([script, "--version"], capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(b"mempal ")


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("config", "list")])
def test_a_closed_pipe_is_no_error_and_makes_no_noise(arguments: tuple[str, ...]):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "mempal", *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", [("--version",), ("config", "list"), ("config", "--help")])
def test_a_full_disk_is_an_error_in_one_line(arguments: tuple[str, ...]):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "mempal", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: ")
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


ASCII = {
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONIOENCODING": "ascii",
}


def test_an_ascii_locale_prints_escapes_and_json_in_utf8(mempal: Run, isolation: Any):
    isolation.palace.mkdir()
    (isolation.palace / "config.toml").write_text('wing = "決定"\n', encoding="utf-8")
    done = mempal("config", "get", "wing", env=ASCII)
    assert (done.code, done.stdout) == (0, r"\u6c7a\u5b9a" + "\n")
    done = mempal("config", "get", "wing", "--json", env=ASCII)
    assert json.loads(done.stdout) == {"key": "wing", "value": "決定"}


def test_an_ascii_locale_takes_other_arguments(mempal: Run, isolation: Any):
    assert mempal("config", "set", "wing", "決定", env=ASCII).code == 0
    assert 'wing = "決定"' in (isolation.palace / "config.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", ["1", "20", "400"])
def test_json_does_not_depend_on_the_width(width: str, mempal: Run):
    assert mempal("config", "list", "--json", env={"COLUMNS": width}).json["values"]


def test_names_that_are_no_text_stay_valid(mempal: Run, tmp_path: Path):
    home = os.fsdecode(bytes(tmp_path) + b"/caf\xe9\x1b[31m")
    done = mempal("config", "list", "--json", "--home", home)
    assert done.json["path"] == f"{tmp_path}/caf\ufffd\x1b[31m/config.toml"
    Path(home).mkdir()
    Path(home, "config.toml").write_text("wing = \n")
    done = mempal("config", "list", "--home", home)
    assert done.code == 1
    assert "caf\ufffd\\x1b[31m/config.toml" in done.stderr


def test_no_traceback_unless_asked_for(mempal: Run, isolation: Any):
    isolation.palace.mkdir()
    (isolation.palace / "config.toml").write_text("wing = \n")
    done = mempal("config", "list")
    assert done.code == 1
    assert "Traceback" not in done.stderr
    done = mempal("config", "list", env={"MEMPAL_DEBUG": "1"})
    assert done.code == 1
    assert "Traceback (most recent call last)" in done.stderr
    assert "locals" not in done.stderr
