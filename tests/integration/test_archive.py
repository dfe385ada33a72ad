"""A palace carried elsewhere: nothing is lost, nothing else comes in, and no index is mixed up."""

import base64
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mempal.adapters.exact import ExactIndex
from mempal.cli.documents import describe_search
from mempal.core.archive import ExportReport, ImportReport
from mempal.core.errors import MempalError, NotFoundError, PalaceError, SourceError, UsageError
from mempal.core.model import Chunk, Place, Scope, SourceClass, Span, Voice
from mempal.core.ports import Store
from mempal.core.vector import pack
from mempal.palace import Palace
from mempal.testing import HashEmbedder
from tests.cases.support import LONG_AGO_NS, Silence, holders, mine, open_at
from tests.drawers import by_hand, source
from tests.repositories import write_files

EMBEDDER = HashEmbedder(64)
QUERIES = ("lamp", "round the invoice total", "def ship_order", "zqold", "deploys wait", "nothing")
TREE = {
    "README.md": "# Shop\n\nThe shop sells a lamp.\n",
    "billing/invoice.py": "def round_total(x):\n    return round(x)\n",
    "shipping/order.py": "def ship_order(order):\n    raise NotImplementedError\n",
    "notes/plan.md": "zqold plan: sell a chair\n",
}
EACH_INDEX = pytest.mark.parametrize(
    "backend", ["exact", pytest.param("chroma", marks=pytest.mark.chroma)]
)


def open_quick(home: Path, **settings: str) -> Palace:
    """Open a palace that embeds by hashing, in 64 dimensions."""
    return open_at(home, embed__backend="hash", embed__dim="64", search__floor="0", **settings)


@contextmanager
def opened(palace: Palace) -> Iterator[Store]:
    with palace.access.open(writable=True) as store:
        yield store


def put(palace: Palace, place: Any, *chunks: Chunk) -> None:
    texts = [chunk.content for chunk in chunks]
    vectors = dict(zip(texts, EMBEDDER.embed_documents(texts), strict=True))
    with opened(palace) as store:
        store.bind_embedder(EMBEDDER.identity)
        store.replace_source(place, chunks, vectors, SourceClass.FILE)


def note(palace: Palace, place: Any, *texts: str, importance: int = 0) -> None:
    vectors = dict(zip(texts, EMBEDDER.embed_documents(texts), strict=True))
    chunks = [Chunk(text) for text in texts]
    with opened(palace) as store:
        store.bind_embedder(EMBEDDER.identity)
        store.add_manual(
            place, chunks, vectors, importance=importance, source_class=SourceClass.PERSON
        )


def key_of(palace: Palace, word: str) -> int:
    (drawer,) = holders(palace, word)
    return drawer.key


def export(palace: Palace, path: Path, *, force: bool = False) -> ExportReport:
    return palace.archive.export(path, force=force, progress=Silence())


def load(palace: Palace, path: Path) -> ImportReport:
    return palace.archive.import_(path, Silence())


def backup(palace: Palace, path: Path, *, force: bool = False) -> Any:
    return palace.archive.backup(path, force=force, progress=Silence())


