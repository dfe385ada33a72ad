"""Mining: bring what is stored of a tree in line with the files that are there.

Files are read one at a time and embedded in batches; each source is stored in a transaction of its
own, so a run that is stopped leaves whole files only and the next run goes on where it stopped.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mempal.core.clock import now
from mempal.core.files import read_regular
from mempal.core.ids import hash_content
from mempal.core.model import (
    Changes,
    Chunk,
    Repository,
    Skip,
    Source,
    SourceClass,
    SourceState,
)
from mempal.core.ports import Embedder, Progress, Repositories, Store
from mempal.core.reports import FileCounts, MineOptions, MineReport
from mempal.ingest.classify import TOO_LARGE, describe_size, skip_by_name
from mempal.ingest.read import READER_VERSION, Reading, read_chunks
from mempal.ingest.rooms import RoomRules, load_rooms
from mempal.ingest.walk import FileEntry, Tree, WalkRules, walk

# Texts embedded in one call: enough to be efficient, few enough to keep memory small.
_BATCH = 256
# Characters that wait for others before they are stored; a run of files without new text (a dry
# run, changed rooms) would otherwise be held whole.
_MOST_WAITING = 1_000_000
# A file changed so shortly before it was read may have changed again within the same clock tick.
_TICK_NS = 20_000_000
# Some file systems keep whole seconds only, one even every second one.
_SECOND_NS = 1_000_000_000
_COARSE_TICK_NS = 2 * _SECOND_NS
# Modification time recorded for a file that could not be read, so that the next run tries again.
_RETRY = -1


@dataclass(frozen=True, slots=True)
class _Pending:
    """A file that was read and is yet to be stored.

    Attributes:
        chunks: What it holds; ``None`` when its drawers stay as they are.
        missing: Texts among them that need a vector.
    """

    source: Source
    chunks: tuple[Chunk, ...] | None
    missing: list[str]


@dataclass(slots=True)
class _Queue:
    """Files that wait to be stored together, and how much that is."""

    items: list[_Pending] = field(default_factory=list)
    texts: int = 0
    characters: int = 0

    def add(self, item: _Pending) -> None:
        self.items.append(item)
        self.texts += len(item.missing)
        self.characters += sum(len(chunk.content) for chunk in item.chunks or ())

    @property
    def is_full(self) -> bool:
        return self.texts >= _BATCH or self.characters >= _MOST_WAITING or len(self.items) >= _BATCH


@dataclass(slots=True)
class _Tally:
    mined: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Skip] = field(default_factory=list)
    excluded: list[Skip] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)


def list_trees(
    paths: Sequence[Path],
    repositories: Repositories,
    options: MineOptions,
    exclude: tuple[Path, ...] = (),
) -> list[Tree]:
    """List everything that is to be mined; nothing is written.

    Paths may lie in each other: a tree is listed once, with all that was named of it.

    Args:
        paths: Files and folders; at least one.
        repositories: What git knows.
        options: Which rules hold.
        exclude: Folders that are never read: the palace itself.

    Raises:
        NotFoundError: A path does not exist.
        SourceError: A path holds nothing that can be mined.
    """
    rules = WalkRules(
        use_gitignore=options.use_gitignore,
        use_mempalignore=options.use_mempalignore,
        ignore_files=tuple(Path(name) for name in options.ignore_files),
    )
    trees: dict[Path, Tree] = {}
    for path in paths:
        for tree in walk(path, repositories, rules, exclude).trees:
            former = trees.get(tree.root)
            trees[tree.root] = tree if former is None else _join(former, tree)
    return list(trees.values())


def _join(first: Tree, second: Tree) -> Tree:
    """Return two lists of one tree as one; what one of them offers is not left out by the other."""
    files = {entry.path: entry for tree in (first, second) for entry in tree.files}
    skipped = {skip.path: skip for tree in (first, second) for skip in tree.skipped}
    excluded = {skip.path: skip for tree in (first, second) for skip in tree.excluded}
    return replace(
        first,
        files=tuple(files[path] for path in sorted(files)),
        skipped=tuple(skipped[path] for path in sorted(skipped.keys() - files.keys())),
        excluded=tuple(excluded[path] for path in sorted(excluded.keys() - files.keys())),
        notices=tuple(dict.fromkeys((*first.notices, *second.notices))),
    )


class Miner:
    """Mines trees into one store.

    Args:
        store: Where drawers go; ``None`` in a dry run on a palace that does not exist.
        open_embedder: Opens the embedder; called once, when the first new text is met.
        progress: Where to report how far the run is.
    """

    def __init__(
        self,
        store: Store | None,
        open_embedder: Callable[[], Embedder],
        progress: Progress,
    ) -> None:
        self._store = store
        self._open_embedder = open_embedder
        self._embedder: Embedder | None = None
        self._progress = progress
        self._queue = _Queue()
        self._counts: Mapping[str, int] = {}
        # In a dry run, where a tree that has moved is still filed.
        self._former: str | None = None

    def mine(self, trees: Sequence[Tree], wing: str, options: MineOptions) -> MineReport:
        """Mine trees that were listed.

        Args:
            trees: What :func:`list_trees` returned; at least one.
            wing: Wing to file under.
            options: How.

        Raises:
            EmbedderError: New text cannot be embedded; what was stored before stays.
        """
        self._progress.start("mining", sum(len(tree.files) for tree in trees))
        tally = _Tally()
        for tree in trees:
            tally.warnings.extend(tree.notices)
        for tree in trees:
            self._mine_tree(tree, trees[0].root, wing, options, tally)
        self._flush(options, tally)
        counts = FileCounts(
            len(tally.mined), tally.unchanged, len(tally.skipped), len(tally.excluded)
        )
        return MineReport(
            wing=wing,
            roots=tuple(str(tree.root) for tree in trees),
            dry_run=options.dry_run,
            files=counts,
            drawers=tally.changes,
            skipped=tuple(tally.skipped),
            excluded=tuple(tally.excluded),
            warnings=tuple(dict.fromkeys(tally.warnings)),
            mined=tuple(tally.mined),
        )

    def _mine_tree(
        self, tree: Tree, top: Path, wing: str, options: MineOptions, tally: _Tally
    ) -> None:
        rooms, warnings = load_rooms(tree.root)
        tally.warnings.extend(warnings)
        prefix = _prefix(top, tree.root)
        tally.skipped.extend(Skip(prefix + skip.path, skip.reason) for skip in tree.skipped)
        tally.excluded.extend(Skip(prefix + skip.path, skip.reason) for skip in tree.excluded)
        reader = _TreeReader(tree, wing, options, rooms)
        known = {} if self._store is None else self._known_sources(tree, wing, options)
        self._counts = self._count_drawers(tree, wing)
        for entry in tree.files:
            self._progress.advance(entry.path)
            self._mine_file(reader, entry, known.get(entry.path), prefix, tally)
            if self._queue.is_full:
                self._flush(options, tally)
        if options.dry_run:
            self._flush(options, tally)

    def _count_drawers(self, tree: Tree, wing: str) -> Mapping[str, int]:
        if self._store is None:
            return {}
        return self._store.count_by_source(wing, self._former or str(tree.root))

    def _known_sources(self, tree: Tree, wing: str, options: MineOptions) -> dict[str, Source]:
        store = self._store
        if store is None:
            return {}
        root = str(tree.root)
        self._former = None
        known = dict(store.sources(wing, root))
        if known:
            return known
        former = _find_former_root(store, tree, wing)
        if former is None:
            return {}
        known = dict(store.sources(wing, former))
        if options.dry_run:
            self._former = former
        else:
            store.move_root(wing, former, root)
        return {path: replace(source, root=root) for path, source in known.items()}

    def _mine_file(
        self,
        reader: "_TreeReader",
        entry: FileEntry,
        known: Source | None,
        prefix: str,
        tally: _Tally,
    ) -> None:
        shown = prefix + entry.path
        if known is not None and reader.is_current(entry, known):
            if known.state is SourceState.SKIPPED:
                tally.skipped.append(Skip(shown, known.reason or "skipped before"))
            else:
                self._keep(entry.path, tally)
            return
        source, reading = reader.read(entry, known)
        if reading.warning:
            tally.warnings.append(prefix + reading.warning)
        if source.state is SourceState.SKIPPED:
            tally.skipped.append(Skip(shown, source.reason or "skipped"))
            if source.mtime_ns == _RETRY and known is not None:
                return  # nobody knows whether what is stored of it still holds
        elif known is not None and reader.is_same_text(source, known):
            self._keep(entry.path, tally)
            self._queue.add(_Pending(source, None, []))
            return
        else:
            tally.mined.append(shown)
        missing = []
        if self._store is not None:
            missing = self._store.missing_contents(source, reading.chunks)
        self._queue.add(_Pending(source, reading.chunks, missing))

    def _keep(self, path: str, tally: _Tally) -> None:
        tally.unchanged += 1
        tally.changes += Changes(unchanged=self._counts.get(path, 0))

    def _flush(self, options: MineOptions, tally: _Tally) -> None:
        """Store what waits; nothing of it when its texts cannot be embedded."""
        queue, self._queue = self._queue, _Queue()
        vectors: dict[str, bytes] = {}
        texts = list(dict.fromkeys(text for item in queue.items for text in item.missing))
        if texts and self._store is not None and not options.dry_run:
            self._embedder = self._embedder or self._open_embedder()
            for start in range(0, len(texts), _BATCH):
                batch = texts[start : start + _BATCH]
                vectors.update(zip(batch, self._embedder.embed_documents(batch), strict=True))
        for item in queue.items:
            tally.changes += self._store_source(item, vectors, options)

    def _store_source(
        self, item: _Pending, vectors: dict[str, bytes], options: MineOptions
    ) -> Changes:
        source, chunks = item.source, item.chunks
        if chunks is None:
            if self._store is not None and not options.dry_run:
                self._store.touch_source(source)
            return Changes()
        if self._store is None:
            return Changes(added=len(chunks))
        if options.dry_run:
            stored = replace(source, root=self._former or source.root)
            return self._store.preview_source(stored, chunks)
        return self._store.replace_source(source, chunks, vectors, SourceClass.FILE)


@dataclass(slots=True)
class _TreeReader:
    """Reads the files of one tree under one set of rules."""

    tree: Tree
    wing: str
    options: MineOptions
    rooms: RoomRules
    rules: str = ""

    def __post_init__(self) -> None:
        rooms = hash_content(repr((self.options.room, self.rooms)))[:12]
        self.rules = f"{READER_VERSION}:{rooms}"

    def is_current(self, entry: FileEntry, known: Source) -> bool:
        """Return whether size and time say that a file is as it was when it was last read."""
        tick = _TICK_NS if known.mtime_ns % _SECOND_NS else _COARSE_TICK_NS
        settled = known.mtime_ns < known.mined_at * 1_000_000 - tick
        same = (entry.size, entry.mtime_ns) == (known.size, known.mtime_ns)
        return same and settled and known.rules == self.rules and self._judges_size(entry, known)

    def _judges_size(self, entry: FileEntry, known: Source) -> bool:
        """Return whether the limit of this run says of a file what that of the last one said."""
        if known.state is SourceState.SKIPPED and not (known.reason or "").startswith(TOO_LARGE):
            return True
        is_large = entry.size > self.options.limit_file_size
        return is_large == (known.state is SourceState.SKIPPED)

    def is_same_text(self, source: Source, known: Source) -> bool:
        """Return whether a file that was read again holds what it held, under the same rules."""
        return (
            known.state is SourceState.STORED
            and source.content_sha256 == known.content_sha256
            and source.rules == known.rules
        )

    def read(self, entry: FileEntry, known: Source | None) -> tuple[Source, Reading]:
        """Read one file: its source as it is now, and what it holds."""
        source = Source(
            wing=self.wing,
            root=str(self.tree.root),
            path=entry.path,
            room=known.room if known else "general",
            size=entry.size,
            mtime_ns=entry.mtime_ns,
            commit=_commit_of(self.tree.repository, entry),
            rules=self.rules,
            mined_at=now(),
        )
        skip = skip_by_name(entry.path)
        if skip is None and entry.size > self.options.limit_file_size:
            skip = describe_size(entry.size, self.options.limit_file_size)
        if skip is not None:
            return _skipped(source, skip)
        try:
            data = read_regular(entry.absolute, self.options.limit_file_size)
        except OSError as error:
            reason = f"unreadable ({error.strerror or error})"
            return _skipped(replace(source, mtime_ns=_RETRY), reason)
        source = replace(
            source,
            content_sha256=hashlib.sha256(data).hexdigest(),
            blob=_hash_blob(self.tree.repository, data),
        )
        if known is not None and self.is_same_text(source, known):
            return replace(source, encoding=known.encoding), Reading(encoding=known.encoding)
        reading = read_chunks(entry.path, data)
        if reading.skip is not None:
            return _skipped(source, reading.skip)
        head = "".join(chunk.content for chunk in reading.chunks[:3])
        room = self.options.room or self.rooms.room_of(entry.path, head)
        return replace(source, room=room, encoding=reading.encoding), reading


def _skipped(source: Source, reason: str) -> tuple[Source, Reading]:
    return replace(source, state=SourceState.SKIPPED, reason=reason), Reading(skip=reason)


def _commit_of(repository: Repository | None, entry: FileEntry) -> str | None:
    return repository.commit if repository is not None and entry.tracked else None


def _hash_blob(repository: Repository | None, data: bytes) -> str | None:
    """Name a file's bytes as git does, which finds them again wherever a commit moves them."""
    if repository is None:
        return None
    digest = hashlib.new(repository.object_format, b"blob %d\x00" % len(data))
    digest.update(data)
    return digest.hexdigest()


def _prefix(top: Path, root: Path) -> str:
    """Return what turns a path below ``root`` into one that tells trees of one run apart."""
    if root == top:
        return ""
    if root.is_relative_to(top):
        return root.relative_to(top).as_posix() + "/"
    return root.as_posix() + "/"


def _find_former_root(store: Store, tree: Tree, wing: str) -> str | None:
    """Return the root of a tree that is gone and whose files are mostly found in ``tree``."""
    sizes = {entry.path: entry.size for entry in tree.files}
    for _, root in store.roots(wing):
        if root == str(tree.root) or Path(root).exists():
            continue
        former = store.sources(wing, root)
        found = sum(sizes.get(path) == source.size for path, source in former.items())
        if former and found * 2 >= len(former):
            return root
    return None
