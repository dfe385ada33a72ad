"""From the bytes of a file to its text, exactly or not at all.

The rules, first match wins:

1. A byte order mark is believed: UTF-8, UTF-32 and UTF-16 in both orders. It is not part of the
   text.
2. With a NUL, the bytes are UTF-16 or UTF-32 without a mark when exactly one of the four reads as
   text, else binary. Many control characters make a file binary, too.
3. Valid UTF-8 is UTF-8; Japanese and Korean mail encodings, seven-bit with escape sequences, are
   recognised by those.
4. Up to one stray byte for eight characters outside ASCII is damaged UTF-8: another encoding
   hardly ever forms valid sequences. The stray bytes are kept and counted.
5. A legacy encoding when it can be told safely (:mod:`mempal.ingest.charset`).
6. One stray byte, and one more per thousand bytes, in text that is plausible otherwise: kept and
   counted as in 4.
7. Everything else is refused; text that would be garbled is not stored.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mempal.core.errors import SourceError
from mempal.ingest.charset import guess_codec
from mempal.ingest.mojibake import EAST_ASIAN, find_fault, find_letters, find_script, has_control

# UTF-32 before UTF-16, whose little-endian mark is the beginning of its.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_ESCAPING = ("iso2022_jp", "iso2022_jp_ext", "iso2022_kr")
_ESCAPE = re.compile(rb"\x1b\$|\x1b\([IJ]")
_STRAY = re.compile("[\udc80-\udcff]")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\v\b\x1a\x1b")) + b"\x7f"

# Bytes and characters at the beginning that are judged, and the share of control characters there
# from which a file is binary.
_HEAD = 4096
_BINARY = 0.05
_CHARACTERS_PER_STRAY = 8
_BYTES_PER_STRAY = 1000
_LEAST_LETTERS = 8

_GARBLED = "text in an unknown or mixed encoding"


class UndecodableError(SourceError):
    """The bytes are not text, or text in an encoding that cannot be told.

    Attributes:
        reason: Why, as a short phrase for the list of skipped files.
    """

    code = "undecodable"

    def __init__(self, reason: str) -> None:
        super().__init__(reason, hint="save the file as UTF-8")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Decoded:
    r"""The text of a file, from which its bytes can be made again.

    Attributes:
        text: The text with line ends as they are in the file and without a byte order mark. A byte
            that is not valid stands in it as a lone surrogate, ``\udc80`` to ``\udcff``.
        encoding: Python's name of the codec.
        bom_bytes: Length of what precedes the text, in bytes.
        replaced: Number of bytes that are not valid.
        exact: Whether slices of the text measure what they do in the file. Not so for encodings
            with several spellings or hidden states; where text lies in such a file is unknown.
    """

    text: str
    encoding: str = "utf-8"
    bom_bytes: int = 0
    replaced: int = 0
    exact: bool = True

    @property
    def classic(self) -> bool:
        r"""Whether a lone ``\r`` ends a line: in a file that holds no ``\n``."""
        return "\r" in self.text and "\n" not in self.text


def decode(data: bytes) -> Decoded:
    """Decode the bytes of a file by the rules above.

    Args:
        data: All its bytes.

    Raises:
        UndecodableError: They are not text, or could only be guessed.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark) and (text := _decode_marked(data, mark, encoding)) is not None:
            return text
    if b"\0" in data:
        return _decode_wide(data)
    if b"\x1b" in data and (text := _decode_escaping(data)) is not None:
        return text
    if is_binary(data):
        raise UndecodableError("binary")
    try:
        return Decoded(data.decode())
    except UnicodeDecodeError:
        return _decode_damaged(data)


def is_binary(data: bytes) -> bool:
    """Return whether the beginning of a file without NUL holds too many control characters."""
    head = data[:_HEAD]
    return len(head) - len(head.translate(None, _CONTROLS)) > _BINARY * len(head)


