"""Files and trees that were stored under another path and are the same still."""

import stat
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from mempal.core.model import Source, SourceState
from mempal.core.ports import Store
from mempal.ingest.conversation import exists
from mempal.ingest.walk import Tree


@dataclass(slots=True)
class Moves:
    """What is stored of one tree, against the files that are there.

    A file that is new, and holds byte for byte what a file held that is gone, is that file under
    another name.

    Attributes:
        store: Where renames are filed; ``None`` when nothing is stored.
        tree: The files that are there.
        known: What is stored, by path.
    """

    store: Store | None
    tree: Tree
    known: dict[str, Source]
    _gone: dict[str, list[str]] | None = None

    def take(self, source: Source, *, dry_run: bool) -> Source | None:
        """File a new source as one that is gone, if one holds the same.

        Returns:
            The source that is gone, as it was; ``None`` when there is none.
        """
        known = self.known.get(source.path)
        if self.store is None or (known is not None and self._is_taken(self.store, known)):
            return None
        origins = self._find_gone().get(source.content_sha256)
        if not origins or not source.content_sha256:
            return None
        former = self.known[origins.pop(0)]
        return former if dry_run or _rename(self.store, former, source) else None

    def count_gone(self, drawers: Mapping[str, int]) -> int:
        """Return how many files that are gone still have drawers.

        Args:
            drawers: How many current ones each file has, by path.
        """
        return sum(path in drawers for paths in self._find_gone().values() for path in paths)

    def _is_taken(self, store: Store, known: Source) -> bool:
        """Return whether a path stands for a file of its own, gone or not."""
        if known.state is not SourceState.GONE:
            return True
        # Drawers that cards cite outlive their file.
        return bool(store.drawers_of(known.wing, known.root, known.path))

    def _find_gone(self) -> dict[str, list[str]]:
        """Return the paths of sources whose files are not there, by what they held."""
        if self._gone is None:
            self._gone = defaultdict(list)
            offered = {entry.path for entry in self.tree.files}
            spellings = {path.casefold(): path for path in offered}
            for path, source in self.known.items():
                if source.state is not SourceState.STORED or path in offered:
                    continue
                other = spellings.get(path.casefold())
                if not exists(source.root, path) or _is_one_file(source.root, path, other):
                    self._gone[source.content_sha256].append(path)
        return self._gone


def _rename(store: Store, former: Source, source: Source) -> bool:
    """File a source under another path; return whether it is there now.

    Another process may have let go of it, or moved it, since it was listed.
    """
    place = replace(former.place, path=source.path)
    current = store.rename_source(former.place, source.path, source.room, source.mined_at)
    filed = store.source(place)
    same = filed is not None and filed.content_sha256 == former.content_sha256
    # Where all drawers were superseded meanwhile, the text has to be filed to bring them back.
    return same and bool(current or not store.keys_of([place]))


def _is_one_file(root: str, path: str, other: str | None) -> bool:
    """Return whether both names lead to one file, as where upper and lower case are the same."""
    try:
        return other is not None and Path(root, path).samefile(Path(root, other))
    except OSError:
        return False


def find_former_root(store: Store, tree: Tree, wing: str) -> str | None:
    """Return the root of a tree that is gone and whose files are mostly found in ``tree``.

    A file that rules leave out by now is found, too: they do not make it another tree.
    """
    sizes = {entry.path: entry.size for entry in tree.files}
    for _, root in store.roots(wing):
        if root == str(tree.root) or Path(root).exists():
            continue
        former = {
            path: source
            for path, source in store.sources(wing, root).items()
            if source.state is not SourceState.GONE
        }
        found = sum(
            source.size == (sizes[path] if path in sizes else _measure(tree.root / path))
            for path, source in former.items()
        )
        if former and found * 2 >= len(former):
            return root
    return None


def _measure(path: Path) -> int | None:
    """Return the size of a regular file; ``None`` when there is none, or a link in its place."""
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
