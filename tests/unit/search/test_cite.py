"""Whether a citation still holds, judged from files as they are now."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from mempal.core.model import (
    Chunk,
    Citation,
    Drawer,
    Repository,
    SourceClass,
    SourceKind,
    Span,
    Verdict,
)
from mempal.search import cite
from mempal.search.cite import Citer
from mempal.testing import MemoryRepositories, MemoryStore
from tests.drawers import by_hand, embed, note, put, source

TEXT = "alpha\nbeta\ngamma\ndelta\n"


def read_text(data: bytes) -> str | None:
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        return None


class Desk:
    """A tree on disk, mined into a store, and a citer that looks at both."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = MemoryStore()
        self.repositories = MemoryRepositories()

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def mine(self, path: str, content: str, span: Span, blob: str | None = None) -> Drawer:
        """Store one piece of a file as it is now."""
        data = (self.root / path).read_bytes()
        digest = sha256(data).hexdigest()
        place = source(path, root=str(self.root), content_sha256=digest, blob=blob)
        pieces = [Chunk(content, span)]
        self.store.replace_source(place, pieces, embed(pieces), SourceClass.FILE)
        return self.store.drawers_of("w", str(self.root), path)[0]

    def citer(self) -> Citer:
        return Citer(self.store, self.repositories, read_text)

    def cite(self, drawer: Drawer) -> Citation:
        return self.citer().cite(drawer)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "tree"
    root.mkdir()
    return Desk(root)


@pytest.fixture
def beta(desk: Desk) -> Drawer:
    """Lines 2 and 3 of a file."""
    desk.write("notes.md", TEXT)
    return desk.mine("notes.md", "beta\ngamma\n", Span(2, 3, 6, 17))


def test_an_unchanged_file_is_the_same(desk, beta):
    assert desk.cite(beta) == Citation(Verdict.SAME, "notes.md", 2, 3)


def test_a_changed_file_with_the_text_in_its_place_is_the_same(desk, beta):
    desk.write("notes.md", TEXT + "epsilon\n")
    assert desk.cite(beta) == Citation(Verdict.SAME, "notes.md", 2, 3)


def test_text_that_moved_within_its_file_is_found_there(desk, beta):
    desk.write("notes.md", "one\ntwo\n\n" + TEXT)
    assert desk.cite(beta) == Citation(Verdict.MOVED, "notes.md", 5, 6)
    desk.write("notes.md", "beta\ngamma\n")
    assert desk.cite(beta) == Citation(Verdict.MOVED, "notes.md", 1, 2)


@pytest.mark.parametrize("now", ["alpha\nBETA\ngamma\n", "beta\r\rgamma\n", "", b"\xff\xfebeta"])
def test_text_that_is_no_longer_there_was_changed(desk, beta, now):
    desk.write("notes.md", now)
    assert desk.cite(beta) == Citation(Verdict.CHANGED, "notes.md", 2, 3)


def test_line_ends_do_not_change_a_text(desk, beta):
    desk.write("notes.md", TEXT.replace("\n", "\r\n"))
    assert desk.cite(beta) == Citation(Verdict.SAME, "notes.md", 2, 3)
    desk.write("notes.md", "\r\n\r\n" + TEXT.replace("\n", "\r\n"))
    assert desk.cite(beta) == Citation(Verdict.MOVED, "notes.md", 4, 5)


def test_a_file_mined_with_its_own_line_ends_is_the_same(desk):
    desk.write("dos.txt", TEXT.replace("\n", "\r\n"))
    drawer = desk.mine("dos.txt", "beta\ngamma\n", Span(2, 3, 7, 20))
    assert desk.cite(drawer) == Citation(Verdict.SAME, "dos.txt", 2, 3)


@pytest.mark.parametrize(
    ("lines", "start"),
    [
        ("x.x......", 3),  # nearest behind
        ("x...x....", 5),
        ("....x...x", 5),
        ("...x.x...", 4),  # as near on both sides: the first
        ("........x", 9),
    ],
)
def test_of_several_places_the_nearest_counts(desk, lines, start):
    desk.write("list.md", "....x....".replace("", "\n")[1:])
    drawer = desk.mine("list.md", "x\n", Span(5, 5, 8, 10))
    desk.write("list.md", "".join(f"{line}\n" for line in lines))
    found = desk.cite(drawer)
    assert (found.line_start, found.line_end) == (start, start)
    assert found.verdict is (Verdict.SAME if start == 5 else Verdict.MOVED)


def test_a_text_without_a_last_newline_ends_on_its_last_line(desk):
    desk.write("tail.md", "alpha\nbeta")
    drawer = desk.mine("tail.md", "alpha\nbeta", Span(1, 2, 0, 10))
    desk.write("tail.md", "first\nalpha\nbeta")
    assert desk.cite(drawer) == Citation(Verdict.MOVED, "tail.md", 2, 3)


