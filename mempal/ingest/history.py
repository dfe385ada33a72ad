r"""From commits to the chunks that are stored of them, one by one, without git and without a store.

A commit's text is its subject and body as they were written, then its trailers, then a line that
names the files it changed. A commit is *folded*, counted and left out, when it says nothing that
its files do not say:

* ``merge``: a merge in the words of git or of a forge. What a person added, such as the title of
  a pull request or how a conflict was settled, makes it say something.
* ``bot``: written by a program that keeps dependencies or formats, or in the words of one. Agents
  that write code are no such programs.
* ``empty``: no message at all.
* ``draft``: ``wip``, ``fixup! …`` and ``squash! …`` without a body.
* ``release``: a subject that is only a version, without a body.
* ``vague``: a subject that only names the files it changed (``Update README.md``) or only words
  such as ``Initial commit`` or ``fix``, without a body.

A commit that takes another one back always says something.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from mempal.core.commits import ChangedFile, Commit
from mempal.core.model import Chunk, SourceClass, Voice
from mempal.ingest.cut import cut_text
from mempal.ingest.read import CHUNK_LIMIT

HISTORY_ROOM = "history"
# Version of the rules from commits to chunks; histories read under another one are read again.
HISTORY_VERSION = 1

# Room for the names of files: half a chunk, so that most commits are one chunk.
_FILES_LENGTH = 400
_ABBREVIATIONS = (7, 8, 9, 10, 12)

# Longer subjects are no formulas.
_LONGEST_FORMULA = 200

_REVERT = re.compile(r'(?:revert|reapply)\b(?:\([^)]*\))?[: "]', re.IGNORECASE)
_MERGE = re.compile(
    r"""Merge\ (?:remote-tracking\ )?(?:branch(?:es)?|tags?|commits?)
      \ '[^']*'(?:,\ '[^']*')*(?:\ and\ '[^']*')?(?:\ (?:of|into)\ .*)?
    | Merge\ pull\ request\ \#?\d+\ from\ \S+(?:\ into\ \S+)?
    | Merged\ in\ \S+\ \(pull\ request\ \#\d+\)""",
    re.VERBOSE,
)
# What only the parents of a commit tell from a person's words.
_LOOSE_MERGE = re.compile(
    r"Merge (?:branch |commit |tag )?\S+(?: (?:of|from) \S+)?(?: into \S+)?|merged?\W*",
    re.IGNORECASE,
)
_CONFLICTS = re.compile(r"^#?[ \t]*Conflicts:?[ \t]*(?:\n#?[ \t]+\S.*)*", re.MULTILINE)
_MERGE_NOISE = re.compile(r"See merge request \S+|Approved-by:.*|#?\s*")

# Agents may have the mark of a bot in their name.
_AGENTS = re.compile(
    r"agent|aider|\bamp\b|claude|codex|copilot|cursor|devin|gemini|jules|openhands|sweep",
    re.IGNORECASE,
)
_BOT = re.compile(
    r"""(?:.*\[bot\]
    | dependabot.* | (?:mend\ |whitesource\ )?renovate.* | greenkeeper.* | github[ -]actions?
    | pre-commit[ -]ci.* | snyk-bot | imgbot.* | all-?contributors.* | pyup[ .-].*bot
    | semantic-release-bot | codecov.* | (?:hosted\ )?weblate | scala\ steward | depfu.*)""",
    re.VERBOSE | re.IGNORECASE,
)
_VERSION = r"(?:[\w/@.-]{1,80}@)?v?\d{1,9}(?:\.\d{1,9}){1,4}(?:[.+-]?[a-z][\w.+-]*)?"
_BOT_WORDS = re.compile(
    rf"""\w+\([\w-]*dep(?:s|endencies)[\w-]*\)!?:\ (?:bump|update|upgrade|pin|lock)\b.*
    | (?:[\w()-]+!?:\ )?(?:
        bump\ \S+\ from\ {_VERSION}\ to\ {_VERSION}(?:\ in\ \S.*)?
      | bump\ \S+/\S+\ from\ \S+\ to\ \S+(?:\ in\ \S.*)?
      | bump\ the\ \S+\ group\b.*
      | update\ dependency\ \S+\ to\ \S.*
      | update\ \S+\ (?:action|docker\ tag|digest)\ to\ \S.*
      | lock\ file\ maintenance
      | pin\ dependenc(?:y|ies)\b.*)
    | \[pre-commit\.ci\]\ .*""",
    re.VERBOSE | re.IGNORECASE,
)
_BOT_BRANCH = re.compile(r"[/ ](?:dependabot|renovate|pre-commit-ci-update-config)\b")