def dump(palace: Palace) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row that is carried, with what is numbered anew replaced by what it names."""
    statements = {
        "meta": "SELECT value FROM meta WHERE key IN ('embedder', 'forgotten')",
        "sources": (
            "SELECT s.wing, s.root, s.path, s.kind, s.room, s.size, s.mtime_ns, s.content_sha256,"
            " s.encoding, s.rules, s.mined_at, s.state, s.reason, s.session, s.tail, s.moved_to,"
            " f.path, r.content_sha256, r.blob, r.commit_id, r.read_at FROM sources AS s"
            " LEFT JOIN sources AS f ON f.id = s.held_in"
            " LEFT JOIN readings AS r ON r.id = s.reading_id ORDER BY 1, 2, 3"
        ),
        "drawers": (
            "SELECT d.id, s.path, r.blob, r.commit_id, r.read_at, d.wing, d.room, d.content,"
            " d.content_sha256, d.symbols, d.chunk_index, d.line_start, d.line_end, d.byte_start,"
            " d.byte_end, d.span_digest, d.speaker, d.source_class, d.said_at, d.importance,"
            " d.added_at, d.superseded_at, d.deleted_at, v.embedding FROM drawers AS d"
            " JOIN sources AS s ON s.id = d.source_id JOIN readings AS r ON r.id = d.reading_id"
            " LEFT JOIN vectors AS v ON v.key = d.key ORDER BY d.key"
        ),
        "lapses": (
            "SELECT d.id, l.superseded_at, l.restored_at FROM lapses AS l"
            " JOIN drawers AS d ON d.key = l.key ORDER BY 1, 2"
        ),
        "forgotten": (
            "SELECT f.digest, s.path, f.forgotten_at FROM forgotten AS f"
            " LEFT JOIN sources AS s ON s.id = f.source_id ORDER BY 1, 2"
        ),
        "links": (
            "SELECT l.card_id, l.role, d.id FROM card_links AS l"
            " JOIN drawers AS d ON d.key = l.key ORDER BY 1, 2, 3"
        ),
        "gone": "SELECT card_id, role, drawer_id, forgotten_at FROM forgotten_links ORDER BY 1, 2",
    }
    with closing(sqlite3.connect(palace.access.outfit.database)) as connection:
        return {name: connection.execute(text).fetchall() for name, text in statements.items()}


def change(palace: Palace, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(palace.access.outfit.database)) as connection:
        connection.execute(statement, values)
        connection.commit()


def ask_everything(palace: Palace, at: int) -> list[Any]:
    scopes = [Scope(), Scope(history=True), Scope(as_of=at), Scope(wing="w", room="billing")]
    return [
        describe_search(
            palace.search(query, scope, mode=mode, context=1), wing=scope.wing, context=True
        )
        for query in QUERIES
        for scope in scopes
        for mode in ("hybrid", "keyword", "vector")
    ]


def live(palace: Palace, tree: Path) -> int:
    """Give a palace a life: edits, a text that comes back, deletions, a note, a card, a grave.

    Returns:
        An instant at which things were different.
    """
    mine(palace, tree, wing="w")
    (drawer,) = holders(palace, "zqold")
    for text in ("zqnew plan: sell a table\n", "zqold plan: sell a chair\n"):
        (tree / "notes/plan.md").write_text(text, encoding="utf-8")
        mine(palace, tree, wing="w")
    memo = by_hand("mem", wing="w", room="decisions")
    note(palace, memo, "Deploys wait for QA.", "zqbin", importance=3)
    with opened(palace) as store:
        store.delete_drawers([key_of(palace, "zqbin")], 2_000)
        store.replace_source(
            source("gone.md", wing="w"), [Chunk("zqgrave lies here for good")],
            dict.fromkeys(["zqgrave lies here for good"], pack([1.0] * 64)), SourceClass.FILE,
        )  # fmt: skip
    change(palace, "INSERT INTO card_links VALUES ('card_1', ?, 'supports')", drawer.key)
    with opened(palace) as store:
        store.forget([key_of(palace, "zqgrave")], [Place("w", "/tree", "gone.md")], 3_000)
    return drawer.added_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", TREE)


@pytest.fixture
def here(tmp_path: Path) -> Palace:
    return open_quick(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Palace:
    return open_quick(tmp_path / "there")


@EACH_INDEX
def test_an_export_imports_with_identical_answers(tmp_path, tree, backend):
    first = open_quick(tmp_path / "a", index__backend=backend)
    at = live(first, tree)
    first.reindex(reembed=False, progress=Silence())
    report = export(first, tmp_path / "p.jsonl")
    second = open_quick(tmp_path / "b", index__backend=backend)
    imported = load(second, tmp_path / "p.jsonl")
    second.reindex(reembed=False, progress=Silence())

    assert (imported.restored.added, imported.restored.skipped) == (report.drawers, ())
    assert imported.warnings == ()
    assert dump(second) == dump(first)
    assert {name for name, rows in dump(first).items() if not rows} <= {"gone"}
    answers = ask_everything(first, at)
    assert ask_everything(second, at) == answers
    assert any(answer["results"] for answer in answers)
    assert second.diagnose().findings[1].level == "ok"


def test_the_same_import_again_changes_nothing(tmp_path, tree, here, there):
    live(here, tree)
    added = export(here, tmp_path / "p.jsonl").drawers
    load(there, tmp_path / "p.jsonl")
    before, size = dump(there), there.status().store
    again = load(there, tmp_path / "p.jsonl").restored
    assert (again.added, again.unchanged, again.sources) == (0, added, 0)
    assert dump(there) == before
    assert there.status().store.revision == size.revision
    assert [run.verb for run in there.runs.list()] == ["import"]


def test_an_import_can_be_undone(tmp_path, tree, here, there):
    mine(here, tree, wing="w")
    export(here, tmp_path / "p.jsonl")
    note(there, by_hand(wing="x"), "zqown note")
    before = dump(there)
    added = load(there, tmp_path / "p.jsonl").restored.added
    (run,) = there.runs.list()
    assert there.runs.undo(run.id).removed == added
    assert dump(there) == before
    assert load(there, tmp_path / "p.jsonl").restored.added == added


def test_names_and_texts_of_any_kind_survive(tmp_path, here, there):
    odd = os.fsdecode(b"caf\xe9/\xff.txt")
    span = Span(1, 2, 0, 20, "ab" * 32)
    voice = Voice("Zoë\0", SourceClass.OTHER_AGENT, -5)
    held = source("chat", kind="conversation", session="s", holder=Place("w", "/tree", odd))
    put(
        here, source(odd, tail="{}"), Chunk("zqone \0 \u2028 \U0001f600 \r end", span, "sym", voice)
    )
    put(here, source("skipped.bin", state="skipped", reason="binary file", mtime_ns=-1))
    put(here, held, Chunk("zqtwo"), Chunk("zqtwo"))
    export(here, tmp_path / "p.jsonl")
    load(there, tmp_path / "p.jsonl")
    assert dump(there) == dump(here)
    (drawer,) = holders(there, "zqone")
    assert (drawer.source_file, drawer.span) == (odd, span)
    assert [d.source_file for d in holders(there, "zqtwo")] == [odd, odd]


def test_an_empty_palace_makes_an_empty_export(tmp_path, here, there):
    with opened(here):
        pass
    assert export(here, tmp_path / "p.jsonl").drawers == 0
    assert load(there, tmp_path / "p.jsonl").restored.added == 0
    assert there.exists()


def test_no_palace_is_no_export(tmp_path, here):
    for verb in (export, backup):
        with pytest.raises(NotFoundError):
            verb(here, tmp_path / "file")
    assert not here.exists()
    assert list(tmp_path.iterdir()) == [here.home]


def test_an_export_is_of_one_moment(tmp_path, tree, here):
    mine(here, tree, wing="w")
    count = here.status().store.drawers

    class Meddler(Silence):
        written = 0

        def advance(self, label: str = "") -> None:
            self.written += 1
            put(here, source(f"late{self.written}.md"), Chunk(f"zqlate {self.written}"))

    meddler = Meddler()
    report = here.archive.export(tmp_path / "p.jsonl", force=False, progress=meddler)
    assert meddler.written > count
    assert report.drawers == count
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_bytes().splitlines()]
    told = {kind: number for kind, number in lines[0]["counts"].items() if number}
    assert told == lines[-1]["counts"]
    assert b"zqlate" not in (tmp_path / "p.jsonl").read_bytes()


# --- into a palace that has content ------------------------------------------------------------


def test_what_is_there_stays_and_what_is_not_comes_in(tmp_path, here, there):
    put(here, source("a.md"), Chunk("zqshared"), Chunk("zqonly"))
    put(there, source("a.md"), Chunk("zqshared"))
    put(there, source("b.md"), Chunk("zqmine"))
    change(there, "UPDATE drawers SET importance = 4 WHERE content = 'zqshared'")
    export(here, tmp_path / "p.jsonl")
    restored = load(there, tmp_path / "p.jsonl").restored
    assert (restored.added, restored.unchanged, restored.sources) == (1, 1, 0)
    assert [drawer.importance for drawer in holders(there, "zqshared")] == [4]
    assert holders(there, "zqmine")


def test_text_of_an_earlier_reading_comes_in_as_history(tmp_path, here, there):
    put(here, source(mined_at=100), Chunk("zqearlier"))
    put(there, source(mined_at=200), Chunk("zqlater"))
    export(here, tmp_path / "p.jsonl")
    load(there, tmp_path / "p.jsonl")
    assert holders(there, "zqearlier") == []
    (drawer,) = holders(there, "zqearlier", Scope(as_of=150))
    assert (drawer.added_at, drawer.superseded_at) == (100, 200)


def test_text_of_a_later_reading_makes_the_next_mine_read_the_file(tmp_path, tree, here, there):
    plan = tree / "notes/plan.md"
    os.utime(plan, ns=(LONG_AGO_NS, LONG_AGO_NS))
    mine(there, tree, wing="w")
    plan.write_text("zqnew plan: sell a desk\n", encoding="utf-8")
    mine(here, tree, wing="w")
    export(here, tmp_path / "p.jsonl")
    load(there, tmp_path / "p.jsonl")
    assert len(holders(there, "zqnew")) == len(holders(there, "zqold")) == 1
    # The file is again what this palace read, down to its time.
    plan.write_text(TREE["notes/plan.md"], encoding="utf-8")
    os.utime(plan, ns=(LONG_AGO_NS, LONG_AGO_NS))
    mine(there, tree, wing="w")
    assert holders(there, "zqnew") == []
    assert len(holders(there, "zqold")) == 1


def test_notes_of_one_name_do_not_become_neighbors(tmp_path, here, there):
    note(here, by_hand("n"), "zqhere")
    note(there, by_hand("n"), "zqthere")
    export(here, tmp_path / "p.jsonl")
    load(there, tmp_path / "p.jsonl")
    assert [holders(there, word)[0].chunk_index for word in ("zqthere", "zqhere")] == [0, 1]


def test_what_was_forgotten_is_not_revived(tmp_path, here, there):
    put(here, source("a.md"), Chunk("zqgrave, a text to forget"), Chunk("zqkept"))
    put(here, source("b.md"), Chunk("zqbarred by its file"))
    held = source("chat", kind="conversation", holder=Place("w", "/tree", "b.md"))
    put(here, held, Chunk("zqheld by its file"))
    export(here, tmp_path / "p.jsonl")
    load(there, tmp_path / "p.jsonl")
    with opened(there) as store:
        place = Place("w", "/tree", "b.md")
        keys = [key_of(there, word) for word in ("zqgrave", "zqbarred", "zqheld")]
        store.forget(keys, [place], 5_000)
    restored = load(there, tmp_path / "p.jsonl").restored
    assert (restored.added, restored.unchanged, len(restored.skipped)) == (0, 1, 3)
    assert {skipped.reason for skipped in restored.skipped} == {"its text was forgotten here"}
    assert [bool(holders(there, word)) for word in ("zqgrave", "zqbarred", "zqheld")] == [False] * 3


def test_a_forgotten_line_stays_out_of_other_drawers_of_its_source(tmp_path, here, there):
    line = "zqline that a person wants gone"
    put(there, source(), Chunk(line))
    with opened(there) as store:
        store.forget([key_of(there, "zqline")], [], 5_000)
    put(here, source(), Chunk(f"zqbefore\n{line}\nzqafter"))
    export(here, tmp_path / "p.jsonl")
    assert load(there, tmp_path / "p.jsonl").warnings == ()
    (drawer,) = holders(there, "zqbefore", Scope(history=True))
    assert drawer.content == "zqbefore\n[forgotten]\nzqafter"
    with opened(there) as store:
        assert store.vectors([drawer.key])[drawer.key] == EMBEDDER.embed_query(drawer.content)


def test_another_text_under_a_known_id_is_refused(tmp_path, here, there):
    put(here, source(), Chunk("zqoriginal"))
    export(here, tmp_path / "p.jsonl")
    load(there, tmp_path / "p.jsonl")
    rewrite(tmp_path / "p.jsonl", "drawer", content="zqimpostor")
    (skipped,) = load(there, tmp_path / "p.jsonl").restored.skipped
    assert skipped.reason.endswith("is another text here")
    assert holders(there, "zqoriginal")


# --- embedders ---------------------------------------------------------------------------------


def test_vectors_of_another_embedder_are_refused(tmp_path, here):
    there = open_at(tmp_path / "there", embed__backend="hash", embed__dim="64", embed__model="B")
    put(here, source(), Chunk("zqone"))
    export(here, tmp_path / "p.jsonl")
    there.drawers.add("zqtwo", wing="w", room="r")
    before = dump(there)
    with pytest.raises(PalaceError, match="hash:B") as caught:
        load(there, tmp_path / "p.jsonl")
    assert "reindex --reembed" in caught.value.hint
    assert dump(there) == before


def test_an_empty_palace_is_bound_to_the_embedder_of_the_export(tmp_path, here):
    there = open_at(tmp_path / "there", embed__backend="hash", embed__dim="64", embed__model="B")
    put(here, source(), Chunk("zqone"))
    export(here, tmp_path / "p.jsonl")
    (warning,) = load(there, tmp_path / "p.jsonl").warnings
    assert "hash:A:64:v1" in warning
    assert "hash:B:64:v1 is configured" in warning
    result = there.search("zqone", Scope())
    assert result.hits
    assert result.degraded
    there.reindex(reembed=True, progress=Silence())
    assert there.search("zqone", Scope()).degraded == ()


# --- secrets -----------------------------------------------------------------------------------

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def make_leaky_export(palace: Palace, path: Path) -> None:
    """Export a palace that was filled before secrets were recognised."""
    put(palace, source(), Chunk(f"zqleak token {TOKEN} here"), Chunk("zqclean"))
    export(palace, path)
    assert TOKEN in path.read_text("utf-8")


def test_secrets_are_redacted_and_the_rest_is_embedded_anew(tmp_path, here, there):
    make_leaky_export(here, tmp_path / "p.jsonl")
    report = load(there, tmp_path / "p.jsonl")
    assert sum(report.redactions.values()) == 1
    assert report.warnings == ()
    (drawer,) = holders(there, "zqleak")
    assert "[redacted:" in drawer.content
    with opened(there) as store:
        assert store.vectors([drawer.key])[drawer.key] == EMBEDDER.embed_query(drawer.content)
    for file in there.home.rglob("*"):
        assert file.is_dir() or TOKEN.encode() not in file.read_bytes()
    assert load(there, tmp_path / "p.jsonl").restored.unchanged == 2


def test_redacted_text_of_another_embedder_is_found_by_word(tmp_path, here):
    there = open_at(tmp_path / "there", embed__backend="hash", embed__dim="64", embed__model="B")
    make_leaky_export(here, tmp_path / "p.jsonl")
    warnings = load(there, tmp_path / "p.jsonl").warnings
    assert "1 texts changed and could not be embedded" in warnings[-1]
    assert holders(there, "zqleak")
    assert "problem" not in {found.level for found in there.diagnose().findings[:3]}


# --- files that are not what they should be ----------------------------------------------------


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write lines with a last one that proves them."""
    *body, end = lines
    text = "".join(json.dumps(line) + "\n" for line in body).encode()
    counts: dict[str, int] = {}
    for line in body[1:]:
        counts[str(line.get("type"))] = counts.get(str(line.get("type")), 0) + 1
    end |= {"counts": counts, "sha256": sha256(text).hexdigest()}
    path.write_bytes(text + json.dumps(end).encode() + b"\n")


