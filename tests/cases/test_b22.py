"""Miners and searches at once: nobody is turned away, nothing is lost or doubled.

'database is locked', damaged indexes and lost rows, when two agents and hooks share one store
(MemPalace/mempalace#357, #1401, #1202 and PR #947, doobidoo/mcp-memory-service#59,
mem0ai/mem0#7196). The writers of facts and the messages between agents that the report names, too,
are not part of mempal yet; they join this test when they are.
"""

import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.cases.support import holders, open_at
from tests.repositories import write_files

TREES = "abcd"
NOTES = 25
SEARCHES = 5


@pytest.fixture
def roots(tmp_path: Path) -> dict[str, Path]:
    return {
        name: write_files(
            tmp_path / f"repo-{name}",
            {
                f"n{n}.md": f"# {name}{n}\nzqlambda{name}{n} note number {n} of repo {name}\n"
                for n in range(NOTES)
            },
        )
        for name in TREES
    }


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "mempal", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ,
    )


def test_miners_and_searches_at_once(isolation, mempal, roots):
    palace = open_at(isolation.palace, embed__backend="hash")
    mining = [start("mine", roots[name], "--wing", f"w{name}", "--json") for name in (*TREES, "a")]
    searching = [start("search", "zqlambdaa1", "--json") for _ in range(SEARCHES)]
    for process, allowed in (
        *((one, {0}) for one in mining),
        *((one, {0, 3}) for one in searching),
    ):
        output, _ = process.communicate(timeout=300)
        assert process.returncode in allowed, output
        assert not re.search(rb"Traceback|locked|Segmentation", output)

    words = [f"zqlambda{name}{n}" for name in TREES for n in range(NOTES)]
    with closing(sqlite3.connect(isolation.palace / "palace.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        texts = connection.execute("SELECT content FROM drawers WHERE superseded_at IS NULL")
        found = Counter(word for (text,) in texts for word in re.findall(r"zqlambda\w+", text))
    assert found == Counter(words)
    for word in words[:: NOTES // 2]:
        assert len(holders(palace, word)) == 1
    assert mempal("doctor").code == 0
    for name in TREES:
        again = mempal("mine", roots[name], "--wing", f"w{name}", "--json")
        assert again.json["drawers"]["added"] == 0
