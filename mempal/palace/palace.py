"""The face of the library: what is asked of a palace, and the groups of what is done to it."""

import os
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from mempal import __version__
from mempal.core.clock import now
from mempal.core.config import Config
from mempal.core.errors import MempalError, NotFoundError
from mempal.core.model import Scope, SearchResult
from mempal.core.names import normalize_name
from mempal.core.outfit import Outfit
from mempal.core.ports import Progress, Store
from mempal.core.reports import (
    AuditReport,
    Diagnosis,
    IndexStatus,
    ReindexReport,
    RoomList,
    SessionBalance,
    Status,
    WakeUp,
)
from mempal.health import diagnose
from mempal.ingest.text import read_identity, read_text
from mempal.palace.access import Access
from mempal.palace.answer import answer
from mempal.palace.runs import Runs
from mempal.search.cite import Citer
from mempal.search.engine import Request
from mempal.search.fuse import FLOOR
from mempal.search.hints import explain_nothing
from mempal.search.meaning import rebuild_index
from mempal.search.meaning import reembed as embed_again
from mempal.search.wakeup import wake_up

if TYPE_CHECKING:
    from mempal.palace.archive import Archives
    from mempal.palace.drawers import Drawers
    from mempal.palace.mining import Mining
    from mempal.palace.removal import Removal

_MOST_RESULTS = 1000


