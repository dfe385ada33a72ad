"""Identifiers: deterministic, and safe against collisions of joined or cut parts."""

import hashlib

_DIGITS = 20


def hash_parts(*parts: str) -> str:
    """Hash parts with their lengths, so that ``("ab", "c")`` and ``("a", "bc")`` differ.

    Hex SHA-256.
    """
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "big"))
        digest.update(encoded)
    return digest.hexdigest()


def make_drawer_id(wing: str, room: str, source: str, content: str, occurrence: int) -> str:
    """Name a drawer.

    Args:
        wing: Wing as the user spells it.
        room: Room as the user spells it.
        source: What tells its source from others in the wing; empty for text given by hand.
        content: The whole text.
        occurrence: 0 for the first drawer with this text in this source, 1 for the second, and so
            on.
    """
    return "drawer_" + hash_parts(wing, room, source, content, str(occurrence))[:_DIGITS]


def hash_content(content: str) -> str:
    """Hash a text; hex SHA-256 of its UTF-8 bytes."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
