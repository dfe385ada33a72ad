"""What the features ask of the outside world. Adapters implement these; nothing here imports one.

The contract suites under ``tests/contract`` hold the invariants that the docstrings state, and run
on every implementation, the in-memory doubles of :mod:`mempal.testing` included.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from mempal.core.commits import CommitListing
from mempal.core.model import (
    Addition,
    Changes,
    Chunk,
    Drawer,
    IndexEntry,
    Neighbor,
    Place,
    Repository,
    RoomCount,
    Scope,
    Source,
    SourceClass,
    SourceKind,
    StoreStatus,
    Term,
    TreeListing,
    WordMatch,
)
from mempal.core.stores import Relocation, Removal, RunLog


class Embedder(Protocol):
    """Turns text into packed vectors (see :mod:`mempal.core.vector`).

    The same text always gives the same vector; an empty list gives an empty list; every vector has
    ``dimensions`` components and unit length, or is all zero when the text holds nothing the model
    knows.
    """

    @property
    def identity(self) -> str:
        """Name of model, weights and rules; two embedders with one identity give equal vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of components of every vector."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts for storing, in order.

        Raises:
            EmbedderError: The model cannot be loaded or did not answer as it should.
        """
        ...

    def embed_query(self, text: str) -> bytes:
        """Embed a question.

        Raises:
            EmbedderError: As above.
        """
        ...


class VectorIndex(Protocol):
    """A derived index over the store's vectors; when lost, it is rebuilt from the store.

    ``position`` is the store revision the index holds everything up to. Whoever writes brings
    entries in with ``apply`` and makes them durable, together with the new position, with
    ``commit``; until then another process sees the former state. An entry without a vector removes
    the drawer. Applying the same entries twice changes nothing. A vector of the wrong length is
    refused before anything is written.
    """

    @property
    def name(self) -> str:
        """Short name of the kind of index, for status and messages."""
        ...

    @property
    def volatile_reads(self) -> bool:
        """Whether a reader may ``apply`` missing entries for itself without writing a file."""
        ...

    def position(self) -> int:
        """Return the revision up to which this index holds the store.

        0 when it is empty, missing or damaged.
        """
        ...

    def apply(self, entries: Iterable[IndexEntry]) -> None:
        """Add, replace or remove entries.

        Raises:
            ValueError: A vector has the wrong number of components.
            DamagedError: The index cannot be written.
        """
        ...

    def commit(self, position: int) -> None:
        """Make everything applied durable and record ``position``.

        Raises:
            DamagedError: The index cannot be written.
        """
        ...

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        """Return up to ``limit`` drawers most similar to ``vector``, best first, ties by key.

        ``scope.wing`` and ``scope.room`` restrict the drawers; superseded ones are left out when
        ``scope.current_only``. An all-zero query has no neighbours.

        Raises:
            ValueError: The vector has the wrong number of components.
            DamagedError: The index cannot be read; ``mempal reindex`` rebuilds it.
        """
        ...

    def count(self) -> int:
        """Return the number of drawers in the index."""
        ...

    def problems(self) -> list[str]:
        """Check the index by searching stored vectors for themselves.

        Return what is wrong, in words.
        """
        ...

    def reset(self) -> None:
        """Empty the index; the next ``commit`` makes that durable."""
        ...

    def close(self) -> None:
        """Release files and handles."""
        ...


class Store(RunLog, Removal, Relocation, Protocol):
    """The record of truth: sources, drawers, their vectors and the word index.

    Every writing method is one transaction: all of it is stored or nothing is. Each transaction
    that changes a drawer gets the next ``revision``, which its drawers carry, so that an index can
    ask for what it has missed.
    """

    def revision(self) -> int:
        """Return the number of the last committed change to drawers; 0 in a new store."""
        ...

    def lineage(self) -> str:
        """Return the token that tells this store and its copies from all others."""
        ...

    def embedder_identity(self) -> str | None:
        """Return the identity of the embedder the palace was written with.

        ``None`` when none was yet.
        """
        ...

    def bind_embedder(self, identity: str) -> None:
        """Record the embedder of a store without vectors; a no-op when it is the same one.

        Raises:
            EmbedderMismatchError: The store has vectors of another embedder.
        """
        ...

    def sources(
        self, wing: str, root: str, kind: SourceKind = SourceKind.FILE
    ) -> Mapping[str, Source]:
        """Return the sources of one kind read from one tree into one wing, by path."""
        ...

    def source(self, place: Place) -> Source | None:
        """Return the source filed at a place."""
        ...

    def held_in(self, place: Place) -> list[Source]:
        """Return the conversations that a file holds, by path."""
        ...

    def count_by_source(self, wing: str, root: str) -> Mapping[str, int]:
        """Return how many current drawers each file of one tree has or holds, by path."""
        ...

    def roots(self, wing: str | None = None) -> list[tuple[str, str]]:
        """Return (wing, root) of every tree that was mined, sorted."""
        ...

    def move_root(self, wing: str, old: str, new: str) -> None:
        """Record that the tree at ``old`` now lies at ``new``.

        Its sources and drawers stay what they are.
        """
        ...

    def missing_contents(
        self, source: Source, chunks: Sequence[Chunk], start: int = 0
    ) -> list[str]:
        """Return, without repeats, the texts that ``replace_source`` would need a vector for."""
        ...

    def preview_source(self, source: Source, chunks: Sequence[Chunk], start: int = 0) -> Changes:
        """Return what ``replace_source`` would do, without doing it."""
        ...

    def replace_source(
        self,
        source: Source,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, bytes],
        source_class: SourceClass,
        start: int = 0,
    ) -> Changes:
        """Make ``chunks`` the current drawers of ``source`` from the place ``start`` on.

        Drawers whose text is among the chunks stay (with their new place), superseded ones come
        back, deleted ones stay deleted, new text is added with its vector from ``vectors``, and
        drawers whose text is not among the chunks are superseded. Drawers before ``start`` are
        left alone. Storing the same chunks again changes no drawer.

        Args:
            source: The source; a holder that it names is stored already.
            chunks: Its text; a chunk with a voice says itself who speaks.
            vectors: Vectors of at least the texts that ``missing_contents`` names.
            source_class: Who speaks in chunks without a voice.
            start: Place of the first chunk.

        Raises:
            VectorsMissingError: New text has no vector.
            EmbedderMismatchError: The store was bound to another embedder meanwhile.
        """
        ...

    def touch_source(self, source: Source) -> None:
        """Update size, time and commit of a source whose drawers did not change.

        Nothing is done to a source that is not stored with this text: another process has changed
        it, or let go of it, and to call it up to date would lose its text for good.
        """
        ...

    def add_manual(
        self,
        source: Source,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, bytes],
        *,
        importance: int,
        source_class: SourceClass,
    ) -> Addition:
        """Store text given by hand.

        Text that is already current in the same wing and room is not stored again. Where nothing
        may be stored because it was forgotten, no id is returned.
        """
        ...

    def get(self, keys: Sequence[int]) -> list[Drawer]:
        """Return the drawers with these keys, in this order; unknown keys are left out."""
        ...

    def resolve(self, drawer_id: str) -> list[Drawer]:
        """Return the drawers whose id is, or begins with, ``drawer_id``.

        At most ten, deleted ones included.
        """
        ...

    def drawers_of(self, wing: str, root: str, path: str) -> list[Drawer]:
        """Return the current drawers of one source in the order of their place."""
        ...

    def paths_of_content(self, wing: str, root: str, content_sha256: str) -> list[str]:
        """Return the paths in one tree whose files had this content when they were last read."""
        ...

    def neighbors(self, drawer: Drawer, distance: int) -> list[Drawer]:
        """Return the other current drawers of its source within ``distance`` places, in order."""
        ...

    def visible(self, keys: Iterable[int], scope: Scope) -> set[int]:
        """Return those of ``keys`` that ``scope`` admits; deleted drawers are never visible."""
        ...

    def recent(
        self, wing: str | None, limit: int, classes: Collection[SourceClass] | None = None
    ) -> list[Drawer]:
        """Return current drawers, the most important and then the newest first, one per source.

        With ``classes`` only those of such speakers.
        """
        ...

    def match_words(self, terms: Sequence[Term], scope: Scope, limit: int) -> list[WordMatch]:
        """Return drawers in scope that hold at least one term, by BM25, best first, ties by key."""
        ...

    def document_frequency(self, term: Term, wing: str | None = None) -> int:
        """Return how many drawers of a wing, or of all, hold a term, superseded ones included."""
        ...

    def holding(self, term: Term, keys: Sequence[int]) -> set[int]:
        """Return those of ``keys`` whose drawers hold a term."""
        ...

    def count_drawers(self, wing: str | None = None) -> int:
        """Return the number of drawers of a wing, or of all, superseded ones included."""
        ...

    def vector_dimensions(self) -> int | None:
        """Return the number of components of the stored vectors; ``None`` when there are none."""
        ...

    def vectors(self, keys: Iterable[int]) -> dict[int, bytes]:
        """Return the stored packed vectors of these drawers; drawers without one are left out."""
        ...

    def entries_since(self, revision: int) -> Iterator[IndexEntry]:
        """Yield an index entry for every drawer changed after ``revision``, by key.

        Deleted and removed ones have no vector.
        """
        ...

    def count_entries_since(self, revision: int) -> int:
        """Return how many entries ``entries_since`` would yield."""
        ...

    def contents(self, batch: int, *, deleted: bool = False) -> Iterator[list[tuple[int, str]]]:
        """Yield (key, content) of every drawer in batches, by key.

        Deleted ones are among them only when ``deleted``; whoever embeds anew needs them, as they
        may be restored.
        """
        ...

    def replace_vectors(self, identity: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Give drawers new vectors and bind the store to another embedder, in one transaction."""
        ...

    def rebuild_words(self) -> int:
        """Rebuild the word index from the stored text; return the number of drawers indexed."""
        ...

    def has_wing(self, wing: str) -> bool:
        """Return whether a wing holds a current drawer; cheap in a palace of any size."""
        ...

    def rooms(self) -> tuple[RoomCount, ...]:
        """Return the size of every room with a current drawer, by wing and room."""
        ...

    def status(self) -> StoreStatus:
        """Return sizes, versions and counts per room."""
        ...

    def problems(self) -> list[str]:
        """Check the store's integrity without writing; return what is wrong, in words."""
        ...

    def close(self) -> None:
        """Release files and handles."""
        ...


