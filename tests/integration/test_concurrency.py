"""Commands at the same time: nobody fails, nothing is lost or doubled, and who waits learns why.

One command is held at a moment at which it is about to write, and another one runs through
meanwhile, so that every interleaving that is meant really happens. Where two only have to run at
the same time, both wait at a gate that is opened for them together.
"""

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.cases.support import age
from tests.faults import Driver, Ran, held
from tests.repositories import write_files

WORDS = tuple(f"zq{name}" for name in ("elm", "oak", "ash", "fir", "yew", "box", "bay", "fig"))
REFUSED = 2
BUSY = 4


def write_tree(root: Path, *, version: int = 1) -> Path:
    """Write a tree: some files are the same in every version, some new, some other."""
    files: dict[str, str | bytes] = {
        f"{word}.md": f"# {word}\n{word} grows behind the mill.\n" for word in WORDS
    }
    for number in range(version):
        files[f"year{number}.md"] = f"# Year {number}\nzqyear{number} was wet.\n"
    files["now.md"] = f"# Now\nzqnow of {root.name} is version {version}.\n"
    return age(write_files(root, files), 1_600_000_000_000_000_000 + version * 10**9)


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Driver, Driver]]:
    """Return two processes that run commands."""
    pair = Driver(), Driver()
    yield pair
    for driver in pair:
        driver.close()


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """Return a pipe at which a command waits."""
    os.mkfifo(tmp_path / "gate")
    return tmp_path / "gate"


@pytest.fixture
def home(pair: tuple[Driver, Driver], tmp_path: Path) -> Path:
    """Return the folder of a palace that embeds at no cost."""
    done = pair[0].run(tmp_path / "home", "config", "set", "embed.backend", "hash")
    assert done.code == 0, done
    return tmp_path / "home"


def mining(root: Path, *options: str) -> tuple[str | Path, ...]:
    return ("mine", root, "--wing", "w", "--json", *options)


def run_together(pair: tuple[Driver, Driver], home: Path, *commands: object) -> list[Ran]:
    """Start the lists of commands at the same moment, and return how all of them ended."""
    gates = [home.with_name(f"gate-{number}") for number in range(len(commands))]
    for driver, path, group in zip(pair, gates, commands, strict=True):
        os.mkfifo(path)
        driver.start(home, *group, pause=0, gate=str(path))  # type: ignore[misc]
    with ExitStack() as opened:
        for path in gates:
            opened.enter_context(held(path))
    ended = [ran for driver in pair for ran in driver.wait()]
    check_calm(*ended)
    return ended


def check_calm(*ended: Ran) -> None:
    """Hold commands that ran at the same time to what they promise: they succeed, in silence."""
    for ran in ended:
        assert ran.code == 0, ran
        assert "locked" not in ran.stdout + ran.stderr
        assert "Traceback" not in ran.stdout + ran.stderr


