"""What counts as a word, and into which further words it is split."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.core.words import (
    STOP_WORDS,
    UNSPACED_RUN,
    derive_parts,
    find_words,
    pair_characters,
    split_identifier,
    split_scripts,
)

TEXTS = st.text(st.sampled_from("aB1_é決あ한 .-") | st.characters(), max_size=60)
WORDS = st.text(st.sampled_from("abAB12éÖß决фФ"), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("one, two;three", ["one", "two", "three"]),
        ("max_retry-count.py", ["max", "retry", "count", "py"]),
        ("don't", ["don", "t"]),
        ("__init__", ["init"]),
        ("caf\u00e9 cafe\u0301", ["caf\u00e9", "caf\u00e9"]),
        ("a\0b\ud800c", ["a", "b", "c"]),
        ("決定。採用", ["決定", "採用"]),
        ("\U0001f916robot", ["robot"]),
        ("x\u00b2 4\u20444", ["x\u00b2", "4", "4"]),
    ],
)
def test_words_end_at_whatever_is_no_letter_or_digit(text, words):
    assert find_words(text) == words


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("parseConfig", ["parse", "Config"]),
        ("ParseConfig", ["Parse", "Config"]),
        ("parseHTTPConfig", ["parse", "HTTP", "Config"]),
        ("HTTPServer", ["HTTP", "Server"]),
        ("sha256sum", ["sha", "256", "sum"]),
        ("utf8", ["utf", "8"]),
        ("2fa", ["2", "fa"]),
        ("plain", []),
        ("Plain", []),
        ("PLAIN", []),
        ("2026", []),
        ("", []),
        ("iPhone", ["i", "Phone"]),
        ("caf\u00e9Latte", ["caf\u00e9", "Latte"]),
        ("max\u00d6ffnungsGr\u00f6\u00dfe2", ["max", "\u00d6ffnungs", "Gr\u00f6\u00dfe", "2"]),
        (
            "\u0447\u0438\u0442\u0430\u0442\u044c\u0424\u0430\u0439\u043b",
            ["\u0447\u0438\u0442\u0430\u0442\u044c", "\u0424\u0430\u0439\u043b"],
        ),
        ("Gr\u00f6\u00dfe", []),
        ("\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2", []),
    ],
)
def test_joined_identifiers_are_split_at_humps_and_digits(word, parts):
    assert split_identifier(word) == parts


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("MQTT決定", ["MQTT"]),
        ("決定MQTT採用v2", ["MQTT", "v2"]),
        ("決定", []),
        ("plain", []),
        ("한글abc", ["abc"]),
        ("\u0e44\u0e17\u0e22thai", ["thai"]),
    ],
)
def test_the_spaced_parts_of_a_mixed_word(word, parts):
    assert split_scripts(word) == parts


@pytest.mark.parametrize(
    ("run", "pairs"),
    [("決", ["決"]), ("決定", ["決定"]), ("決定採用", ["決定", "定採", "採用"]), ("", [""])],
)
def test_a_run_becomes_its_overlapping_pairs(run, pairs):
    assert pair_characters(run) == pairs


@pytest.mark.parametrize(
    "run", ["決定", "かな", "カナ", "한글", "ไทย", "ລາວ", "မြန်မာ"[:2], "ខ្មែរ"[:1], "\U00020000"]
)
def test_scripts_without_spaces_are_known(run):
    assert UNSPACED_RUN.fullmatch(run)


@pytest.mark.parametrize("word", ["abc", "абв", "αβγ", "אבג", "عربي", "हिन्दी", "é", "1"])
def test_scripts_with_spaces_are_not_cut_into_pairs(word):
    assert not UNSPACED_RUN.search(word)


def test_derived_words_are_those_a_plain_reading_misses():
    assert derive_parts("read parseConfig in MQTT決定採用") == "parse Config MQTT 決定 定採 採用"
    assert derive_parts("nothing to split here") == ""


def test_an_identifier_is_split_once_however_often_it_stands():
    assert derive_parts("fooBar fooBar fooBar") == "foo Bar"


def test_decomposed_letters_are_composed_first():
    decomposed = "\u1112\u1161\u11ab\u1100\u1173\u11af"
    assert derive_parts(decomposed) == derive_parts("\ud55c\uae00") == "\ud55c\uae00"
    assert derive_parts("\u304b\u3099\u304d") == "\u304c\u304d"


def test_stop_words_are_lower_case_words():
    assert {"the", "when", "s", "t"} <= STOP_WORDS
    assert all(find_words(word) == [word.lower()] for word in STOP_WORDS)
    # Words of code are not filler.
    assert not {"none", "true", "class", "return", "import", "test"} & STOP_WORDS


@given(TEXTS)
def test_words_hold_no_border(text):
    for word in find_words(text):
        assert word
        assert not re.search(r"[\s\W_]", word)


@given(TEXTS)
def test_words_of_words_are_the_same(text):
    assert find_words(" ".join(find_words(text))) == find_words(text)


@given(WORDS)
def test_the_parts_of_an_identifier_are_the_whole_of_it(word):
    parts = split_identifier(word)
    assert parts == [] or "".join(parts) == word
    assert len(parts) != 1


@given(st.text(st.sampled_from("決定採用")))
def test_the_pairs_of_a_run_are_the_whole_of_it(run):
    pairs = pair_characters(run)
    assert "".join(pair[0] for pair in pairs[:-1]) + pairs[-1] == run
    assert all(len(pair) == 2 for pair in pairs) or len(run) < 2


@given(TEXTS)
def test_derived_words_stand_in_the_words_of_a_text(text):
    words = " ".join(find_words(text))
    assert all(part in words for part in derive_parts(words).split())