class Repositories(Protocol):
    """What mining and citing ask of git. No method ever runs code that a repository names."""

    def find(self, path: Path) -> Repository | None:
        """Return the working tree that ``path`` lies in.

        ``None`` outside of any, and for a bare repository.
        """
        ...

    def is_bare(self, path: Path) -> bool:
        """Return whether ``path`` is itself a bare repository."""
        ...

    def list_tree(self, repository: Repository) -> TreeListing | None:
        """Return what git would show of a working tree.

        ``None`` when git cannot tell (no binary, no trust).
        """
        ...

    def tracked_paths(self, repository: Repository) -> frozenset[str]:
        """Return tracked paths without a git binary, read from the index file.

        Empty when it cannot be read.
        """
        ...

    def find_blob(self, repository: Repository, blob: str) -> str | None:
        """Return the first path in the checked-out commit that holds a blob.

        ``None`` when none does.
        """
        ...

    def list_commits(
        self, repository: Repository, since: str | None, after: str | None
    ) -> CommitListing | None:
        """Return the commits that the checked-out one is made of, itself included, oldest first.

        ``None`` when git cannot tell (no binary, no trust, no commit yet).

        Args:
            repository: What ``find`` said.
            since: Only commits since then: a revision, which is not listed itself, or a date, ISO
                8601 or as git writes them (``2 weeks ago``).
            after: Last commit that was read before. Where it is part of the history only what came
                behind it is listed; else the listing is complete.

        Raises:
            UsageError: ``since`` is neither a revision nor a date.
        """
        ...

    def excludes_file(self, repository: Repository | None) -> list[Path]:
        """Return the ignore files beside ``.gitignore`` that git would honour.

        ``info/exclude`` and the global one.
        """
        ...


class Progress(Protocol):
    """Where a long verb reports how far it is."""

    def start(self, what: str, total: int | None) -> None:
        """Begin a phase of ``total`` steps, or of unknown length."""
        ...

    def advance(self, label: str = "") -> None:
        """One step is done."""
        ...


class Lock(Protocol):
    """The right to write derived files; one process at a time holds it."""

    def hold(self) -> AbstractContextManager[None]:
        """Wait for the lock and hold it.

        Raises:
            BusyError: Another process kept it too long; the message names it.
        """
        ...