class Palace:
    """Everything remembered under one folder.

    Args:
        config: Settings, with the folder they belong to.
        outfit: Adapters; see :func:`mempal.wiring.open_palace`.

    Attributes:
        access: The way to store, index and settings.
        runs: Verbs about what was done.
    """

    def __init__(self, config: Config, outfit: Outfit) -> None:
        self.access = Access(config, outfit)
        self.runs = Runs(self.access)

    # What only these groups need would slow down every cold search.

    @cached_property
    def drawers(self) -> "Drawers":
        """Verbs about single drawers."""
        from mempal.palace import drawers

        return drawers.Drawers(self.access)

    @cached_property
    def mining(self) -> "Mining":
        """Verbs that bring what is stored in line with what is on disk."""
        from mempal.palace import mining

        return mining.Mining(self.access)

    @cached_property
    def removal(self) -> "Removal":
        """Verbs that take drawers away."""
        from mempal.palace import removal

        return removal.Removal(self.access)

    @cached_property
    def archive(self) -> "Archives":
        """Verbs about the palace as a whole."""
        from mempal.palace import archive

        return archive.Archives(self.access)

    @property
    def config(self) -> Config:
        """Settings, with the folder they belong to."""
        return self.access.config

    @property
    def home(self) -> Path:
        """The palace's folder."""
        return self.config.home

    def exists(self) -> bool:
        """Return whether there is a palace in the folder."""
        return self.access.exists()

    def default_wing(self, path: Path) -> str:
        """Return the wing of a path when none is named: the configured one, else its project's."""
        return self.access.default_wing(path)

    # --- writing -------------------------------------------------------------------------------

    def reindex(self, *, reembed: bool, progress: Progress) -> ReindexReport:
        """Build the word index and the vector index anew; with ``reembed``, the vectors too.

        Raises:
            NotFoundError: There is no palace.
            EmbedderError: The embedder does not answer; the vectors stay as they were.
            BusyError: Another process is writing.
        """
        started = monotonic()
        self.access.require()
        with self.access.open(writable=True) as store:
            embedder = self.access.outfit.open_embedder() if reembed else None
            if embedder:
                embedder.embed_query("ready")  # nothing is rebuilt before it answers
            drawers = store.rebuild_words()
            embedded = embed_again(store, embedder, progress) if embedder else 0
            name = rebuild_index(store, self.access.outfit.open_index, self.access.outfit.lock)
            identity = store.embedder_identity() or ""
        return ReindexReport(name, identity, drawers, embedded, round(monotonic() - started, 3))

    # --- reading -------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        scope: Scope,
        *,
        limit: int = 10,
        mode: str = "hybrid",
        context: int = 0,
    ) -> SearchResult:
        """Answer a question with cited drawers, best first.

        Raises:
            UsageError: The mode is unknown, or the limit is not positive.
            PalaceError: The palace cannot be read.
        """
        scope = replace(scope, wing=_normalize(scope.wing), room=_normalize(scope.room))
        floor = self.config.fraction("search.floor")
        request = Request(
            query, scope, min(limit, _MOST_RESULTS), mode, context, FLOOR if floor < 0 else floor
        )
        if not self.exists():
            return SearchResult(query, mode, (), hint=self.access.absence)
        with self.access.open(writable=False) as store:
            result = answer(self.access, store, request)
            if result.hits or result.hint:
                return result
            return replace(result, hint=explain_nothing(store, scope))

    def wake_up(self, wing: str | None, *, max_tokens: int = 900) -> WakeUp:
        """Compose what an agent should know when it starts."""
        wing = _normalize(wing)
        if not self.exists():
            return WakeUp(wing, "", 0, hint=self.access.absence)
        with self.access.open(writable=False) as store:
            return wake_up(store, wing, read_identity(self.home), max_tokens)

    def has_wing(self, wing: str) -> bool:
        """Return whether a wing holds anything."""
        if not self.exists():
            return False
        with self.access.open(writable=False) as store:
            return store.has_wing(wing)

    def rooms(self, wing: str | None = None) -> RoomList:
        """Return the size of every room, of one wing or of all."""
        wing = _normalize(wing)
        if not self.exists():
            return RoomList((), self.access.absence)
        with self.access.open(writable=False) as store:
            rooms = tuple(room for room in store.rooms() if wing in (None, room.wing))
            return RoomList(rooms, "" if rooms else explain_nothing(store, Scope(wing=wing)))

    def status(self) -> Status:
        """Return sizes, versions and counts."""
        warnings, label = self.config.warnings, self.config.text("embed.backend")
        if not self.exists():
            return Status(
                str(self.home), __version__, None, None, label, warnings, self.access.absence
            )
        with self.access.open(writable=False) as store:
            status = store.status()
            state = self._describe_index(store)
            hint = "" if status.drawers else explain_nothing(store, Scope())
            return Status(str(self.home), __version__, status, state, label, warnings, hint)

    def _describe_index(self, store: Store) -> IndexStatus | None:
        index = self.access.outfit.open_index(store)
        if index is None:
            return None
        with closing(index):
            pending = store.count_entries_since(index.position())
            return IndexStatus(index.name, index.count(), pending)

    def diagnose(self) -> Diagnosis:
        """Check everything without writing, and count the sessions that are not stored yet."""
        from mempal.ingest.sessions import judge_sessions

        diagnosis = diagnose(self.config, self.access.outfit)
        sessions = self._count_sessions()
        finding = judge_sessions(sessions, Path.home())
        findings = diagnosis.findings if finding is None else (*diagnosis.findings, finding)
        return replace(diagnosis, findings=findings, sessions=sessions)

    def _count_sessions(self) -> tuple[SessionBalance, ...]:
        from mempal.ingest.sessions import count_sessions, find_session_folders

        folders = find_session_folders(os.environ, Path.home())
        if not self.exists():
            return count_sessions(folders, None, now())
        with suppress(MempalError), self.access.open(writable=False) as store:
            return count_sessions(folders, store, now())
        return ()  # the check of the database has told why nobody knows

    def audit(self, wing: str | None, progress: Progress) -> AuditReport:
        """Prove from disk that everything of every mined tree is stored, skipped or excluded.

        Raises:
            NotFoundError: There is no such wing.
        """
        from mempal.ingest.audit import audit

        wing = _normalize(wing)
        if not self.exists():
            return AuditReport((), self.access.absence)
        with self.access.open(writable=False) as store:
            if wing is not None and not (store.roots(wing) or store.has_wing(wing)):
                raise NotFoundError(
                    f"nothing was mined into wing {wing!r}", hint="`mempal wings` lists wings"
                )
            return audit(store, self.access.outfit.repositories, wing, (self.home,), progress)

    def _citer(self, store: Store) -> Citer:
        return Citer(store, self.access.outfit.repositories, read_text)


def _normalize(name: str | None) -> str | None:
    return None if name is None else normalize_name(name)
