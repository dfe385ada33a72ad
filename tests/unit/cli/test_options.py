"""How the text of options is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.cli.options import parse_size
from mempal.cli.views import format_bytes
from mempal.core.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("2097152", 2_097_152),
        ("512k", 512 * 1024),
        ("512 kB", 512 * 1024),
        ("2MB", 2 * 1024**2),
        ("2MiB", 2 * 1024**2),
        (" 1G ", 1024**3),
    ],
)
def test_sizes(text: str, size: int):
    assert parse_size(text, 7) == size


def test_no_size_is_the_default():
    assert parse_size(None, 7) == 7


@pytest.mark.parametrize("text", ["", "0", "0k", "-1", "1.5MB", "k", "2TB", "ten", "1 2", "²"])
def test_other_texts_are_refused(text: str):
    with pytest.raises(UsageError, match="not a file size"):
        parse_size(text, 7)


@given(st.integers(0, 10**16))
def test_shown_sizes_are_near_the_truth(size: int):
    number, unit = format_bytes(size).split()
    scale = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}[unit]
    assert abs(float(number) * scale - size) <= 0.05 * scale + 1
