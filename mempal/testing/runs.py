"""Runs of the store without a database: what is different afterwards is what can be undone."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mempal.core.clock import now
from mempal.core.errors import NotFoundError
from mempal.core.model import Place, Source, SourceState
from mempal.core.runs import Obstacle, Run, Undone, refuse_undoing
from mempal.testing.held import Held, MemoryState, stamp_place

# What of a drawer may change; all else it has for life, or has from its source.
_MUTABLE = (
    "room", "chunk_index", "span", "importance", "superseded_at", "deleted_at", "source_sha256",
    "blob", "commit",
)  # fmt: skip


@dataclass(slots=True)
class _Former:
    """What everything was when a run began."""

    sources: dict[int, tuple[Source, int | None]]
    drawers: dict[int, tuple[Any, ...]]


@dataclass(slots=True)
class _Changed:
    """What a run changed: numbers and keys with what they stood for before."""

    sources: dict[int, tuple[Source, int | None] | None] = field(default_factory=dict)
    drawers: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    added: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)


class MemoryRuns(MemoryState):
    """The part ``RunLog`` of the port ``Store``."""

    def __init__(self) -> None:
        super().__init__()
        self._runs: dict[int, Run] = {}
        self._changed: dict[int, _Changed] = {}
        self._last_run = 0
        self._running: tuple[int, _Former] | None = None

    def begin_run(self, verb: str, wing: str | None, detail: Mapping[str, object]) -> int:
        """Record that a command begins in this process; return the run's number."""
        self._last_run += 1
        run = Run(self._last_run, verb, wing, os.getpid(), now(), detail=dict(detail))
        self._runs[run.id] = run
        self._running, self._final = (run.id, self._look()), False
        return run.id

    def _look(self) -> _Former:
        return _Former(
            {self._numbers[place]: self._draw_source(place) for place in self._sources},
            {key: self._draw_drawer(held) for key, held in self._held.items()},
        )

    def _draw_source(self, place: Place) -> tuple[Source, int | None]:
        source = self._sources[place]
        holder = None if source.holder is None else self._numbers[source.holder]
        return replace(source, holder=None), holder

    def _draw_drawer(self, held: Held) -> tuple[Any, ...]:
        values = [getattr(held.drawer, name) for name in _MUTABLE]
        return (self._numbers[held.place], dict(held.lapses), *values)

    def finish_run(self, detail: Mapping[str, object]) -> None:
        """Record that the run ends, and add ``detail`` to what was recorded about it."""
        if self._running is None:
            return
        (run_id, former), self._running = self._running, None
        changed = self._compare(former)
        if changed == _Changed():
            del self._runs[run_id]
            return
        self._changed[run_id] = changed
        run = self._runs[run_id]
        self._runs[run_id] = replace(run, finished_at=now(), detail={**run.detail, **detail})

    def _compare(self, former: _Former) -> _Changed:
        present = self._look()
        changed = _Changed()
        for number in former.sources.keys() | present.sources.keys():
            before = former.sources.get(number)
            if before != present.sources.get(number):
                changed.sources[number] = before
        for key, image in former.drawers.items():
            if key not in self._held:
                changed.removed.add(key)
            elif image != present.drawers[key]:
                changed.drawers[key] = image
        if self._final:
            changed.removed.add(0)
        changed.added = set(present.drawers) - set(former.drawers)
        return changed

    def runs(self, limit: int) -> list[Run]:
        """Return the newest runs, newest first."""
        return sorted(self._runs.values(), key=lambda run: -run.id)[: max(0, limit)]

    def run(self, run_id: int) -> Run | None:
        """Return one run."""
        return self._runs.get(run_id)

    def undo_run(self, run_id: int, at: int) -> Undone:
        """Bring everything that a run changed back to what it was before."""
        run = self.run(run_id)
        if run is None:
            raise NotFoundError(f"there is no run {run_id}", hint="`mempal runs` lists them")
        refuse_undoing(run)
        changed = self._changed[run_id]
        obstacle = self._find_obstacle(run_id, changed)
        if obstacle is not None:
            raise obstacle.explain(run)
        del self._changed[run_id]
        self._runs[run_id] = replace(run, undone_at=at)
        added = sorted(changed.added & self._held.keys())
        drawers = {key: image for key, image in changed.drawers.items() if key in self._held}
        sources = {n: former for n, former in changed.sources.items() if not self._is_lost(n)}
        self._remove(added)
        self._revision += bool(drawers and not added)
        homes = {key: self._numbers[held.place] for key, held in self._held.items()}
        self._return_sources(sources)
        self._return_drawers(homes, drawers)
        self._leave_out(added, drawers, sources)
        return Undone(run_id, run.verb, len(added), len(drawers), len(sources))

    def _leave_out(self, added: list[int], drawers: Iterable[int], sources: Iterable[int]) -> None:
        """Let what was undone be no change of the run that is under way."""
        if self._running is None:
            return
        former, present = self._running[1], self._look()
        for key in added:
            former.drawers.pop(key, None)
        former.drawers.update({key: present.drawers[key] for key in drawers})
        for number in sources:
            former.sources.pop(number, None)
            if number in present.sources:
                former.sources[number] = present.sources[number]

    def _is_lost(self, number: int) -> bool:
        place = self._find_place(number)
        return place is not None and self._sources[place].state is SourceState.FORGOTTEN

    def _find_place(self, number: int) -> Place | None:
        return next((place for place, known in self._numbers.items() if known == number), None)

    def _find_obstacle(self, run_id: int, changed: _Changed) -> Obstacle | None:
        if changed.removed:
            return Obstacle(final=True)
        own = (changed.added | changed.drawers.keys()) & self._held.keys()
        later = [
            other
            for other, theirs in self._changed.items()
            if other > run_id
            and (
                own & theirs.drawers.keys()
                or any(not self._is_lost(n) for n in changed.sources if n in theirs.sources)
            )
        ]
        later.extend(self._find_guests(changed))
        if later:
            return Obstacle(later=max(later))
        cards = {card for key in changed.added for card in self.cards_of(key)}
        return Obstacle(cards=tuple(sorted(cards))) if cards else None

    def _find_guests(self, changed: _Changed) -> Iterator[int]:
        """Yield the runs that put something into sources which would go."""
        made = {number for number, former in changed.sources.items() if former is None}
        for key, held in self._held.items():
            if self._numbers[held.place] in made and key not in changed.added | set(
                changed.drawers
            ):
                yield max((n for n, run in self._changed.items() if key in run.added), default=0)
        for source in self._sources.values():
            number = self._numbers[source.place]
            holder = source.holder and self._numbers[source.holder]
            if holder in made and number not in changed.sources:
                yield max(
                    (n for n, run in self._changed.items() if number in run.sources), default=0
                )

    def _return_sources(self, sources: dict[int, tuple[Source, int | None] | None]) -> None:
        holders = {
            self._numbers[place]: self._numbers[source.holder]
            for place, source in self._sources.items()
            if source.holder is not None
        }
        for number, former in sources.items():
            place = self._find_place(number)
            if place is None:
                continue
            if former is None and self._lines.get(number):
                gone = replace(self._sources[place], holder=None, tail=None, content_sha256="")
                self._sources[place] = replace(gone, state=SourceState.GONE, size=0, mtime_ns=0)
            else:
                self._drop(place)
        kept = {number: former for number, former in sources.items() if former is not None}
        for number, (source, _) in kept.items():
            self._sources[source.place], self._numbers[source.place] = source, number
        # Whoever is held in a source that returns elsewhere is held there, changed itself or not.
        holders.update({number: holder for number, (_, holder) in kept.items() if holder})
        for place, source in list(self._sources.items()):
            holder = holders.get(self._numbers[place])
            home = None if holder is None else self._find_place(holder)
            self._sources[place] = replace(source, holder=home)

    def _return_drawers(self, homes: dict[int, int], drawers: dict[int, tuple[Any, ...]]) -> None:
        for key, (number, lapses, *values) in drawers.items():
            held, homes[key] = self._held[key], number
            held.lapses, held.revision = dict(lapses), self._revision
            held.drawer = replace(held.drawer, **dict(zip(_MUTABLE, values, strict=True)))
        places = {number: place for place, number in self._numbers.items()}
        for key, held in self._held.items():
            held.place = places[homes[key]]
            held.drawer = stamp_place(held.drawer, self._sources[held.place])
            held.read_words()
