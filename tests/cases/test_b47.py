"""Front matter is text and costs what text costs; a bad configuration is named and hides nothing.

One note with a bad YAML head blocked the whole run or lost the note, unsafe loaders ran code, and a
bad config wiped or hid settings (basicmachines-co/basic-memory#378, #1171, PR #368,
garrytan/gbrain#4543, anthropics/claude-code#76868).
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mempal.core.reports import MineMode
from tests.cases.support import fingerprint, holders, mine, open_at, run_measured
from tests.repositories import write_files
from tests.transcripts import list_drawers

CASE = Path(__file__).parent / "data" / "B47"
WORDS = [f"zqff{number}" for number in range(14)]
# What the hostile note would have a loader make.
PWNED = Path("/tmp/mempal-yaml-pwned")  # noqa: S108
MOST_MEMORY = 350 * 1024  # KiB
PROMPT = json.dumps({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "go"})


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASE / "repo", tmp_path / "repo"))


# --- front matter ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [MineMode.AUTO, MineMode.FILES])
def test_every_note_is_stored_as_it_is(isolation, repo, mode):
    before = fingerprint(repo)
    palace = open_at(isolation.palace, embed__backend="hash")
    report = mine(palace, repo, wing="w", mode=mode)
    assert (report.files.mined, report.skipped) == (len(WORDS), ())
    assert fingerprint(repo) == before
    texts = {}
    for drawer in sorted(list_drawers(palace), key=lambda one: one.chunk_index):
        texts[drawer.source_file] = texts.get(drawer.source_file, "") + drawer.content
    assert texts == {path.name: path.read_text() for path in repo.iterdir()}
    assert mine(palace, repo, wing="w", mode=mode).drawers.added == 0


def test_every_word_is_found(run, repo):
    assert run("mine", repo, "--wing", "w").code == 0
    for word in WORDS:
        done = run("search", word, "--wing", "w", "--json")
        assert done.json["results"][0]["content"].count(word)


def test_no_loader_runs_what_a_note_says(repo, isolation):
    existed = PWNED.exists()
    output, peak = run_measured("mine", repo, "--json", "--home", isolation.palace)
    assert json.loads(output)["files"]["mined"] == len(WORDS)
    assert PWNED.exists() == existed
    assert peak < MOST_MEMORY


@pytest.mark.parametrize("name", ["bomb.md", "object.md", "alias.md", "list.md", "null.md"])
def test_the_same_heads_in_the_file_that_names_rooms(isolation, repo, name):
    """``mempal.yaml`` is read as YAML, and may come with a stranger's repository."""
    head = (repo / name).read_text().split("---\n")[1]
    write_files(repo, {"mempal.yaml": f"{head}rooms: [billing]\n", "billing/x.md": "zqroom here\n"})
    existed = PWNED.exists()
    palace = open_at(isolation.palace, embed__backend="hash")
    report = mine(palace, repo, wing="w")
    assert PWNED.exists() == existed
    assert len(report.mined) == len(WORDS) + 2
    assert all(warning.startswith("mempal.yaml: ") for warning in report.warnings)
    (drawer,) = holders(palace, "zqroom")
    # Whatever could be read of the file holds; what could not is told.
    assert drawer.room == "billing" or report.warnings


# --- configuration --------------------------------------------------------------------------------

# Line and key that an error names, or the keys that are warned of.
ERRORS = {
    "bad-syntax": ":1: db_path: ",
    "utf16": ":1: not UTF-8 text",
    "unknown-key": ":4: embed.backend takes ",
}
WARNINGS = {
    "wrong-type": [(1, "db_path"), (3, "search.top_k")],
    "bad-regex": [(1, "privacy.patterns")],
    "bom": [],
    "empty": [],
}
COMMANDS = [
    ("status",),
    ("search", "zqff13"),
    ("mine", "."),
    ("add", "zqnew"),
    ("doctor",),
    ("wake-up",),
    ("config", "get", "wing"),
    ("reindex",),
]


