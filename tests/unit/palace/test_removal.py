"""Taking drawers away, on a real palace: what is meant, what goes, what stays, what is refused."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from mempal.core.clock import parse_instant
from mempal.core.errors import BusyError, NotFoundError, UsageError
from mempal.core.model import SourceState
from mempal.palace import removal as module
from mempal.palace.removal import Selection
from tests.cases.support import age, mine
from tests.repositories import write_files
from tests.transcripts import claude_row, list_drawers, say, to_lines

DAY = 86_400_000


@pytest.fixture
def forget(palace):
    """Forget at once; give the drawers' texts as they were."""

    def call(**selected) -> list[str]:
        report = palace.removal.forget(Selection(**selected), apply=True)
        assert report.warnings == ()
        return sorted(drawer.content.split()[0] for drawer in report.drawers)

    return call


@pytest.fixture
def meant(palace):
    """Return the first words of what would be forgotten."""

    def call(**selected) -> list[str]:
        report = palace.removal.forget(Selection(**selected), apply=False)
        assert report.dry_run
        return sorted(drawer.content.split()[0] for drawer in report.drawers)

    return call


def words(drawers) -> list[str]:
    return sorted(drawer.content.split()[0] for drawer in drawers)


# --- delete, restore ------------------------------------------------------------------------------


def test_a_deleted_drawer_is_found_by_neither_word_nor_meaning_until_restored(mined, one, found):
    drawer = one("zqplan")
    removed = mined.removal.delete([drawer.id])
    assert ([one.id for one in removed.drawers], removed.protected) == ([drawer.id], ())
    assert removed.run == 2
    assert drawer.id not in set.union(*found("zqplan summer"))
    restored = mined.removal.restore([drawer.id[:12]])
    assert ([one.id for one in restored.drawers], restored.run) == ([drawer.id], 3)
    assert all(drawer.id in ids for ids in found("zqplan summer"))


@pytest.mark.parametrize("verb", ["delete", "restore"])
def test_a_drawer_that_is_named_twice_counts_once(mined, one, link, verb):
    drawer, cited = one("zqplan"), one("zqnote")
    link("card_a", cited.id)
    if verb == "restore":
        mined.removal.delete([drawer.id])
    names = [drawer.id, drawer.id[:14], drawer.id]
    assert len(getattr(mined.removal, verb)(names).drawers) == 1
    if verb == "delete":
        assert mined.removal.delete([cited.id, cited.id]).protected == ((cited.id, "card_a"),)


@pytest.mark.parametrize("verb", ["delete", "restore"])
def test_what_is_so_already_is_no_run(mined, one, verb):
    drawer = one("zqplan")
    if verb == "delete":
        mined.removal.delete([drawer.id])
    before = mined.runs.list()
    removed = getattr(mined.removal, verb)([drawer.id])
    assert (removed.drawers, removed.run) == ((), None)
    assert mined.runs.list() == before


@pytest.mark.parametrize("verb", ["delete", "restore"])
@pytest.mark.parametrize(
    ("name", "error"),
    [("drawer_ffffffff", NotFoundError), ("", NotFoundError), ("drawer_", UsageError)],
)
def test_all_or_nothing_where_one_id_is_wrong(mined, one, opened, verb, name, error):
    drawer = one("zqplan")
    if verb == "restore":
        mined.removal.delete([drawer.id])
    with opened() as store:
        before = store.revision()
    runs = mined.runs.list()
    with pytest.raises(error):
        getattr(mined.removal, verb)([drawer.id, name])
    with opened() as store:
        assert store.revision() == before
    assert mined.runs.list() == runs


def test_what_a_card_cites_stays_and_the_rest_goes(mined, one, link):
    cited, other = one("zqplan"), one("zqother")
    link("card_a", cited.id)
    link("card_b", cited.id)
    removed = mined.removal.delete([cited.id, other.id])
    assert words(removed.drawers) == ["zqother"]
    assert removed.protected == ((cited.id, "card_a"), (cited.id, "card_b"))
    assert words(list_drawers(mined)) == ["zqnote", "zqplan"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda verbs: verbs.delete(["x"]),
        lambda verbs: verbs.restore(["x"]),
        lambda verbs: verbs.forget(Selection(ids=("x",)), apply=True),
    ],
)
def test_without_a_palace_none_is_made(palace, ask):
    with pytest.raises(NotFoundError, match="there is no palace"):
        ask(palace.removal)
    assert not palace.exists()


# --- purge ----------------------------------------------------------------------------------------


