"""Files and trees that were stored under another path and are the same still."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
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
    _origins: dict[str, str] = field(default_factory=dict)

    def take(self, source: Source, *, dry_run: bool) -> Source | None:
        """File a new source as one that is gone, if one holds the same.

        Returns:
            What is stored of it, as of the source that is gone; ``None`` when there is none.
        """
        known = self.known.get(source.path)
        if self.store is None or (known is not None and known.state is not SourceState.GONE):
            return None
        origins = self._find_gone().get(source.content_sha256)
        if not origins or not source.content_sha256:
            return None
        origin = origins.pop(0)
        former = self.known[origin]
        self._origins[source.path] = origin
        if not dry_run:
            self.store.rename_source(former.place, source.path, source.room, source.mined_at)
        return replace(former, path=source.path)

    def origin_of(self, path: str) -> str:
        """Return the path under which what a new file holds was stored before."""
        return self._origins[path]

    def count_gone(self) -> int:
        """Return how many files that are gone still have drawers."""
        return sum(map(len, self._find_gone().values()))

    def _find_gone(self) -> dict[str, list[str]]:
        """Return the paths of sources whose files are not there, by what they held."""
        if self._gone is None:
            self._gone = defaultdict(list)
            offered = {entry.path for entry in self.tree.files}
            for path, source in self.known.items():
                if source.state is not SourceState.STORED or path in offered:
                    continue
                if not exists(source.root, path):
                    self._gone[source.content_sha256].append(path)
        return self._gone


def find_former_root(store: Store, tree: Tree, wing: str) -> str | None:
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
