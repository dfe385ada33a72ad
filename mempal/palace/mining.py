"""Verbs that bring what is stored in line with what is on disk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from mempal.core.errors import UsageError
from mempal.core.names import check_name
from mempal.core.ports import Progress
from mempal.core.reports import MineOptions, MineReport
from mempal.ingest.mine import Miner, list_trees
from mempal.palace.access import Access


@dataclass(frozen=True, slots=True)
class Mining:
    """Mining."""

    access: Access

    def mine(self, paths: Sequence[Path], options: MineOptions, progress: Progress) -> MineReport:
        """Bring what is stored of files and folders in line with what is there.

        Raises:
            NotFoundError: A path does not exist.
            SourceError: A path holds nothing that can be mined.
            EmbedderMismatchError: The palace was embedded by another embedder.
            UsageError: A wing or room has no valid name.
        """
        started = monotonic()
        access = self.access
        trees = list_trees(paths, access.outfit.repositories, options, exclude=(access.home,))
        wing = check_name("wing", options.wing or self._common_wing(paths))
        if options.room is not None:
            options = replace(options, room=check_name("room", options.room))
        if options.dry_run and not access.exists():
            report = Miner(None, access.outfit.open_embedder, progress).mine(trees, wing, options)
        else:
            with access.open(writable=not options.dry_run) as store:
                miner = Miner(store, lambda: access.bind_embedder(store), progress)
                report = miner.mine(trees, wing, options)
                late = () if options.dry_run else access.refresh(store)
            report = replace(report, warnings=(*report.warnings, *late))
        return replace(report, seconds=round(monotonic() - started, 3))

    def _common_wing(self, paths: Sequence[Path]) -> str:
        wings = {self.access.default_wing(path): path for path in paths}
        if len(wings) > 1:
            raise UsageError(
                f"the paths belong to several projects: {', '.join(sorted(wings))}",
                hint="mine them one by one, or name one wing for all with --wing",
            )
        return next(iter(wings))
