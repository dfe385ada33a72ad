"""Names of wings and rooms: kept as the user spells them, compared exactly.

``Ops Team`` and ``ops-team`` are two wings. Space around a name is dropped and accents
are composed; what could not be typed or shown is refused.
"""

import re
import unicodedata

from mempal.core.errors import UsageError
from mempal.core.secrets import redact

_LONGEST = 200
# What every secret has, as a token or in an assignment. Looking for one takes longer than mining a
# tree in which nothing changed.
_MAY_BE_SECRET = re.compile(r"[\w+/.\-]*\d[\w+/.\-]*(?<=[\w+/.\-]{12})|[:=@]")


def check_name(kind: str, name: str) -> str:
    """Return a name as it is stored.

    Args:
        kind: What it names, for the message: ``wing`` or ``room``.
        name: What the user wrote.

    Raises:
        UsageError: It is blank, too long, holds control characters or is a secret.
    """
    stripped = normalize_name(name)
    if not stripped:
        raise UsageError(f"a {kind} needs a name", hint=f"give it with --{kind} NAME")
    if len(stripped) > _LONGEST:
        raise UsageError(f"the name of a {kind} has at most {_LONGEST} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in stripped):
        raise UsageError(f"the name of a {kind} holds no control characters: {stripped!r}")
    if _MAY_BE_SECRET.search(stripped) and redact(stripped).redactions:
        raise UsageError(
            f"the name of a {kind} looks like a secret", hint="names are stored as they are"
        )
    return stripped


def normalize_name(name: str) -> str:
    """Drop space around a name and compose its accents, so that however it was typed it is one."""
    return unicodedata.normalize("NFC", name.strip())


def clean_name(name: str) -> str:
    """Make a folder's name a valid wing or room: what :func:`check_name` refuses becomes ``_``."""
    cleaned = "".join(
        "_" if unicodedata.category(character) in ("Cc", "Cs") else character
        for character in name[:_LONGEST]
    )
    return normalize_name(cleaned) or "default"
