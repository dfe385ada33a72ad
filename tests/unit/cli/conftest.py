"""A palace that answers what a test wants and remembers what it was asked."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mempal
from mempal.cli import app
from mempal.core.config import Config, load_config
from mempal.core.model import (
    Addition,
    Changes,
    Citation,
    Drawer,
    Hit,
    Matcher,
    RoomCount,
    SearchResult,
    Skip,
    SourceClass,
    Span,
    Term,
    Verdict,
)
from mempal.core.reports import (
    AuditReport,
    AuditRoot,
    Diagnosis,
    FileCounts,
    Finding,
    MineReport,
    ReindexReport,
    RoomList,
    Shown,
    Status,
    WakeUp,
    WakeUpItem,
)


def make_drawer(**changes: Any) -> Drawer:
    fields: dict[str, Any] = {
        "key": 1,
        "id": "drawer_0123456789abcdef0123",
        "wing": "shop",
        "room": "billing",
        "content": "def round_invoice(amount):\n    return round(amount, 2)",
        "source_file": "billing/invoice.py",
        "root": "/nowhere/shop",
        "chunk_index": 0,
        "span": Span(10, 11, 200, 254),
        "speaker": None,
        "source_class": SourceClass.FILE,
        "importance": 0,
        "added_at": 1_767_225_600_000,
        "superseded_at": None,
        "deleted_at": None,
        "content_sha256": "c" * 64,
        "source_sha256": "d" * 64,
        "blob": "b" * 40,
        "commit": "a" * 40,
    }
    return Drawer(**{**fields, **changes})


def make_hit(drawer: Drawer | None = None, **changes: Any) -> Hit:
    drawer = drawer or make_drawer()
    span = drawer.span
    same = Citation(
        Verdict.SAME,
        drawer.source_file,
        span.line_start if span else None,
        span.line_end if span else None,
    )
    fields: dict[str, Any] = {
        "drawer": drawer,
        "score": 0.812345,
        "matched_by": (Matcher.KEYWORD, Matcher.VECTOR),
        "citation": same,
    }
    return Hit(**{**fields, **changes})


def make_result(*hits: Hit, **changes: Any) -> SearchResult:
    fields: dict[str, Any] = {
        "query": "round invoice",
        "mode": "hybrid",
        "hits": hits or (make_hit(),),
        "terms": (Term(("round",)), Term(("invoice",))),
    }
    return SearchResult(**{**fields, **changes})


def make_mining(**changes: Any) -> MineReport:
    fields: dict[str, Any] = {
        "wing": "shop",
        "roots": ("/nowhere/shop",),
        "dry_run": False,
        "files": FileCounts(mined=3, unchanged=4, skipped=2, excluded=1),
        "drawers": Changes(added=5, unchanged=6, superseded=1, restored=0),
        "skipped": (Skip("logo.png", "binary file"), Skip("empty.md", "nothing in it")),
        "excluded": (Skip("build/", ".gitignore:1: build"),),
        "mined": ("a.py", "b.py", "c.py"),
        "seconds": 1.23456,
    }
    return MineReport(**{**fields, **changes})


def default_answers() -> dict[str, Any]:
    rooms = (
        RoomCount("shop", "billing", 7, 3, 1_767_225_600_000),
        RoomCount("shop", "general", 1, 1, None),
        RoomCount("tools", "general", 2, 1, 1_767_225_600_001),
    )
    drawer = make_drawer()
    root = AuditRoot("shop", "/nowhere/shop", 3, 2, 1, 0, 0, 0)
    return {
        "mine": make_mining(),
        "search": make_result(),
        "wake_up": WakeUp("shop", "# shop\nremember", 4, (WakeUpItem(drawer.id, "a.md"),)),
        "add": Addition(("drawer_new",), created=True),
        "show": Shown(drawer, make_hit().citation),
        "rooms": RoomList(rooms),
        "status": Status("/home/p", "0.1.0", None, None, "static", (), "no palace yet"),
        "diagnose": Diagnosis("/home/p", (Finding("database", "ok", "sound"),)),
        "audit": AuditReport((root,)),
        "reindex": ReindexReport("exact", "static-1", 10, 0, 0.5),
    }


@dataclass
class FakePalace:
    """Answers from ``answers``; an exception there is raised."""

    home: Path
    config: Config
    answers: dict[str, Any] = field(default_factory=default_answers)
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def default_wing(self, path: Path) -> str:
        return self.config.text("wing") or path.name

    def has_wing(self, wing: str) -> bool:
        return any(room.wing == wing for room in self.answers["rooms"].rooms)

    @property
    def mining(self) -> "FakePalace":
        return self

    @property
    def drawers(self) -> "FakePalace":
        return self

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        if verb not in self.answers:
            raise AttributeError(verb)

        def call(*arguments: Any, **options: Any) -> Any:
            self.calls.append((verb, arguments, options))
            answer = self.answers[verb]
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return call

    def called(self, verb: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the only call of a verb."""
        ((arguments, options),) = [(a, o) for name, a, o in self.calls if name == verb]
        return arguments, options


@dataclass(frozen=True)
class Printed:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def palace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolation: object) -> FakePalace:
    """The palace every command of the test opens; ``home`` is the folder it was asked for."""
    fake = FakePalace(tmp_path / "home", load_config(tmp_path / "home"))

    def open_palace(home: Path) -> FakePalace:
        fake.home = home
        fake.config = load_config(home)
        return fake

    # In place of the composition root, so that no adapter is loaded.
    stand_in = ModuleType("mempal.wiring")
    vars(stand_in)["open_palace"] = open_palace
    monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)
    monkeypatch.setattr(mempal, "wiring", stand_in, raising=False)
    return fake


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Printed]:
    """Run a command line in this process."""

    def call(*arguments: str) -> Printed:
        code = app.main(arguments)
        captured = capsysbinary.readouterr()
        return Printed(code, captured.out.decode(), captured.err.decode())

    return call
