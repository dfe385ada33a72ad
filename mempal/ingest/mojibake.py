"""Tells text from text that was read with the wrong codec.

A wrong codec gives itself away by what no writer writes: letters of two scripts in one word, a
capital inside a word, a currency sign between letters, a set of accented letters that no language
has, rare ideographs only. The rules are about *readings*, bytes seen through one codec;
:mod:`mempal.ingest.charset` compares the readings that pass.

Every rule looks at characters outside ASCII and their neighbours, and tolerates a few odd places in
a long text.
"""

# ruff: noqa: RUF001 - letters and marks that look like others are what this is about

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

# First code point of each block of letters, and the script of the letters up to the next block.
_BLOCKS = (
    (0x0041, "ascii"),
    (0x00AA, "latin"),
    (0x0370, "greek"),
    (0x0400, "cyrillic"),
    (0x0530, "other"),
    (0x0590, "hebrew"),
    (0x0600, "arabic"),
    (0x0700, "other"),
    (0x0E00, "thai"),
    (0x0E80, "other"),
    (0x1E00, "latin"),
    (0x1F00, "greek"),
    (0x2000, "other"),
    (0x3005, "han"),
    (0x3031, "kana"),
    (0x3105, "other"),
    (0x3131, "hangul"),
    (0x3190, "other"),
    (0x31F0, "kana"),
    (0x3400, "han"),
    (0xA000, "other"),
    (0xAC00, "hangul"),
    (0xD7B0, "other"),
    (0xF900, "han"),
    (0xFB00, "other"),
    (0xFB1D, "hebrew"),
    (0xFB50, "arabic"),
    (0xFF00, "other"),
    (0xFF66, "halfwidth"),
    (0xFFA0, "other"),
    (0x20000, "han"),
    (0x40000, "other"),
)
_STARTS = tuple(start for start, _ in _BLOCKS)
_ALPHABETIC = frozenset({"greek", "cyrillic", "hebrew", "arabic", "thai"})
EAST_ASIAN = frozenset({"han", "kana", "hangul"})
_TOGETHER = (frozenset({"han", "kana", "halfwidth"}), frozenset({"han", "hangul"}))

# Letters beyond a-z of languages written in Latin script; the common West European ones first.
_WESTERN = tuple(
    frozenset(letters)
    for letters in (
        "äöüßé",  # German
        "àâæçéèêëîïôœùûüÿ",  # French
        "áéíñóúü",  # Spanish
        "áâãàçéêíóôõúü",  # Portuguese
        "àèéìíîòóùú",  # Italian
        "àçèéíïòóúü",  # Catalan
        "åäöéü",  # Swedish, Finnish
        "æøåéòèêôóöä",  # Danish, Norwegian
        "ëïéèöüóáê",  # Dutch
    )
)
_LATIN = _WESTERN + tuple(
    frozenset(letters)
    for letters in (
        "áðéíóúýþæö",  # Icelandic
        "äõöüšž",  # Estonian
        "ąćęłńóśźż",  # Polish
        "áčďéěíňóřšťúůýž",  # Czech
        "áäčďéíĺľňóôŕšťúýž",  # Slovak
        "áéíóöőúüű",  # Hungarian
        "čćđšžé",  # Croatian, Slovene, Bosnian
        "ăâîșțşţ",  # Romanian, both spellings
        "çğıöşüâîû",  # Turkish
        "ąčęėįšųūž",  # Lithuanian
        "āčēģīķļņšūžōŗ",  # Latvian
        "ëç",  # Albanian
        "âêîôûŵŷäëïöáéó",  # Welsh
        "ĉĝĥĵŝŭ",  # Esperanto
        "ăâđêôơưàảãáạằẳẵắặầẩẫấậèẻẽéẹềểễếệìỉĩíịòỏõóọồổỗốộờởỡớợùủũúụừửữứựỳỷỹýỵ",  # Vietnamese
    )
)
_CYRILLIC = tuple(
    frozenset(letters)
    for letters in (
        "абвгдежзийклмнопрстуфхцчшщъыьэюяё",  # Russian, Bulgarian
        "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",  # Ukrainian
        "абвгдеёжзійклмнопрстуўфхцчшыьэюя",  # Belarusian
        "абвгдђежзијклљмнњопрстћуфхцчџш",  # Serbian
        "абвгдѓежзѕијклљмнњопрстќуфхцчџш",  # Macedonian
    )
)
# A text with names from all over Western Europe fits no single alphabet, only their union.
_ANY_WESTERN = frozenset("áàâäãåæçéèêëíìîïñóòôöõøœúùûüýßÿ")
_MANY_LETTERS = 3

