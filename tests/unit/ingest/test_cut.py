"""Where pieces begin and end."""

import pytest

from mempal.ingest.breaks import is_inside
from mempal.ingest.cut import Piece, cut_text, line_numbers
from mempal.ingest.edges import find_edges
from mempal.ingest.languages import find_family

LIMIT = 800
FAMILY = "\U0001f468\U0001f3fd\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


def cut(text: str, path: str, limit: int = LIMIT) -> list[str]:
    pieces = cut_text(text, path, limit)
    parts = [text[piece.start : piece.end] for piece in pieces]
    assert "".join(parts) == text
    assert all(len(part) <= limit for part in parts)
    return parts


def function(name: str, length: int, indent: str = "") -> str:
    """A Python function of about so many characters, without blank lines."""
    lines = [f"{indent}def {name}():"]
    while sum(map(len, lines)) + len(lines) < length - 20:
        lines.append(f"{indent}    step({len(lines)}, 'some text')")
    return "\n".join(lines) + "\n"


def paragraph(word: str, length: int) -> str:
    """A paragraph of about so many characters on lines of about 80."""
    text = ""
    while len(text) < length:
        text += f"{word} " * (80 // (len(word) + 1)) + "\n"
    return text


def test_blank_text_has_no_pieces():
    assert cut_text("", "a.py") == []
    assert cut_text(" \n\t\r\n\u2028\u3000", "a.md") == []


@pytest.mark.parametrize("limit", [1, 0, -5])
def test_a_limit_without_room_is_refused(limit):
    with pytest.raises(ValueError, match="too small"):
        cut_text("text", "a.md", limit)


def test_a_short_text_is_one_piece():
    assert cut_text("\n\n  text\n\n", "a.md") == [Piece(0, 10, "")]


def test_functions_that_do_not_fit_together_are_not_torn():
    parts = [function(name, 600) + "\n\n" for name in ("load", "save", "drop")]

    assert cut("".join(parts), "a.py") == parts


def test_small_functions_share_pieces():
    text = "\n\n".join(function(f"step_{number}", 150) for number in range(20))
    parts = cut(text, "a.py")

    assert all(part.startswith("def step_") for part in parts)
    assert all(len(part) > LIMIT // 2 for part in parts)


def test_comments_and_decorators_stay_with_their_definition():
    above = "# Loads all rows.\n# Slowly.\n@cache(\n    size=3,\n)\n@logged\n"
    text = function("save", 700) + "\n\n" + above + function("load", 500)

    assert cut(text, "a.py")[-1].startswith(above)


def test_documentation_stays_with_its_definition():
    doc = "/**\n * Loads all rows.\n *\n * Slowly.\n */\n@Deprecated\n"
    body = "".join(f"    step({n});\n" for n in range(40))
    text = f"void save() {{\n{body}}}\n\n{doc}void load() {{\n{body[:300]}\n}}\n"

    assert cut(text, "A.java")[-1].startswith(doc)


def test_a_comment_apart_from_a_definition_may_end_a_piece():
    text = function("save", 680) + "    # done with saving\n\n\n" + function("load", 600)

    assert cut(text, "a.py")[0].endswith("# done with saving\n\n\n")


def price_lines(text: str, path: str) -> dict[str, float]:
    """What a cut costs before each line, by the line; blank lines have no price."""
    edges, _ = find_edges(text, find_family(path))
    lines = [text[offset:].partition("\n")[0].strip() for offset in edges.offsets]
    return dict(zip(lines, edges.prices, strict=True))


def test_cuts_in_code_cost_more_the_more_they_tear():
    prices = price_lines(
        "first = 1\n\n# why\n@decorated\nclass Store:\n    size = 0\n\n    def load(self):\n"
        "        begin()\n        step()\n\n        for row in rows:\n            show(\n"
        "                row,\n            )\n        else:\n            leave()\n\n        end()\n"
        "\nlast = 1\n\nend = 1\n",
        "a.py",
    )
    order = [
        *("# why", "def load(self):", "last = 1", "end()", "for row in rows:", "step()"),
        *("leave()", "row,", ")"),
    ]

    assert [prices[line] for line in order] == sorted(prices[line] for line in order)
    assert prices["# why"] < prices["def load(self):"] < prices["last = 1"] < prices["end = 1"]
    assert prices["end = 1"] < prices["step()"] < prices["begin()"]
    assert prices["class Store:"] > prices["size = 0"] > prices["step()"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("class Store:\n\n    one = 1\n\n    two = 2\n", "a.py"),
        ("[rows]\none = 1\ntwo = 2\n", "a.ini"),
    ],
)
def test_a_cut_after_a_header_costs_more_than_a_later_one(text, path):
    prices = price_lines(text, path)

    assert prices["one = 1"] > prices["two = 2"]


def test_cuts_in_prose_cost_more_the_more_they_tear():
    prices = price_lines(
        "first\n\n# One\n\nabove\n\n## Two\n\nunder\n\npara\nnext.\nlast\n- item\n\nlead:\n\n"
        "show\n\n```\ncode\n\nmore\n```\n",
        "a.md",
    )
    order = ["# One", "## Two", "para", "- item", "next.", "above", "more", "code"]

    assert [prices[line] for line in order] == sorted(prices[line] for line in order)
    assert prices["para"] < prices["show"]
    assert prices["last"] < prices["next."]
    assert prices["under"] > prices["next."]


def test_a_class_is_cut_between_its_methods():
    methods = [function(name, 500, "    ") + "\n" for name in ("load", "save", "drop")]
    parts = cut("class Store:\n    rows = 0\n\n" + "".join(methods), "a.py")

    assert parts == ["class Store:\n    rows = 0\n\n" + methods[0], methods[1], methods[2]]


def test_a_header_is_not_parted_from_its_first_method():
    text = (
        function("save", 760) + "\n\nclass Store:\n    @property\n" + function("load", 500, "    ")
    )

    assert cut(text, "a.py")[-1].startswith("class Store:\n    @property\n    def load")


def test_a_long_function_is_cut_at_blank_lines_before_a_dedent():
    deep = "".join(f"        step({n}, 'some text')\n" for n in range(14))
    text = f"def load():\n    if a:\n{deep}\n{deep}\n    if b:\n{deep}\n{deep}"
    parts = cut(text, "a.py", 900)

    assert parts[1].startswith("    if b:")


def test_a_closing_line_begins_no_piece():
    call = "show(\n" + "".join(f"    'an argument number {n}',\n" for n in range(24)) + ")\n"
    parts = cut(call * 5, "a.py", 700)

    assert not [part for part in parts if part.startswith(")")]


def test_prose_is_cut_at_headings_before_paragraphs():
    text = (
        "# One\n\n" + paragraph("alpha", 300) + "\n" + paragraph("beta", 300)
        + "\n# Two\n\n" + paragraph("gamma", 300) + "\n" + paragraph("delta", 300)
    )  # fmt: skip
    parts = cut(text, "a.md")

    assert [part[:5] for part in parts] == ["# One", "# Two"]


@pytest.mark.parametrize(
    "heading", ["Two\n===\n\n", "Two\n---\n\n", "===\nTwo\n===\n\n"], ids=["=", "-", "over"]
)
def test_underlined_headings_begin_pieces(heading):
    text = paragraph("alpha", 500) + "\n" + heading + paragraph("beta", 600)

    assert cut(text, "a.rst")[1].startswith(heading)


def test_prose_without_headings_is_cut_at_paragraphs():
    parts = [paragraph(word, 600) + "\n" for word in ("alpha", "beta", "gamma")]

    assert cut("".join(parts), "notes") == parts


def test_a_heading_is_not_parted_from_its_text():
    text = paragraph("alpha", 700) + "\n## Two\n\n" + paragraph("beta", 650)

    assert cut(text, "a.md")[1].startswith("## Two\n\nbeta")


def test_a_fenced_block_is_not_torn():
    fence = "```python\n" + "".join(f"step({n})\n\n" for n in range(50)) + "```\n"
    text = paragraph("alpha", 300) + "\n" + fence + "\n" + paragraph("beta", 700)
    assert 500 < len(fence) <= 790

    assert [part for part in cut(text, "a.md") if fence in part]


def test_a_fenced_block_beside_short_lines_is_not_torn():
    fence = "```\n" + "step()\n" * 112 + "end\n```\n"
    assert len(fence) == 796
    text = f"ab\n\ncd\n{fence}ab\ncd\n{paragraph('beta', 700)}"

    assert fence in cut(text, "a.md")


def test_a_long_line_of_prose_is_cut_after_sentences():
    line = "This sentence of the long line ends here. " * 60
    parts = cut(line, "a.md")

    assert all(part.endswith("here. ") for part in parts)
    assert all(part.startswith("This") for part in parts)


def test_a_long_line_of_chinese_is_cut_after_sentences():
    parts = cut("\u4f60\u597d\u4e16\u754c\u3002" * 500, "a.txt")

    assert all(part.endswith("\u3002") for part in parts)


def test_a_long_line_of_code_is_cut_at_white_space():
    parts = cut("alpha=beta. gamma " * 200, "a.py")

    assert all(part.endswith(" ") for part in parts)


def test_a_line_without_white_space_is_cut_between_words():
    parts = cut("alpha,beta;" * 300, "a.js")

    assert all(part.endswith((",", ";")) for part in parts)


def test_a_line_without_any_border_is_cut_hard_and_full():
    assert [len(part) for part in cut("x" * 2000, "a.txt")] == [800, 800, 400]


def test_a_fitting_line_is_not_torn_for_blank_lines_after_it():
    line = "x" * 700 + "\n"
    text = line + "\n" * 300 + "y\n"

    assert cut(text, "a.py") == [line + "\n" * 99, "\n" * 201 + "y\n"]


def test_blank_lines_that_fit_nowhere_tear_a_line_rather_than_stand_alone():
    parts = cut("x" * 700 + "\n" * 301 + "y" * 799 + "\n", "a.py")

    assert all(part.strip() for part in parts)


def test_white_space_at_the_end_does_not_stand_alone():
    parts = cut("word " * 160 + " " * 300, "a.md")

    assert all(part.strip() for part in parts)


@pytest.mark.parametrize("space", ["\n", " ", "\t", "\r\n", "\u2028"])
@pytest.mark.parametrize("text", ["{}x", "x{}", "x{}y", "x\n{}\ny"])
def test_endless_white_space_is_cut_all_the_same(text, space):
    parts = cut(text.format(space * 2500), "a.md")

    assert len(parts) <= 2500 * len(space) // LIMIT + 3
    assert sum(not part.strip() for part in parts) >= 2


def test_a_line_end_of_two_characters_is_never_torn():
    for length in range(780, 820):
        parts = cut("x" * length + "\r\n" * 900 + "y", "a.txt")

        assert not [part for part in parts[1:] if part.startswith("\n")]


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301\u0323",
        FAMILY,
        "\U0001f44d\U0001f3fd",
        "\u2764\ufe0f",
        "\U0001f1e9\U0001f1ea",
        "\U0001f3f4\U000e0067\U000e0062\U000e007f",
        "\ud83d\ude80",
    ],
    ids=["marks", "joined", "tone", "variation", "flag", "tags", "surrogates"],
)
def test_hard_cuts_do_not_tear_characters(character):
    # Nothing else to cut at, and every offset of the character comes to lie at the limit.
    for shift in range(len(character)):
        parts = cut("x" * shift + character * 500, "a.txt")

        assert all(part.endswith(character) for part in parts)
        assert all(part.removeprefix("x" * shift).startswith(character) for part in parts)


