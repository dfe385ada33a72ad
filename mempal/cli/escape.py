"""Making text safe to show: surrogates for everyone, control characters for terminals.

Stored text stays what it is. What a terminal would obey (escape sequences, bells, carriage returns,
marks that reorder text, invisible tag characters) is shown as an escape; a pipe gets the characters
themselves.
"""

import re

_C0 = "\x00-\x08\x0b-\x1f"  # without tab and newline
_BEYOND = (
    "\x7f-\x9f"  # delete, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks, overrides, isolates
    "\u2028\u2029"  # line and paragraph separators
    "\U000e0000-\U000e007f"  # tag characters
)
_UNSAFE = re.compile(f"[{_C0}{_BEYOND}]")
_UNSAFE_IN_NAME = re.compile(f"[\t\n{_C0}{_BEYOND}]")
# A JSON document holds C0 characters only as layout, never inside a string.
_UNSAFE_IN_JSON = re.compile(f"[{_BEYOND}]")
_NAMED = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}
_LAST_BYTE, _LAST_BASIC = 0xFF, 0xFFFF


def mend_surrogates(text: str) -> str:
    """Return text that UTF-8 can hold.

    Paired surrogates are joined; lone ones, such as the undecodable bytes of a file's name, become
    U+FFFD.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def escape_controls(text: str) -> str:
    """Return text that a terminal only shows; tab and newline stay."""
    return _UNSAFE.sub(_escape, text)


def escape_name(name: str) -> str:
    """Return a path or another name as one line of harmless text."""
    return _UNSAFE_IN_NAME.sub(_escape, name)


def escape_in_json(document: str) -> str:
    """Return a JSON document of the same meaning with harmful characters as JSON escapes."""
    return _UNSAFE_IN_JSON.sub(_escape_in_json, document)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character in _NAMED:
        return _NAMED[character]
    number = ord(character)
    if number <= _LAST_BYTE:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= _LAST_BASIC else f"\\U{number:08x}"


def _escape_in_json(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
