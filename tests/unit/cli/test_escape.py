"""What is shown never steers a terminal, and what JSON carries comes back unchanged."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.cli.escape import escape_controls, escape_in_json, escape_name, mend_surrogates

# Every code point, lone surrogates included.
ANY_TEXT = st.text(st.characters(codec=None))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("bell\x07 back\x08", r"bell\x07 back\x08"),
        ("one\rtwo", r"one\rtwo"),
        ("c1 \x9b31m", r"c1 \x9b31m"),
        ("abc\u202edcba", r"abc\u202edcba"),
        ("\u2066isolate\u2069", r"\u2066isolate\u2069"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("[red]not markup[/red] 決定 ✓ 👩\u200d💻", "[red]not markup[/red] 決定 ✓ 👩\u200d💻"),
    ],
)
def test_controls_are_shown_as_escapes_and_the_rest_as_it_is(text: str, shown: str):
    assert escape_controls(text) == shown


def test_a_name_is_one_line():
    assert escape_name("we\nird\tname\r.md") == r"we\nird\tname\r.md"


@given(ANY_TEXT)
def test_no_control_character_is_left(text: str):
    allowed = {"\t", "\n"}
    left = {c for c in escape_controls(text) if unicodedata.category(c) == "Cc"} - allowed
    assert not left
    assert not {c for c in escape_name(text) if unicodedata.category(c) == "Cc"}


def test_surrogate_pairs_are_joined_and_lone_ones_replaced():
    assert mend_surrogates("\ud83d\ude80") == "🚀"
    assert mend_surrogates("caf\udce9.md") == "caf\ufffd.md"
    assert mend_surrogates("\ude80\ud83d") == "\ufffd\ufffd"


@given(ANY_TEXT)
def test_mended_text_is_utf8_and_mending_again_changes_nothing(text: str):
    mended = mend_surrogates(text)
    mended.encode()
    assert mend_surrogates(mended) == mended


@given(st.text())
def test_json_means_the_same_after_escaping(text: str):
    document = json.dumps({"text": text}, ensure_ascii=False)
    escaped = escape_in_json(document)
    assert json.loads(escaped) == {"text": text}
    assert not {"\x7f", "\x9b", "\u202e", "\u2067", "\U000e0041"} & set(escaped)


def test_json_escapes_what_lies_beyond_the_basic_plane_as_a_pair():
    assert escape_in_json('"\U000e0041\u202e"') == r'"\udb40\udc41\u202e"'
