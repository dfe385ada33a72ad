"""The documents tell of the package that is there."""

import re
from pathlib import Path

from mempal.cli.app import build_app

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mempal"
ARCHITECTURE = ROOT / "docs" / "explanation" / "architecture.md"
APP = build_app(rich=False)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def find_parts() -> set[str]:
    """Return every folder of modules, and every module that lies directly in an outer one."""
    folders = {path.parent for path in PACKAGE.glob("**/__init__.py")} - {PACKAGE}
    modules = {
        path
        for folder in (PACKAGE, PACKAGE / "adapters")
        for path in folder.glob("*.py")
        if not path.name.startswith("__")
    }
    return {f"{path.relative_to(ROOT).as_posix()}/" for path in folders} | {
        path.relative_to(ROOT).as_posix() for path in modules
    }


def test_the_table_of_folders_is_the_tree():
    rows = re.findall(r"^\| `(mempal/[^`]*)` \|", ARCHITECTURE.read_text("utf-8"), re.MULTILINE)

    assert sorted(rows) == sorted(find_parts())


def test_links_between_documents_lead_somewhere():
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    broken = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in documents
        for target in LINK.findall(document.read_text("utf-8"))
        if not (document.parent / target).exists()
    ]

    assert len(documents) > 3
    assert broken == []


def test_contributing_fits_on_a_page():
    assert len((ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines()) <= 60


def test_every_command_is_documented():
    commands = [command.name for command in APP.registered_commands if not command.hidden]
    commands += [group.name for group in APP.registered_groups]
    text = "".join(
        path.read_text("utf-8") for path in [ROOT / "README.md", *ROOT.glob("docs/reference/*.md")]
    )

    assert len(commands) > 10
    assert [name for name in commands if f"mempal {name}" not in text] == []
