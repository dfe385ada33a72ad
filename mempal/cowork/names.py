"""The two tools that hand each other messages, under every name by which they call themselves.

No space around a name is dropped: a name that is not known writes to an inbox that nobody drains.
"""

from mempal.core.errors import UsageError

CLAUDE, CODEX, AUTO = "claude", "codex", "auto"
TOOLS = (CLAUDE, CODEX)
_PARTNERS = {CLAUDE: CODEX, CODEX: CLAUDE}
_NAMES = {
    "claude": CLAUDE,
    "claude-code": CLAUDE,
    "claude_code": CLAUDE,
    "codex": CODEX,
    "codex-cli": CODEX,
    "codex_cli": CODEX,
    "codex-tui": CODEX,
    "codex-mcp-client": CODEX,  # what it calls itself over MCP
}


def parse_tool(name: str) -> str:
    """Return ``claude`` or ``codex`` for any name of theirs, in any ASCII case.

    Raises:
        UsageError: It is the name of neither; ``auto`` is none either.
    """
    tool = _NAMES.get(_lower(name))
    if tool is None:
        raise UsageError(
            f"invalid target {name!r}: expected claude|codex", hint="name claude or codex"
        )
    return tool


def parse_tool_or_auto(name: str) -> str:
    """Return what :func:`parse_tool` returns, or ``auto``.

    Raises:
        UsageError: It is no name of either, nor ``auto``.
    """
    return AUTO if _lower(name) == AUTO else parse_tool(name)


def partner_of(tool: str) -> str:
    """Return the tool on the other side."""
    return _PARTNERS[tool]


def _lower(name: str) -> str:
    # Only ASCII letters have a case here: "K" (Kelvin sign) is not a "k".
    return name.lower() if name.isascii() else name
