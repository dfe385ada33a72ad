"""What every store promises about runs: each is recorded, and gives back what was before it."""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from mempal.core.errors import NotFoundError, UsageError
from mempal.core.model import Changes, Place, Source, SourceKind, SourceState
from mempal.core.ports import Store
from mempal.core.runs import Run, RunState, Undone
from tests.drawers import by_hand, chunk, cite, note, put, snapshot, source

WORDS = ("one", "two", "three", "notes", "renamed", "md")


def run(store: Store, *acts: Callable[[], object], verb: str = "mine") -> int:
    """Do something as one run; return its number."""
    number = store.begin_run(verb, "w", {"told": True})
    for act in acts:
        act()
    store.finish_run({"counted": len(acts)})
    return number


def look(store: Store) -> tuple[object, ...]:
    return snapshot(store, *WORDS)


# --- the record -------------------------------------------------------------------------------


def test_a_run_is_recorded_with_who_and_what(store):
    number = store.begin_run("mine", "w", {"paths": ["/tree"], "dry": False})
    begun = store.run(number)
    assert begun is not None
    assert begun.state is RunState.RUNNING
    assert begun.detail == {"paths": ["/tree"], "dry": False}

    put(store, source(), "one")
    store.finish_run({"added": 1, "dry": None})

    (ended,) = store.runs(5)
    assert ended == store.run(number)
    assert ended == replace(
        begun, finished_at=ended.finished_at, detail={"paths": ["/tree"], "dry": None, "added": 1}
    )
    assert (ended.verb, ended.wing, ended.process) == ("mine", "w", os.getpid())
    assert ended.state is RunState.DONE
    assert ended.finished_at is not None
    assert ended.started_at <= ended.finished_at


def test_the_newest_runs_come_first(store):
    numbers = [run(store, lambda text=text: put(store, source(), text)) for text in "abc"]
    assert [item.id for item in store.runs(2)] == [numbers[2], numbers[1]]
    assert store.runs(0) == []
    assert store.run(99) is None


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.revision(),
        lambda store: put(store, source(), "one", "two"),
        lambda store: store.delete_drawers([77], 5),
        lambda store: store.rebuild_words(),
        lambda store: (store.delete_drawers([1], 5), store.restore_drawers([1])),
    ],
)
def test_a_run_that_changed_nothing_is_not_listed(store, act):
    put(store, source(), "one", "two")
    number = run(store, lambda: act(store))
    assert store.runs(5) == []
    assert store.run(number) is None
    assert run(store, lambda: put(store, source(), "three")) > number


def test_without_a_run_nothing_is_finished(store):
    store.finish_run({"added": 1})
    assert store.runs(5) == []


def test_what_changes_outside_of_a_run_belongs_to_none(store):
    number = run(store, lambda: put(store, source(), "one"))
    put(store, source("other"), "two")
    store.undo_run(number, 9)
    assert [drawer.content for drawer in store.get(range(9))] == ["two"]


# --- undoing ----------------------------------------------------------------------------------


def rename(store: Store) -> None:
    assert store.rename_source(Place("w", "/tree", "notes.md"), "renamed.md", "s", 350) == 2


def retire(store: Store) -> None:
    assert store.retire_sources([Place("w", "/tree", "notes.md")], 350).superseded == 2


CHANGES: list[Callable[[Store], object]] = [
    lambda store: put(store, source("new.md", mined_at=350), "one"),
    lambda store: put(store, source("\udcff\0", root="/\udcfe", mined_at=350), "one"),
    lambda store: put(store, source(mined_at=350, size=9, tail="t"), "two", "four"),
    lambda store: put(store, source(mined_at=350), "three", "one"),
    lambda store: put(store, source(mined_at=350, room="s"), "one", "two"),
    lambda store: put(store, source(mined_at=350), chunk("two", 7, "later")),
    lambda store: put(store, source(mined_at=350, state=SourceState.SKIPPED, reason="binary")),
    lambda store: store.touch_source(source(mined_at=350, commit="new", size=77)),
    lambda store: note(store, by_hand(mined_at=350), "five", importance=3),
    lambda store: note(store, by_hand(mined_at=350), "two", importance=5),
    lambda store: store.move_root("w", "/tree", "/moved"),
    lambda store: store.delete_drawers([1, 2, 3, 4], 350),
    lambda store: store.restore_drawers([4]),
    rename,
    retire,
    lambda store: (rename(store), put(store, source("renamed.md", room="s"), "two", "six")),
    lambda store: (retire(store), put(store, source(mined_at=400), "two")),
    lambda store: (
        rename(store),
        store.drop_sources([Place("w", "/tree", "notes.md")]),
        put(store, source("notes.md", mined_at=360), "quite another"),
    ),
    lambda store: store.drop_sources([Place("w", "/tree", "left.md")]),
]


