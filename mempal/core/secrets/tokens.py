"""Tokens that are known by their shape wherever they stand: what providers issue, and signed ones.

A shape is a literal beginning and a bounded body. Reading a text with all of them would cost more
than mining it, so each family of shapes has a gate: one pattern that starts with a single rare
character and passes only texts in which a member of the family may stand.

Every pattern costs time linear in the text: bodies are bounded, repetitions give nothing back, and
the border before a token excludes what its body may hold, so no run is read from two beginnings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from mempal.core.secrets.randomness import looks_random

# The end of an escape is a border too: `\n` in JSON, `%3D` in a URL, a terminal's colour.
_ESCAPES = (r"\\[nrtbf]", r"%[0-9A-Fa-f]{2}", r"\[\dm", r"\[\d\dm", r";\d\dm")
_FEWEST_KINDS = 5  # a run of fewer different characters stands for a token and is none

_ALNUM = "[A-Za-z0-9]"
_WORD = r"[A-Za-z0-9_\-]"
_HEX = "[0-9a-f]"
_GITLAB = "(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat)-"

# Three parts, five when encrypted; two when the signature was cut off.
_SIGNED = (
    rf"{_WORD}{{8,4096}}+\.(?:eyJ{_WORD}{{4,8192}}+(?:\.{_WORD}{{0,8192}}+){{0,3}}+"
    rf"|{_WORD}{{0,8192}}+(?:\.{_WORD}{{4,8192}}+){{1,3}}+)"
)
# Most words are turned away by what follows the rare character; the beginnings decide on the rest.
_DASH = (
    rf"-(?={_WORD}{{10}})(?:(?<=sk-)|(?<=gl[a-z]{{2}}-)|(?<=gl[a-z]{{3}}-)|(?<=gl[a-z]{{4}}-)"
    r"|(?<=glagent-)|(?<=xox[a-z]-)|(?<=xapp-)|(?<=pypi-)|(?<=KEY-)|(?<=SPX-)|(?<=xai-)"
    r"|(?<=pplx-)|(?<=PMAK-)|(?<=tskey-))"
)
_UNDERSCORE = (
    rf"_(?:(?<=_pat_)|(?<=whsec_)|(?={_ALNUM}{{10}})(?:(?<=gh[pousr]_)|(?<=[sr]k_live_)"
    r"|(?<=[sr]k_test_)|(?<=npm_)|(?<=hf_)|(?<=_v1_)|(?<=gsk_)|(?<=r8_)|(?<=lin_api_)|(?<=shpat_)"
    r"|(?<=shpss_)|(?<=glsa_)|(?<=sbp_)|(?<=rubygems_)|(?<=sntrys_)|(?<=sntryu_)))"
)
_DOT = (
    rf"\.(?=slack|{_WORD}{{6}})(?:(?<=SG\.)|(?<=hv[bs]\.)|(?<=ya29\.)|(?<=hooks\.)slack"
    rf"|(?<={_WORD}{{24}}\.)(?={_WORD}{{6}}\.{_WORD}{{27}}))"
)

# Gate, and the shapes behind it: kind, literal beginning, the rest.
_FAMILIES = (
    (
        _DASH,
        (
            ("anthropic-key", "sk-ant-", _WORD + "{20,300}+"),
            ("openrouter-key", "sk-or-", _WORD + "{20,300}+"),
            ("openai-key", "sk-", _WORD + "{20,300}+"),
            (
                "gitlab-token",
                "gl",
                _GITLAB + _WORD + r"{20,300}+(?:\.[A-Za-z0-9_\-]{2,50}+){0,3}+",
            ),
            ("slack-token", "xox", r"[a-z]-[A-Za-z0-9\-]{10,250}+"),
            ("slack-token", "xapp-", r"[A-Za-z0-9\-]{20,250}+"),
            ("pypi-token", "pypi-", _WORD + "{40,300}+"),
            ("age-key", "AGE-SECRET-KEY-", "1[0-9A-Z]{50,70}+"),
            ("google-oauth-secret", "GOCSPX-", _WORD + "{24,40}+"),
            ("xai-key", "xai-", _ALNUM + "{60,100}+"),
            ("perplexity-key", "pplx-", _ALNUM + "{40,60}+"),
            ("postman-key", "PMAK-", "[0-9a-f]{24}-[0-9a-f]{34}+"),
            ("tailscale-key", "tskey-", r"[A-Za-z0-9\-]{20,80}+"),
        ),
    ),
    (
        _UNDERSCORE,
        (
            ("github-token", "gh", "[pousr]_" + _ALNUM + "{36,255}+"),
            ("github-token", "github_pat_", "[A-Za-z0-9_]{40,251}+"),
            ("stripe-key", "sk_", "(?:live|test)_" + _ALNUM + "{16,250}+"),
            ("stripe-key", "rk_", "(?:live|test)_" + _ALNUM + "{16,250}+"),
            ("stripe-key", "whsec_", "[A-Za-z0-9+/]{24,90}+={0,2}"),
            ("npm-token", "npm_", _ALNUM + "{36,80}+"),
            ("huggingface-token", "hf_", _ALNUM + "{30,60}+"),
            ("digitalocean-token", "do", "[opr]_v1_[0-9a-f]{64}+"),
            ("groq-key", "gsk_", _ALNUM + "{40,80}+"),
            ("replicate-token", "r8_", _ALNUM + "{36,40}+"),
            ("linear-key", "lin_api_", _ALNUM + "{36,50}+"),
            ("shopify-token", "shp", "(?:at|ss)_[0-9a-fA-F]{32}+"),
            ("docker-token", "dckr_pat_", _WORD + "{24,40}+"),
            ("grafana-token", "glsa_", "[A-Za-z0-9]{32}_[0-9a-f]{8}+"),
            ("supabase-token", "sbp_", "[0-9a-f]{40}+"),
            ("rubygems-key", "rubygems_", "[0-9a-f]{48}+"),
            ("sentry-token", "sntry", r"[su]_[A-Za-z0-9_=+/\-]{40,400}+"),
        ),
    ),
    (
        _DOT,
        (
            ("sendgrid-key", "SG.", rf"{_WORD}{{16,32}}+\.{_WORD}{{32,64}}+"),
            ("vault-token", "hv", rf"[bs]\.{_WORD}{{20,300}}+"),
            ("google-oauth-token", "ya29.", _WORD + "{20,600}+"),
            ("discord-token", "", rf"[MNO]{_WORD}{{23,27}}+\.{_WORD}{{6}}\.{_WORD}{{27,40}}+"),
            (
                "slack-webhook",
                "hooks.slack.com/",
                r"(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/_\-]{20,200}+)",
            ),
        ),
    ),
    (
        "A(?:KIA|SIA|Iza|TATT|A(?<=:AA))",
        (
            ("aws-access-key-id", "AKIA", "[A-Z0-9]{16}"),
            ("aws-access-key-id", "ASIA", "[A-Z0-9]{16}"),
            ("google-api-key", "AIza", _WORD + "{35}"),
            ("telegram-token", "", rf"[0-9]{{8,10}}+:AA{_WORD}{{32,33}}"),
            ("atlassian-token", "ATATT", r"[A-Za-z0-9_\-=]{100,300}+"),
        ),
    ),
    (
        "J(?<=eyJ)",
        (
            (
                "jwt",
                "eyJ",
                _SIGNED,
            ),
        ),
    ),
    ("dapi[0-9a-f]{32}", (("databricks-token", "dapi", _HEX + r"{32}(?:-\d)?+"),)),
    ("K(?<=SK)[0-9a-f]{32}", (("twilio-key", "SK", _HEX + "{32}"),)),
)


@dataclass(frozen=True, slots=True)
class Span:
    """A secret in a text: half-open range of characters, and what it is."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class _Family:
    """Shapes that one gate guards."""

    gate: re.Pattern[str]
    shapes: tuple[tuple[str, re.Pattern[str]], ...]


