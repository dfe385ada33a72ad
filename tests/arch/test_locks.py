"""Two machines get the same versions, wherever each of them fetches packages from."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "locks"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def read_lock(name: str) -> list[tuple[Requirement, list[str]]]:
    """Return each locked requirement with its hashes."""
    text = re.sub(r"^\s*#.*\n", "", (LOCKS / name).read_text("utf-8"), flags=re.MULTILINE)
    entries = []
    for entry in text.replace("\\\n", " ").splitlines():
        requirement, *hashes = entry.split("--hash=")
        entries.append((Requirement(requirement.strip()), [one.strip() for one in hashes]))
    return entries


def group(name: str) -> list[Requirement]:
    """Return the requirements of a dependency group and of those that it includes."""
    found = []
    for entry in PROJECT["dependency-groups"][name]:
        found += [Requirement(entry)] if isinstance(entry, str) else group(entry["include-group"])
    return found


def imported_packages(path: Path) -> set[str]:
    """Return the top-level package of every import in a module, wherever it stands."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


def pins(name: str) -> set[str]:
    return {str(requirement) for requirement, _ in read_lock(name)}


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt"])
def test_every_requirement_is_one_version_with_hashes(name):
    entries = read_lock(name)

    assert len(entries) > len(PROJECT["project"]["dependencies"])
    for requirement, hashes in entries:
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes), requirement


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt"])
def test_no_lock_names_a_place_to_fetch_from(name):
    text = (LOCKS / name).read_text("utf-8")

    assert not re.search(r"://|^\s*-(?!-hash)|--(?!hash)\w", text, re.MULTILINE)


def test_developers_run_what_users_run():
    assert pins("runtime.txt") <= pins("dev.txt")


@pytest.mark.parametrize(("name", "extra"), [("runtime.txt", "build"), ("dev.txt", "dev")])
def test_locks_meet_the_project(name, extra):
    locked = {
        canonicalize_name(requirement.name): requirement
        for requirement, _ in read_lock(name)
        if requirement.marker is None or requirement.marker.evaluate(default_environment())
    }
    declared = [Requirement(text) for text in PROJECT["project"]["dependencies"]]

    for wanted in declared + group(extra):
        (pin,) = locked[canonicalize_name(wanted.name)].specifier
        assert wanted.specifier.contains(pin.version), f"{wanted} is locked at {pin.version}"


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    packages = packages_distributions()
    imported = {
        canonicalize_name(packages[name][0])
        for path in (ROOT / "mempal").glob("**/*.py")
        for name in imported_packages(path) - sys.stdlib_module_names - {"mempal"}
    }
    declared = {
        canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["dependencies"]
    }

    assert imported <= declared
    assert declared - imported == set()
