"""From commits to chunks."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mempal.core.commits import ChangedFile, Commit, split_message
from mempal.core.model import SourceClass, Voice
from mempal.ingest.history import Fold, compose, judge, read_history
from mempal.ingest.read import CHUNK_LIMIT

_SHA = "0123456789abcdef0123456789abcdef01234567"


def make(message, author="Ada", parents=1, files=(), count=None):
    parts = split_message(message)
    changed = tuple(
        ChangedFile("M", file) if isinstance(file, str) else ChangedFile("R", file[1], file[0])
        for file in files
    )
    return Commit(
        sha=_SHA,
        parents=("p" * 40,) * parents,
        author=author,
        authored_at=1,
        committed_at=2,
        subject=parts.subject,
        body=parts.body,
        trailers=parts.trailers,
        files=changed,
        file_count=len(files) if count is None else count,
    )


def text_of(commit):
    return "".join(chunk.content for chunk in compose(commit))


def test_a_message_is_told_apart():
    parts = split_message(
        "\n Drop redis\nand its cache\n \n  - slow\n\n\n    - dear  \n\nFixes: #3\nFixes: #4\n"
        "Reviewed-by: A\n  and B\n(cherry picked from commit abcdef0)\n\n"
    )
    assert parts.subject == "Drop redis\nand its cache"
    assert parts.body == "  - slow\n\n\n    - dear"
    assert parts.trailers == (
        ("Fixes", "#3"),
        ("Fixes", "#4"),
        ("Reviewed-by", "A\n  and B"),
        ("cherry picked from commit", "abcdef0"),
    )


@pytest.mark.parametrize(
    "last",
    [
        "fix: drop the cache",  # a title, as forges put it into merges
        "Note: nobody used it",
        "Why: it was slow",
        "https://example.test/1",
        "Fixes: #3\nand more",
        "  and more\nFixes: #3",
        "Fixes:",
        "Conflicts:\n\ta.md",
    ],
)
def test_prose_with_a_colon_is_no_trailer(last):
    parts = split_message(f"Subject\n\n{last}")
    assert parts.body == last
    assert parts.trailers == ()


def test_a_single_paragraph_is_a_subject():
    assert split_message("Fixes: #3").subject == "Fixes: #3"
    assert split_message("one\r\ntwo\rthree").subject == "one\ntwo\nthree"
    assert split_message(" \n\t\n").subject == ""


def test_a_commit_is_one_chunk_in_its_own_words():
    commit = make(
        "Drop redis\n\nIt was the only service we had to run.\n\nFixes: #12\nCo-authored-by: B",
        files=["src/cache.py", ("docs/redis.md", "docs/old/redis.md"), "Makefile"],
        count=15,
    )
    (chunk,) = compose(commit)
    assert chunk.content == (
        "Drop redis\n\nIt was the only service we had to run.\n\nFixes: #12\nCo-authored-by: B\n\n"
        "files: src/cache.py, docs/redis.md -> docs/old/redis.md, Makefile and 12 more"
    )
    assert chunk.voice == Voice("Ada", SourceClass.COMMIT, said_at=2)
    assert chunk.span is None
    assert {_SHA[:7], _SHA[:8], _SHA, "cache", "redis", "Makefile"} <= set(chunk.symbols.split())


def test_a_long_message_loses_nothing():
    body = "\n\n".join(f"Reason {number}: " + "because it was so. " * 9 for number in range(40))
    commit = make(f"Drop redis\n\n{body}", files=["a.md"])
    chunks = compose(commit)
    assert len(chunks) > 5
    assert all(len(chunk.content) <= CHUNK_LIMIT for chunk in chunks)
    assert len({(chunk.symbols, chunk.voice) for chunk in chunks}) == 1
    joined = "".join(chunk.content for chunk in chunks)
    assert joined == f"Drop redis\n\n{body.rstrip()}\n\nfiles: a.md"


def test_files_never_outweigh_the_message():
    files = [f"some/rather/deep/folder/module_{number:02}.py" for number in range(50)]
    (chunk,) = compose(make("Rename all modules", files=files, count=1234))
    listed = chunk.content.count("module_")
    assert 5 < listed < 50
    assert chunk.content.endswith(f"module_{listed - 1:02}.py and {1234 - listed} more")
    assert {f"module_{number:02}" for number in range(50)} <= set(chunk.symbols.split())
    long = "x/" * 2000 + "y"
    assert f"files: {long} and 49 more" in text_of(make("Move", files=[long, *files[:49]]))


def test_names_stand_on_one_line_and_can_be_stored():
    names = ["two\nlines", "tab\t\x1b[31m", "caf\u00e9", "\udcff\udcfe.md", "a\u2028b"]
    (chunk,) = compose(make("Add names", files=names))
    assert chunk.content.endswith(
        "files: two\\nlines, tab\\t\\x1b[31m, caf\u00e9, \\xff\\xfe.md, a\\u2028b"
    )
    assert chunk.symbols.encode()


def test_a_commit_without_text_has_no_chunks():
    assert compose(make("")) == ()
    assert compose(make("", author="")) == ()
    (chunk,) = compose(make("", author="", files=["a.md"]))
    assert chunk.voice == Voice(None, SourceClass.COMMIT, 2)


def test_secrets_are_taken_out_before_a_text_is_cut():
    secret = "s" * 60
    body = "word " * 150 + secret + " word" * 50
    commit = make(f"Rotate the key\n\n{body}", files=[f"{secret}.pem"])
    assert len(compose(commit)) > 1
    (record,) = read_history([commit], lambda text: text.replace(secret, "[key]"))
    stored = "".join(chunk.content + chunk.symbols for chunk in record.chunks)
    assert secret[:5] not in stored
    assert "[key]" in stored


def test_each_commit_has_chunks_or_a_reason():
    commits = [make("Drop redis"), make("wip"), make("Merge branch 'x'", parents=2), make("Use it")]
    records = list(read_history(iter(commits)))
    assert [record.commit for record in records] == commits
    assert [record.fold for record in records] == [None, Fold.DRAFT, Fold.MERGE, None]
    assert [len(record.chunks) for record in records] == [1, 0, 0, 1]


@pytest.mark.parametrize(
    "message",
    [
        "Merge branch 'x'",
        "Merge branch 'x' into main",
        "Merge branches 'a', 'b' and 'c'",
        "Merge remote-tracking branch 'origin/main' into x",
        "Merge tag 'v5.1' of https://example.test/r.git into main",
        "Merge branch 'x'\n\n# Conflicts:\n#\ta b.md\n#\tc.md",
        "Merge branch 'x'\n\nConflicts:\n\ta.md\n\tb.md",
        "Merge branch 'x' into 'main'\n\nSee merge request group/project!12",
        "Merge pull request #12 from ada/topic",
        "Merged in topic (pull request #12)\n\nApproved-by: Grace",
        "Merge 01234567 into 89abcdef",
        "Merge x into y",
        "merge",
        "",
    ],
)
def test_a_merge_without_own_words_is_folded(message):
    assert judge(make(message, parents=2)) is Fold.MERGE


@pytest.mark.parametrize(
    "message",
    [
        "Merge pull request #12 from ada/topic\n\nfix: drop the redis cache",
        "Merge pull request #12 from ada/topic\n\nDrop redis",
        "Merge branch 'x' into 'main'\n\nDrop redis\n\nSee merge request group/project!12",
        "Merged in topic (pull request #12)\n\nDrop redis\n\nApproved-by: Grace",
        "Merge branch 'x'\n\nConflicts:\n\ta.md\n\nKept ours: redis is gone.",
        "Merge branch 'x'\nKept ours: redis is gone.",
        "Merge the two parsers, which differed in nothing",
        "Bring back redis",
    ],
)
def test_a_merge_with_own_words_is_kept(message):
    commit = make(message, parents=2)
    assert judge(commit) is None
    assert message.split("\n")[0] in text_of(commit)


def test_one_parent_makes_no_loose_merge():
    assert judge(make("Merge helpers into core")) is None
    assert judge(make("Merge branch 'x'")) is Fold.MERGE  # in a shallow clone


@pytest.mark.parametrize(
    "author",
    [
        *("dependabot[bot]", "dependabot", "renovate[bot]", "Renovate Bot", "Mend Renovate"),
        *("github-actions[bot]", "GitHub Actions", "pre-commit-ci[bot]", "pre-commit ci"),
        *("some-thing[bot]", "semantic-release-bot", "Weblate", "Scala Steward", "imgbot"),
    ],
)
def test_bots_are_folded_by_name(author):
    assert judge(make("Anything at all\n\nWith release notes.", author=author)) is Fold.BOT


@pytest.mark.parametrize(
    "author", ["Abbot", "Ada Bottega", "copilot-swe-agent[bot]", "claude[bot]", "devin-ai[bot]"]
)
def test_people_and_agents_that_write_code_are_no_bots(author):
    assert judge(make("Drop redis", author=author)) is None


@pytest.mark.parametrize(
    ("message", "fold"),
    [
        ("chore(deps): bump lodash from 4.17.20 to 4.17.21", Fold.BOT),
        ("build(deps-dev): bump x from 1 to 2 in /web (#12)", Fold.BOT),
        ("Bump lodash from 4.17.20 to 4.17.21 in /web", Fold.BOT),
        ("Bump actions/checkout from 3 to 4", Fold.BOT),
        ("Bump the minor group across 1 directory with 3 updates", Fold.BOT),
        ("Update dependency numpy to v2", Fold.BOT),
        ("chore(deps): update actions/setup-python action to v5", Fold.BOT),
        ("chore: lock file maintenance", Fold.BOT),
        ("[pre-commit.ci] pre-commit autoupdate", Fold.BOT),
        ("Merge pull request #5 from o/dependabot/npm/x-2\n\nBump x from 1 to 2", Fold.BOT),
        ("Merge pull request #5 from o/b\n\nBump x from 1.0 to 2.0", Fold.BOT),
        ("", Fold.EMPTY),
        ("wip", Fold.DRAFT),
        ("WIP.", Fold.DRAFT),
        ("[wip]", Fold.DRAFT),
        ("fixup! Drop redis", Fold.DRAFT),
        ("squash! Drop redis", Fold.DRAFT),
        ("WIP on main: 0123456 Drop redis", Fold.DRAFT),
        ("v1.2.3", Fold.RELEASE),
        ("1.0.0-rc.1", Fold.RELEASE),
        ("2.0.0.dev1", Fold.RELEASE),
        ("Release 1.2", Fold.RELEASE),
        ("Version 1.2.3", Fold.RELEASE),
        ("Bump version to 1.2.3", Fold.RELEASE),
        ("Bump version: 1.2.2 \u2192 1.2.3", Fold.RELEASE),
        ("bump version", Fold.RELEASE),
        ("chore(release): 1.2.3 [skip ci]", Fold.RELEASE),
        ("chore(release): @scope/name@1.2.3 (#12)", Fold.RELEASE),
        ("Initial commit", Fold.VAGUE),
        ("Add files via upload", Fold.VAGUE),
        ("fix", Fold.VAGUE),
        ("Minor fixes.", Fold.VAGUE),
        ("update", Fold.VAGUE),
        ("...", Fold.VAGUE),
        ("\U0001f389", Fold.VAGUE),
        ("Update README.md", Fold.VAGUE),
        ("Update docs/readme.md and `Makefile`", Fold.VAGUE),
        ("Create README", Fold.VAGUE),
    ],
)
def test_what_says_nothing_is_folded(message, fold):
    assert judge(make(message, files=["docs/README.md", "README.md", "Makefile"])) is fold


@pytest.mark.parametrize(
    "message",
    [
        "Drop redis",
        "Remove README.md",
        "Delete cache.py",
        "Update node.js",
        "Update README.md for Windows",
        "chore(deps): drop chromadb",
        "Bump the timeout to 30 s",
        "Bump timeout from 10 to 30",
        "Upgrade to Python 3.12",
        "Support 3.12",
        "Release the lock after 1.5 s",
        "wip: try without redis",
        "fix: crash on empty files",
        "Fix parser",
        "\u4fee\u6b63",
        "Initial commit\n\nA parser for dates.",
        "Update README.md\n\nNobody found the install steps.",
        "bump numpy from 1.0 to 2.0\n\nWe need copy semantics.",
        "v2.0.0\n\nDrops Python 3.10.",
        "fixup! Drop redis\n\nIt still was in the docs.",
        'Revert "wip"',
        'Revert "Bump version to 1.2.3"\n\nThis reverts commit 0123456.',
        "revert: v1.2.3",
        'Reapply "x"',
        "fix " * 100,
    ],
)
def test_what_says_something_is_kept(message):
    assert judge(make(message, files=["README.md", "cache.py"])) is None


def test_a_revert_counts_whoever_made_it():
    revert = 'Revert "Bump x from 1 to 2"\n\nThis reverts commit 0123456.'
    assert judge(make(revert, author="github-actions[bot]")) is None
    assert judge(make(revert, parents=2)) is None


_BLANK = "\n \t\r"
_MESSAGES = st.text(
    st.one_of(
        st.sampled_from("\n \t\r:-#'a\u2028\x0c\x1c"), st.characters(exclude_categories=["Cs"])
    ),
    max_size=3000,
) | st.lists(
    st.sampled_from(
        ["Fixes: #1", "Reviewed-by: A", "", " ", "word " * 300, "x" * 900, "Merge branch 'x'", "-"]
    )
).map("\n".join)


@given(_MESSAGES, st.integers(0, 3))
@example("Subject\n\nFixes: #1\n\n\nFixes: #2", 1)
@example("a\n\n\n\n   b\n \n\nSee-also: c\n  d", 1)
def test_no_word_of_a_message_is_lost(message, parents):
    commit = make(message, parents=parents, files=["a.md"])
    chunks = compose(commit)
    joined = "".join(chunk.content for chunk in chunks)
    for part in (commit.subject, commit.body, *(value for _, value in commit.trailers)):
        assert part in joined
    told = joined.removesuffix("files: a.md").replace("cherry picked from commit: ", "")
    assert told.split() == message.split()
    assert all(len(chunk.content) <= CHUNK_LIMIT for chunk in chunks)
    (record,) = read_history([commit])
    assert record.chunks == (chunks if record.fold is None else ())


@given(_MESSAGES)
def test_taking_a_message_apart_again_changes_nothing(message):
    parts = split_message(message)
    trailers = "\n".join(f"{key}: {value}" for key, value in parts.trailers)
    joined = "\n\n".join(part for part in (parts.subject, parts.body, trailers) if part)
    if parts.body or not parts.trailers:
        assert split_message(joined) == parts


@pytest.mark.parametrize(
    "subject", ["a@" * 40_000, "1." * 40_000, "bump " * 20_000, "'" * 80_000, "\n\t" * 40_000 + "x"]
)
def test_no_message_takes_long_to_judge(subject):
    # A pattern that tries everything twice would not come to an end here.
    for message in (subject, subject[:190], f"Merge branch '{subject}", f"Merge x\n\n{subject}"):
        judge(make(message, author=subject[:5000], parents=2))
        judge(make(message))
