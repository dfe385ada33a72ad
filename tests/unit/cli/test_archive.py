"""Export, import and backup: what each asks of the palace, and what it answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mempal.core.archive import (
    BackupReport,
    ExportReport,
    ImportReport,
    Restored,
    SkippedLine,
)
from mempal.core.errors import SourceError, UsageError

Run = Callable[..., Any]


def make_import(*skipped: SkippedLine, **changes: Any) -> ImportReport:
    fields: dict[str, Any] = {
        "path": "p.jsonl",
        "restored": Restored(7, 2, 3, skipped),
        "redactions": {},
        "warnings": (),
        "seconds": 1.23456,
    }
    return ImportReport(**{**fields, **changes})


@pytest.fixture
def palace(palace: Any) -> Any:
    palace.archive = palace
    palace.answers |= {
        "export": ExportReport("/there/p.jsonl", 10, 4, 123_456, 0.98765),
        "import_": make_import(SkippedLine(12, "its text was forgotten here")),
        "backup": BackupReport("/there/b.db", 2_000_000, 0.5),
    }
    return palace


@pytest.mark.parametrize("verb", ["export", "backup"])
@pytest.mark.parametrize("force", [False, True])
def test_file_and_force_reach_the_palace(run: Run, palace: Any, verb: str, force: bool):
    assert run(verb, "some file", *(["--force"] if force else [])).code == 0
    arguments, options = palace.called(verb)
    assert arguments == (Path("some file"),)
    assert options["force"] is force


def test_what_is_imported_reaches_the_palace(run: Run, palace: Any):
    assert run("import", "--", "-p.jsonl").code == 0
    assert palace.called("import_")[0][0] == Path("-p.jsonl")


def test_documents(run: Run, palace: Any):
    assert run("export", "p", "--json").json == {
        "path": "/there/p.jsonl",
        "drawers": 10,
        "sources": 4,
        "bytes": 123_456,
        "seconds": 0.988,
    }
    assert run("import", "p", "--json").json == {
        "path": "p.jsonl",
        "added": 7,
        "unchanged": 2,
        "sources": 3,
        "skipped": [{"line": 12, "reason": "its text was forgotten here"}],
        "redactions": {},
        "warnings": [],
        "seconds": 1.235,
    }
    assert run("backup", "p", "--json").json == {
        "path": "/there/b.db",
        "bytes": 2_000_000,
        "seconds": 0.5,
    }


def test_text(run: Run, palace: Any):
    assert run("export", "p").out == (
        "10 drawers of 4 sources in /there/p.jsonl (123.5 kB, 1.0 s)\n"
    )
    assert run("backup", "p").out == "copied to /there/b.db (2.0 MB, 0.5 s)\n"
    printed = run("import", "p")
    assert printed.out == (
        "drawers: 7 added, 2 unchanged, 1 skipped; 3 sources added in 1.2 s\n"
        "skipped:\n"
        "  line 12  its text was forgotten here\n"
    )
    assert printed.err == ""


def test_redactions_and_warnings_are_told(run: Run, palace: Any):
    palace.answers["import_"] = make_import(redactions={"jwt": 2}, warnings=("mind the gap",))
    printed = run("import", "p")
    assert "redacted: 2 jwt\n" in printed.out
    assert "skipped" not in printed.out.splitlines()[-1]
    assert printed.err == "warning: mind the gap\n"
    document = run("import", "p", "--json").json
    assert (document["redactions"], document["warnings"]) == ({"jwt": 2}, ["mind the gap"])


def test_many_skips_are_cut_off_with_a_count(run: Run, palace: Any):
    skips = [SkippedLine(number, "why") for number in range(25)]
    palace.answers["import_"] = make_import(*skips)
    assert run("import", "p").out.endswith("  ... and 5 more (--json lists all)\n")
    assert len(run("import", "p", "--json").json["skipped"]) == 25


def test_errors_keep_their_exit_code(run: Run, palace: Any):
    palace.answers["import_"] = SourceError("line 3: content is no text", hint="export again")
    printed = run("import", "p", "--json")
    assert (printed.code, printed.json["error"]["code"]) == (1, "source")
    palace.answers["backup"] = UsageError("b.db exists")
    assert run("backup", "b.db").code == 2


@pytest.mark.parametrize("verb", ["export", "import", "backup"])
def test_help_has_an_example(run: Run, palace: Any, verb: str):
    assert f"Example: mempal {verb} palace" in run(verb, "--help").out
    assert run(verb).code == 2
