"""Tells random characters from words: the question on which every doubtful secret is decided.

Two signs are read. Random characters change class often (lower case, upper case, digit), where
written names change once a word. And pairs of letters that writing knows well are rare among them.
Neither needs a dictionary, and either is enough, so that short values and values of a single class
are judged too. It is a judgement about looks: `correct horse battery` is a word to it.
"""

import re

_RUN = re.compile("[A-Za-z0-9]+")
_LETTERS = re.compile("[a-z]+")
_DIGITS = re.compile("[0-9]+")
# A change from upper to lower case is none: that is how a word begins.
_CHANGE = re.compile("(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
_SEQUENCES = re.compile(
    "0123456789|1234567890?|123456|987654321|abcdef(?:gh(?:ij(?:klmnopqrstuvwxyz)?)?)?",
    re.IGNORECASE,
)

# The 220 commonest pairs of letters in English and in source code: 94 of 100 pairs in text, 33 of
# 100 among random letters.
_SECONDS = {
    "a": "bcdgilmnprstuvy",
    "b": "aejlouy",
    "c": "aehiklortu",
    "d": "adeiosu",
    "e": "acdefglmnpqrstvwxy",
    "f": "aefiloru",
    "g": "ehirs",
    "h": "aeiot",
    "i": "abcdefglmnoprstvz",
    "j": "e",
    "k": "ei",
    "l": "adefilostuy",
    "m": "abeiops",
    "n": "acdefgiknostuv",
    "o": "bcdfklmnoprstuvw",
    "p": "aeiloprtuy",
    "q": "u",
    "r": "acdegilmnorstuy",
    "s": "acehiopstuy",
    "t": "acehiloprstuy",
    "u": "eilmnprst",
    "v": "aei",
    "w": "aehior",
    "x": "cept",
    "y": "lpst",
    "z": "e",
}
_PAIRS = frozenset(first + second for first, rest in _SECONDS.items() for second in rest)
_CHANGES_A_CHARACTER = 0.18
_FEWEST_CHANGES = 3
_KNOWN_SHARE = 0.55
_CAMEL_SHARE = 0.7  # with a digit or none, many humps are a name when the pairs in it are known
_FEWEST_PAIRS = 6
_FEWEST_KINDS = 6
_SAMPLE = 256  # characters judged of a longer value


def share_known(value: str) -> float:
    """Return which share, 0 to 1, of a value's letter pairs are common in writing; 1 for few."""
    pairs = [
        run[at : at + 2] for run in _LETTERS.findall(value.lower()) for at in range(len(run) - 1)
    ]
    if len(pairs) < _FEWEST_PAIRS:
        return 1.0
    return sum(pair in _PAIRS for pair in pairs) / len(pairs)


def looks_random(value: str) -> bool:
    """Whether a value looks drawn at random; meant for 12 and more ASCII characters."""
    plain = _SEQUENCES.sub("", value[:_SAMPLE])
    size = sum(map(len, _RUN.findall(plain)))
    if len(set(plain)) < _FEWEST_KINDS:
        return False
    known = share_known(plain)
    if known <= _KNOWN_SHARE:
        return True
    changes = len(_CHANGE.findall(plain))
    return changes >= max(_FEWEST_CHANGES, size * _CHANGES_A_CHARACTER) and (
        known <= _CAMEL_SHARE or len(_DIGITS.findall(plain)) > 1
    )
