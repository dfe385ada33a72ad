"""Mining: bring what is stored of a tree in line with the files that are there.

Files are read one at a time and embedded in batches; each source is stored in a transaction of its
own, so a run that is stopped leaves whole files only and the next run goes on where it stopped.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mempal.core.model import Changes, Skip, Source, SourceState
from mempal.core.ports import Embedder, Progress, Repositories, Store
from mempal.core.reports import FileCounts, MineOptions, MineReport
from mempal.core.secrets import redact
from mempal.ingest.filing import Filer, Part
from mempal.ingest.identity import Household
from mempal.ingest.moves import Moves, find_former_root
from mempal.ingest.rooms import load_rooms
from mempal.ingest.tail import load_tail
from mempal.ingest.tree import NO_TRANSCRIPT, RETRY, Found, TreeReader
from mempal.ingest.walk import FileEntry, Tree, WalkRules, walk

_FORGOTTEN = "forgotten"


@dataclass(slots=True)
class _Tally:
    mined: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Skip] = field(default_factory=list)
    excluded: list[Skip] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    redactions: Counter[str] = field(default_factory=Counter)
    wings: set[str] = field(default_factory=set)
    gone: int = 0


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
        self._progress = progress
        self._filer = Filer(store, open_embedder, dry_run=True)
        self._counts: Mapping[str, int] = {}

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
        self._filer = Filer(self._store, self._open_embedder, options.dry_run)
        tally = _Tally()
        for tree in trees:
            tally.warnings.extend(tree.notices)
        for tree in trees:
            self._mine_tree(tree, trees[0].root, wing, options, tally)
        self._filer.flush()
        counts = FileCounts(
            len(tally.mined), tally.unchanged, len(tally.skipped), len(tally.excluded)
        )
        return MineReport(
            wing=wing,
            roots=tuple(str(tree.root) for tree in trees),
            dry_run=options.dry_run,
            files=counts,
            drawers=self._filer.changes,
            skipped=tuple(tally.skipped),
            excluded=tuple(tally.excluded),
            warnings=tuple(dict.fromkeys(tally.warnings)),
            redactions=dict(sorted(tally.redactions.items())),
            mined=tuple(tally.mined),
            gone=tally.gone,
            wings=tuple(sorted(tally.wings - {wing})),
        )

    def _mine_tree(
        self, tree: Tree, top: Path, wing: str, options: MineOptions, tally: _Tally
    ) -> None:
        rooms, warnings = load_rooms(tree.root)
        tally.warnings.extend(warnings)
        prefix = _prefix(top, tree.root)
        tally.skipped.extend(Skip(prefix + skip.path, skip.reason) for skip in tree.skipped)
        tally.excluded.extend(Skip(prefix + skip.path, skip.reason) for skip in tree.excluded)
        reader = TreeReader(tree, wing, options, rooms)
        self._filer.former = None
        known = {} if self._store is None else self._known_sources(tree, wing, options)
        moves = Moves(self._store, tree, known)
        self._counts = self._count_drawers(tree, wing)
        for entry in tree.files:
            self._progress.advance(entry.path)
            self._mine_file(reader, entry, moves, prefix, tally)
        self._filer.flush()
        tally.gone += moves.count_gone(self._count_drawers(tree, wing))

    def _count_drawers(self, tree: Tree, wing: str) -> Mapping[str, int]:
        if self._store is None:
            return {}
        return self._store.count_by_source(wing, self._filer.former or str(tree.root))

    def _known_sources(self, tree: Tree, wing: str, options: MineOptions) -> dict[str, Source]:
        store = self._store
        if store is None:
            return {}
        root = str(tree.root)
        known = dict(store.sources(wing, root))
        if known:
            return known
        former = find_former_root(store, tree, wing)
        if former is None:
            return {}
        known = dict(store.sources(wing, former))
        if options.dry_run:
            self._filer.former = former
        else:
            store.move_root(wing, former, root)
        return {path: replace(source, root=root) for path, source in known.items()}

    def _mine_file(
        self, reader: TreeReader, entry: FileEntry, moves: Moves, prefix: str, tally: _Tally
    ) -> None:
        shown = prefix + entry.path
        known = moves.known.get(entry.path)
        if known is not None and known.state is SourceState.FORGOTTEN:
            tally.skipped.append(Skip(shown, _FORGOTTEN))
            return
        if known is not None and reader.is_current(entry, known):
            if known.state is SourceState.SKIPPED:
                tally.skipped.append(Skip(shown, known.reason or "skipped before"))
            else:
                self._keep(entry.path, tally)
            return
        found = reader.read(entry, known, may_resume=self._may_resume(known))
        # A warning may name a conversation by its title, which nobody has redacted.
        tally.warnings.extend(prefix + redact(warning).text for warning in found.warnings)
        if found.source.state is SourceState.SKIPPED:
            tally.skipped.append(Skip(shown, found.source.reason or "skipped"))
            if known is not None and (
                found.source.mtime_ns == RETRY or found.source.reason == NO_TRANSCRIPT
            ):
                return  # nobody knows, or asks, whether what is stored of it still holds
        elif found.chunks is None:
            self._keep(entry.path, tally)
        else:
            former = self._find_former(found, moves, reader.options)
            if former is not None and former.rules == found.source.rules:
                self._keep(former.path, tally)
                self._filer.add(Part(replace(found.source, tail=former.tail), None))
                return
            known = former or known
            tally.mined.append(shown)
        tally.redactions.update(found.redactions)
        self._file(found, known, reader, tally)

    def _may_resume(self, known: Source | None) -> bool:
        """Return whether what a transcript's tail builds on is stored as the tail says."""
        if known is None or known.tail is None or self._store is None or self._filer.former:
            return False
        tail = load_tail(known.tail)
        if tail is None:
            return False
        self._filer.settle_sessions(tail.drawers)  # another file may just have taken them over
        # What is stored beside lacks a beginning, and so is not where the tail says.
        held = {
            source.session
            for source in self._store.held_in(known.place)
            if not source.session or source.path.partition(":")[2] == source.session
        }
        return known.state is SourceState.STORED and held >= set(tail.drawers)

    def _find_former(self, found: Found, moves: Moves, options: MineOptions) -> Source | None:
        """Return the file that a new one was before it was renamed; ``None`` for another one."""
        self._filer.settle(found.source.place)
        return moves.take(found.source, dry_run=options.dry_run)

    def _file(self, found: Found, known: Source | None, reader: TreeReader, tally: _Tally) -> None:
        options = reader.options
        household = Household(self._filer, found.source, known, reader.wing, options.own_wings)
        if found.talk is not None:
            tally.wings.update(household.add(found.talk))
            return
        if found.chunks is not None:
            household.disband()
        former = known if known is not None and known.path != found.source.path else None
        self._filer.add(Part(found.source, found.chunks, former=former))

    def _keep(self, path: str, tally: _Tally) -> None:
        tally.unchanged += 1
        self._filer.changes += Changes(unchanged=self._counts.get(path, 0))


def _prefix(top: Path, root: Path) -> str:
    """Return what turns a path below ``root`` into one that tells trees of one run apart."""
    if root == top:
        return ""
    if root.is_relative_to(top):
        return root.relative_to(top).as_posix() + "/"
    return root.as_posix() + "/"