def test_a_file_that_is_gone(desk, beta):
    (desk.root / "notes.md").unlink()
    assert desk.cite(beta) == Citation(Verdict.GONE, "notes.md", 2, 3)


def test_a_tree_that_is_gone(desk, beta):
    (desk.root / "notes.md").unlink()
    desk.root.rmdir()
    assert desk.cite(beta).verdict is Verdict.GONE


def test_a_file_that_was_mined_again_elsewhere_moved(desk, beta):
    (desk.root / "sub").mkdir()
    (desk.root / "notes.md").rename(desk.root / "sub/renamed.md")
    assert desk.cite(beta).verdict is Verdict.GONE
    desk.mine("sub/renamed.md", "beta\ngamma\n", Span(2, 3, 6, 17))
    assert desk.cite(beta) == Citation(Verdict.MOVED, "sub/renamed.md", 2, 3)

    desk.write("sub/renamed.md", "changed since\n")
    assert desk.cite(beta).verdict is Verdict.GONE


def test_a_file_that_git_knows_elsewhere_moved(desk):
    desk.write("old.md", TEXT)
    drawer = desk.mine("old.md", "beta\ngamma\n", Span(2, 3, 6, 17), blob="b" * 40)
    (desk.root / "old.md").rename(desk.root / "new.md")
    assert desk.cite(drawer).verdict is Verdict.GONE

    known = Repository(desk.root, commit="c" * 40)
    desk.repositories.add(known, blobs={"new.md": "b" * 40, "other.md": "d" * 40})
    assert desk.cite(drawer) == Citation(Verdict.MOVED, "new.md", 2, 3)

    # What git says is checked against the file.
    desk.write("new.md", "not what was committed\n")
    assert desk.cite(drawer).verdict is Verdict.GONE


def test_text_from_no_file_is_not_judged(desk):
    note(desk.store, by_hand(), "from a person")
    (drawer,) = desk.store.get([1])
    assert desk.cite(drawer) == Citation(Verdict.UNKNOWN, "note")


# --- what somebody put in a file's place ------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
def test_a_pipe_in_its_place_is_not_waited_for(desk, beta):
    (desk.root / "notes.md").unlink()
    os.mkfifo(desk.root / "notes.md")
    assert desk.cite(beta).verdict is Verdict.GONE


def test_a_link_in_its_place_is_not_followed(desk, beta):
    (desk.root / "notes.md").rename(desk.root / "real.md")
    (desk.root / "notes.md").symlink_to("real.md")
    assert desk.cite(beta).verdict is Verdict.GONE


def test_a_folder_in_its_place_is_gone(desk, beta):
    (desk.root / "notes.md").unlink()
    (desk.root / "notes.md").mkdir()
    assert desk.cite(beta).verdict is Verdict.GONE


def test_a_folder_that_leads_out_of_the_tree_is_not_entered(desk, tmp_path):
    desk.write("sub/notes.md", TEXT)
    drawer = desk.mine("sub/notes.md", "beta\n", Span(2, 2, 6, 11))
    (desk.root / "sub").rename(tmp_path / "outside")
    (desk.root / "sub").symlink_to(tmp_path / "outside")
    assert desk.cite(drawer).verdict is Verdict.GONE
    # A link that stays inside is a way to the file like any other.
    (tmp_path / "outside").rename(desk.root / "inside")
    (desk.root / "sub").unlink()
    (desk.root / "sub").symlink_to("inside")
    assert desk.cite(drawer).verdict is Verdict.SAME


@pytest.mark.parametrize("path", ["../secret.md", "/etc/hostname", "sub/../../secret.md"])
def test_a_path_out_of_the_tree_is_not_read(desk, tmp_path, monkeypatch, path):
    (tmp_path / "secret.md").write_text(TEXT, "utf-8")
    read: list[Path] = []
    monkeypatch.setattr(cite, "read_regular", lambda file, _: read.append(file) or b"")
    place = source(path, root=str(desk.root), content_sha256=sha256(TEXT.encode()).hexdigest())
    pieces = [Chunk("beta\n", Span(2, 2, 6, 11))]
    desk.store.replace_source(place, pieces, embed(pieces), SourceClass.FILE)
    (drawer,) = desk.store.get([1])
    assert desk.cite(drawer).verdict is Verdict.GONE
    assert read == []


def test_a_path_that_cannot_be_is_gone(desk):
    put(desk.store, source("a\0b", root=str(desk.root)), Chunk("x", Span(1, 1, 0, 1)))
    assert desk.cite(desk.store.get([1])[0]).verdict is Verdict.GONE


