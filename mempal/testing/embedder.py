"""An embedder without a model."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from mempal.core.vector import pack
from mempal.core.words import find_words

# How many components a word adds to. With one, two words in 64 dimensions share theirs too often;
# with four, a full overlap of different words is rare.
_POSITIONS_PER_WORD = 4


class HashEmbedder:
    """A bag of words hashed into a few dimensions (feature hashing without signs).

    No model and no file: each word adds to a few components that its hash picks, so texts are
    similar as far as they share words. Components are never negative, hence no text that holds a
    word has the zero vector. Another ``model`` picks other components, as another model would.

    Args:
        dimensions: Components of a vector, at least 1.
        model: Name that becomes part of the identity and salts the hash.
    """

    def __init__(self, dimensions: int = 64, model: str = "A") -> None:
        if dimensions < 1:
            raise ValueError(f"an embedder needs at least one dimension, not {dimensions}")
        self._dimensions = dimensions
        self._model = model

    @property
    def identity(self) -> str:
        """Name of model, dimensions and rules."""
        return f"hash:{self._model}:{self._dimensions}:v1"

    @property
    def dimensions(self) -> int:
        """Number of components of every vector."""
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """Embed texts for storing, in order."""
        return [self._embed(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """Embed a question, exactly as a document."""
        return self._embed(text)

    def _embed(self, text: str) -> bytes:
        values = [0.0] * self._dimensions
        for word, count in Counter(find_words(text.casefold())).items():
            for position in self._find_positions(word):
                values[position] += count
        return pack(values)

    def _find_positions(self, word: str) -> list[int]:
        salted = f"{self._model}\0{word}".encode(errors="surrogatepass")
        digest = hashlib.blake2b(salted, digest_size=4 * _POSITIONS_PER_WORD).digest()
        return [
            int.from_bytes(digest[start : start + 4], "little") % self._dimensions
            for start in range(0, len(digest), 4)
        ]
