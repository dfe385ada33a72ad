"""What holds of pieces whatever the text."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mempal.ingest.breaks import is_inside
from mempal.ingest.chunk import WHITE_SPACE
from mempal.ingest.cut import cut_text, line_numbers

PATHS = st.sampled_from(
    ["a.py", "a.md", "a.rst", "a.js", "a.c", "a.sql", "Makefile", "a.json", "x"]
)
LIMITS = st.integers(2, 90) | st.just(800)
FRAGMENTS = st.sampled_from(
    [
        *("\n", "\n", "\n\n", "\r\n", "\r", " ", "    ", "\t", "\u2028", "\x85", "\x1c", "\xa0"),
        *("x", "word ", "Ends. ", "\u4f60\u597d\u3002", "x" * 30, "\n" * 40, " " * 50),
        *(
            "e\u0301",
            "\u200d",
            "\ufe0f",
            "\U0001f1e9\U0001f1ea",
            "\ud83d",
            "\ude80",
            "\ud83d\ude80",
        ),
        *("# Head\n", "Head\n====\n", "```\n", "~~~\n", "- item\n", "| cell |\n", "---\n"),
        *("def f():\n", "    def g():\n", "class A:\n", "@x\n", "# c\n", "/* c\n", "*/\n", "}\n"),
        *("    return 1\n", "int f() {\n", "build: x\n", "create table t (\n", ")\n", "else:\n"),
    ]
)
TEXTS = st.lists(FRAGMENTS | st.text(max_size=8), max_size=60).map("".join)
MANY_TEXTS = TEXTS | st.lists(FRAGMENTS, max_size=400).map("".join)
BLANK_RUN = re.compile(f"[{WHITE_SPACE}]+")


def is_blank(text: str) -> bool:
    return not text.strip(WHITE_SPACE)


def longest_run(text: str) -> int:
    return max(map(len, BLANK_RUN.findall(text)), default=0)


@given(MANY_TEXTS, PATHS, LIMITS)
def test_pieces_are_contiguous_cover_the_text_and_keep_the_limit(text, path, limit):
    pieces = cut_text(text, path, limit)

    if is_blank(text):
        assert pieces == []
        return
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text
    assert pieces[0].start == 0
    assert pieces[-1].end == len(text)
    assert [piece.start for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    assert all(0 < piece.end - piece.start <= limit for piece in pieces)


@given(MANY_TEXTS, PATHS, LIMITS)
@example("\n" * 5 + "x" + " " * 8, "a.md", 10)
@example("x" * 8 + "\n" * 5 + "y" * 8, "a.md", 10)
@example("x" * 8 + "\n" * 5, "a.md", 10)
@example("x" * 8 + "\n" * 3 + "y" * 10, "a.md", 10)
def test_only_long_white_space_stands_alone(text, path, limit):
    for piece in cut_text(text, path, limit):
        if is_blank(text[piece.start : piece.end]):
            before = text[: piece.end]
            start = len(before.rstrip(WHITE_SPACE))
            run = BLANK_RUN.match(text, start)
            assert run
            assert 2 * len(run[0]) >= limit - 2


@given(MANY_TEXTS, PATHS, LIMITS)
def test_a_line_is_torn_only_when_it_does_not_fit(text, path, limit):
    for piece in cut_text(text, path, limit)[1:]:
        line_start = text.rfind("\n", 0, piece.start) + 1
        if line_start == piece.start:
            continue
        line_end = text.find("\n", piece.start) + 1 or len(text)
        blank_before = line_start - len(text[:line_start].rstrip(WHITE_SPACE))
        blank_after = len(text) - line_end if is_blank(text[line_end:]) else 0
        assert line_end - line_start + blank_before + blank_after > limit


@given(MANY_TEXTS, PATHS, st.integers(2, 60))
def test_line_ends_are_never_torn(text, path, limit):
    for piece in cut_text(text, path, limit)[1:]:
        assert text[piece.start - 1 : piece.start + 1] != "\r\n"


@given(
    st.lists(st.text("xe\u0301\u200d\ufe0f\U0001f469\U0001f3fd\ud83d\ude80", max_size=9)), LIMITS
)
def test_characters_are_torn_only_when_they_are_endless(parts, limit):
    text = "x".join(parts)
    for piece in cut_text(text, "a.txt", limit)[1:]:
        if is_inside(text, piece.start):
            start = piece.start
            while start and is_inside(text, start):
                start -= 1
            assert piece.start - start >= min(limit // 4, 16) - 1


@given(MANY_TEXTS, PATHS, LIMITS)
def test_line_numbers_are_those_of_the_lines(text, path, limit):
    pieces = cut_text(text, path, limit)
    numbers = line_numbers(text, pieces)

    owners = []
    line = 1
    for character in text:
        owners.append(line)
        line += character == "\n"
    assert numbers == [(owners[piece.start], owners[piece.end - 1]) for piece in pieces]


@given(TEXTS, PATHS, LIMITS)
def test_cutting_is_deterministic_and_symbols_are_words_of_one_line(text, path, limit):
    pieces = cut_text(text, path, limit)

    assert pieces == cut_text(text, path, limit)
    assert all("\n" not in piece.symbols for piece in pieces)
    assert all(piece.symbols == piece.symbols.strip(" ") for piece in pieces)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("x" * 2_000_000, "a.py"),
        ("word " * 400_000, "a.js"),
        ("One sentence of many. " * 20_000, "a.md"),
        ("x" + " " * 1_000_000 + "x", "a.md"),
        ("e" + "\u0301" * 300_000, "a.md"),
        ("a\n" * 150_000, "a.py"),
        ("```\n" * 60_000, "a.md"),
        ("a\n===\n" * 40_000, "a.rst"),
        ("/*\n" * 80_000, "a.c"),
        ("".join(" " * depth + f"def f{depth}():\n" for depth in range(600)), "a.py"),
    ],
    ids=["x", "words", "sentences", "blank", "marks", "lines", "fences", "rules", "open", "deep"],
)
def test_large_texts_are_cut_completely(text, path):
    # Work that grew with the square of the length would not end here.
    pieces = cut_text(text, path)

    assert "".join(text[piece.start : piece.end] for piece in pieces) == text
    assert max(piece.end - piece.start for piece in pieces) <= 800
    assert len(text) / len(pieces) > 400
