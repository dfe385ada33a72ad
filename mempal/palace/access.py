"""What every verb needs: the settings, the adapters, and the store opened and closed around it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mempal.core.config import Config
from mempal.core.errors import (
    BusyError,
    EmbedderError,
    EmbedderMismatchError,
    MempalError,
    NotFoundError,
    PalaceError,
)
from mempal.core.names import clean_name
from mempal.core.outfit import Outfit
from mempal.core.ports import Embedder, Store
from mempal.core.project import default_wing
from mempal.search.meaning import rebuild_index, refresh_index


@dataclass(slots=True)
class Running:
    """A run under way.

    Attributes:
        number: What it is called; ``None`` once it has ended without a change.
    """

    store: Store
    number: int | None


@dataclass(slots=True)
class Access:
    """The way into one palace.

    Attributes:
        config: Settings, with the folder they belong to.
        outfit: Adapters; see :func:`mempal.wiring.open_palace`.
    """

    config: Config
    outfit: Outfit

    @property
    def home(self) -> Path:
        """The palace's folder."""
        return self.config.home

    def exists(self) -> bool:
        """Return whether there is a palace in the folder."""
        return self.outfit.has_database()

    @property
    def absence(self) -> str:
        """What to tell a user who has no palace yet."""
        return f"there is no palace at {self.home} yet; `mempal mine` starts one"

    def require(self) -> None:
        """Check that there is a palace.

        Raises:
            NotFoundError: There is none.
        """
        if not self.exists():
            raise NotFoundError(self.absence)

    def default_wing(self, path: Path) -> str:
        """Return the wing of a path when none is named: the configured one, else its project's."""
        return self.config.text("wing") or clean_name(default_wing(path))

    @contextmanager
    def open(self, *, writable: bool) -> Iterator[Store]:
        """Open the store for the time of one verb."""
        store = self.outfit.open_store(writable)
        try:
            if writable and store.has_traces():  # of a removal whose process died, or was kept
                self.remove_traces(store)
            yield store
        finally:
            store.close()

    @contextmanager
    def run(
        self, verb: str, wing: str | None, *, embeds: bool = False, **detail: object
    ) -> Iterator[Running]:
        """Open the store for one run of a verb, which can be undone.

        What was done before an error belongs to the run, too.

        Args:
            verb: What is done.
            wing: What wing it is done to.
            embeds: Whether it may need vectors, so that another embedder than the store's own is
                refused before anything is written.
            detail: What else is recorded about it.

        Raises:
            EmbedderMismatchError: The palace was embedded by another embedder.
        """
        with self.open(writable=True) as store:
            if embeds:
                self._refuse_mismatch(store)
            running = Running(store, store.begin_run(verb, wing, detail))
            try:
                yield running
            except BaseException as error:
                with suppress(MempalError):  # the first error is the one to report
                    store.finish_run({"stopped": type(error).__name__})
                raise
            store.finish_run({})
            if running.number is not None and store.run(running.number) is None:
                running.number = None

    def bind_embedder(self, store: Store) -> Embedder:
        """Open the embedder and record that the store's vectors are its.

        Raises:
            EmbedderMismatchError: They are another one's.
        """
        embedder = self.outfit.open_embedder()
        store.bind_embedder(embedder.identity)
        return embedder

    def refresh(self, store: Store) -> tuple[str, ...]:
        """Bring the index up to date.

        What keeps it back is a warning, for words find everything.
        """
        try:
            refresh_index(store, self.outfit.open_index, self.outfit.lock)
        except (BusyError, PalaceError) as error:
            return (f"the vector index was not written: {error.message} ({error.hint})",)
        return ()

    def remove_traces(self, store: Store) -> tuple[str, ...]:
        """Take what was forgotten out of every file that may still hold it.

        What keeps it there is a warning: the next verb that writes tries again.
        """
        try:
            # An index that is only brought up to date may hold what it no longer shows.
            rebuild_index(store, self.outfit.open_index, self.outfit.lock)
            store.scrub()
        except (BusyError, PalaceError) as error:
            wait = "the next command that writes removes them"
            return (f"traces are still in the palace's files, {wait} ({error.message})",)
        return ()

    def _refuse_mismatch(self, store: Store) -> None:
        """Check that the configured embedder is the store's own.

        One that does not answer is no reason to stop: what needs no vector is stored without it.

        Raises:
            EmbedderMismatchError: It is another one.
        """
        stored = store.embedder_identity()
        if stored is None:
            return
        try:
            configured = self.outfit.open_embedder().identity
        except EmbedderError:  # told by the first text that needs it
            return
        if configured != stored:
            raise EmbedderMismatchError(stored, configured)
