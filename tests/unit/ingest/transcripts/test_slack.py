"""A day of a Slack channel: who sent what, in the words people saw."""

import json

import pytest

from mempal.core.model import SourceClass, Voice
from mempal.ingest.transcripts.documents import Problem
from mempal.ingest.transcripts.slack import load_channels, load_people, read, recognises

PEOPLE = {"U1": "Ana Example", "U2": "Ben Example"}
IMPORT, TOOL = SourceClass.IMPORT, SourceClass.TOOL


def post(text, **fields):
    return {"type": "message", "user": "U1", "text": text, "ts": "1772442000.000100", **fields}


def texts(*items):
    return [message.text for message in read(items, "general", PEOPLE).messages]


def voice(item):
    (message,) = read([item], "general", PEOPLE).messages
    return message.voice


def test_a_day_of_a_channel_is_one_conversation():
    transcript = read([post("hello")], "general", PEOPLE, day="2026-03-02")

    (message,) = transcript.messages
    assert (message.text, message.span) == ("hello", None)
    assert message.voice == Voice("Ana Example", IMPORT, 1772442000000)
    assert message.session == "general/2026-03-02"
    assert transcript.sessions[message.session].title == "#general 2026-03-02"
    assert transcript.format == "slack"


def test_the_id_of_a_channel_tells_it_from_others_of_its_name():
    transcript = read([post("x")], "general", PEOPLE, day="2026-03-02", identity="C1")

    assert [*transcript.sessions] == ["C1/2026-03-02"]


def test_a_day_on_which_nothing_was_said_is_no_conversation():
    transcript = read([], "general", PEOPLE, day="2026-03-02")

    assert (transcript.messages, transcript.sessions, transcript.problems) == ((), {}, ())


@pytest.mark.parametrize(
    ("fields", "speaker", "source"),
    [
        ({}, "Ana Example", IMPORT),
        ({"user": "U404"}, "U404", IMPORT),
        ({"user": "U404", "user_profile": {"real_name": "Cleo"}}, "Cleo", IMPORT),
        ({"user": "U404", "user_profile": {"real_name": "", "name": "cl"}}, "cl", IMPORT),
        ({"user": None, "username": "guest"}, "guest", IMPORT),
        ({"user": None}, "unknown", IMPORT),
        ({"user": None, "subtype": "bot_message", "username": "ci"}, "ci", TOOL),
        ({"user": None, "bot_id": "B9"}, "B9", TOOL),
        ({"user": None, "bot_id": "B9", "bot_profile": {"name": "ci"}}, "ci", TOOL),
        ({"user": None, "subtype": "bot_message"}, "bot", TOOL),
        ({"user": "USLACKBOT"}, "USLACKBOT", TOOL),
        ({"user": "U2", "text": "[U1] I approve"}, "Ben Example", IMPORT),
        ({"user": "U2", "text": "Ana Example: I approve"}, "Ben Example", IMPORT),
    ],
)
def test_a_message_is_attributed_to_who_sent_it(fields, speaker, source):
    heard = voice({**post("x"), **fields})

    assert (heard.speaker, heard.source_class) == (speaker, source)


@pytest.mark.parametrize(
    ("ts", "instant"),
    [
        ("1772442240.500000", 1772442240500),
        (1772442240.5, 1772442240500),
        (1772442240, 1772442240000),
        ("soon", None),
        ("nan", None),
        ("1e400", None),
        ("-5", None),
        ("", None),
        (None, None),
        (True, None),
        ([], None),
    ],
)
def test_times_in_any_shape(ts, instant):
    assert voice(post("x", ts=ts)).said_at == instant


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("x &lt; 3 &amp;&amp; y &gt; 2", "x < 3 && y > 2"),
        ("&amp;lt; &nbsp;", "&lt; &nbsp;"),
        ("ask <@U2>, <@U404|cleo> or <@U405>", "ask @Ben Example, @cleo or @U405"),
        ("in <#C1|general> and <#C2>", "in #general and #C2"),
        ("<!here> <!channel> <!subteam^S1|@team> <!subteam^S2>", "@here @channel @team @S2"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        ("<https://a.invalid/?b=1&amp;c=2|the page>", "the page (https://a.invalid/?b=1&c=2)"),
        ("<https://a.invalid>", "https://a.invalid"),
        ("<http://a.invalid|a.invalid>", "http://a.invalid"),
        ("<mailto:a@b.invalid|a@b.invalid>", "a@b.invalid"),
        ("a < b > c and <b>", "a < b > c and <b>"),
        ("<" * 50, "<" * 50),
        ("a\r\nb", "a\nb"),
        ("\ud83d\ude00 \udc00", "😀 �"),
    ],
)
def test_text_is_shown_as_people_saw_it(raw, shown):
    assert texts(post(raw)) == [shown]


def rich(*elements):
    return [{"type": "rich_text", "elements": list(elements)}]


def section(*elements):
    return {"type": "rich_text_section", "elements": list(elements)}


