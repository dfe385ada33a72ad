"""The port ``VectorIndex`` over ChromaDB.

Chroma keeps no promise between processes: a handle that was open while another process wrote never
sees those vectors, loses them for everybody when it next writes, and even *opening* a database
while another process writes to it loses vectors for good (measured with 1.5.9). Hence:

* Whoever opens an embedded database, or writes to it, holds the lock file beside it meanwhile. A
  handle that is open only reads, and needs no lock.
* A write moves the record's ``generation`` before it begins and ``committed`` when it has ended
  (:mod:`mempal.adapters.chroma.record`); who finds a number that is not his opens the data anew.
* What is applied stays in memory until ``commit``, so nobody sees half a change.
* A rebuild goes into new data; rewriting the record puts it in the place of the old.
* Nothing is loaded that was not sealed (:mod:`mempal.adapters.chroma.seal`).

A server owns its files, so lock and seals are for embedded databases only. In both cases the
collection carries the number of its last write, so that data which another palace wrote to, or
which came out of a backup, is not taken for ours.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mempal.adapters.chroma.client import REINDEX, Collection, Match, escape
from mempal.adapters.chroma.place import Place
from mempal.adapters.chroma.record import (
    Record,
    UnusableError,
    make_token,
    read_record,
    write_record,
)
from mempal.core.errors import BusyError, ConfigError, DamagedError, MempalError
from mempal.core.model import IndexEntry, Neighbor, Scope
from mempal.core.vector import HEADER_BYTES, dimensions

# Opening takes under a second at 100 000 vectors; a commit, a second for each thousand.
_PATIENCE_SECONDS = 20.0
# Without a filter Chroma answers many times faster, so a scope is first sifted out of a longer
# answer; this many times longer, and at least this long. It also lets ties be told apart by key.
_LONGER = 4
_LONGEST_AT_LEAST = 64
_SAMPLE_STARTS = 8
_SAMPLE_SIZE = 8
# Neighbours whose similarity agrees to this many digits are ties: single-precision sums differ in
# the seventh.
_DIGITS = 6


class ChromaIndex:
    """Approximate neighbours out of ChromaDB, for palaces too large to compare every vector.

    A committed vector that the graph no longer reaches is not found; ``problems`` looks for such.
    ``commit`` must be called under the palace's writer lock, held from before ``position`` was
    asked for.

    Args:
        folder: Where the record and an embedded database lie; need not exist.
        identity: Identity of the embedder whose vectors it holds.
        dimensions: Components of every vector.
        url: A Chroma server, ``http://HOST:PORT``; ``None`` for an embedded database.
        lineage: Names the store whose drawers it holds; the data of another one do not count.

    Raises:
        ConfigError: ``url`` is none.
    """

    name = "chroma"
    volatile_reads = False

    def __init__(
        self,
        folder: Path,
        identity: str,
        dimensions: int,
        *,
        url: str | None = None,
        lineage: str = "",
    ) -> None:
        self._folder = folder
        self._identity = identity
        self._dimensions = dimensions
        self._lineage = lineage
        self._url = (url or "").rstrip("/")
        if self._url and not self._url.startswith(("http://", "https://")):
            raise ConfigError(
                f"index.chroma_url takes a URL, not {self._url!r}",
                hint="write http://HOST:PORT",
            )
        self._place = Place(folder, self._url)
        self._base: Record | None = None
        self._looked = False
        self._emptied = False
        self._pending: dict[int, IndexEntry] = {}
        self._collection: Collection | None = None
        self._opened = ("", 0)

    def position(self) -> int:
        """Return the revision of the last commit; 0 when there is none or its files are damaged.

        Chroma is neither imported nor asked.
        """
        if not self._emptied:
            self._look()
        return 0 if self._base is None else self._base.position

    def apply(self, entries: Iterable[IndexEntry]) -> None:
        """Take entries for the next ``commit``, all of them or none; searches do not see them yet.

        Raises:
            ValueError: A vector has the wrong number of components.
        """
        if not self._looked and not self._emptied:
            self._look()
        changes = {}
        for entry in entries:
            if entry.vector is not None:
                self._check(entry.vector)
            changes[entry.key] = entry
        self._pending |= changes

    def commit(self, position: int) -> None:
        """Write what was applied to Chroma, then record the position.

        When this breaks off, the former position stands, and applying the same entries again is
        right.

        Raises:
            BusyError: Another process holds the index or wrote it in the meantime.
            DamagedError: The index cannot be written, or was damaged since its position was asked.
        """
        if not self._looked and not self._emptied:
            self._look()
        base, self._looked = self._base, False
        if base is None:
            self._build(position)
        elif self._pending:
            self._extend(base, position)
        elif position != base.position:
            write_record(self._folder, replace(base, position=position))
        self._pending, self._emptied = {}, False

    def nearest(self, vector: bytes, limit: int, scope: Scope) -> list[Neighbor]:
        """Return drawers about most similar to ``vector``, best first, ties by key.

        Raises:
            ValueError: The vector has the wrong number of components.
            BusyError: Another process is writing, and this one has not opened the index yet.
            DamagedError: The index is damaged or the server does not answer.
        """
        self._check(vector)
        if self._emptied or limit < 1 or not vector[HEADER_BYTES:].strip(b"\0"):
            return []
        record = self._read_or_refuse()
        if record is None or not record.count:
            return []
        view = self._view(record)
        try:
            matches = _search(view, vector, limit, scope, record.count)
        except DamagedError:
            # A view from before the last write may name records that are gone from the database.
            record = self._read_or_refuse()
            if record is None or self._opened == (record.token, record.generation):
                raise
            self.close()
            matches = _search(self._view(record), vector, limit, scope, record.count)
        ranked = sorted(matches, key=lambda match: (-round(match.similarity, _DIGITS), match.key))
        return [Neighbor(match.key, match.similarity) for match in ranked[:limit]]

    def count(self) -> int:
        """Return the number of drawers at the last commit."""
        if not self._emptied:
            self._look()
        return 0 if self._base is None else self._base.count

    def problems(self) -> list[str]:
        """Read every file, and search a sample of the stored vectors for themselves.

        Chroma's own count goes on to include vectors that its graph has lost.
        """
        try:
            record = self._read()
        except UnusableError as error:
            known = not error.foreign and (error.damaged or self._folder.exists())
            return [f"{error}; {REINDEX}"] if known else []
        place = self._place.describe(record.token)
        try:
            with self._place.hold(record.token, _PATIENCE_SECONDS):
                damage = self._place.find_damage(record, thorough=True)
            if damage:
                return [f"{damage}; {REINDEX}"]
            return [f"{place}: {what}; {REINDEX}" for what in _examine(self._view(record), record)]
        except MempalError as error:
            return [f"{error.message}; {error.hint}"]

    def reset(self) -> None:
        """Empty the index for this instance; the next ``commit`` builds it anew for everybody."""
        self._base, self._pending, self._emptied = None, {}, True

    def close(self) -> None:
        """Close the database or the connection."""
        collection, self._collection, self._opened = self._collection, None, ("", 0)
        if collection is not None:
            collection.close()

    def _check(self, vector: bytes) -> None:
        if dimensions(vector) != self._dimensions:
            raise ValueError(
                f"a vector of {dimensions(vector)} components in an index of {self._dimensions}"
            )

    # --- the record ----------------------------------------------------------------------------

    def _read(self) -> Record:
        return read_record(self._folder, self._identity, self._dimensions, self._url, self._lineage)

    def _read_or_refuse(self) -> Record | None:
        """Return the record; ``None`` when there is none for this embedder and place."""
        try:
            return self._read()
        except UnusableError as error:
            if error.damaged:
                raise DamagedError(str(error), hint=REINDEX) from error
            return None

    def _look(self) -> None:
        """Note the record that later entries are to be added to; ``None`` when it cannot serve."""
        self._looked = True
        try:
            self._base = self._settle(self._read())
        except UnusableError:
            self._base = None

    def _settle(self, record: Record) -> Record:
        """Return the record of sound files.

        Raises:
            UnusableError: The files are damaged.
        """
        if self._place.find_damage(record) is None:
            return record
        # They also differ from their seals while somebody writes them.
        try:
            with self._place.hold(record.token, 0):
                record = self._read()
                damage = self._place.find_damage(record)
        except BusyError:
            return record
        except DamagedError as error:
            raise UnusableError(error.message) from error
        if damage:
            raise UnusableError(damage)
        return record

    # --- writing -------------------------------------------------------------------------------

    def _build(self, position: int) -> None:
        """Write everything applied into new data, and put them in the place of the former ones."""
        try:
            former: Record | None = self._read()
        except UnusableError as error:
            former = error.record
        generation = former.generation + 1 if former else 1
        record = Record(self._identity, self._dimensions, self._url, make_token())
        record = replace(record, position=position, generation=generation, lineage=self._lineage)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DamagedError(
                f"{self._folder} cannot be made ({error.strerror})",
                hint="move away what is in its place, then run `mempal reindex`",
            ) from error
        try:
            with self._place.hold(record.token, _PATIENCE_SECONDS):
                self.close()
                collection = self._place.open(record, create=True)
                self._adopt(collection, record)
                self._write(collection, record)
        except BaseException:
            self.close()
            self._place.discard(record)
            raise
        if former and former.url == self._url:
            self._place.discard(former)
        self._place.sweep(record.token)

    def _extend(self, base: Record, position: int) -> None:
        """Write everything applied into the present data."""
        with self._place.hold(base.token, _PATIENCE_SECONDS):
            record = self._read_or_refuse()
            if record != base:
                raise BusyError(
                    f"the vector index in {self._folder} was written by another process meanwhile",
                    hint="run it again",
                )
            if self._opened == (base.token, base.generation) and self._collection:
                collection = self._collection
            else:
                # Also after a write that broke off: then two generations differ.
                self.close()
                collection = self._place.open(base)
            record = replace(base, position=position, generation=base.generation + 1)
            write_record(self._folder, replace(record, position=base.position))
            self._adopt(collection, record)
            try:
                self._write(collection, record)
            except BaseException:
                self.close()
                raise

    def _write(self, collection: Collection, record: Record) -> None:
        """Write everything applied, then the record that says so."""
        # A vector without direction is similar to nothing; Chroma counts it and never finds it.
        kept = [
            entry
            for entry in self._pending.values()
            if entry.vector is not None and entry.vector[HEADER_BYTES:].strip(b"\0")
        ]
        gone = self._pending.keys() - {entry.key for entry in kept}
        collection.remove(sorted(gone))
        collection.upsert(kept)
        collection.mark(record.generation)
        record = replace(
            record,
            committed=record.generation,
            count=collection.count(),
            seals=self._place.seal(record),
        )
        write_record(self._folder, record)

    def _adopt(self, collection: Collection, record: Record) -> None:
        self._collection, self._opened = collection, (record.token, record.generation)

    # --- reading -------------------------------------------------------------------------------

    def _view(self, record: Record) -> Collection:
        """Return the data opened no earlier than their last commit, if that can be had.

        While a write is under way it cannot; then a view from before it, if there is one, answers
        as of then.
        """
        while self._collection is None or self._opened != (record.token, record.committed):
            former = self._collection if self._opened[0] == record.token else None
            try:
                with self._place.hold(record.token, 0 if former else _PATIENCE_SECONDS):
                    current = self._read_or_refuse()
                    if current == record:
                        self.close()
                        self._collection = self._place.open(record)
                        self._opened = (record.token, record.committed)
            except BusyError:
                if former is None:
                    raise
                return former
            if current is None:
                raise DamagedError(f"the record in {self._folder} was removed", hint=REINDEX)
            record = current
        return self._collection


def _search(view: Collection, vector: bytes, limit: int, scope: Scope, total: int) -> list[Match]:
    wanted = min(limit, total)
    longer = min(total, max(_LONGER * wanted, _LONGEST_AT_LEAST))
    nearest = view.query(vector, longer)
    if not nearest:
        # What a lost graph looks like: no error, and nothing found.
        raise DamagedError("the vector index finds none of the vectors it holds", hint=REINDEX)
    matches = [
        match
        for match in nearest
        if (scope.wing is None or match.wing == escape(scope.wing))
        and (scope.room is None or match.room == escape(scope.room))
        and (match.current or not scope.current_only)
    ]
    if len(matches) >= wanted or longer == total:
        return matches
    return view.query(vector, wanted, scope)


def _examine(view: Collection, record: Record) -> Iterable[str]:
    """Yield what is wrong with an opened collection."""
    count = view.count()
    if count != record.count:
        yield f"{count} vectors instead of {record.count}"
    tried = found = 0
    for start in range(0, count, -(-count // _SAMPLE_STARTS) or 1):
        here = view.search_sample(start, _SAMPLE_SIZE)
        tried, found = tried + here[0], found + here[1]
    if found < tried:
        yield f"{tried - found} of {tried} vectors do not find themselves"
