"""What git knows, without git."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mempal.core.clock import parse_instant
from mempal.core.commits import Commit, CommitListing
from mempal.core.errors import UsageError
from mempal.core.model import Repository, TreeListing


class MemoryRepositories:
    """What git knows, as a test tells it: no git program, no file is read.

    A path lies in the repository with the deepest root above it.
    """

    def __init__(self) -> None:
        self._repositories: dict[Path, Repository] = {}
        self._listings: dict[Path, TreeListing] = {}
        self._tracked: dict[Path, frozenset[str]] = {}
        self._blobs: dict[Path, Mapping[str, str]] = {}
        self._bare: set[Path] = set()
        self._histories: dict[Path, tuple[Commit, ...]] = {}
        self._excludes: list[tuple[Path, Path | None]] = []

    def add(
        self,
        repository: Repository,
        listing: TreeListing | None = None,
        *,
        tracked: frozenset[str] = frozenset(),
        blobs: Mapping[str, str] | None = None,
        commits: Sequence[Commit] = (),
    ) -> None:
        """Make a repository known.

        Args:
            repository: What ``find`` answers for its root and all below it.
            listing: What ``list_tree`` answers; ``None`` when git could not tell.
            tracked: What ``tracked_paths`` answers; beside a listing, the listing's tracked files
                and submodules.
            blobs: Blob ids of the checked-out commit by path.
            commits: Its history, each commit after its parents.
        """
        root = repository.root
        self._repositories[root] = repository
        self._blobs[root] = blobs or {}
        self._histories[root] = tuple(commits)
        self._tracked[root] = tracked
        if listing is not None:
            self._listings[root] = listing
            self._tracked[root] = listing.tracked.union(listing.submodules)

    def add_bare(self, folder: Path) -> None:
        """Make a bare repository known."""
        self._bare.add(folder)

    def add_excludes(self, file: Path, root: Path | None = None) -> None:
        """Make an ignore file known, stronger than those before.

        Args:
            file: Where it lies.
            root: The repository it holds for; ``None`` for all trees.
        """
        self._excludes.append((file, root))

    def find(self, path: Path) -> Repository | None:
        """Return the working tree that ``path`` lies in; ``None`` outside of any."""
        resolved = path.resolve()
        above = (resolved, *resolved.parents) if resolved.exists() else ()
        roots = (folder for folder in above if folder in self._repositories)
        root = next(roots, None)
        return None if root is None else self._repositories[root]

    def is_bare(self, path: Path) -> bool:
        """Return whether ``path`` was made known as a bare repository."""
        return path in self._bare

    def list_tree(self, repository: Repository) -> TreeListing | None:
        """Return the listing that was given for a working tree."""
        return self._listings.get(repository.root)

    def tracked_paths(self, repository: Repository) -> frozenset[str]:
        """Return the tracked paths that were given, submodules included."""
        return self._tracked.get(repository.root, frozenset())

    def find_blob(self, repository: Repository, blob: str) -> str | None:
        """Return the first path of the checked-out commit that holds a blob, if one does."""
        if repository.commit is None:
            return None
        blobs = self._blobs.get(repository.root, {})
        return min((path for path, known in blobs.items() if known == blob), default=None)

    def list_commits(
        self, repository: Repository, since: str | None, after: str | None
    ) -> CommitListing | None:
        """Return the history that was given, as far as it leads to the commit of ``repository``.

        ``None`` when none was given or it lacks that commit.

        Raises:
            UsageError: ``since`` is neither the id of a commit that was given nor ISO 8601.
        """
        given = self._histories.get(repository.root, ())
        history = _find_ancestors(given, repository.commit)
        if not history:
            return None
        admits = _limit(given, since)
        known = after in history
        old = _find_ancestors(given, after) if known else set()
        listed = [one for one in given if one.sha in history - old and admits(one)]
        return CommitListing(iter(listed), complete=not known)

    def excludes_file(self, repository: Repository | None) -> list[Path]:
        """Return the ignore files that were given, weakest first, as far as they exist."""
        own = None if repository is None else repository.root
        return [file for file, root in self._excludes if root in {None, own} and file.is_file()]


def _find_ancestors(commits: Sequence[Commit], sha: str | None) -> set[str]:
    """Return a commit and all it was made from; empty when it is not among ``commits``."""
    found = {one.sha for one in commits if one.sha == sha}
    for one in reversed(commits):
        if one.sha in found:
            found.update(one.parents)
    return found.intersection(one.sha for one in commits)


def _limit(commits: Sequence[Commit], since: str | None) -> Callable[[Commit], bool]:
    if since is None:
        return lambda _: True
    old = _find_ancestors(commits, since)
    if old:
        return lambda commit: commit.sha not in old
    try:
        instant = parse_instant(since)
    except UsageError as error:
        raise UsageError(
            f"neither a revision nor a date: {since!r}", hint="write a commit or 2026-05-01"
        ) from error
    return lambda commit: commit.committed_at is not None and commit.committed_at >= instant
