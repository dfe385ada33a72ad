"""What every store promises about deleting, purging, forgetting, and files that move or go."""

from dataclasses import replace

import pytest

from mempal.core.model import (
    Addition,
    Changes,
    Chunk,
    IndexEntry,
    Place,
    Scope,
    Source,
    SourceKind,
    SourceState,
    Term,
)
from mempal.core.ports import Store
from mempal.core.runs import Forgotten, RetireOutcome
from tests.drawers import by_hand, chunk, chunks, cite, dump, embed, note, put, source

NOTES = Place("w", "/tree", "notes.md")
LONG = "a sentence that is long enough"


def texts(store: Store, path: str = "notes.md") -> list[str]:
    return [drawer.content for drawer in store.drawers_of("w", "/tree", path)]


def seen(store: Store, scope: Scope | None = None) -> set[int]:
    return store.visible(range(99), scope or Scope(history=True))


# --- delete and restore -----------------------------------------------------------------------


def test_a_deleted_drawer_is_seen_by_nobody_and_comes_back(store):
    put(store, source(), "one", "two", "three")
    put(store, source(mined_at=200), "two", "three")
    before, revision = dump(store), store.revision()

    assert store.delete_drawers([2, 1, 2, 77], 300) == [2, 1]
    assert store.revision() == revision + 1
    assert seen(store) == {3}
    assert store.match_words([Term(("two",))], Scope(history=True), 9) == []
    assert [drawer.deleted_at for drawer in store.get([1, 2])] == [300, 300]
    assert list(store.entries_since(revision)) == [
        IndexEntry(1, None, "w", "r", current=False),
        IndexEntry(2, None, "w", "r", current=False),
    ]
    assert store.status().deleted == 2
    assert store.delete_drawers([1, 2], 400) == []
    assert put(store, source(mined_at=400), "two", "three") == Changes(unchanged=2)
    assert texts(store) == ["three"]

    assert store.restore_drawers([1, 3, 2, 77]) == [1, 2]
    assert store.revision() == revision + 2
    after = dump(store)
    assert (after[2], after[3]) == (before[2], before[3])
    assert list(store.entries_since(0)) == before[4]
    assert store.restore_drawers([1, 2, 3]) == []
    assert store.revision() == revision + 2


def test_what_a_card_cites_is_not_deleted(store):
    put(store, source(), "one", "two")
    first, second = store.drawers_of("w", "/tree", "notes.md")
    cite(store, "card_b", first.id)
    cite(store, "card_a", first.id)
    cite(store, "card_a", first.id, "refutes")

    assert store.cited(iter([1, 2, 3])) == {1: ("card_a", "card_b")}
    assert store.cited([]) == {}
    assert store.delete_drawers([first.key, second.key], 300) == [second.key]
    assert store.get([1]) == [first]


# --- purge ------------------------------------------------------------------------------------


def test_deleted_drawers_are_listed_by_time_and_wing(store):
    put(store, source(), "one", "two")
    put(store, source(wing="v"), "three")
    store.delete_drawers([1], 100)
    store.delete_drawers([2, 3], 200)

    def listed(before: int | None, wing: str | None) -> list[int]:
        return [drawer.key for drawer in store.deleted_drawers(before, wing)]

    assert listed(None, None) == [1, 2, 3]
    assert listed(200, None) == [1]
    assert listed(201, "w") == [1, 2]
    assert listed(None, "v") == [3]
    assert listed(100, None) == listed(None, "x") == []


def test_only_deleted_drawers_are_purged_and_indexes_learn_of_it(store):
    put(store, source(), "one", "two", "three", "four")
    store.delete_drawers([2, 3], 200)
    cite(store, "card", store.get([3])[0].id)
    position = store.revision()

    assert store.purge([1, 2, 2, 3, 77]) == 1

    assert store.revision() == position + 1
    assert [drawer.key for drawer in store.get(range(9))] == [1, 3, 4]
    assert store.vectors([2]) == {}
    assert store.holding(Term(("two",)), [1, 2, 3, 4]) == set()
    assert store.document_frequency(Term(("two",))) == 0
    assert store.count_drawers() == 3
    assert store.problems() == []
    assert list(store.entries_since(position)) == [IndexEntry(2, None, "w", "r", current=False)]
    assert store.count_entries_since(position) == 1
    assert [entry.key for entry in store.entries_since(0)] == [1, 2, 3, 4]
    assert store.count_entries_since(0) == 4
    assert store.purge([2]) == 0
    assert store.revision() == position + 1
    assert put(store, source(mined_at=300), "five").added == 1
    assert store.drawers_of("w", "/tree", "notes.md")[0].key == 5


