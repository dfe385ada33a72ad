"""The current branch of a ChatGPT conversation, whatever its export leaves out."""

import pytest

from mempal.core.model import SourceClass, Voice
from mempal.ingest.transcripts.chatgpt import read, recognises
from mempal.ingest.transcripts.documents import Problem

P, A, T = SourceClass.PERSON, SourceClass.ASSISTANT, SourceClass.TOOL


def say(role, *parts, **fields):
    content = fields.pop("content", {"content_type": "text", "parts": list(parts)})
    return {"author": {"role": role}, "content": content, **fields}


def node(key, parent, children, message=None):
    return {"id": key, "parent": parent, "children": children, "message": message}


def chain(*messages, **fields):
    """Return a conversation whose messages follow each other."""
    keys = [str(number) for number in range(len(messages) + 1)]
    mapping = {
        key: node(key, keys[i - 1] if i else None, keys[i + 1 : i + 2], message)
        for i, (key, message) in enumerate(zip(keys, (None, *messages), strict=True))
    }
    return {"id": "c", "title": "t", "mapping": mapping, "current_node": keys[-1], **fields}


def texts(*items):
    return [message.text for message in read(items).messages]


def test_messages_carry_who_said_them_when_and_where():
    transcript = read([chain(say("user", "q", create_time=1770000000.5), say("assistant", "a"))])

    question, answer = transcript.messages
    assert (question.text, question.session, question.span) == ("q", "c", None)
    assert question.voice == Voice("user", P, 1770000000500)
    assert answer.voice == Voice("assistant", A, None)
    assert (transcript.format, transcript.sessions["c"].title) == ("chatgpt", "t")
    assert transcript.problems == ()


def test_abandoned_branches_are_left_out():
    conversation = chain(say("user", "q"), say("assistant", "kept"))
    conversation["mapping"]["x"] = node("x", "1", [], say("assistant", "abandoned"))
    conversation["mapping"]["1"]["children"] = ["x", "2"]

    assert texts(conversation) == ["q", "kept"]


@pytest.mark.parametrize("current", ["gone", None, 7, ["2"]])
def test_without_a_current_node_the_latest_leaf_is_taken(current):
    conversation = chain(
        say("user", "q"), say("assistant", "late", create_time=20), current_node=current
    )
    conversation["mapping"]["x"] = node("x", "1", [], say("assistant", "early", create_time=10))

    assert texts(conversation) == ["q", "late"]


def test_without_times_the_last_leaf_of_the_file_is_taken():
    conversation = chain(say("user", "q"), say("assistant", "first"))
    del conversation["current_node"]
    conversation["mapping"]["x"] = node("x", "1", [], say("assistant", "second"))

    assert texts(conversation) == ["q", "second"]


@pytest.mark.parametrize("missing", ["children", "parent"])
def test_either_direction_of_the_tree_is_enough(missing):
    conversation = chain(say("user", "q"), say("assistant", "a"))
    for each in conversation["mapping"].values():
        del each[missing]

    assert texts(conversation) == ["q", "a"]


def test_nodes_without_any_direction_are_read_in_order():
    conversation = chain(say("user", "q"), say("assistant", "a"))
    for each in conversation["mapping"].values():
        del each["parent"], each["children"]

    assert texts(conversation) == ["q", "a"]


def test_a_current_node_with_nothing_said_is_not_believed():
    assert texts(chain(say("user", "q"), say("assistant", "a"), current_node="0")) == ["q", "a"]


@pytest.mark.parametrize("current", ["2", "gone"])
def test_a_circle_is_read_once_and_named(current):
    conversation = chain(say("user", "q"), say("assistant", "a"), current_node=current)
    del conversation["mapping"]["0"]
    conversation["mapping"]["1"]["parent"] = "2"
    conversation["mapping"]["2"]["children"] = ["1"]

    transcript = read([conversation])

    assert [message.text for message in transcript.messages] == ["q", "a"]
    assert transcript.problems == (
        "conversation 1 (t): its messages form a circle; each is read once",
    )


@pytest.mark.parametrize(
    "message",
    [
        say("system", "x"),
        say("developer", "x"),
        say("user", "x", metadata={"is_visually_hidden_from_conversation": True}),
        say("user", "x", weight=0),
        say("user", "x", weight=0.0),
        say("user", content={"content_type": "user_editable_context", "user_profile": "x"}),
        say("user", content={"content_type": "model_editable_context", "text": "x"}),
        say("assistant", content={"content_type": "thoughts", "text": "x"}),
        say("assistant", content={"content_type": "reasoning_recap", "content": "x"}),
        say("user", ""),
        say("user", " \n"),
        say("user", {"content_type": "image_asset_pointer", "asset_pointer": "x"}),
        say("user", None, 7),
        say("user", content=None),
        say("user", content={"parts": "x"}),
        say("user", "<private>x</private>"),
        {"author": None, "content": {"parts": ["x"]}},
        {"author": {"role": None}, "content": {"parts": ["x"]}},
        {"content": {"parts": ["x"]}},
        {},
        None,
        "x",
        ["x"],
    ],
)
def test_what_nobody_said_is_left_out(message):
    assert texts(chain(say("user", "q"), message, say("assistant", "a"))) == ["q", "a"]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (say("user", {"content_type": "image_asset_pointer"}, "look"), "look"),
        (say("user", "one", "two"), "one\n\ntwo"),
        (say("user", {"content_type": "audio_transcription", "text": "heard"}), "heard"),
        (say("assistant", content={"content_type": "code", "text": "print(1)"}), "print(1)"),
        (say("user", content={"parts": ["no type"]}), "no type"),
        (say("user", "  indented\n\n"), "  indented\n\n"),
        (say("user", "a\r\nb"), "a\nb"),
        (say("user", "x\ud83d\ude00y \ud83d z"), "x😀y � z"),
        (say("user", "keep <system-reminder>this</system-reminder>"), None),
    ],
)
def test_what_was_said_is_kept_as_it_was(message, text):
    expected = text or message["content"]["parts"][0]
    assert texts(chain(message)) == [expected]