def test_a_character_without_end_is_torn_at_the_limit():
    parts = cut("e" + "\u0301" * 3000, "a.txt")

    assert len(parts) == 4


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("ab", False),
        ("\r\n", True),
        ("\n\r", False),
        ("e\u0301", True),
        ("\n\u0301", True),
        ("a\u200d", True),
        ("\u200d\u2764", True),
        ("\u200da", False),
        ("\ud83d\ude00", True),
        ("a\ude00", False),
        ("\ud83da", False),
    ],
)
def test_is_inside(text, inside):
    assert is_inside(text, 1) is inside


def test_flags_are_pairs():
    flags = "\U0001f1e9" * 6

    assert [is_inside(flags, offset) for offset in range(1, 6)] == [True, False, True, False, True]


def test_lines_are_counted_from_one_and_end_at_newlines():
    text = "one\ntwo\r\nthree\u2028still\rthree\n\nfive"
    pieces = [Piece(0, 4, ""), Piece(4, 6, ""), Piece(6, 11, ""), Piece(11, len(text), "")]

    assert line_numbers(text, pieces) == [(1, 1), (2, 2), (2, 3), (3, 5)]


def test_lines_of_pieces_that_do_not_touch():
    text = "one\ntwo\nthree\nfour\n"

    assert line_numbers(text, [Piece(1, 2, ""), Piece(8, 19, "")]) == [(1, 1), (3, 4)]
    assert line_numbers(text, []) == []


def test_an_edit_moves_few_cuts():
    functions = [function(f"step_{n}", 150 + 97 * n % 900) for n in range(40)]
    before = cut("\n\n".join(functions), "a.py")
    functions[20] = function("changed", 500)
    after = cut("\n\n".join(functions), "a.py")

    assert len(before) > 30
    assert len(set(before) - set(after)) <= 5


def test_real_code_makes_well_filled_pieces():
    # This project's own modules; what is measured is in the documentation of the benchmark.
    import mempal.core.config
    import mempal.core.ports
    import mempal.ingest.cut

    for module in (mempal.core.config, mempal.core.ports, mempal.ingest.cut):
        with open(module.__file__, encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
        parts = cut(text, module.__file__)
        assert len(text) / len(parts) > LIMIT / 2