def find_tokens(text: str) -> Iterator[Span]:
    """Find every token whose shape is known."""
    for family in _compile():
        if family.gate.search(text):
            for kind, pattern in family.shapes:
                yield from _find_shape(text, kind, pattern)


def _find_shape(text: str, kind: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    for match in pattern.finditer(text):
        group = "secret" if "secret" in pattern.groupindex else 0
        secret = match[group]
        if len(set(secret[-16:])) >= _FEWEST_KINDS and (
            kind != "openai-key" or looks_random(secret[3:])
        ):
            yield Span(*match.span(group), kind)


@cache
def _compile() -> tuple[_Family, ...]:
    return tuple(
        _Family(
            re.compile(gate),
            tuple(
                (kind, re.compile(f"{re.escape(literal)}{_border(literal)}{rest}(?!{_ALNUM})"))
                for kind, literal, rest in shapes
            ),
        )
        for gate, shapes in _FAMILIES
    )


def _border(literal: str) -> str:
    """Return what must hold before a beginning, put after it so that it is searched as text."""
    if "." in literal[1:-1]:  # a host may be part of a longer address
        return ""
    literal = re.escape(literal)
    ends = "|".join(f"(?<={escape}{literal})" for escape in _ESCAPES)
    return rf"(?:(?<![A-Za-z0-9_\-]{literal})|{ends})"
