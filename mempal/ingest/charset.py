"""Which codec did the writer of these bytes use? Said only when the answer is clear.

The package chardet scores codecs by models of languages; on a short text its scores are small and
close to each other. So its ranking is not taken as an answer but as one witness: the bytes are read
through every codec that it lists, readings that no writer can have meant are thrown out
(:mod:`mempal.ingest.mojibake`), equal readings are joined, and the best one that remains counts
only when it leads the next different one clearly. How clearly depends on how much there is to judge
by.
Codecs of old systems are read as rivals, never as an answer: they only make a guess unsafe.

Typographic marks of Windows code pages in otherwise plain ASCII (curly quotes, dashes, the euro
sign) are told by where they stand; models of languages say nothing about them.
"""

# ruff: noqa: RUF001 - marks that look like others are what this module is about

import re
from dataclasses import dataclass
from itertools import takewhile

from mempal.ingest.mojibake import (
    EAST_ASIAN,
    find_fault,
    find_letters,
    find_script,
    has_control,
    is_western,
)

# chardet's names of the codecs that are read, and Python's name of the codec to read them with.
# Where several give the same text, the first one here is named as the encoding.
_READABLE = {
    "cp1252": "cp1252",
    "iso8859-15": "iso8859-15",
    "cp1250": "cp1250",
    "iso8859-2": "iso8859-2",
    "cp1251": "cp1251",
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
    "iso8859-5": "iso8859-5",
    "cp866": "cp866",
    "cp1253": "cp1253",
    "iso8859-7": "iso8859-7",
    "cp1254": "cp1254",
    "cp1255": "cp1255",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp874": "cp874",
    "gb18030": "gb18030",
    "big5hkscs": "cp950",
    "cp932": "cp932",
    "euc_jis_2004": "euc_jp",
    "cp949": "cp949",
}
# Rivals and the weight of their scores: DOS and Mac code pages are rare in repositories, some ISO
# ones unheard of.
_RIVALS = {
    "cp437": 0.7,
    "cp737": 0.7,
    "cp775": 0.7,
    "cp850": 0.7,
    "cp852": 0.7,
    "cp855": 0.7,
    "cp857": 0.7,
    "cp862": 1.0,
    "cp1258": 0.7,
    "iso8859-3": 0.5,
    "iso8859-4": 0.5,
    "iso8859-6": 1.0,
    "iso8859-8": 1.0,
    "iso8859-10": 0.5,
    "iso8859-13": 1.0,
    "iso8859-14": 0.5,
    "iso8859-16": 0.5,
    "mac-cyrillic": 0.7,
    "mac-greek": 0.7,
    "mac-latin2": 0.7,
    "mac-roman": 0.7,
    "mac-turkish": 0.7,
    "tis-620": 1.0,
}
_ORDER = tuple(_READABLE.values())
# Codecs that differ in a few letters and signs, which the evidence may not show.
_SIBLINGS = {
    "cp1252": "iso8859-15",
    "iso8859-15": "cp1252",
    "cp1253": "iso8859-7",
    "iso8859-7": "cp1253",
}
_MOST_DIFFERENCES = 100

# Bytes of evidence that are scored, and ASCII characters kept around a stretch that is not ASCII.
_EVIDENCE = 4096
_CONTEXT = 80
_ASCII = bytes(range(128))
# Scores below which chardet says nothing; it knows words in capitals badly, and takes Cyrillic ones
# for words of other alphabets.
_LEAST_SCORES = {"western": 0.01, "latin": 0.01, "alphabetic": 0.06, "east asian": 0.01}

# How far a reading that shows a fault may be ahead before the best one without is doubted, too.
_DOUBT = 2.0
# A lead after which no rival matters, a lead over nobody, and one that is out of reach, for too few
# letters to say anything.
_FARTHEST = 5.0
_UNRIVALLED = 100.0
_NEVER = 1000.0