def test_a_drawer_that_lapsed_is_purged_with_its_history(store):
    put(store, source(), "one")
    put(store, source(mined_at=200))
    put(store, source(mined_at=300), "one")
    store.delete_drawers([1], 400)
    assert store.purge([1]) == 1
    assert seen(store, Scope(as_of=150)) == set()
    assert store.problems() == []


# --- forget -----------------------------------------------------------------------------------


def test_forgotten_text_is_gone_and_does_not_come_back(store):
    put(store, source(), "one", "two", "three", "four")
    put(store, source(mined_at=200), "one", "two", "three")
    store.delete_drawers([3], 200)
    position = store.revision()

    assert store.forget([1, 3, 4, 4, 77], [], 300) == Forgotten(drawers=3, sources=0)

    assert store.revision() == position + 1
    assert [drawer.content for drawer in store.get(range(9))] == ["two"]
    assert [entry.key for entry in store.entries_since(position)] == [1, 3, 4]
    store.scrub()
    assert store.problems() == []
    for place in (source(mined_at=400), source("copy.md"), source(wing="v")):
        pieces = chunks("one", "two", "three", "four")
        assert [piece.content for piece in store.withhold(place, pieces)] == ["two"]
        assert set(store.missing_contents(place, pieces)) <= {"two"}
        expected = store.preview_source(place, pieces)
        assert store.replace_source(place, pieces, embed(chunks("two")), "file") == expected
        assert expected.added + expected.unchanged == 1
    assert note(store, by_hand(), "one") == Addition((), created=False)
    assert note(store, by_hand(), "one", "five").created
    assert [d.content for d in store.drawers_of("w", "", "note")] == ["five"]


def test_a_forgotten_line_is_known_again_in_its_source_whatever_is_around_it(store):
    put(store, source(), f"before\n  {LONG}\n}}\n", "rest")
    assert store.forget([1], [], 200).drawers == 1

    moved = [
        chunk(f"rest\n{LONG}  \n}}", symbols="rest sentence"),
        chunk(LONG),
        chunk(f"[forgotten]\n\n{LONG}\n"),
        chunk("}\n"),
    ]
    kept = store.withhold(source(), moved)
    assert [piece.content for piece in kept] == ["rest\n[forgotten]\n}", "}\n"]
    assert kept[0].symbols == "rest"
    assert kept[0].span == moved[0].span
    assert store.withhold(source(), kept) == kept
    # Elsewhere the same line says something else.
    assert store.withhold(source("other.md"), moved) == moved

    assert store.missing_contents(source(), moved) == ["rest\n[forgotten]\n}", "}\n"]
    assert store.preview_source(source(), moved) == Changes(added=2, superseded=1)
    assert store.replace_source(source(), moved, embed(kept), "file").added == 2
    assert texts(store) == ["rest\n[forgotten]\n}", "}\n"]
    assert store.holding(Term(("sentence",)), [1, 2, 3, 4]) == set()


def test_a_text_that_reads_forgotten_is_no_forgotten_text(store):
    put(store, source(), "[forgotten]", "x")
    assert texts(store) == ["[forgotten]", "x"]
    store.forget([2], [], 200)
    assert store.withhold(source(), chunks("[forgotten]")) == chunks("[forgotten]")


def test_what_is_left_of_a_forgotten_text_can_be_forgotten_too(store):
    put(store, source(), f"{LONG}\nmore")
    store.forget([1], [], 200)
    pieces = store.withhold(source(), chunks(f"{LONG}\nrest"))
    store.replace_source(source(mined_at=300), pieces, embed(pieces), "file")
    assert texts(store) == ["[forgotten]\nrest"]
    store.forget([2], [], 400)
    assert store.withhold(source(), chunks(f"{LONG}\nrest", "[forgotten]\nrest")) == []


def conversation(name: str, holder: str = "notes.md") -> Source:
    return source(
        f"tool:{name}",
        root="",
        kind=SourceKind.CONVERSATION,
        session=name,
        holder=replace(NOTES, path=holder),
    )


