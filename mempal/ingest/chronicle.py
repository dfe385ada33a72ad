"""Storing the history of a repository: one source for each commit that says something.

The last commit that was read is written down with the repository, so that the next run reads only
what came behind it. Where the history was rewritten it is read whole, and commits that are no
longer part of it are superseded.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mempal.core.clock import now
from mempal.core.commits import Commit
from mempal.core.errors import SourceError
from mempal.core.model import Changes, Repository, Source, SourceClass, SourceKind, SourceState
from mempal.core.ports import Progress, Repositories
from mempal.core.reports import HistoryReport, MineOptions
from mempal.core.secrets import redact
from mempal.ingest.filing import Filer, Part
from mempal.ingest.history import HISTORY_ROOM, HISTORY_VERSION, read_history

# The source that stands for the whole history; it has no drawers.
LEDGER = "commits"
_FOLDER = "commit/"


def find_repository(path: Path, repositories: Repositories) -> Repository:
    """Return the working tree whose history is asked for.

    Raises:
        SourceError: The path lies in none.
    """
    repository = repositories.find(path)
    if repository is None:
        raise SourceError(
            f"{path} is in no git repository", hint="name a folder of one, or leave --git-log out"
        )
    return repository


class Chronicler:
    """Files the commits of one repository into one wing.

    Args:
        filer: What stores them.
        repositories: What git knows.
        progress: Where to report how far the run is.
    """

    def __init__(self, filer: Filer, repositories: Repositories, progress: Progress) -> None:
        self._filer = filer
        self._repositories = repositories
        self._progress = progress

    def mine(self, repository: Repository, wing: str, options: MineOptions) -> HistoryReport:
        """Store what is new in a history.

        Args:
            repository: Whose history.
            wing: Wing to file under.
            options: Room, and from when on; what was stored of earlier commits stays.

        Raises:
            UsageError: ``since`` is neither a revision nor a date.
            EmbedderError: New text cannot be embedded; what was stored before stays.
        """
        base = Source(
            wing=wing,
            root=str(repository.root),
            path=LEDGER,
            kind=SourceKind.HISTORY,
            room=options.room or HISTORY_ROOM,
            rules=f"{HISTORY_VERSION}:{options.room or ''}",
            mined_at=now(),
        )
        store, since = self._filer.store, options.since
        known = {} if store is None else dict(store.sources(wing, base.root, SourceKind.HISTORY))
        ledger = known.get(LEDGER)
        after = ledger.content_sha256 if ledger and ledger.rules == base.rules else None
        listing = self._repositories.list_commits(repository, since, after)
        if listing is None:
            reason = "git cannot tell the history of this repository"
            return HistoryReport(base.root, warnings=(f"{base.root}: {reason}",))
        self._progress.start("reading history", None)
        broken: list[str] = []
        commits = _read_on(listing.commits, broken)
        report, met, last = self._file_commits(commits, base, known)
        if listing.complete and since is None and after is not None and not broken:
            self._retire(known, met, base)
        if last and since is None:
            self._filer.add(Part(replace(base, content_sha256=last), ()))
        self._filer.flush()
        return replace(report, warnings=(*listing.notices, *broken))

    def _file_commits(
        self, commits: Iterator[Commit], base: Source, known: Mapping[str, Source]
    ) -> tuple[HistoryReport, set[str], str]:
        """File each commit; return what came of it, the paths met and the last commit's id."""
        redactions: Counter[str] = Counter()
        folded: Counter[str] = Counter()
        met: set[str] = set()
        read = stored = 0
        last = ""

        def take_out(text: str) -> str:
            redacted = redact(text)
            redactions.update(redacted.counts())
            return redacted.text

        for record in read_history(commits, take_out):
            last = record.commit.sha
            read += 1
            self._progress.advance(last[:12])
            if record.fold is not None:
                folded[str(record.fold)] += 1
                continue
            path = _FOLDER + last
            met.add(path)
            stored += 1
            former = known.get(path)
            if former is not None and _is_current(former, base):
                self._filer.changes += Changes(unchanged=len(record.chunks))
                continue
            source = replace(base, path=path, commit=last, content_sha256=last)
            self._filer.add(Part(source, record.chunks, 0, SourceClass.COMMIT))
        report = HistoryReport(base.root, read, stored, dict(folded), dict(redactions))
        return report, met, last

    def _retire(self, known: Mapping[str, Source], met: set[str], base: Source) -> None:
        """Supersede commits that are no longer part of the history."""
        for path, source in known.items():
            if path != LEDGER and path not in met and source.state is SourceState.STORED:
                gone = replace(source, mined_at=base.mined_at, content_sha256="")
                self._filer.add(Part(gone, (), 0, SourceClass.COMMIT))


def _read_on(commits: Iterator[Commit], broken: list[str]) -> Iterator[Commit]:
    """Yield commits until git cannot go on, and note why; what was read so far holds."""
    try:
        yield from commits
    except SourceError as error:
        broken.append(f"the history was not read to its end: {error.message}")


def _is_current(former: Source, base: Source) -> bool:
    """Return whether a commit is stored by the same rules; one that was superseded is not."""
    same = former.rules == base.rules and former.content_sha256 == former.commit
    return same and former.state in {SourceState.STORED, SourceState.FORGOTTEN}