def rewrite(file: Path, group: str, /, **values: Any) -> int:
    """Change the first line of a kind; return its number."""
    lines = read_lines(file)
    number = next(n for n, line in enumerate(lines, 1) if line.get("type", "header") == group)
    lines[number - 1] |= values
    write_lines(file, lines)
    return number


@pytest.fixture
def exported(tmp_path: Path, here: Palace) -> Path:
    put(here, source(), Chunk("zqone", Span(3, 4, 5, 6)))
    export(here, tmp_path / "p.jsonl")
    return tmp_path / "p.jsonl"


ABSURD: list[tuple[str, str, Any]] = [
    ("drawer", "id", "drawer_1"),
    ("drawer", "id", "drawer_0123456789abcdef0123'; DROP TABLE drawers; --"),
    ("drawer", "id", None),
    ("drawer", "content", "\ud800"),
    ("drawer", "content", 7),
    ("drawer", "content", None),
    ("drawer", "symbols", ["a"]),
    ("drawer", "source", 99),
    ("drawer", "source", True),
    ("drawer", "reading", 99),
    ("drawer", "wing", "another"),
    ("drawer", "room", "a\0b"),
    ("drawer", "room", " "),
    ("drawer", "chunk_index", -1),
    ("drawer", "chunk_index", 2**63),
    ("drawer", "chunk_index", 1.0),
    ("drawer", "line_start", 0),
    ("drawer", "line_start", None),
    ("drawer", "line_end", 2),
    ("drawer", "byte_end", 4),
    ("drawer", "span_digest", "xyz"),
    ("drawer", "speaker", "\udfff"),
    ("drawer", "source_class", "prophet"),
    ("drawer", "importance", 6),
    ("drawer", "added_at", -1),
    ("drawer", "added_at", 10**17),
    ("drawer", "superseded_at", "yesterday"),
    ("drawer", "said_at", 10**400),
    ("drawer", "lapses", [[1]]),
    ("drawer", "lapses", 5),
    ("drawer", "lapses", [[1, None]]),
    ("drawer", "vector", "!"),
    ("drawer", "vector", ""),
    ("drawer", "vector", base64.b64encode(pack([1.0] * 63)).decode()),
    ("drawer", "vector", base64.b64encode(b"\0\0\x80\x7f" + b"\1" * 64).decode()),
    ("drawer", "vector", base64.b64encode(b"\0\0\xc0\x7f" + bytes(64)).decode()),
    ("drawer", "vector", base64.b64encode(b"\0\0\x80\x3f" + b"\1" * 64).decode()),
    ("source", "wing", ""),
    ("source", "wing", "x" * 201),
    ("source", "path", {"bytes": "AA=="}),
    ("source", "path", {"bytes": 1}),
    ("source", "path", {}),
    ("source", "path", "a\0b"),
    ("source", "root", None),
    ("source", "kind", "folder"),
    ("source", "state", ""),
    ("source", "size", -1),
    ("source", "mtime_ns", 2**64),
    ("source", "reading", 99),
    ("source", "holder", 1),
    ("source", "number", "1"),
    ("reading", "read_at", None),
    ("reading", "number", {}),
    ("header", "embedder", None),
    ("header", "embedder", "a\0b"),
    ("header", "dimensions", 0),
    ("header", "dimensions", 63),
    ("header", "counts", []),
    ("header", "counts", {"drawer": -1}),
    ("header", "exported_at", "soon"),
    ("header", "mempal_export", "1"),
    ("header", "mempal_export", 2),
]


