"""What git knows, without git."""

from collections.abc import Mapping
from pathlib import Path

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
        self._excludes: list[tuple[Path, Path | None]] = []

    def add(
        self,
        repository: Repository,
        listing: TreeListing | None = None,
        *,
        tracked: frozenset[str] = frozenset(),
        blobs: Mapping[str, str] | None = None,
    ) -> None:
        """Make a repository known.

        Args:
            repository: What ``find`` answers for its root and all below it.
            listing: What ``list_tree`` answers; ``None`` when git could not tell.
            tracked: What ``tracked_paths`` answers; beside a listing, the listing's tracked files
                and submodules.
            blobs: Blob ids of the checked-out commit by path.
        """
        root = repository.root
        self._repositories[root] = repository
        self._blobs[root] = blobs or {}
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

    def excludes_file(self, repository: Repository | None) -> list[Path]:
        """Return the ignore files that were given, weakest first, as far as they exist."""
        own = None if repository is None else repository.root
        return [file for file, root in self._excludes if root in {None, own} and file.is_file()]