# Marks that forges and build services look for in a subject.
_MARKS = re.compile(r"\((?:\#|!)\d+\)|\[(?:skip ci|ci skip|skip actions|no ci)\]", re.IGNORECASE)
_DRAFT = re.compile(
    r"""\W*(?:wip|work\ in\ progress|draft|checkpoint|save\ point|te?mp)\W*
    | (?:wip|index)\ on\ \S+:\ .* | (?:fixup|squash|amend)!\ .*""",
    re.VERBOSE | re.IGNORECASE,
)
_RELEASE = re.compile(
    rf"""(?:[\w()-]+!?:\ )?
      (?:(?:cut|bump|set|prepare|update|tag|publish|new)\ )?(?:(?:the|for)\ )?
      (?:(?:release|version)(?:\ (?:version|number))?)?:?\ ?(?:(?:to|for|from|of)\ )?
      {_VERSION}(?:\ (?:->|=>|→|to)\ {_VERSION})?(?:\ release)?[.!]*
    | (?:[\w()-]+!?:\ )?(?:bump|update|increment|increase)\ (?:the\ )?version(?:\ number)?[.!]*
    | \[maven-release-plugin\].*""",
    re.VERBOSE | re.IGNORECASE,
)
_EDIT = re.compile(r"(?:update|edit|modify|create)d? (?P<names>.+)", re.IGNORECASE)
_UPLOAD = re.compile(r"add(?:ed)? files? via upload", re.IGNORECASE)
# A subject made of nothing but these says that something was done.
_HOLLOW = frozenset(
    """
    a again all and another apply asdf bit bug bugfix bugfixes bugs change changed changes clean
    cleaned cleaning cleanup code comment comments commit committed debug done edit edits error
    errors few file files final finally first fix fixed fixes fixing for foo format formatting
    hotfix import improve improvements in init initial issue issues it last lint linting little
    minor misc more new now of oops other patch progress project push quick refactor refactoring
    repo repository review revision save saved several small some stuff style test testing tests
    the things this try tweak tweaks typo typos up update updated updates upload various version
    work x xx xxx
    """.split()  # noqa: SIM905 - one word a line would fill a page
)
_WORD = re.compile(r"\w+")


class Fold(StrEnum):
    """Why a commit was left out."""

    MERGE = "merge"
    BOT = "bot"
    EMPTY = "empty"
    DRAFT = "draft"
    RELEASE = "release"
    VAGUE = "vague"


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """What became of a commit: chunks that are its whole text, or the reason why there are none."""

    commit: Commit
    chunks: tuple[Chunk, ...] = ()
    fold: Fold | None = None


def read_history(
    commits: Iterable[Commit], redact: Callable[[str], str] | None = None
) -> Iterator[CommitRecord]:
    """Yield what each commit comes to, in order, one commit at a time.

    Args:
        commits: Any commits.
        redact: As for ``compose``.
    """
    for commit in commits:
        fold = judge(commit)
        if fold is None:
            yield CommitRecord(commit, compose(commit, redact))
        else:
            yield CommitRecord(commit, fold=fold)


def compose(commit: Commit, redact: Callable[[str], str] | None = None) -> tuple[Chunk, ...]:
    """Return the chunks of a commit, whether or not it says something; none without any text.

    Joined, they are its text: subject, body, trailers and files, blank lines between them.

    Args:
        commit: The commit.
        redact: Takes out what must not be stored. It gets the whole text before that is cut, and
            apart from it the names that the commit is also found by.
    """
    text, stems = _describe(commit), _list_stems(commit)
    if redact is not None:
        text, stems = redact(text), redact(stems)
    symbols = " ".join((*(commit.sha[:length] for length in _ABBREVIATIONS), commit.sha, stems))
    voice = Voice(commit.author or None, SourceClass.COMMIT, commit.committed_at)
    return tuple(
        Chunk(text[piece.start : piece.end], symbols=symbols.rstrip(), voice=voice)
        for piece in cut_text(text, HISTORY_ROOM, CHUNK_LIMIT)
    )


