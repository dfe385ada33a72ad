"""Stored text reaches any terminal, pipe and locale as it is.

Markup eaten or crashed on, noise on a closed pipe, and ticks that an ASCII locale cannot print
(Textualize/rich#1157, Backblaze/B2_Command_Line_Tool#1071, abhiksark/pythonlings#73,
MemPalace/mempalace#535).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.support import draw, mine, open_at, undress
from tests.repositories import write_files

MARKUP = (
    "zqdd1 see [/etc/hosts] and [/] then arr[0] [red]not red[/red]"
    " [link=https://x.invalid]t[/link] [bold\n"
)
UNICODE = "zqdd2 ✓ 決定 – naïve 🦊 done\n"
ASCII = {
    "LC_ALL": "C",
    "LANG": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONIOENCODING": "ascii",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("b45")
    repo = write_files(folder / "repo", {"markup.md": MARKUP, "uni.md": UNICODE})
    many = {
        f"m{n:03d}.md": f"zqdd3 line {n} of a long listing " + "text " * 60 + "\n"
        for n in range(300)
    }
    palace = open_at(folder / "home")
    mine(palace, repo, wing="w")
    mine(palace, write_files(folder / "many", many), wing="many")
    return folder / "home"


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_brackets_are_text(mempal, home, term):
    env = {"TERM": term, "COLUMNS": "400"}
    done = mempal("search", "zqdd1", "--home", home, env=env)
    assert MARKUP in done.stdout
    drawn = draw(home, "search", "zqdd1", env=env | {"NO_COLOR": "1"})
    assert MARKUP.strip() in undress(drawn)


@pytest.mark.parametrize("width", ["1", "20", "nonsense"])
def test_json_has_no_width(mempal, home, width):
    done = mempal("search", "zqdd1", "--home", home, "--json", env={"COLUMNS": width})
    assert done.json["results"][0]["content"] == MARKUP
    plain = mempal("search", "zqdd1", "--home", home, env={"COLUMNS": width})
    assert MARKUP in plain.stdout


@pytest.mark.parametrize("arguments", [("search", "zqdd3", "--limit", "300"), ("status", "--json")])
def test_a_closed_pipe_makes_no_noise(home, arguments):
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "mempal", *arguments, "--home", str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        process.stdout.read(1)
        process.stdout.close()
        noise = process.stderr.read()
    assert (process.returncode, noise) == (0, b"")


def test_an_ascii_locale_is_answered_readably(mempal, home):
    done = mempal("search", "zqdd2", "--home", home, env=ASCII)
    assert (done.code, "Traceback" in done.stderr) == (0, False)
    assert done.stdout.isascii()
    assert r"zqdd2 \u2713 \u6c7a\u5b9a \u2013 na\xefve \U0001f98a done" in done.stdout
    as_json = mempal("search", "zqdd2", "--home", home, "--json", env=ASCII)
    assert as_json.json["results"][0]["content"] == UNICODE


def test_an_argument_beyond_ascii_is_understood_in_an_ascii_locale(mempal, home):
    for env in ({"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, ASCII):
        done = mempal("search", "決定", "--home", home, "--json", env=env)
        assert done.code == 0
        assert done.json["query"] == "決定"
        assert done.json["results"][0]["source_file"] == "uni.md"


@pytest.mark.parametrize("command", [("status",), ("search", "zqdd1")])
def test_no_colour_means_none(home, command):
    plain = {"TERM": "xterm-256color", "NO_COLOR": "1"}
    drawn = draw(home, *command, env=plain)
    assert "\x1b[3" not in drawn
    assert "\x1b[9" not in drawn


def test_colour_is_for_terminals(mempal, home):
    coloured = draw(home, "search", "zqdd1", env={"TERM": "xterm-256color"})
    assert "\x1b[" in coloured
    done = mempal("search", "zqdd1", "--home", home, env={"TERM": "xterm-256color"})
    assert "\x1b" not in done.stdout + done.stderr


SIBLINGS = (
    *("[bold]", "[/bold]", "[[", "]]", r"\[red]", "[@click=app.bell]x[/]", "[#ff0000 on blue]"),
    *(
        ":smile: :warning:",
        "{0} {name} %s %d",
        "\x1b]8;;http://x\x07link\x1b]8;;\x07",
        "\x1b[2J\x1b[H",
    ),
    *(
        "tab\tand\rreturn",
        "\u202eright to left\u202c",
        "e\u0301 \u200d👨‍👩‍👧",
        "\x00nul",
        "\x9b31m",
        "ﷺ" * 30,
    ),
    *("x" * 700, "決" * 400, "\u2028separator\u2029", "\U000e0041tag"),
)


def test_other_text_that_printers_stumble_over(mempal, isolation):
    """A pipe gets the very text; a terminal gets what it would obey as escapes."""
    palace = open_at(isolation.palace)
    for number, text in enumerate(SIBLINGS):
        palace.drawers.add(f"zqsib{number} {text}", wing="w", room="r")
    everything = mempal("search", *(f"zqsib{n}" for n in range(len(SIBLINGS))), "-n", "50").stdout
    for number, text in enumerate(SIBLINGS):
        assert f"zqsib{number} {text}" in everything
    document = json.loads(mempal("search", "zqsib1", "--json", "-n", "50").stdout)
    assert document["results"][0]["content"] == f"zqsib1 {SIBLINGS[1]}"
    drawn = draw(
        isolation.palace,
        "search",
        *(f"zqsib{n}" for n in range(len(SIBLINGS))),
        *("-n", "50"),
        env={"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "2000"},
    )
    unsafe = {"\x07", "\x00", "\x9b", "\u202e", "\u2028", "\u2029", "\U000e0041"}
    assert not unsafe & set(drawn)
    assert "\x1b]8" not in drawn
    assert "\x1b[2J" not in drawn
    assert r"\x1b[2J" in drawn
    for number in (*range(9), 16, 17):
        assert f"zqsib{number} {SIBLINGS[number]}" in undress(drawn)
