"""Any history of one store on SQLite and of its double in memory comes to the same."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.errors import UsageError
from mempal.core.model import (
    Chunk,
    IndexEntry,
    Place,
    Scope,
    Source,
    SourceClass,
    SourceState,
    Span,
    Term,
)
from mempal.core.words import find_words
from mempal.testing import MemoryStore
from tests.drawers import by_hand, dump, embed, snapshot, source

WINGS = st.sampled_from(["w", "v"])
ROOMS = st.sampled_from(["r", "s"])
PATHS = st.sampled_from(["a", "b/c.py", "\udcff"])
ROOTS = st.sampled_from(["/tree", "/other"])
TEXTS = st.sampled_from(["kiwi", "mango", "kiwi mango", "parseConfig", "決定採用", "", "a\0b"])
SPANS = st.none() | st.builds(Span, *[st.integers(1, 9)] * 4)
LOOKED_UP = ("kiwi", "mango", "py", "b")
PIECES = st.lists(
    st.builds(Chunk, TEXTS, SPANS, st.sampled_from(["", "", "someName", "other_name"])), max_size=5
)
TERMS = st.builds(
    Term,
    st.sampled_from(["kiwi", "mango", "config", "決定", "採", "some", "name", "py"]).map(
        lambda word: (word,)
    ),
    st.booleans(),
)


class Histories(RuleBasedStateMachine):
    """Everything that may happen to a store happens to two; an index follows the first."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "palace.db"
        self.stores = [SqliteStore(self.path, writable=True), MemoryStore()]
        self.index: dict[int, IndexEntry] = {}
        self.position = 0
        self.now = 0
        # What there was when the run began that is under way, and the last run that was looked at.
        self.before: tuple[object, ...] | None = None
        self.last = 0
        # Whether all text given is stored: a person has taken nothing away yet.
        self.whole = True

    def teardown(self) -> None:
        self.stores[0].close()
        self.folder.cleanup()

    def both(self, ask) -> object:
        real, double = (ask(store) for store in self.stores)
        assert real == double
        return real

    def draw_source(self, wing: str, root: str, path: str, room: str, digest: str) -> Source:
        return source(
            path, wing=wing, root=root, room=room, mined_at=self.now, content_sha256=digest
        )

    @rule(elapsed=st.integers(0, 3))
    def wait(self, elapsed: int) -> None:
        self.now += elapsed

    @rule(
        wing=WINGS,
        root=ROOTS,
        path=PATHS,
        room=ROOMS,
        digest=st.sampled_from(["aa", "bb"]),
        pieces=PIECES,
    )
    def replace_source(self, wing, root, path, room, digest, pieces) -> None:
        place = self.draw_source(wing, root, path, room, digest)
        missing = self.both(lambda store: store.missing_contents(place, pieces))
        expected = self.both(lambda store: store.preview_source(place, pieces))
        before = self.stores[0].revision()
        vectors = {text: vector for text, vector in embed(pieces).items() if text in missing}
        changes = self.both(
            lambda store: store.replace_source(place, pieces, vectors, SourceClass.FILE)
        )
        assert changes == expected
        changed = bool(changes.added or changes.superseded or changes.restored)
        assert self.stores[0].revision() == before + changed
        stored = self.both(lambda store: store.drawers_of(wing, root, path))
        if not self.whole:
            return
        assert [drawer.content for drawer in stored] == [piece.content for piece in pieces]
        assert [drawer.span for drawer in stored] == [piece.span for piece in pieces]

    @rule(wing=WINGS, root=ROOTS, path=PATHS, reason=st.sampled_from(["binary", "too large"]))
    def skip_source(self, wing, root, path, reason) -> None:
        place = source(
            path,
            wing=wing,
            root=root,
            mined_at=self.now,
            state=SourceState.SKIPPED,
            reason=reason,
        )
        self.both(lambda store: store.replace_source(place, [], {}, SourceClass.FILE))

    @rule(
        name=st.sampled_from(["note", "other"]),
        wing=WINGS,
        room=ROOMS,
        texts=st.lists(TEXTS, min_size=1, max_size=3),
        importance=st.integers(0, 5),
    )
    def add_manual(self, name, wing, room, texts, importance) -> None:
        place = by_hand(name, wing=wing, room=room, mined_at=self.now)
        pieces = [Chunk(text) for text in texts]
        added = self.both(
            lambda store: store.add_manual(
                place,
                pieces,
                embed(pieces),
                importance=importance,
                source_class=SourceClass.PERSON,
            )
        )
        again = self.both(
            lambda store: store.add_manual(
                place, pieces, {}, importance=0, source_class=SourceClass.PERSON
            )
        )
        assert not again.created
        assert len(again.drawer_ids) == len(added.drawer_ids)

    @rule(wing=WINGS, root=ROOTS, path=PATHS, commit=st.sampled_from(["c1", "c2"]))
    def touch_source(self, wing, root, path, commit) -> None:
        known = self.both(lambda store: dict(store.sources(wing, root))).get(path)
        if known is not None:
            place = source(
                path,
                wing=wing,
                root=root,
                room=known.room,
                commit=commit,
                mined_at=self.now,
                content_sha256=known.content_sha256,
            )
            self.both(lambda store: store.touch_source(place))

    @rule(wing=WINGS)
    def move_root(self, wing) -> None:
        roots = self.both(lambda store: store.roots(wing))
        if len(roots) == 1:
            old = roots[0][1]
            new = "/other" if old == "/tree" else "/tree"
            self.both(lambda store: store.move_root(wing, old, new))

    @rule(name=st.sampled_from(["one", "two"]))
    def replace_vectors(self, name) -> None:
        if self.before is not None:
            return  # undoing a run leaves vectors as they are
        self.both(
            lambda store: store.replace_vectors(
                name,
                [
                    (key, embed([Chunk(name + text)])[name + text])
                    for batch in store.contents(2, deleted=True)
                    for key, text in batch
                ],
            )
        )

    @rule(keys=st.lists(st.integers(1, 12), max_size=4), far=st.booleans())
    def delete(self, keys, far) -> None:
        keys = [key + 12 * far for key in keys]
        self.whole = False
        self.both(lambda store: store.delete_drawers(keys, self.now))

    @rule(keys=st.lists(st.integers(1, 24), max_size=4))
    def restore(self, keys) -> None:
        self.both(lambda store: store.restore_drawers(keys))

    @rule(before=st.none() | st.integers(0, 20), wing=st.none() | WINGS)
    def purge(self, before, wing) -> None:
        drawers = self.both(lambda store: store.deleted_drawers(before, wing))
        self.both(lambda store: store.purge([drawer.key for drawer in drawers]))

    @rule(wing=WINGS, root=ROOTS, path=PATHS, whole=st.booleans(), key=st.integers(1, 24))
    def forget(self, wing, root, path, whole, key) -> None:
        # Seldom a whole source: nothing happens to it any more.
        self.whole = False
        places = [Place(wing, root, path)] if whole and key % 4 == 0 else []
        self.both(lambda store: store.forget([key], places, self.now))
        self.both(lambda store: store.scrub())

    @rule(wing=WINGS, root=ROOTS, path=PATHS, new=PATHS, room=ROOMS)
    def rename(self, wing, root, path, new, room) -> None:
        place = Place(wing, root, path)
        self.both(lambda store: store.rename_source(place, new, room, self.now))
        self.both(lambda store: store.source(place))

    @rule(wing=WINGS, root=ROOTS, paths=st.lists(PATHS, max_size=2))
    def retire(self, wing, root, paths) -> None:
        places = [Place(wing, root, path) for path in paths]
        self.both(lambda store: store.retire_sources(places, self.now))

    @rule(wing=WINGS, root=ROOTS, path=PATHS)
    def drop(self, wing, root, path) -> None:
        self.both(lambda store: store.drop_sources([Place(wing, root, path)]))

    @rule()
    def begin_run(self) -> None:
        if self.before is None:
            self.before = self.both(lambda store: snapshot(store, *LOOKED_UP))
            for store in self.stores:
                store.begin_run("mine", None, {})

    @rule(back=st.booleans())
    def finish_run(self, back) -> None:
        """End a run and, as often as not, undo it: all is what it was before."""
        if self.before is None:
            return
        before, self.before = self.before, None
        undone = []
        for store in self.stores:
            store.finish_run({"added": 1})
            last = store.runs(1)
            if back and last and last[0].id > self.last:
                try:
                    undone.append(store.undo_run(last[0].id, self.now))
                except UsageError:
                    undone.append(None)
        self.last = max([self.last, *(run.id for store in self.stores for run in store.runs(1))])
        if back and None not in undone:
            assert self.both(lambda store: snapshot(store, *LOOKED_UP)) == before
        else:
            assert set(undone) <= {None}

    @rule()
    def rebuild_words(self) -> None:
        self.both(lambda store: store.rebuild_words())

    @rule()
    def open_again(self) -> None:
        if self.before is not None:
            return  # the run would be one of a process that is gone
        self.stores[0].close()
        self.stores[0] = SqliteStore(self.path, writable=True)

    @rule(term=TERMS, wing=st.none() | WINGS, history=st.booleans())
    def match_words(self, term, wing, history) -> None:
        scope = Scope(wing, history=history)
        self.both(lambda store: {match.key for match in store.match_words([term], scope, 1_000)})
        self.both(lambda store: store.document_frequency(term))

    @rule(at=st.integers(0, 30), wing=st.none() | WINGS, room=st.none() | ROOMS)
    def look_back(self, at, wing, room) -> None:
        keys = [entry.key for entry in self.stores[0].entries_since(0)]
        seen = self.both(lambda store: store.visible(keys, Scope(wing, room, as_of=at)))
        ever = self.both(lambda store: store.visible(keys, Scope(wing, room, history=True)))
        assert seen <= ever

    @rule(wing=st.none() | WINGS, limit=st.integers(0, 5))
    def look_at_recent(self, wing, limit) -> None:
        self.both(lambda store: store.recent(wing, limit))
        self.both(lambda store: store.has_wing(wing or ""))

    @invariant()
    def all_that_can_be_seen_is_equal(self) -> None:
        self.both(dump)
        assert [text for text in self.stores[0].problems() if "no vector" not in text] == []

    @invariant()
    def an_index_that_follows_is_complete(self) -> None:
        for entry in self.stores[0].entries_since(self.position):
            self.index.pop(entry.key, None)
            if entry.vector is not None:
                self.index[entry.key] = entry
        self.position = self.stores[0].revision()
        whole = [entry for entry in self.stores[0].entries_since(0) if entry.vector is not None]
        assert self.index == {entry.key: entry for entry in whole}


Histories.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
test_histories = Histories.TestCase


@given(st.lists(st.text(max_size=40), max_size=4), st.data())
@settings(max_examples=40)
def test_every_word_of_a_text_finds_it(texts, data):
    """Whatever was stored, each of its words, as the analyser reads it, leads back to it."""
    pieces = [Chunk(text.encode("utf-8", "replace").decode()) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "palace.db", writable=True)
        store.replace_source(source("x"), pieces, embed(pieces), SourceClass.FILE)
        for key, piece in enumerate(pieces, 1):
            words = find_words(piece.content)
            if words:
                word = data.draw(st.sampled_from(words))
                assert key in store.holding(Term((word.lower(),)), [key])
        store.close()
