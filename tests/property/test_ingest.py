"""Any bytes as a file, and any split of a corpus into runs: text in equals text out."""

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mempal.core.commits import Commit
from mempal.core.model import Changes, Repository
from mempal.core.reports import MineMode
from mempal.core.secrets import redact
from mempal.ingest.decode import decode, fold
from mempal.ingest.text import read_text
from tests.cases.support import age, check_spans
from tests.palaces import Life, tell
from tests.transcripts import (
    chatgpt_conversation,
    claude_row,
    codex_rows,
    say,
    spill,
    to_lines,
)

KINDS = ("sqlite", "memory")
NAMES = st.sampled_from(
    ["a.md", "a.txt", "a", "a.py", "a.json", "a.jsonl", "a.csv", "a.html", "a.yaml", "a.rs"]
)


def make_token(kind: int, seed: int) -> str:
    """Return a made-up secret; put together here, so that no file holds one."""
    draw = random.Random(seed)
    letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    body = "".join(draw.choices(letters, k=36))
    return ("gh" + "p_" + body, "AK" + "IA" + body[:16].upper(), "sk-" + "ant-api03-" + body * 2)[
        kind
    ]


TOKENS = st.builds(make_token, st.integers(0, 2), st.integers(0, 999))
PLAIN = st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass"))
LINES = st.lists(
    st.sampled_from(
        [
            "# Head",
            "word",
            "",
            "def f():",
            "    x = 1",
            "```",
            "決定",
            "é",
            "> said",
            "**User:** hi",
        ]
    ),
    max_size=150,
).map(lambda lines: "\n".join(lines).encode())
ENCODED = st.builds(
    lambda data, codec: data.decode("utf-8", "replace").encode(codec, "replace"),
    PLAIN | LINES,
    st.sampled_from(["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "gb18030"]),
)
DATA = st.one_of(
    st.binary(max_size=400),
    PLAIN,
    LINES,
    LINES.map(lambda data: data.replace(b"\n", b"\r\n")),
    LINES.map(lambda data: data.replace(b"\n", b"\r")),
    ENCODED,
    st.tuples(PLAIN | LINES, st.binary(max_size=60), LINES).map(b"".join),
)


@contextmanager
def new_life(kind: str) -> Iterator[Life]:
    with tempfile.TemporaryDirectory() as folder:
        yield Life(Path(folder).resolve(), kind)


@pytest.mark.parametrize("kind", KINDS)
@given(name=NAMES, data=DATA, mode=st.sampled_from(list(MineMode)))
@settings(max_examples=40)
@example("a.txt", b"\r\n\r\r\n\n", MineMode.AUTO)
@example("a.txt", b"\xff\xfea\x00\n\x00", MineMode.AUTO)
@example("a.jsonl", b'{"type":"user","sessionId":"s","uuid":"u"}\n', MineMode.CONVOS)
def test_any_bytes_are_stored_whole_or_skipped_with_a_reason(kind, name, data, mode):
    with new_life(kind) as life:
        (life.root / name).write_bytes(data)
        age(life.root)
        report = life.mine(mode=mode)
        drawers = life.current()
        if report.skipped:
            assert not drawers
        elif all(drawer.session is None for drawer in drawers):
            assert "".join(drawer.content for drawer in drawers) == read_text(data)
            check_spans(drawers, data)
            check_tiles(drawers, data)
        again = life.mine(mode=mode)
        assert (again.run, again.mined, again.skipped) == (None, (), report.skipped)
        assert again.drawers == Changes(unchanged=len(drawers))


def check_tiles(drawers, data: bytes) -> None:
    """Consecutive spans leave no byte of the file out and have none twice."""
    decoded = decode(data)
    if not decoded.exact:
        return
    spans = [drawer.span for drawer in drawers]
    assert spans[0].byte_start == decoded.bom_bytes
    assert [span.byte_end for span in spans[:-1]] == [span.byte_start for span in spans[1:]]
    rest = data[spans[-1].byte_end :]
    assert not rest.strip(), rest


@pytest.mark.parametrize("kind", KINDS)
@given(
    name=NAMES,
    parts=st.lists(st.tuples(LINES | PLAIN, TOKENS), min_size=1, max_size=3),
    codec=st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
)
@settings(max_examples=40)
def test_no_secret_is_anywhere_in_the_palace(kind, name, parts, codec):
    tokens = [token for _, token in parts]
    text = "".join(
        f"{before.decode('utf-8', 'replace')}\nAPI_KEY = {token}\n" for before, token in parts
    )
    with new_life(kind) as life:
        (life.root / name).write_bytes(text.encode(codec))
        life.mine()
        for drawer in life.every():
            assert not any(token in drawer.content for token in tokens)
            if (span := drawer.span) and span.byte_start is not None:
                data = text.encode(codec)[span.byte_start : span.byte_end]
                said = data.decode(decode(text.encode(codec)).encoding, "surrogateescape")
                assert drawer.content == fold(said) or redact(said).redactions
        if kind == "sqlite":
            assert list(spill(life.folder / "home", tokens)) == []


# --- a corpus in one go and in pieces ------------------------------------------------------------

TOPICS = st.lists(st.sampled_from(["kiwi", "mango", "pump", "valve", "why", "決定"]), min_size=1)
TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TOPICS), min_size=1, max_size=6)


