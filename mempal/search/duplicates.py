"""Whether a text is stored already: word for word, or nearly so by meaning.

Two texts are equal when they have the same characters in normalisation form C, however their lines
end and whatever white space is around them. Equal texts are found by their words, so it takes
neither an embedder nor an index to find them; all others are compared by the cosine of their
vectors.
"""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mempal.core.errors import BusyError, EmbedderError, PalaceError
from mempal.core.model import Drawer, Scope, Term
from mempal.core.ports import Store
from mempal.core.words import find_words
from mempal.search.engine import Meaning

THRESHOLD = 0.9
_MOST_MATCHES = 5
# Neighbours asked for of each piece; some may be out of date where the index is behind.
_POOL = 20
# Drawers that hold all words of a piece in its order, the shortest first. Equal ones are among the
# first, and of equal ones a few will do.
_HOLDERS = 100
# Drawers read at a time where only their text can tell.
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A drawer that says what a text says.

    Attributes:
        similarity: Cosine of both vectors, in [0, 1]; 1 when the texts are equal.
        exact: Whether the texts are equal.
        piece: Number of the piece of the text that is most like it, from 1.
    """

    drawer: Drawer
    similarity: float
    exact: bool
    piece: int = 1


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What is stored that is like a text.

    Attributes:
        matches: The most similar drawers, best first; at most five.
        pieces: How many pieces the text was compared in.
        degraded: Each reason why this may be less than the whole answer.
    """

    wing: str | None
    threshold: float
    matches: tuple[Duplicate, ...] = ()
    pieces: int = 1
    degraded: tuple[str, ...] = ()
    hint: str = ""

    @property
    def duplicate(self) -> bool:
        """Whether there is any."""
        return bool(self.matches)


@dataclass(frozen=True, slots=True)
class _Match:
    similarity: float
    exact: bool
    piece: int


def find_duplicates(
    store: Store,
    open_meaning: Callable[[], Meaning],
    pieces: Sequence[str],
    scope: Scope,
    threshold: float,
) -> Duplicates:
    """Compare a text with what is stored.

    Args:
        store: Record of truth.
        open_meaning: Opens what answers by meaning.
        pieces: The text as it would be stored; blank pieces are passed over.
        scope: Where to look.
        threshold: Least similarity, in [0, 1].
    """
    asked = [(number, piece) for number, piece in enumerate(pieces, 1) if _normalize(piece)]
    found: dict[int, _Match] = {}
    for number, piece in asked:
        for key in _find_equal(store, piece, scope):
            found.setdefault(key, _Match(1.0, exact=True, piece=number))
    degraded = _add_similar(store, open_meaning, asked, scope, found)
    near = [(key, match) for key, match in found.items() if match.similarity >= threshold]
    near.sort(key=lambda pair: (-pair[1].similarity, not pair[1].exact, pair[0]))
    best = dict(near[:_MOST_MATCHES])
    drawers = store.get(list(best))
    return Duplicates(
        wing=scope.wing,
        threshold=threshold,
        matches=tuple(_join(drawer, best[drawer.key]) for drawer in drawers),
        pieces=len(pieces),
        degraded=degraded,
    )


def _join(drawer: Drawer, match: _Match) -> Duplicate:
    return Duplicate(drawer, match.similarity, match.exact, match.piece)


def _normalize(text: str) -> str:
    folded = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", folded.strip())


def _find_equal(store: Store, piece: str, scope: Scope) -> Iterator[int]:
    wanted = _normalize(piece)
    words = tuple(word.lower() for word in find_words(wanted))
    if not words:  # what no index of words knows
        yield from _scan(store, wanted, scope)
        return
    holders = store.match_words([Term(words)], scope, _HOLDERS)
    for drawer in store.get([match.key for match in holders]):
        if _normalize(drawer.content) == wanted:
            yield drawer.key


def _scan(store: Store, wanted: str, scope: Scope) -> set[int]:
    return store.visible(
        [
            key
            for batch in store.contents(_BATCH)
            for key, content in batch
            if _normalize(content) == wanted
        ],
        scope,
    )


def _add_similar(
    store: Store,
    open_meaning: Callable[[], Meaning],
    asked: Sequence[tuple[int, str]],
    scope: Scope,
    found: dict[int, _Match],
) -> tuple[str, ...]:
    """Add what is similar to any piece; return why some of it may be missing."""
    try:
        meaning = open_meaning()
        for number, piece in asked:
            near = meaning.nearest(meaning.embed(piece), _POOL, scope)
            visible = store.visible((neighbor.key for neighbor in near), scope)
            for neighbor in near:
                known = found.get(neighbor.key)
                if neighbor.key not in visible or (
                    known is not None and (known.exact or known.similarity >= neighbor.similarity)
                ):
                    continue
                found[neighbor.key] = _Match(neighbor.similarity, exact=False, piece=number)
        return tuple(meaning.notices())
    except (BusyError, EmbedderError, PalaceError) as error:
        return (f"only equal texts were looked for: {error.message} ({error.hint})",)