def judge(commit: Commit) -> Fold | None:
    """Return why a commit says nothing, by the rules above; ``None`` when it does."""
    subject = _first_line(commit.subject)
    if _REVERT.match(subject):
        return None
    if not subject and not commit.body:
        return Fold.MERGE if len(commit.parents) > 1 else Fold.EMPTY
    if _is_bot(commit.author):
        return Fold.BOT
    if _is_merge(commit, subject):
        words = _own_words(commit)
        if words and (_BOT_WORDS.fullmatch(words) or _BOT_BRANCH.search(subject)):
            return Fold.BOT
        return None if words else Fold.MERGE
    return None if commit.body else _judge_subject(commit)


def _describe(commit: Commit) -> str:
    trailers = "\n".join(f"{key}: {value}" for key, value in commit.trailers)
    parts = (commit.subject, commit.body, trailers, _list_files(commit))
    return "\n\n".join(part for part in parts if part)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def _is_bot(author: str) -> bool:
    return _BOT.fullmatch(author) is not None and not _AGENTS.search(author)


def _is_merge(commit: Commit, subject: str) -> bool:
    loose = len(commit.parents) > 1 and _LOOSE_MERGE.fullmatch(subject)
    return bool(loose or _MERGE.fullmatch(subject))


def _own_words(commit: Commit) -> str:
    """Return the first line of a merge's message that neither git nor a forge writes by itself."""
    _, _, rest = commit.subject.partition("\n")
    lines = _CONFLICTS.sub("", f"{rest}\n{commit.body}").split("\n")
    return next((line.strip() for line in lines if not _MERGE_NOISE.fullmatch(line)), "")


def _judge_subject(commit: Commit) -> Fold | None:
    if len(commit.subject) > _LONGEST_FORMULA:
        return None
    subject = " ".join(_MARKS.sub(" ", commit.subject).split())
    for pattern, fold in ((_RELEASE, Fold.RELEASE), (_DRAFT, Fold.DRAFT), (_BOT_WORDS, Fold.BOT)):
        if pattern.fullmatch(subject):
            return fold
    return Fold.VAGUE if _is_vague(subject, commit) else None


def _is_vague(subject: str, commit: Commit) -> bool:
    if _UPLOAD.fullmatch(subject) or _HOLLOW.issuperset(_WORD.findall(subject.lower())):
        return True
    edit = _EDIT.fullmatch(subject)
    if edit is None:
        return False
    named = re.split(r"[\s,`]+|\band\b", edit["names"].lower().strip(" `.!"))
    paths = [PurePosixPath(file.path.lower()) for file in commit.files]
    known = {name for path in paths for name in (str(path), path.name, path.stem)}
    return known.issuperset(filter(None, named))


def _list_files(commit: Commit) -> str:
    """Return the line of files: as many as there is room for, and the number of the others."""
    listed: list[str] = []
    room = _FILES_LENGTH
    for file in commit.files:
        name = _name_file(file)
        room -= len(name) + 2
        if listed and room < 0:
            break
        listed.append(name)
    if not listed:
        return ""
    others = commit.file_count - len(listed)
    return f"files: {', '.join(listed)}{f' and {others} more' if others > 0 else ''}"


def _name_file(file: ChangedFile) -> str:
    if file.former is None:
        return _show(file.path)
    return f"{_show(file.former)} -> {_show(file.path)}"


def _show(path: str) -> str:
    r"""Return a path on one line: what cannot be printed is escaped as in ``\n`` or ``\xff``."""
    if path.isprintable():
        return path
    return "".join(one if one.isprintable() else _escape(one) for one in path)


def _escape(character: str) -> str:
    if "\udc80" <= character <= "\udcff":  # a byte that is no UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def _list_stems(commit: Commit) -> str:
    paths = (path for file in commit.files for path in (file.former, file.path) if path)
    return " ".join(dict.fromkeys(_show(PurePosixPath(path).stem) for path in paths))
