"""What tests of whole palaces share: building one, asking it, and holding an answer to the disk."""

import errno
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mempal.core.model import Drawer, Scope
from mempal.core.reports import MineOptions, MineReport
from mempal.core.secrets import redact
from mempal.ingest.decode import decode, fold
from mempal.ingest.text import read_text
from mempal.palace import Palace
from mempal.wiring import change_setting, open_palace

# A clock tick lies between a file that was written now and a run that reads it now; files of this
# age are told by size and time alone.
LONG_AGO_NS = 1_600_000_000_000_000_000


class Silence:
    """Progress that nobody watches."""

    def start(self, what: str, total: int | None) -> None:
        pass

    def advance(self, label: str = "") -> None:
        pass


def open_at(home: Path, **settings: str) -> Palace:
    """Open the palace in a folder after changing settings, whose dots are written ``__``."""
    for name, value in settings.items():
        change_setting(home, name.replace("__", "."), value)
    return open_palace(home)


def mine(palace: Palace, *paths: Path, wing: str | None = None, **options: Any) -> MineReport:
    """Mine, and check that the balance adds up."""
    report = palace.mining.mine(list(paths), replace(MineOptions(wing=wing), **options), Silence())
    files = report.files
    assert files.mined == len(report.mined)
    assert files.skipped == len(report.skipped)
    assert files.seen == files.mined + files.unchanged + files.skipped
    return report


def sources_of(palace: Palace, query: str, wing: str | None = None, **how: Any) -> list[str]:
    """Return the files of the hits, best first."""
    hits = palace.search(query, Scope(wing=wing), **how).hits
    return [hit.drawer.source_file for hit in hits]


def holders(palace: Palace, word: str, scope: Scope | None = None) -> list[Drawer]:
    """Return the hits whose text holds a word; hits that are only near in meaning do not."""
    hits = palace.search(word, scope or Scope(), limit=100).hits
    return [hit.drawer for hit in hits if re.search(rf"\b{re.escape(word)}\b", hit.drawer.content)]


def drawers_of(palace: Palace, wing: str, root: Path) -> dict[str, list[Drawer]]:
    """Return the current drawers of every source of one tree, by path."""
    store = palace.access.outfit.open_store(False)
    try:
        paths = sorted(store.sources(wing, str(root)))
        return {path: store.drawers_of(wing, str(root), path) for path in paths}
    finally:
        store.close()


def snapshot(palace: Palace) -> list[tuple[object, ...]]:
    """Return what the palace holds now, without what differs from run to run."""
    store = palace.access.outfit.open_store(False)
    try:
        return sorted(
            (wing, root, path, drawer.chunk_index, drawer.id, drawer.content, str(drawer.span))
            for wing, root in store.roots()
            for path in store.sources(wing, root)
            for drawer in store.drawers_of(wing, root, path)
        )
    finally:
        store.close()


def check_text(drawers: list[Drawer], data: bytes) -> None:
    """Hold the drawers of one file to its bytes: joined they are its text, each where it says."""
    check_spans(drawers, data)
    assert "".join(drawer.content for drawer in drawers) == read_text(data)


def check_spans(drawers: list[Drawer], data: bytes) -> None:
    """Hold drawers to the lines and bytes of the file that they cite."""
    decoded = decode(data)
    kinds = {redaction.replacement for redaction in redact(decoded.text).redactions}
    lines = fold(decoded.text, classic=decoded.classic).split("\n")
    for drawer in drawers:
        span = drawer.span
        assert span is not None
        assert 1 <= span.line_start <= span.line_end <= len(lines)
        if any(kind and kind in drawer.content for kind in kinds):
            continue  # what is cited there must not be what is stored
        cited = "\n".join(lines[span.line_start - 1 : span.line_end])
        assert drawer.content.strip("\n") in cited
        if decoded.exact:
            part = data[span.byte_start : span.byte_end].decode(decoded.encoding, "surrogateescape")
            assert fold(part, classic=decoded.classic) == drawer.content
        else:
            assert span.byte_start is None


def age(root: Path, when: int = LONG_AGO_NS) -> Path:
    """Give every file of a tree an old time, as if it had been written long before mining."""
    for path in walk_files(root):
        os.utime(path, ns=(when, when), follow_symlinks=False)
    return root


def walk_files(root: Path) -> Iterator[Path]:
    """Yield the regular files of a tree, git's own data left out."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".git"]
        yield from (Path(folder, name) for name in files if Path(folder, name).is_file())


def fingerprint(root: Path) -> dict[str, str | None]:
    """Return every entry below a folder with a hash of its bytes; ``None`` for folders."""
    return {
        str(path.relative_to(root)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        )
        for path in sorted(root.rglob("*"))
    }


def draw(home: Path, *arguments: str, env: Mapping[str, str]) -> str:
    """Return what the command sends to a terminal, with its exit code checked."""
    import pty  # not there on every system

    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "mempal", *arguments, "--home", str(home)],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env={**os.environ, **env},
    ) as process:
        os.close(follower)
        drawn = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError as error:  # how Linux says that the other side is closed
                assert error.errno == errno.EIO  # noqa: PT017
                break
            if not part:
                break
            drawn += part
    os.close(leader)
    assert process.returncode == 0
    return drawn.decode()


def undress(drawn: str) -> str:
    """Take away bold and colour."""
    return re.sub(r"\x1b\[[\d;]*m", "", drawn)


# Runs the command and reports the most memory it held: of this process alone, which `getrusage`
# would not tell (it counts what the parent held when it started the child).
_MEASURED = """
import sys
from mempal.cli import app
code = app.main(sys.argv[1:])
try:
    with open("/proc/self/status", encoding="ascii") as status:
        peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
except OSError:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak //= 1024 if sys.platform == "darwin" else 1
sys.stderr.write(f"\\npeak {peak}\\n")
sys.exit(code)
"""


def run_measured(*arguments: str | Path) -> tuple[str, int]:
    """Run the command in a process of its own; return its output and its peak memory in KiB."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", _MEASURED, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout, int(done.stderr.rsplit("peak ", 1)[1])


@dataclass(frozen=True, slots=True)
class Done:
    """How one command that ran in this process ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)
