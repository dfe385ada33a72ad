"""The hashing embedder of `mempal.testing`, as far as the contract does not say."""

import pytest

from mempal.core.vector import similarity
from mempal.testing import HashEmbedder


def test_more_shared_words_are_more_similar() -> None:
    query, two, one, none = HashEmbedder(dimensions=256).embed_documents(
        ["red apple tree", "the red apple", "a red brick", "grey stones"]
    )
    assert similarity(query, two) > similarity(query, one) > similarity(query, none) >= 0


def test_case_and_punctuation_do_not_matter() -> None:
    embedder = HashEmbedder()
    assert embedder.embed_query("Red, apple!") == embedder.embed_query("red apple")


def test_no_text_with_a_word_is_zero() -> None:
    embedder = HashEmbedder(dimensions=1)
    assert all(any(embedder.embed_query(f"word{number}")) for number in range(50))


def test_models_disagree() -> None:
    assert HashEmbedder().embed_query("apple") != HashEmbedder(model="B").embed_query("apple")


def test_no_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one dimension"):
        HashEmbedder(dimensions=0)
