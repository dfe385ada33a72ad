"""Who may import whom: the contracts in pyproject.toml hold, and each of them can be broken."""

import ast
import re
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mempal"
MODULES = sorted(PACKAGE.glob("**/*.py"))
PYTHON = sorted(
    path
    for part in ("mempal", "tests", "tools", "benchmarks")
    for path in ROOT.glob(f"{part}/**/*.py")
    if "data" not in path.parts
)
BANNED_NAMES = {"common", "helper", "helpers", "manager", "managers", "misc", "util", "utils"}
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")

# One import for each contract that must report it; each is planted inside a function.
PLANTED = {
    "One direction: entry, surfaces, wiring, palace, features, core": (
        "core/ids.py",
        "import mempal.search",
    ),
    "Adapters and doubles know the core, not the features": (
        "testing/store.py",
        "import mempal.ingest",
    ),
    "Adapters do not know each other": ("adapters/lock.py", "import mempal.adapters.sqlite.schema"),
    "Only the wiring names adapters": ("health.py", "import mempal.adapters.lock"),
    "Heavy packages stay in the adapter that needs them": ("search/fuse.py", "import numpy"),
    "Core stands on the standard library alone": ("core/clock.py", "import orjson"),
    "No package goes round in circles": ("core/errors.py", "import mempal.core.config"),
}


def lint_imports(folder: Path) -> str:
    """Return what import-linter says of the package in a folder."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def find_circles(graph: grimp.ImportGraph) -> set[str]:
    """Return the modules that are on, or between, circles of imports."""
    left = set(graph.modules)
    while True:
        ends = {
            module
            for module in left
            if not graph.find_modules_directly_imported_by(module) & left
            or not graph.find_modules_that_directly_import(module) & left
        }
        if not ends:
            return left
        left -= ends


def imported_packages(path: Path) -> Iterator[str]:
    """Yield the top-level package of every import in a module, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            yield (node.module or "").partition(".")[0]


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line number and text of every comment and string."""
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type in {tokenize.COMMENT, tokenize.STRING}:
                yield token.start[0], token.string


def test_contracts_hold():
    said = lint_imports(ROOT)

    assert re.search(rf"Contracts: {len(PLANTED)} kept, 0 broken", said), said


def test_each_contract_reports_what_it_forbids(tmp_path):
    shutil.copytree(
        PACKAGE, tmp_path / "mempal", ignore=shutil.ignore_patterns("data", "__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for place, statement in PLANTED.values():
        with (tmp_path / "mempal" / place).open("r+", encoding="utf-8") as module:
            module.seek(0, 2)
            module.write(f"\n\ndef _planted() -> None:\n    {statement}\n")

    said = lint_imports(tmp_path)

    assert [name for name in PLANTED if not re.search(rf"{re.escape(name)} BROKEN", said)] == [], (
        said
    )


def test_modules_do_not_import_each_other_in_circles():
    graph = grimp.build_graph("mempal", cache_dir=None)
    for module in graph.find_modules_directly_imported_by("mempal"):
        graph.remove_import(importer="mempal", imported=module)  # type names, resolved on first use

    assert find_circles(graph) == set()


def test_a_circle_is_found():
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")):
        graph.add_import(importer=importer, imported=imported)

    assert find_circles(graph) == {"b", "c"}


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "core").glob("*.py")), ids=lambda path: path.stem
)
def test_core_imports_only_the_standard_library(path):
    assert set(imported_packages(path)) - sys.stdlib_module_names - {"mempal"} == set()


def test_only_the_renderer_prints():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        if path != PACKAGE / "cli" / "render.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]

    assert found == []


def test_nothing_is_left_for_later():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in PYTHON
        for line, text in comments(path)
        if UNFINISHED.search(text)
    ]

    assert found == []


def test_modules_are_named_for_what_they_hold():
    names = {path.stem for path in MODULES} | {path.parent.name for path in MODULES}

    assert names & BANNED_NAMES == set()
    assert {name for name in names - {"__init__", "__main__"} if "_" in name} == set()
