"""From what a person typed to what is asked for."""

import pytest

from mempal.core.model import Term
from mempal.search.query import Query, Unit, analyze_query


def terms(text: str) -> list[list[str]]:
    """Each unit's terms, words of one term joined by a blank, a prefix marked by a star."""
    return [
        [" ".join(term.tokens) + "*" * term.prefix for term in unit.terms]
        for unit in analyze_query(text).units
    ]


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("Retry POLICY", [["retry"], ["policy"]]),
        ("retry, retry; Retry!", [["retry"]]),
        ("how do we handle a retry", [["handle"], ["retry"]]),
        ("to be or not to be", [["to"], ["be"], ["or"], ["not"]]),
        ("the", [["the"]]),
        ("parseConfig", [["parseconfig", "parse config"]]),
        ("max_retry", [["max retry"], ["max"], ["retry"]]),
        ("src/app.py", [["src app py"], ["src"], ["app"], ["py"]]),
        ('"exact phrase" kiwi', [["exact phrase"], ["exact"], ["phrase"], ["kiwi"]]),
        ('say "one"', [["say"], ["one"]]),
        ('an "open quote', [["open"], ["quote"]]),
        ("決定採用", [["決定"], ["定採"], ["採用"]]),
        ("決", [["決*"]]),
        ("MQTT決定", [["mqtt"], ["決定"]]),
        ("決定。採用", [["決定"], ["採用"]]),
        ("cafe\u0301", [["caf\u00e9"]]),
        ("kiwi\0mango", [["kiwi"], ["mango"]]),
        ("half\ud83d", [["half"]]),
        ("foo* AND NEAR(bar) -baz", [["foo"], ["near bar"], ["near"], ["bar"], ["baz"]]),
    ],
)
def test_a_query_asks_for(text, units):
    assert terms(text) == units


@pytest.mark.parametrize(
    "text", ["", "   ", "\n\t", '"', '""', "* - ( )", "\0", "\ud800", "???", "🎉"]
)
def test_a_query_without_a_word_asks_for_nothing(text):
    assert analyze_query(text) == Query((), "")


def test_a_joined_name_keeps_its_pieces_for_the_worst_case():
    (unit,) = analyze_query("parseTheConfig").units
    assert unit == Unit(
        terms=(Term(("parsetheconfig",)), Term(("parse", "the", "config"))),
        parts=(Term(("parse",)), Term(("config",))),
    )


def test_of_a_pasted_prompt_the_end_counts():
    prompt = " ".join(f"word{number}" for number in range(10_000)) + " final question"
    units = terms(prompt)
    assert len(units) == 400
    assert units[-2:] == [["final"], ["question"]]


def test_what_is_embedded_is_the_question_behind_a_preamble():
    preamble = "You are a helpful system. " * 200
    assert analyze_query(f"{preamble}\n\nwhere is the retry policy?").text == (
        "where is the retry policy?"
    )
    assert analyze_query("  short question ").text == "short question"
    assert len(analyze_query("no paragraphs " * 500).text) <= 1000


def test_a_word_of_any_length_is_no_problem():
    assert terms("a" * 100_000) == []
    assert terms("a" * 200) == [["a" * 200]]
    assert terms("b" * 201 + " kiwi") == [["kiwi"]]
    assert terms("c" * 201 + "決定") == [["決定"]]
    # Where words are not spaced, a whole paragraph looks like one.
    assert terms("決" * 100_000) == [["決決"]]
    paragraph = "".join(chr(0x4E00 + number) for number in range(1_000))
    assert len(terms(paragraph)) == 400
    assert terms(paragraph)[-1] == [paragraph[-2:]]