@pytest.mark.parametrize(("kind", "name", "value"), ABSURD)
def test_what_no_palace_could_write_is_refused(exported, there, kind, name, value):
    number = rewrite(exported, kind, **{name: value})
    with pytest.raises(SourceError) as caught:
        load(there, exported)
    if name not in {"embedder", "dimensions", "mempal_export", "number"}:
        assert caught.value.message.startswith(f"line {number}: ")
    assert not there.exists()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda _: b"", "line 1: the file ends"),
        (lambda _: b"{}\n", "line 1: the file does not begin"),
        (lambda data: b"\xff\xfe\n" + data, "line 1: not a JSON object"),
        (lambda _: b"[" * 100_000 + b"\n", "line 1: not a JSON object"),
        (lambda data: data[:-30], "line 5: it was cut off"),
        (lambda data: data[: data.rindex(b'{"type":"end"')], "line 5: the file ends"),
        (lambda data: data.replace(b"zqone", b"zqtwo"), "line 5: the lines before"),
        (lambda data: data + b"\n", "line 5: something follows"),
        (lambda data: b'{"source":2'.join(data.rsplit(b'{"source":1', 1)), "line 5: the lines"),
        (lambda data: data.replace(b'"type":"drawer"', b'"type":[1]'), "line 4: no kind"),
        (lambda data: data.replace(b'"importance":0', b'"importance":NaN'), "line 4: not a JSON"),
        (lambda data: data.replace(b"\n", b"\r\n"), "line 5: the lines before"),
        (lambda data: data.replace(b"\n", b"\n\n", 1), "line 2: not a JSON"),
        (lambda data: b"\n".join(sorted(data.splitlines(), reverse=True)), "line 1: "),
    ],
)
def test_a_damaged_file_is_refused_by_line(
    exported: Path, there: Palace, damage: Callable[[bytes], bytes], reason: str
):
    exported.write_bytes(damage(exported.read_bytes()))
    with pytest.raises(SourceError) as caught:
        load(there, exported)
    assert caught.value.message.startswith(reason)
    assert not there.exists()


