"""Whatever a text holds, redaction keeps its lines and its words and takes the secret out.

Generated tokens are drawn at random and joined from parts here; none is anybody's.
"""

import random
import string
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from mempal.core.secrets import Redacted, redact

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
CAPITALS = string.ascii_uppercase + string.digits

# Kind: the beginning, in two parts, and how much of what follows it.
ISSUED = {
    "openai-key": ("s", "k-proj-", 48, ALNUM),
    "anthropic-key": ("s", "k-ant-api03-", 80, ALNUM),
    "github-token": ("gh", "p_", 36, ALNUM),
    "gitlab-token": ("gl", "pat-", 20, ALNUM),
    "slack-token": ("xo", "xb-12345678901-", 24, ALNUM),
    "aws-access-key-id": ("AK", "IA", 16, CAPITALS),
    "google-api-key": ("AI", "za", 35, ALNUM),
    "google-oauth-secret": ("GOC", "SPX-", 28, ALNUM),
    "stripe-key": ("sk", "_live_", 24, ALNUM),
    "npm-token": ("np", "m_", 36, ALNUM),
    "pypi-token": ("py", "pi-", 80, ALNUM),
    "huggingface-token": ("h", "f_", 34, ALNUM),
    "digitalocean-token": ("do", "p_v1_", 64, HEX),
    "databricks-token": ("da", "pi", 32, HEX),
    "vault-token": ("hv", "s.", 24, ALNUM),
    "jwt": ("ey", "JhbGciOiJIUzI1NiJ9.eyJ", 60, ALNUM),
    "age-key": ("AGE-SECRET", "-KEY-1", 58, CAPITALS),
}
PIECES = st.sampled_from(
    [
        "password=", 'token = "', "secret: ", "api_key", "KEY", "://user:", "@host", "Bearer ",
        "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----", "A" * 64,
        "cookie: a=", "Authorization: Basic ",
        "[redacted:token]", "[redacted:", "]", "\r\n", '"', "'", "\\", "\\n", " ", "=", ":",
        "a1B2c3D4e5F6g7H8i9J0", "hunter2xyz9!", "Zm9vOmJhcg==", "--password ", "決定", "İ",
        "\ud800", "\x00", "\u2028", "s" + "k-", "gh" + "p_", "ey" + "J", "\n",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(st.characters()), st.lists(PIECES, max_size=30).map("".join))
WORDS = st.sampled_from(["the", "palace", "of", "memory", "wird", "nie", "leer", "mémoire", "決定"])
PROSE = st.lists(WORDS, max_size=8).map(" ".join)
QUOTES = st.sampled_from(
    [(" ", " "), (' "', '" '), (" '", "' "), (" `", "` "),
     (' \\"', '\\" '), ("\\n", "\\n"), ("\n",) * 2]
)  # fmt: skip


def draw(seed: int, length: int, alphabet: str) -> str:
    source = random.Random(seed)
    return "".join(source.choice(alphabet) for _ in range(length))


def rebuild(original: str, result: Redacted) -> str:
    parts, at = [], 0
    for one in result.redactions:
        parts += (original[at : one.start], one.replacement)
        at = one.end
    return "".join((*parts, original[at:]))


@given(TEXTS)
@example("password=\n[redacted:token]a1B2c3D4e5F6g7H8")
def test_any_text_is_redacted_once(text):
    result = redact(text)

    assert rebuild(text, result) == result.text
    assert (result.text is text) == (not result.redactions)
    again = redact(result.text)
    assert again.text is result.text
    assert again.counts() == {}


@given(TEXTS)
def test_lines_stay_where_they_were(text):
    result = redact(text)

    assert result.text.count("\n") == text.count("\n")
    assert result.text.count("\r") == text.count("\r")
    for one in result.redactions:
        assert "\n" not in text[one.start : one.end]
        assert "\n" not in one.replacement
    for ours, theirs in zip(result.text.split("\n"), text.split("\n"), strict=True):
        assert ours == theirs or "[redacted:" in ours or len(ours) < len(theirs)


@given(TEXTS)
def test_redactions_are_sorted_and_disjoint(text):
    redactions = redact(text).redactions

    assert all(one.start < one.end for one in redactions)
    assert all(one.end <= other.start for one, other in pairwise(redactions))


@given(TEXTS)
def test_offsets_never_fall_and_name_the_same_character(text):
    result = redact(text)
    offsets = [result.original_offset(at) for at in range(len(result.text) + 1)]

    assert offsets == sorted(offsets)
    assert offsets[-1] == len(text)
    inside = {at for one in result.redactions for at in range(one.start, one.end)}
    for at, offset in enumerate(offsets[:-1]):
        assert offset in inside or text[offset] == result.text[at]


@given(st.sampled_from(sorted(ISSUED)), st.integers(0, 10**9), PROSE, PROSE, QUOTES)
def test_a_token_anywhere_goes_and_the_words_around_it_stay(kind, seed, before, after, quotes):
    first, second, length, alphabet = ISSUED[kind]
    token = first + second + draw(seed, length, alphabet)

    result = redact(f"{before}{quotes[0]}{token}{quotes[1]}{after}")

    assert result.text == f"{before}{quotes[0]}[redacted:{kind}]{quotes[1]}{after}"


@given(
    st.sampled_from(["API_KEY=", "client_secret: ", "X_TOKEN = ", '"access_token":', "secret="]),
    st.integers(0, 10**9),
    st.integers(24, 60),
    PROSE,
    st.sampled_from(['"', "'", ""]),
)
def test_a_named_random_value_goes(name, seed, length, prose, quote):
    value = draw(seed, length, ALNUM)

    result = redact(f"{prose}\n{name}{quote}{value}{quote}\n{prose}")

    assert value not in result.text
    assert result.text.startswith(f"{prose}\n{name}")
    assert result.text.endswith(f"\n{prose}")


@given(st.integers(0, 10**9), st.integers(1, 40), PROSE)
def test_a_private_key_of_any_length_goes(seed, lines, prose):
    body = [draw(seed + at, 64, ALNUM + "+/") for at in range(lines)]
    text = "\n".join(
        [prose, "-----BEGIN " + "PRIVATE KEY-----", *body, "-----END " + "PRIVATE KEY-----", prose]
    )

    result = redact(text)

    assert not any(line in result.text for line in body)
    assert result.text.count("\n") == text.count("\n")
    assert result.text.startswith(f"{prose}\n-----BEGIN")
    assert result.text.endswith(f"-----\n{prose}")


@given(st.lists(WORDS, max_size=60).map(" ".join))
def test_prose_stays(text):
    assert redact(text).text is text
