"""Whatever a settings file holds and however it is laid out, only our handler is ever touched."""

import copy
import json
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from mempal.cowork.install import merge
from mempal.cowork.install.owner import Owner

WANTED = {"type": "command", "command": "'/x y/mempal' cowork-drain --target claude", "timeout": 10}
STALE = {"type": "command", "command": "mempal cowork-drain --target claude"}
MINE = [
    {"type": "command", "command": "echo mine # mempal cowork-drain"},
    {"type": "command", "command": "true; mempal cowork-drain"},
    {"type": "prompt", "command": "mempal cowork-drain"},
    {"command": 7},
    "junk",
]
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
SPACE = st.text(" \t\n\r", max_size=4)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OTHERS = st.dictionaries(TEXTS.filter(lambda name: name != "hooks"), VALUES, max_size=3)
HANDLERS = st.lists(st.sampled_from([*MINE, STALE, WANTED]), max_size=3)
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": HANDLERS}, optional={"matcher": TEXTS})
    | st.sampled_from([{}, 3, {"hooks": {}}]),
    max_size=3,
)


@st.composite
def draw_settings(draw):
    settings = draw(OTHERS)
    if draw(st.booleans()):
        hooks = draw(st.dictionaries(st.sampled_from(["Stop", "x"]), VALUES, max_size=2))
        if draw(st.booleans()):
            hooks["UserPromptSubmit"] = draw(GROUPS)
        names = draw(st.permutations(list(hooks)))
        settings["hooks"] = {name: hooks[name] for name in names}
    names = draw(st.permutations(list(settings)))
    return {name: settings[name] for name in names}


@st.composite
def draw_texts(draw):
    settings = draw(draw_settings())
    how = draw(st.sampled_from(["any", "pretty", "flat"]))
    ascii_only = draw(st.booleans())
    if how == "any":
        return settings, f"{draw(SPACE)}{_write(settings, draw)}{draw(SPACE)}"
    indent = draw(st.sampled_from([0, 1, 2, 4, "\t"])) if how == "pretty" else None
    text = json.dumps(settings, indent=indent, ensure_ascii=ascii_only)
    return settings, text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def _write(value, draw):
    """Write JSON with any space between its parts."""
    if isinstance(value, dict):
        pairs = [
            f"{draw(SPACE)}{json.dumps(name)}{draw(SPACE)}:{draw(SPACE)}{_write(one, draw)}"
            for name, one in value.items()
        ]
        return "{" + f"{draw(SPACE)},".join(pairs) + draw(SPACE) + "}"
    if isinstance(value, list):
        items = [draw(SPACE) + _write(one, draw) for one in value]
        return "[" + f"{draw(SPACE)},".join(items) + draw(SPACE) + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def is_ours(handler):
    return handler in (STALE, WANTED)


def list_ours(settings):
    groups = settings.get("hooks", {}).get("UserPromptSubmit", [])
    return [
        (group["hooks"], handler)
        for group in groups
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for handler in group["hooks"]
        if is_ours(handler)
    ]


def drop(settings, count):
    """Drop our last handlers from parsed settings until so many are left."""
    while len(list_ours(settings)) > count:
        groups = settings["hooks"]["UserPromptSubmit"]
        for number in range(len(groups) - 1, -1, -1):
            handlers = groups[number]["hooks"] if list_ours(only(groups[number])) else []
            if not handlers:
                continue
            at = max(n for n, one in enumerate(handlers) if is_ours(one))
            del handlers[at]
            if not handlers:
                del groups[number]
            break
    return settings


def only(group):
    return {"hooks": {"UserPromptSubmit": [group]}}


def is_subsequence(short, long):
    rest = iter(long)
    return all(character in rest for character in short)


def register(text):
    return merge.register(text, "s.json", WANTED, Owner(Path("/nowhere")))


def remove(text):
    return merge.remove(text, "s.json", Owner(Path("/nowhere")), frozenset())


@given(draw_texts())
def test_our_handler_is_in_once_and_all_else_as_it_was(drawn):
    settings, text = drawn
    after, action = register(text)
    expected = copy.deepcopy(settings)
    if not list_ours(settings):
        expected.setdefault("hooks", {}).setdefault("UserPromptSubmit", [])
        expected["hooks"]["UserPromptSubmit"].append({"hooks": [WANTED]})
        assert action == merge.REGISTERED
        # One piece was put in; before and behind it nothing changed.
        start = next(
            (n for n, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text)
        )
        assert any(after.endswith(text[at:]) for at in range(start + 1))
    else:
        drop(expected, 1)
        handlers, _ = list_ours(expected)[0]
        handlers[next(n for n, one in enumerate(handlers) if is_ours(one))] = dict(WANTED)
        assert action == (merge.UNCHANGED if expected == settings else merge.HEALED)
    assert json.dumps(json.loads(after)) == json.dumps(expected)  # the order of names too
    assert register(after) == (after, merge.UNCHANGED)


@given(draw_texts())
def test_taking_out_only_takes_out(drawn):
    settings, text = drawn
    after, action = remove(text)
    count = len(list_ours(settings))
    assert action == (merge.REMOVED if count else merge.ABSENT)
    assert (after == text) == (count == 0)
    assert is_subsequence(after, text)
    expected = drop(copy.deepcopy(settings), 0)
    if count and not expected["hooks"]["UserPromptSubmit"]:
        del expected["hooks"]["UserPromptSubmit"]
        if not expected["hooks"]:
            del expected["hooks"]
    assert json.dumps(json.loads(after)) == json.dumps(expected)


@given(draw_texts())
def test_in_and_out_again_means_what_it_meant(drawn):
    settings, text = drawn
    assume(not list_ours(settings))
    after, _ = register(text)
    back, _ = merge.remove(
        after, "s.json", Owner(Path("/nowhere")), merge.list_kept(text, "s.json")
    )
    assert json.dumps(json.loads(back)) == json.dumps(settings)
    if settings.get("hooks", {}).get("UserPromptSubmit"):
        assert back == text