def test_a_purged_drawer_leaves_the_store_and_every_search(mined, one, opened, found):
    drawer = one("zqplan")
    mined.removal.delete([drawer.id])
    dry = mined.removal.purge(before=None, wing=None, dry_run=True)
    assert (words(dry.drawers), dry.run, dry.dry_run) == (["zqplan"], None, True)
    purged = mined.removal.purge(before=None, wing=None, dry_run=False)
    assert (words(purged.drawers), purged.run) == (["zqplan"], 3)
    with opened() as store:
        assert store.get([drawer.key]) == []
        assert store.vectors([drawer.key]) == {}
    assert drawer.id not in set.union(*found("zqplan summer"))
    with pytest.raises(NotFoundError):
        mined.removal.restore([drawer.id])
    again = mined.removal.purge(before=None, wing=None, dry_run=False)
    assert (again.drawers, again.run) == ((), None)


def test_only_what_was_deleted_before_and_in_the_wing_is_purged(mined, tree, one, monkeypatch):
    mine(mined, tree, wing="v")
    for day, (word, wing) in enumerate([("zqplan", "w"), ("zqnote", "w"), ("zqplan", "v")], 1):
        monkeypatch.setattr(module, "now", lambda day=day: day * DAY)
        mined.removal.delete([one(word, wing).id])

    def would(before: int | None, wing: str | None) -> list[str]:
        report = mined.removal.purge(before=before, wing=wing, dry_run=True)
        return [f"{drawer.wing} {drawer.content.split()[0]}" for drawer in report.drawers]

    assert would(0, None) == would(DAY, None) == []
    assert would(DAY + 1, None) == ["w zqplan"]
    assert would(2 * DAY + 1, None) == ["w zqplan", "w zqnote"]
    assert would(None, "v") == would(None, " v ") == ["v zqplan"]
    assert would(2 * DAY, "v") == would(None, "nobody") == []
    purged = mined.removal.purge(before=2 * DAY + 1, wing=" w ", dry_run=False)
    assert words(purged.drawers) == ["zqnote", "zqplan"]
    assert mined.runs.list(1)[0].wing == "w"
    assert would(None, None) == ["v zqplan"]


def test_a_purge_of_cited_drawers_only_changes_nothing(mined, one, link, opened):
    drawer = one("zqplan")
    mined.removal.delete([drawer.id])
    link("card_a", drawer.id)
    for dry_run in (True, False):
        purged = mined.removal.purge(before=None, wing=None, dry_run=dry_run)
        assert (purged.drawers, purged.run) == ((), None)
        assert purged.protected == ((drawer.id, "card_a"),)
    with opened() as store:
        assert len(store.get([drawer.key])) == 1


def test_a_purge_without_a_palace_has_nothing_to_do(palace):
    assert palace.removal.purge(before=None, wing=None, dry_run=False).drawers == ()
    assert not palace.exists()


# --- forget: what is meant ------------------------------------------------------------------------


@pytest.mark.parametrize("selected", [{}, {"wing": "w"}, {"sources": ()}, {"topic": ""}])
def test_nothing_named_is_refused(mined, selected):
    with pytest.raises(UsageError, match="nothing to forget is named"):
        mined.removal.forget(Selection(**selected), apply=True)
    assert len(list_drawers(mined)) == 3


def test_the_beginning_of_time_is_a_date_like_any_other(mined, meant):
    assert meant(before=0) == []


def test_a_drawer_by_its_id_or_the_beginning_of_it(mined, one, meant):
    drawer = one("zqplan")
    assert meant(ids=(drawer.id,)) == meant(ids=(drawer.id[:15], drawer.id)) == ["zqplan"]
    mined.removal.delete([drawer.id])
    assert meant(ids=(drawer.id,)) == ["zqplan"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("drawer_ffffffff", NotFoundError), ("", NotFoundError), ("drawer_", UsageError)],
)
def test_an_id_of_none_or_of_several_forgets_nothing(mined, one, name, error):
    with pytest.raises(error):
        mined.removal.forget(Selection(ids=(one("zqplan").id, name)), apply=True)
    assert len(list_drawers(mined)) == 3


def test_a_file_by_its_path_in_the_tree_or_on_disk(mined, tree, meant, monkeypatch, tmp_path):
    (tmp_path / "link").symlink_to(tree)
    monkeypatch.chdir(tree / "sub")
    for name in (
        *("sub/note.md", str(tree / "sub/note.md"), "note.md", "./note.md", "../sub/note.md"),
        str(tree / "sub" / ".." / "sub" / "note.md"),
        str(tmp_path / "link" / "sub" / "note.md"),
    ):
        assert meant(sources=(name,)) == ["zqnote"], name


