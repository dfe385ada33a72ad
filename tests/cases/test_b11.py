"""A name is a name: neither a pattern nor an option nor shell text, and cited byte for byte.

Names taken for patterns, options or commands made tools skip the file or touch the wrong one
(Aider-AI/aider#2616, google-gemini/gemini-cli#8596, basicmachines-co/basic-memory#1275,
MemPalace/mempalace#1076).
"""

import errno
import os
import pty
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from mempal.core.model import Scope
from tests.cases.support import holders, mine, open_at
from tests.repositories import NO_GIT, commit_all, run_git, write_files

WING = "my project [v2] (copy)"
NAMES = (
    *("app/[id]/page.md", "app/[[...slug]]/page.md", 'it\'s "quoted".md', "-rf.md", "--wing.md"),
    *("new\nline.md", "tab\tname.md", "trailing space .md", " leading.md", "emoji 🦊.md"),
    *("100%_done.md", "back\\slash.md", "semi;colon&pipe|.md", "$(touch PWNED).md"),
    *("`touch PWNED2`.md", "CON.md", "a" * 240 + ".md", "wild*card?.md", "[/red]markup.md"),
    *(unicodedata.normalize(form, "résumé.md") for form in ("NFC", "NFD")),
)
SIBLINGS = (
    *("\x1b[31mred\x1b[0m.md", "bell\x07.md", "back\x08space.md", "carriage\rreturn.md", "dots..."),
    *(
        "...",
        "~",
        "~root.md",
        "-",
        "--",
        ":(glob)x.md",
        ":!x.md",
        "@",
        "HEAD",
        "{a,b}.md",
        "*",
        "?",
    ),
    *("\u202egpj.md", "\u2028.md", "\u200bzero.md", "\U000e0041tag.md", "nul", "%s%n%00.md", "a=b"),
    *(
        "#.md",
        "!x.md",
        "\\",
        "'",
        '"',
        "é" * 120 + ".md",
        "con. ",
        " ",
        "決定/採用.md",
        "mempal.yml",
    ),
    *("/".join(["deep" * 12] * 60) + "/bottom.md", "x.md.", ".hidden", "..double", "a\x7fb.md"),
)


def build(root: Path, names: tuple[str, ...]) -> Path:
    return write_files(
        root, {name: f"zqyak{n:02d} content of entry number {n}\n" for n, name in enumerate(names)}
    )


@pytest.mark.parametrize("state", ["plain", "git", "no git"])
@pytest.mark.parametrize("names", [NAMES, SIBLINGS], ids=["reported", "siblings"])
def test_every_name_is_cited_byte_for_byte(isolation, tmp_path, monkeypatch, names, state):
    root = build(tmp_path / WING, names)
    if state != "plain":
        run_git(root, "init", "-q")
        commit_all(root)
    if state == "no git":
        monkeypatch.setenv("PATH", NO_GIT["PATH"])
    palace = open_at(isolation.palace)
    report = mine(palace, root)
    assert report.wing == WING
    assert sorted(report.mined) == sorted(names)
    for number, name in enumerate(names):
        (drawer,) = holders(palace, f"zqyak{number:02d}")
        assert drawer.source_file == name
        assert (root / drawer.source_file).read_text() == drawer.content
    assert mine(palace, root).drawers.added == 0


def test_the_command_treats_names_as_names(mempal, tmp_path):
    root = build(tmp_path / WING, NAMES)
    write_files(tmp_path / "-dashdir", {"n.md": "zqzebu in a directory named with a dash\n"})
    assert mempal("mine", WING, "--json", cwd=tmp_path).json["files"]["mined"] == len(NAMES)
    assert mempal("mine", "--", "-dashdir", cwd=tmp_path).code == 0
    for number in (0, 3, 5, 10, 13, 16, 19, 20):
        found = mempal("search", f"zqyak{number:02d}", "--json", cwd=tmp_path).json["results"][0]
        assert found["source_file"] == NAMES[number]
        assert found["path"] == f"{WING}/{NAMES[number]}"
        assert (tmp_path / found["path"]).read_text() == found["content"]
    found = mempal("search", "zqzebu", "--json", cwd=tmp_path).json["results"][0]
    assert found["path"] == "-dashdir/n.md"
    assert not list(tmp_path.rglob("PWNED*"))
    assert sorted(path.name for path in root.parent.iterdir()) == ["-dashdir", WING]


