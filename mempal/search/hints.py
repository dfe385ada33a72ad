"""What to tell somebody whose question found nothing."""

from mempal.core.model import Scope
from mempal.core.ports import Store

_SHOWN = 10


def explain_nothing(store: Store, scope: Scope) -> str:
    """Say why a scope holds no answer: an empty palace, an unknown name, or nothing known."""
    rooms = store.rooms()
    if not rooms:
        return "the palace is empty; `mempal mine` stores a repository"
    wings = sorted({room.wing for room in rooms})
    if scope.wing is not None and scope.wing not in wings:
        return f"there is no wing {scope.wing!r}; wings: {', '.join(wings[:_SHOWN])}"
    known = sorted({room.room for room in rooms if scope.wing in (None, room.wing)})
    if scope.room is not None and scope.room not in known:
        return f"there is no room {scope.room!r} here; rooms: {', '.join(known[:_SHOWN])}"
    return "nothing known about this"