@pytest.mark.parametrize("empty", [None, "", " "])
def test_text_that_is_only_in_blocks(empty):
    blocks = rich(
        section(
            {"type": "text", "text": "see &amp; "},
            {"type": "link", "url": "https://a.invalid", "text": "page"},
            {"type": "text", "text": " "},
            {"type": "user", "user_id": "U2"},
            {"type": "emoji", "name": "wave"},
            {"type": "channel", "channel_id": "C1"},
            {"type": "broadcast", "range": "here"},
            {"type": "usergroup", "usergroup_id": "S1"},
        ),
        {
            "type": "rich_text_list",
            "elements": [section({"type": "text", "text": t}) for t in ("one", "two")],
        },
        {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "code()"}]},
    )

    assert texts(post(empty, blocks=blocks)) == [
        "see &amp; page (https://a.invalid) @Ben Example:wave:#C1@here@S1\n- one\n- two\ncode()"
    ]


def test_text_of_other_blocks_and_attachments():
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Build &amp;"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "a &lt; b"}},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "f"}]},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "by <@U1>"}]},
        {"type": "divider"},
    ]

    assert texts(post("", blocks=blocks)) == ["Build &amp;\na < b\nf\nby @Ana Example"]
    assert texts(post("", attachments=[{"title": "T", "text": "x", "fallback": "f"}])) == ["T\nx"]
    assert texts(post("", attachments=[{"fallback": "failed &amp; red"}])) == ["failed & red"]
    assert texts(post("said", attachments=[{"text": "preview of a link"}])) == ["said"]


def test_a_broadcast_does_not_double_its_root():
    root = post("root", ts="1.0", thread_ts="1.0")
    reply = post("reply", subtype="thread_broadcast", ts="2.0", thread_ts="1.0", root=root)

    assert texts(root, reply) == ["root", "reply"]


def test_a_message_of_a_merged_export_is_read_once():
    assert texts(post("x"), post("x"), post("x", ts="2.0")) == ["x", "x"]
    assert texts(post("x", ts=None), post("x", ts=None)) == ["x", "x"]


@pytest.mark.parametrize("subtype", ["me_message", "file_share", "bot_message", "not yet known"])
def test_what_was_said_is_kept(subtype):
    assert texts(post("x", subtype=subtype)) == ["x"]


@pytest.mark.parametrize(
    "item",
    [
        post("x", subtype="channel_join"),
        post("x", subtype="tombstone"),
        post("x", subtype="message_deleted"),
        post("x", hidden=True),
        post("x", type="reaction"),
        post(None, files=[{"name": "plan.pdf"}]),
        post(""),
        post(7),
        post("<private>x</private>"),
    ],
)
def test_what_nobody_said_is_left_out(item):
    assert texts(item) == []


def test_an_edited_message_is_read_as_it_is_now():
    changed = {"type": "message", "subtype": "message_changed", "message": post("now"), "ts": "3"}

    assert texts(post("now", edited={"user": "U1", "ts": "2"})) == ["now"]
    assert texts(changed) == ["now"]


def test_what_cannot_be_read_is_named():
    transcript = read([Problem("is cut off", 1), None, 7, post("x")], "general", PEOPLE)

    assert [message.text for message in transcript.messages] == ["x"]
    assert transcript.problems == (
        "item 1: is cut off",
        "item 2: not a message",
        "item 3: not a message",
    )


def test_blocks_nested_without_end_are_no_trouble():
    block = section({"type": "text", "text": "deep"})
    for _ in range(500):
        block = {"type": "rich_text_list", "elements": [block]}

    assert texts(post("", blocks=[block])) == []


def test_people_are_loaded_as_far_as_they_can_be(tmp_path):
    assert load_people(tmp_path) == {}
    users = [
        {"id": "U1", "name": "ana", "profile": {"real_name": "Ana Example", "display_name": ""}},
        {"id": "U2", "name": "ben", "profile": {"real_name": " ", "display_name": "benny"}},
        {"id": "U3", "name": "cleo"},
        {"id": 4, "name": "x"},
        {"id": "U5"},
        None,
    ]
    (tmp_path / "users.json").write_text(json.dumps(users), "utf-8")

    assert load_people(tmp_path) == {"U1": "Ana Example", "U2": "benny", "U3": "cleo"}


@pytest.mark.parametrize("text", ["", "{", "{}", "7", "[" * 100_000, "\ud800"])
def test_lists_that_cannot_be_read_give_nothing(tmp_path, text):
    for name in ("users.json", "channels.json"):
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogatepass"))

    assert load_people(tmp_path) == {} == load_channels(tmp_path)


def test_channels_are_loaded_out_of_every_list(tmp_path):
    (tmp_path / "channels.json").write_text('[{"id": "C1", "name": "general"}]')
    (tmp_path / "dms.json").write_text('[{"id": "D1", "members": ["U1", "U2"]}]')

    assert load_channels(tmp_path) == {"general": "C1", "D1": "D1"}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (post("x"), True),
        ({"type": "message", "bot_id": "B1", "text": ""}, True),
        ({"type": "message", "user": "U1", "text": None}, True),
        ({"type": "message", "ts": 1, "blocks": []}, True),
        ({"type": "message", "role": "user", "content": []}, False),
        ({"type": "message", "role": "user", "text": "x", "ts": 1}, False),
        ({"type": "message", "payload": 1}, False),
        ({"type": "event", "user": "U1", "text": "x"}, False),
        ({"user": "U1", "text": "x"}, False),
        ([], False),
        (None, False),
        ("message", False),
    ],
)
def test_messages_are_recognised(item, expected):
    assert recognises(item) is expected
