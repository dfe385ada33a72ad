"""Verbs that bring what is stored in line with what is on disk."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from mempal.core.clock import now
from mempal.core.errors import UsageError
from mempal.core.model import Changes, Repository
from mempal.core.names import check_name, normalize_name
from mempal.core.ports import Embedder, Progress, Store
from mempal.core.reports import (
    GoneFile,
    HistoryReport,
    MineMode,
    MineOptions,
    MineReport,
    SyncReport,
)
from mempal.ingest.chronicle import Chronicler, find_repository
from mempal.ingest.filing import Filer
from mempal.ingest.mine import Miner, list_trees
from mempal.ingest.sync import Stale, find_stale
from mempal.ingest.usage import describe_usage, recall_usage
from mempal.ingest.walk import Tree
from mempal.palace.access import Access


@dataclass(frozen=True, slots=True)
class Mining:
    """Mining files, transcripts and history, and pruning what is gone."""

    access: Access

    def mine(self, paths: Sequence[Path], options: MineOptions, progress: Progress) -> MineReport:
        """Bring what is stored of files, folders and histories in line with what is there.

        Raises:
            NotFoundError: A path does not exist.
            SourceError: A path holds nothing that can be mined, or no history that is asked for.
            EmbedderMismatchError: The palace was embedded by another embedder.
            UsageError: A wing or room has no valid name, or ``since`` says nothing to git.
        """
        started = monotonic()
        access = self.access
        trees = list_trees(paths, access.outfit.repositories, options, exclude=(access.home,))
        wing = check_name("wing", options.wing or self._common_wing(paths))
        if options.mode is MineMode.CONVOS and not (options.wing or access.config.text("wing")):
            options = replace(options, own_wings=True)
        if options.room is not None:
            options = replace(options, room=check_name("room", options.room))
        repositories = self._find_repositories(paths, options)
        if options.dry_run and not access.exists():
            report = self._mine(None, trees, repositories, wing, options, progress)
        elif options.dry_run:
            with access.open(writable=False) as store:
                report = self._mine(store, trees, repositories, wing, options, progress)
        else:
            detail = describe_usage(paths, trees, options)
            with access.run("mine", wing, embeds=True, **detail) as running:
                report = self._mine(running.store, trees, repositories, wing, options, progress)
                late = access.refresh(running.store)
            report = replace(report, run=running.number, warnings=(*report.warnings, *late))
        return replace(report, seconds=round(monotonic() - started, 3))

    def _mine(
        self,
        store: Store | None,
        trees: list[Tree],
        repositories: list[Repository],
        wing: str,
        options: MineOptions,
        progress: Progress,
    ) -> MineReport:
        def open_embedder() -> Embedder:
            if store is None:
                return self.access.outfit.open_embedder()
            return self.access.bind_embedder(store)

        # Histories first: what they were asked for may make no sense, and then nothing is stored.
        filer = Filer(store, open_embedder, options.dry_run)
        chronicler = Chronicler(filer, self.access.outfit.repositories, progress)
        histories = tuple(chronicler.mine(found, wing, options) for found in repositories)
        report = Miner(store, open_embedder, progress).mine(trees, wing, options)
        return _join(report, histories, filer.changes)

    def _find_repositories(self, paths: Sequence[Path], options: MineOptions) -> list[Repository]:
        if not options.git_log:
            return []
        found = [find_repository(path, self.access.outfit.repositories) for path in paths]
        return list({repository.root: repository for repository in found}.values())

    def _common_wing(self, paths: Sequence[Path]) -> str:
        wings = {self.access.default_wing(path): path for path in paths}
        if len(wings) > 1:
            raise UsageError(
                f"the paths belong to several projects: {', '.join(sorted(wings))}",
                hint="mine them one by one, or name one wing for all with --wing",
            )
        return next(iter(wings))

    def sync(self, wing: str, *, apply: bool, skip_missing: bool = False) -> SyncReport:
        """Find what is stored of files that are gone or ignored now, and let go of it.

        Args:
            wing: The one wing to look at.
            apply: Whether to supersede what was found; else nothing is changed.
            skip_missing: Whether trees that are not there are left alone.

        Raises:
            NotFoundError: There is no palace or no such wing, or one of its trees is not there.
        """
        access = self.access
        access.require()
        wing = normalize_name(wing)
        with access.open(writable=False) as store:
            stale = find_stale(
                store,
                access.outfit.repositories,
                wing,
                recall_usage(store, wing),
                (access.home,),
                skip_missing=skip_missing,
            )
        report = _describe_stale(wing, stale, dry_run=not apply)
        if not apply or not stale:
            return report
        with access.run("sync", wing) as running:
            moved = [one.place for one in stale if one.moved_to is not None and not one.drawers]
            for one in stale:
                if one.moved_to is not None and not one.is_stored:
                    known = running.store.source(one.place)
                    room = known.room if known else "general"
                    running.store.rename_source(one.place, one.moved_to, room, now())
                    moved.append(one.place)
            left = [one.place for one in stale if one.place not in moved]
            outcome = running.store.retire_sources(left, now())
            running.store.drop_sources(moved)
            late = access.refresh(running.store)
        return replace(
            report,
            warnings=late,
            pruned=outcome.superseded,
            protected=outcome.protected,
            run=running.number,
        )


def _join(report: MineReport, histories: tuple[HistoryReport, ...], changes: Changes) -> MineReport:
    redactions = Counter(report.redactions)
    for history in histories:
        redactions.update(history.redactions)
    warnings = (warning for history in histories for warning in history.warnings)
    return replace(
        report,
        drawers=report.drawers + changes,
        redactions=dict(sorted(redactions.items())),
        warnings=(*report.warnings, *warnings),
        history=histories,
    )


def _describe_stale(wing: str, stale: Sequence[Stale], *, dry_run: bool) -> SyncReport:
    files = [
        GoneFile(
            one.place.path,
            one.place.root,
            one.drawers,
            one.moved_to,
            one.reason,
            moves=one.moved_to is not None and not one.is_stored,
        )
        for one in stale
    ]
    return SyncReport(
        wing,
        dry_run,
        gone=tuple(file for file in files if file.reason is None),
        ignored=tuple(file for file in files if file.reason is not None),
    )