def test_a_forgotten_source_takes_nothing_any_more(store):
    put(store, source(tail="t"), "one", "two")
    put(store, source(mined_at=200, tail="t"), "two")
    put(store, conversation("a"), "said")
    put(store, source("other"), "kept")
    put(store, conversation("b", "other"), "also kept")

    assert store.forget([], [NOTES, Place("w", "/tree", "unknown")], 300) == Forgotten(3, 2)

    assert sorted(drawer.content for drawer in store.get(range(9))) == ["also kept", "kept"]
    barred = store.source(NOTES)
    assert barred is not None
    assert (barred.state, barred.tail, barred.path) == (SourceState.FORGOTTEN, None, "notes.md")
    before = dump(store)
    for place in (source(mined_at=400), conversation("a"), conversation("new")):
        assert store.withhold(place, chunks("new")) == []
        assert store.missing_contents(place, chunks("new")) == []
        assert store.preview_source(place, chunks("new")) == Changes()
        assert put(store, place, "new") == Changes()
        store.touch_source(replace(place, size=5))
    # A conversation stays forgotten in whatever file it turns up again.
    assert put(store, conversation("a", "other"), "new") == Changes()
    assert note(store, source(), "new") == Addition((), created=False)
    assert store.rename_source(NOTES, "elsewhere", "r", 400) == 0
    assert store.rename_source(Place("w", "/tree", "other"), "notes.md", "r", 400) == 0
    assert store.retire_sources([NOTES], 400) == RetireOutcome()
    assert store.drop_sources([NOTES]) == 0
    assert store.forget([], [NOTES], 400) == Forgotten(0, 0)
    assert dump(store) == before
    assert put(store, source("elsewhere"), "one", "new") == Changes(added=1)


def test_a_card_loses_its_link_to_what_is_forgotten(store):
    put(store, source(), "one", "two")
    for drawer in store.drawers_of("w", "/tree", "notes.md"):
        cite(store, "card", drawer.id)
    assert store.forget([1], [], 200) == Forgotten(1, 0)
    assert store.cited([1, 2]) == {2: ("card",)}
    store.scrub()
    assert store.problems() == []


def test_forgotten_lines_go_along_with_a_file_that_is_renamed(store):
    put(store, source(), f"{LONG}\n1", "two")
    store.forget([1], [], 200)
    assert store.rename_source(NOTES, "new.md", "r", 300) == 1
    for path in ("new.md", "notes.md"):
        assert [c.content for c in store.withhold(source(path), chunks(f"{LONG}\n2"))] == [
            "[forgotten]\n2"
        ]
    # The former place is kept for as long as it knows something.
    assert store.drop_sources([NOTES]) == 0


# --- renamed, gone ----------------------------------------------------------------------------


def test_a_renamed_file_keeps_its_drawers(store):
    put(store, source(size=5, mtime_ns=6, tail="t"), "one", "two", "three")
    put(store, source(mined_at=200, size=7, mtime_ns=8, tail="t"), "one", "two")
    store.delete_drawers([2], 250)
    put(store, conversation("a"), "said")
    before = store.get(range(9))
    position = store.revision()

    assert store.rename_source(NOTES, "sub/later.md", "s", 300) == 2

    assert store.revision() == position + 1
    after = store.get(range(9))
    assert after[:3] == [
        replace(drawer, source_file="sub/later.md", room="s") for drawer in before[:3]
    ]
    assert after[3] == replace(before[3], source_file="sub/later.md")
    assert [(entry.key, entry.room) for entry in store.entries_since(position)] == [
        (1, "s"),
        (2, "s"),
        (3, "s"),
    ]
    former, now = (
        store.sources("w", "/tree")["notes.md"],
        store.source(Place("w", "/tree", "sub/later.md")),
    )
    assert (former.state, former.moved_to, former.tail) == (SourceState.GONE, "sub/later.md", None)
    assert now == source("sub/later.md", room="s", mined_at=300, size=7, mtime_ns=8, tail="t")
    assert [held.path for held in store.held_in(now.place)] == ["tool:a"]
    assert store.count_by_source("w", "/tree") == {"sub/later.md": 2}
    assert store.holding(Term(("later",)), [1, 2, 3]) == {1, 2, 3}
    assert store.holding(Term(("notes",)), [1, 2, 3]) == set()
    assert store.problems() == []
    # Its text is known there: what was superseded comes back, what was deleted does not.
    place = source("sub/later.md", room="s", mined_at=400)
    assert put(store, place, "one", "two", "three") == Changes(unchanged=2, restored=1)
    assert store.drop_sources([NOTES, NOTES]) == 1
    assert store.source(NOTES) is None


def test_a_file_that_is_renamed_there_and_back_is_what_it_was(store):
    put(store, source(), "one", "two")
    before = store.get(range(9))
    assert store.rename_source(NOTES, "other", "r", 200) == 2
    assert store.rename_source(Place("w", "/tree", "other"), "notes.md", "r", 300) == 2
    assert store.get(range(9)) == before
    assert store.source(NOTES) == source(mined_at=300)
    assert store.sources("w", "/tree")["other"].moved_to == "notes.md"


