"""Cutting text into word pieces, held to the results of the `tokenizers` library."""

import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import mempal.adapters.embedders
from mempal.adapters.embedders import wordpiece
from mempal.adapters.embedders.wordpiece import WordPiece

DATA = Path(mempal.adapters.embedders.__file__).with_name("data")
# Blank to Python, control characters to BERT's rules; here they part words.
BLANK_CONTROLS = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"


def read_tokens() -> list[str]:
    return (DATA / "minilm-vocabulary.txt").read_text(encoding="utf-8").split("\n")[:-1]


@cache
def library() -> Tokenizer:
    vocabulary = {token: number for number, token in enumerate(read_tokens())}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


@cache
def ours() -> WordPiece:
    return WordPiece(read_tokens())


def is_settled(character: str) -> bool:
    """Whether all versions of Unicode that a library may carry agree about a character."""
    former = unicodedata.ucd_3_2_0.category(character)
    return former not in {"Cn", "Cs"} and former == unicodedata.category(character)


WORDS = st.sampled_from(
    ["session", "Token", "parseConfigFile", "naïve", "don't", "http", "\u0130x"]
)
CHARACTERS = st.one_of(
    st.characters(max_codepoint=0x7F),
    st.characters(max_codepoint=0x5FF),
    st.characters(max_codepoint=0x2FFFF),
).filter(lambda c: is_settled(c) and c not in BLANK_CONTROLS)
TEXTS = st.lists(st.one_of(WORDS, st.text(CHARACTERS, max_size=12), st.just(" "))).map("".join)


@given(TEXTS)
@example("[CLS] is no [MASK]\t\r\nhere")
@example("a" * 100 + " " + "b" * 101)
@example("Ⅻ ﬁne ½ ²  e\u0301 Ş İ 東京タワー 한국어 → €5 a\u200bb \ufffd")
def test_same_tokens_as_the_library(text: str) -> None:
    unknown = library().token_to_id("[UNK]")
    expected = [number for number in library().encode(text).ids if number != unknown]
    assert ours().find_ids(text) == expected


@pytest.mark.parametrize("blank", list(BLANK_CONTROLS))
def test_what_python_calls_blank_parts_words(blank: str) -> None:
    assert ours().find_ids(f"one{blank}two") == ours().find_ids("one two")


def test_a_lone_surrogate_is_as_if_absent() -> None:
    assert ours().find_ids("se\udc80ssion \ud800") == ours().find_ids("session")


def test_pieces_are_the_longest_from_the_left() -> None:
    tokens = ["re", "##member", "##mem", "##ber", "remem", "##b"]
    assert WordPiece(tokens).find_ids("remember") == [4, 3]


def test_a_word_with_an_unknown_part_has_no_tokens() -> None:
    assert WordPiece(["ab", "##c", "d"]).find_ids("abc abx d") == [0, 1, 2]


def test_results_do_not_depend_on_what_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordpiece, "_WORDS_KEPT", 2)
    monkeypatch.setattr(wordpiece, "_CHARACTERS_KEPT", 2)
    forgetful = WordPiece(read_tokens())
    text = "The quick brown fox, the quick brown hound: à la carte! " * 3
    assert forgetful.find_ids(text) == ours().find_ids(text)
    assert len(forgetful._words) <= 2
    assert len(forgetful._characters) <= 2
