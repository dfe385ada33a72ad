"""No credential is stored anywhere, and nothing that only looks like one is touched.

Credentials from tool output were stored, embedded and handed back by search, and filters by keyword
blanked harmless text (Dicklesworthstone/coding_agent_session_search#112, raphasouthall/neurostack
#113, MemPalace/mempalace PR #2306, thedotmack/claude-mem PR #2616).

The tokens are put together here, so that no file looks as if it held a live one.
"""

import os
import random
import signal
import string
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cases.support import open_at
from tests.repositories import write_files
from tests.transcripts import claude_row, list_drawers, say, spill, to_lines

ANY = string.ascii_letters + string.digits
KEEP = (
    "zqsigma7 commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixed it",
    "zqsigma8 id 123e4567-e89b-12d3-a456-426614174000",
    "zqsigma9 token = os.environ['MY_TOKEN']",
    "zqsigma10 the password prompt appeared twice",
    "zqsigma11 pip install scikit-learn, not sk-learn",
    "zqsigma12 sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "zqsigma13 the secret of good bread is time",
    "zqsigma14 https://example.invalid/a/very/long/path/segment-with-dashes-0123456789",
)
FOUND = ("zqsigma2", "zqsigma3", "zqsigma5", "zqsigma6")
# What the notes name by its shape alone; the others need the words around them.
SHAPED = (
    *("openai", "anthropic", "github", "github_fine", "gitlab", "slack", "aws_id", "google"),
    *("stripe", "npm", "jwt"),
)


@dataclass(frozen=True)
class Case:
    repo: Path
    convos: Path
    tokens: Mapping[str, str]
    key: str

    @property
    def forbidden(self) -> list[str]:
        """Every token, and every line of the private key."""
        return [*self.tokens.values(), *self.key.split("\n")[1:-1]]


def make_tokens(chance: random.Random) -> dict[str, str]:
    def pick(count: int, letters: str = ANY) -> str:
        return "".join(chance.choices(letters, k=count))

    capitals = string.ascii_uppercase + string.digits
    return {
        "openai": "s" + "k-proj-" + pick(48),
        "anthropic": "s" + "k-ant-api03-" + pick(80),
        "github": "gh" + "p_" + pick(36),
        "github_fine": "github" + "_pat_" + pick(22) + "_" + pick(59),
        "gitlab": "gl" + "pat-" + pick(20),
        "slack": "xo" + "xb-" + pick(11, string.digits) + "-" + pick(24),
        "aws_id": "AK" + "IA" + pick(16, capitals),
        "aws_secret": pick(40),
        "google": "AI" + "za" + pick(35),
        "stripe": "sk" + "_live_" + pick(24),
        "npm": "np" + "m_" + pick(36),
        "jwt": "ey" + "J" + pick(20) + "." + "ey" + "J" + pick(40) + "." + pick(43),
        "bearer": pick(40),
        "dbpass": pick(16),
        "generic": pick(24),
    }


@pytest.fixture(params=[30, 31])
def case(request, tmp_path):
    chance = random.Random(request.param)
    tokens = make_tokens(chance)
    body = "\n".join("".join(chance.choices(ANY, k=64)) for _ in range(6))
    name = "PRIVATE " + "KEY"
    key = f"-----BEGIN {name}-----\n{body}\n-----END {name}-----"
    shown = "".join(f"- the {kind} value is {tokens[kind]} for now\n" for kind in SHAPED)
    notes = (
        f"# zqsigma1 deploy notes\n{shown}"
        f"Authorization: Bearer {tokens['bearer']}\n"
        f"postgres://svc:{tokens['dbpass']}@db.example.invalid:5432/app\n"
        f"aws_secret_access_key = {tokens['aws_secret']}\n"
        f"password: {tokens['generic']}\n\n{key}\n\nzqsigma2 text after the key must survive\n"
    )
    settings = "".join(f"{kind.upper()}_TOKEN={value}\n" for kind, value in tokens.items())
    repo = write_files(
        tmp_path / "repo",
        {
            "notes.md": notes,
            ".env.example.md": f"zqsigma3\n{settings}",
            "keep.md": "".join(line + "\n" for line in KEEP),
        },
    )
    output = (
        f"GITHUB_TOKEN={tokens['github']}\nOPENAI_API_KEY={tokens['openai']}\n"
        "zqsigma5 PATH=/usr/bin"
    )
    header = f"-H 'Authorization: Bearer {tokens['bearer']}'"
    result = {"type": "tool_result", "tool_use_id": "t", "content": output}
    rows = [
        claude_row(1, "user", "zqsigma4 print the environment"),
        claude_row(2, "user", [result]),
        claude_row(3, "assistant", say(f"zqsigma6 curl {header} https://api.example.invalid")),
    ]
    convos = write_files(tmp_path / "convos", {"s.jsonl": to_lines(rows)})
    return Case(repo, convos, tokens, key)


@pytest.fixture
def mined(run, case):
    """What mining both said, as JSON and as text."""
    done = [
        run("mine", case.repo, "--wing", "w", "--json"),
        run("mine", case.convos, "--mode", "convos", "--wing", "w", "--json"),
    ]
    assert [one.code for one in done] == [0, 0]
    return done


