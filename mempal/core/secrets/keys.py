"""Private keys in armour: PEM and OpenPGP blocks, whole, cut off, indented, quoted or on one line.

The lines that name the key stay, since they say what was there; headers in the armour stay too.
Only what looks like the body goes, so a program that *speaks* of such lines is left alone.
"""

import re
from collections.abc import Iterator

from mempal.core.secrets.randomness import looks_random
from mempal.core.secrets.tokens import Span

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END"
_LONGEST_BODY = 65_536

# What may stand between two pieces of a body: line ends, as written or escaped, and what editors,
# listings, comments, diffs and string literals put around a line.
_BETWEEN = (
    r"(?:\\+[nrt]|\\+(?=\s)|\n[ \t]{0,12}[0-9]{1,6}(?:\t|→|[ ]?[|:])"
    r"|\n[^\s:]{1,120}+:[0-9]{1,6}:"
    r"|[\s\"'`+,;>|*#(.&)]|//|-(?!----))*+"
)
_HEADER = re.compile(
    _BETWEEN + r"(?:[A-Z][A-Za-z\-]{2,20}: [^\n\\]{0,200}+(?=\n|\\+[nr]|\r)"
    r"|Proc-Type: \S{1,40}+|DEK-Info: [A-Z0-9\-]{1,40}+,[0-9A-F]{1,64}+"
    r"|Version: \S{1,40}+ v?\S{1,20}+)"
)
_PIECE = re.compile(_BETWEEN + r"(?P<piece>[A-Za-z0-9+/=]+)")
_SHORTEST_LINE = 32
_SHORTEST_PIECE = 12


def find_keys(text: str) -> Iterator[Span]:
    """Find the bodies of private keys."""
    at = text.find("-----BEGIN ")
    begins = list(_BEGIN.finditer(text, at)) if at >= 0 else []
    for number, begin in enumerate(begins):
        limit = min(begin.end() + _LONGEST_BODY, len(text))
        if number + 1 < len(begins):
            limit = min(limit, begins[number + 1].start())
        closing = text.find(_END, begin.end(), limit)
        yield from _find_body(text, begin.end(), limit if closing < 0 else closing, closing >= 0)


def _find_body(text: str, start: int, limit: int, closed: bool) -> Iterator[Span]:
    while header := _HEADER.match(text, start, limit):
        start = header.end()
    first, end = -1, start
    previous = 0
    while piece := _PIECE.match(text, end, limit):
        if not _belongs(piece["piece"], previous, closed=closed):
            break
        if first < 0:
            first = piece.start("piece")
        previous, end = len(piece["piece"]), piece.end()
    if first >= 0:
        yield Span(first, end, "private-key")


def _belongs(piece: str, previous: int, *, closed: bool) -> bool:
    """Whether a run of characters continues a body whose last run was so long (0: none yet)."""
    if len(piece) >= _SHORTEST_LINE:
        return True
    if not previous:
        return len(piece) >= _SHORTEST_PIECE and looks_random(piece)
    if closed:
        return True
    return previous >= _SHORTEST_LINE and (
        piece.endswith("=") or (len(piece) >= _SHORTEST_PIECE and looks_random(piece))
    )
