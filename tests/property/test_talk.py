"""Any JSON lines as a transcript, however it is torn and grows: nothing raises, lost or doubled."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mempal.core.model import Changes, SourceClass
from mempal.core.reports import MineMode
from tests.cases.support import age
from tests.palaces import Life, tell
from tests.transcripts import Row, claude_row, codex_rows, say

KINDS = ("sqlite", "memory")
MODES = st.sampled_from([MineMode.AUTO, MineMode.CONVOS])
# Without marks that hosts write; "<" and "[" begin some, "#" and "=" others.
SAID = st.text(
    st.characters(exclude_characters="\r<[=#`", exclude_categories=["Cs"]), min_size=1, max_size=30
).filter(str.strip)
LONG = st.builds(lambda text, often: f"{text} word\n" * often, SAID, st.sampled_from([90, 200]))
TEXTS = SAID | SAID | st.sampled_from(["yes", "go on"]) | LONG
TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TEXTS), min_size=1, max_size=6)
CLASSES = {"user": SourceClass.PERSON, "assistant": SourceClass.ASSISTANT}
KEYS = st.sampled_from(["s", "t"])

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | SAID,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "message", "content", "role", "payload", "id", "sessionId"])
            | SAID,
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)


def claude_rows(turns: Iterable[tuple[str, str]], key: str = "s") -> list[Row]:
    return [
        claude_row(number, role, text if role == "user" else say(text), sessionId=key)
        for number, (role, text) in enumerate(turns)
    ]


def mutate(row: Row, path: list[int], value: object) -> Row:
    """Put another value somewhere into a record."""
    copy = json.loads(json.dumps(row))
    here = copy
    for step in path:
        keys = sorted(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            break
        key = keys[step % len(keys)]
        if not isinstance(here[key], dict | list) or step == path[-1]:
            here[key] = value
            break
        here = here[key]
    return copy


ROWS = st.one_of(
    st.builds(claude_rows, TURNS, KEYS),
    TURNS.map(lambda turns: codex_rows("c", "/x", *turns)),
)
MUTANTS = st.builds(
    lambda rows, changes: [
        mutate(row, *changes[number % len(changes)]) if number % 2 else row
        for number, row in enumerate(rows)
    ],
    ROWS,
    st.lists(
        st.tuples(st.lists(st.integers(0, 9), min_size=1, max_size=3), JSON),
        min_size=1,
        max_size=4,
    ),
)
LINES = st.one_of(
    MUTANTS,
    ROWS,
    st.lists(JSON, max_size=6),
    st.builds(lambda *parts: [row for part in parts for row in part], MUTANTS, ROWS, MUTANTS),
)
FILES = st.builds(
    lambda rows, ascii_only, cut: "".join(
        json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows
    ).encode("utf-8", "surrogatepass")[: -cut or None],
    LINES,
    st.booleans(),
    st.integers(0, 60),
)


@contextmanager
def new_life(kind: str) -> Iterator[Life]:
    with tempfile.TemporaryDirectory() as folder:
        yield Life(Path(folder).resolve(), kind)


@pytest.mark.parametrize("kind", KINDS)
@given(file=FILES, mode=MODES)
@settings(max_examples=40)
def test_any_records_are_mined_once(kind, file, mode):
    with new_life(kind) as life:
        (life.root / "a.jsonl").write_bytes(file)
        age(life.root)
        report = life.mine(mode=mode)
        stored = life.current()
        again = life.mine(mode=mode)
        assert (again.run, again.mined, again.skipped) == (None, (), report.skipped)
        assert again.drawers == Changes(unchanged=len(stored))
        assert life.current() == stored


@pytest.mark.parametrize("kind", KINDS)
@given(turns=TURNS, mode=MODES, ascii_only=st.booleans(), data=st.data())
@settings(max_examples=40)
def test_what_was_said_is_stored_once_and_verbatim(kind, turns, mode, ascii_only, data):
    claude = data.draw(st.booleans())
    rows = claude_rows(turns) if claude else codex_rows("c", "/x", *turns)
    lines = [json.dumps(row, ensure_ascii=ascii_only) for row in rows]
    for line in data.draw(st.lists(st.sampled_from(["", "{", "nul", "[1]"]), max_size=2)):
        lines.insert(data.draw(st.integers(1, len(lines))), line)
    with new_life(kind) as life:
        (life.root / "a.jsonl").write_bytes("\n".join(lines).encode())
        life.mine(mode=mode)
        told = [(drawer.source_class, drawer.content) for drawer in life.current()]
    assert join(told) == join((CLASSES[role], text) for role, text in turns)
    # Pieces of one text are as long as they may be, so a short text is never in pieces.
    short = Counter(text for _, text in turns if len(text) <= 800)
    assert not short - Counter(text for _, text in told)


def join(told: Iterable[tuple[SourceClass, str]]) -> list[tuple[SourceClass, str]]:
    """Join what the same kind of speaker said in a row."""
    joined: list[tuple[SourceClass, str]] = []
    for source_class, text in told:
        if joined and joined[-1][0] is source_class:
            joined[-1] = (source_class, joined[-1][1] + text)
        else:
            joined.append((source_class, text))
    return joined


@pytest.mark.parametrize("kind", KINDS)
@given(file=FILES, mode=MODES, data=st.data())
@settings(max_examples=40)
def test_growth_by_any_bytes_ends_where_one_run_does(kind, file, mode, data):
    stops = sorted(data.draw(st.lists(st.integers(0, len(file)), max_size=5)))
    with new_life(kind) as grown, new_life(kind) as whole:
        for stop in (*stops, len(file)):
            path = grown.root / "a.jsonl"
            if not path.exists() or path.stat().st_size != stop:
                path.write_bytes(file[:stop])
            grown.mine(mode=mode)
        (whole.root / "a.jsonl").write_bytes(file)
        whole.mine(mode=mode)
        assert show(grown) == show(whole)


def show(life: Life) -> list[tuple[object, ...]]:
    """Return what is current, in order, wherever the tree lies."""
    return [tell(drawer)[1:] for drawer in life.current()]
