"""The verbs of the palace where they decide something themselves."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mempal.core.errors import DamagedError, MempalError, NotFoundError, PalaceError, UsageError
from mempal.core.model import Scope, SourceClass, Verdict
from mempal.core.ports import Store, VectorIndex
from mempal.core.reports import MineOptions
from mempal.palace import Palace
from tests.cases.support import Silence, fingerprint, mine, open_at
from tests.repositories import make_repository, run_git, write_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_files(tmp_path / "shop", {"a.md": "alpha valve\n", "sub/b.md": "beta pump\n"})


@pytest.fixture
def palace(isolation: Any, tree: Path) -> Palace:
    palace = open_at(isolation.palace)
    mine(palace, tree)
    return palace


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_path_that_is_not_there_starts_no_palace(isolation, tmp_path, dry_run):
    with pytest.raises(NotFoundError, match="nowhere does not exist"):
        mine(open_at(isolation.palace), tmp_path / "nowhere", dry_run=dry_run)
    assert not isolation.palace.exists()


@pytest.mark.parametrize("names", [{"wing": "a\nb"}, {"room": " "}, {"wing": "w" * 201}])
def test_a_name_that_cannot_be_starts_no_palace(isolation, tree, names):
    with pytest.raises(MempalError):
        mine(open_at(isolation.palace), tree, **names)
    assert not isolation.palace.exists()


def test_a_text_that_cannot_be_starts_no_palace(isolation):
    with pytest.raises(UsageError):
        open_at(isolation.palace).drawers.add("  \n", wing="w", room="r")
    assert not isolation.palace.exists()


READING: list[Callable[[Palace], Any]] = [
    lambda palace: palace.search("alpha", Scope()).hint,
    lambda palace: palace.wake_up(None).hint,
    lambda palace: palace.rooms().hint,
    lambda palace: palace.status().hint,
    lambda palace: palace.audit(None, Silence()).hint,
]


@pytest.mark.parametrize("ask", READING)
def test_reading_says_where_there_is_no_palace_and_makes_none(isolation, ask):
    hint = ask(open_at(isolation.palace))
    assert hint == f"there is no palace at {isolation.palace} yet; `mempal mine` starts one"
    assert not isolation.palace.exists()


@pytest.mark.parametrize("ask", READING)
@pytest.mark.parametrize("target", ["palace.db", "unmounted/palace.db"])
def test_a_link_that_leads_nowhere_is_no_invitation_to_start_anew(isolation, ask, target):
    isolation.palace.mkdir()
    (isolation.palace / "palace.db").symlink_to(target)
    palace = open_at(isolation.palace)
    with pytest.raises(DamagedError, match=r"palace\.db is a link to what is not there") as caught:
        ask(palace)
    assert "mine" not in caught.value.hint
    assert not palace.diagnose().healthy


def test_a_database_kept_elsewhere_is_used_through_its_link(isolation, tree, tmp_path):
    isolation.palace.mkdir()
    (tmp_path / "disk").mkdir()
    (isolation.palace / "palace.db").symlink_to(tmp_path / "disk" / "palace.db")
    palace = open_at(isolation.palace)
    mine(palace, tree)
    assert [hit.drawer.source_file for hit in palace.search("alpha", Scope()).hits] == ["a.md"]
    assert (isolation.palace / "palace.db").is_symlink()


@pytest.mark.parametrize("ask", READING[:4])
def test_an_empty_palace_is_told_from_none(isolation, tmp_path, ask):
    palace = open_at(isolation.palace)
    (tmp_path / "empty").mkdir()
    mine(palace, tmp_path / "empty")
    assert "no palace" not in ask(palace)
    assert "mempal mine" in ask(palace)


def test_verbs_that_need_a_palace_refuse_without_one(isolation):
    palace = open_at(isolation.palace)
    with pytest.raises(NotFoundError, match="no palace"):
        palace.drawers.show("drawer_00")
    with pytest.raises(NotFoundError, match="no palace"):
        palace.reindex(reembed=True, progress=Silence())
    assert not palace.has_wing("shop")
    assert palace.diagnose().healthy
    assert not isolation.palace.exists()


def test_reading_changes_no_byte_of_a_palace(palace, isolation):
    def look() -> dict[str, str | None]:
        # SQLite's own scratch files, which hold no change, come and go with its readers.
        found = fingerprint(isolation.palace)
        return {name: digest for name, digest in found.items() if not name.startswith("palace.db-")}

    before = look()
    for ask in READING:
        ask(palace)
    palace.diagnose()
    palace.drawers.show(palace.search("alpha", Scope()).hits[0].drawer.id)
    mine(palace, Path(palace.search("alpha", Scope()).hits[0].drawer.root), dry_run=True)
    assert look() == before
    assert (isolation.palace / "palace.db-wal").stat().st_size == 0


def test_every_verb_closes_what_it_opened(palace, monkeypatch):
    """A long-lived process must not gather handles."""
    opened, closed = [], []
    outfit = palace.access.outfit

    def follow(thing: Any) -> Any:
        opened.append(thing)
        close = thing.close

        def note() -> None:
            closed.append(thing)
            close()

        thing.close = note
        return thing

    def open_store(writable: bool) -> Store:
        return follow(outfit.open_store(writable))

    def open_index(store: Store) -> VectorIndex | None:
        index = outfit.open_index(store)
        return None if index is None else follow(index)

    palace.access.outfit = replace(outfit, open_store=open_store, open_index=open_index)
    for ask in READING:
        ask(palace)
    palace.drawers.add("gamma\n", wing="shop", room="r")
    palace.reindex(reembed=True, progress=Silence())
    palace.diagnose()
    with pytest.raises(UsageError):
        palace.search("alpha", Scope(), mode="nonsense")
    assert len({type(thing) for thing in opened}) == 2
    assert set(map(id, opened)) == set(map(id, closed))


def test_the_wing_is_the_one_named_else_configured_else_the_projects(isolation, tmp_path):
    root = make_repository(tmp_path / "my project", {"src/a.md": "alpha\n"})
    assert mine(open_at(isolation.palace), root / "src").wing == "my project"
    assert mine(open_at(isolation.palace), root / "src" / "a.md").wing == "my project"
    assert mine(open_at(isolation.palace, wing="mine"), root).wing == "mine"
    assert mine(open_at(isolation.palace), root, wing="given").wing == "given"
    assert mine(open_at(isolation.palace, wing=""), root).wing == "my project"


def test_outside_of_git_the_wing_is_the_folder(isolation, tree):
    palace = open_at(isolation.palace)
    assert mine(palace, tree).wing == "shop"
    assert mine(palace, tree / "sub").wing == "sub"
    assert mine(palace, tree / "a.md").wing == "shop"


def test_a_folder_whose_name_is_no_name_gets_one(isolation, tmp_path):
    root = write_files(tmp_path / "new\nline", {"a.md": "alpha\n"})
    assert mine(open_at(isolation.palace), root).wing == "new_line"


def test_a_drawer_is_shown_by_the_beginning_of_its_id(palace):
    drawer = palace.search("valve", Scope()).hits[0].drawer
    for length in (len(drawer.id), 12):
        shown = palace.drawers.show(drawer.id[:length])
        assert (shown.drawer, shown.citation.verdict) == (drawer, Verdict.SAME)
    with pytest.raises(UsageError, match="names several drawers"):
        palace.drawers.show("drawer_")
    for unknown in ("", "nothing", "drawer_zz", "%", "_"):
        with pytest.raises(NotFoundError):
            palace.drawers.show(unknown)


def test_more_results_than_fit_an_answer_are_not_gathered(palace):
    assert len(palace.search("alpha pump", Scope(), limit=10**12).hits) == 2


def test_a_note_is_found_and_has_no_verdict(palace):
    addition = palace.drawers.add(
        "Tills close at five.", wing="shop", room="decisions", importance=3
    )
    (hit,) = palace.search("tills", Scope(room="decisions")).hits
    assert hit.drawer.id == addition.drawer_ids[0]
    assert (hit.drawer.importance, hit.drawer.source_class) == (3, SourceClass.PERSON)
    assert hit.citation.verdict is Verdict.UNKNOWN
    assert not palace.drawers.add("Tills close at five.", wing="shop", room="decisions").created


def test_rooms_and_wings_are_counted_and_unknown_ones_explained(palace):
    assert [(room.room, room.drawers) for room in palace.rooms("shop").rooms] == [
        ("general", 1),
        ("sub", 1),
    ]
    assert "no wing 'nope'" in palace.rooms("nope").hint
    assert palace.has_wing("shop")
    assert not palace.has_wing("nope")
    with pytest.raises(NotFoundError, match="nope"):
        palace.audit("nope", Silence())


def test_the_identity_begins_the_wake_up_text(palace, isolation):
    (isolation.palace / "identity.txt").write_bytes("\ufeffI am Ada.\r\n".encode())
    text = palace.wake_up("shop").text
    assert text.index("I am Ada.") < text.index("alpha")
    assert "\r" not in text


def test_an_identity_may_be_a_link_to_a_file(palace, isolation, tmp_path):
    (tmp_path / "me.txt").write_text("I am Ada.\n")
    (isolation.palace / "identity.txt").symlink_to(tmp_path / "me.txt")
    assert "I am Ada." in palace.wake_up(None).text


def pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    "spoil",
    [
        Path.mkdir,
        pipe,
        lambda path: path.write_bytes(b"x" * 8193),
        lambda path: path.write_bytes(bytes(range(256)) * 8),
    ],
)
def test_an_identity_that_cannot_be_read_is_named(palace, isolation, spoil):
    path = isolation.palace / "identity.txt"
    spoil(path)
    with pytest.raises(PalaceError) as caught:
        palace.wake_up(None)
    assert str(path) in caught.value.message
    assert "at most 8192 bytes" in caught.value.hint


def test_the_commit_that_was_read_is_cited(isolation, tmp_path):
    root = make_repository(tmp_path / "repo", {"a.md": "alpha\n"})
    palace = open_at(isolation.palace)
    mine(palace, root)
    (hit,) = palace.search("alpha", Scope()).hits
    assert hit.drawer.commit == run_git(root, "rev-parse", "HEAD").strip()


def test_paths_of_several_projects_need_one_name(isolation, tmp_path):
    for name in ("alpha", "beta"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"text of {name}")
    palace = open_at(isolation.palace)
    paths = [tmp_path / "alpha", tmp_path / "beta"]
    with pytest.raises(UsageError, match="alpha, beta"):
        palace.mining.mine(paths, MineOptions(), Silence())
    assert not palace.exists()
    assert palace.mining.mine(paths, MineOptions(wing="both"), Silence()).files.mined == 2


def test_a_name_is_found_however_it_was_typed(isolation, tmp_path):
    (tmp_path / "a.md").write_text("zqtyped text")
    palace = open_at(isolation.palace)
    palace.mining.mine([tmp_path], MineOptions(wing="cafe\u0301"), Silence())
    assert palace.search("zqtyped", Scope(wing=" caf\u00e9 ")).hits
    assert palace.rooms("caf\u00e9").rooms
