"""Which legacy encoding is a text in? Said only when two detectors read the same text.

``chardet`` and ``charset-normalizer`` guess by unlike methods, and on a short text each is often
wrong alone. Where both come to the same text in an encoding that is in common use, it is right.
Western European text is also taken from one of them, since there the letters themselves can be
checked: nothing but letters and marks that such text is made of.
"""

import codecs
import re

# Bytes that the detectors judge: the first lines with characters outside ASCII.
_SAMPLE = 65_536
# Python's names of the encodings in which people still keep files.
_COMMON = frozenset(
    """
    big5 big5hkscs cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp866 cp874 cp932
    cp949 cp950 euc_jis_2004 euc_jp euc_kr gb18030 gb2312 gbk iso8859-1 iso8859-2 iso8859-5
    iso8859-7 iso8859-9 iso8859-15 koi8-r koi8-u shift_jis shift_jis_2004
    """.split()  # noqa: SIM905 - a table
)
_WESTERN = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþ“”‘’„–€©®°µ«»¿¡§£·"  # noqa: RUF001 - meant
)
# Letters of DOS code pages are marks in Western ones: a mark inside a word gives them away.
_MARK_IN_WORD = re.compile(
    r"[^\W\d_][“”‘„–€©®°«»¿¡§£·][^\W\d_]"  # noqa: RUF001 - meant
)


def guess_codec(data: bytes) -> str | None:
    """Return Python's name of the codec of bytes that are not UTF-8; ``None`` when in doubt."""
    sample = b"\n".join(line for line in data.split(b"\n") if not line.isascii())[:_SAMPLE]
    guesses = [codec for codec in (_ask_chardet(sample), _ask_normalizer(sample)) if codec]
    texts = [_read(data, codec) for codec in guesses]
    if len(texts) > 1 and texts[0] is not None and texts[0] == texts[1]:
        return next((codec for codec in guesses if codec in _COMMON), None)
    western = _read(data, "cp1252")
    return "cp1252" if western is not None and western in texts and _is_western(western) else None


def _is_western(text: str) -> bool:
    marks = {character for character in text if not character.isascii()}
    return _WESTERN.issuperset(marks) and not _MARK_IN_WORD.search(text)


def _ask_chardet(sample: bytes) -> str | None:
    import chardet  # noqa: PLC0415 - few files need it

    return _name(chardet.detect(sample)["encoding"])


def _ask_normalizer(sample: bytes) -> str | None:
    import charset_normalizer  # noqa: PLC0415 - few files need it

    best = charset_normalizer.from_bytes(sample).best()
    return _name(best.encoding) if best else None


def _name(encoding: str | None) -> str | None:
    if encoding is None:
        return None
    try:
        return codecs.lookup(encoding).name
    except LookupError:  # a detector may know more codecs than Python
        return None


def _read(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        return None