def test_each_file_of_the_case_is_judged():
    names = {path.stem for path in (CASE / "config").iterdir()}
    assert names == ERRORS.keys() | WARNINGS.keys()


@pytest.fixture
def home(isolation: Any, repo: Path) -> Path:
    mine(open_at(isolation.palace), repo, wing="w")
    return isolation.palace


@pytest.mark.parametrize("name", ERRORS)
def test_a_bad_file_is_refused_with_its_place(run, home, repo, name):
    path = Path(shutil.copyfile(CASE / "config" / f"{name}.toml", home / "config.toml"))
    before = path.read_bytes(), (home / "palace.db").read_bytes()
    for command in COMMANDS:
        done = run(*command, cwd=repo)
        assert done.code == 1
        assert done.stdout == ""
        message, hint = done.stderr.splitlines()
        assert message.startswith(f"error: {path}{ERRORS[name]}")
        assert hint.startswith("hint: ")
        document = run(*command, "--json", cwd=repo).json
        assert document["error"]["code"] == "config"
        assert document["error"]["message"] == message.removeprefix("error: ")
    assert (path.read_bytes(), (home / "palace.db").read_bytes()) == before


@pytest.mark.parametrize("name", WARNINGS)
def test_what_does_no_harm_is_warned_of(run, home, name):
    path = Path(shutil.copyfile(CASE / "config" / f"{name}.toml", home / "config.toml"))
    before = path.read_bytes()
    warnings = [f"warning: {path}:{line}: unknown key {key}" for line, key in WARNINGS[name]]
    done = run("search", "zqff13", "--wing", "w", "--json")
    assert (done.code, done.stderr.splitlines()) == (0, warnings)
    assert "zqff13" in done.json["results"][0]["content"]
    assert run("status", "--json").json["warnings"] == [
        warning.removeprefix("warning: ") for warning in warnings
    ]
    levels = {found["name"]: found["level"] for found in run("doctor", "--json").json["findings"]}
    assert levels.get("config") == ("warning" if warnings else None)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[search]\nfloor = "many"\n', ":2: search.floor takes "),
        ("wing = 7\n", ":1: wing takes "),
        ('\n[index]\n# how many\nann_threshold = "many"\n', ":4: index.ann_threshold takes "),
        ("[mine]\nlimit_file_size = true\n", ":2: mine.limit_file_size takes "),
        ("[embed]\ndim = -1\n", ":2: embed.dim takes "),
    ],
)
def test_a_value_of_another_type_is_refused_with_its_place(run, home, text, place):
    path = home / "config.toml"
    path.write_text(text)
    done = run("status")
    assert done.code == 1
    assert done.stderr.startswith(f"error: {path}{place}")


def test_an_unknown_key_beside_good_ones_hides_none(run, home):
    (home / "config.toml").write_text('brand_new = 1\nwing = "w"\n[brand]\nx = 1\n')
    done = run("search", "zqff13", "--json")
    assert done.code == 0
    assert done.json["wing"] == "w"
    assert done.stderr.count("warning: ") == 2
    assert run("config", "set", "index.backend", "exact").code == 0
    assert (
        (home / "config.toml").read_text().startswith('brand_new = 1\nwing = "w"\n[brand]\nx = 1')
    )


@pytest.mark.parametrize(
    "command",
    [
        ("hook", "run", "user-prompt-submit", "--host", "claude-code"),
        ("cowork-drain", "--cwd-source", "stdin-json"),
    ],
)
@pytest.mark.parametrize("name", [*ERRORS, *WARNINGS])
def test_hooks_pass_silently(mempal, isolation, command, name):
    isolation.palace.mkdir()
    path = isolation.palace / "config.toml"
    shutil.copyfile(CASE / "config" / f"{name}.toml", path)
    done = mempal(*command, stdin=PROMPT)
    assert (done.code, done.stdout) == (0, "")
    assert "Traceback" not in done.stderr
    assert [entry.name for entry in isolation.palace.iterdir()] == ["config.toml"]