# How far the best reading must lead, by the number of letters outside ASCII it has (up to, factor).
# The factors are the smallest ones that left next to no wrong answer in 16 000 short pieces of
# translated messages in 40 languages.
_LEADS = {
    "western": ((1, 2.5), (3, 1.5), (8, 1.25), (20, 1.15), (None, 1.1)),
    "latin": ((8, 1.8), (None, 1.5)),
    "alphabetic": ((3, _NEVER), (6, 5.0), (12, 3.0), (30, 2.5), (None, 1.5)),
    "east asian": ((3, _NEVER), (8, 4.0), (None, 2.0)),
}
_FEW_LETTERS = 3

_QUOTED = re.compile(
    "|".join(
        rf"(?<!\w){opening}(?=[^\s{opening}{closing}])[^{opening}{closing}\n]*{closing}(?!\w)"
        for opening, closing in ("“”", "„“", "„”", "‘’", "‚‘", "‚’", "””", "’’", "‹›", "»«")
    )
    + "|«[^«»\n]+»"
)
_MARK = re.compile(
    r"""
      (?<=[a-z])’(?:s|t|re|ll|ve|d|m)\b                            # don’t, it’s
    | (?<!\S)(?:[cdjlmnst]|qu)’(?=[aeiouyhâàéèêîôû])              # l’eau, qu’il
    | (?<=\s)[–—](?=\s) | (?<=\d)[–×](?=\d)                       # a – b, 4–5
    | €\s?(?=\d) | (?<=\d)\s?€ | £(?=\d)
    | (?<=\d)\s?° | §\s?(?=\d) | ±\s?(?=\d) | (?<=\d)\s?[½¼¾] | (?<=\d)\s?µ(?=[smAVFgl])
    | (?<=\b[ckm]m)[²³] | (?<=\bm)[²³]
    | ©(?=\s?(?:\d|[A-Z])) | (?<=[A-Za-z])® | (?<=[A-Za-z])™(?!\w)
    | (?<!\S)[•·](?=\s)
    """,
    re.VERBOSE,
)
# After a word, it is an accented vowel in DOS code pages: fine beside other marks, no proof alone.
_ELLIPSIS = re.compile(r"…(?=[\s\"')\]]|$)")


@dataclass(slots=True)
class _Reading:
    """One text that the evidence may be, the codecs that give it, and the best score among them."""

    text: str
    codecs: list[str]
    score: float


def guess_codec(data: bytes) -> str | None:
    """Tell the codec of text that is not UTF-8; ``None`` when it cannot be told safely.

    Args:
        data: The whole text; no NUL, no byte order mark. At most 4 KiB of the lines that are not
            ASCII are judged, spread over all of them.

    Returns:
        Python's name of a codec that decodes all of ``data``.
    """
    evidence = _gather_evidence(data)
    if _is_typographic(evidence) and _reads(data, "cp1252"):
        return "cp1252"
    ranking = _rank_readings(evidence)
    following = iter(ranking)
    best = next(filter(_is_meant, following), None)
    if best is None or best.score * _DOUBT < ranking[0].score:
        return None
    near = takewhile(lambda reading: reading.score * _FARTHEST > best.score, following)
    siblings = {_SIBLINGS.get(codec) for codec in best.codecs}
    rivals = (reading for reading in near if siblings.isdisjoint(reading.codecs))
    rival = next(filter(_is_meant, rivals), None)
    lead = _UNRIVALLED if rival is None else best.score / rival.score
    if not _is_convincing(best, lead):
        return None
    codecs = (codec for codec in _ORDER if codec in best.codecs and _reads(data, codec))
    codec = next(codecs, None)
    return None if codec is None else _settle(data, codec)


def _gather_evidence(data: bytes) -> bytes:
    """Join parts of lines that are not ASCII, cut within ASCII so that no character is cut."""
    lines = [_trim(line) for line in data.splitlines() if not line.isascii()]
    step = 1 + sum(map(len, lines)) // _EVIDENCE
    return b"\n".join(lines[::step])[:_EVIDENCE]