_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0e31-\u0e3a\u0e47-\u0e4e"
_EAST_ASIAN_PUNCTUATION = re.compile("[\u3000-\u303f\uff00-\uffef]")
_BLANKS_IN_PRINT = frozenset("〓〖〗")
_THAI_LEADING = "เแโใไ"
_WORD = re.compile(rf"[^\W\d_]+(?:[{_MARKS}]+[^\W\d_]*)*")
_SANDWICHED = re.compile(r"[a-z][\u3005-\ud7ff\uff66-\uff9f]{1,2}[a-z]")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
# One letter that stands alone in some language does so in lower case; these never do.
_NEVER_ALONE = frozenset("ÿþðßñãõïëçûîêâüýùìœ")
_CONTROL = re.compile("[\x00-\x08\x0e-\x19\x1c-\x1f\x7f-\x9f\ufffd]")
_SYMBOLS = frozenset(
    "“”‘’„‚–—…€©®°§«»·×±£½¼¾µ¹²³ªº¡¿•™¢¥‹›†‡‰¶÷№׳״\u00a0\u00ad\u200c\u200d\u200e\u200f"
)
_ARABIC_MARKS = "،؛؟"
_AFTER_INITIAL = re.compile(r"(?<![^\W\d_])([^\W\d_])\u00a0")
_SHORTEST_WORD = 3
_FEW_IDEOGRAPHS = 8

# Shares of the text that may look odd: words of words, symbols of characters outside ASCII.
_ODD_WORDS = 0.04
_ODD_SYMBOLS = 0.03
_FOREIGN_LETTERS = 0.05
# Windows' and Apple's Cyrillic code pages differ in capitals and one letter only.
_ODD_CYRILLIC = 0.01
_FOREIGN_WORDS = 0.1


@lru_cache(maxsize=4096)
def find_script(character: str) -> str:
    """Return the script of a letter or of a mark on letters; ``ascii`` for a-z, else empty."""
    if not (character.isalpha() or unicodedata.category(character)[0] == "M") or character in "ªº":
        return ""
    if "\u0300" <= character <= "\u036f":
        return ""
    return _BLOCKS[bisect_right(_STARTS, ord(character)) - 1][1]


def has_control(text: str) -> bool:
    """Return whether there are control, unassigned or private-use characters.

    Tab, line and page breaks, escape sequences and the end-of-file mark of DOS are allowed.
    """
    if _CONTROL.search(text):
        return True
    return any(
        unicodedata.category(character) in {"Cn", "Co", "Cs"}
        for character in set(text)
        if character > "\x7f"
    )


def find_letters(text: str) -> list[str]:
    """Return the letters outside ASCII, lower-cased, in order."""
    lowered = "".join(character for character in text if character > "\x7f").lower()
    return [letter for letter in lowered if letter > "\x7f" and find_script(letter)]


def is_western(letters: list[str]) -> bool:
    """Return whether a common West European language has (nearly) all these lower-case letters."""
    return _fits(letters, _WESTERN)


def find_fault(text: str, codec: str) -> str | None:
    """Say what shows that a text was read with the wrong codec; ``None`` when nothing does.

    Args:
        text: What the bytes are in this codec; only lines with characters outside ASCII matter.
        codec: Python's name of the codec, for the rules about common ideographs.
    """
    if has_control(text):
        return "control or unassigned characters"
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    scripts = Counter[str]()
    for word in words:
        scripts.update(script for script in map(find_script, word) if script)
    del scripts["ascii"]
    return (
        _find_odd_words(text, words)
        or _find_odd_scripts(words, scripts)
        or _find_odd_letters(text, words, scripts, codec)
        or _find_odd_symbols(text, scripts)
    )