def test_a_file_above_the_limit_is_not_read(desk, beta, monkeypatch):
    monkeypatch.setattr(cite, "_LARGEST_FILE", len(TEXT))
    assert desk.cite(beta).verdict is Verdict.SAME
    desk.write("notes.md", TEXT + "x")
    assert desk.cite(beta).verdict is Verdict.UNKNOWN


# --- what it costs ----------------------------------------------------------------------------


def test_each_file_is_read_once_for_all_its_drawers(desk, monkeypatch):
    desk.write("notes.md", TEXT)
    digest = sha256(TEXT.encode()).hexdigest()
    place = source("notes.md", root=str(desk.root), content_sha256=digest)
    pieces = [Chunk(f"{line}\n", Span(n, n, 0, 0)) for n, line in enumerate(TEXT.split(), 1)]
    desk.store.replace_source(place, pieces, embed(pieces), SourceClass.FILE)
    desk.write("notes.md", "first\n" + TEXT)
    reads: list[Path] = []
    texts: list[bytes] = []
    read_regular = cite.read_regular

    def count_reads(file: Path, limit: int) -> bytes:
        reads.append(file)
        return read_regular(file, limit)

    def count_texts(data: bytes) -> str | None:
        texts.append(data)
        return read_text(data)

    monkeypatch.setattr(cite, "read_regular", count_reads)
    citer = Citer(desk.store, desk.repositories, count_texts)
    found = [citer.cite(drawer) for drawer in desk.store.get([1, 2, 3, 4])]
    assert [place.line_start for place in found] == [2, 3, 4, 5]
    assert len(reads) == len(texts) == 1


def test_git_is_asked_a_few_times_only(desk, monkeypatch):
    asked: list[str] = []
    drawers = []
    for number in range(12):
        desk.write(f"{number}.md", f"text {number}\n")
        drawers.append(
            desk.mine(f"{number}.md", f"text {number}\n", Span(1, 1, 0, 7), blob=str(number))
        )
        (desk.root / f"{number}.md").unlink()
    desk.repositories.add(Repository(desk.root, commit="c"))
    monkeypatch.setattr(desk.repositories, "find_blob", lambda _, blob: asked.append(blob))
    citer = desk.citer()
    assert {citer.cite(drawer).verdict for drawer in drawers} == {Verdict.GONE}
    assert 0 < len(asked) <= 5


def test_a_file_that_is_there_asks_neither_store_nor_git(desk, beta, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(desk.store, "paths_of_content", refuse)
    monkeypatch.setattr(desk.repositories, "find", refuse)
    assert desk.cite(beta).verdict is Verdict.SAME
    desk.write("notes.md", "changed\n")
    assert desk.cite(beta).verdict is Verdict.CHANGED


# --- what was said in a session ---------------------------------------------------------------


RECORDS = ['{"say": "zqone"}\n', '{"say": "zqtwo"}\n', '{"say": "zqthree"}\n']


def say(desk: Desk, path: str, line: int, data: bytes, *, located: bool = True) -> Drawer:
    """Store one record of a session file that holds ``data``, as its text was read from it.

    Args:
        desk: Where the session lies.
        path: Its file.
        line: Which of ``RECORDS`` it is, from 1 on.
        data: Bytes of the file when it was read.
        located: Whether the bytes of the record in the file are known.
    """
    record = RECORDS[line - 1].encode()
    start = data.find(record)
    digest = sha256(record).hexdigest()
    span = Span(line, line, start, start + len(record), digest) if located else Span(line, line)
    file = source(path, root=str(desk.root), content_sha256=sha256(data).hexdigest())
    talk = source(
        f"claude:s-{path}",
        root="",
        kind=SourceKind.CONVERSATION,
        session=f"s-{path}",
        holder=file.place,
        content_sha256=file.content_sha256,
    )
    pieces = [Chunk(f"text of record {line}", span)]
    desk.store.replace_source(file, [], {}, SourceClass.IMPORT)
    desk.store.replace_source(talk, pieces, embed(pieces), SourceClass.IMPORT)
    (key,) = desk.store.keys_of([talk.place])
    (drawer,) = desk.store.get([key])
    assert (drawer.session, drawer.source_file) == (f"s-{path}", path)
    return drawer


@pytest.fixture
def session(desk: Desk) -> Drawer:
    """The second of three records."""
    path = desk.write("s.jsonl", "".join(RECORDS))
    return say(desk, "s.jsonl", 2, path.read_bytes())


def test_a_message_of_a_session_that_did_not_change_is_the_same(desk, session):
    assert desk.cite(session) == Citation(Verdict.SAME, "s.jsonl", 2, 2)


@pytest.mark.parametrize(
    "now",
    [
        "".join(RECORDS) + '{"say": "zqfour"}\n' * 1_000,
        "".join(RECORDS)[:-1],
        "".join(RECORDS[:2]) + '{"say": "zqTHREE"}',
        "".join(RECORDS[:2]),
        "x" * len(RECORDS[0]) + RECORDS[1],
    ],
)
def test_only_the_bytes_of_the_record_itself_count(desk, session, now):
    desk.write("s.jsonl", now)
    assert desk.cite(session) == Citation(Verdict.SAME, "s.jsonl", 2, 2)


@pytest.mark.parametrize(
    "now",
    [
        RECORDS[0] + '{"say": "zqTWO"}\n' + RECORDS[2],
        "x" + "".join(RECORDS),
        RECORDS[0] + RECORDS[1][:-2],
        RECORDS[0],
        "",
    ],
)
def test_a_record_of_other_bytes_was_changed(desk, session, now):
    desk.write("s.jsonl", now)
    assert desk.cite(session) == Citation(Verdict.CHANGED, "s.jsonl", 2, 2)


def test_a_session_that_is_gone(desk, session):
    (desk.root / "s.jsonl").unlink()
    assert desk.cite(session) == Citation(Verdict.GONE, "s.jsonl", 2, 2)
    desk.root.rmdir()
    assert desk.cite(session).verdict is Verdict.GONE


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
@pytest.mark.parametrize("put_there", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("real")])
def test_what_took_the_place_of_a_session_is_not_read(desk, session, put_there):
    (desk.root / "s.jsonl").rename(desk.root / "real")
    put_there(desk.root / "s.jsonl")
    assert desk.cite(session).verdict is Verdict.GONE


