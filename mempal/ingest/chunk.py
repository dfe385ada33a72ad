r"""Two chunkers with fixed, published rules, for those who count on exactly these pieces.

Mining itself cuts with :mod:`mempal.ingest.cut`. What both share is the notion of white space:
Unicode ``White_Space``, which is not :meth:`str.isspace` (that one takes ``\x1c`` to ``\x1f`` too).
"""

from collections.abc import Iterator

# Every code point with the property White_Space (Unicode, PropList.txt).
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_BREAKS = ("\n", " ", "\t")
_TURN = "> "


def chunk_text(text: str, window: int, overlap: int) -> list[str]:
    r"""Slide a window over a text and return what it shows, trimmed.

    A window that does not reach the end of the text ends just after its last newline, space or
    tab, if that lies strictly beyond half the window; else it is cut hard. The next window starts
    ``overlap`` characters before that end, or at that end when it would not advance otherwise.

    Args:
        text: Any text; it is trimmed first. Lengths count code points.
        window: Largest length of a chunk; 0 gives no chunks.
        overlap: Characters shared by neighbours before trimming; ``window`` or more count as
            ``window - 1``.

    Raises:
        ValueError: A length is negative.
    """
    if window < 0 or overlap < 0:
        raise ValueError(f"window {window} and overlap {overlap} must not be negative")
    if window == 0:
        return []
    trimmed = text.strip(WHITE_SPACE)
    spans = _slide(trimmed, window, min(overlap, window - 1))
    chunks = (trimmed[start:end].strip(WHITE_SPACE) for start, end in spans)
    return [chunk for chunk in chunks if chunk]


def _slide(text: str, window: int, overlap: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = min(start + window, len(text))
        if end < len(text):
            last = max(text.rfind(mark, start, end) for mark in _BREAKS)
            if last - start > window // 2:
                end = last + 1
        yield start, end
        if end == len(text):
            return
        start = end - overlap if end - overlap > start else end


def chunk_conversation(transcript: str) -> list[str]:
    r"""Return the turns of a transcript: each line marked ``"> "`` and all that follows it.

    What stands before the first marked line is a chunk of its own. Lines end at ``\n``; one ``\r``
    before it is dropped. Blank lines that would begin a chunk are dropped, others are kept; chunks
    are not trimmed and have no size limit.
    """
    chunks: list[str] = []
    turn: list[str] = []
    for line in _split_lines(transcript):
        if turn and line.startswith(_TURN):
            chunks.append("\n".join(turn))
            turn = []
        if turn or line.strip(WHITE_SPACE):
            turn.append(line)
    if turn:
        chunks.append("\n".join(turn))
    return chunks


def _split_lines(text: str) -> list[str]:
    *ended, rest = text.split("\n")
    lines = [line.removesuffix("\r") for line in ended]
    return [*lines, rest] if rest else lines
