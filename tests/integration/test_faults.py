"""A command that is killed at any moment leaves a sound palace, and the next run ends its work.

Each trial copies a palace, kills a command with SIGKILL at one moment at which it was about to
write, looks at what is left, and runs the same command again: the outcome is held to that of a run
that nobody disturbed. The palace is small and the change is rich, so that everything a mine does to
stored text happens: added, edited, restored, renamed, moved to another export, grown by a tail,
read from history, redacted.
"""

import json
import os
import random
import re
import shutil
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cases.support import LONG_AGO_NS
from tests.faults import Driver, Ran
from tests.repositories import commit_all, run_git, write_files

KILLED = -signal.SIGKILL
FULL = re.compile("no space left|failed to read or write|cannot be written|File too large")
# Moments at which a row is written, within a transaction.
_ROWS = ("INSERT", "UPDATE", "DELETE", "REPLACE")
SEED = 20_261_201
RANDOM_POINTS = 50
TORN = 7
ASKING = tuple(
    ("search", query, "--json", "-n", "50")
    for query in ("zqpump rotor", "zqvalve zqhello", "why was the gauge replaced")
)
_SECRET = "ghp_" + "a8F3kQ9zL2mX7vB4nC6tR1yW5eU0pS8dG2hJ"


def say(number: int, role: str, text: str) -> str:
    """Return one line of a Claude Code session."""
    record = {
        "type": role,
        "sessionId": "5e55-10",
        "uuid": f"u{number}",
        "cwd": "/src/pumps",
        "timestamp": f"2026-03-01T09:{number:02}:00.000Z",
        "message": {"role": role, "id": f"m{number}", "content": text},
    }
    return json.dumps(record) + "\n"


