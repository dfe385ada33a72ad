"""Slack exports: one folder for each channel, with a list of messages for each day.

The people of a workspace are none of them the owner of this memory, so what they said is an import
whoever comes first; what a bot posted is a tool's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from mempal.core.files import read_regular
from mempal.core.model import SourceClass, Voice
from mempal.ingest.transcripts.documents import Problem, decode_head, load
from mempal.ingest.transcripts.message import Message, Session, Transcript
from mempal.ingest.transcripts.noise import keep_said, strip_unwanted
from mempal.ingest.transcripts.records import (
    Problems,
    read_instant,
    read_list,
    read_object,
    read_string,
)

FORMAT = "slack"
_SAID = frozenset({"text", "blocks", "attachments", "files", "subtype"})
_SENT = frozenset({"user", "bot_id", "username", "ts"})
# Notices that Slack writes itself, in the name of the person who caused them.
_NOTICES = frozenset(
    """
    app_conversation_join bot_add bot_disable bot_enable bot_remove channel_archive
    channel_canvas_updated channel_convert_to_private channel_convert_to_public channel_join
    channel_leave channel_name channel_posting_permissions channel_purpose channel_topic
    channel_unarchive ekm_access_denied group_archive group_join group_leave group_name
    group_purpose group_topic group_unarchive huddle_thread joiner_notification
    joiner_notification_for_inviter message_deleted message_replied pinned_item reminder_add
    reply_broadcast sh_room_created tombstone unpinned_item
    """.split()  # noqa: SIM905 - a table
)
_SLACKBOT = "USLACKBOT"
# Bytes of the largest list of people or channels that is read.
_LIST_LIMIT = 67_108_864
_CHANNEL_LISTS = ("channels.json", "groups.json", "dms.json", "mpims.json")
# Blocks within blocks; Slack itself nests no deeper than four.
_DEPTH = 12
# Pieces of rich text that are a name: what stands before it, its field, what stands behind it.
_ELEMENTS = {
    "channel": ("#", "channel_id", ""),
    "usergroup": ("@", "usergroup_id", ""),
    "broadcast": ("@", "range", ""),
    "emoji": (":", "name", ":"),
    "date": ("", "fallback", ""),
}
# Slack escapes every `<` that somebody typed, so that these are its own. Bounded: no text is to be
# searched through for each `<` in it.
_LINK = re.compile(r"<([^<>\n]{1,4000})>")
_ENTITY = re.compile(r"&(amp|lt|gt);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">"}
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")


def recognises(item: object) -> bool:
    """Return whether an element of a list is a message of a Slack export."""
    return (
        isinstance(item, dict)
        and item.get("type") == "message"
        and not _SENT.isdisjoint(item)
        and not _SAID.isdisjoint(item)
        and "role" not in item
    )


def load_people(root: Path) -> dict[str, str]:
    """Return the names of an export's users by id, out of ``users.json`` in its folder.

    Whatever cannot be read gives no name.
    """
    people = {}
    for user in _load_list(root / "users.json"):
        identity = read_string(user.get("id"))
        name = _read_name(read_object(user.get("profile"))) or _read_name(user)
        if identity and name:
            people[identity] = name
    return people


def load_channels(root: Path) -> dict[str, str]:
    """Return the ids of an export's channels by folder, out of the lists in its folder.

    Ids are unique in all workspaces, while nearly each has a channel ``general``.
    """
    channels = {}
    for name in _CHANNEL_LISTS:
        for channel in _load_list(root / name):
            identity = read_string(channel.get("id"))
            folder = read_string(channel.get("name")) or identity
            if identity and folder:
                channels[folder] = identity
    return channels


def read(
    items: Iterable[object],
    channel: str,
    people: Mapping[str, str],
    *,
    day: str = "",
    identity: str = "",
) -> Transcript:
    """Read one day of one channel, which is one conversation whatever export it is in.

    Args:
        items: As :func:`~mempal.ingest.transcripts.documents.read_items` yields them.
        channel: Name of the channel: the folder the file lies in.
        people: Names by user id, see :func:`load_people`.
        day: Name of the file without its ending, such as ``2026-03-02``.
        identity: Id of the channel, see :func:`load_channels`; the key is ``<identity>/<day>``, or
            ``<channel>/<day>`` without one.
    """
    key = "/".join(filter(None, (identity or channel, day)))
    reader = _Reader(people)
    problems = Problems()
    messages: list[Message] = []
    seen: set[tuple[object, ...]] = set()
    for index, item in enumerate(items, 1):
        if isinstance(item, Problem):
            problems.add(item)
            continue
        if not isinstance(item, dict):
            problems.add(Problem("not a message", index))
            continue
        spoken = reader.read(item)
        if spoken is None:
            continue
        # Merged exports hold a message twice.
        mark = (spoken, read_string(item.get("ts")))
        if mark[1] and mark in seen:
            continue
        seen.add(mark)
        messages.append(Message(spoken[0], spoken[1], key))
    title = " ".join(filter(None, (f"#{channel}" if channel else "", day)))
    sessions = {key: Session(key, title=title)} if messages else {}
    return Transcript(FORMAT, tuple(messages), sessions, problems.tell())


class _Reader:
    """Reads messages of a workspace whose people are known by name."""

    def __init__(self, people: Mapping[str, str]) -> None:
        self._people = people

    def read(self, item: Mapping[str, object]) -> tuple[str, Voice] | None:
        """Return what a message says and who says it; ``None`` when nobody says anything."""
        if item.get("type") != "message" or item.get("hidden") is True:
            return None
        subtype = read_string(item.get("subtype"))
        if subtype == "message_changed":
            return self.read(
                {"type": "message", **read_object(item.get("message"))} | {"subtype": ""}
            )
        if subtype in _NOTICES:
            return None
        text = keep_said(self._read_text(item), strip_unwanted)
        return (text, self._read_voice(item, subtype)) if text else None

    def _read_voice(self, item: Mapping[str, object], subtype: str) -> Voice:
        user, bot = read_string(item.get("user")), read_string(item.get("bot_id"))
        username = read_string(item.get("username")).strip()
        said_at = _read_time(item.get("ts"))
        if bot or subtype == "bot_message" or user == _SLACKBOT:
            profile = read_object(item.get("bot_profile"))
            named = username or read_string(profile.get("name")) or self._people.get(user, "")
            return Voice(named or user or bot or "bot", SourceClass.TOOL, said_at)
        named = self._people.get(user) or _read_name(read_object(item.get("user_profile")))
        return Voice(named or username or user or "unknown", SourceClass.IMPORT, said_at)

    def _read_text(self, item: Mapping[str, object]) -> str:
        text = self._decode(read_string(item.get("text")))
        if text.strip():
            return text
        text = "\n".join(filter(None, self._read_blocks(item.get("blocks"), 0)))
        if text.strip():
            return text
        return "\n".join(self._read_attachments(item.get("attachments")))

    def _read_attachments(self, attachments: object) -> Iterator[str]:
        for attachment in map(read_object, read_list(attachments)):
            parts = [
                self._decode(read_string(attachment.get(name)))
                for name in ("pretext", "title", "text")
            ]
            parts.extend(self._read_blocks(attachment.get("blocks"), 0))
            if not any(part.strip() for part in parts):
                parts = [self._decode(read_string(attachment.get("fallback")))]
            yield from filter(str.strip, parts)

    def _read_blocks(self, blocks: object, depth: int) -> Iterator[str]:
        """Yield the text of each block, lines of a list each on its own."""
        for block in map(read_object, read_list(blocks)):
            kind = read_string(block.get("type"))
            if kind == "rich_text" and depth < _DEPTH:
                yield from self._read_blocks(block.get("elements"), depth + 1)
            elif kind == "rich_text_list" and depth < _DEPTH:
                for line in filter(None, self._read_blocks(block.get("elements"), depth + 1)):
                    yield f"- {line}"
            elif kind.startswith("rich_text_"):
                yield "".join(map(self._read_element, read_list(block.get("elements"))))
            else:
                texts = [block.get("text"), *read_list(block.get("fields"))]
                texts.extend(read_list(block.get("elements")) if kind == "context" else ())
                yield "\n".join(filter(None, map(self._read_text_object, texts)))

    def _read_text_object(self, value: object) -> str:
        fields = read_object(value)
        text = read_string(fields.get("text"))
        return self._decode(text) if fields.get("type") == "mrkdwn" else text

    def _read_element(self, value: object) -> str:
        """Return one piece of a line of rich text, in which nothing is escaped."""
        fields = read_object(value)
        kind = read_string(fields.get("type"))
        if kind == "link":
            return _show_link(read_string(fields.get("url")), read_string(fields.get("text")))
        if kind == "user":
            return self._show_person(read_string(fields.get("user_id")))
        if kind in _ELEMENTS:
            before, name, after = _ELEMENTS[kind]
            return f"{before}{read_string(fields.get(name))}{after}"
        return read_string(fields.get("text"))

    def _decode(self, text: str) -> str:
        """Show links and mentions as people read them, then undo what Slack escapes."""
        if "<" in text:
            text = _LINK.sub(self._show, text)
        return _ENTITY.sub(lambda found: _ENTITIES[found[1]], text) if "&" in text else text

    def _show(self, found: re.Match[str]) -> str:
        target, _, label = found[1].partition("|")
        if target.startswith("@"):
            return self._show_person(target[1:], label)
        if target.startswith("#"):
            return "#" + (label or target[1:])
        if target.startswith("!"):
            return _show_command(target[1:], label)
        return _show_link(target, label) if _ADDRESS.match(target) else found[0]

    def _show_person(self, identity: str, label: str = "") -> str:
        return "@" + (self._people.get(identity) or label.removeprefix("@") or identity)


def _show_command(command: str, label: str) -> str:
    if command.startswith("date^"):
        return label
    if command.startswith("subteam^"):
        return "@" + (label.removeprefix("@") or command.partition("^")[2])
    return "@" + (label.removeprefix("@") or command)


def _show_link(address: str, label: str) -> str:
    plain = address.removeprefix("mailto:")
    if not label or label in {address, plain} or address in {f"http://{label}", f"https://{label}"}:
        return plain
    return f"{label} ({plain})"


def _read_name(fields: Mapping[str, object]) -> str:
    for name in ("real_name", "display_name", "name"):
        if text := " ".join(read_string(fields.get(name)).split()):
            return text
    return ""


def _read_time(value: object) -> int | None:
    """Read a time stamp: seconds since the epoch, as a string in most exports."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return read_instant(value)


def _load_list(path: Path) -> Iterator[dict[str, object]]:
    try:
        value = load(decode_head(read_regular(path, _LIST_LIMIT)))
    except (OSError, ValueError, RecursionError):
        return  # an export may lack any of its lists; ids stand in for names
    for element in read_list(value):
        if isinstance(element, dict):
            yield element