def fill(store: Store) -> None:
    """A source with a drawer that lapsed, one that was superseded and one that was deleted."""
    store.bind_embedder("any")
    put(store, source(mined_at=50), "one", "two", chunk("three", 3, "former"), "deleted")
    put(store, source(mined_at=100), "two", "deleted")
    put(store, source(mined_at=150), "one", "two", "deleted")
    put(store, source("left.md"))
    store.retire_sources([Place("w", "/tree", "left.md")], 200)
    note(store, by_hand(mined_at=250), "one more", importance=1)
    store.delete_drawers([4], 300)


@pytest.mark.parametrize("change", CHANGES)
def test_undoing_a_run_gives_back_what_was_before_it(store, change):
    fill(store)
    before, revision = look(store), store.revision()
    number = run(store, lambda: change(store))
    assert look(store) != before
    during = store.revision()

    undone = store.undo_run(number, 777)

    assert look(store) == before
    assert (undone.run_id, undone.verb) == (number, "mine")
    assert store.revision() == during + bool(undone.removed or undone.returned)
    assert store.revision() >= revision
    record = store.run(number)
    assert record is not None
    assert (record.state, record.undone_at) == (RunState.UNDONE, 777)


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_that_was_undone_can_be_done_again(store, change):
    fill(store)
    number = run(store, lambda: change(store))
    after = look(store)

    def facts(state: tuple[object, ...]) -> list[tuple[object, ...]]:
        drawers = [replace(drawer, key=0) for drawer in state[0]]
        return [*sorted((d.id, d) for d in drawers), (state[3],)]

    store.undo_run(number, 777)
    run(store, lambda: change(store))
    assert facts(look(store)) == facts(after)


def test_an_index_that_follows_learns_what_was_undone(store):
    fill(store)
    index = {entry.key: entry for entry in store.entries_since(0) if entry.vector is not None}
    before, position = dict(index), store.revision()
    number = run(store, lambda: put(store, source(mined_at=350), "two", "four"), lambda: None)
    for entry in store.entries_since(position):
        index[entry.key] = entry
    position = store.revision()
    store.undo_run(number, 777)
    for entry in store.entries_since(position):
        index.pop(entry.key, None)
        if entry.vector is not None:
            index[entry.key] = entry
    assert index == before


def test_keys_of_drawers_that_were_undone_are_not_given_again(store):
    number = run(store, lambda: put(store, source(), "one"))
    (former,) = store.drawers_of("w", "/tree", "notes.md")
    assert store.undo_run(number, 9) == Undone(number, "mine", removed=1, returned=0, sources=1)
    assert store.sources("w", "/tree") == {}
    put(store, source(), "one")
    (drawer,) = store.drawers_of("w", "/tree", "notes.md")
    assert drawer.key > former.key
    assert drawer.id == former.id


def test_runs_are_undone_from_the_last_to_the_first(store):
    states = [look(store)]
    numbers = []
    for contents in (["one"], ["one", "two"], ["two"], ["two", "one"]):
        place = source(mined_at=100 * len(states), content_sha256=str(contents))
        numbers.append(run(store, lambda place=place, c=contents: put(store, place, *c)))
        states.append(look(store))
    for number, state in zip(reversed(numbers), reversed(states[:-1]), strict=True):
        store.undo_run(number, 9)
        assert look(store) == state


@pytest.mark.parametrize(
    "later",
    [
        lambda store: put(store, source(mined_at=200), "one", "three"),
        lambda store: store.delete_drawers([1], 200),
        lambda store: store.touch_source(source(mined_at=200)),
        lambda store: note(store, by_hand(), "one", importance=3),
        lambda store: store.rename_source(Place("w", "/tree", "notes.md"), "x", "r", 200),
        lambda store: put(
            store,
            source(
                "tool:x",
                root="",
                kind=SourceKind.CONVERSATION,
                holder=Place("w", "/tree", "notes.md"),
            ),
            "said",
        ),
    ],
)
def test_a_run_whose_traces_were_changed_since_is_kept(store, later):
    number = run(store, lambda: put(store, source(), "one", "two"))
    second = run(store, lambda: later(store), verb="sync")
    before = look(store)

    with pytest.raises(UsageError, match=f"run {second} has changed what run {number}") as caught:
        store.undo_run(number, 9)
    assert f"mempal undo {second}" in caught.value.hint
    assert look(store) == before

    store.undo_run(second, 9)
    store.undo_run(number, 9)
    assert store.get(range(9)) == []