def test_a_file_is_not_renamed_onto_one_that_has_drawers(store):
    put(store, source(), "one")
    put(store, source("other"), "two")
    before = dump(store)
    assert store.rename_source(NOTES, "other", "r", 200) == 0
    assert store.rename_source(NOTES, "notes.md", "s", 200) == 0
    assert store.rename_source(Place("w", "/tree", "unknown"), "new", "r", 200) == 0
    assert dump(store) == before


def test_a_file_that_was_skipped_stays_so_under_its_new_name(store):
    put(store, source(state=SourceState.SKIPPED, reason="binary"))
    revision = store.revision()
    assert store.rename_source(NOTES, "new", "r", 200) == 0
    now = store.source(Place("w", "/tree", "new"))
    assert now is not None
    assert (now.state, now.reason) == (SourceState.SKIPPED, "binary")
    assert store.revision() == revision


def test_a_file_that_is_gone_loses_what_no_card_cites_and_returns_whole(store):
    put(store, source(tail="t"), "one", "two", "three")
    put(store, conversation("a"), "said")
    store.delete_drawers([3], 150)
    first = store.get([1])[0]
    cite(store, "card_b", first.id)
    cite(store, "card_a", first.id)
    revision = store.revision()

    outcome = store.retire_sources([NOTES, NOTES, Place("w", "/tree", "unknown")], 200)

    assert outcome.superseded == 1
    assert list(outcome.protected) == [(first.id, "card_a"), (first.id, "card_b")]
    assert store.revision() == revision + 1
    assert texts(store) == ["one"]
    assert [drawer.superseded_at for drawer in store.get([1, 2, 3])] == [None, 200, 200]
    assert len(store.drawers_of("w", "", "tool:a")) == 1
    gone = store.source(NOTES)
    assert gone is not None
    assert (gone.state, gone.tail, gone.mined_at) == (SourceState.GONE, None, 200)
    assert store.drop_sources([NOTES]) == 0
    assert store.retire_sources([NOTES], 300).superseded == 0
    assert store.revision() == revision + 1

    assert put(store, source(mined_at=400), "one", "two", "three") == Changes(
        unchanged=2, restored=1
    )
    back = store.source(NOTES)
    assert back == source(mined_at=400)


def test_drawers_of_equal_text_are_told_whatever_became_of_them(store):
    put(store, source(), "one", "two", "one")
    put(store, source("other.md"), "one", "three")
    store.delete_drawers([1], 150)

    assert store.equal_to([3]) == [1, 3, 4]
    assert store.equal_to([2, 5]) == [2, 5]
    assert store.equal_to([99]) == store.equal_to([]) == []


def test_what_is_restored_is_current_only_while_its_text_is_there(store):
    put(store, source(), "one", "two")
    store.delete_drawers([2], 150)
    put(store, source(mined_at=200), "one")
    store.restore_drawers([2])
    assert texts(store) == ["one"]

    store.delete_drawers([2], 250)
    assert put(store, source(mined_at=300), "one", "two") == Changes(unchanged=2)
    assert texts(store) == ["one"]
    store.restore_drawers([2])
    assert texts(store) == ["one", "two"]


def test_only_sources_that_are_gone_and_empty_are_dropped(store):
    put(store, source())
    put(store, source("holds"))
    put(store, conversation("a", "holds"), "said")
    places = [NOTES, Place("w", "/tree", "holds"), Place("w", "/tree", "unknown")]
    assert store.drop_sources(places) == 0
    store.retire_sources(places, 200)
    assert store.drop_sources(places) == 1
    assert list(store.sources("w", "/tree")) == ["holds"]


def test_a_store_has_a_lineage_of_its_own(new_store):
    one, other = new_store(), new_store()
    assert one.lineage() == one.lineage() != other.lineage()
    assert one.lineage()


def test_a_store_without_vectors_may_change_its_embedder(store):
    store.bind_embedder("one")
    store.bind_embedder("two")
    assert store.embedder_identity() == "two"
    store.replace_source(source(), [Chunk("x")], embed([Chunk("x")]), "file")
    store.forget([1], [], 200)
    store.bind_embedder("three")
    assert store.embedder_identity() == "three"


@pytest.mark.parametrize("scrub", [True, False])
def test_scrubbing_changes_nothing_that_is_left(store, scrub):
    put(store, source(), "one", "two")
    store.forget([1], [], 200)
    before = dump(store)
    if scrub:
        store.scrub()
        store.scrub()
    assert dump(store) == before
    assert store.holding(Term(("two",)), [1, 2]) == {2}
