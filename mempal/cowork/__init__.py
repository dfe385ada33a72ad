"""Two agents in one project hand each other messages, and nothing is lost.

What a host runs before a prompt (:mod:`mempal.cowork.hook`) stands on the standard library alone,
so the names below are resolved when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mempal.cowork.identity import encode_project_identity, project_identity
    from mempal.cowork.wire import build_message_id

__all__ = ["build_message_id", "encode_project_identity", "project_identity"]

_HOMES = {
    "build_message_id": "mempal.cowork.wire",
    "encode_project_identity": "mempal.cowork.identity",
    "project_identity": "mempal.cowork.identity",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the protocol of module attributes
    """Resolve a public name on first use (PEP 562)."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mempal.cowork' has no attribute {name!r}")
