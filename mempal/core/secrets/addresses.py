"""Secrets that their place gives away: passwords in addresses, what headers and commands carry."""

import base64
import binascii
import re
from collections.abc import Iterator

from mempal.core.secrets.randomness import looks_random
from mempal.core.secrets.tokens import Span

_URL = re.compile(
    r"://(?P<user>[^\s:/?#@\"'<>\\`]{0,200}+):(?P<secret>[^\s/\"'<>\\`?]{1,256})@(?=[\w\[.%$-])"
)
_STAND_INS = frozenset(
    """
    password passwd pass pwd pw passw0rd secret pswd token user username changeme guest admin
    root postgres mysql redis example test bar baz x-oauth-basic x-access-token key
    """.split()  # noqa: SIM905 - one word a line would fill pages
)
_STAND_IN = re.compile(
    r"[<>{}$*]|%[sd(]|x{3}|\.{3}|your|redacted|\A(?:my|the|user|db|some)?.?pass", re.IGNORECASE
)

_BEARER = re.compile(
    r"bearer(?:[ \t]{1,4}|%20)(?P<secret>[a-z0-9._~+/\-]{12,4096}+={0,2})(?![a-z0-9(])"
)
_AUTHORIZATION = re.compile(
    r"authorization(?:\\{0,3}[\"'`])?+\]?+[ \t]{0,4}+(?:[:=,]|=>)[ \t]{0,4}+(?:b?\\{0,3}[\"'`])?+"
    r"(?P<scheme>basic|bearer|token|apikey|key|digest)[ \t]{1,4}+"
    r"(?P<secret>[a-z0-9._~+/:\-]{8,4096}+={0,2})"
)
_CURL = re.compile(
    r"curl(?=[ ])[^\n]{0,200}?[ ](?:-u|--user|--proxy-user)[ =]?[\"']?[\w.@\-]{1,64}+:"
    r"(?P<secret>[^\s\"'`:]{6,128}+)"
)
_SSHPASS = re.compile(r"sshpass[ ]{1,4}-p[ ]?[\"']?(?P<secret>[^\s\"']{6,128}+)")
_COOKIE = re.compile(
    r"cookie(?:\\{0,3}[\"'`])?+[ \t]{0,4}+[:=][ \t]{0,4}+(?:\\{0,3}[\"'`])?+"
    r"(?P<pairs>[^\n\"'`\\]{16,4096}+)"
)
_PAIR = re.compile(r"[^\s=;,]{1,80}=(?P<secret>[A-Za-z0-9_%.~+/:\-]{16,4096}+={0,2})")
_NETRC = re.compile(r"login[ \t]+\S{1,64}+\s{1,8}+password[ \t]+(?P<secret>[^\s\"'\\]{6,128}+)")
_SHORTEST_RANDOM = 12


def find_addressed(text: str, lowered: str) -> Iterator[Span]:
    """Find passwords in URLs and credentials in headers, netrc files and commands.

    Args:
        text: The text.
        lowered: The same text in lower case, of the same length.
    """
    for match in _URL.finditer(text):
        if not _stands_in(match["user"], match["secret"]):
            yield Span(*match.span("secret"), "url-password")
    yield from _find_headers(text, lowered)
    yield from _find_cookies(text, lowered)
    for pattern in (_CURL, _SSHPASS, _NETRC):
        for match in pattern.finditer(lowered):
            secret = _original(text, match)
            if not _stands_in("", secret) and any(map(str.isdigit, secret)):
                yield Span(*match.span("secret"), "password")


def _find_headers(text: str, lowered: str) -> Iterator[Span]:
    for match in _BEARER.finditer(lowered):
        if looks_random(_original(text, match)):
            yield Span(*match.span("secret"), "bearer-token")
    for match in _AUTHORIZATION.finditer(lowered):
        secret = _original(text, match)
        random = len(secret) >= _SHORTEST_RANDOM and looks_random(secret)
        if match["scheme"] == "basic":
            if random or _names_user(secret):
                yield Span(*match.span("secret"), "basic-credentials")
        elif random:
            kind = "bearer-token" if match["scheme"] == "bearer" else "authorization-token"
            yield Span(*match.span("secret"), kind)


def _find_cookies(text: str, lowered: str) -> Iterator[Span]:
    for match in _COOKIE.finditer(lowered):
        for pair in _PAIR.finditer(text, *match.span("pairs")):
            if looks_random(pair["secret"]):
                yield Span(*pair.span("secret"), "cookie")


def _original(text: str, match: re.Match[str]) -> str:
    return text[match.start("secret") : match.end("secret")]


def _stands_in(user: str, secret: str) -> bool:
    """Whether a password is one that documents write in place of any."""
    lowered = secret.lower()
    return (
        lowered in _STAND_INS
        or secret == user
        or len(set(secret)) < 3  # noqa: PLR2004 - `***`, `xx`
        or _STAND_IN.search(secret) is not None
    )


def _names_user(secret: str) -> bool:
    """Whether a text is what basic authentication sends: base64 of `user:password`."""
    try:
        plain = base64.b64decode(secret, validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in plain and plain.isascii() and plain.decode("ascii").isprintable()