@pytest.mark.parametrize("located", [True, False])
@pytest.mark.parametrize("path", ["../secret.jsonl", "sub/../../secret.jsonl", "/etc/hostname"])
def test_a_message_out_of_the_tree_is_not_read(desk, tmp_path, monkeypatch, path, located):
    (tmp_path / "secret.jsonl").write_text("".join(RECORDS), "utf-8")
    (desk.root / "sub").mkdir()
    drawer = say(desk, path, 2, "".join(RECORDS).encode(), located=located)
    read: list[Path] = []
    for name in ("read_regular", "open_regular"):
        monkeypatch.setattr(cite, name, lambda file, *_: read.append(file))
    assert desk.cite(drawer).verdict is Verdict.GONE
    assert read == []


def test_a_message_behind_a_link_out_of_the_tree_is_not_read(desk, tmp_path):
    path = desk.write("sub/s.jsonl", "".join(RECORDS))
    drawer = say(desk, "sub/s.jsonl", 2, path.read_bytes())
    assert desk.cite(drawer).verdict is Verdict.SAME
    (desk.root / "sub").rename(tmp_path / "outside")
    (desk.root / "sub").symlink_to(tmp_path / "outside")
    assert desk.cite(drawer).verdict is Verdict.GONE


def test_a_session_is_read_no_further_than_the_record(desk, session, monkeypatch):
    desk.write("s.jsonl", "".join(RECORDS) * 10_000)
    monkeypatch.setattr(cite, "read_regular", None)
    monkeypatch.setattr(cite, "_LARGEST_FILE", 100)
    assert desk.cite(session).verdict is Verdict.SAME


@pytest.mark.parametrize("path", ["s.jsonl.zst", "conversations.json"])
def test_a_message_whose_bytes_are_not_known_is_judged_by_its_whole_file(desk, path):
    data = desk.write(path, b"whatever holds it").read_bytes()
    drawer = say(desk, path, 2, data, located=False)
    assert desk.cite(drawer) == Citation(Verdict.SAME, path, 2, 2)
    desk.write(path, b"whatever holds it, and more")
    assert desk.cite(drawer) == Citation(Verdict.UNKNOWN, path, 2, 2)
    (desk.root / path).unlink()
    assert desk.cite(drawer) == Citation(Verdict.GONE, path, 2, 2)


def test_a_whole_file_that_is_too_large_to_read_is_not_known(desk, monkeypatch):
    data = desk.write("conversations.json", b"whatever").read_bytes()
    drawer = say(desk, "conversations.json", 2, data, located=False)
    monkeypatch.setattr(cite, "_LARGEST_FILE", len(data) - 1)
    assert desk.cite(drawer).verdict is Verdict.UNKNOWN


def test_a_message_is_not_searched_for_in_other_places(desk, session, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(desk.store, "paths_of_content", refuse)
    monkeypatch.setattr(desk.repositories, "find", refuse)
    (desk.root / "s.jsonl").unlink()
    assert desk.cite(session).verdict is Verdict.GONE


def test_a_message_that_no_file_holds_is_not_judged(desk):
    talk = source("claude:s", root="", kind=SourceKind.CONVERSATION, session="s")
    pieces = [Chunk("zqsaid")]
    desk.store.replace_source(talk, pieces, embed(pieces), SourceClass.IMPORT)
    assert desk.cite(desk.store.get([1])[0]).verdict is Verdict.UNKNOWN
