"""The history of a repository, read from ``git log`` while it is written.

git writes each commit as NUL-separated fields, followed by NUL-separated changes. No field and no
path can hold a NUL, and a change begins with a letter where the next commit would begin with its
id, so whatever stands in messages and names, each field is what git says it is.

What a repository can do to the answer is shut off: replaced commits, grafts, notes, mail maps, its
own order of files, hidden first commits, and every program its settings and attributes name.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from mempal.adapters.git import layout
from mempal.adapters.git.command import Git, printable
from mempal.core.clock import parse_instant
from mempal.core.commits import MOST_FILES, ChangedFile, Commit, CommitListing, split_message
from mempal.core.errors import SourceError, UsageError
from mempal.core.files import read_regular
from mempal.core.model import Repository

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_CHANGE = re.compile(rb"\n?([A-Z])[0-9]{0,3}")
_FORMAT = "%H%x00%P%x00%an%x00%at%x00%ct%x00%B"
_FIELDS = _FORMAT.count("%x00")  # after the id
_VARIABLES = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
_LOG = (
    *("-c", "log.showRoot=true", "-c", "log.mailmap=false"),
    *("-c", "advice.graftFileDeprecated=false"),
    *("log", "-z", f"--format=tformat:{_FORMAT}", "--encoding=UTF-8", "--topo-order", "--reverse"),
    *("--no-color", "--no-show-signature", "--no-notes", "--no-mailmap", "--no-textconv"),
    *("--no-ext-diff", "--name-status", "--ignore-submodules=none", f"-O{os.devnull}"),
    "-l400",  # files compared for renames: the work grows with the square of their number
)
_RENAMES = "-M"
# Without the content of files, which a partial clone lacks, only exact renames are found.
_EXACT_RENAMES = "-M100%"
_PARTIAL = r"^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$"
_LARGEST_SHALLOW = 1 << 24
# First and last instant of the calendar that dates are printed in, in milliseconds.
_CALENDAR = range(-62_135_596_800_000, 253_402_300_800_000)
_MOST_DIGITS = 15
# git takes any text for a date and what it does not know for the present, so it is asked only for
# what is made of its words.
_DATE_WORD = re.compile(
    r"""
    \d{1,4} | \d{1,2}(?:st|nd|rd|th) | \d{1,2}:\d{2}(?::\d{2})? | \d{1,2}[ap]m
    | \d{1,4}[-/]\d{1,2}[-/]\d{1,4} | [+-]\d{2}:?\d{2} | @\d{1,12} | \d{9,12}
    | (?P<telling>
        (?:second|sec|minute|min|hour|day|week|month|year)s? | yesterday | today | now | noon
        | midnight | tea | never
        | (?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?
        | jan(?:uary)? | feb(?:ruary)? | mar(?:ch)? | apr(?:il)? | may | june? | july?
        | aug(?:ust)? | sep(?:tember)? | oct(?:ober)? | nov(?:ember)? | dec(?:ember)?
      )
    | last | ago | at | and | the | of | am | pm | utc | gmt | z
    | an? | one | two | three | four | five | six | seven | eight | nine | ten
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_EXACT_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}/\d{1,2}/\d{4}|@\d{1,12}|\d{9,12}")


def list_commits(
    git: Git, repository: Repository, since: str | None, after: str | None
) -> CommitListing | None:
    """Return the history of the commit that was checked out when the repository was found.

    Merges have no files, and where the content of files is missing only exact renames are told.

    Args:
        git: Starts git.
        repository: Where, and from which commit on.
        since: Only commits since this revision or date.
        after: Only commits behind this one, where it is part of the history.

    Returns:
        The listing; ``None`` when git cannot tell.

    Raises:
        UsageError: ``since`` is neither a revision nor a date.
    """
    root, head = repository.root, repository.commit
    if head is None or _find_commit(git, root, head) != head:
        return None
    limits = [head] if since is None else [head, *_limit(git, root, since)]
    known = after is not None and _is_ancestor(git, root, after, head)
    if known:
        limits.append(f"^{after}")
    cut = _read_shallow(root)
    renames = _EXACT_RENAMES if _is_partial(git, root) else _RENAMES
    blocks = git.stream(root, *_LOG, renames, *limits, "--", variables=_VARIABLES)
    notices = (f"{printable(str(root))} is a shallow clone: its older history is not here",)
    return CommitListing(
        commits=_read(blocks, root, cut), complete=not known, notices=notices if cut else ()
    )


def _find_commit(git: Git, root: Path, name: str) -> str | None:
    """Return the id of the commit that a name means."""
    answer = git.run(
        root,
        *("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"),
        variables=_VARIABLES,
    )
    found = answer.output.decode("ascii", "replace").strip()
    return found if answer.ok and _OBJECT_ID.fullmatch(found) else None


def _is_ancestor(git: Git, root: Path, commit: str, head: str) -> bool:
    if not _OBJECT_ID.fullmatch(commit):
        return False
    return git.run(root, "merge-base", "--is-ancestor", commit, head, variables=_VARIABLES).ok