def test_rows_that_come_twice_are_refused(exported, there):
    lines = read_lines(exported)
    for number in (1, 2):
        twice = [*lines[: number + 1], *lines[number:]]
        write_lines(exported, twice)
        with pytest.raises(SourceError, match="is there already"):
            load(there, exported)


def test_unknown_kinds_of_lines_are_left_out_with_a_warning(exported, there):
    lines = read_lines(exported)
    write_lines(exported, [*lines[:-1], {"type": "taxonomy", "x": [1]}, lines[-1]])
    report = load(there, exported)
    assert report.warnings == ("1 lines of the unknown kind 'taxonomy' were left out",)
    assert report.restored.added == 1


def test_a_lost_vector_is_made_again(exported, there):
    rewrite(exported, "drawer", vector=None)
    load(there, exported)
    with opened(there) as store:
        assert store.vectors([1])[1] == EMBEDDER.embed_query("zqone")


def test_a_file_that_is_none_is_named(tmp_path, there):
    with pytest.raises(NotFoundError, match="no file"):
        load(there, tmp_path / "missing")
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", tmp_path):
        with pytest.raises(SourceError, match="cannot be read"):
            load(there, name)
    assert not there.exists()


def test_an_import_that_breaks_off_leaves_nothing(tmp_path, tree, here, there):
    live(here, tree)
    export(here, tmp_path / "p.jsonl")
    note(there, by_hand(), "zqown")
    before = dump(there)

    class Break(Silence):
        phase, steps = "", 0

        def start(self, what: str, total: int | None) -> None:
            self.phase, self.steps = what, 0

        def advance(self, label: str = "") -> None:
            self.steps += 1
            if self.phase == "storing" and self.steps == 10:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        there.archive.import_(tmp_path / "p.jsonl", Break())
    assert dump(there) == before
    assert there.runs.list() == ()
    assert load(there, tmp_path / "p.jsonl").restored.added