@pytest.mark.parametrize(
    "name", ["", ".", "/", "sub", "sub/", "note.md", "SUB/note.md", "*.md", "plan", "a\0b", "~"]
)
def test_what_only_resembles_a_name_is_not_found(mined, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError, match="no source"):
        mined.removal.forget(Selection(sources=("plan.md", name)), apply=True)
    assert len(list_drawers(mined)) == 3


def test_a_colon_in_a_file_name_is_a_letter_like_any_other(palace, tmp_path, meant):
    files = {"b.md": "zqplain file\n", "a:b.md": "zqcolon file\n", "C:b.md": "zqdrive file\n"}
    mine(palace, write_files(tmp_path / "odd", files), wing="w")
    assert meant(sources=("b.md",)) == ["zqplain"]
    assert meant(sources=("a:b.md",)) == ["zqcolon"]
    assert meant(sources=("C:b.md", "b.md")) == ["zqdrive", "zqplain"]


def test_one_file_that_is_named_in_several_ways_is_one_source(mined, tree):
    names = ("plan.md", str(tree / "plan.md"), "plan.md")
    report = mined.removal.forget(Selection(sources=names), apply=False)
    assert report.sources == ((str(tree), "plan.md"),)
    assert len(report.drawers) == 1


def test_a_note_by_its_name_even_when_it_was_deleted(mined, one, meant):
    mined.drawers.add("zqjot one", wing="notes", room="r", source="jotter")
    assert meant(sources=("jotter",)) == ["zqjot"]
    mined.removal.delete([one("zqjot").id])
    assert meant(sources=("jotter",)) == ["zqjot"]


def test_a_conversation_by_its_key_and_a_session_by_its_file(palace, tmp_path, meant):
    rows = [claude_row(1, "user", "zqask the question"), claude_row(2, "assistant", say("zqsay"))]
    mine(palace, write_files(tmp_path / "chats", {"s.jsonl": to_lines(rows)}), wing="w")
    key = str(rows[0]["sessionId"])
    for name in (key, f"claude:{key}", "s.jsonl"):
        assert meant(sources=(name,)) == ["zqask", "zqsay"], name
    with pytest.raises(NotFoundError):
        meant(sources=(key[:8],))


def test_before_counts_when_it_was_said_and_only_else_when_it_was_stored(palace, tmp_path, meant):
    then, later = "2001-02-03T00:00:00.000Z", "2999-01-01T00:00:00.000Z"
    rows = [
        claude_row(1, "user", "zqlong ago", timestamp=then),
        claude_row(2, "user", "zqfuture talk", timestamp=later),
    ]
    files = {"s.jsonl": to_lines(rows), "a.md": "zqfile of today\n"}
    mine(palace, write_files(tmp_path / "both", files), wing="w")
    instant = parse_instant(then)
    assert meant(before=instant) == []
    assert meant(before=instant + 1) == ["zqlong"]
    assert meant(before=parse_instant("2900-01-01")) == ["zqfile", "zqlong"]


def test_before_means_history_and_deleted_drawers_too(mined, tree, one, meant):
    write_files(tree, {"plan.md": "zqnew plan\n"})
    mine(mined, tree, wing="w")
    mined.removal.delete([one("zqnote").id])
    every = ["zqnew", "zqnote", "zqother", "zqplan"]
    assert meant(before=parse_instant("2900-01-01")) == every


def test_a_topic_is_what_surely_answers_it(mined, meant):
    assert meant(topic="zqnote valve") == ["zqnote"]
    assert meant(topic="zqnobody zqsaid") == []


def test_conditions_add_up(mined, one, meant):
    assert meant(ids=(one("zqplan").id,), sources=("sub/note.md",)) == ["zqnote", "zqplan"]


def test_a_wing_limits_every_condition(mined, tree, one, meant):
    mine(mined, tree, wing="v")
    far = parse_instant("2900-01-01")
    for selected in ({"sources": ("plan.md",)}, {"topic": "zqplan summer"}, {"before": far}):
        both = mined.removal.forget(Selection(**selected), apply=False)
        assert {drawer.wing for drawer in both.drawers} == {"v", "w"}
        only = mined.removal.forget(Selection(**selected, wing=" v "), apply=False)
        assert {drawer.wing for drawer in only.drawers} == {"v"}
    with pytest.raises(NotFoundError, match="is in wing w, not in v"):
        meant(ids=(one("zqplan", "w").id,), wing="v")
    with pytest.raises(NotFoundError, match="no source"):
        meant(sources=("plan.md",), wing="nobody")
    assert meant(before=far, wing="nobody") == []