def check_palace(driver: Driver, home: Path, drawers: int) -> None:
    """Hold a palace to soundness: each text is current once, with its words and its vector."""
    doctor, audit = driver.run_all(home, ("doctor", "--json"), ("audit", "--json"))
    assert doctor.json["healthy"], doctor
    assert not any("more read from" in one["detail"] for one in doctor.json["findings"])
    assert audit.code == 0, audit
    with closing(sqlite3.connect(home / "palace.db", isolation_level=None)) as connection:
        ask = connection.execute
        assert ask("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert ask("PRAGMA foreign_key_check").fetchall() == []
        ask("INSERT INTO words (words) VALUES ('integrity-check')")
        current = ask(
            "SELECT wing, content FROM drawers"
            " WHERE superseded_at IS NULL AND deleted_at IS NULL ORDER BY 1, 2"
        ).fetchall()
        assert ask("SELECT * FROM runs WHERE finished_at IS NULL").fetchall() == []
    assert len(set(current)) == len(current) == drawers


def find_moments(driver: Driver, home: Path, name: str, *arguments: str | Path) -> list[int]:
    """Return at which moments a command does something, tried on a copy of the palace."""
    copy = home.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(home, copy)
    ran = driver.run(copy, *arguments, watched=True)
    assert ran.code == 0, ran
    return [place for place, moment in enumerate(ran.moments, 1) if moment == name]


def test_two_first_mines_of_one_tree(pair, home, tmp_path):
    root = write_tree(tmp_path / "tree")
    both = run_together(pair, home, [mining(root)], [mining(root)])
    assert sum(ran.json["drawers"]["added"] for ran in both) == len(WORDS) + 2
    check_palace(pair[0], home, len(WORDS) + 2)


def test_two_mines_of_two_trees(pair, home, tmp_path):
    roots = [write_files(tmp_path / f"tree{n}", {f"{w}.md": f"{w} {n}\n" for w in WORDS})
             for n in range(2)]  # fmt: skip
    both = run_together(pair, home, *([mining(root)] for root in roots))
    assert [ran.json["drawers"]["added"] for ran in both] == [len(WORDS)] * 2
    check_palace(pair[0], home, 2 * len(WORDS))


def test_searches_while_a_tree_is_mined_again_and_again(pair, home, tmp_path):
    roots = [write_tree(tmp_path / "trees" / str(number), version=2) for number in range(6)]
    assert pair[0].run(home, *mining(roots[0])).code == 0
    searches = [("search", WORDS[0], "--json")] * 20
    ended = run_together(pair, home, list(map(mining, roots)), searches)
    for ran in ended[len(roots) :]:
        assert "zqelm.md" in {hit["source_file"] for hit in ran.json["results"]}


def test_two_imports_of_one_archive(pair, home, tmp_path):
    root = write_tree(tmp_path / "tree")
    other = tmp_path / "other"
    shutil.copytree(home, other)
    archive = tmp_path / "palace.jsonl"
    check_calm(*pair[0].run_all(other, mining(root), ("export", archive)))
    both = run_together(pair, home, *([("import", archive, "--json")] for _ in range(2)))
    assert sum(ran.json["added"] for ran in both) == len(WORDS) + 2
    check_palace(pair[0], home, len(WORDS) + 2)


def test_a_mine_that_another_mine_overtakes_at_any_transaction(pair, home, gate, tmp_path):
    root = write_tree(tmp_path / "tree")
    check_calm(pair[0].run(home, *mining(root)))
    write_tree(root, version=3)
    base = home.with_name("base")
    shutil.copytree(home, base)
    moments = find_moments(pair[0], home, "BEGIN", *mining(root))
    assert len(moments) > 4
    for moment in moments:
        shutil.rmtree(home)
        shutil.copytree(base, home)
        pair[0].start(home, *[mining(root)], pause=moment, gate=str(gate))
        with held(gate):
            check_calm(pair[1].run(home, *mining(root)))
        check_calm(*pair[0].wait())
        check_palace(pair[1], home, len(WORDS) + 4)


def test_a_mine_that_is_overtaken_by_what_takes_text_away(pair, home, gate, tmp_path):
    """Whatever is taken away meanwhile, the next mine finds what the palace should hold."""
    root = write_tree(tmp_path / "tree")
    check_calm(pair[0].run(home, *mining(root)))
    write_tree(root, version=2)
    (root / "zqoak.md").rename(root / "acorn.md")  # goes on under another name
    (root / "zqelm.md").unlink()
    mine = mining(root)
    base = home.with_name("base")
    shutil.copytree(home, base)
    everything = read_current(home) | {"zqyear1 was wet.", "zqnow of tree is version 2."}
    wanted = everything - {"zqelm grows behind the mill.", "zqnow of tree is version 1."}
    taking = {
        ("sync", "--wing", "w", "--apply"): wanted,
        ("forget", "--source", "zqfir.md", "--apply"): wanted - {"zqfir grows behind the mill."},
        ("forget", "--topic", "zqoak", "--apply"): wanted - {"zqoak grows behind the mill."},
        ("undo", "1"): wanted,
    }
    moments = find_moments(pair[0], home, "BEGIN", *mine)
    for number, ((verb, *options), left) in enumerate(taking.items()):
        # What sync lets go of is what is being renamed, so it comes between any two steps.
        for moment in moments[number :: 3 if number else 1]:
            shutil.rmtree(home)
            shutil.copytree(base, home)
            pair[0].start(home, mine, pause=moment, gate=str(gate))
            with held(gate):
                taken = pair[1].run(home, verb, *options)
            check_calm(*pair[0].wait())
            if taken.code != REFUSED or verb != "undo":
                check_calm(taken)
            # What is gone from disk is let go of in the end, and nothing else is.
            check_calm(*pair[1].run_all(home, mine, ("sync", "--wing", "w", "--apply"), mine))
            assert read_current(home) == left, (verb, options, moment)
            check_palace(pair[1], home, len(left))


def read_current(home: Path) -> set[str]:
    """Return the last line of every current drawer."""
    with closing(sqlite3.connect(home / "palace.db")) as connection:
        rows = connection.execute(
            "SELECT content FROM drawers WHERE superseded_at IS NULL AND deleted_at IS NULL"
        ).fetchall()
    return {content.splitlines()[-1] for (content,) in rows}


def test_a_run_under_way_is_not_undone(pair, home, gate, tmp_path):
    root = write_tree(tmp_path / "tree")
    moment = find_moments(pair[0], home, "BEGIN", *mining(root))[-2]
    pair[0].start(home, mining(root), pause=moment, gate=str(gate))
    with held(gate):
        refused = pair[1].run(home, "undo", "1")
        assert pair[1].run(home, "runs", "--json").json["runs"][0]["state"] == "running"
    assert refused.code == REFUSED
    assert re.search(r"run 1 \(mine\) is under way in process \d+", refused.stderr)
    check_calm(*pair[0].wait())
    check_palace(pair[1], home, len(WORDS) + 2)


def test_who_waits_too_long_for_the_database_learns_for_whom(pair, home, gate, tmp_path):
    root = write_tree(tmp_path / "tree")
    check_calm(pair[0].run(home, *mining(root)))
    write_tree(root, version=2)
    moment = find_moments(pair[0], home, "COMMIT", *mining(root))[1]
    pair[0].start(home, mining(root), pause=moment, gate=str(gate))
    with held(gate):
        for command in (mining(root), ("add", "Ask the miller."), ("sync", "--wing", "w")):
            ran = pair[1].run(home, *command, patience=0.05)
            if command[0] == "sync":
                assert ran.code == 0, ran  # a dry run only reads
                continue
            assert ran.code == BUSY, ran
            message = ran.stderr or ran.stdout
            assert re.search(r"process \d+ \(mine, since [\d:]+Z\) is writing to", message)
        reading = pair[1].run_all(home, ("search", "zqelm"), ("status",), ("doctor",), ("runs",))
        check_calm(*reading)
    check_calm(*pair[0].wait())
    check_palace(pair[1], home, len(WORDS) + 3)


def test_who_waits_too_long_for_the_index_learns_for_whom(pair, home, gate, tmp_path):
    root = write_tree(tmp_path / "tree")
    moment = find_moments(pair[0], home, "open exact.bin.new", *mining(root))[0]
    pair[0].start(home, mining(root), pause=moment, gate=str(gate))
    with held(gate):
        refused = pair[1].run(home, "reindex", patience=0.05)
        assert refused.code == BUSY, refused
        named = r"process \d+ is writing the palace's index"
        assert re.search(named, refused.stderr)
        # Words and vectors are in the database, so a note is stored all the same.
        added = pair[1].run(home, "add", "The zqmiller knows.", "--wing", "w", patience=0.05)
        assert added.code == 0, added
        found = pair[1].run(home, "search", "zqmiller", "--json").json["results"]
        assert found[0]["content"].startswith("The zqmiller knows.")
    check_calm(*pair[0].wait())
    check_calm(pair[1].run(home, *mining(root)), pair[1].run(home, "reindex"))
    check_palace(pair[1], home, len(WORDS) + 3)
