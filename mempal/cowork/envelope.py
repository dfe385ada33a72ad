"""What a host is shown of drained messages: the reference's bytes, within the host's limits.

A message is data from the partner: control characters are taken out of the copy that is shown, and
nothing in it can pass for the end of the envelope or for the head of another message.
"""

import json
import re
from collections.abc import Sequence

from mempal.core.recall import strip_controls
from mempal.cowork.names import CLAUDE, partner_of
from mempal.cowork.wire import Message

PLAIN, CODEX_JSON, CLAUDE_JSON = "plain", "codex-hook-json", "claude-hook-json"
FORMATS = (PLAIN, CODEX_JSON, CLAUDE_JSON)
# Claude Code shows 10 000 characters of a hook's text, Codex about 2 500 tokens of four bytes.
_MOST_CHARACTERS = 9_000
_MOST_BYTES = 9_200
_FRAME = 400
_MARK = re.compile(r"\[(\s*(?:end\s+)?partner\s+inbox)", re.IGNORECASE)
_HEAD = re.compile(r"(?m)(?<=\n)(?=[ \t]*- \d{4}-\d\d-\d\dT)")
_REPEATED = "(may have been shown before) "


def show(message: Message, repeated: bool) -> str:
    """Return the lines of one message."""
    content = strip_controls(message.content.replace("\r\n", "\n"))
    content = _HEAD.sub("> ", _MARK.sub(r"(\1", content))
    mark = _REPEATED if repeated else ""
    stamp = _MARK.sub(r"(\1", strip_controls(message.pushed_at).replace("\n", " "))
    return f"- {stamp}: {mark}{content}\n"


def fits(target: str, shown: Sequence[str]) -> bool:
    """Return whether a host shows all of these messages; one alone always counts as fitting."""
    if len(shown) <= 1:
        return True
    if target == CLAUDE:
        return sum(map(len, shown)) + _FRAME <= _MOST_CHARACTERS
    return sum(len(one.encode()) for one in shown) + _FRAME <= _MOST_BYTES


def wrap(target: str, shown: Sequence[str], waiting: int, form: str, event: str) -> bytes:
    """Return what is written to standard output; nothing for no message.

    Args:
        target: The tool that reads.
        shown: Its messages, see :func:`show`.
        waiting: How many more are left for its next prompt.
        form: One of :data:`FORMATS`.
        event: The host's name of the event that is answered.
    """
    if not shown:
        return b""
    noun = "message" if len(shown) == 1 else "messages"
    partner = partner_of(target)
    head = f"[Partner inbox from {partner} ({len(shown)} {noun} since last check):]\n"
    more = f"({waiting} more waiting; the next prompt brings them)\n" if waiting else ""
    text = f"{head}{''.join(shown)}{more}[End partner inbox]\n"
    if form == PLAIN:
        return text.encode()
    output = {"hookSpecificOutput": {"additionalContext": text, "hookEventName": event}}
    return json.dumps(output, ensure_ascii=False, separators=(",", ":")).encode()
