"""What each way into mempal may load; measured in a fresh interpreter each time."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = sorted(
    f"mempal.core.{path.stem}"
    for path in (ROOT / "mempal" / "core").glob("*.py")
    if path.stem != "__init__"
)
HEAVY = {
    "chardet",
    "chromadb",
    "git",
    "httpx",
    "numpy",
    "orjson",
    "pathspec",
    "rich",
    "tokenizers",
    "tomlkit",
    "yaml",
}
# What the interpreter loads before the first statement, for editable installs say, is not ours.
PROGRAM = """
import sys
before = set(sys.modules)
{statement}
packages = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(packages - set(sys.stdlib_module_names) - {{"mempal"}}))
"""


def list_packages(statement: str) -> set[str]:
    """Return the third-party packages that running a statement loads."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM.format(statement=statement)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_probe_sees_a_third_party_package():
    assert "orjson" in list_packages("import orjson")


@pytest.mark.parametrize(
    "statement",
    [
        "import mempal; mempal.__version__; dir(mempal)",
        "import mempal.entry",
        f"import {', '.join(CORE)}",
        "import mempal; mempal.MempalError",
    ],
    ids=lambda statement: statement[:40],
)
def test_library_and_entry_load_no_third_party_package(statement):
    assert list_packages(statement) == set()


@pytest.mark.parametrize("arguments", [["--version"], ["hook", "run", "session-start"]])
def test_answers_of_the_entry_load_no_third_party_package(arguments):
    statement = f"""
import contextlib, io, mempal.entry
sys.argv = ["mempal", *{arguments!r}]
unread = io.TextIOWrapper(io.BytesIO())
with contextlib.redirect_stdout(unread), contextlib.suppress(SystemExit):
    mempal.entry.main()
"""
    assert list_packages(statement) == set()


@pytest.mark.parametrize("name", ["Palace", "open_palace"])
def test_the_palace_is_had_without_a_heavy_package(name):
    assert list_packages(f"import mempal; mempal.{name}") & HEAVY == set()


def test_the_command_line_loads_its_parser_and_nothing_heavy():
    packages = list_packages("import mempal.cli.app")

    assert "typer" in packages
    assert packages & HEAVY == set()
