"""How text becomes words: one set of rules for what is stored and for what is asked.

The word index folds case, accents and English endings by itself and takes ``_`` and punctuation as
borders. What it cannot do is done here: parts of joined identifiers (``parseConfig`` is also
``parse`` and ``config``) and pairs of characters for scripts written without spaces (``決定採用``
is also ``決定``, ``定採`` and ``採用``), so that a word of two characters is found anywhere.

Composed and decomposed spellings of one letter are the same here: words are read from text in
normalisation form C.
"""

import re
import unicodedata
from collections.abc import Iterator

# Version of the rules; the word index is rebuilt when a palace was written with another one.
ANALYZER_VERSION = 2

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uac00-\ud7af"  # Hangul
    "\U00020000-\U0003ffff"  # Han, rarer
)
UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_JOINED = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d|\d[A-Za-z]")

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both
    but by can could did do does doing don down during each few for from further get got had has
    have having he her here hers him his how i if in into is it its itself just let ll m me more
    most my no nor not now of off on once only or other our ours out over own please re s same she
    should so some such t than that the their theirs them then there these they this those through
    to too under until up us ve very was we were what when where which while who whom why will with
    would you your yours
    """.split()  # noqa: SIM905 - one word a line would fill pages
)


def find_words(text: str) -> list[str]:
    """Return the words of a text as written, in order.

    ``_``, punctuation, symbols and half a surrogate pair are borders.
    """
    return _WORD.findall(unicodedata.normalize("NFC", text))


def split_identifier(word: str) -> list[str]:
    """Split a joined identifier at its humps and digits; empty when there is nothing to split."""
    outline = word if word.isascii() else _outline(word)
    if not _JOINED.search(outline):
        return []
    if outline is word:
        parts = _HUMP.findall(word)
    else:
        parts = [word[hump.start() : hump.end()] for hump in _HUMP.finditer(outline)]
    return parts if len(parts) > 1 else []


def _outline(word: str) -> str:
    """Return a word with every cased letter of whatever script as a Latin one of the same case."""
    return "".join("A" if c.isupper() else "a" if c.islower() else c for c in word)


def split_scripts(word: str) -> list[str]:
    """Return the spaced parts of a word of mixed script (``MQTT決定`` → ``MQTT``)."""
    parts = UNSPACED_RUN.split(word)
    return [part for part in parts if part] if len(parts) > 1 else []


def pair_characters(run: str) -> list[str]:
    """Return the overlapping pairs of a run of unspaced script.

    A single character stands for itself.
    """
    if len(run) < 2:  # noqa: PLR2004 - a pair
        return [run]
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _analyze(text: str) -> Iterator[str]:
    # An identifier that stands in a text ten times is split once: its whole form already counts ten
    # times.
    for word in dict.fromkeys(_WORD.findall(text)):
        yield from split_identifier(word)
        yield from split_scripts(word)
    for match in UNSPACED_RUN.finditer(text):
        yield from pair_characters(match.group())


def derive_parts(text: str) -> str:
    """Return the extra words that make the parts of a text findable, blank-separated."""
    return " ".join(_analyze(unicodedata.normalize("NFC", text)))
