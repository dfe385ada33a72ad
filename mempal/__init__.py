"""Local-first project memory for people who work with coding agents.

Importing this package loads nothing but the standard library's import machinery; the public names
below are resolved when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mempal.core.errors import MempalError
    from mempal.palace import Palace
    from mempal.wiring import open_palace

__version__ = "0.1.0"

__all__ = ["MempalError", "Palace", "__version__", "open_palace"]

_HOMES = {
    "MempalError": "mempal.core.errors",
    "Palace": "mempal.palace",
    "open_palace": "mempal.wiring",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the protocol of module attributes
    """Resolve a public name on first use (PEP 562)."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mempal' has no attribute {name!r}")
