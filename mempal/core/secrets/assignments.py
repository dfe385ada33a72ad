"""Secrets that only their name gives away: ``password: …``, ``API_KEY=…``, ``"client_secret": …``.

A value is taken for a secret when its name says so *and* it looks like a literal of random
material. What a program writes after such a name stays: variables, calls, paths, types, words,
placeholders. A password may be short and half a word, so its name is given more weight than that
of a key, which is asked for 16 and more random characters.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from mempal.core.secrets.randomness import looks_random
from mempal.core.secrets.tokens import Span

# Searched in lower-cased text: ignoring case in the pattern would cost ten times as much. Each
# pattern begins with a literal, rare if possible, for the same reason.
_OPERATOR = (
    r"[a-z0-9_.\-]{0,40}+"  # the rest of the name
    r"(?P<close>\\{0,3}[\"'`])?+\]?+\*{0,2}+[ \t]{0,20}+"
    r"(?P<operator>:[ \t]{0,2}+[a-z&\[\]<>|?. ]{1,40}?[ ]=(?=[ ])|:=|\?=|!?={1,3}>?|:|>|,|\()"
    r"[ \t]{0,20}+\*{0,2}+[ \t]{0,20}+"
)
_NAMED = tuple(
    re.compile(word + _OPERATOR)
    for word in ("pass", "w(?<=pw)d", "k(?:ey|(?<=tok)en)", "cre(?:d|(?<=secre)t)", "_auth")
)
_FLAG = re.compile(r"--(?P<name>[a-z0-9][a-z0-9\-]{1,40}+)[ \t]{1,4}+(?=[^\s\-])")  # --password X
_REACH = 48  # characters read backwards for the beginning of a name
_REVERSED_NAME = re.compile(r"[A-Za-z0-9_.\-]*")
_QUALIFIERS_APART = (
    "api ",
    "access ",
    "secret ",
    "private ",
    "client ",
    "auth ",
    "bot ",
    "signing ",
)
_PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_QUOTED = re.compile(
    r"(?:[rbfuRBFU]{1,2})?(?P<quote>\\{0,3}[\"'`])"
    r"(?P<value>(?:(?!(?P=quote))(?:[^\s\\]|\\+[^\s]|\\{0,2}\r?\n[ \t]{0,40}+)){4,2048}+)(?P=quote)"
)
_BARE = re.compile(r"(?:[^\s\"'`<>\\]|\\(?![nrtu\"'\\]))[^\s\"'`<>\\]{0,2047}+")
_FOLD = re.compile(r"\\{0,2}\r?\n[ \t]*")

_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "passwort", "pwd")
_SHORT_PASSWORDS = frozenset({"pass", "dbpass", "userpass", "rootpass", "smtppass", "mailpass"})
_SECRETS = {"secret": "secret", "token": "token", "credentials": "credentials"} | {
    "credential": "credentials",
    "creds": "credentials",
    "auth": "credentials",
}
_KEY_QUALIFIERS = frozenset(
    """
    api secret private access signing encryption auth account master client service shared app
    session license subscription deploy webhook storage consumer application bot admin
    """.split()  # noqa: SIM905 - one word a line would fill pages
)
# Names that end like a secret's and tell where something is, or what is open to everybody.
_OPEN = frozenset(
    """
    public pub publishable cache primary foreign sort partition idempotency row object hash index
    csrf xsrf anti site sha commit digest checksum fingerprint unique natural composite lookup
    translation lang eos bos pad socket
    """.split()  # noqa: SIM905 - one word a line would fill pages
)
_CURSORS = frozenset({"next", "page", "continuation", "pagination", "cancellation", "sync"})
# Words that may follow the word that counts: DB_PASSWORD_PROD, API_KEY_2.
_SUFFIXES = frozenset(
    """
    value prod production dev development staging stage test testing live old new raw plain main
    backup primary secondary default b64 base base64 v1 v2 v3 current
    """.split()  # noqa: SIM905 - one word a line would fill pages
)
_PLACEHOLDER = re.compile(
    r"\\[xuU0]|your|change.?me|placeholder|redacted|example\.|x{4}|\*{3}|\.{3}|dummy|todo|insert|replace"
    r"|[{}<>]|^[$%!@&]?\(|^\$[A-Za-z_]|^%[A-Za-z(]|^env[.:]|^(?:vault|op|arn|file|https?|ref|secretref):",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_HASH = re.compile(
    r"(?:sha(?:1|256|384|512)|md5|blake[23][bs]?)[-:=]|\$(?:2[aby]|argon2|pbkdf2|[156y])"
)
_CODE = re.compile(r"[\[({]|->|::|\w\.\w+\.\w|=>")
_PATH = re.compile(r"(?:[.~]{0,2}/|[A-Za-z]:\\)[\w.\-]+(?:/[\w.\-]+)*/?\Z")
_KEY_BODY = re.compile(r"[A-Za-z0-9_\-./+=~:%@!$#^*]+")
_NAME_LIKE = re.compile(r"[A-Za-z0-9_.\-]*\Z")
_TECHNICAL = re.compile(
    r"(?:sha|md|utf|base|oauth|bcrypt|pbkdf|aes|rsa|python|version)-?\d", re.IGNORECASE
)
_DIGITS = re.compile("[0-9]+")
_INNER_SYMBOL = re.compile(r"[!#$%^&*?~+=][A-Za-z0-9]")

_CALLS = frozenset("([{")  # a name before one of these is called or indexed
_SHORTEST_KEY = 16
_SHORTEST_WEAK_KEY = 20
_SHORTEST_PASSWORD = 8
_SHORTEST_RANDOM = 12
_FEWEST_KINDS = 4
_LONGEST_ORDINAL = 2


@dataclass(frozen=True, slots=True)
class _Name:
    """What a name says of its value: the kind of secret, and how much the name alone proves."""

    kind: str
    password: bool = False
    weak: bool = False


def find_assigned(text: str, lowered: str) -> Iterator[Span]:
    """Find the values of names that say they are secret.

    Args:
        text: The text.
        lowered: The same text in lower case, of the same length.
    """
    for pattern in _NAMED:
        read = 0  # what stands in a value that was found needs no judgement of its own
        for match in pattern.finditer(lowered):
            span = _judge(text, match) if match.end() >= read else None
            if span:
                yield span
                read = span.end
    for flag in _FLAG.finditer(lowered):
        name = _name(flag["name"])
        span = _judge_value(text, flag.end(), name) if name else None
        if span:
            yield span


def _judge(text: str, match: re.Match[str]) -> Span | None:
    before = text[max(0, match.start() - _REACH) : match.start()]
    reached = _REVERSED_NAME.match(before[::-1])
    head = before[len(before) - (reached.end() if reached else 0) :]
    before = before[: len(before) - len(head)]
    if not head and before.lower().endswith(_QUALIFIERS_APART):  # API key: value
        head = before.split()[-1] + "_"
    rest = text[match.start() : match.start("close" if match["close"] else "operator")]
    name = _name(head + rest.rstrip(" \t*]"))
    if name is None or not _joins(match, before):
        return None
    return _judge_value(text, match.end(), name, quoted_only=match["operator"] in {",", "("})


def _judge_value(text: str, at: int, name: _Name, *, quoted_only: bool = False) -> Span | None:
    quoted = _QUOTED.match(text, at)
    if quoted:
        value = _FOLD.sub("", quoted["value"])
        secret = _is_secret(name, value, bare=False) and (not quoted_only or looks_random(value))
        return Span(*quoted.span("value"), name.kind) if secret else None
    bare = None if quoted_only else _BARE.match(text, at)
    if bare is None:
        return None
    value = _trim(bare.group(), name)
    end = at + len(value)
    if text[end : end + 1] in _CALLS or not _is_secret(name, value, bare=True):
        return None
    return Span(at, end, name.kind)


def _joins(match: re.Match[str], before: str) -> bool:
    """Whether what stands between name and value joins them."""
    operator = match["operator"]
    if operator == ">":  # <password>value</password>
        return before.endswith("<")
    if operator == ",":  # ("X-Api-Key", "value")
        return bool(match["close"])
    return True


@lru_cache(maxsize=1024)
def _name(name: str) -> _Name | None:
    words = [word.lower() for word in _PART.findall(name)]
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    if not words or not _OPEN.isdisjoint(words):
        return None
    last, joined = words[-1], "".join(words)
    if joined.endswith(_PASSWORDS) or last in _SHORT_PASSWORDS:
        return _Name("password", password=True)
    if joined.endswith("key"):
        return _name_key(words, joined)
    if last == "token" and not _CURSORS.isdisjoint(words):
        return None
    for ending, kind in _SECRETS.items():
        if joined.endswith(ending) and not (ending == "auth" and joined != "auth"):
            return _Name(kind)
    return None


def _name_key(words: list[str], joined: str) -> _Name | None:
    stem = joined.removesuffix("key")
    if ("aws" in joined and "secret" in joined) or joined.endswith("secretaccesskey"):
        return _Name("aws-secret-key")
    if joined == "accountkey":
        return _Name("azure-storage-key")
    if stem.endswith(tuple(_KEY_QUALIFIERS)):
        return _Name("api-key" if "private" not in words else "private-key")
    return _Name("api-key", weak=True) if len(words) > 1 else None


def _trim(value: str, name: _Name) -> str:
    """Cut what follows a value that stands without quotes."""
    if not name.password:
        body = _KEY_BODY.match(value)
        value = body.group() if body else ""
    elif "&" in value and "=" in value.partition("&")[2]:
        value = value.partition("&")[0]
    return value.rstrip(",;.:)]}*")


def _is_secret(name: _Name, value: str, *, bare: bool) -> bool:
    if _PLACEHOLDER.search(value) or _UUID.search(value) or _HASH.match(value):
        return False
    if _PATH.match(value) or not value.isprintable():
        return False
    if name.password:
        return _is_password(value, bare=bare)
    shortest = _SHORTEST_WEAK_KEY if name.weak else _SHORTEST_KEY
    body = _KEY_BODY.fullmatch(value)
    return bool(body) and len(value) >= shortest and looks_random(value)


def _is_password(value: str, *, bare: bool) -> bool:
    """Whether a value looks like a password: of 8 and more characters, mixed, and no code."""
    if len(value) < _SHORTEST_PASSWORD or len(set(value)) < _FEWEST_KINDS:
        return False
    if bare and (_CODE.search(value) or _TECHNICAL.match(value)):
        return False
    if len(value) >= _SHORTEST_RANDOM and looks_random(value):
        return True
    digits = _DIGITS.findall(value)
    if not any(map(str.isalpha, value)):
        return False
    if not bare or not _NAME_LIKE.match(value):
        return bool(digits) or _INNER_SYMBOL.search(value) is not None
    # A bare word may be a variable: `utf8`, `password2` and `8-bit` are no passwords, `hunter2xyz9`
    # and `tiger1984` are.
    return len(digits) > 1 or any(len(run) > _LONGEST_ORDINAL for run in digits)
