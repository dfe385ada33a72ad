"""The health check: each thing that can be wrong is found, named, and has its repair."""

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mempal.core.errors import BusyError, ConfigError
from mempal.core.reports import Finding
from mempal.palace import Palace
from tests.cases.support import Silence, fingerprint, mine, open_at
from tests.repositories import write_files


@pytest.fixture
def palace(isolation: Any, tmp_path: Path) -> Palace:
    root = write_files(tmp_path / "shop", {"a.md": "alpha valve\n", "b.md": "beta pump\n"})
    palace = open_at(isolation.palace)
    mine(palace, root)
    palace.reindex(reembed=False, progress=Silence())
    return palace


def find(palace: Palace, name: str) -> Finding:
    (finding,) = (item for item in palace.diagnose().findings if item.name == name)
    return finding


def test_a_sound_palace_is_healthy(palace):
    diagnosis = palace.diagnose()
    assert diagnosis.healthy
    assert diagnosis.home == str(palace.home)
    assert find(palace, "database") == Finding("database", "ok", "schema 2, 2 drawers, 2 sources")
    assert find(palace, "index") == Finding("index", "ok", "exact, 2 drawers")
    assert find(palace, "embedder").detail.startswith("static:minilm-256:")
    assert find(palace, "git").detail.startswith("git version")
    names = [finding.name for finding in diagnosis.findings]
    assert names == ["home", "database", "index", "embedder", "git", "command"]


def test_no_palace_is_no_problem(isolation):
    palace = open_at(isolation.palace)
    assert palace.diagnose().healthy
    assert find(palace, "home").repair == "mempal mine"


def test_drawers_beyond_the_index_are_counted(palace, tmp_path):
    mine(palace, write_files(tmp_path / "more", {"c.md": "gamma\n"}))
    assert find(palace, "index").detail == "exact, 2 drawers, 1 more read from the database"
    assert find(palace, "index").level == "ok"


def test_a_damaged_index_is_mended_by_reindex(palace):
    file = palace.home / "index" / "exact.bin"
    file.write_bytes(file.read_bytes()[:-9])
    finding = find(palace, "index")
    assert (finding.level, finding.repair) == ("problem", "mempal reindex")
    assert str(file) in finding.detail
    assert not palace.diagnose().healthy
    palace.reindex(reembed=False, progress=Silence())
    assert palace.diagnose().healthy


def test_a_lost_index_is_no_problem(palace):
    shutil.rmtree(palace.home / "index")
    assert find(palace, "index").level == "ok"


def change(palace: Palace, statement: str) -> None:
    with closing(sqlite3.connect(palace.home / "palace.db", isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "detail"),
    [
        ("DELETE FROM vectors WHERE key = 1", "1 drawers have no vector"),
        ("INSERT INTO words (words) VALUES ('delete-all')", "2 drawers are missing from the word"),
        ("UPDATE vectors SET embedding = x'0011' WHERE key = 1", "vectors of different lengths"),
    ],
)
def test_what_is_missing_in_the_database_is_found(palace, statement, detail):
    change(palace, statement)
    finding = find(palace, "database")
    assert finding.level == "problem"
    assert finding.detail.startswith(detail)
    assert finding.repair == "mempal reindex --reembed"
    palace.reindex(reembed=True, progress=Silence())
    assert palace.diagnose().healthy


@pytest.mark.parametrize("damage", ["garbage", "empty", "folder", "foreign"])
def test_a_database_that_cannot_be_opened_is_told_once(palace, damage):
    file = palace.home / "palace.db"
    if damage == "garbage":
        file.write_bytes(b"not a database" * 99)
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "folder":
        file.unlink()
        file.mkdir()
    else:
        change(palace, "PRAGMA application_id = 7")
    problems = [item for item in palace.diagnose().findings if item.level == "problem"]
    assert [item.name for item in problems] == ["database"]
    assert str(file) in problems[0].detail
    assert problems[0].repair
    assert find(palace, "embedder").level == "ok"


def test_another_embedder_is_a_problem_with_its_repair(palace):
    other = open_at(palace.home, embed__backend="hash")
    finding = find(other, "embedder")
    assert finding.level == "problem"
    assert "static:minilm-256" in finding.detail
    assert "hash:A:64" in finding.detail
    assert finding.repair == "mempal reindex --reembed"
    other.reindex(reembed=True, progress=Silence())
    assert other.diagnose().healthy


def test_an_embedder_that_does_not_answer_is_a_warning(palace):
    away = open_at(
        palace.home, embed__backend="ollama", embed__endpoint="http://127.0.0.1:9", embed__dim="8"
    )
    finding = find(away, "embedder")
    assert finding.level == "warning"
    assert "127.0.0.1:9" in finding.detail


def test_a_check_that_cannot_run_is_a_warning(palace):
    def refuse(_: bool) -> Any:
        raise BusyError("somebody writes", hint="wait")

    palace.access.outfit = replace(palace.access.outfit, open_store=refuse)
    assert find(palace, "database") == Finding("database", "warning", "somebody writes", "wait")


def test_unknown_settings_are_named(palace):
    (palace.home / "config.toml").write_text('wing = "w"\ncolour = 1\n')
    (finding,) = [
        item for item in open_at(palace.home).diagnose().findings if item.name == "config"
    ]
    assert finding.level == "warning"
    assert "config.toml:2: unknown key colour" in finding.detail
    (palace.home / "config.toml").write_text("index.backend = 5\n")
    with pytest.raises(ConfigError):
        open_at(palace.home)


@pytest.mark.parametrize(("name", "mode"), [("", 0o755), ("palace.db", 0o644)])
def test_what_others_may_read_is_named(palace, name, mode):
    assert [item for item in palace.diagnose().findings if item.name == "permissions"] == []
    path = palace.home / name
    wanted = path.stat().st_mode & 0o777
    path.chmod(mode)
    finding = find(palace, "permissions")
    assert (finding.level, finding.repair) == ("warning", f"chmod {wanted:o} {path}")
    assert palace.diagnose().healthy


def test_the_command_on_the_path_is_compared_with_the_one_that_runs(palace, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    assert find(palace, "command").level == "warning"
    assert find(palace, "git").repair == "install git"
    for folder in ("one", "two"):
        program = write_files(tmp_path / folder, {"mempal": "#!/bin/sh\n"}) / "mempal"
        program.chmod(0o755)
    monkeypatch.setenv("PATH", os.fspath(tmp_path / "one"))
    monkeypatch.setattr(sys, "argv", [os.fspath(tmp_path / "one" / "mempal")])
    assert find(palace, "command").level == "ok"
    monkeypatch.setattr(sys, "argv", [os.fspath(tmp_path / "two" / "mempal")])
    finding = find(palace, "command")
    assert (finding.level, str(tmp_path / "one") in finding.detail) == ("warning", True)


def test_checking_changes_nothing(palace):
    (palace.home / "palace.db").write_bytes(b"not a database" * 99)
    (palace.home / "index" / "exact.bin").write_bytes(b"nor an index")
    before = fingerprint(palace.home)
    palace.diagnose()
    assert fingerprint(palace.home) == before
