"""Sources, pieces and stores' contents for tests that need a few drawers.

Everything is filed under wing ``w``, room ``r`` and tree ``/tree`` unless a test says otherwise.
"""

from collections.abc import Sequence
from dataclasses import replace

from mempal.adapters.sqlite.store import SqliteStore
from mempal.core.model import (
    Addition,
    Changes,
    Chunk,
    Scope,
    Source,
    SourceClass,
    SourceKind,
    Span,
    Term,
)
from mempal.core.ports import Store
from mempal.testing import HashEmbedder, MemoryStore

EMBEDDER = HashEmbedder(16)


def source(path: str = "notes.md", **values) -> Source:
    defaults = {"wing": "w", "root": "/tree", "room": "r", "mined_at": 100, "content_sha256": "aa"}
    return Source(path=path, **(defaults | values))


def by_hand(name: str = "note", **values) -> Source:
    return source(name, root="", kind=SourceKind.MANUAL, **values)


def chunk(content: str, line: int = 1, symbols: str = "") -> Chunk:
    return Chunk(content, Span(line, line, 10 * line, 10 * line + 5), symbols)


def chunks(*contents: str) -> list[Chunk]:
    return [chunk(content, line) for line, content in enumerate(contents, 1)]


def embed(pieces: Sequence[Chunk]) -> dict[str, bytes]:
    texts = [piece.content for piece in pieces]
    return dict(zip(texts, EMBEDDER.embed_documents(texts), strict=True))


def put(store: Store, place: Source, *contents: str | Chunk) -> Changes:
    """Make texts, one a line, the current drawers of a source."""
    pieces = [
        item if isinstance(item, Chunk) else chunk(item, line)
        for line, item in enumerate(contents, 1)
    ]
    return store.replace_source(place, pieces, embed(pieces), SourceClass.FILE)


def note(store: Store, place: Source, *contents: str, importance: int = 0) -> Addition:
    """Store texts given by hand."""
    pieces = [Chunk(content) for content in contents]
    return store.add_manual(
        place, pieces, embed(pieces), importance=importance, source_class=SourceClass.PERSON
    )


def dump(store: Store) -> tuple[object, ...]:
    """Return everything a caller can see of a store, but for the size of its file."""
    keys = [entry.key for entry in store.entries_since(0)]
    return (
        store.revision(),
        store.embedder_identity(),
        store.get(keys),
        store.vectors(keys),
        list(store.entries_since(0)),
        {root: dict(store.sources(*root)) for root in store.roots()},
        replace(store.status(), bytes=0, schema_version=0),
    )


def snapshot(store: Store, *words: str) -> tuple[object, ...]:
    """Return what undoing must bring back: all but revisions and what is left of removed drawers.

    ``words`` are looked up in the word index, and every instant up to 500 is looked back at.
    """
    drawers = store.get([entry.key for entry in store.entries_since(0)])
    keys = [drawer.key for drawer in drawers]
    trees = {*store.roots(), *((drawer.wing, "") for drawer in drawers)}
    sources = {
        (*tree, kind): found
        for tree in trees
        for kind in SourceKind
        if (found := dict(store.sources(*tree, kind)))
    }
    return (
        drawers,
        store.vectors(keys),
        [entry for entry in store.entries_since(0) if entry.vector is not None],
        sources,
        {word: store.holding(Term((word,)), keys) for word in words},
        [
            store.visible(keys, Scope(as_of=instant))
            for instant in (*range(0, 50, 2), *range(50, 501, 50))
        ],
        [store.count_by_source(*tree) for tree in sorted(trees)],
        store.problems(),
    )


def cite(store: Store, card: str, drawer_id: str, role: str = "supports") -> None:
    """Let a card rest on a drawer."""
    (drawer,) = store.resolve(drawer_id)
    if isinstance(store, MemoryStore):
        store.link_card(card, drawer.key, role)
    elif isinstance(store, SqliteStore):
        store._connection.execute(
            "INSERT INTO card_links VALUES (?, ?, ?)", (card, drawer.key, role)
        )