# --- where files may be written ----------------------------------------------------------------


@pytest.mark.parametrize("verb", [export, backup])
def test_a_file_is_replaced_only_by_force(tmp_path, here, verb):
    put(here, source(), Chunk("zqone"))
    target = tmp_path / "file"
    target.write_text("precious")
    with pytest.raises(UsageError, match="exists"):
        verb(here, target)
    assert target.read_text() == "precious"
    verb(here, target, force=True)
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(tmp_path.iterdir()) == [target, here.home]


@pytest.mark.parametrize("verb", [export, backup])
def test_the_palace_is_no_place_for_its_copies(tmp_path, here, verb):
    put(here, source(), Chunk("zqone"))
    database = here.access.outfit.database
    (here.home / "sub").mkdir()
    (tmp_path / "link").symlink_to(here.home)
    os.link(database, tmp_path / "hard")
    before = database.read_bytes()
    for target in (
        database,
        here.home / "new",
        here.home / "sub" / "new",
        tmp_path / "link" / "new",
        tmp_path / "hard",
    ):
        with pytest.raises(UsageError, match="belongs to the palace"):
            verb(here, target, force=True)
    for target in (tmp_path, Path("-")):
        with pytest.raises(UsageError, match=r"no file|no copy"):
            verb(here, target, force=True)
    with pytest.raises(NotFoundError, match="no folder"):
        verb(here, tmp_path / "missing" / "new")
    assert database.read_bytes() == before


