"""From what a person typed to what is asked of the two lists.

Any text is a valid query. Words that carry no meaning are dropped unless nothing else is left;
joined identifiers are asked for whole and in parts; quoted words must follow each other; runs of
unspaced script become pairs of characters.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mempal.core.model import Term
from mempal.core.words import (
    STOP_WORDS,
    UNSPACED_RUN,
    find_words,
    pair_characters,
    split_identifier,
    split_scripts,
)

# A pasted prompt may hold thousands of words. The question stands at its end, so the last ones
# count.
_MOST_UNITS = 400
_LONGEST_WORD = 200
# Meaning is averaged over all words, so a long preamble would drown the question behind it.
_EMBEDDED_CHARACTERS = 1000

_QUOTED = re.compile(r'"([^"]{1,500})"')


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing the asker named.

    Attributes:
        terms: Every exact way to ask for it, the most exact first.
        parts: What to ask for when the palace knows none of those: pieces of a joined identifier.
    """

    terms: tuple[Term, ...]
    parts: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """An analysed query.

    Attributes:
        units: Things asked for by word, without repeats, in order.
        text: What is embedded to ask by meaning; empty when there is no word in the query.
        question: Those of the units that ``text`` names, where it is only the end of the query.
    """

    units: tuple[Unit, ...]
    text: str
    question: tuple[Unit, ...] = ()


def analyze_query(text: str) -> Query:
    """Analyse a query of any length and content."""
    cleaned = text.encode("utf-8", "replace").decode().replace("\x00", " ")
    units = _find_telling(cleaned)
    if not units:
        return Query((), "")
    question = _cut_question(cleaned)
    is_part = len(question) < len(cleaned.strip())
    return Query(units, question, _find_telling(question) if is_part else ())


def _find_telling(text: str) -> tuple[Unit, ...]:
    """Return the last units of a text, without fillers unless there is nothing else."""
    units = list(dict.fromkeys(_find_units(text)))
    telling = [unit for unit in units if not _is_filler(unit)]
    return tuple((telling or units)[-_MOST_UNITS:])


def _find_units(text: str) -> Iterator[Unit]:
    position = 0
    for quoted in _QUOTED.finditer(text):
        yield from _find_plain(text[position : quoted.start()])
        phrase = tuple(word.lower() for word in find_words(quoted.group(1)))
        if len(phrase) > 1:
            yield Unit((Term(phrase),))
        yield from _find_plain(quoted.group(1))
        position = quoted.end()
    yield from _find_plain(text[position:])


def _find_plain(text: str) -> Iterator[Unit]:
    for token in text.split():
        words = find_words(token)
        spaced = not any(UNSPACED_RUN.search(word) for word in words)
        if len(words) > 1 and spaced and max(map(len, words)) <= _LONGEST_WORD:
            yield Unit((Term(tuple(word.lower() for word in words)),))
        for word in words:
            yield from _split_word(word)


def _split_word(word: str) -> Iterator[Unit]:
    runs = UNSPACED_RUN.findall(word)
    for part in split_scripts(word) if runs else [word]:
        if len(part) <= _LONGEST_WORD:
            yield _whole(part)
    for run in runs:
        for pair in pair_characters(run):
            yield Unit((Term((pair,), prefix=len(pair) == 1),))


def _whole(word: str) -> Unit:
    whole = Term((word.lower(),))
    parts = tuple(part.lower() for part in split_identifier(word))
    if not parts:
        return Unit((whole,))
    return Unit((whole, Term(parts)), tuple(Term((p,)) for p in parts if p not in STOP_WORDS))


def _is_filler(unit: Unit) -> bool:
    tokens = unit.terms[0].tokens
    return len(unit.terms) == 1 and all(token in STOP_WORDS for token in tokens)


def _cut_question(text: str) -> str:
    stripped = text.strip()
    if len(stripped) <= _EMBEDDED_CHARACTERS:
        return stripped
    last = re.split(r"\n\s*\n", stripped[-_EMBEDDED_CHARACTERS:])[-1].strip()
    return last or stripped[-_EMBEDDED_CHARACTERS:]
