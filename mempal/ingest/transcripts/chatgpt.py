"""ChatGPT exports: lists of conversations, each a tree of messages.

A conversation keeps every regenerated answer and edited prompt as a branch. What was said is the
branch that was on the screen last, from ``current_node`` up to the root.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from mempal.core.ids import hash_parts
from mempal.core.model import SourceClass, Voice
from mempal.ingest.transcripts.documents import Problem
from mempal.ingest.transcripts.message import Message, Session, Transcript
from mempal.ingest.transcripts.noise import keep_said, strip_unwanted
from mempal.ingest.transcripts.records import (
    Problems,
    read_instant,
    read_list,
    read_object,
    read_string,
)
from mempal.ingest.transcripts.tools import describe_result

FORMAT = "chatgpt"
_VOICES = {
    "user": ("user", SourceClass.PERSON),
    "human": ("user", SourceClass.PERSON),
    "assistant": ("assistant", SourceClass.ASSISTANT),
    "ai": ("assistant", SourceClass.ASSISTANT),
}
_TOOLS = frozenset({"tool", "function"})
_ROLES = frozenset({*_VOICES, *_TOOLS, "system", "developer"})
# Reasoning, and settings that are sent along; nobody said them.
_UNSAID = frozenset(
    {"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"}
)
_NODE_FIELDS = frozenset({"message", "parent", "children"})
_CONVERSATION_FIELDS = frozenset({"conversation_id", "current_node", "create_time", "update_time"})
# Elements that are looked at to tell what a list or map is of.
_SAMPLE = 5
# Characters of a title that are told in a problem.
_TITLE_LENGTH = 80


def recognises(item: object) -> bool:
    """Return whether a JSON value is a conversation.

    Either a tree (``mapping``) or a list of messages (``messages``). The latter needs an id: what
    trains a model looks the same otherwise, and is nobody's talk.
    """
    if not isinstance(item, dict):
        return False
    if "mapping" in item:
        return _is_tree(item)
    messages = item.get("messages")
    if not isinstance(messages, list) or not messages or not _read_id(item):
        return False
    sample = messages[:_SAMPLE]
    return 2 * sum(map(_is_plain_message, sample)) > len(sample)


def read(items: Iterable[object]) -> Transcript:
    """Read conversations.

    Args:
        items: As :func:`~mempal.ingest.transcripts.documents.read_items` yields them.

    Returns:
        The current branch of each conversation. A conversation that is there twice is read once, as
        it was last updated. Everything that gave no message is named in ``problems``.
    """
    kept: dict[str, _Conversation] = {}
    problems = Problems()
    for index, item in enumerate(items, 1):
        if isinstance(item, Problem):
            problems.add(item)
            continue
        conversation = _read_conversation(item)
        key = conversation.session.key
        reason = conversation.problem
        if conversation.messages and key in kept:
            reason = "is there more than once; the latest is read"
        if reason:
            problems.add(f"{_name(item, index)}: {reason}")
        if conversation.messages and (key not in kept or conversation.updated >= kept[key].updated):
            kept[key] = conversation
    return Transcript(
        FORMAT,
        tuple(message for conversation in kept.values() for message in conversation.messages),
        {key: conversation.session for key, conversation in kept.items()},
        problems.tell(),
    )


@dataclass(frozen=True, slots=True)
class _Conversation:
    session: Session = field(default_factory=lambda: Session(""))
    messages: tuple[Message, ...] = ()
    updated: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Tree:
    """Nodes by id in the order of the file, and the parent of each that has one among them."""

    nodes: dict[str, dict[str, object]]
    parents: Mapping[str, str] = field(default_factory=dict)


def _is_tree(item: Mapping[str, object]) -> bool:
    mapping = item["mapping"]
    if mapping is None or mapping == {}:
        return not _CONVERSATION_FIELDS.isdisjoint(item) or {"id", "title"} <= item.keys()
    if not isinstance(mapping, dict):
        return False
    sample = [node for node, _ in zip(mapping.values(), range(_SAMPLE), strict=False)]
    nodes = [node for node in sample if isinstance(node, dict)]
    return any(
        "message" in node and len(_NODE_FIELDS.intersection(node)) > 1
        for node in nodes
        if node.get("message") is None or isinstance(node.get("message"), dict)
    )


def _is_plain_message(message: object) -> bool:
    if not isinstance(message, dict):
        return False
    role = message.get("role")
    return isinstance(role, str) and role.lower() in _ROLES and "content" in message


def _name(item: object, index: int) -> str:
    """Name a conversation for the user: its place in the file, and what it calls itself."""
    fields = read_object(item)
    title = " ".join(read_string(fields.get("title")).split()) or _read_id(fields)
    if len(title) > _TITLE_LENGTH:
        title = title[: _TITLE_LENGTH - 1] + "…"
    return f"conversation {index} ({title})" if title else f"conversation {index}"


def _read_conversation(item: object) -> _Conversation:
    if item is None:
        return _Conversation(problem="null entry")
    if not isinstance(item, dict):
        return _Conversation(problem="not a conversation")
    mapping, messages = item.get("mapping"), item.get("messages")
    problem = ""
    if isinstance(mapping, dict):
        said, problem = _read_tree(mapping, item.get("current_node"))
    elif isinstance(messages, list):
        said = [message for message in messages if isinstance(message, dict)]
    else:
        return _Conversation(problem="no messages" if item else "{} entry")
    spoken = [spoken for message in said if (spoken := _read_message(message))]
    if not spoken:
        return _Conversation(problem=problem or "no messages")
    session = Session(_make_key(item, spoken[0][0]), title=read_string(item.get("title")).strip())
    return _Conversation(
        session,
        tuple(Message(text, voice, session.key) for text, voice in spoken),
        read_instant(item.get("update_time")) or 0,
        problem,
    )


def _make_key(item: Mapping[str, object], first: str) -> str:
    """Return the id of a conversation, or else what stays the same when it grows."""
    if key := _read_id(item):
        return key
    created = read_instant(item.get("create_time"))
    # Without a time many conversations may share a title.
    return hash_parts(read_string(item.get("title")), first if created is None else str(created))


def _read_id(item: Mapping[str, object]) -> str:
    return read_string(item.get("conversation_id")).strip() or read_string(item.get("id")).strip()


def _read_tree(
    mapping: Mapping[str, object], current: object
) -> tuple[list[dict[str, object]], str]:
    """Return the messages of the current branch, oldest first, and what is wrong with it."""
    tree = _build_tree(mapping)
    if len(tree.nodes) > 1 and not tree.parents:
        # Nodes that say nothing of each other: all there is to go by is their order.
        return [message for node in tree.nodes.values() if (message := _get_message(node))], ""
    said: list[dict[str, object]] = []
    problem = ""
    for start in _list_starts(tree, current):
        branch, circular = _climb(tree, start)
        problem = "its messages form a circle; each is read once" if circular else ""
        said = [message for node in reversed(branch) if (message := _get_message(node))]
        if any(_read_message(message) for message in said):
            break
    return said, problem


def _list_starts(tree: _Tree, current: object) -> Iterator[str]:
    """Yield where the branch may end that was on the screen last, the most likely first."""
    if isinstance(current, str) and current in tree.nodes:
        yield current
    leaf = _find_last_leaf(tree)
    if leaf is not None:
        yield leaf
    elif tree.nodes:
        yield next(reversed(tree.nodes))  # all in a circle


def _build_tree(mapping: Mapping[str, object]) -> _Tree:
    nodes = {key: node for key, node in mapping.items() if isinstance(node, dict)}
    parents: dict[str, str] = {}
    for key, node in nodes.items():
        children = node.get("children")
        for child in children if isinstance(children, list) else ():
            if isinstance(child, str) and child in nodes:
                parents.setdefault(child, key)
    for key, node in nodes.items():
        parent = node.get("parent")
        if isinstance(parent, str) and parent in nodes:
            parents[key] = parent
    return _Tree(nodes, parents)


def _find_last_leaf(tree: _Tree) -> str | None:
    """Return the leaf that was made last, or of those without a time the last in the file."""
    inner = frozenset(tree.parents.values())
    leaves = [
        (read_instant(_get_message(node).get("create_time")) or 0, place, key)
        for place, (key, node) in enumerate(tree.nodes.items())
        if key not in inner
    ]
    return max(leaves)[2] if leaves else None


def _climb(tree: _Tree, start: str) -> tuple[list[dict[str, object]], bool]:
    """Return the nodes from one up to its root, and whether they lead round in a circle."""
    branch: list[dict[str, object]] = []
    seen: set[str] = set()
    key: str | None = start
    while key is not None and key not in seen:
        seen.add(key)
        branch.append(tree.nodes[key])
        key = tree.parents.get(key)
    return branch, key is not None


def _get_message(node: Mapping[str, object]) -> dict[str, object]:
    return read_object(node.get("message"))


def _read_message(message: Mapping[str, object]) -> tuple[str, Voice] | None:
    """Return what one message says and who says it; ``None`` when nobody says anything."""
    author = read_object(message.get("author"))
    role = (read_string(author.get("role")) or read_string(message.get("role"))).lower()
    if (role not in _VOICES and role not in _TOOLS) or _is_hidden(message):
        return None
    text = "\n\n".join(_read_content(message.get("content")))
    said_at = read_instant(message.get("create_time"))
    if role in _TOOLS:
        name = read_string(author.get("name")) or read_string(message.get("name")) or "tool"
        line = describe_result(name, strip_unwanted(text))
        return (line, Voice(name, SourceClass.TOOL, said_at)) if line else None
    text = keep_said(text, strip_unwanted)
    speaker, source_class = _VOICES[role]
    return (text, Voice(speaker, source_class, said_at)) if text else None


def _is_hidden(message: Mapping[str, object]) -> bool:
    metadata = read_object(message.get("metadata"))
    # Of weight 0 is what the model was not to see: stopped answers, profiles.
    return bool(metadata.get("is_visually_hidden_from_conversation")) or message.get("weight") == 0


def _read_content(content: object) -> Iterator[str]:
    """Yield the texts of a message; images, files and other assets have none."""
    parts = read_list(content) if isinstance(content, list) else [content]
    if isinstance(content, dict):
        if read_string(content.get("content_type")) in _UNSAID:
            return
        given = content.get("parts")
        parts = given if isinstance(given, list) else [content.get("text"), content.get("result")]
    for part in parts:
        text = read_string(part.get("text") if isinstance(part, dict) else part)
        if text.strip():
            yield text