@pytest.mark.parametrize("name", [*NAMES[3:14], "-", "--", "*", "\x1b[31m.md", "~", "HEAD"])
def test_a_file_can_be_named_on_the_command_line(run, tmp_path, name):
    write_files(tmp_path / "proj", {name: "zqnamed\n", "other.md": "zqother\n"})
    report = run("mine", "--json", "--", name, cwd=tmp_path / "proj").json
    assert report["mined_files"] == [name]


def draw(*arguments: str) -> bytes:
    """Return the answer that the command sends to a terminal, without progress."""
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "mempal", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "200"},
    ):
        os.close(follower)
        drawn = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError as error:  # how Linux says that the other side is closed
                assert error.errno == errno.EIO  # noqa: PT017
                break
            if not part:
                break
            drawn += part
    os.close(leader)
    return drawn


def test_a_terminal_is_shown_no_control_characters(isolation, tmp_path):
    names = (
        "\x1b[31mred.md",
        "bell\x07.md",
        "a\rb.md",
        "new\nline.md",
        "\u202egpj.md",
        "\x9b1m.md",
    )
    write_files(tmp_path / "p\x1b[1m", dict.fromkeys(names, "zqctl same text\n"))
    mine(open_at(isolation.palace), tmp_path / "p\x1b[1m")
    for arguments in (("search", "zqctl"), ("wings",), ("rooms",), ("wake-up",), ("audit",)):
        drawn = draw(*arguments).replace(b"\r\n", b"\n").decode()
        assert not {"\x07", "\r", "\u202e", "\x9b", "\x1b[31m"} & set(drawn)
        assert "\x1b[31m" not in drawn
        assert "\x1b[1mp" not in drawn
    drawn = draw("search", "zqctl")
    assert rb"\x1b[31mred.md" in drawn
    assert rb"new\nline.md" in drawn


@pytest.mark.parametrize("state", ["plain", "git", "no git"])
def test_names_that_are_no_text_are_mined_and_shown(isolation, tmp_path, run, monkeypatch, state):
    """A name of arbitrary bytes opens its file; JSON and terminal get U+FFFD in its place."""
    names = [b"caf\xe9.md", b"\xff\xfe", b"\xed\xa0\xbd half.md", b"ok.md"]
    root = tmp_path / "bytes"
    root.mkdir()
    for number, name in enumerate(names):
        (root / os.fsdecode(name)).write_text(f"zqbyte{number}\n")
    if state != "plain":
        run_git(root, "init", "-q")
        commit_all(root)
    if state == "no git":
        monkeypatch.setenv("PATH", NO_GIT["PATH"])
    report = run("mine", root, "--json")
    assert report.json["files"]["mined"] == len(names)
    report.stdout.encode()
    palace = open_at(isolation.palace)
    for number, name in enumerate(names):
        (drawer,) = holders(palace, f"zqbyte{number}")
        assert os.fsencode(drawer.source_file) == name
        (hit, *_) = palace.search(f"zqbyte{number}", Scope()).hits
        assert hit.citation.verdict == "same"
        best = run("search", f"zqbyte{number}", "--json").json["results"][0]
        assert best["source_file"] == name.decode("utf-8", "replace")
    assert mine(palace, root).drawers.added == 0


def test_a_folder_of_arbitrary_bytes_can_be_mined(mempal, isolation, tmp_path):
    root = tmp_path / os.fsdecode(b"w\xffng")
    write_files(root, {"a.md": "zqfolder\n"})
    assert mempal("mine", root).code == 0
    (drawer,) = holders(open_at(isolation.palace), "zqfolder")
    assert drawer.wing == "w_ng"
    assert os.fsencode(drawer.root).endswith(b"w\xffng")
    assert mempal("search", "zqfolder", cwd=root).code == 0
