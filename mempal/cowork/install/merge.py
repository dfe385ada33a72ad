"""What has to change in a settings file so that our handler is in it once, or not at all.

Everything that is not our handler stays byte for byte. Our first handler keeps its place, since
Codex trusts a hook by its position, and what the user added to it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from mempal.core.errors import ConfigError
from mempal.cowork.install.owner import Owner
from mempal.cowork.install.splice import Layout, Splice, apply, cut, find_layout, insert
from mempal.cowork.install.tree import Kind, Node, find_line, parse

HOOKS, EVENT = "hooks", "UserPromptSubmit"
REGISTERED, UNCHANGED, HEALED = "registered", "unchanged", "healed"
REMOVED, ABSENT = "removed", "absent"


@dataclass(frozen=True, slots=True)
class _Spot:
    """One of our handlers: the number of its group, its list there, and its number in that."""

    group: int
    handlers: Node
    number: int

    @property
    def handler(self) -> Node:
        return self.handlers.items[self.number]


def register(text: str, path: str, wanted: dict[str, object], owner: Owner) -> tuple[str, str]:
    """Return settings with our handler in them once, and what was done.

    Args:
        text: The settings.
        path: Their file, for messages.
        wanted: Our handler.
        owner: Tells our handlers.

    Raises:
        ConfigError: The settings cannot be understood.
    """
    action = UNCHANGED
    while True:
        root = parse(text, path)
        spots = list(_find_spots(_find_event(root, text, path), owner))
        if not spots:
            return apply(text, [_add(text, root, wanted)]), REGISTERED
        if splices := _mend(text, spots[0].handler, find_layout(text, root), wanted):
            text = apply(text, splices)
        elif len(spots) > 1:
            text = apply(text, [_remove(root, spots[-1], frozenset())])
        else:
            return text, action
        action = HEALED


def create(wanted: dict[str, object]) -> str:
    """Return settings that hold our handler alone."""
    settings = {HOOKS: {EVENT: [{"hooks": [wanted]}]}}
    return json.dumps(settings, ensure_ascii=False, indent=2) + "\n"


def remove(text: str, path: str, owner: Owner, keep: frozenset[str]) -> tuple[str, str]:
    """Return settings without any handler of ours, and what was done.

    Args:
        text: The settings.
        path: Their file, for messages.
        owner: Tells our handlers.
        keep: Which of ``hooks`` and the event stay though nothing is left in them.

    Raises:
        ConfigError: The settings cannot be understood.
    """
    action = ABSENT
    while True:
        root = parse(text, path)
        spots = list(_find_spots(_find_event(root, text, path), owner))
        if not spots:
            return text, action
        text, action = apply(text, [_remove(root, spots[-1], keep)]), REMOVED


def list_kept(text: str, path: str) -> frozenset[str]:
    """Return which of ``hooks`` and the event are in settings.

    Raises:
        ConfigError: The settings cannot be understood.
    """
    root = parse(text, path)
    found = {EVENT: _find_event(root, text, path), HOOKS: root.get(HOOKS)}
    return frozenset(name for name, node in found.items() if node is not None)


def is_empty(text: str, path: str) -> bool:
    """Return whether settings say nothing.

    Raises:
        ConfigError: They cannot be understood.
    """
    return not parse(text, path).items


def _find_event(root: Node, text: str, path: str) -> Node | None:
    _expect(root, Kind.OBJECT, "the document", (text, path))
    hooks = root.get(HOOKS)
    if hooks is None:
        return None
    _expect(hooks, Kind.OBJECT, f'"{HOOKS}"', (text, path))
    event = hooks.get(EVENT)
    if event is not None:
        _expect(event, Kind.ARRAY, f'"{EVENT}"', (text, path))
    return event


def _expect(node: Node, kind: Kind, what: str, source: tuple[str, str]) -> None:
    if node.kind is not kind:
        text, path = source
        raise ConfigError(
            f"{path}:{find_line(text, node.start)}: {what} is {node.kind.value} where"
            f" {kind.value} belongs",
            hint="it was left as it is; mend it, then run the command again",
        )


def _find_spots(event: Node | None, owner: Owner) -> Iterator[_Spot]:
    """Yield our handlers in order; groups that no host could read are the user's business."""
    for number, group in enumerate(event.items if event else ()):
        handlers = group.get("hooks")
        if handlers is None or handlers.kind is not Kind.ARRAY:
            continue
        for at, handler in enumerate(handlers.items):
            if owner.owns(handler):
                yield _Spot(number, handlers, at)


def _add(text: str, root: Node, wanted: dict[str, object]) -> Splice:
    """Append a group of our own, with as much around it as is missing."""
    layout = find_layout(text, root)
    group = {"hooks": [wanted]}
    hooks = root.get(HOOKS)
    if hooks is None:
        return insert(text, root, layout, [(HOOKS, {EVENT: [group]})])
    event = hooks.get(EVENT)
    if event is None:
        return insert(text, hooks, layout, [(EVENT, [group])])
    return insert(text, event, layout, [(None, group)])


def _mend(text: str, handler: Node, layout: Layout, wanted: dict[str, object]) -> list[Splice]:
    """Make a handler of ours run the right command; nothing to do when it does."""
    command, arguments = handler.get("command"), handler.find("args")
    stale = command is not None and command.scalar != wanted["command"]
    if command is None or not (stale or arguments is not None or handler.get("type") is None):
        return []
    written = json.dumps(wanted["command"], ensure_ascii=False)
    splices = [Splice(command.start, command.end, written)]
    missing = [(name, value) for name, value in wanted.items() if handler.find(name) is None]
    if missing:
        splices.append(insert(text, handler, layout, [*missing]))
    if arguments is not None:  # with them, the command would be taken for the name of a file
        splices.append(cut(handler, arguments))
    return splices


def _remove(root: Node, spot: _Spot, keep: frozenset[str]) -> Splice:
    """Take one handler out, and what around it would be left empty by that."""
    hooks = root.get(HOOKS) or root
    event = hooks.get(EVENT) or hooks
    if len(spot.handlers.items) > 1:
        return cut(spot.handlers, spot.number)
    if len(event.items) > 1 or EVENT in keep:
        return cut(event, spot.group)
    if len(hooks.items) > 1 or HOOKS in keep:
        return cut(hooks, hooks.find(EVENT) or 0)
    return cut(root, root.find(HOOKS) or 0)