def draw_corpus(data: st.DataObject) -> tuple[dict[str, bytes], list[Commit]]:
    """Return files and a history; every text is one of a kind."""
    number = iter(range(10_000))

    def speak(words: list[str]) -> str:
        return " ".join([*words, str(next(number))])

    files = {
        f"doc{index}.md": "\n\n".join(f"# {speak(words)}\n\n{speak(words) * 40}" for words in texts)
        for index, texts in enumerate(
            data.draw(st.lists(st.lists(TOPICS, min_size=1, max_size=3), min_size=2, max_size=5))
        )
    }
    for index, turns in enumerate(data.draw(st.lists(TURNS, min_size=1, max_size=2))):
        rows = [
            claude_row(
                next(number),
                role,
                speak(words) if role == "user" else say(speak(words)),
                sessionId=f"s{index}",
            )
            for role, words in turns
        ]
        files[f"claude{index}.jsonl"] = to_lines(rows)
    turns = [(role, speak(words)) for role, words in data.draw(TURNS)]
    files["rollout.jsonl"] = to_lines(codex_rows("c1", "/x", *turns))
    export = [
        chatgpt_conversation(f"k{index}", *((role, speak(words)) for role, words in turns))
        for index, turns in enumerate(data.draw(st.lists(TURNS, min_size=1, max_size=3)))
    ]
    files["export/conversations.json"] = to_lines([export])
    commits = [
        Commit(
            f"{index + 1:040x}",
            (f"{index:040x}",) if index else (),
            "Ada",
            1_770_000_000_000 + index,
            1_770_000_000_000 + index,
            f"Drop {speak(words)} for good",
            f"Because of {speak(words)}.",
        )
        for index, words in enumerate(data.draw(st.lists(TOPICS, min_size=1, max_size=4)))
    ]
    return {name: text.encode() for name, text in files.items()}, commits


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=8)
def test_ten_increments_end_where_one_run_does(kind, data):
    files, commits = draw_corpus(data)
    cuts = {
        name: sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=9, max_size=9)))
        for name, text in files.items()
        # An export is one document, which its host replaces as a whole.
        if not name.endswith("conversations.json")
    }
    with new_life(kind) as pieces, new_life(kind) as whole:
        for step in range(10):
            for name, text in files.items():
                ends = [*cuts.get(name, [len(text)] * 9), len(text)]
                grow(pieces, name, text[: ends[step]], step)
            known = commits[: 1 + len(commits) * step // 9]
            remember(pieces, known[: len(commits)])
            pieces.mine(git_log=True)
        for name, text in files.items():
            grow(whole, name, text, 9)
        remember(whole, commits)
        whole.mine(git_log=True)
        assert show(pieces) == show(whole)
        assert len(show(whole)) >= len(commits)


def grow(life: Life, name: str, text: bytes, step: int) -> None:
    path = life.root / name
    path.parent.mkdir(exist_ok=True)
    if step == 0 or not path.exists() or path.read_bytes() != text:
        path.write_bytes(text)


def remember(life: Life, commits: list[Commit]) -> None:
    life.repositories.add(Repository(life.root, commit=commits[-1].sha), commits=commits)


def show(life: Life) -> list[str]:
    """Return what is current, wherever the tree lies."""
    return [str(tell(drawer)[1:]) for drawer in life.current()]