def talk(name: str, *texts: str) -> dict[str, Any]:
    """Return one conversation of a ChatGPT export."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": []}}
    parent = "root"
    for number, text in enumerate(texts):
        node = f"{name}-{number}"
        message = {
            "id": node,
            "author": {"role": ("user", "assistant")[number % 2]},
            "create_time": 1_772_355_600.0 + number,
            "content": {"content_type": "text", "parts": [text]},
        }
        mapping[node] = {"id": node, "message": message, "parent": parent, "children": []}
        mapping[parent]["children"].append(node)
        parent = node
    return {
        "id": name,
        "conversation_id": name,
        "title": f"About {name}",
        "create_time": 1_772_355_600.0,
        "current_node": parent,
        "mapping": mapping,
    }


PUMPS = ("Is zqpump one at four bar?\n", "It is, by the gauge.\n")
VALVES = ("Does zqvalve two leak?\n", "No, it was sealed.\n", "Since when?\n", "Since May.\n")
SESSION = [
    say(1, "user", "Where does zqhello one come from?"),
    say(2, "assistant", "From the greeting of the north pump."),
    say(3, "user", f"The token is {_SECRET}, keep it."),
]
PARTS = {
    name: f"## {name.title()}\n\nzqpump {name}: " + f"the {name} of the pump is checked. " * 25
    for name in ("housing", "rotor", "shaft", "seal")
}


def join(*names: str) -> str:
    return "# Pump\n\n" + "\n\n".join(PARTS[name] for name in names) + "\n"


FIRST: dict[str, str | bytes] = {
    "pump.md": join("housing", "rotor", "shaft"),
    "src/valve.py": "def zqvalve(pressure):\n    return pressure > 4\n",
    "docs/gauge.md": "# Gauge\nzqgauge shows four bar when the pump runs.\n",
    "docs/old.md": "# Old\nzqledger of the year before last.\n",
    "notes/gone.md": "# Gone\nzqledger of last year, kept in the shed.\n",
    "config.ini": f'[remote]\ntoken = "{_SECRET}"\nhost = zqgauge.example\n',
    "picture.png": b"\x89PNG\r\n\x1a\n\x00\x00",
    "chats/session.jsonl": "".join(SESSION),
    "chats/spring.json": json.dumps([talk("pumps", *PUMPS), talk("valves", *VALVES[:2])]),
    "chats/winter.jsonl": say(1, "user", "zqhello winter").replace("5e55-10", "5e55-20"),
}
SECOND: dict[str, str | bytes] = {"pump.md": join("housing", "shaft")}
THIRD: dict[str, str | bytes] = {
    "pump.md": join("housing", "rotor", "shaft", "seal").replace("shaft: the", "shaft: each"),
    "src/valve.py": "def zqvalve(pressure):\n    return pressure > 5\n",
    "docs/new/gauge.md": FIRST["docs/gauge.md"],
    "docs/fresh.md": "# Fresh\nzqledger of this year.\n",
    "chats/session.jsonl": "".join(
        [*SESSION, say(4, "assistant", "It is kept."), say(5, "user", "zqhello two is another.")]
    ),
    "chats/summer.json": json.dumps([talk("valves", *VALVES), talk("seals", "zqvalve three?\n")]),
    "chats/kept.jsonl": FIRST["chats/winter.jsonl"],
    "picture.png": b"\x89PNG\r\n\x1a\n\x00\x00\x01",
}
GONE = ("docs/gauge.md", "notes/gone.md", "chats/winter.jsonl")


@dataclass(frozen=True, slots=True)
class World:
    """A repository that has changed since it was mined, and palaces that know it.

    Attributes:
        drivers: Run commands.
        root: The repository.
        folder: Holds one palace for each command, as it is before it; ``fresh`` has settings only.
        archive: An export of another state of the same tree.
    """

    drivers: tuple[Driver, ...]
    root: Path
    folder: Path
    archive: Path


@pytest.fixture(scope="module")
def drivers() -> Iterator[tuple[Driver, ...]]:
    """Return processes that run commands, each its own."""
    drivers = tuple(Driver() for _ in range(2))
    yield drivers
    for driver in drivers:
        driver.close()


@pytest.fixture(scope="module")
def world(drivers: tuple[Driver, ...], tmp_path_factory: pytest.TempPathFactory) -> World:
    """Build the repository and the palaces once."""
    folder = tmp_path_factory.mktemp("world")
    root = folder / "repo"
    world = World(drivers, root, folder, folder / "palace.jsonl")

    def run(home: str, *arguments: str | Path) -> Ran:
        ran = drivers[0].run(folder / home, *arguments)
        assert ran.code == 0, ran
        return ran

    run("fresh", "config", "set", "embed.backend", "hash")
    shutil.copytree(folder / "fresh", folder / "mine")
    write_files(root, FIRST)
    run_git(root, "init", "-q")
    commit(root, 1, "Record what the pump needs\n\nThe gauge was replaced because it lied.")
    run("mine", *mining(root))
    write_files(root, SECOND)
    commit(root, 2, "Drop the rotor\n\nIt is another team's.")
    run("mine", *mining(root))
    write_files(root, THIRD)
    for name in GONE:
        (root / name).unlink()
    commit(root, 3, "Bring the rotor back\n\nNobody else wanted it; zqledger tells.")

    shutil.copytree(folder / "mine", folder / "import")
    shutil.copytree(folder / "mine", folder / "undo")
    run("undo", *mining(root))
    run("undo", "export", world.archive)
    for name in ("sync", "forget", "purge"):
        shutil.copytree(folder / "undo", folder / name)
    found = run("purge", "search", "zqpump", "--json", "-n", "3").json["results"]
    run("purge", "delete", *(hit["drawer_id"] for hit in found))
    return world


def commit(root: Path, version: int, message: str) -> None:
    """Commit the tree, with times long ago that tell the version of each file."""
    changed = run_git(root, "status", "--porcelain", "-uall", "-z").split("\0")
    for entry in changed:
        path = root / entry[3:]
        if entry[3:] and path.is_file():
            os.utime(path, ns=(LONG_AGO_NS + version * 10**9,) * 2)
    commit_all(root)
    run_git(root, "commit", "-q", "--amend", "-m", message)


def mining(root: Path) -> tuple[str | Path, ...]:
    return ("mine", root, "--wing", "pumps", "--git-log", "--json")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A command, the palace it starts from, and how often it is killed at random.

    Attributes:
        every_kind: Whether it is killed at each kind of moment, too; else at those of files, locks
            and transactions.
        again: Exit codes of the same command when the killed one had all but ended.
    """

    base: str
    arguments: Callable[[World], tuple[str | Path, ...]]
    points: int = 6
    every_kind: bool = False
    again: tuple[int, ...] = (0,)


SCENARIOS = {
    "mine": Scenario("mine", lambda world: mining(world.root), RANDOM_POINTS, every_kind=True),
    "first": Scenario("fresh", lambda world: mining(world.root), 12),
    "sync": Scenario("sync", lambda _: ("sync", "--wing", "pumps", "--apply")),
    "forget": Scenario(
        "forget",
        lambda _: ("forget", "--source", "chats/session.jsonl", "--source", "pump.md", "--apply"),
    ),
    "undo": Scenario("undo", lambda _: ("undo", "3"), again=(0, 2)),
    "import": Scenario("import", lambda world: ("import", world.archive)),
    "purge": Scenario("purge", lambda _: ("purge",)),
}