def _find_odd_words(text: str, words: list[str]) -> str | None:
    allowed = _ODD_WORDS * max(1, len(words))
    if sum(map(_is_mixed, words)) + len(_SANDWICHED.findall(text)) > allowed:
        return "words of two scripts"
    if sum(map(_has_inner_capital, words)) > allowed:
        return "capitals inside words"
    if sum(len(word) == 1 and word.lower() in _NEVER_ALONE for word in words) > allowed:
        return "letters that never stand alone"
    if sum(map(_is_all_accents, words)) > allowed:
        return "words of accented letters only"
    return None


def _is_mixed(word: str) -> bool:
    scripts = {find_script(character) for character in word} - {""}
    foreign = scripts - {"ascii", "latin"}
    if "other" in scripts or ("latin" in scripts and foreign):
        return True
    if "ascii" in scripts and foreign & _ALPHABETIC:
        return True
    return len(foreign) > 1 and not any(foreign <= together for together in _TOGETHER)


def _is_all_accents(word: str) -> bool:
    return len(word) > 1 and all(find_script(letter) == "latin" for letter in word)


def _has_inner_capital(word: str) -> bool:
    plain = [letter for letter in word if letter < "\x80"]
    if len(plain) > 1 and all(map(str.isupper, plain)):
        return any(letter.islower() and letter not in "ßµı" for letter in word if letter > "\x7f")
    for index in range(1, len(word)):
        before, here = word[index - 1], word[index]
        if not here.isupper() or (before < "\x80" and here < "\x80"):
            continue
        if before.islower():
            return True
        if here > "\x7f" and before.isupper() and word[index + 1 : index + 2].islower():
            return True
    return False


def _find_odd_scripts(words: list[str], scripts: Counter[str]) -> str | None:
    foreign = {script for script in scripts if script not in {"latin", "other"}}
    for script in foreign & _ALPHABETIC:
        longest = max(sum(find_script(letter) == script for letter in word) for word in words)
        if longest < _SHORTEST_WORD:
            return f"no word in {script} letters"
    if len(foreign) > 1 and not any(foreign <= together for together in _TOGETHER):
        return "several scripts"
    total = scripts.total()
    if foreign and scripts["latin"] > _FOREIGN_WORDS * total:
        return "accented letters among another script"
    if scripts["halfwidth"] > 0.2 * total:
        return "half-width letters"
    return None


def _find_odd_letters(text: str, words: list[str], scripts: Counter[str], codec: str) -> str | None:
    letters = find_letters("".join(words))
    if scripts.keys() & EAST_ASIAN:
        return None if _is_common_east_asian(text, codec) else "rare ideographs or syllables"
    if "cyrillic" in scripts:
        cyrillic = [letter for letter in letters if find_script(letter) == "cyrillic"]
        known = _fits(cyrillic, _CYRILLIC, _ODD_CYRILLIC)
        return None if known else "letters of no Cyrillic alphabet"
    if set(scripts) <= {"latin"} and letters and not _fits(letters, _LATIN):
        distinct = set(letters)
        if codec != "cp1252" or len(distinct) < _MANY_LETTERS or not distinct <= _ANY_WESTERN:
            return "letters of no Latin alphabet"
    return None


def _fits(
    letters: list[str],
    alphabets: tuple[frozenset[str], ...],
    foreign: float = _FOREIGN_LETTERS,
) -> bool:
    counts = Counter(letters)
    allowed = foreign * counts.total()
    return any(
        sum(count for letter, count in counts.items() if letter not in alphabet) <= allowed
        for alphabet in alphabets
    )


def _is_common_east_asian(text: str, codec: str) -> bool:
    """Return whether most ideographs and syllables are ones that their standard lists as common.

    The East Asian standards sort their characters by use: the first level of GB 2312, JIS X 0208
    and Big5 and the 2 350 syllables of KS X 1001 cover nearly all of any real text, while wrong
    readings fall anywhere.
    """
    counts = Counter(map(find_script, text))
    han = [character for character in text if find_script(character) == "han"]
    hangul = [character for character in text if find_script(character) == "hangul"]
    match codec:
        case "cp949":
            common = _count_level(hangul, "euc_kr", 0xB0, 0xC8)
            return common >= 0.98 * len(hangul) and len(han) <= 0.1 * len(hangul)
        case "gb18030":
            common = _count_level(han, "gb2312", 0xB0, 0xD7)
            return common >= 0.85 * len(han) and counts["kana"] <= 0.1 * len(han) and not hangul
        case "big5" | "cp950":
            common = _count_level(han, "big5", 0xA4, 0xC6)
            return common >= 0.85 * len(han) and not counts["kana"] and not hangul
        case "cp932" | "euc_jp":
            common = _count_level(han, "cp932", 0x88, 0x98)
            return (
                common >= 0.9 * len(han)
                and (counts["kana"] > 0 or len(han) < _FEW_IDEOGRAPHS)
                and not hangul
            )
        case _:
            return True


