"""Snippets: which lines are shown and what in them is marked."""

import re

import pytest

from mempal.cli import terminal
from mempal.cli.blocks import Passage
from mempal.core.model import Term


def draw(passage: Passage, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    return terminal.draw([passage])


def strip(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def find_marked(text: str) -> list[str]:
    return re.findall(r"\x1b\[1;33m([^\x1b]*)", text)


def terms(*words: str) -> tuple[Term, ...]:
    return tuple(Term(tuple(word.split())) for word in words)


@pytest.mark.parametrize(
    ("content", "asked", "marked"),
    [
        ("Rounding invoices", terms("round", "invoice"), ["Rounding", "invoices"]),
        ("we parse_config here", terms("parse config"), ["parse_config"]),
        ("parseConfig()", terms("parse config"), ["parseConfig"]),
        ("採用を決定した", terms("決定"), ["決定"]),
        ("a.b*c", terms("b*c"), ["b*c"]),
        ("queries", terms("query"), ["queries"]),
        ("nothing of it", terms("absent"), []),
        ("no terms", (), []),
    ],
)
def test_what_was_asked_for_is_marked(
    content: str, asked: tuple[Term, ...], marked: list[str], monkeypatch: pytest.MonkeyPatch
):
    assert find_marked(draw(Passage("a", (), content, 1, asked), monkeypatch)) == marked


def test_a_long_passage_shows_the_lines_around_its_matches(monkeypatch: pytest.MonkeyPatch):
    lines = [f"line {number}" for number in range(1, 101)]
    lines[49] = "here is the needle"
    shown = strip(draw(Passage("a", (), "\n".join(lines), 201, terms("needle")), monkeypatch))
    assert "250 here is the needle" in shown
    assert "249 line 49" in shown
    assert "line 1\n" not in shown
    assert len(re.findall(r"^\d+ ", shown, re.MULTILINE)) == terminal.SNIPPET_LINES


def test_lines_left_out_between_matches_are_hinted_at(monkeypatch: pytest.MonkeyPatch):
    lines = ["needle", *["hay"] * 50, "needle"]
    shown = strip(draw(Passage("a", (), "\n".join(lines), 1, terms("needle")), monkeypatch))
    assert shown.count("...") == 1
    assert " 1 needle" in shown
    assert "52 needle" in shown


def test_without_terms_all_of_the_text_is_shown(monkeypatch: pytest.MonkeyPatch):
    text = "\n".join(f"line {number}" for number in range(100))
    assert strip(draw(Passage("a", (), text), monkeypatch)).count("line ") == 100


@pytest.mark.parametrize("content", ["", "\n", "x"])
def test_short_passages_are_drawn(content: str, monkeypatch: pytest.MonkeyPatch):
    assert strip(draw(Passage("a:1", ("same",), content, 1, terms("x")), monkeypatch)).startswith(
        "a:1  same\n"
    )