def test_what_a_tool_answered_is_one_line():
    message = say("tool", "first\n" + "more " * 200)
    message["author"]["name"] = "python"

    (told,) = read([chain(say("user", "q"), message)]).messages[1:]

    assert told.voice == Voice("python", T, None)
    assert told.text.startswith("python -> first more")
    assert "\n" not in told.text
    assert len(told.text) < 250


@pytest.mark.parametrize("created", [1e300, -5, float("nan"), float("inf"), "soon", True, [], {}])
def test_absurd_times_are_no_times(created):
    (message,) = read([chain(say("user", "q", create_time=created))]).messages

    assert message.voice.said_at is None


def test_each_conversation_that_gives_nothing_is_named():
    transcript = read(
        [
            {"id": "c5", "title": "empty", "mapping": {}},
            {"id": "c9", "title": None, "mapping": None},
            None,
            {},
            7,
            Problem("is broken JSON", 6),
            chain(say("system", "x"), title="only system"),
        ]
    )

    assert (transcript.messages, transcript.sessions) == ((), {})
    assert transcript.problems == (
        "conversation 1 (empty): no messages",
        "conversation 2 (c9): no messages",
        "conversation 3: null entry",
        "conversation 4: {} entry",
        "conversation 5: not a conversation",
        "item 6: is broken JSON",
        "conversation 7 (only system): no messages",
    )


def test_a_key_is_the_same_in_every_export():
    first = chain(say("user", "q"), create_time=5)
    grown = chain(say("user", "q"), say("assistant", "a"), create_time=5)
    other = chain(say("user", "q"), create_time=6)
    for conversation in (first, grown, other):
        del conversation["id"]

    keys = [next(iter(read([each]).sessions)) for each in (first, grown, other)]

    assert keys[0] == keys[1] != keys[2]
    assert next(iter(read([chain(say("user", "q"), conversation_id="k")]).sessions)) == "k"


def test_untitled_conversations_without_times_are_told_apart():
    one, two = ({"mapping": chain(say("user", text))["mapping"]} for text in ("q1", "q2"))

    assert len(read([one, two]).sessions) == 2


def test_a_conversation_that_is_there_twice_is_read_as_it_was_last_updated():
    old = chain(say("user", "q"), update_time=5)
    new = chain(say("user", "q"), say("assistant", "a"), update_time=6)

    for order in ([old, new], [new, old]):
        transcript = read(order)
        assert [message.text for message in transcript.messages] == ["q", "a"]
        assert "more than once" in transcript.problems[0]


def test_a_list_of_messages_is_read():
    item = {
        "id": "k",
        "messages": [
            {"role": "system", "content": "x"},
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
            7,
        ],
    }

    assert recognises(item)
    assert texts(item) == ["q", "a"]


@pytest.mark.parametrize(
    "item",
    [
        chain(say("user", "q")),
        {"id": "c", "title": None, "mapping": None},
        {"title": "t", "create_time": 1, "mapping": {}},
        {"mapping": {"a": {"message": None, "parent": None}}},
    ],
)
def test_conversations_are_recognised(item):
    assert recognises(item)


@pytest.mark.parametrize(
    "item",
    [
        {"messages": {"a": "b"}},
        {"messages": []},
        {"id": "x", "messages": []},
        {"id": "x", "messages": ["a"]},
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]},
        {"id": "x", "messages": [{"role": "admin", "content": "q"}]},
        {"id": "x", "messages": [{"id": 1, "message": "rule"}]},
        {"name": "x", "version": "1.0.0", "dependencies": {}},
        {"mapping": {"properties": {"id": {"type": "keyword"}}}},
        {"mapping": {"/a": "/b"}},
        {"mapping": {}},
        {"mapping": {"message": {"type": "text"}}},
        {"discriminator": {"propertyName": "t", "mapping": {"cat": "#/components/Cat"}}},
        {},
        [],
        [1, 2, 3],
        None,
        1,
        "mapping",
    ],
)
def test_other_json_is_not_taken_for_a_conversation(item):
    assert not recognises(item)
