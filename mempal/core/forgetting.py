"""How text that a person wants gone is known again without being kept.

Whole texts are known by their hash wherever they turn up. Single lines are known in their own
source only, whose borders between drawers may shift; short ones (a brace, a heading of one word)
stand in too many places to stand for what was forgotten.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from hashlib import sha256

from mempal.core.ids import hash_content
from mempal.core.model import Chunk

# What stands in the place of a line that was forgotten.
PLACEHOLDER = "[forgotten]"

_SHORTEST_LINE = 16  # characters that are not blank


def hash_text(content: str) -> bytes:
    """Hash a whole text."""
    return bytes.fromhex(hash_content(content))


def hash_lines(content: str) -> Iterator[bytes]:
    """Hash every line that is long enough to be known again, whatever it is indented by."""
    for line in content.split("\n"):
        if sum(map(len, line.split())) >= _SHORTEST_LINE:
            yield sha256(line.strip().encode("utf-8", "surrogatepass")).digest()


def blank_lines(chunk: Chunk, lines: Collection[bytes]) -> Chunk | None:
    """Replace the forgotten lines of a chunk; ``None`` when nothing else is left of it.

    Names that stood in those lines only are taken out of its symbols, too.
    """
    kept = [PLACEHOLDER if _is_among(line, lines) else line for line in chunk.content.split("\n")]
    content = "\n".join(kept)
    if content == chunk.content:
        return chunk
    if not any(line.strip() not in {"", PLACEHOLDER} for line in kept):
        return None
    symbols = " ".join(name for name in chunk.symbols.split() if name in content)
    return replace(chunk, content=content, symbols=symbols)


def _is_among(line: str, lines: Collection[bytes]) -> bool:
    return any(digest in lines for digest in hash_lines(line))


def withhold(
    chunk: Chunk, is_forgotten: Callable[[bytes], bool], lines: Collection[bytes]
) -> Chunk | None:
    """Return what may be stored of a chunk; ``None`` for nothing.

    Args:
        chunk: A piece of a source.
        is_forgotten: Whether a text with this hash was forgotten as a whole.
        lines: Hashes of the lines that were forgotten in the source.
    """
    if is_forgotten(hash_text(chunk.content)):
        return None
    rest = blank_lines(chunk, lines) if lines else chunk
    if rest is None or (rest is not chunk and is_forgotten(hash_text(rest.content))):
        return None
    return rest