def _trim(line: bytes) -> bytes:
    start = len(line) - len(line.lstrip(_ASCII))
    end = len(line.rstrip(_ASCII))
    return line[max(0, start - _CONTEXT) : end + _CONTEXT]


def _is_typographic(evidence: bytes) -> bool:
    text = _read(evidence, "cp1252")
    if text is None:
        return False
    rest, proofs = text, 0
    for _ in range(2):  # quotes inside quotes
        rest, count = _QUOTED.subn(_unquote, rest)
        proofs += count
    rest, count = _MARK.subn("", rest)
    return proofs + count > 0 and _ELLIPSIS.sub("", rest).isascii()


def _unquote(match: re.Match[str]) -> str:
    return match[0][1:-1].replace("\u00a0", " ")


def _rank_readings(evidence: bytes) -> list[_Reading]:
    """Return the different texts that chardet's candidates make of it, best score first."""
    import chardet  # noqa: PLC0415 - most runs never need it

    ranking = chardet.detect_all(
        evidence,
        ignore_threshold=True,
        compat_names=False,
        include_encodings=[*_READABLE, *_RIVALS],
    )
    readings: dict[str, _Reading] = {}
    for candidate in ranking:
        name = candidate["encoding"] or ""
        if name not in _READABLE and name not in _RIVALS:
            continue
        codec = _READABLE.get(name, name)
        text = _read(evidence, codec)
        if text is None or has_control(text):
            continue
        score = candidate["confidence"] * _RIVALS.get(name, 1.0)
        reading = readings.setdefault(text, _Reading(text, [], 0.0))
        reading.codecs.append(codec)
        reading.score = max(reading.score, score)
    return sorted(readings.values(), key=lambda reading: -reading.score)


def _read(evidence: bytes, codec: str) -> str | None:
    try:
        return evidence.decode(codec)
    except UnicodeDecodeError as error:
        # Evidence is cut at its very end only; a character may have been cut with it.
        if len(evidence) < _EVIDENCE or error.end < len(evidence) - 3:
            return None
        return evidence[: error.start].decode(codec)


def _is_meant(reading: _Reading) -> bool:
    return any(find_fault(reading.text, codec) is None for codec in reading.codecs)


def _is_convincing(best: _Reading, lead: float) -> bool:
    letters = find_letters(best.text)
    kind = _find_kind(best, letters)
    # One or two letters fit some language in nearly every code page; of those only cp1252 is common
    # enough to be taken at its word.
    if len(set(letters)) < (_FEW_LETTERS if kind == "latin" else 1):
        return False
    least = next(factor for most, factor in _LEADS[kind] if most is None or len(letters) <= most)
    return best.score >= _LEAST_SCORES[kind] and lead >= least


def _find_kind(best: _Reading, letters: list[str]) -> str:
    scripts = set(map(find_script, letters))
    if scripts & EAST_ASIAN:
        return "east asian"
    if not scripts <= {"latin", ""}:
        return "alphabetic"
    return "western" if "cp1252" in best.codecs and is_western(letters) else "latin"


def _settle(data: bytes, codec: str) -> str:
    """Choose between a codec and its sibling by the words that they read differently."""
    sibling = _SIBLINGS.get(codec)
    if sibling is None or not _reads(data, sibling):
        return codec
    pairs = zip(data.decode(codec).split(" "), data.decode(sibling).split(" "), strict=True)
    different = [pair for pair in pairs if pair[0] != pair[1]][:_MOST_DIFFERENCES]
    if not different:
        return codec
    mine, other = (" ".join(words) for words in zip(*different, strict=True))
    is_better = find_fault(mine, codec) is not None and find_fault(other, sibling) is None
    return sibling if is_better else codec


def _reads(data: bytes, codec: str) -> bool:
    try:
        return not has_control(data.decode(codec))
    except UnicodeDecodeError:
        return False
