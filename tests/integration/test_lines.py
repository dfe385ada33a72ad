"""What a result cites is there: lines, bytes and whole files, on real trees of every kind."""

import email
import shutil
from pathlib import Path
from typing import Any

import pytest

from mempal.ingest.decode import decode, fold
from tests.repositories import make_repository, run_git, write_files

ROOT = Path(__file__).parents[2]
MANY = 1050
QUESTIONS = ("parse a date in a header", "decode_header", "module number", "retry", "class Message")


def make_plain(folder: Path) -> Path:
    return Path(
        shutil.copytree(
            Path(email.__file__).parent,
            folder / "plain",
            ignore=shutil.ignore_patterns("__pycache__", "architecture.rst"),
        )
    )


def make_many(folder: Path) -> Path:
    files = {
        f"part{number % 40}/module{number}.py": f'"""Module number {number} of many."""\n\n\n'
        f"def compute_{number}(value):\n    return value + {number}\n"
        for number in range(MANY)
    }
    repository = make_repository(folder / "many", files)
    run_git(repository, "status", "--short")
    return repository


def make_own(folder: Path) -> Path:
    return Path(shutil.copytree(ROOT / "mempal", folder / "own" / "mempal")).parent


@pytest.mark.parametrize("make", [make_plain, make_many, make_own])
def test_results_cite_what_the_files_hold(mempal: Any, tmp_path: Path, make: Any) -> None:
    tree = make(tmp_path)
    first = mempal("mine", str(tree), "--wing", "w", "--json").json
    assert first["files"]["seen"] == sum(
        first["files"][name] for name in ("mined", "unchanged", "skipped")
    )
    assert first["drawers"]["added"] > 0
    again = mempal("mine", str(tree), "--wing", "w", "--json").json
    assert (again["files"]["mined"], again["drawers"]["added"]) == (0, 0)
    assert again["drawers"]["unchanged"] == first["drawers"]["added"]
    found = 0
    for question in QUESTIONS:
        answer = mempal("search", question, "--wing", "w", "--json").json
        for result in answer["results"]:
            found += 1
            check_citation(result)
    assert found > 0
    assert mempal("audit", "--json").json["complete"] is True


def check_citation(result: dict[str, Any]) -> None:
    data = (Path(result["root"]) / result["source_file"]).read_bytes()
    decoded = decode(data)
    lines = fold(decoded.text, classic=decoded.classic).split("\n")
    cited = "\n".join(lines[result["line_start"] - 1 : result["line_end"]])
    assert result["content"].removesuffix("\n") in cited
    assert cited.strip("\n") in result["content"] or len(cited) > len(result["content"])
    piece = data[result["byte_start"] : result["byte_end"]]
    assert fold(piece.decode(decoded.encoding)) == result["content"]
    assert result["verdict"] == "same"


def test_a_function_is_found_by_purpose_and_by_name(mempal: Any, tmp_path: Path) -> None:
    tree = write_files(
        tmp_path / "shop",
        {
            "src/billing/totals.py": (
                "def round_half_even(amount):\n"
                '    """Round money the way banks do, so that errors cancel out."""\n'
                "    return amount.quantize(CENT)\n"
            ),
            "src/login/session.py": "def open_session(user):\n    return Session(user)\n",
        },
    )
    mempal("mine", str(tree), "--json")
    for question in ("round money the way banks do", "round_half_even", "roundHalfEven"):
        (best, *_) = mempal("search", question, "--json").json["results"]
        assert best["source_file"] == "src/billing/totals.py"
        assert (best["wing"], best["room"]) == ("shop", "billing")
