"""From the bytes of a file to its text, exactly or not at all.

The rules, first match wins:

1. A byte order mark is believed: UTF-8, UTF-32 and UTF-16 in both orders. It is not part of the
   text.
2. With a NUL, the bytes are UTF-16 without a mark when every NUL is the high half of a character
   and they read as text, else binary. Many control characters make a file binary, too.
3. Valid UTF-8 is UTF-8; seven-bit Japanese is recognised by its escape sequences.
4. Up to one stray byte for eight characters outside ASCII is damaged UTF-8: another encoding
   hardly ever forms valid sequences. The stray bytes are kept and counted.
5. A legacy encoding that two detectors agree on (:mod:`mempal.ingest.charset`).
6. One stray byte, and one more per thousand characters, in ASCII: kept and counted as in 4.
7. Everything else is refused; text that would be garbled is not stored.
"""

import codecs
import re
import unicodedata
from dataclasses import dataclass

from mempal.core.errors import SourceError
from mempal.ingest.charset import guess_codec

# UTF-32 before UTF-16, whose little-endian mark is the beginning of its.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ESCAPE = re.compile(rb"\x1b\$[@B]")
# Categories that no written text holds: unassigned, private, half of a pair.
_UNWRITTEN = frozenset({"Cn", "Co", "Cs"})
_STRAY = re.compile("[\udc80-\udcff]")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\v\b\x1a\x1b")) + b"\x7f"

# Bytes and characters at the beginning that are judged, and the share of control characters there
# from which a file is binary.
_HEAD = 4096
_BINARY = 0.05
_CHARACTERS_PER_STRAY = 8
_BYTES_PER_STRAY = 1000
# UTF-16 without a mark: bytes it must have at least, and the share of its characters in ASCII.
_LEAST_WIDE = 8
_WIDE_SHARE = 0.3

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
        guessed: Whether the encoding was detected rather than known.
        exact: Whether slices of the text measure what they do in the file. Not so for encodings
            with several spellings or hidden states; where text lies in such a file is unknown.
    """

    text: str
    encoding: str = "utf-8"
    bom_bytes: int = 0
    replaced: int = 0
    guessed: bool = False
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
    if _ESCAPE.search(data) and (text := _decode_escaping(data)) is not None:
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
    if not _is_slightly_damaged(text, replaced) and not _is_tolerable(text, replaced):
        raise UndecodableError("damaged UTF-8")
    return Decoded(text, "utf-8", start, replaced)


def _decode_wide(data: bytes) -> Decoded:
    """Decode UTF-16 without a mark, told by the NULs that are the high bytes of its ASCII."""
    high, low = (1, 0) if 0 not in data[::2] else (0, 1)
    share = data[high::2].count(0) / max(1, len(data) // 2)
    if 0 in data[low::2] or len(data) < _LEAST_WIDE or share < _WIDE_SHARE:
        raise UndecodableError("binary")
    encoding = "utf-16-le" if high else "utf-16-be"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UndecodableError("binary") from error
    unwritten = any(unicodedata.category(character) in _UNWRITTEN for character in set(text))
    if unwritten or is_binary(text.encode()):
        raise UndecodableError("binary")
    return Decoded(text, encoding)


def _decode_escaping(data: bytes) -> Decoded | None:
    try:
        text = data.decode("iso2022_jp")
    except UnicodeDecodeError:
        return None
    if "\x1b" in text or text.isascii():
        return None
    return Decoded(text, "iso2022_jp", exact=False)


def _decode_damaged(data: bytes) -> Decoded:
    text = data.decode("utf-8", "surrogateescape")
    replaced = _count_strays(text, data)
    if _is_slightly_damaged(text, replaced):
        return Decoded(text, replaced=replaced)
    codec = guess_codec(data)
    if codec is not None:
        legacy = data.decode(codec)
        return Decoded(legacy, codec, guessed=True, exact=_makes(legacy, codec, data))
    if _is_tolerable(text, replaced):
        return Decoded(text, replaced=replaced)
    raise UndecodableError(_GARBLED)


def _count_strays(text: str, data: bytes) -> int:
    return len(data) - len(text.encode("utf-8", "ignore"))


def _is_slightly_damaged(text: str, replaced: int) -> bool:
    others = len(text) - len(text.encode("ascii", "ignore")) - replaced
    return others >= _CHARACTERS_PER_STRAY * replaced


def _is_tolerable(text: str, replaced: int) -> bool:
    # Beside other characters outside ASCII, a few of which form by chance in any encoding, the
    # stricter rule for damaged UTF-8 decides.
    few = replaced <= 1 + len(text) // _BYTES_PER_STRAY
    return few and _STRAY.sub("", text).isascii()


def _makes(text: str, codec: str, data: bytes) -> bool:
    try:
        return text.encode(codec) == data
    except UnicodeEncodeError:
        return False
