"""What a palace is made of: the ports it was given, behind functions that open them when needed."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mempal.core.archive import Archive
from mempal.core.ports import Embedder, Lock, Repositories, Store, VectorIndex


@dataclass(frozen=True, slots=True)
class Outfit:
    """The adapters of one palace.

    Attributes:
        database: File of the record of truth.
        open_store: Opens the store; the argument says whether for writing.
        open_archive: Opens the store as a whole; the argument says whether for writing.
        open_embedder: Opens the configured embedder.
        open_index: Opens the index for a store's embedder and dimensions; ``None`` for an empty
            one.
        lock: Right to write the index.
        repositories: What git knows.
        describe_git: One line on the git binary; ``None`` when there is none.
    """

    database: Path
    open_store: Callable[[bool], Store]
    open_archive: Callable[[bool], Archive]
    open_embedder: Callable[[], Embedder]
    open_index: Callable[[Store], VectorIndex | None]
    lock: Lock
    repositories: Repositories
    describe_git: Callable[[], str | None]

    def has_database(self) -> bool:
        """Return whether anything stands where the database belongs.

        A link that leads nowhere counts: its palace may be on a disk that is not there now, and
        "no palace yet" would invite to start another.
        """
        return os.path.lexists(self.database)
