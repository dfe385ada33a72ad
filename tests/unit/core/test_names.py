"""Names of wings and rooms."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.core.errors import UsageError
from mempal.core.names import check_name, clean_name


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Ops Team", "Ops Team"),
        ("  ops-team\t", "ops-team"),
        ("../up", "../up"),
        ("100%", "100%"),
        ("決定", "決定"),
        ("e\u0301", "\u00e9"),
        ("x" * 200, "x" * 200),
    ],
)
def test_a_name_is_kept_as_it_is_spelled(written, kept):
    assert check_name("wing", written) == kept


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "a wing needs a name"),
        (" \t\u3000", "a wing needs a name"),
        ("x" * 201, "at most 200 characters"),
        ("a\0b", "no control characters"),
        ("a\nb", "no control characters"),
        ("\x1b[31m", "no control characters"),
        ("\udcff", "no control characters"),
    ],
)
def test_what_cannot_be_typed_or_shown_is_refused(name, message):
    with pytest.raises(UsageError, match=message) as caught:
        check_name("wing", name)
    assert all(unicodedata.category(character) != "Cs" for character in caught.value.message)


def test_the_message_says_what_was_named():
    with pytest.raises(UsageError, match="a room needs") as caught:
        check_name("room", "")
    assert caught.value.hint == "give it with --room NAME"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("my project [v2]", "my project [v2]"),
        ("line\nbreak", "line_break"),
        ("caf\udce9", "caf_"),
        ("   ", "default"),
        ("", "default"),
        ("y" * 300, "y" * 200),
    ],
)
def test_a_folder_gives_a_name_whatever_it_is_called(folder, name):
    assert clean_name(folder) == name


@given(st.text(st.characters(), max_size=250))
def test_a_cleaned_name_is_a_name(folder):
    name = clean_name(folder)
    assert check_name("wing", name) == name


@given(st.text(st.characters(), max_size=250))
def test_a_checked_name_is_a_name(text):
    try:
        name = check_name("wing", text)
    except UsageError:
        return
    assert check_name("wing", name) == name == clean_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "gh" + "p_k3Yw9QzT7bNc2Lr8VxJf5Hp1Ds6Gm4Uo0EaI",
        "AK" + "IA2E0A8F3B244C9986",
        "sk" + "_live_abcDEF123ghiJKL456mno789",
        "password: Xk29" + "fjQ8sd",
        "postgres://u:pw9xK2" + "mQ7z@host/db",
    ],
)
def test_a_secret_is_no_name_and_is_not_repeated(name):
    with pytest.raises(UsageError) as caught:
        check_name("wing", name)
    assert name not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("name", ["my-long-project-name-2024", "release/2026.12.01-rc1", "a=b:c"])
def test_what_only_looks_a_little_like_one_is_a_name(name):
    assert check_name("wing", name) == name
