"""Whatever a file holds, reading it raises nothing, and what was said comes out as it was."""

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from mempal.ingest.transcripts import chatgpt, markdown, plain, slack
from mempal.ingest.transcripts.detect import detect
from mempal.ingest.transcripts.documents import Problem, read_items

NAMES = st.sampled_from(["a.json", "a.jsonl", "users.json", "user.json", "a.ndjson", "a.txt"])
# Field names and values that the readers look for, so that more than their first check is tried.
KEYS = st.sampled_from(
    """
    attachments author blocks bot_id bot_profile children content content_type conversation_id
    create_time current_node elements fallback fields hidden id is_visually_hidden_from_conversation
    mapping message messages metadata name parent parts profile role sessionId subtype text title ts
    type update_time url user user_id user_profile username uuid weight
    """.split()  # noqa: SIM905
)
WORDS = st.sampled_from(
    """
    a assistant b bot_message code human link message message_changed rich_text rich_text_list
    rich_text_section system text thoughts tool tombstone user C1 U1 user-1 1772442000.0001
    <@U1> <https://a.invalid|b> &lt;
    """.split()  # noqa: SIM905
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    WORDS,
    st.text(st.characters(), max_size=9),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.one_of(KEYS, WORDS), inner, max_size=6)
    ),
    max_leaves=30,
)
# JSON, and JSON with a piece cut out of it or put into it.
JSON = VALUES.map(lambda value: json.dumps(value).encode())
BYTES = st.one_of(
    st.binary(max_size=200),
    JSON,
    st.tuples(JSON, st.integers(0, 300), st.integers(0, 9), st.binary(max_size=3)).map(
        lambda drawn: drawn[0][: drawn[1]] + drawn[3] + drawn[0][drawn[1] + drawn[2] :]
    ),
)
# Lines that chats are made of, in any order.
LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("", "> q?", "> ", ">", "answer", "```", "~~~~", "## User", "## Assistant"),
                *("**You:** x", "**ChatGPT:** y", "User: x", "Assistant: y", "_**User**_"),
                *(
                    "_**Assistant**_",
                    "#### asked",
                    "# aider chat started at x",
                    "# Title",
                    "On x wrote:",
                ),
            ]
        ),
        st.text(max_size=8),
    ),
    max_size=25,
).map("\n".join)


def read(data):
    return list(read_items(io.BytesIO(data)))


@given(NAMES, BYTES)
def test_any_bytes_have_a_format_or_none(name, data):
    detect(name, data)


@given(BYTES)
def test_any_bytes_are_read(data):
    items = read(data)

    for transcript in (chatgpt.read(items), slack.read(items, "general", {"U1": "Ana"})):
        assert all(message.text.strip() for message in transcript.messages)
        assert {message.session for message in transcript.messages} == {*transcript.sessions}
        for message in transcript.messages:
            message.text.encode()  # no half of a surrogate pair
            assert "\r" not in message.text


@given(VALUES)
def test_any_value_is_recognised_or_not(value):
    for item in [value, *(value if isinstance(value, list) else [])]:
        assert chatgpt.recognises(item) in (True, False)
        assert slack.recognises(item) in (True, False)
    chatgpt.read([value, value])
    slack.read([value, {"type": "message", "text": value, "blocks": value}], "general", {})


@given(st.lists(VALUES, max_size=6), st.integers(0, 400))
def test_elements_before_a_cut_are_read(values, size):
    """Whatever is left of a list holds its first elements, whole and in order."""
    data = json.dumps(values, allow_nan=True).encode()
    whole = [json.dumps(item) for item in read(data)]
    assert whole == [json.dumps(value) for value in values]
    items = [json.dumps(item) for item in read(data[:size]) if not isinstance(item, Problem)]

    # A number that is cut off may be another number.
    assert items[:-1] == whole[: max(len(items) - 1, 0)]
    complete = [json.dumps(values[: n + 1])[:-1] for n in range(len(values))]
    assert len(items) >= sum(len(text) < size for text in complete)


@given(st.lists(VALUES, max_size=8), st.integers(0, 7), st.sampled_from(["tru", "{1}", '["a" 1]']))
def test_a_broken_element_costs_itself_alone(values, place, broken):
    parts = [json.dumps(value) for value in values]
    parts.insert(place, broken)

    items = read(("[" + ", ".join(parts) + "]").encode())

    kept = [json.dumps(item) for item in items if not isinstance(item, Problem)]
    assert kept == [json.dumps(value) for value in values]
    assert sum(isinstance(item, Problem) for item in items) == 1


@given(LINES)
def test_turns_are_the_whole_text(text):
    for turns in (plain.split(text), plain.split(text, force=True), markdown.split(text)):
        if turns is not None:
            assert "".join(text[turn.start : turn.end] for turn in turns) == text
            assert all(turn.start < turn.end for turn in turns)


@st.composite
def trees(draw):
    """Draw a conversation with abandoned branches, and what was said on its current one."""
    said = draw(st.lists(st.text(min_size=1, max_size=8).filter(str.strip), min_size=1, max_size=8))
    said = [f"kept {number} {text}" for number, text in enumerate(said)]
    nodes = {"root": {"parent": None, "message": None}}
    chain = ["root"]
    for number, text in enumerate(said):
        role = "user" if number % 2 == 0 else "assistant"
        nodes[f"n{number}"] = make_node(chain[-1], role, text)
        chain.append(f"n{number}")
    for number, parent in enumerate(draw(st.lists(st.sampled_from(chain), max_size=6))):
        nodes[f"x{number}"] = make_node(parent, "assistant", f"abandoned {number}")
    order = draw(st.permutations(list(nodes)))
    if draw(st.booleans()):
        for key, node in nodes.items():
            node["children"] = [other for other in nodes if nodes[other]["parent"] == key]
    mapping = {key: nodes[key] for key in order}
    return {"id": "c", "mapping": mapping, "current_node": chain[-1]}, said


def make_node(parent, role, text):
    message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}
    return {"parent": parent, "message": message}


@given(trees())
def test_the_current_branch_comes_out_verbatim_in_order_and_once(drawn):
    conversation, said = drawn
    data = json.dumps([conversation]).encode()

    assert [*map(chatgpt.recognises, read(data))] == [True]
    transcript = chatgpt.read(read(data))

    folded = [text.replace("\r\n", "\n").replace("\r", "\n") for text in said]
    assert [message.text for message in transcript.messages] == folded
    assert transcript.problems == ()
