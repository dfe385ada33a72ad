"""The palace: one object whose methods are the product's verbs.

The command line and the MCP server call nothing else. Each verb opens what it needs and closes it
again; reading verbs never create a palace.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic

from mempal import __version__
from mempal.core.config import Config
from mempal.core.errors import BusyError, NotFoundError, PalaceError, UsageError
from mempal.core.model import Addition, Scope, SearchResult
from mempal.core.names import check_name, clean_name, normalize_name
from mempal.core.outfit import Outfit
from mempal.core.ports import Embedder, Progress, Store
from mempal.core.project import default_wing
from mempal.core.reports import (
    AuditReport,
    Diagnosis,
    IndexStatus,
    MineOptions,
    MineReport,
    ReindexReport,
    RoomList,
    Shown,
    Status,
    WakeUp,
)
from mempal.health import diagnose
from mempal.ingest.audit import audit
from mempal.ingest.mine import Miner, list_trees
from mempal.ingest.note import add_note, prepare_note
from mempal.ingest.read import read_identity, read_text
from mempal.search.cite import Citer
from mempal.search.engine import Request, search
from mempal.search.fuse import FLOOR
from mempal.search.hints import explain_nothing
from mempal.search.meaning import IndexMeaning, rebuild_index, refresh_index
from mempal.search.meaning import reembed as embed_again
from mempal.search.wakeup import wake_up

_MOST_RESULTS = 1000


class Palace:
    """Everything remembered under one folder.

    Args:
        config: Settings, with the folder they belong to.
        outfit: Adapters; see :func:`mempal.wiring.open_palace`.
    """

    def __init__(self, config: Config, outfit: Outfit) -> None:
        self.config = config
        self._outfit = outfit

    @property
    def home(self) -> Path:
        """The palace's folder."""
        return self.config.home

    def exists(self) -> bool:
        """Return whether there is a palace in the folder."""
        return self._outfit.has_database()

    def default_wing(self, path: Path) -> str:
        """Return the wing of a path when none is named: the configured one, else its project's."""
        return self.config.text("wing") or clean_name(default_wing(path))

    def _common_wing(self, paths: Sequence[Path]) -> str:
        wings = {self.default_wing(path): path for path in paths}
        if len(wings) > 1:
            raise UsageError(
                f"the paths belong to several projects: {', '.join(sorted(wings))}",
                hint="mine them one by one, or name one wing for all with --wing",
            )
        return next(iter(wings))

    # --- writing -------------------------------------------------------------------------------

    def mine(self, paths: Sequence[Path], options: MineOptions, progress: Progress) -> MineReport:
        """Bring what is stored of files and folders in line with what is there.

        Raises:
            NotFoundError: A path does not exist.
            SourceError: A path holds nothing that can be mined.
            EmbedderMismatchError: The palace was embedded by another embedder.
            UsageError: A wing or room has no valid name.
        """
        started = monotonic()
        trees = list_trees(paths, self._outfit.repositories, options, exclude=(self.home,))
        wing = check_name("wing", options.wing or self._common_wing(paths))
        if options.room is not None:
            options = replace(options, room=check_name("room", options.room))
        if options.dry_run and not self.exists():
            report = Miner(None, self._outfit.open_embedder, progress).mine(trees, wing, options)
        else:
            with self._open(writable=not options.dry_run) as store:
                miner = Miner(store, lambda: self._bind_embedder(store), progress)
                report = miner.mine(trees, wing, options)
                late = () if options.dry_run else self._refresh(store)
            report = replace(report, warnings=(*report.warnings, *late))
        return replace(report, seconds=round(monotonic() - started, 3))

    def _bind_embedder(self, store: Store) -> Embedder:
        embedder = self._outfit.open_embedder()
        store.bind_embedder(embedder.identity)
        return embedder

    def add(
        self, text: str, *, wing: str, room: str, source: str = "", importance: int = 0
    ) -> Addition:
        """Store a text given by hand; a long one in several drawers.

        Raises:
            UsageError: The text is blank, a name is not valid or the importance is not 0 to 5.
            EmbedderMismatchError: The palace was embedded by another embedder.
        """
        note = prepare_note(text, wing, room, source)
        with self._open(writable=True) as store:
            addition = add_note(store, self._outfit.open_embedder(), note, importance)
            self._refresh(store)
        return addition

    def reindex(self, *, reembed: bool, progress: Progress) -> ReindexReport:
        """Build the word index and the vector index anew; with ``reembed``, the vectors too.

        Raises:
            NotFoundError: There is no palace.
            EmbedderError: The embedder does not answer; the vectors stay as they were.
            BusyError: Another process is writing.
        """
        started = monotonic()
        self._require()
        with self._open(writable=True) as store:
            embedder = self._outfit.open_embedder() if reembed else None
            if embedder:
                embedder.embed_query("ready")  # nothing is rebuilt before it answers
            drawers = store.rebuild_words()
            embedded = embed_again(store, embedder, progress) if embedder else 0
            name = rebuild_index(store, self._outfit.open_index, self._outfit.lock)
            identity = store.embedder_identity() or ""
        return ReindexReport(name, identity, drawers, embedded, round(monotonic() - started, 3))

    def _refresh(self, store: Store) -> tuple[str, ...]:
        """Bring the index up to date.

        What keeps it back is a warning, for words find everything.
        """
        try:
            refresh_index(store, self._outfit.open_index, self._outfit.lock)
        except (BusyError, PalaceError) as error:
            return (f"the vector index was not written: {error.message} ({error.hint})",)
        return ()

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
            return SearchResult(query, mode, (), hint=self._no_palace())
        with self._open(writable=False) as store, ExitStack() as opened:

            def open_meaning() -> IndexMeaning:
                index = self._outfit.open_index(store)
                if index is not None:
                    opened.callback(index.close)
                return IndexMeaning(store, self._outfit.open_embedder(), index)

            result = search(store, open_meaning, self._citer(store), request)
            if result.hits or result.hint:
                return result
            return replace(result, hint=explain_nothing(store, scope))

    def wake_up(self, wing: str | None, *, max_tokens: int = 900) -> WakeUp:
        """Compose what an agent should know when it starts."""
        wing = _normalize(wing)
        if not self.exists():
            return WakeUp(wing, "", 0, hint=self._no_palace())
        with self._open(writable=False) as store:
            return wake_up(store, wing, read_identity(self.home), max_tokens)

    def show(self, drawer_id: str) -> Shown:
        """Return one drawer by its id or the beginning of it.

        Raises:
            NotFoundError: No drawer has such an id.
            UsageError: Several have.
        """
        self._require()
        with self._open(writable=False) as store:
            found = store.resolve(drawer_id) if drawer_id else []
            if not found:
                raise NotFoundError(f"no drawer {drawer_id!r}", hint="`mempal search` prints ids")
            if len(found) > 1:
                names = ", ".join(drawer.id for drawer in found[:5])
                raise UsageError(f"{drawer_id!r} names several drawers: {names}")
            return Shown(found[0], self._citer(store).cite(found[0]))

    def has_wing(self, wing: str) -> bool:
        """Return whether a wing holds anything."""
        if not self.exists():
            return False
        with self._open(writable=False) as store:
            return store.has_wing(wing)

    def rooms(self, wing: str | None = None) -> RoomList:
        """Return the size of every room, of one wing or of all."""
        wing = _normalize(wing)
        if not self.exists():
            return RoomList((), self._no_palace())
        with self._open(writable=False) as store:
            rooms = tuple(room for room in store.rooms() if wing in (None, room.wing))
            return RoomList(rooms, "" if rooms else explain_nothing(store, Scope(wing=wing)))

    def status(self) -> Status:
        """Return sizes, versions and counts."""
        warnings, label = self.config.warnings, self.config.text("embed.backend")
        if not self.exists():
            return Status(
                str(self.home), __version__, None, None, label, warnings, self._no_palace()
            )
        with self._open(writable=False) as store:
            status = store.status()
            state = self._describe_index(store)
            hint = "" if status.drawers else explain_nothing(store, Scope())
            return Status(str(self.home), __version__, status, state, label, warnings, hint)

    def _describe_index(self, store: Store) -> IndexStatus | None:
        index = self._outfit.open_index(store)
        if index is None:
            return None
        with closing(index):
            pending = store.count_entries_since(index.position())
            return IndexStatus(index.name, index.count(), pending)

    def diagnose(self) -> Diagnosis:
        """Check everything without writing."""
        return diagnose(self.config, self._outfit)

    def audit(self, wing: str | None, progress: Progress) -> AuditReport:
        """Prove from disk that everything of every mined tree is stored, skipped or excluded.

        Raises:
            NotFoundError: There is no such wing.
        """
        if not self.exists():
            return AuditReport((), self._no_palace())
        with self._open(writable=False) as store:
            if wing is not None and not store.roots(wing):
                raise NotFoundError(
                    f"nothing was mined into wing {wing!r}", hint="`mempal wings` lists wings"
                )
            return audit(store, self._outfit.repositories, wing, (self.home,), progress)

    # --- parts ---------------------------------------------------------------------------------

    @contextmanager
    def _open(self, *, writable: bool) -> Iterator[Store]:
        store = self._outfit.open_store(writable)
        try:
            yield store
        finally:
            store.close()

    def _citer(self, store: Store) -> Citer:
        return Citer(store, self._outfit.repositories, read_text)

    def _require(self) -> None:
        if not self.exists():
            raise NotFoundError(self._no_palace())

    def _no_palace(self) -> str:
        return f"there is no palace at {self.home} yet; `mempal mine` starts one"


def _normalize(name: str | None) -> str | None:
    return None if name is None else normalize_name(name)