@pytest.mark.parametrize("verb", [export, backup])
@pytest.mark.parametrize("leads_to", ["pipe", "folder", "/proc/self/fd/1", "fd/1"])
def test_a_link_to_what_is_no_file_is_left_alone(tmp_path, here, verb, leads_to):
    put(here, source(), Chunk("zqone"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(leads_to)
    with pytest.raises(UsageError, match="is no file"):
        verb(here, link, force=True)
    assert str(link.readlink()) == leads_to


@pytest.mark.parametrize("verb", [export, backup])
def test_a_folder_that_cannot_be_written_is_named(tmp_path, here, monkeypatch, verb):
    put(here, source(), Chunk("zqone"))
    monkeypatch.setattr(os, "open", _refuse(os.open))
    with pytest.raises(MempalError, match="cannot be written"):
        verb(here, tmp_path / "file")
    assert list(tmp_path.iterdir()) == [here.home]


def _refuse(system_open: Any) -> Any:
    def call(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith(".new"):
            raise PermissionError(13, "Permission denied")
        return int(system_open(path, *arguments, **options))

    return call


@pytest.mark.parametrize("verb", [export, backup])
def test_names_of_any_bytes(tmp_path, here, there, verb):
    put(here, source(), Chunk("zqone"))
    target = tmp_path / os.fsdecode(b"caf\xe9 ?%20#.x")
    verb(here, target)
    assert target.exists()


# --- backup ------------------------------------------------------------------------------------

_WRITE = """
import sys
from pathlib import Path
from tests.cases.support import open_at
palace = open_at(Path(sys.argv[1]))
number = 0
while not Path(sys.argv[2]).exists():
    number += 1
    palace.drawers.add(f"zqwriter {number} left", wing="w", room="r")
    palace.drawers.add(f"zqwriter {number} right", wing="w", room="r")
    if number == 2:
        print("ready", flush=True)
"""


def test_a_backup_is_whole_while_another_process_writes(tmp_path, tree, here):
    mine(here, tree, wing="w")
    root = Path(__file__).parents[2]
    writer = subprocess.Popen(
        [sys.executable, "-P", "-c", _WRITE, str(here.home), str(tmp_path / "stop")],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
    )
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        copies = []
        for number in range(4):
            target = tmp_path / f"copy{number}" / "palace.db"
            target.parent.mkdir()
            backup(here, target)
            copies.append(target)
    finally:
        (tmp_path / "stop").touch()
        writer.communicate(timeout=60)
    assert writer.returncode == 0
    for target in copies:
        assert not target.with_name("palace.db-wal").exists()
        copy = open_quick(target.parent)
        with opened(copy) as store:
            assert store.problems() == []
            assert store.drawers_of("w", str(tree), "README.md")
        written = [drawer.content for drawer in holders(copy, "zqwriter")]
        left = sum(text.endswith("left") for text in written)
        assert left >= 2
        assert left - (len(written) - left) in {0, 1}


def test_what_was_purged_is_not_in_a_backup(tmp_path, here):
    put(here, source(), Chunk("zqpurged qqvanished " * 50), Chunk("zqkept"))
    with opened(here) as store:
        (key,) = [drawer.key for drawer in holders(here, "zqpurged")]
        store.delete_drawers([key], 1)
        store.purge([key])
    backup(here, tmp_path / "b.db")
    data = (tmp_path / "b.db").read_bytes()
    assert b"qqvanish" not in data
    assert b"qqvanish" in here.access.outfit.database.read_bytes()
    assert b"zqkept" in data


@EACH_INDEX
def test_no_index_serves_a_database_that_was_put_back(tmp_path, backend):
    palace = open_quick(tmp_path / "here", index__backend=backend)
    put(palace, source("a.md"), Chunk("zqalpha"))
    backup(palace, tmp_path / "b.db")
    put(palace, source("a.md"), Chunk("zqbeta"))
    palace.reindex(reembed=False, progress=Silence())
    database = palace.access.outfit.database
    for name in ("palace.db", "palace.db-wal", "palace.db-shm"):
        (palace.home / name).unlink(missing_ok=True)
    database.write_bytes((tmp_path / "b.db").read_bytes())
    # The same revision as the index, and another text under the same key.
    put(palace, source("c.md"), Chunk("zqgamma"))

    def near(word: str) -> list[str]:
        hits = palace.search(word, Scope(), mode="vector").hits
        return [hit.drawer.content for hit in hits]

    with opened(palace) as store:
        assert palace.access.refresh(store) == ()
    assert near("zqgamma")[0] == "zqgamma"
    assert near("zqalpha")[0] == "zqalpha"
    (finding,) = [found for found in palace.diagnose().findings if found.name == "index"]
    assert finding.level == "ok"


def test_an_index_file_of_another_store_counts_as_missing(tmp_path):
    path = tmp_path / "exact.bin"
    index = ExactIndex(path, "e", 2, lineage="one")
    index.commit(5)
    assert ExactIndex(path, "e", 2, lineage="one").position() == 5
    other = ExactIndex(path, "e", 2, lineage="two")
    assert (other.position(), other.problems()) == (0, [])
    other.commit(3)
    assert ExactIndex(path, "e", 2, lineage="two").position() == 3
    assert ExactIndex(path, "e", 2, lineage="one").position() == 0


@pytest.mark.chroma
def test_chroma_data_of_another_store_count_as_missing(tmp_path):
    from mempal.adapters.chroma import ChromaIndex

    with closing(ChromaIndex(tmp_path, "e", 2, lineage="one")) as index:
        index.commit(5)
    with closing(ChromaIndex(tmp_path, "e", 2, lineage="two")) as other:
        assert (other.position(), other.problems()) == (0, [])
        other.commit(3)
    with closing(ChromaIndex(tmp_path, "e", 2, lineage="one")) as index:
        assert index.position() == 0
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["lineage"] == "two"
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [record["token"]]
