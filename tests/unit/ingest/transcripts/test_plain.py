"""Plain chats with ``> `` before what the user said; quotations and mail are none."""

import pytest

from mempal.core.model import SourceClass
from mempal.ingest.transcripts.plain import split

P, A, F = SourceClass.PERSON, SourceClass.ASSISTANT, SourceClass.FILE
TWO = "> How do I fix this?\nTry restarting.\n\n> What about the config?\nCheck settings.toml."


def cut(text, **options):
    turns = split(text, **options)
    return turns and [(turn.source_class, text[turn.start : turn.end]) for turn in turns]


def test_two_questions_with_their_answers():
    assert cut(TWO) == [
        (P, "> How do I fix this?\n"),
        (A, "Try restarting.\n\n"),
        (P, "> What about the config?\n"),
        (A, "Check settings.toml."),
    ]


def test_who_speaks_is_named():
    assert [turn.speaker for turn in split("Welcome\n" + TWO)] == [
        None,
        *("user", "assistant") * 2,
    ]


def test_a_prompt_of_several_lines_is_one_turn():
    text = "> first line\n>\n> second line\nanswer\n> next?\nyes\n"

    assert cut(text)[0] == (P, "> first line\n>\n> second line\n")


def test_what_stands_before_the_first_turn_is_nobodys():
    assert cut("Welcome\nback\n> q1\na1\n> q2\na2\n")[0] == (F, "Welcome\nback\n")


def test_blank_lines_between_two_prompts_make_no_answer():
    text = "> q1\na1\n> q2\na2\n> q3\n\n\n> q4\na4\n"

    assert [source for source, _ in cut(text)] == [P, A, P, A, P, P, A]
    assert "".join(part for _, part in cut(text)) == text


def test_prompts_in_code_are_code():
    text = "> q1\n```\n> not a prompt\n```\n> q2\na2\n"

    assert [part for source, part in cut(text) if source is P] == ["> q1\n", "> q2\n"]


@pytest.mark.parametrize(
    "text",
    [
        "# Essay\n\n> What is time?\n\nNobody knows.\n\n> Who asks?\n\nI do.\n",
        "> Whoever asks, learns.\n\nSo the saying goes.\n\n> Who learns, forgets.\n\nIt goes on.\n",
        "> shall we meet?\nYes.\n\n> when?\nAt noon, as Ada wrote:\n> > at noon\n",
        "On Monday Ada wrote:\n> shall we meet?\nYes.\n> when?\nNow.\n",
        "Subject: lunch\n> shall we meet?\nYes.\n> when?\nNow.\n",
        "> shall we meet?\nYes.\n> when?\nNow.\n-- \nAda\n",
        "> only one?\nYes.\n",
        "a\nb\nc\nd\n> q1?\na1\n> q2?\na2\n",
        ">q1?\na1\n>q2?\na2\n",
        "  > q1?\na1\n  > q2?\na2\n",
        "> q1?\n> q2?\n",
        "prose\n",
        "",
    ],
    ids=[
        *("headings", "epigraphs", "nested", "attribution", "mail", "signature", "one", "late"),
        *("no blank", "indented", "no answer", "prose", "empty"),
    ],
)
def test_what_may_be_something_else_is_left_alone(text):
    assert split(text) is None


def test_one_turn_is_enough_when_it_is_known_to_be_a_chat():
    assert cut("# Log\n> only one\nYes.\n", force=True) == [
        (F, "# Log\n"),
        (P, "> only one\n"),
        (A, "Yes.\n"),
    ]
    assert split("nothing marked\n", force=True) is None
    assert split("```\n> code\n```\n", force=True) is None


def test_only_a_newline_ends_a_line():
    text = "> q\u2028> x\na\n> y?\nb\n"

    assert cut(text)[0] == (P, "> q\u2028> x\n")
