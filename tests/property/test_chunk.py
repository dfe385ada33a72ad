"""Both chunkers against models of their rules that are written another way."""

import re
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from mempal.ingest import chunk_conversation, chunk_text
from mempal.ingest.chunk import WHITE_SPACE

SPACES = frozenset(WHITE_SPACE)
TEXTS = st.text(st.sampled_from("ab\u00e9\u4f60 \n\t\r\xa0\x1c") | st.characters(), max_size=120)
WINDOWS = st.integers(0, 30)
OVERLAPS = st.integers(0, 40)
TRANSCRIPTS = st.lists(
    st.sampled_from(["> ", ">", " ", "\n", "\n", "\r\n", "\r", "\v", "\f", "\x85", "\u2028", "a"])
    | st.text(max_size=3),
    max_size=30,
).map("".join)


def trim(text: str) -> str:
    kept = [number for number, character in enumerate(text) if character not in SPACES]
    return text[kept[0] : kept[-1] + 1] if kept else ""


def show_windows(length: int, breaks: set[int], window: int, overlap: int) -> list[tuple[int, int]]:
    """The windows over a trimmed text, from the positions of its newlines, spaces and tabs."""
    windows: list[tuple[int, int]] = []
    while length and (not windows or windows[-1][1] < length):
        start = 0
        if windows:
            former, end = windows[-1]
            start = max(end - overlap, 0) if end - overlap > former else end
        beyond = [at + 1 for at in breaks if start + window // 2 < at < start + window]
        end = max(beyond, default=start + window)
        windows.append((start, length if start + window >= length else end))
    return windows


@given(TEXTS, WINDOWS, OVERLAPS)
@example("a" * 41, 20, 19)
@example("abcdef ghijklmnop", 10, 9)
def test_windows_lie_where_the_rules_put_them(text, window, overlap):
    trimmed = trim(text)
    breaks = {number for number, character in enumerate(trimmed) if character in "\n \t"}
    expected = (
        show_windows(len(trimmed), breaks, window, min(overlap, window - 1)) if window else []
    )

    chunks = [trim(trimmed[start:end]) for start, end in expected]
    assert chunk_text(text, window, overlap) == [chunk for chunk in chunks if chunk]


@given(TEXTS, WINDOWS, OVERLAPS)
def test_no_chunk_is_blank_untrimmed_or_above_the_window(text, window, overlap):
    for chunk in chunk_text(text, window, overlap):
        assert 0 < len(chunk) <= window
        assert chunk == trim(chunk)


@given(st.lists(st.sampled_from([" ", "\n", "\u3000", "x"]), max_size=80), WINDOWS, OVERLAPS)
def test_every_character_is_in_a_chunk_in_order(shape, window, overlap):
    # Each x becomes a character of its own, so that where a chunk comes from is never in doubt.
    text = "".join(
        chr(0x4E00 + number) if kind == "x" else kind for number, kind in enumerate(shape)
    )
    chunks = chunk_text(text, max(window, 1), overlap)

    seen = [character for chunk in chunks for character in chunk if character not in SPACES]
    assert list(dict.fromkeys(seen)) == [c for c in text if c not in SPACES]


@given(st.integers(1, 400), st.integers(2, 60), st.integers(0, 70))
def test_neighbours_in_unbroken_text_share_the_overlap(length, window, overlap):
    text = "".join(chr(0x4E00 + number) for number in range(length))
    shared = min(overlap, window - 1)
    chunks = chunk_text(text, window, overlap)

    for left, right in pairwise(chunks):
        assert len(left) == window
        assert left[window - shared :] == right[:shared]
    if length > window:
        assert len(chunks) == -(-(length - shared) // (window - shared))
    else:
        assert chunks == [text]


@given(st.text(st.sampled_from(WHITE_SPACE)), WINDOWS, OVERLAPS)
def test_blank_input_gives_nothing(text, window, overlap):
    assert chunk_text(text, window, overlap) == []
    assert chunk_conversation(text) == []


@given(TRANSCRIPTS)
def test_turns_begin_at_marked_lines_only(transcript):
    chunks = chunk_conversation(transcript)

    # A model on the whole text: fold line ends, drop the last one and leading blank lines, split.
    folded = re.sub(r"\r\n", "\n", transcript).removesuffix("\n")
    blank = re.escape(WHITE_SPACE.replace("\n", ""))
    body = re.sub(rf"\A(?:[{blank}]*\n)+", "", folded)
    expected = re.split(r"\n(?=> )", body) if trim(body) else []
    assert chunks == expected


@given(st.lists(st.sampled_from(["\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2029"])))
def test_other_line_ends_never_split(marks):
    transcript = "> q" + "".join(f"{mark}> a" for mark in marks)

    assert chunk_conversation(transcript) == [transcript]
