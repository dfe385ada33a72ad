"""What is said when nothing was found."""

import pytest

from mempal.core.model import Scope
from mempal.search.hints import explain_nothing
from mempal.testing import MemoryStore
from tests.drawers import put, source


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore()
    put(made, source(wing="app", room="docs"), "text")
    put(made, source("b", wing="app", room="tests"), "text")
    put(made, source(wing="web", room="api"), "text")
    put(made, source("gone", wing="old", room="attic"), "text")
    put(made, source("gone", wing="old", room="attic", mined_at=200))
    return made


def test_an_empty_palace_says_how_to_fill_it():
    assert explain_nothing(MemoryStore(), Scope(wing="x")) == (
        "the palace is empty; `mempal mine` stores a repository"
    )


@pytest.mark.parametrize(
    ("scope", "hint"),
    [
        (Scope(wing="App"), "there is no wing 'App'; wings: app, web"),
        (Scope(wing="old"), "there is no wing 'old'; wings: app, web"),
        (Scope(wing="x\x1b[31m"), "there is no wing 'x\\x1b[31m'; wings: app, web"),
        (Scope(wing="\udcff"), "there is no wing '\\udcff'; wings: app, web"),
        (
            Scope(wing="app", room="api"),
            "there is no room 'api' here; rooms: docs, tests",
        ),
        (Scope(room="attic"), "there is no room 'attic' here; rooms: api, docs, tests"),
        (Scope(wing="app", room="docs"), "nothing known about this"),
        (Scope(), "nothing known about this"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_those_that_are(store, scope, hint):
    assert explain_nothing(store, scope) == hint


def test_of_many_names_a_few_are_shown(store):
    for number in range(50):
        put(store, source(wing=f"wing{number:02}"), "text")
    assert explain_nothing(store, Scope(wing="x")).count(",") == 9
