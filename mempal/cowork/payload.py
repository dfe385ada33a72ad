"""What a host tells a hook on standard input, and which host it is.

A host may keep the pipe open or write slowly: the answer is due when one JSON object is complete.
"""

import json
import os
import select
import time
from typing import Any

from mempal.core.errors import UsageError
from mempal.cowork.names import CLAUDE, CODEX

_LARGEST = 64 << 20
_STEP = 1 << 16
# Events whose hooks may add to what the model reads; at others, messages would be thrown away.
_TELLING = ("UserPromptSubmit", "SessionStart")


def read_payload(deadline: float) -> dict[str, Any]:
    """Return the JSON object on standard input.

    Args:
        deadline: Instant of the monotonic clock by which it must be complete.

    Raises:
        UsageError: It is not there in time, or is no JSON object.
    """
    data = bytearray()
    while len(data) <= _LARGEST:
        if not select.select([0], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise UsageError("stdin gave no complete JSON object in time")
        try:
            part = os.read(0, _STEP)
        except OSError as error:
            raise UsageError(f"stdin cannot be read ({error.strerror})") from error
        data += part
        if not part or data.rstrip().endswith(b"}"):
            value = _parse(bytes(data))
            if isinstance(value, dict):
                return value
            if not part or value is not None:
                raise UsageError("stdin is not a JSON object")
    raise UsageError("stdin is larger than a hook's payload can be")


def _parse(data: bytes) -> object:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def read_cwd(payload: dict[str, Any]) -> str:
    """Return the project's folder.

    Raises:
        UsageError: There is none, or it is no text.
    """
    cwd = payload.get("cwd")
    if not isinstance(cwd, str):
        raise UsageError("stdin names no cwd")
    return cwd


def recognise_host(payload: dict[str, Any]) -> str:
    """Return ``codex`` unless the payload is recognisably one of Claude Code's."""
    if "turn_id" in payload:
        return CODEX
    path = payload.get("transcript_path")
    if isinstance(path, str):
        configured = os.environ.get("CLAUDE_CONFIG_DIR")
        if "/.claude/" in path or (configured and path.startswith(configured.rstrip("/") + "/")):
            return CLAUDE
    return CLAUDE if "prompt_id" in payload else CODEX


def read_event(payload: dict[str, Any]) -> str:
    """Return the event that is answered; empty for one at which nothing can be told."""
    event = payload.get("hook_event_name", _TELLING[0])
    return event if event in _TELLING else ""