def fold(text: str, *, classic: bool = False) -> str:
    r"""Fold line ends to ``\n`` and show bytes that are not valid as U+FFFD; change nothing else.

    Args:
        text: The text of a whole file, or a slice that does not part a ``\r\n``.
        classic: Whether a lone ``\r`` is a line end, see :attr:`Decoded.classic`; elsewhere it is
            a character like any other.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if classic:
            text = text.replace("\r", "\n")
    return text if text.isascii() else _STRAY.sub("\ufffd", text)


def measure_bytes(text: str, encoding: str) -> int:
    """Return the length that a slice of :attr:`Decoded.text` has in its file, in bytes.

    Holds when the file was decoded exactly; slices that follow each other add up to the file's
    length without its byte order mark.
    """
    if encoding == "utf-8" and text.isascii():
        return len(text)
    return len(text.encode(encoding, "surrogateescape"))


def _decode_marked(data: bytes, mark: bytes, encoding: str) -> Decoded | None:
    """Decode bytes that begin with a mark; ``None`` when they are not in its encoding."""
    start = len(mark)
    while data.startswith(mark, start):  # files joined by tools that do not know the mark
        start += len(mark)
    body = data[start:]
    if encoding == "utf-8":
        return _decode_marked_utf8(body, start)
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError:
        return None
    is_text = "\0" not in text and not is_binary(text[:_HEAD].encode("utf-8"))
    return Decoded(text, encoding, start) if is_text else None


def _decode_marked_utf8(body: bytes, start: int) -> Decoded:
    if b"\0" in body or is_binary(body):
        raise UndecodableError("binary")
    text = body.decode("utf-8", "surrogateescape")
    replaced = _count_strays(text, body)
    if not _is_slightly_damaged(text, replaced) and not _is_tolerable(text, replaced, len(body)):
        raise UndecodableError("damaged UTF-8")
    return Decoded(text, "utf-8", start, replaced)


def _decode_wide(data: bytes) -> Decoded:
    candidates = [(codec, text) for codec, text in _read_wide(data) if _is_wide_text(text)]
    if len(candidates) != 1:
        raise UndecodableError("binary")
    codec, text = candidates[0]
    return Decoded(text, codec)


def _read_wide(data: bytes) -> Iterator[tuple[str, str]]:
    for codec in _WIDE:
        width = int(codec[4:6]) // 8
        if len(data) % width:
            continue
        try:
            # The beginning is enough to refuse most binary files.
            if not has_control(data[:_HEAD].decode(codec, "ignore")):
                yield codec, data.decode(codec)
        except UnicodeDecodeError:
            continue


def _is_wide_text(text: str) -> bool:
    if has_control(text):
        return False
    head = text[:_HEAD]
    letters = find_letters(head)
    # A few numbers look like rare letters, and a NUL makes plain ASCII look like a little Chinese.
    if len(head.encode("ascii", "ignore")) <= len(letters) < _LEAST_LETTERS:
        return False
    if not any(find_script(letter) in EAST_ASIAN for letter in letters):
        return find_fault(head, "") is None
    return len(letters) >= _LEAST_LETTERS and any(
        find_fault(head, codec) is None for codec in ("gb18030", "cp950", "cp932", "cp949")
    )


def _decode_escaping(data: bytes) -> Decoded | None:
    if not (data.isascii() and _ESCAPE.search(data)):
        return None
    for codec in _ESCAPING:
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        if not text.isascii() and "\x1b" not in text:
            return Decoded(text, codec, exact=False)
    return None


def _decode_damaged(data: bytes) -> Decoded:
    text = data.decode("utf-8", "surrogateescape")
    replaced = _count_strays(text, data)
    if _is_slightly_damaged(text, replaced):
        return Decoded(text, replaced=replaced)
    codec = guess_codec(data)
    if codec is not None:
        legacy = data.decode(codec)
        return Decoded(legacy, codec, exact=_makes(legacy, codec, data))
    if _is_tolerable(text, replaced, len(data)):
        return Decoded(text, replaced=replaced)
    raise UndecodableError(_GARBLED)


def _count_strays(text: str, data: bytes) -> int:
    return len(data) - len(text.encode("utf-8", "ignore"))


def _is_slightly_damaged(text: str, replaced: int) -> bool:
    others = len(text) - len(text.encode("ascii", "ignore")) - replaced
    return others >= _CHARACTERS_PER_STRAY * replaced


def _is_tolerable(text: str, replaced: int, size: int) -> bool:
    if replaced > 1 + size // _BYTES_PER_STRAY:
        return False
    marked = [line for line in text.splitlines() if not line.isascii()]
    valid = _STRAY.sub("", "\n".join(marked)[:_HEAD])
    return find_fault(valid, "utf-8") is None


def _makes(text: str, codec: str, data: bytes) -> bool:
    try:
        return text.encode(codec) == data
    except UnicodeEncodeError:
        return False
