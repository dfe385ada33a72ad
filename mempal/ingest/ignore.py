"""Ignore rules with git's meaning, for trees that git does not list for us.

Rules are read and matched as git reads and matches them (``gitignore`` manual page, ``dir.c`` and
``wildmatch.c`` of git 2.39), on bytes. Walking must go top-down: a folder that is excluded is not
entered, so nothing below it can come back.

A glob becomes one regular expression. Each part after a wildcard is an atomic group that takes the
first place where it fits, which is enough for globs and keeps a hostile pattern from taking
exponential time.
"""

import os
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from mempal.core.files import read_regular

_BOM = b"\xef\xbb\xbf"
_WILDCARDS = b"*?[\\"
_LARGEST_FILE = 4 * 1024 * 1024
_CLASSES = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, (*range(32), 127))),
    b"digit": string.digits,
    b"graph": string.ascii_letters + string.digits + string.punctuation,
    b"lower": string.ascii_lowercase,
    b"print": string.ascii_letters + string.digits + string.punctuation + " ",
    b"punct": string.punctuation,
    b"space": " \t\n\r",
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}


class _MalformedGlobError(ValueError):
    """The glob is malformed; git keeps it and it matches nothing."""


@dataclass(frozen=True)
class Rule:
    """One line of a rule file.

    Attributes:
        text: The line as it is shown.
        origin: The file it stands in, as it is shown.
        line: Its number there, from 1.
        glob: The pattern without marks: no ``!`` in front, no ``/`` at the end.
        negated: Whether it takes back what an earlier rule excludes.
        folders_only: Whether it speaks of folders only.
        anywhere: Whether it is compared with the last part of a path, whatever folder that is in.
    """

    text: str
    origin: str
    line: int
    glob: bytes
    negated: bool
    folders_only: bool
    anywhere: bool

    @property
    def reason(self) -> str:
        """Why a path that this rule decides on is left out."""
        return f"ignored by {self.origin}:{self.line} {self.text}"

    @cached_property
    def _expression(self) -> re.Pattern[bytes] | None:
        try:
            return re.compile(_translate(self.glob, anywhere=self.anywhere), re.DOTALL)
        except _MalformedGlobError:
            return None

    def matches(self, path: bytes, name: bytes, *, is_folder: bool) -> bool:
        """Return whether the rule speaks of a path.

        Args:
            path: The path relative to the folder of the rule file.
            name: Its last part.
            is_folder: Whether a folder lies there.
        """
        if self.folders_only and not is_folder:
            return False
        expression = self._expression
        return expression is not None and bool(
            expression.fullmatch(name if self.anywhere else path)
        )


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules in force in one folder, weakest file first.

    Attributes:
        levels: For each rule file the folder that its patterns are relative to, as the bytes in
            front of a path below it, and its rules.
        closed: The rule that excludes this whole folder, if one does.
    """

    levels: tuple[tuple[bytes, tuple[Rule, ...]], ...] = field(default=())
    closed: Rule | None = None

    def joined(self, folder: str, rules: tuple[Rule, ...]) -> "RuleSet":
        """Return the set with further, stronger rules, relative to ``folder`` (empty: the root)."""
        base = os.fsencode(f"{folder}/") if folder else b""
        return replace(self, levels=(*self.levels, (base, rules))) if rules else self

    def closed_by(self, rule: Rule) -> "RuleSet":
        """Return a set that excludes everything for the reason ``rule``."""
        return replace(self, closed=rule)

    def find_exclusion(self, path: str, *, is_folder: bool) -> Rule | None:
        """Return the rule that excludes a path whose parent folders are not excluded, if any."""
        if self.closed is not None or not self.levels:
            return self.closed
        whole = os.fsencode(path)
        name = whole.rpartition(b"/")[2]
        for base, rules in reversed(self.levels):
            if not whole.startswith(base):
                continue
            relative = whole[len(base) :]
            for rule in reversed(rules):
                if rule.matches(relative, name, is_folder=is_folder):
                    return None if rule.negated else rule
        return None


def read_rules(file: Path, origin: str) -> tuple[Rule, ...]:
    """Read a rule file.

    Args:
        file: Where it lies; a link, pipe or device is not read.
        origin: The name that reasons give it.

    Raises:
        OSError: It is not a regular file of at most 4 MiB, or cannot be read.
    """
    return parse_rules(read_regular(file, _LARGEST_FILE), origin)


def parse_rules(data: bytes, origin: str) -> tuple[Rule, ...]:
    """Return the rules in the bytes of a rule file; blank lines and comments are none."""
    lines = data.removeprefix(_BOM).split(b"\n")
    found = (_parse_line(line, origin, number) for number, line in enumerate(lines, 1))
    return tuple(rule for rule in found if rule is not None)


def _parse_line(line: bytes, origin: str, number: int) -> Rule | None:
    # For git a line ends at a NUL, and a carriage return belongs to the line end.
    if line.startswith(b"#"):
        return None
    text = _strip_spaces(line.removesuffix(b"\r").partition(b"\0")[0])
    glob = text.removeprefix(b"!")
    folders_only = glob.endswith(b"/")
    glob = glob.removesuffix(b"/")
    if not glob:
        return None
    return Rule(
        text=text.decode(errors="backslashreplace"),
        origin=origin,
        line=number,
        glob=glob,
        negated=text.startswith(b"!"),
        folders_only=folders_only,
        anywhere=b"/" not in glob,
    )


def _strip_spaces(line: bytes) -> bytes:
    """Drop the spaces at the end of a line, but none that a backslash protects."""
    stripped = line.rstrip(b" ")
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return line[: len(stripped) + 1] if backslashes % 2 else stripped


def _translate(glob: bytes, *, anywhere: bool) -> bytes:
    """Return the expression of a glob.

    Git compares the part before the first wildcard as it stands and begins to read the rest as if
    it stood alone; therefore ``a**/b`` reaches into folders though ``x/a**/b`` would not have to.

    Raises:
        _MalformedGlobError: It is malformed.
    """
    if anywhere:
        return _assemble(_split_glob(glob, in_folders=False))
    glob = glob.removeprefix(b"/")
    literal = next((at for at, byte in enumerate(glob) if byte in _WILDCARDS), len(glob))
    return re.escape(glob[:literal]) + _assemble(_split_glob(glob[literal:], in_folders=True))


_STAR, _FOLDERS, _REST = b"[^/]*?", b"(?:[^/]*/)*?", b".*?"


def _assemble(tokens: Iterator[bytes]) -> bytes:
    """Join tokens, closing each run after a wildcard into an atomic group."""
    done, block, run = b"", b"", b""
    for token in tokens:
        if token == _STAR:
            block, run = block + _close(run), _STAR
        elif token in (_FOLDERS, _REST):
            done, block, run = done + _close(block + _close(run)), token, b""
        else:
            run += token
    return done + block + run


def _close(run: bytes) -> bytes:
    return b"(?>" + run + b")" if run else b""


def _split_glob(glob: bytes, *, in_folders: bool) -> Iterator[bytes]:
    """Yield the expressions of a glob's characters and wildcards.

    Args:
        glob: The pattern.
        in_folders: Whether ``**`` between slashes stands for any number of folders.
    """
    at = 0
    while at < len(glob):
        byte = glob[at : at + 1]
        if byte == b"*":
            token, at = _read_stars(glob, at, in_folders=in_folders)
        elif byte == b"[":
            token, at = _read_bracket(glob, at + 1)
        elif byte == b"?":
            token, at = b"[^/]", at + 1
        else:
            at += byte == b"\\"
            if at == len(glob):
                raise _MalformedGlobError
            token, at = re.escape(glob[at : at + 1]), at + 1
        yield token


def _read_stars(glob: bytes, start: int, *, in_folders: bool) -> tuple[bytes, int]:
    """Return the token of a run of stars and where reading goes on."""
    end = start
    while glob[end : end + 1] == b"*":
        end += 1
    is_part = start == 0 or glob[start - 1 : start] == b"/"
    if not in_folders or end - start == 1 or not is_part:
        return _STAR, end
    if glob[end : end + 1] == b"/":
        return _FOLDERS, end + 1
    return (_REST if end == len(glob) or glob.startswith(b"\\/", end) else _STAR), end


def _read_bracket(glob: bytes, start: int) -> tuple[bytes, int]:
    """Return the token of a bracket expression and where reading goes on.

    Args:
        glob: The pattern.
        start: Index after the opening bracket.

    Raises:
        _MalformedGlobError: It is not closed or names an unknown class.
    """
    negated = glob[start : start + 1] in (b"!", b"^")
    at = start + negated
    members: set[int] = set()
    before: int | None = None
    first = at
    while at == first or glob[at : at + 1] != b"]":
        if glob.startswith(b"[:", at):
            found = _read_class(glob, at + 2)
            if found is not None:
                members.update(found[0])
                at, before = found[1], None
                continue
        is_range = before is not None and glob[at : at + 1] == b"-"
        if is_range and glob[at + 1 : at + 2] not in (b"", b"]"):
            byte, at = _read_member(glob, at + 1)
            members.update(range(before or 0, byte + 1))
            before = None
        else:
            before, at = _read_member(glob, at)
            members.add(before)
    # A slash is matched by a slash only, whatever the brackets say.
    listed = b"".join(b"\\x%02x" % byte for byte in sorted(members - {ord("/")}))
    if negated:
        return b"[^/" + listed + b"]", at + 1
    return b"[" + listed + b"]" if listed else b"(?!)", at + 1


def _read_member(glob: bytes, at: int) -> tuple[int, int]:
    at += glob[at : at + 1] == b"\\"
    if at >= len(glob):
        raise _MalformedGlobError
    return glob[at], at + 1


def _read_class(glob: bytes, start: int) -> tuple[bytes, int] | None:
    """Return the bytes of a named class and where reading goes on; ``None`` if it is none."""
    end = glob.find(b"]", start)
    if end < 0:
        raise _MalformedGlobError
    if end == start or glob[end - 1 : end] != b":":
        return None
    name = glob[start : end - 1]
    if name not in _CLASSES:
        raise _MalformedGlobError
    return _CLASSES[name].encode(), end + 1
