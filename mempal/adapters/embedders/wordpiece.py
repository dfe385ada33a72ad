"""WordPiece: cut text into the tokens of BERT's uncased vocabulary.

A text is lower-cased, freed of accents and control characters, and split at blanks; punctuation and
Han characters stand alone. Each word is then cut, from the left, into the longest pieces that the
vocabulary knows (Wu et al., "Google's neural machine translation system", 2016, section 4.1). A
word with a part that it does not know, or of more than 100 characters, has no tokens.

Written out here because a text's vector needs no more than the ids: with remembered words, plain
Python is three times as fast as a general tokenizer library, and needs none to be loaded for a
single query. A property test holds it to that library's results.
"""

import unicodedata
from itertools import chain

LONGEST_WORD = 100
_CONTINUED = "##"
_BEGINNING = 2
# How much is remembered before starting afresh: about 15 MB of words, 1 MB of characters.
_WORDS_KEPT = 65_536
_CHARACTERS_KEPT = 8_192

_HAN = (
    range(0x4E00, 0xA000),
    range(0x3400, 0x4DC0),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2CEB0),
    range(0xF900, 0xFB00),
    range(0x2F800, 0x2FA20),
)
_CONTROLS = frozenset({"Cc", "Cf", "Co", "Cs"})
_REPLACEMENT = 0xFFFD
_LAST_ASCII = 0x7F


class WordPiece:
    """Cuts texts into token ids.

    Args:
        tokens: The vocabulary; a token's position is its id.
    """

    def __init__(self, tokens: list[str]) -> None:
        self._words = _Words(dict(zip(tokens, range(len(tokens)), strict=True)))
        self._characters = _Characters()

    def find_ids(self, text: str) -> list[int]:
        """Return the ids of the tokens of a text, in order; lone surrogates count for nothing."""
        if not text.isascii():
            text = unicodedata.normalize("NFD", text)
        words = text.translate(self._characters).split()
        return list(chain.from_iterable(map(self._words.__getitem__, words)))


class _Words(dict[str, tuple[int, ...]]):
    """Words seen so far and the ids of their pieces."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        # Length of the longest piece for each way a piece begins: without it a word of random
        # letters, such as a hash, costs a look-up for every pair of its letters.
        self._reach: dict[str, int] = {}
        for token in vocabulary:
            prefix = _CONTINUED if token.startswith(_CONTINUED) else ""
            beginning = token[: len(prefix) + _BEGINNING]
            length = len(token) - len(prefix)
            self._reach[beginning] = max(length, self._reach.get(beginning, 0))

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return ()
        if len(self) >= _WORDS_KEPT:
            self.clear()
        ids = self[word] = self._cut(word)
        return ids

    def _cut(self, word: str) -> tuple[int, ...]:
        ids = []
        start, prefix = 0, ""
        while start < len(word):
            reach = self._reach.get(prefix + word[start : start + _BEGINNING], 1)
            for end in range(min(start + reach, len(word)), start, -1):
                found = self._vocabulary.get(prefix + word[start:end])
                if found is not None:
                    break
            else:
                return ()
            ids.append(found)
            start, prefix = end, _CONTINUED
        return tuple(ids)


class _Characters(dict[int, str]):
    """What becomes of each character of a decomposed text; filled as characters turn up."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _CHARACTERS_KEPT:
            self.clear()
        result = self[code] = _fold(code)
        return result


def _fold(code: int) -> str:
    character = chr(code)
    category = unicodedata.category(character)
    if character.isspace():
        return " "
    if category in _CONTROLS or category == "Mn" or code == _REPLACEMENT:
        return ""
    if _stands_alone(code, category):
        return f" {character} "
    return character.lower()


def _stands_alone(code: int, category: str) -> bool:
    if category.startswith("P") or any(code in block for block in _HAN):
        return True
    # In ASCII the symbols count as punctuation too: $ + < = > ^ ` | ~
    return code <= _LAST_ASCII and category.startswith("S")