def held(text: str, case: Case) -> list[str]:
    return [token for token in case.forbidden if token in text]


def test_no_file_of_the_palace_holds_a_secret(isolation, case, mined):
    assert (isolation.palace / "palace.db").stat().st_size > 0
    assert list(spill(isolation.palace, case.forbidden)) == []
    assert list(spill(isolation.palace, ["zqsigma2 text after the key"]))  # the search does find


def test_not_even_while_others_have_it_open(run, isolation, case):
    """A reader keeps what was written in the journal, which is a file of its own."""
    run("add", "first", "--wing", "w", "--room", "r")
    store = open_at(isolation.palace).access.outfit.open_store(False)
    store.revision()
    try:
        run("mine", case.repo, "--wing", "w")
        run("mine", case.convos, "--wing", "w", "--mode", "convos")
        assert (isolation.palace / "palace.db-wal").stat().st_size > 0
        assert list(spill(isolation.palace, case.forbidden)) == []
    finally:
        store.close()


def test_no_answer_holds_a_secret(run, case, mined):
    commands = [
        *(("search", f"zqsigma{n}", "--json", "-n", "50") for n in range(1, 15)),
        *(("search", f"zqsigma{n}", "-n", "50", "--context", "3") for n in (1, 3, 5)),
        *(("search", case.tokens[kind], "--json") for kind in ("github", "generic")),
        *(("wake-up",), ("wake-up", "--wing", "w", "--json"), ("runs", "--json"), ("status",)),
    ]
    for arguments in commands:
        done = run(*arguments)
        assert done.code == 0
        asked = {arguments[1]} if len(arguments) > 1 else set()  # what was asked is said again
        assert set(held(done.stdout, case)) <= asked
        assert set(held(done.stderr, case)) <= asked
        if "--json" in arguments and arguments[0] == "search":
            assert all(not held(hit["content"], case) for hit in done.json["results"])


def test_summaries_count_kinds_and_never_name_values(run, case, mined):
    files, talk = (one.json["redactions"] for one in mined)
    assert sum(files.values()) >= len(SHAPED) + 4 + 1 + len(case.tokens)
    assert len(files) >= len(SHAPED)
    assert all(
        count > 0 and kind.replace("-", "").replace("_", "").isalnum()
        for kind, count in files.items()
    )
    assert sum(talk.values()) == 3
    assert set(talk) < set(files)
    shown = run("mine", case.repo, "--wing", "other")
    for kind in files:
        assert kind in shown.stdout + shown.stderr
    for one in (*mined, shown):
        assert held(one.stdout + one.stderr, case) == []


def test_what_only_looks_like_one_is_kept_verbatim(run, isolation, case, mined):
    drawers = list_drawers(open_at(isolation.palace))
    kept = "".join(drawer.content for drawer in drawers if drawer.source_file == "keep.md")
    assert kept == "".join(line + "\n" for line in KEEP)
    for line in KEEP:
        best = run("search", line.split()[0], "--json").json["results"][0]
        assert line in best["content"]


def test_the_words_around_a_secret_are_still_found(run, mined):
    for word in FOUND:
        hits = run("search", word, "--json").json["results"]
        assert any(word in hit["content"] for hit in hits), word


def test_a_text_that_is_added_by_hand_is_redacted_too(run, isolation, case):
    for kind in (*SHAPED, "generic"):
        text = f"zqadded {kind}: password: {case.tokens[kind]} is the value"
        done = run("add", text, "--wing", "w", "--room", "r", "--source", kind, "--json")
        assert sum(done.json["redactions"].values()) == 1
        assert held(done.stdout + done.stderr, case) == []
    run("add", f"zqpem\n{case.key}\nafter", "--wing", "w", "--room", "r")
    assert list(spill(isolation.palace, case.forbidden)) == []
    assert "after" in run("search", "zqpem", "--json").json["results"][0]["content"]


# Kills its own process when the second text is to be stored: within the run, and after it has
# written.
_KILLED = """
import os, signal, sys
from mempal.adapters.sqlite import store
from mempal.cli import app
put, count = store.SqliteStore.replace_source, 0
def replace_source(self, *arguments):
    global count
    count += 1
    done = put(self, *arguments)
    if count == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
    return done
store.SqliteStore.replace_source = replace_source
sys.exit(app.main(sys.argv[2:]))
"""


@pytest.mark.parametrize("case", [30], indirect=True)
@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_run_that_is_killed_leaves_none_behind(run, isolation, case, moment):
    command = [sys.executable, "-P", "-c", _KILLED, str(moment), "mine", str(case.repo)]
    done = subprocess.run(
        [*command, "--wing", "w"], env=os.environ, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (isolation.palace / "palace.db-wal").stat().st_size > 0
    assert list(spill(isolation.palace, case.forbidden)) == []
    assert held(done.stdout.decode() + done.stderr.decode(), case) == []
    assert run("mine", case.repo, "--wing", "w").code == 0
    assert list(spill(isolation.palace, case.forbidden)) == []
    assert run("search", "zqsigma2", "--json").json["results"]
