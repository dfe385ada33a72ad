"""Identifiers: the same everywhere, and never the same for two things."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from mempal.core.ids import hash_content, hash_parts, make_drawer_id

PARTS = st.lists(st.text(st.characters(), max_size=5), max_size=4)


def test_ids_never_change_between_versions():
    """A user's notes cite these; another rule would orphan them."""
    assert make_drawer_id("wing", "room", "a/b.py", "text", 0) == "drawer_382429529f5bd86d65e3"
    assert hash_parts() == hash_content("")
    assert hash_content("abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def test_an_id_can_be_selected_with_a_double_click():
    assert re.fullmatch(r"drawer_[0-9a-f]{20}", make_drawer_id("w w", "/r", "s.s", "c\0", 12))


@given(PARTS, PARTS)
def test_parts_that_differ_hash_differently(left, right):
    assume(left != right)
    assert hash_parts(*left) != hash_parts(*right)


@given(PARTS)
def test_parts_are_not_their_join(parts):
    assume(len(parts) > 1)
    assert hash_parts(*parts) != hash_parts("".join(parts))


def test_every_part_of_a_place_counts():
    ids = {
        make_drawer_id(*place)
        for place in [
            ("w", "r", "s", "c", 0),
            ("v", "r", "s", "c", 0),
            ("w", "q", "s", "c", 0),
            ("w", "r", "t", "c", 0),
            ("w", "r", "s", "d", 0),
            ("w", "r", "s", "c", 1),
            ("wr", "", "s", "c", 0),
            ("w", "rs", "", "c", 0),
            ("w", "r", "s", "c1", 0),
            ("w", "r", "s\ud800", "c", 0),
            ("W", "r", "s", "c", 0),
        ]
    }
    assert len(ids) == 11