# --- forget: what becomes of it -------------------------------------------------------------------


def test_what_is_forgotten_leaves_store_and_index(mined, one, opened, found, forget):
    drawer = one("zqplan")
    assert forget(ids=(drawer.id,)) == ["zqplan"]
    assert drawer.id not in set.union(*found("zqplan summer"))
    with opened() as store:
        assert store.get([drawer.key]) == []
        index = mined.access.outfit.open_index(store)
        assert index is not None
        with closing(index):
            # Written anew, rather than left to be completed by who reads it.
            assert (index.position(), index.count()) == (store.revision(), 2)


def test_an_index_that_was_written_holds_no_vector_of_what_is_forgotten(
    palace, tmp_path, one, opened, forget
):
    files = {f"{number}.md": f"zqfile{number:03} text\n" for number in range(600)}
    mine(palace, age(write_files(tmp_path / "many", files)), wing="w")
    drawer = one("zqfile300")
    with opened() as store:
        vector = store.vectors([drawer.key])[drawer.key]
    assert holding(palace.home, vector)
    forget(ids=(drawer.id,))
    assert holding(palace.home, vector) == []


def holding(home: Path, data: bytes) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and data in path.read_bytes()]


def test_a_forgotten_file_is_skipped_from_then_on(mined, tree, forget, opened):
    assert forget(sources=("plan.md",)) == ["zqplan"]
    write_files(tree, {"plan.md": "zqplan for the winter\n"})
    report = mine(mined, tree, wing="w")
    assert [(skip.path, skip.reason) for skip in report.skipped] == [("plan.md", "forgotten")]
    assert words(list_drawers(mined)) == ["zqnote", "zqother"]
    with opened() as store:
        assert store.sources("w", str(tree))["plan.md"].state is SourceState.FORGOTTEN


def test_forgetting_the_same_source_again_finds_nothing_left(mined, forget):
    forget(sources=("plan.md",))
    runs = mined.runs.list()
    assert forget(sources=("plan.md",)) == []
    assert mined.runs.list() == runs


def test_cards_lose_what_is_forgotten_and_are_named(mined, one, link, opened):
    drawer = one("zqplan")
    link("card_a", drawer.id)
    for apply in (False, True):
        report = mined.removal.forget(Selection(ids=(drawer.id,)), apply=apply)
        assert report.cited == ((drawer.id, "card_a"),)
    with opened() as store:
        assert store.cited([drawer.key]) == {}


def test_a_wing_keeps_what_is_forgotten_in_another(mined, tree, forget, one):
    mine(mined, tree, wing="v")
    assert forget(sources=("plan.md",), wing="v") == ["zqplan"]
    assert one("zqplan").wing == "w"
    mine(mined, tree, wing="v")
    mine(mined, tree, wing="w")
    assert one("zqplan").wing == "w"


def test_an_empty_selection_writes_nothing(mined, forget):
    runs = mined.runs.list()
    assert forget(topic="zqnobody zqsaid") == []
    assert mined.runs.list() == runs


@pytest.mark.parametrize("step", ["rebuild_index", "scrub"])
def test_what_stands_in_the_way_of_cleaning_up_is_a_warning_and_done_later(
    mined, one, monkeypatch, step
):
    def refuse(*_: object) -> None:
        raise BusyError("somebody reads", hint="wait")

    drawer = one("zqplan")
    with monkeypatch.context() as patch:
        patch.setattr("mempal.adapters.sqlite.store.SqliteStore.scrub", refuse)
        if step == "rebuild_index":
            patch.setattr("mempal.palace.access.rebuild_index", refuse)
        (warning,) = mined.removal.forget(Selection(ids=(drawer.id,)), apply=True).warnings
    assert "somebody reads" in warning
    assert words(list_drawers(mined)) == ["zqnote", "zqother"]
    with mined.access.open(writable=False) as store:
        assert store.has_traces()

    rebuilt = []
    with monkeypatch.context() as patch:
        patch.setattr("mempal.palace.access.rebuild_index", lambda *_: rebuilt.append(1))
        with mined.access.open(writable=True) as store:
            assert not store.has_traces()
    assert rebuilt == [1]


@pytest.mark.skipif(os.name == "nt", reason="names that are no text")
def test_a_name_that_is_no_text(palace, tmp_path, meant):
    name = os.fsdecode(b"caf\xe9.md")
    mine(palace, write_files(tmp_path / "bytes", {name: "zqbytes\n"}), wing="w")
    assert meant(sources=(name,)) == ["zqbytes"]
