"""Sessions of coding agents that are not stored yet, told from names, sizes and times."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mempal.core.model import Place, SourceState
from mempal.core.reports import MineMode, SessionBalance
from mempal.ingest import sessions
from mempal.ingest.sessions import (
    SessionFolder,
    count_sessions,
    find_session_folders,
    judge_sessions,
)
from mempal.palace import Palace
from mempal.testing import MemoryStore
from tests.cases.support import fingerprint, mine, open_at
from tests.drawers import put, source

DAY_NS = 86_400_000_000_000
AT_NS = 1_700_000_000_000_000_000
AT = AT_NS // 1_000_000
LINE = {
    "type": "user",
    "uuid": "u",
    "sessionId": "s",
    "timestamp": "2026-03-01T09:00:00.000Z",
    "cwd": "/work/demo",
    "message": {"role": "user", "content": "zqword of a session"},
}


@pytest.fixture
def home(isolation: Any) -> Path:
    return isolation.home


def test_no_test_looks_at_the_sessions_of_whoever_runs_it(home: Path):
    assert Path.home() == home
    folders = find_session_folders(os.environ, Path.home())
    assert all(place.folder.is_relative_to(home) for place in folders)


def write(path: Path, text: str = "{}\n", days_ago: float = 1, at: int = AT_NS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    when = at - int(days_ago * DAY_NS)
    os.utime(path, ns=(when, when))
    return path


def store_of(*files: Path, root: Path, **changes: Any) -> MemoryStore:
    """Return a store that knows files as they are now."""
    store = MemoryStore()
    for file in files:
        stat = file.stat()
        known = {"size": stat.st_size, "mtime_ns": stat.st_mtime_ns} | changes
        path = file.relative_to(root).as_posix()
        put(store, source(path, root=str(root.resolve()), **known))
    return store


def count(
    home: Path, store: MemoryStore | None = None, **environment: str
) -> tuple[SessionBalance, ...]:
    return count_sessions(find_session_folders(environment, home), store, AT)


def tally(balance: SessionBalance) -> tuple[int, int, int, int | None]:
    return balance.total, balance.missing, balance.grown, balance.days_left


def finding(home: Path, store: MemoryStore | None = None) -> Any:
    return judge_sessions(count(home, store), home)


# --- where they are -------------------------------------------------------------------------------


def test_a_machine_without_sessions_is_not_spoken_of(home):
    assert count(home) == ()
    assert finding(home) is None
    (home / ".claude/projects/-work-demo").mkdir(parents=True)
    (home / ".codex/sessions").mkdir(parents=True)
    assert finding(home) is None


def test_what_is_a_session(home):
    claude, codex = home / ".claude/projects", home / ".codex"
    for name in ("a.jsonl", "agent-old.jsonl", "a/subagents/agent-1.jsonl"):
        write(claude / "-work-demo" / name)
    for name in ("a.json", "sessions-index.json", "a/subagents/x.jsonl", "a/tool-results/y.jsonl"):
        write(claude / "-work-demo" / name)
    write(claude / "beside.jsonl")
    day = codex / "sessions/2026/03/01"
    write(day / "rollout-2026-03-01T09-00-00-1.jsonl")
    write(day / "rollout-2026-03-01T09-00-00-2.jsonl.zst")
    write(day / "notes.jsonl")
    write(day / "rollout-x.txt")
    # Both forms of one session.
    write(day / "rollout-2026-03-01T09-00-00-1.jsonl.zst")
    write(codex / "archived_sessions/rollout-2026-02-01T09-00-00-3.jsonl")
    balances = count(home)
    assert [(b.host, b.folder, b.total) for b in balances] == [
        ("claude-code", str(claude), 3),
        ("codex", str(codex / "sessions"), 2),
        ("codex", str(codex / "archived_sessions"), 1),
    ]
    assert [(b.missing, b.grown) for b in balances] == [(3, 0), (2, 0), (1, 0)]


def test_variables_move_the_folders(home, tmp_path):
    write(tmp_path / "c/projects/p/a.jsonl")
    write(tmp_path / "x/sessions/rollout-1.jsonl")
    (tmp_path / "c/settings.json").write_text('{"cleanupPeriodDays": 3}')
    write(home / ".claude/projects/p/other.jsonl")
    balances = count(home, CLAUDE_CONFIG_DIR=str(tmp_path / "c"), CODEX_HOME=str(tmp_path / "x"))
    assert [(b.folder, b.total, b.days_left) for b in balances] == [
        (str(tmp_path / "c/projects"), 1, 2),
        (str(tmp_path / "x/sessions"), 1, None),
    ]
    empty = count(home, CLAUDE_CONFIG_DIR="", CODEX_HOME="")
    assert [b.folder for b in empty] == [str(home / ".claude/projects")]


def test_links_inside_are_not_followed_and_the_folder_may_be_one(home, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "projects/p/a.jsonl")
    secret = write(tmp_path / "outside/b.jsonl")
    (home / ".claude").symlink_to(elsewhere)
    for link, target in {
        "projects/linked": secret.parent,
        "projects/p/b.jsonl": secret,
        "projects/p/s/subagents": secret.parent,
        "projects/p/gone.jsonl": tmp_path / "nowhere",
        "projects/p/loop": elsewhere / "projects",
    }.items():
        (elsewhere / link).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / link).symlink_to(target)
    write(secret.parent / "agent-1.jsonl")
    write(tmp_path / "outside2/rollout-9.jsonl")
    write(home / ".codex/sessions/rollout-1.jsonl")
    (home / ".codex/sessions/2026").symlink_to(tmp_path / "outside2")
    (home / ".codex/sessions/loop").symlink_to(home / ".codex/sessions")
    os.mkfifo(home / ".codex/sessions/rollout-2.jsonl")
    assert [b.total for b in count(home)] == [1, 1]
    store = store_of(elsewhere / "projects/p/a.jsonl", root=elsewhere / "projects")
    assert [b.missing for b in count(home, store)] == [0, 1]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_closed_folder_stops_nothing(home):
    write(home / ".claude/projects/p/a.jsonl")
    closed = write(home / ".claude/projects/q/b.jsonl").parent
    closed.chmod(0)
    try:
        assert [b.total for b in count(home)] == [1]
    finally:
        closed.chmod(0o700)


# --- what is stored -------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [SourceState.STORED, SourceState.SKIPPED])
def test_the_same_size_and_time_is_stored(home, state):
    file = write(home / ".claude/projects/p/a.jsonl")
    for root in (file.parent, home / ".claude/projects", home):
        store = store_of(file, root=root, state=state)
        assert [tally(b) for b in count(home, store)] == [(1, 0, 0, None)]
    assert finding(home, store).detail == "Claude Code: 1 session, all stored"
    assert (finding(home, store).level, finding(home, store).repair) == ("ok", "")


@pytest.mark.parametrize("change", [{"size": 1}, {"mtime_ns": AT_NS - 2 * DAY_NS}])
def test_another_size_or_time_has_grown(home, change):
    file = write(home / ".claude/projects/p/a.jsonl")
    store = store_of(file, root=home / ".claude/projects", **change)
    assert [tally(b) for b in count(home, store)] == [(1, 0, 1, 29)]
    assert "0 of 1 session not stored, 1 grown since" in finding(home, store).detail


@pytest.mark.parametrize("change", [{"mtime_ns": -1}, {"state": SourceState.GONE}])
def test_what_was_not_read_is_missing(home, change):
    file = write(home / ".claude/projects/p/a.jsonl")
    store = store_of(file, root=home / ".claude/projects", **change)
    assert [tally(b) for b in count(home, store)] == [(1, 1, 0, 29)]


def test_what_is_forgotten_is_not_asked_for_again(home):
    file = write(home / ".claude/projects/p/a.jsonl")
    store = store_of(file, root=home / ".claude/projects")
    store.forget([], [Place("w", str((home / ".claude/projects").resolve()), "p/a.jsonl")], 200)
    write(file, "longer\n", days_ago=0.5)
    assert [tally(b) for b in count(home, store)] == [(1, 0, 0, None)]


def test_any_wing_will_do(home):
    file = write(home / ".claude/projects/p/a.jsonl")
    store = store_of(file, root=home / ".claude/projects", size=1)
    stat = file.stat()
    put(
        store,
        source(
            "a.jsonl",
            wing="other",
            root=str(file.parent.resolve()),
            size=stat.st_size,
            mtime_ns=stat.st_mtime_ns,
        ),
    )
    assert [tally(b) for b in count(home, store)] == [(1, 0, 0, None)]


def test_files_of_other_trees_are_not_read(home, monkeypatch):
    write(home / ".claude/projects/p/a.jsonl")
    store = store_of(write(home / "src/a.py"), root=home / "src")
    asked = []
    monkeypatch.setattr(store, "sources", lambda *place: asked.append(place) or {})
    count(home, store)
    assert asked == []


# --- how long they have ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days_ago", "left", "level", "words"),
    [
        (1, 29, "ok", "in 29 days"),
        (22.9, 7, "ok", "in 7 days"),
        (23.1, 6, "warning", "in 6 days"),
        (28.5, 1, "warning", "in 1 day"),
        (29.5, 0, "warning", "at any time"),
        (300, 0, "warning", "at any time"),
        (-5, 35, "ok", "in 35 days"),
    ],
)
def test_the_first_that_goes_decides(home, days_ago, left, level, words):
    write(home / ".claude/projects/p/a.jsonl", days_ago=days_ago)
    write(home / ".claude/projects/p/b.jsonl", days_ago=-6)
    old = write(home / ".claude/projects/p/stored.jsonl", days_ago=29.9)
    store = store_of(old, root=home / ".claude/projects")
    assert [tally(b) for b in count(home, store)] == [(3, 2, 0, left)]
    found = finding(home, store)
    assert (found.name, found.level) == ("sessions", level)
    expected = f"Claude Code: 2 of 3 sessions not stored, the first may be deleted {words}"
    assert found.detail == expected
    assert found.repair == "mempal mine ~/.claude/projects --mode convos"


def test_codex_deletes_nothing(home):
    write(home / ".codex/sessions/2020/01/01/rollout-1.jsonl", days_ago=2000)
    write(home / ".codex/archived_sessions/rollout-2.jsonl", days_ago=2000)
    found = finding(home)
    assert found.level == "ok"
    assert found.detail == (
        "Codex: 1 of 1 session not stored; Codex archive: 1 of 1 session not stored"
    )
    assert found.repair == "mempal mine ~/.codex/sessions ~/.codex/archived_sessions --mode convos"


def test_commands_can_be_pasted(home, tmp_path):
    folder = SessionFolder("codex", write(tmp_path / "my $HOME/rollout-1.jsonl").parent)
    found = judge_sessions(count_sessions([folder], None, AT), home)
    assert found.repair == f"mempal mine '{tmp_path}/my $HOME' --mode convos"
    odd = SessionFolder("codex", write(home / "a b/rollout-1.jsonl").parent)
    found = judge_sessions(count_sessions([odd], None, AT), home)
    assert found.repair == "mempal mine ~/'a b' --mode convos"


@pytest.mark.parametrize(
    ("text", "left", "note"),
    [
        ("{}", 29, ""),
        ('{"cleanupPeriodDays": 90}', 89, ""),
        ('{"cleanupPeriodDays": 2.5}', 1, ""),
        ('{"cleanupPeriodDays": 99999}', 99998, ""),
        ('{"cleanupPeriodDays": 1e999}', 999_999, ""),
        ('{"cleanupPeriodDays": ' + "9" * 400 + "}", 999_999, ""),
        ('{"cleanupPeriodDays": ' + "9" * 5000 + "}", 29, "cannot be read"),
        ('{"cleanupPeriodDays": 0}', 0, "all may be deleted"),
        ('{"cleanupPeriodDays": -3}', 0, "all may be deleted"),
        ('{"cleanupPeriodDays": -Infinity}', 0, "all may be deleted"),
        ('{"cleanupPeriodDays": NaN}', 29, "no number"),
        ('{"cleanupPeriodDays": "7"}', 29, "no number"),
        ('{"cleanupPeriodDays": null}', 29, "no number"),
        ('{"cleanupPeriodDays": true}', 29, "no number"),
        ("[7]", 29, "no number"),
        ("", 29, "cannot be read"),
        ("{", 29, "cannot be read"),
        ("[" * 100_000, 29, "cannot be read"),
        (b"\xff\xfe\x00", 29, "cannot be read"),
        ("{}" + " " * 1_000_001, 29, "cannot be read"),
    ],
)
def test_settings_of_any_kind(home, text, left, note):
    write(home / ".claude/projects/p/a.jsonl")
    data = text if isinstance(text, bytes) else text.encode()
    (home / ".claude/settings.json").write_bytes(data)
    (balance,) = count(home)
    assert balance.days_left == left
    assert note in balance.note
    assert bool(note) == bool(balance.note)
    assert balance.note in finding(home).detail
    json.dumps(balance.days_left, allow_nan=False)


def test_settings_that_are_no_file_or_linked(home, tmp_path):
    write(home / ".claude/projects/p/a.jsonl")
    settings = home / ".claude/settings.json"
    os.mkfifo(settings)
    assert "cannot be read" in count(home)[0].note
    settings.unlink()
    (tmp_path / "dotfiles.json").write_text('{"cleanupPeriodDays": 5}')
    settings.symlink_to(tmp_path / "dotfiles.json")
    assert count(home)[0].days_left == 4
    settings.unlink()
    settings.symlink_to(settings)
    assert "cannot be read" in count(home)[0].note


def test_no_session_is_opened(home, monkeypatch):
    write(home / ".claude/projects/p/a.jsonl")
    opened = []

    def note(path: Any, *_: Any) -> bytes:
        opened.append(path)
        return b"{}"

    monkeypatch.setattr(sessions, "read_linked", note)
    monkeypatch.setattr("builtins.open", note)
    monkeypatch.setattr("os.open", note)
    count(home)
    monkeypatch.undo()
    assert opened == [home / ".claude/settings.json"]


# --- the verb -------------------------------------------------------------------------------------


@pytest.fixture
def claude(home: Path) -> Path:
    """A home with one session of Claude Code, as it is now."""
    project = home / ".claude/projects/-work-demo"
    project.mkdir(parents=True)
    (project / "s.jsonl").write_text(json.dumps(LINE) + "\n")
    os.utime(project / "s.jsonl", ns=(AT_NS, AT_NS))
    return home / ".claude/projects"


def told(palace: Palace) -> list[Any]:
    return [found for found in palace.diagnose().findings if found.name == "sessions"]


def test_doctor_tells_until_they_are_stored(claude: Path, isolation: Any):
    palace = open_at(isolation.palace, embed__backend="hash")
    before = fingerprint(isolation.palace)
    (found,) = told(palace)
    assert (found.level, found.repair) == (
        "warning",
        "mempal mine ~/.claude/projects --mode convos",
    )
    assert palace.diagnose().healthy  # a warning is no problem of the palace's
    assert fingerprint(isolation.palace) == before
    mine(palace, claude, mode=MineMode.CONVOS, own_wings=True)
    (found,) = told(palace)
    assert (found.level, found.detail) == ("ok", "Claude Code: 1 session, all stored")
    assert palace.diagnose().sessions == (SessionBalance("claude-code", str(claude), 1, 0, 0),)
    with (claude / "-work-demo/s.jsonl").open("a") as file:
        file.write(json.dumps(LINE | {"uuid": "v"}) + "\n")
    (found,) = told(palace)
    assert "1 grown since" in found.detail
    mine(palace, claude, mode=MineMode.CONVOS, own_wings=True)
    assert told(palace)[0].detail == "Claude Code: 1 session, all stored"


def test_the_command_answers(claude: Path, mempal: Callable[..., Any]):
    done = mempal("doctor", "--json")
    assert done.json["sessions"] == [
        {
            "host": "claude-code",
            "folder": str(claude),
            "total": 1,
            "missing": 1,
            "grown": 0,
            "days_left": 0,
            "note": "",
        }
    ]
    (found,) = [found for found in done.json["findings"] if found["name"] == "sessions"]
    assert (done.code, found["level"]) == (0, "warning")
    plain = mempal("doctor")
    assert "repair with: mempal mine ~/.claude/projects --mode convos" in plain.stdout
    assert "zqword" not in plain.stdout + plain.stderr


def test_a_damaged_palace_is_not_called_one_without_sessions(claude: Path, isolation: Any):
    isolation.palace.mkdir()
    (isolation.palace / "palace.db").write_bytes(b"not a database" * 100)
    palace = open_at(isolation.palace)
    assert told(palace) == []
    assert not palace.diagnose().healthy
