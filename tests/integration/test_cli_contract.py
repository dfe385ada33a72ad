"""The command contract on a real palace: keys, exit codes, citations that open, text as it is.

Commands run in this process, where each costs a tenth of a new interpreter; what a process of its
own changes (pipes, locales, loaded packages) is tried in one.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mempal.cli import app

Run = Callable[..., Any]


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


@pytest.fixture
def run(
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    isolation: Any,
) -> Run:
    def call(*arguments: str | Path, cwd: Path = isolation.home) -> Done:
        monkeypatch.chdir(cwd)
        code = app.main([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        return Done(code, captured.out.decode(), captured.err.decode())

    return call


INVOICE = '''\
"""Invoices."""


def round_invoice(amount: float) -> float:
    """Round a total to whole cents, half to even."""
    return round(amount, 2)
'''
MARKUP = "# zqmarkup\n\n[red]not red[/red] stays, and so does [/etc/hosts] and \x1b[31m.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    for name, text in {
        "billing/invoice.py": INVOICE,
        "docs/markup.md": MARKUP,
        "docs/deploy.md": "# Deploying\n\nWe deploy on Thursdays because support is there.\n",
        "empty.txt": "",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


@pytest.fixture
def mined(project: Path, run: Run) -> Path:
    assert run("mine", project).code == 0
    return project


READING = [
    ("search", "anything"),
    ("wake-up",),
    ("wings",),
    ("rooms",),
    ("status",),
    ("doctor",),
    ("config", "list"),
]


@pytest.mark.parametrize("arguments", READING)
def test_reading_an_empty_palace_creates_nothing(
    arguments: tuple[str, ...], run: Run, isolation: Any
):
    done = run(*arguments)
    assert done.code == 0, done.stderr
    assert "Traceback" not in done.stderr
    done = run(*arguments, "--json")
    assert done.code == 0
    assert isinstance(done.json, dict)
    assert not isolation.palace.exists()


def test_an_empty_palace_says_so(run: Run):
    done = run("search", "anything")
    assert done.stdout == ""
    assert "mempal mine" in done.stderr
    assert run("search", "anything", "--json").json["results"] == []


def test_mine_and_mine_again(project: Path, run: Run):
    first = run("mine", project, "--json").json
    assert {
        *("wing", "root", "dry_run", "files", "drawers", "skipped", "redactions"),
        *("warnings", "seconds"),
    } <= set(first)
    assert (first["wing"], first["root"]) == ("shop", str(project))
    files = first["files"]
    assert files["seen"] == files["mined"] + files["unchanged"] + files["skipped"]
    assert files["mined"] == 3
    assert [skip["path"] for skip in first["skipped"]] == ["empty.txt"]
    assert first["drawers"]["added"] > 0
    again = run("mine", project, "--json").json
    assert again["drawers"]["added"] == 0
    assert again["files"]["mined"] == 0


def test_a_dry_run_stores_nothing(project: Path, run: Run, isolation: Any):
    report = run("mine", project, "--dry-run", "--json").json
    assert report["dry_run"] is True
    assert sorted(report["mined_files"]) == [
        "billing/invoice.py",
        "docs/deploy.md",
        "docs/markup.md",
    ]
    assert not isolation.palace.exists()


@pytest.mark.parametrize("query", ["round_invoice", "how are totals rounded to cents"])
def test_a_citation_opens_the_cited_lines(query: str, mined: Path, run: Run):
    for cwd in (mined, mined / "docs", mined.parent):
        best = run("search", query, "--json", cwd=cwd).json["results"][0]
        assert best["source_file"] == "billing/invoice.py"
        assert best["verdict"] == "same"
        assert 0 <= best["score"] <= 1
        lines = (cwd / best["path"]).read_text().splitlines()
        cited = "\n".join(lines[best["line_start"] - 1 : best["line_end"]])
        assert best["content"].strip() in cited
        text = run("search", query, cwd=cwd).stdout
        assert text.startswith(f"{best['path']}:{best['line_start']}")
        assert best["content"].strip() in text


def test_a_search_is_about_the_project_one_stands_in(mined: Path, run: Run, tmp_path: Path):
    other = tmp_path / "tools"
    other.mkdir()
    (other / "note.md").write_text("We deploy tools on Mondays.\n")
    assert run("mine", other).code == 0

    def ask(*options: str, cwd: Path) -> set[str]:
        found = run("search", "deploy", "--json", *options, cwd=cwd).json
        return {row["wing"] for row in found["results"]}

    assert ask(cwd=mined) == {"shop"}
    assert ask(cwd=other) == {"tools"}
    assert ask("--all-wings", cwd=other) == {"shop", "tools"}
    assert ask(cwd=tmp_path) == {"shop", "tools"}
    assert ask("--wing", "shop", cwd=other) == {"shop"}


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_stored_text_is_printed_as_it_is(term: str, mined: Path, mempal: Run):
    done = mempal("search", "zqmarkup", env={"TERM": term, "COLUMNS": "20"})
    assert "[red]not red[/red] stays, and so does [/etc/hosts] and \x1b[31m." in done.stdout


def test_a_reader_that_has_seen_enough_is_no_error(project: Path, run: Run, isolation: Any):
    for number in range(20):
        text = f"zqlisting number {number}\n" + f"text {number} of a long listing\n" * 400
        (project / f"m{number}.md").write_text(text)
    assert run("mine", project).code == 0
    searching = subprocess.Popen(
        [sys.executable, "-P", "-m", "mempal", "search", "zqlisting", "--limit", "300"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=isolation.home,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert searching.stdout is not None
    assert searching.stderr is not None
    with searching.stdout as out, searching.stderr as err:
        out.readline()
        out.close()
        noise = err.read()
    assert (searching.wait(), noise) == (0, b"")


def test_text_given_by_hand(run: Run, mempal: Run):
    first = mempal("add", "-", "--wing", "w", "--room", "r", "--json", stdin="Tills close at 5.\n")
    assert first.json["created"] is True
    again = run("add", "Tills close at 5.", "--wing", "w", "--room", "r", "--json").json
    assert again["created"] is False
    assert again["duplicate_of"] == first.json["drawer_id"]
    shown = run("show", first.json["drawer_id"][:12], "--json").json
    assert (shown["content"], shown["wing"], shown["room"]) == ("Tills close at 5.", "w", "r")
    assert run("show", "drawer_ffffffff", "--json").code == 3


def test_what_is_stored_is_counted(mined: Path, run: Run):
    (wing,) = run("wings", "--json").json["wings"]
    rooms = run("rooms", "--wing", "shop", "--json").json["rooms"]
    status = run("status", "--json").json
    assert wing["wing"] == "shop"
    assert wing["drawers"] == sum(room["drawers"] for room in rooms) == status["drawers"] > 0
    assert status["exists"] is True
    assert run("doctor", "--json").json["healthy"] is True
    assert "shop" in run("wings").stdout


def test_an_audit_proves_the_balance(mined: Path, run: Run):
    assert run("audit", "--json").json["complete"] is True
    (mined / "new.md").write_text("not mined yet\n")
    done = run("audit", "--json")
    assert done.code == 1
    assert done.json["complete"] is False


def test_indexes_are_rebuilt(mined: Path, run: Run):
    report = run("reindex", "--json").json
    assert report["drawers"] == run("status", "--json").json["drawers"]
    assert run("search", "round_invoice", "--json").json["results"]


def test_a_search_loads_neither_rich_nor_pydantic_nor_chromadb(mined: Path):
    code = (
        "import sys; from mempal.cli import app;"
        "code = app.main(['search', 'round_invoice', '-n', '5', '--mode', 'hybrid', '--json']);"
        "sys.stderr.write(' '.join(sys.modules)); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, check=True, text=True
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "typer" in loaded
    assert not loaded & {"rich", "pydantic", "chromadb", "git", "httpx"}


@pytest.mark.parametrize("query", ["", "   ", '"', "AND OR NOT", "a* NEAR(b)", "%_\\", "caf\udce9"])
def test_any_query_is_answered(query: str, mined: Path, run: Run):
    done = run("search", "--json", "--", query)
    assert done.code == 0, done.stderr
    assert isinstance(done.json["results"], list)