def test_a_run_about_other_things_does_not_stand_in_the_way(store):
    number = run(store, lambda: put(store, source(), "one"))
    run(store, lambda: put(store, source("other"), "one"))
    store.undo_run(number, 9)
    assert [drawer.source_file for drawer in store.get(range(9))] == ["other"]


def test_a_run_cannot_be_undone_twice_or_while_it_runs_or_when_there_is_none(store):
    with pytest.raises(NotFoundError, match="there is no run 5"):
        store.undo_run(5, 9)
    number = store.begin_run("mine", "w", {})
    put(store, source(), "one")
    with pytest.raises(UsageError, match=f"run {number} .mine. is under way in process"):
        store.undo_run(number, 9)
    store.finish_run({})
    store.undo_run(number, 9)
    with pytest.raises(UsageError, match="was undone already"):
        store.undo_run(number, 9)


@pytest.mark.parametrize("verb", ["forget", "purge", "other"])
def test_what_is_gone_for_good_is_not_undone(store, verb):
    put(store, source(), "one")
    store.delete_drawers([1], 200)

    def act() -> object:
        return store.forget([1], [], 300) if verb == "forget" else store.purge([1])

    number = run(store, act, verb=verb)
    with pytest.raises(UsageError, match="gone for good"):
        store.undo_run(number, 9)


def test_drawers_that_a_card_cites_are_not_undone(store):
    number = run(store, lambda: put(store, source(), "one", "two"))
    first = store.drawers_of("w", "/tree", "notes.md")[0]
    cite(store, "card_b", first.id)
    cite(store, "card_a", first.id, "refutes")
    before = look(store)
    with pytest.raises(UsageError, match="cards cite: card_a, card_b"):
        store.undo_run(number, 9)
    assert look(store) == before


def test_what_was_forgotten_since_stays_forgotten(store):
    number = run(
        store,
        lambda: put(store, source(), "one line that is long enough", "two"),
        lambda: put(store, source("other"), "three"),
    )
    run(
        store,
        lambda: store.forget([1], [Place("w", "/tree", "other")], 200),
        verb="forget",
    )
    store.undo_run(number, 9)

    assert store.get(range(9)) == []
    remaining = dict(store.sources("w", "/tree"))
    assert remaining["other"].state is SourceState.FORGOTTEN
    # The place keeps its tombstones, and is read again.
    assert (remaining["notes.md"].state, remaining["notes.md"].size) == (SourceState.GONE, 0)
    assert put(store, source(), "one line that is long enough", "two") == Changes(1)
    assert put(store, source("other"), "three") == Changes()


def test_a_conversation_comes_back_to_the_file_that_held_it(store):
    holder = Place("w", "/tree", "a.jsonl")
    talk = Source(
        "w", "", "tool:x", SourceKind.CONVERSATION, mined_at=100, session="x", holder=holder
    )
    put(store, source("a.jsonl"))
    put(store, talk, "said")
    before = look(store), store.held_in(holder)
    number = run(
        store,
        lambda: store.rename_source(holder, "b.jsonl", "r", 200),
        lambda: store.move_root("w", "/tree", "/moved"),
        lambda: put(
            store, replace(talk, holder=Place("w", "/moved", "b.jsonl")), "said", "and more"
        ),
    )
    (first, _) = store.drawers_of("w", "", "tool:x")
    assert (first.root, first.source_file) == ("/moved", "b.jsonl")
    store.undo_run(number, 9)
    assert (look(store), store.held_in(holder)) == before


def test_undoing_within_a_run_is_no_part_of_it(store):
    number = run(store, lambda: put(store, source(), "one"))
    outer = store.begin_run("other", None, {})
    store.undo_run(number, 9)
    put(store, source("x"), "two")
    store.finish_run({})
    assert isinstance(store.run(outer), Run)
    store.undo_run(outer, 9)
    assert store.get(range(9)) == []
