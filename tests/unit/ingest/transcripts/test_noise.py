"""What a host put into a message is taken out, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.core.recall import wrap_recalled
from mempal.ingest.transcripts.noise import strip_noise, strip_unwanted

REMINDER = "<system-reminder>x</system-reminder>"


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("hello <system-reminder>mcp info</system-reminder> world", "hello  world"),
        ("[session 12345 started]\nwork\n[session 12345 ended]", "work\n"),
        ("a\n<system-reminder>\nx\n</system-reminder>\nb", "a\n\nb"),
        ("a\n<system-reminder>\nnever closed\nb", "a\n"),
        ("a <system-reminder>never closed\nb", "a "),
        ("<recommended_plugins>\nlist\n</recommended_plugins>", ""),
        (f"{REMINDER}a{REMINDER}b{REMINDER}", "ab"),
        ("<system-reminder><turn_aborted></system-reminder>a", "a"),
        ("<system-reminder>\n```\n</system-reminder>a\n```\nb\n```", "a\n```\nb\n```"),
        ("<permissions instructions>x</permissions instructions>a", "a"),
        ("<command-name>/clear</command-name>\n<command-args></command-args>", "\n"),
        ("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x\n</INSTRUCTIONS>", "\n"),
        ("=== DORA SKILLS LOADED ===\nx\n\nkept", "kept"),
        ("=== RUST SKILLS Loaded ===\nx\ny", ""),
        ('a\n[{"type": "tool_use_id", "id": "1"}]\nb', "a\nb"),
        ("a\n[Request interrupted by user]\n[Request interrupted by user for tool use]", "a\n"),
        (f"\u4f60\u597d{REMINDER}\U0001f680", "\u4f60\u597d\U0001f680"),
    ],
)
def test_noise_is_taken_out(text, rest):
    assert strip_noise(text) == rest


@pytest.mark.parametrize(
    "text",
    [
        "",
        '<system-reminder foo="1">x</system-reminder>',
        "<System-Reminder>x</System-Reminder>",
        "```\n<environment_context>x</environment_context>\n```",
        f"   ```xml {REMINDER}\n{REMINDER}\n```",
        "```\n[session 1 started]\n=== RUST SKILLS Loaded ===\n```",
        "what does the `<system-reminder>` tag do?",
        "Vec<T> and [T] and <b>bold</b>",
        "[session notes]\n[1, 2]\n[]\n[{}]\n# AGENTS.md\n# Memory\n\nof a goldfish",
        '[{"type": "tool_use_id"}, {"type": "text"}]',
        "it was [Request interrupted by user] again",
        "a stray </system-reminder> or </private> end",
        "form\x0cfeed\x85and\u2028separators\x1c",
    ],
)
def test_what_is_not_noise_stays(text):
    assert strip_noise(text) == text


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <Private >b</PRIVATE> c", "a  c"),
        ("```\n<private>b</private>\n```", "```\n\n```"),
        ("a <private>b", "a "),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>b <private>c</private> d", "a "),
        ("`<private>`b", "`"),
    ],
)
def test_private_spans_are_dropped_everywhere(text, rest):
    assert strip_noise(text) == rest
    assert strip_unwanted(text) == rest


def test_what_was_recalled_is_dropped_everywhere():
    recalled = wrap_recalled([("drawer", "a <private>b\n```\n<system-reminder>")])

    assert strip_noise(f"ask\n\n{recalled}\n\nmore") == "ask\n\n\n\nmore"
    assert strip_noise(f"```\n{recalled}\n```") == "```\n\n```"
    assert strip_noise(f"ask {recalled[:-3]}") == "ask "


def test_an_assistant_may_write_about_tags():
    assert strip_unwanted(f"{REMINDER} is a tag") == f"{REMINDER} is a tag"


NOISELESS = st.text(st.characters(exclude_characters="<[=#`"))


@given(NOISELESS, NOISELESS)
def test_text_around_noise_is_untouched(before, after):
    assert strip_noise(before) == before
    assert strip_noise(before + REMINDER + after) == before + after


@given(st.text(st.sampled_from("<>/`[]{}=#\n a") | st.characters()))
def test_any_text_is_taken(text):
    assert len(strip_noise(text)) <= len(text)