def _count_level(characters: list[str], codec: str, first: int, last: int) -> int:
    encoded = (character.encode(codec, "ignore") for character in characters)
    return sum(first <= pair[0] <= last for pair in encoded if pair)


def _find_odd_symbols(text: str, scripts: Counter[str]) -> str | None:
    plain = _AFTER_INITIAL.sub(r"\1 ", text)
    odd = _count_unbalanced(plain) if "cyrillic" in scripts else 0
    marked = 0
    for match in _NON_ASCII.finditer(plain):
        marked += 1
        if find_script(match[0]) and match[0].isalpha():
            continue
        before = plain[match.start() - 1] if match.start() else "\n"
        after = plain[match.end() : match.end() + 1] or "\n"
        odd += not _is_placed(match[0], before, after, scripts)
    allowed = _ODD_CYRILLIC if "cyrillic" in scripts else _ODD_SYMBOLS
    return "symbols in odd places" if odd > allowed * marked else None


def _count_unbalanced(text: str) -> int:
    opened, closed = text.count("«"), text.count("»")
    difference = abs(opened - closed)
    # In Mac code pages a Cyrillic capital reads as a guillemet. Long lines are cut, so one missing
    # partner among several shows nothing.
    return difference if difference > 1 or opened + closed == 1 else 0


def _is_placed(symbol: str, before: str, after: str, scripts: Counter[str]) -> bool:
    """Return whether a character that is no letter stands where a writer would put it."""
    category = unicodedata.category(symbol)
    if category[0] == "M":
        return unicodedata.category(before)[0] in "LM" and before not in _THAI_LEADING
    if category == "Nd":
        return not (before.isalpha() or after.isalpha())
    if _is_drawn(symbol):
        beside = before + after
        return any(map(_is_drawn, beside)) and not any(map(str.isalnum, beside))
    if _EAST_ASIAN_PUNCTUATION.match(symbol) or (
        symbol > "\u2000" and EAST_ASIAN & {find_script(before), find_script(after)}
    ):
        return symbol not in _BLANKS_IN_PRINT and bool(scripts.keys() & EAST_ASIAN)
    if symbol in _ARABIC_MARKS:
        return "arabic" in scripts
    return _PLACES.get(symbol, _is_symbol_placed)(before, after) and symbol in _SYMBOLS


def _is_drawn(neighbour: str) -> bool:
    return "\u2500" <= neighbour <= "\u25ff"


def _joins_letters(before: str, after: str) -> bool:
    return before.isalpha() and after.isalpha()


def _is_symbol_placed(before: str, after: str) -> bool:
    return not _joins_letters(before, after)


def _is_dash_placed(before: str, after: str) -> bool:
    if before.isspace() or after.isspace():
        return not (before.isalpha() or after.isalpha())
    return not _joins_letters(before, after)


def _is_quote_placed(before: str, after: str) -> bool:
    return not (before.isspace() and after.isspace()) and not _joins_letters(before, after)


_Rule = Callable[[str, str], bool]
_PLACES: dict[str, _Rule] = {
    **dict.fromkeys("·\u00ad\u200c\u200d\u200e\u200f׳״", lambda _before, _after: True),
    "’": lambda before, after: before.isalnum() or after < "\x80" or not after.isalpha(),
    **dict.fromkeys("ªº", lambda before, _after: before.isdigit() or before in "nN"),
    **dict.fromkeys("¹²³", lambda before, after: before.isalnum() and not after.isalpha()),
    **dict.fromkeys("„‚", lambda before, after: not (before.isalnum() or after.isspace())),
    **dict.fromkeys("¡¿", lambda _before, after: after.isalpha() or after in '¡¿\n "'),
    **dict.fromkeys("“”‘", _is_quote_placed),
    **dict.fromkeys("–—", _is_dash_placed),
    "¶": lambda _before, after: not after.isalpha(),
    "€": lambda before, after: not (before.isalpha() or after.isalpha()),
}
