"""Chats as Markdown are cut into turns; documents about roles are not."""

import pytest

from mempal.core.model import SourceClass
from mempal.ingest.transcripts.markdown import split

P, A, T = SourceClass.PERSON, SourceClass.ASSISTANT, SourceClass.TOOL

HEADINGS = """# Fixing the build

## User

Why does the build fail on Tuesdays?

## Assistant

## Short answer

The clock is wrong. Look:

```markdown
## User
not a turn
```

## User

Thanks, and on Wednesdays?

## Assistant

It works then.
"""
BOLD = """**You:** how do I sort a list?

**ChatGPT:** Use `sorted`.

**Note:** it makes a copy.

**You:** and in place?

**ChatGPT:** `list.sort`
"""
BOLD_OUTSIDE = """**User**: one question of some length

**Claude 3.5 Sonnet**: one answer of some length
"""
ITALIC = """<!-- exported -->

_**User (2026-01-02 10:00Z)**_

Please add a test.

---

_**Assistant**_

Adding it now.

_**Assistant**_

Done.

_**User**_

Thanks.
"""
LABELS = """User: what is the retry limit of the queue?
Assistant: Five. It is set in queue.toml.
The default was three.

User: who changed it?
Assistant: The on-call team.
"""
COPIED = """##### **You said:**
Explain the cache.
###### **ChatGPT said:**
# The cache
It holds pages.
##### **You said:**
How large?
###### **ChatGPT said:**
4 MB.
"""
PICTURES = """### 🧑 Human:

First question about pictures

### 🤖 gpt-4o (2026-01-02):

First answer about pictures
"""
EXCHANGE = "## User\n\nHow do I undo a commit?\n\n## Assistant\n\nWith `git reset --soft`.\n"


def tell(text):
    turns = split(text)
    return turns and [(turn.speaker, turn.source_class) for turn in turns if turn.speaker]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEADINGS, [("User", P), ("Assistant", A)] * 2),
        (BOLD, [("You", P), ("ChatGPT", A)] * 2),
        (BOLD_OUTSIDE, [("User", P), ("Claude 3.5 Sonnet", A)]),
        (ITALIC, [("User", P), ("Assistant", A), ("Assistant", A), ("User", P)]),
        (
            ITALIC.replace("**Assistant", "**Agent (some-model)"),
            [("User", P), ("Agent", A), ("Agent", A), ("User", P)],
        ),
        (LABELS, [("User", P), ("Assistant", A)] * 2),
        (COPIED, [("You said", P), ("ChatGPT said", A)] * 2),
        (PICTURES, [("Human", P), ("gpt-4o", A)]),
        (EXCHANGE, [("User", P), ("Assistant", A)]),
        ("## System\n\nBe short.\n\n" + EXCHANGE, [("System", T), ("User", P), ("Assistant", A)]),
    ],
    ids=[
        *("headings", "bold", "bold outside", "italic", "agent", "labels", "copied", "pictures"),
        *("exchange", "system"),
    ],
)
def test_a_chat_is_cut_at_its_speakers(text, expected):
    assert tell(text) == expected
    turns = split(text)
    assert "".join(text[turn.start : turn.end] for turn in turns) == text


def test_a_turn_holds_its_marker_and_its_words():
    turns = split(HEADINGS)

    said = [HEADINGS[turn.start : turn.end] for turn in turns]
    assert said[0] == "# Fixing the build\n\n"
    assert said[1] == "## User\n\nWhy does the build fail on Tuesdays?\n\n"
    assert said[2].startswith("## Assistant\n")
    assert "not a turn" in said[2]
    assert (turns[0].speaker, turns[0].source_class) == (None, SourceClass.FILE)


def test_a_log_of_aider_is_cut_into_questions_answers_and_notices():
    text = (
        "\n# aider chat started at 2026-01-02 10:00:00\n\n> Aider v0.80  \n> Git repo: .git  \n\n"
        "#### add a retry  \n#### with a limit  \n\nI will add it.\n\n"
        "```md\n#### not asked\n```\n\n> Tokens: 2k sent  \n\n#### thanks\n"
    )

    assert tell(text) == [("aider", T), ("user", P), ("assistant", A), ("aider", T), ("user", P)]
    turns = split(text)
    assert "".join(text[turn.start : turn.end] for turn in turns) == text
    asked = [text[turn.start : turn.end] for turn in turns if turn.source_class is P]
    assert asked == ["#### add a retry  \n#### with a limit  \n\n", "#### thanks\n"]


ABOUT_ROLES = """# Message roles

## System

Sets the behaviour of the model.

## User

Messages from the end user of the application.

## Assistant

What the model answered before.
"""
API_REFERENCE = "# Chat API\n\nEndpoints.\n\n" + "".join(
    f"## {verb} a message\n\n### User\n\nThe id of the sender.\n\n### Assistant\n\nThe bot.\n\n"
    for verb in ("Create", "Change", "Delete")
)
TUTORIAL = """# Chat completions

Send a list of messages. A conversation looks like this:

```
User: hello there, how are you?
Assistant: fine, and how are you?
User: fine as well
Assistant: good
```

Then call the interface.
"""
EXAMPLE = (
    "# Bot\n\n**User:** how is the weather?\n\n**Assistant:** Sunny all day long.\n\n"
    "**User:** and tomorrow?\n\n**Assistant:** Rain.\n\n## Installing\n\n"
    + "Use the installer that fits your system. "
    * 20
)
README = "# Tool\n\n## Users\n\nOur users love it.\n\n## Assistants\n\nThere are some.\n"
MINUTES = """# Weekly

Alice: the queue is full again.
Bob: I will look at it.
Alice: thanks.
AI: topic moved to next week.
Bob: fine.
"""
GLOSSARY = """# Words

**User**: A person who types.

**Assistant**: The program that answers.
"""
SETTINGS = "User: root\nAssistant: none\n"
AGENTS = "## User\n\nasks things\n\n## Agent\n\nruns tools\n\n## User\n\nagain\n"
LIST = "# Roles\n\n- **User**: asks\n- **Assistant**: answers\n- **User**: thanks\n"
LATE = "# Guide\n\n" + "A paragraph about prompts and what they do.\n\n" * 20 + LABELS
ONE_SIDE = "## User\n\nhello\n\n## User\n\nanybody there?\n"


@pytest.mark.parametrize(
    "text",
    [
        ABOUT_ROLES,
        API_REFERENCE,
        TUTORIAL,
        EXAMPLE,
        README,
        MINUTES,
        GLOSSARY,
        SETTINGS,
        AGENTS,
        LIST,
        LATE,
        ONE_SIDE,
        "",
        "# nothing\n",
    ],
    ids=[
        *("roles", "reference", "tutorial", "example", "readme", "minutes", "glossary"),
        *("settings", "agents", "list", "late", "one side", "empty", "heading"),
    ],
)
def test_a_document_about_chats_is_no_chat(text):
    assert split(text) is None


def test_a_fence_that_is_never_closed_hides_nothing():
    text = "## User\n\nlook:\n\n```\nbroken\n\n## Assistant\n\nI see it.\n\n## User\n\nthanks\n"

    assert tell(text) == [("User", P), ("Assistant", A), ("User", P)]


def test_a_colon_in_a_heading_allows_headings_above_it():
    text = (
        "#### You:\nwhat is a palace?\n\n#### ChatGPT:\n# Palace\n## What\nA house.\n## Why\n"
        "Fame.\n\n#### You:\nthanks\n"
    )

    assert tell(text) == [("You", P), ("ChatGPT", A), ("You", P)]
