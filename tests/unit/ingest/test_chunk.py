"""The published rules of the two chunkers, row by row."""

import pytest

from mempal.ingest import chunk_conversation, chunk_text
from mempal.ingest.chunk import WHITE_SPACE

FOX = "the quick brown fox jumps"
TWO_TURNS = (
    "> How do I fix this?\nTry restarting.\n\n> What about the config?\nCheck settings.toml."
)
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


@pytest.mark.parametrize(
    ("text", "window", "overlap", "lengths"),
    [
        ("a" * 2000, 800, 100, [800, 800, 600]),
        ("a" * 800, 800, 100, [800]),
        ("a" * 801, 800, 100, [800, 101]),
        ("a" * 1500, 800, 100, [800, 800]),
        ("a" * 1501, 800, 100, [800, 800, 101]),
        ("word " * 400, 800, 100, [799, 799, 599]),
        ("\u4f60\u597d\uff0c\u4e16\u754c\u3002" * 4, 10, 2, [10, 10, 8]),
    ],
)
def test_lengths_of_chunks(text, window, overlap, lengths):
    assert [len(chunk) for chunk in chunk_text(text, window, overlap)] == lengths


@pytest.mark.parametrize(
    ("text", "window", "overlap", "chunks"),
    [
        ("", 800, 100, []),
        (" \n\t ", 800, 100, []),
        ("  hello world \n", 800, 100, ["hello world"]),
        (FOX, 10, 3, ["the quick", "ck brown", "wn fox", "ox jumps"]),
        (FOX, 10, 0, ["the quick", "brown fox", "jumps"]),
        ("abcde fghijklmnop", 10, 2, ["abcde fghi", "hijklmnop"]),
        ("abcdef ghijklmnop", 10, 2, ["abcdef", "f ghijklmn", "mnop"]),
        ("abcdef ghijklmnop", 10, 9, ["abcdef", "ghijklmnop"]),
        ("abcdefgh ijklmnop", 10, 9, ["abcdefgh", "ijklmnop"]),
        ("abcdef", 3, 2, ["abc", "bcd", "cde", "def"]),
        ("abcdef", 3, 3, ["abc", "bcd", "cde", "def"]),
        (
            "para one text.\n\npara two text.\n\npara three.",
            20,
            5,
            ["para one text.", "xt.\n\npara two text.", "ext.\n\npara three."],
        ),
    ],
)
def test_chunks_of_text(text, window, overlap, chunks):
    assert chunk_text(text, window, overlap) == chunks


def test_code_points_are_counted_not_graphemes():
    chunks = chunk_text(FAMILY * 2, 5, 1)

    assert [len(chunk) for chunk in chunks] == [5, 5, 5, 2]
    assert chunks[0] == FAMILY[:5]


def test_an_overlap_beyond_the_window_counts_as_one_less_than_it():
    assert chunk_text("abcdef", 3, 1000) == chunk_text("abcdef", 3, 2)


@pytest.mark.parametrize("mark", ["\n", " ", "\t"])
def test_a_window_ends_after_newline_space_or_tab(mark):
    assert chunk_text(f"abcdef{mark}ghijkl", 10, 0) == ["abcdef", "ghijkl"]


@pytest.mark.parametrize("mark", ["\r", "\xa0", "\u3000", "\u3002", "\v", "\x1f"])
def test_nothing_else_ends_a_window(mark):
    assert chunk_text(f"abcdef{mark}ghijkl", 10, 0) == [f"abcdef{mark}ghi", "jkl"]


def test_a_window_of_nothing_shows_nothing():
    assert chunk_text("text", 0, 0) == []


@pytest.mark.parametrize(("window", "overlap"), [(-1, 0), (10, -1), (-1, -1)])
def test_negative_lengths_are_refused(window, overlap):
    with pytest.raises(ValueError, match="must not be negative"):
        chunk_text("", window, overlap)


@pytest.mark.parametrize("space", sorted(WHITE_SPACE))
def test_white_space_is_trimmed(space):
    assert chunk_text(f"{space}a{space}", 10, 0) == ["a"]


@pytest.mark.parametrize("mark", ["\x1c", "\x1d", "\x1e", "\x1f", "\u200b", "\ufeff"])
def test_what_only_looks_blank_is_kept(mark):
    assert chunk_text(f" {mark}a{mark} ", 10, 0) == [f"{mark}a{mark}"]
    assert chunk_conversation(mark) == [mark]


def test_white_space_is_what_unicode_says():
    # str.isspace adds the four separators of ASCII.
    assert set(WHITE_SPACE) == {
        character for character in map(chr, range(0x110000)) if character.isspace()
    } - set("\x1c\x1d\x1e\x1f")


@pytest.mark.parametrize(
    ("transcript", "chunks"),
    [
        (
            TWO_TURNS,
            [
                "> How do I fix this?\nTry restarting.\n",
                "> What about the config?\nCheck settings.toml.",
            ],
        ),
        ("\n\nWelcome\nback\n> q1\na1\n", ["Welcome\nback", "> q1\na1"]),
        ("a\n\nb\n", ["a\n\nb"]),
        ("> q1\n> q2\na2", ["> q1", "> q2\na2"]),
        (">q1\na\n>> q2\n> q3", [">q1\na\n>> q2", "> q3"]),
        ("> q\nHe said:\n> quoted text\nend", ["> q\nHe said:", "> quoted text\nend"]),
        ("> q\na\n\n\n", ["> q\na\n\n"]),
        ("> line1\nline2\nanswer", ["> line1\nline2\nanswer"]),
        ("> q1\r\na1\r\n> q2\r\na2\r\n", ["> q1\na1", "> q2\na2"]),
        ("> q\u2028> x\na", ["> q\u2028> x\na"]),
        ("", []),
        ("\n \n\t\n", []),
    ],
)
def test_chunks_of_conversations(transcript, chunks):
    assert chunk_conversation(transcript) == chunks


def test_lengths_of_the_first_row():
    first, second = chunk_conversation(TWO_TURNS)

    assert (len(first), len(second)) == (37, 45)


def test_a_long_turn_stays_whole():
    turn = "> q\n" + "a" * 5000

    assert chunk_conversation(turn) == [turn]


@pytest.mark.parametrize("line", [">", ">x", " > x", "  > x", ">\tx", "\ufeff> x"])
def test_only_the_exact_marker_begins_a_turn(line):
    assert chunk_conversation(f"a\n{line}") == [f"a\n{line}"]


def test_only_one_carriage_return_before_a_newline_is_dropped():
    assert chunk_conversation("a\r\r\nb\rc\r") == ["a\r\nb\rc\r"]