def choose_points(moments: tuple[str, ...], scenario: Scenario) -> list[int]:
    """Return moments spread over all, and some of each kind: the first, one amid them, the last."""
    chosen = set()
    draw = random.Random(SEED)
    for number in range(scenario.points):
        first, end = (len(moments) * step // scenario.points for step in (number, number + 1))
        chosen.add(draw.randrange(first, max(end, first + 1)) + 1)
    places: dict[str, list[int]] = {}
    for place, name in enumerate(moments, 1):
        places.setdefault(name_kind(name), []).append(place)
    for kind, found in places.items():
        if scenario.every_kind:
            chosen.update((found[0], found[len(found) // 2], found[-1]))
        elif not kind.startswith(_ROWS):
            chosen.add(found[-1])
    return sorted(place for place in chosen if place <= len(moments))


def name_kind(moment: str) -> str:
    """Return the kind of a moment: the word index and the schema are written in many steps."""
    if " words_" in moment:
        return "UPDATE words"
    return "CREATE" if moment.startswith(("CREATE", "DROP", "ALTER")) else moment


def copy_palace(world: World, base: str, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    return Path(shutil.copytree(world.folder / base, to))


@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_at_any_moment(world: World, tmp_path: Path, name: str):
    scenario = SCENARIOS[name]
    arguments = scenario.arguments(world)
    home = copy_palace(world, scenario.base, tmp_path / "calm")
    calm, *asked = world.drivers[0].run_all(home, arguments, *ASKING, watched=True)
    assert calm.code == 0, calm
    wanted = read_state(home), read_hits(asked)
    points = choose_points(calm.moments, scenario)
    assert len(points) >= scenario.points

    def try_some(number: int) -> None:
        driver, home = world.drivers[number], tmp_path / f"home-{number}"
        for point in points[number :: len(world.drivers)]:
            copy_palace(world, scenario.base, home)
            ran = driver.run(home, *arguments, kill=point)
            where = f"{name} at {point} of {len(calm.moments)}: {calm.moments[point - 1]}"
            assert ran.code == KILLED, where
            check_sound(driver, home, where)
            check_completed(driver, home, arguments, scenario.again, wanted, where)

    with ThreadPoolExecutor() as pool:
        list(pool.map(try_some, range(len(world.drivers))))


@pytest.mark.parametrize("name", ["mine", "first", "forget"])
def test_torn_writes(world: World, tmp_path: Path, name: str):
    """A process may die amid a write of SQLite's own: to the log, or while it is moved over."""
    scenario, driver = SCENARIOS[name], world.drivers[0]
    home = copy_palace(world, scenario.base, tmp_path / "home")
    arguments = scenario.arguments(world)
    calm, *asked = driver.run_all(home, arguments, *ASKING)
    assert calm.code == 0, calm
    wanted = read_state(home), read_hits(asked)
    end = (home / "palace.db").stat().st_size
    torn = 0
    for step in range(1, TORN + 1):
        copy_palace(world, scenario.base, home)
        largest = end * step // TORN - 700 * (step % 3)
        ran = driver.run(home, *arguments, largest=largest, dies=True, checkpoint=3)
        torn += ran.code == -signal.SIGXFSZ
        assert ran.code in {0, -signal.SIGXFSZ}
        where = f"{name} at {largest} of {end} bytes"
        check_sound(driver, home, where)
        check_completed(driver, home, arguments, scenario.again, wanted, where)
    assert torn >= TORN // 2


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_full_disk(world: World, tmp_path: Path, name: str):
    """Where nothing more can be written a command says so, stores nothing by halves and goes on."""
    scenario, driver = SCENARIOS[name], world.drivers[0]
    home = copy_palace(world, scenario.base, tmp_path / "home")
    arguments = scenario.arguments(world)
    calm, *asked = driver.run_all(home, arguments, *ASKING)
    assert calm.code == 0, calm
    wanted = read_state(home), read_hits(asked)
    end = (home / "palace.db").stat().st_size
    pages = end // 4096
    faults: list[dict[str, int]] = [
        *({"largest": end * step // 3} for step in range(3)),
        *({"pages": pages * step // 3} for step in (1, 2)),
    ]
    refused = 0
    for fault in faults:
        copy_palace(world, scenario.base, home)
        ran = driver.run(home, *arguments, **fault)
        where = f"{name} with {fault}"
        assert ran.code in {0, 1}, (where, ran)
        if ran.code:
            refused += 1
            assert FULL.search(ran.stderr), (where, ran)
            assert str(home) in ran.stderr, (where, ran)
        check_sound(driver, home, where)
        check_completed(driver, home, arguments, scenario.again, wanted, where)
    assert refused


def test_a_palace_that_must_not_be_written(world: World, tmp_path: Path):
    driver, home = world.drivers[0], copy_palace(world, "mine", tmp_path / "home")
    before = read_state(home)
    places = [home, *home.rglob("*")]
    for place in places:
        place.chmod(0o500 if place.is_dir() else 0o400)
    try:
        asked = driver.run_all(home, *ASKING, ("status",), ("doctor",), ("runs",), bound=True)
        refused = driver.run_all(
            home, mining(world.root), ("add", "note"), ("undo", "1"), ("reindex",), bound=True
        )
    finally:
        for place in places:
            place.chmod(0o700 if place.is_dir() else 0o600)
    assert [ran.code for ran in asked] == [0] * len(asked), asked
    assert read_hits(asked[: len(ASKING)])
    for ran in refused:
        assert ran.code == 1, ran
        assert "palace.db cannot be written" in ran.stderr
        assert "permission" in ran.stderr
    assert read_state(home) == before


def test_a_folder_in_which_no_palace_may_be_made(world: World, tmp_path: Path):
    driver, home = world.drivers[0], tmp_path / "closed" / "home"
    home.parent.mkdir(mode=0o500)
    ran, asked = driver.run_all(
        home, mining(world.root), ("search", "zqpump", "--json"), bound=True
    )
    assert ran.code == 1, ran
    assert "palace.db cannot be written (Permission denied)" in ran.stderr
    assert (asked.code, asked.json["results"]) == (0, []), asked
    assert list(home.parent.iterdir()) == []


def test_a_run_that_was_killed_can_be_undone(world: World, tmp_path: Path):
    driver, home = world.drivers[0], copy_palace(world, "mine", tmp_path / "home")
    before = read_state(home)
    calm = driver.run(home, *mining(world.root), watched=True)
    wanted = read_state(home)
    commits = [place for place, name in enumerate(calm.moments, 1) if name == "COMMIT"]
    for point in commits[2::3]:
        copy_palace(world, "mine", home)
        assert driver.run(home, *mining(world.root), kill=point).code == KILLED
        run = driver.run(home, "runs", "--json").json["runs"][0]
        assert (run["run"], run["verb"], run["state"]) == (3, "mine", "stopped")
        undone, again = driver.run_all(home, ("undo", "3"), ("undo", "3"))
        assert (undone.code, again.code) == (0, 2), (undone, again)
        state = read_state(home)
        for part in ("drawers", "sources"):
            assert state[part] == before[part], point
        check_sound(driver, home, "undone")
        assert driver.run(home, *mining(world.root)).code == 0
        assert read_state(home)["drawers"] == wanted["drawers"]


@pytest.mark.parametrize("moment", ["VACUUM", "PRAGMA WAL_CHECKPOINT", "DELETE meta", "fsync"])
def test_whoever_writes_next_ends_the_work_of_a_forget_that_died(
    world: World, tmp_path: Path, moment: str
):
    driver, home = world.drivers[0], copy_palace(world, "forget", tmp_path / "home")
    forget = SCENARIOS["forget"].arguments(world)
    assert holds_text(home, b"greeting of the north pump")
    calm = driver.run(home, *forget, watched=True)
    assert not holds_text(home, b"greeting of the north pump")
    copy_palace(world, "forget", home)
    point = calm.moments.index(moment) + 1
    assert driver.run(home, *forget, kill=point).code == KILLED
    added, doctor = driver.run_all(
        home, ("add", "Ask the miller.", "--wing", "pumps"), ("doctor", "--json")
    )
    assert added.code == 0, added
    assert doctor.json["healthy"], doctor
    assert not holds_text(home, b"greeting of the north pump")
    (again,) = driver.run_all(home, mining(world.root))
    assert again.code == 0, again
    assert not holds_text(home, b"greeting of the north pump")


def holds_text(home: Path, text: bytes) -> bool:
    return any(text in path.read_bytes() for path in home.rglob("*") if path.is_file())


def check_sound(driver: Driver, home: Path, where: str) -> None:
    """Hold what a dead process left to what everything else relies on."""
    unborn = (home / "palace.db").exists() and not (home / "palace.db").stat().st_size
    doctor, status, search = driver.run_all(
        home, ("doctor", "--json"), ("status", "--json"), ("search", "zqpump", "--json")
    )
    findings = doctor.json["findings"]
    problems = [finding["detail"] for finding in findings if finding["level"] == "problem"]
    expected = "is empty (0 bytes)" if unborn else "forgotten still lies"
    assert all(expected in problem for problem in problems), (where, problems)
    assert (status.code, search.code) == ((1, 1) if unborn else (0, 0)), (where, search)
    check_integrity(home, where)


def check_integrity(home: Path, where: str = "") -> None:
    """Let SQLite check the database, and hold the derived tables to the drawers."""
    path = home / "palace.db"
    if not path.exists() or not path.stat().st_size:
        return
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        ask = connection.execute
        assert ask("PRAGMA integrity_check").fetchall() == [("ok",)], where
        assert ask("PRAGMA foreign_key_check").fetchall() == [], where
        if ask("PRAGMA user_version").fetchone() == (0,):
            return  # killed before its tables were there
        ask("INSERT INTO words (words) VALUES ('integrity-check')")
        drawers = ask("SELECT key FROM drawers ORDER BY key").fetchall()
        assert ask("SELECT id FROM words_docsize ORDER BY id").fetchall() == drawers, where
        assert ask("SELECT key FROM vectors ORDER BY key").fetchall() == drawers, where


def check_completed(
    driver: Driver,
    home: Path,
    arguments: tuple[str | Path, ...],
    codes: tuple[int, ...],
    wanted: tuple[Mapping[str, Any], Any],
    where: str,
) -> None:
    """Run the command again: it ends the work, and a third run finds nothing to do."""
    ran, doctor, *asked = driver.run_all(home, arguments, ("doctor", "--json"), *ASKING)
    assert ran.code in codes, (where, ran)
    assert doctor.json["healthy"], (where, doctor.json)
    state = read_state(home)
    for part, found in state.items():
        assert found == wanted[0][part], (where, part)
    assert read_hits(asked) == wanted[1], where
    again = driver.run(home, *arguments)
    assert again.code in codes, (where, again)
    assert read_state(home) == state, where
    check_integrity(home, where)
    if arguments[0] == "mine":
        drawers = again.json["drawers"]
        assert drawers["added"] == drawers["superseded"] == drawers["restored"] == 0, where


def read_state(home: Path) -> dict[str, Counter[tuple[Any, ...]]]:
    """Return everything stored but ids, times and revisions, whatever order it came in."""
    with closing(sqlite3.connect(home / "palace.db")) as connection:
        ask = connection.execute
        return {
            "drawers": Counter(
                ask(
                    "SELECT d.wing, d.room, s.path, s.root, d.content, d.symbols, d.chunk_index,"
                    " d.line_start, d.line_end, d.byte_start, d.byte_end, d.span_digest,"
                    " d.speaker, d.source_class, d.said_at, d.importance, r.content_sha256,"
                    " r.blob, r.commit_id, d.superseded_at IS NULL, d.deleted_at IS NULL,"
                    " v.embedding FROM drawers AS d JOIN sources AS s ON s.id = d.source_id"
                    " JOIN readings AS r ON r.id = d.reading_id"
                    " LEFT JOIN vectors AS v ON v.key = d.key"
                )
            ),
            "sources": Counter(
                ask(
                    "SELECT s.wing, s.root, s.path, s.kind, s.room, s.size, s.mtime_ns,"
                    " s.content_sha256, s.encoding, s.rules, s.state, s.reason, s.session,"
                    " h.path, s.tail, s.moved_to FROM sources AS s"
                    " LEFT JOIN sources AS h ON h.id = s.held_in"
                )
            ),
            "forgotten": Counter(
                ask(
                    "SELECT s.path, f.digest FROM forgotten AS f"
                    " LEFT JOIN sources AS s ON s.id = f.source_id"
                )
            ),
            "meta": Counter(
                ask("SELECT key, value FROM meta WHERE key NOT IN ('revision', 'lineage')")
            ),
        }


def read_hits(asked: Sequence[Ran]) -> list[list[tuple[Any, ...]]]:
    """Return what searches found, with its surety; equals come in any order."""
    found = [
        sorted(
            (-round(hit["score"], 6), hit["source_file"], hit["content"])
            for hit in ran.json["results"]
        )
        for ran in asked
    ]
    assert any(found)
    return found
