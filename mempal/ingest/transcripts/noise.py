"""What nobody said: blocks and lines that a host program puts into the text of a message.

Two passes, both outside of fenced code. The first takes out blocks between exact tags, the second
whole lines. Before them, and everywhere, goes what must not be stored at all: private spans and
what mempal itself had put in.
"""

import json
import re
from collections.abc import Callable, Iterator

from mempal.core.recall import strip_recalled
from mempal.ingest.chunk import WHITE_SPACE

_TAGS = (
    # Claude Code
    "system-reminder",
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "user-prompt-submit-hook",
    "session-start-hook",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "new-diagnostics",
    "task-notification",
    # Codex
    "INSTRUCTIONS",
    "user_instructions",
    "environment_context",
    "recommended_plugins",
    "turn_aborted",
    "permissions instructions",
    "apps_instructions",
    "skills_instructions",
    "plugins_instructions",
    "collaboration_mode",
    "personality_spec",
    "model_switch",
    "subagent_notification",
    "user_shell_command",
    "user_action",
    "skill",
    # Gemini CLI
    "session_context",
    "hook_context",
    "state_snapshot",
)
# A tag right behind a backtick is one that somebody writes about; no host writes it so.
_MARK = re.compile(
    r"^[^\S\n]*(?P<fence>```)|(?<!`)<(?P<tag>" + "|".join(map(re.escape, _TAGS)) + ")>",
    re.MULTILINE,
)
_PRIVATE = re.compile(r"<(?P<end>/?)private\s*>", re.IGNORECASE)
_LINE_MARKS = ("[", "===", "# AGENTS.md")
_SECTIONS = ("=== DORA SKILLS LOADED ===", "=== RUST SKILLS Loaded ===")
_LINE = re.compile(
    r"\[session .* (?:started|ended)\]"
    r"|\[Request interrupted by user(?: for tool use)?\]"
    r"|# AGENTS\.md instructions(?: for .*)?"
)


def strip_noise(text: str) -> str:
    """Return what is left of a message when everything that its speaker did not say is taken out.

    Args:
        text: Any text with newlines as its line ends. One without noise comes back as it is.

    Returns:
        The rest, not trimmed; blank when all was noise. An opening tag that is never closed takes
        everything behind it along.
    """
    if "<" in text:  # most texts have nothing of either kind
        text = _strip_tags(strip_unwanted(text))
    return "".join(_keep_lines(text)) if any(mark in text for mark in _LINE_MARKS) else text


def strip_unwanted(text: str) -> str:
    """Return a text of any speaker without private spans and without what mempal had put in.

    Fenced code is no shelter. A span without an end reaches to the end of the text; spans may lie
    within each other.
    """
    text = strip_recalled(text)
    kept: list[str] = []
    start = depth = 0
    for mark in _PRIVATE.finditer(text):
        if mark["end"]:
            if depth == 1:
                start = mark.end()
            depth = max(0, depth - 1)
        else:
            if depth == 0:
                kept.append(text[start : mark.start()])
            depth += 1
    return "".join(kept) + text[start:] if depth == 0 else "".join(kept)


def keep_said(text: str, strip: Callable[[str], str] = strip_noise) -> str:
    """Return what a speaker said, verbatim; trimmed only where something was taken out.

    Args:
        text: A message.
        strip: What takes out what was not said.

    Returns:
        The rest; empty when it is blank.
    """
    rest = strip(text)
    trimmed = rest.strip(WHITE_SPACE)
    return rest if trimmed and rest == text else trimmed


def _strip_tags(text: str) -> str:
    kept: list[str] = []
    start = position = 0
    fenced = False
    while mark := _MARK.search(text, position):
        position = mark.end()
        if mark["fence"]:
            fenced = not fenced
            position = _line_end(text, position)
        elif not fenced:
            kept.append(text[start : mark.start()])
            close = f"</{mark['tag']}>"
            end = text.find(close, position)
            start = position = len(text) if end < 0 else end + len(close)
    return "".join(kept) + text[start:]


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _keep_lines(text: str) -> Iterator[str]:
    fenced = skipping = False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if skipping:
            skipping = bool(line.strip())
        elif line.lstrip().startswith("```"):
            fenced = not fenced
            yield line
        elif fenced:
            yield line
        elif line.startswith(_SECTIONS):
            skipping = True
        elif not _is_noise(line.rstrip()):
            yield line


def _is_noise(line: str) -> bool:
    if not line.startswith(("[", "#")):
        return False
    return _LINE.fullmatch(line) is not None or _is_tool_ids(line)


def _is_tool_ids(line: str) -> bool:
    """Tell whether a line is nothing but a JSON list of references to tool calls."""
    if not (line.startswith("[") and line.endswith("]") and '"tool_use_id"' in line):
        return False
    try:
        items = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return all(isinstance(item, dict) and item.get("type") == "tool_use_id" for item in items)
