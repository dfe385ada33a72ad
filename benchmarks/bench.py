"""Measure what the budgets in the design are about, on text that every Python installation has.

Run ``make bench``. Every figure is CPU time (user and system) of whole processes, so that a busy
machine does not change it much; each command runs several times and the median counts. The corpus
is the source of Python's standard library and of the installed packages, cut off at the size that
gives the wanted number of drawers and repeated where there is not enough of it.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# One drawer of this corpus holds about this many bytes; the real number is read from the palace.
BYTES_PER_DRAWER = 560
ENDINGS = {".py", ".md", ".rst", ".txt", ".pyi", ".toml"}
LARGEST_FILE = 400_000
QUESTIONS = (
    "parse a date from a string",
    "where is the retry delay computed",
    "urllib request timeout",
    "ThreadPoolExecutor submit",
    "how are temporary files removed at exit",
)
# What MemPalace 3.11 took on the machine its figures were measured on, beside bare Python there.
PEER_BYTES_PER_CPU_SECOND = 6_100
PEER_SEARCH_RATIO = 1.85 / 0.012


@dataclass(frozen=True)
class Run:
    """What one process took."""

    cpu: float
    peak_mib: float
    stdout: str


def run(command: Sequence[str], home: Path) -> Run:
    """Run a command to its end and measure it."""
    environment = {**os.environ, "MEMPAL_HOME": str(home), "NO_COLOR": "1"}
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, env=environment)
        stderr = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} failed: {stderr.decode(errors='replace')}")
        out.seek(0)
        return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read())


def median(command: Sequence[str], home: Path, times: int = 5) -> Run:
    """Return the run with the median CPU time."""
    runs = sorted((run(command, home) for _ in range(times)), key=lambda one: one.cpu)
    return runs[len(runs) // 2]


def find_texts() -> Iterator[Path]:
    """Yield source files of the standard library and of installed packages, in a fixed order."""
    for name in ("stdlib", "purelib"):
        folder = Path(sysconfig.get_path(name))
        for path in sorted(folder.rglob("*")):
            inside = "site-packages" in path.relative_to(folder).parts
            if path.suffix in ENDINGS and not inside and path.is_file():
                yield path


def build_corpus(folder: Path, size: int) -> tuple[int, int]:
    """Copy texts into ``folder`` until they hold ``size`` bytes; return files and bytes."""
    texts = [path for path in find_texts() if 0 < path.stat().st_size <= LARGEST_FILE]
    written = files = 0
    while written < size:
        for path in texts:
            target = folder / f"part{files // 400}" / f"{files % 400:03d}_{path.name}"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            written += path.stat().st_size
            files += 1
            if written >= size:
                break
    return files, written


def measure(drawers: int, mempal: list[str], bare: float) -> dict[str, float]:
    """Mine a corpus of about ``drawers`` drawers, mine it again and search it."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        home, tree = work / "home", work / "corpus"
        files, size = build_corpus(tree, drawers * BYTES_PER_DRAWER)
        first = run([*mempal, "mine", str(tree), "--wing", "bench", "--json"], home)
        again = median([*mempal, "mine", str(tree), "--wing", "bench", "--json"], home, 3)
        report, second = json.loads(first.stdout), json.loads(again.stdout)
        if second["drawers"]["added"] or second["files"]["mined"]:
            raise SystemExit("mining again changed something")
        searches = [median([*mempal, "search", q, "--json"], home, 3) for q in QUESTIONS]
        status = json.loads(run([*mempal, "status", "--json"], home).stdout)
        palace = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        text = status["text_bytes"]
        search = statistics.median(one.cpu for one in searches)
        return {
            "files": files,
            "corpus MB": size / 1e6,
            "drawers": report["drawers"]["added"],
            "first mine CPU s": first.cpu,
            "first mine KB per CPU s": text / 1000 / first.cpu,
            "first mine speed to MemPalace 3.11": text / first.cpu / PEER_BYTES_PER_CPU_SECOND,
            "first mine peak MiB": first.peak_mib,
            "mine again CPU s": again.cpu,
            "mine again to first": again.cpu / first.cpu,
            "cold search CPU s": search,
            "cold search to python -c pass": search / bare,
            "cold search to MemPalace 3.11": search / bare / PEER_SEARCH_RATIO,
            "cold search peak MiB": max(one.peak_mib for one in searches),
            "palace bytes per text byte": palace / text,
        }


def main() -> None:
    """Print one table with a column for each palace size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drawers", type=int, nargs="+", default=[10_000, 100_000])
    options = parser.parse_args()
    mempal = [sys.executable, "-m", "mempal"]
    with tempfile.TemporaryDirectory() as name:
        bare = median([sys.executable, "-c", "pass"], Path(name), 11).cpu
        version = median([*mempal, "--version"], Path(name), 11).cpu
    print(f"python -c pass: {bare * 1000:.0f} ms CPU")
    print(f"mempal --version: {version * 1000:.0f} ms CPU, {version / bare:.1f} x python -c pass\n")
    columns = [measure(count, mempal, bare) for count in options.drawers]
    heads = [f"{column['drawers']:,.0f} drawers" for column in columns]
    print("| " + " | ".join(["measure", *heads]) + " |")
    print("|" + "---|" * (len(heads) + 1))
    for key in columns[0]:
        print("| " + " | ".join([key, *(f"{column[key]:,.4g}" for column in columns)]) + " |")
    if len(columns) > 1:
        growth = columns[-1]["cold search CPU s"] / columns[0]["cold search CPU s"]
        print(f"\ncold search, largest to smallest palace: {growth:.2f} x")


if __name__ == "__main__":
    main()