def _limit(git: Git, root: Path, since: str) -> tuple[str]:
    """Return the argument that leaves out what is older."""
    commit = _find_commit(git, root, since)
    if commit is not None:
        return (f"^{commit}",)
    seconds = _read_date(git, root, since)
    if seconds is None:
        raise UsageError(
            f"neither a revision nor a date: {printable(since)!r}",
            hint="write a tag, a branch, a commit, 2026-05-01 or '2 weeks ago'",
        )
    return (f"--max-age={max(0, seconds)}",)


def _read_date(git: Git, root: Path, text: str) -> int | None:
    """Return a date in seconds since the epoch; ``None`` when it is none."""
    try:
        return parse_instant(text) // 1000
    except UsageError:
        words = re.split(r"[\s,.]+", text.strip(" ,.\t\n"))
    found = [_DATE_WORD.fullmatch(word) for word in words]
    telling = any(word and word["telling"] for word in found)
    if not all(found) or not (telling or any(map(_EXACT_DATE.fullmatch, words))):
        return None
    answer = git.run(root, "rev-parse", f"--since={' '.join(words)}")
    name, _, seconds = answer.output.decode("ascii", "replace").strip().partition("=")
    return int(seconds) if answer.ok and name == "--max-age" and seconds.isdecimal() else None


def _read_shallow(root: Path) -> frozenset[str]:
    """Return the commits at which a shallow clone is cut off."""
    git_folder = layout.find_git_folder(root)
    if git_folder is None:
        return frozenset()
    try:
        data = read_regular(layout.find_common_folder(git_folder) / "shallow", _LARGEST_SHALLOW)
    except (OSError, ValueError):
        return frozenset()
    return frozenset(data.decode("ascii", "replace").split())


def _is_partial(git: Git, root: Path) -> bool:
    return git.run(root, "config", "--get-regexp", _PARTIAL).ok


def _read(blocks: Iterator[bytes], root: Path, cut: frozenset[str]) -> Iterator[Commit]:
    try:
        yield from _parse(_split(blocks), cut)
    except SourceError as error:
        raise SourceError(
            f"the history of {printable(str(root))} cannot be read to its end: {error.message}",
            hint="run `git fsck` there; what was read is kept, and the next run goes on behind it",
        ) from error


def _split(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what NUL bytes end; what stands behind the last one is incomplete and dropped."""
    parts: list[bytes] = []
    for block in blocks:
        first, *more = block.split(b"\0")
        parts.append(first)
        if more:
            yield b"".join(parts)
            yield from more[:-1]
            parts = [more[-1]]


def _parse(fields: Iterator[bytes], cut: frozenset[str]) -> Iterator[Commit]:
    """Yield the commits in the output of ``git log``, only those that are whole."""
    field = next(fields, None)
    while field is not None:
        sha = field.decode("ascii", "replace")
        header = list(islice(fields, _FIELDS))
        if not _OBJECT_ID.fullmatch(sha) or len(header) < _FIELDS:
            raise SourceError("git gave an answer that is no history")
        files, count, field = _read_changes(fields)
        if sha in cut:  # git shows the whole tree as new
            files, count = [], 0
        yield _build(sha, header, tuple(files), count)


def _read_changes(fields: Iterator[bytes]) -> tuple[list[ChangedFile], int, bytes | None]:
    """Return the changes of one commit, their number, and the field behind them."""
    files: list[ChangedFile] = []
    count = 0
    field = next(fields, None)
    while field is not None and (status := _CHANGE.fullmatch(field)):
        change = _read_change(status[1].decode(), fields)
        count += 1
        if count <= MOST_FILES:
            files.append(change)
        field = next(fields, None)
    return files, count, field


def _read_change(status: str, fields: Iterator[bytes]) -> ChangedFile:
    former = os.fsdecode(next(fields, b"")) if status in {"R", "C"} else None
    return ChangedFile(status, os.fsdecode(next(fields, b"")), former)


def _build(sha: str, header: list[bytes], files: tuple[ChangedFile, ...], count: int) -> Commit:
    parents, author, authored, committed, text = header
    message = split_message(text.decode(errors="replace"))
    return Commit(
        sha=sha,
        parents=tuple(parents.decode("ascii", "replace").split()),
        author=" ".join(author.decode(errors="replace").split()),
        authored_at=_read_instant(authored),
        committed_at=_read_instant(committed),
        subject=message.subject,
        body=message.body,
        trailers=message.trailers,
        files=files,
        file_count=count,
    )


def _read_instant(seconds: bytes) -> int | None:
    """Return an instant in milliseconds; ``None`` for what is no date of the calendar."""
    text = seconds.decode("ascii", "replace").strip()
    if not text.removeprefix("-").isdecimal() or len(text) > _MOST_DIGITS:
        return None
    instant = int(text) * 1000
    return instant if instant in _CALENDAR else None
