"""One pass over a tree on disk: each entry is a file to mine or gets a reason why not."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from mempal.core.model import Skip, TreeListing
from mempal.ingest.disk import (
    FileEntry,
    describe_link,
    describe_special,
    has_repository,
    is_bare,
    list_file,
)
from mempal.ingest.ignore import Rule, RuleSet, read_rules

_GIT = ".git"
_VERSION_CONTROL = (".hg", ".svn")
# Folders of copies that are left out wherever git does not say what belongs to the tree.
_COPIES = ("node_modules", "target")
_NESTED = "another git repository"
_BARE = {"HEAD", "objects", "refs"}


@dataclass(frozen=True, slots=True)
class View:
    """How the entries of a tree are judged.

    Attributes:
        tracked: Paths in git's index; no rule of git excludes them.
        submodules: Folders that are trees of their own.
        nested: Folders that belong to other repositories.
        listed: What git shows; ``None`` when rules decide.
        ignored: What git hides, with the reason; only beside ``listed``.
        git_rules: git's rules that hold from the root on; only without ``listed``.
        own_rules: mempal's rules that hold from the root on.
        reads_gitignore: Whether ``.gitignore`` files on the way add rules.
        reads_mempalignore: Whether ``.mempalignore`` files on the way add rules.
    """

    tracked: frozenset[str] = frozenset()
    submodules: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    listed: frozenset[str] | None = None
    ignored: dict[str, str] = field(default_factory=dict)
    git_rules: RuleSet = field(default_factory=RuleSet)
    own_rules: RuleSet = field(default_factory=RuleSet)
    reads_gitignore: bool = False
    reads_mempalignore: bool = True

    @classmethod
    def of_listing(cls, listing: TreeListing, *, reads_mempalignore: bool) -> Self:
        """Return the view in which git decides."""
        return cls(
            tracked=listing.tracked,
            submodules=frozenset(listing.submodules),
            nested=frozenset(listing.nested),
            listed=frozenset(listing.files),
            ignored={skip.path: skip.reason for skip in listing.ignored},
            reads_mempalignore=reads_mempalignore,
        )


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder yet to be looked into, with the rules that hold in it before its own are read."""

    path: str
    git_rules: RuleSet
    own_rules: RuleSet

    def join(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name


class Scan:
    """One look at a tree.

    Args:
        root: Top of the tree, with no link in its path.
        prefix: Path of ``root`` in the outermost tree, with ``/`` at its end, or empty; mempal's
            rules are relative to that tree.
        view: How entries are judged.
        barred: Absolute paths that are left out.

    Attributes:
        files: The regular files that are to be mined.
        skipped: Entries that cannot be mined, with the reason.
        excluded: Entries that rules leave out, with the rule.
        submodules: Folders that are trees of their own, each with mempal's rules that hold there.
        notices: Rule files that could not be read.
    """

    def __init__(self, root: Path, prefix: str, view: View, barred: frozenset[str]) -> None:
        self._root = root
        self._prefix = prefix
        self._view = view
        self._barred = barred
        self._guarded = _find_parents(view.tracked)
        self._waiting: list[_Folder] = []
        self.files: list[FileEntry] = []
        self.skipped: list[Skip] = []
        self.excluded: list[Skip] = []
        self.submodules: dict[str, RuleSet] = {}
        self.notices: list[str] = []

    def run(self, under: str) -> None:
        """Look at everything below the folder ``under``, which is empty for the whole tree."""
        start = self._inherit(under)
        self._waiting.append(start)
        while self._waiting:
            folder = self._waiting.pop()
            self._open(folder, is_start=folder is start)

    def _inherit(self, under: str) -> _Folder:
        """Return the folder to begin with and the rules of the folders above it.

        Rules that would exclude it, or a folder above it, are set aside with all those above them:
        it was named.
        """
        folder = _Folder("", self._view.git_rules, self._view.own_rules)
        for name in filter(None, under.split("/")):
            path = folder.join(name)
            inner = self._read_rules(folder, None)
            git_rules, own_rules = inner.git_rules, inner.own_rules
            if git_rules.find_exclusion(path, is_folder=True):
                git_rules = self._view.git_rules
            if own_rules.find_exclusion(self._prefix + path, is_folder=True):
                own_rules = self._view.own_rules
            folder = _Folder(path, git_rules, own_rules)
        return folder

    def _open(self, folder: _Folder, *, is_start: bool) -> None:
        absolute = Path(self._root, folder.path)
        try:
            with os.scandir(absolute) as entries:
                found = list(entries)
        except OSError as error:
            reason = f"folder cannot be read: {error.strerror}"
            self.skipped.append(Skip(folder.path or ".", reason))
            return
        names = {entry.name for entry in found}
        foreign = None if is_start else self._find_owner(folder.path, absolute, names)
        if foreign is not None:
            self.skipped.append(Skip(folder.path, foreign))
            return
        inner = self._read_rules(folder, names)
        for entry in found:
            path = inner.join(entry.name)
            try:
                self._visit(entry, path, inner)
            except OSError as error:
                self.skipped.append(Skip(path, f"cannot be looked at: {error.strerror}"))

    def _find_owner(self, path: str, absolute: Path, names: set[str]) -> str | None:
        """Return why a folder belongs to something else, if it does."""
        if path in self._guarded:
            return None
        if path in self._view.tracked and names:
            return "submodule that is not checked out"
        if _GIT in names and has_repository(absolute):
            return _NESTED
        return "bare git repository" if names >= _BARE and is_bare(absolute) else None

    def _read_rules(self, folder: _Folder, names: set[str] | None) -> _Folder:
        """Return the folder with the rules of its own rule files added.

        Args:
            folder: The folder.
            names: The entries in it; ``None`` when they are not known.
        """
        git_rules, own_rules = folder.git_rules, folder.own_rules
        if self._view.reads_gitignore and (names is None or ".gitignore" in names):
            rules = self._read_file(folder.join(".gitignore"))
            git_rules = git_rules.joined(folder.path, rules)
        if self._view.reads_mempalignore and (names is None or ".mempalignore" in names):
            rules = self._read_file(folder.join(".mempalignore"))
            own_rules = own_rules.joined((self._prefix + folder.path).rstrip("/"), rules)
        return _Folder(folder.path, git_rules, own_rules)

    def _read_file(self, path: str) -> tuple[Rule, ...]:
        absolute = Path(self._root, path)
        try:
            return read_rules(absolute, path)
        except FileNotFoundError:
            return ()
        except OSError as error:
            reason = error.strerror or "it is not a small regular file"
            self.notices.append(f"the rules in {absolute} do not hold: {reason}")
            return ()

    def _visit(self, entry: "os.DirEntry[str]", path: str, folder: _Folder) -> None:
        """Sort one entry into files, skipped, excluded, or folders to look into."""
        is_folder = entry.is_dir(follow_symlinks=False)
        reason = self._find_fixed_reason(entry, path, is_folder=is_folder)
        if reason is None:
            rule = folder.own_rules.find_exclusion(self._prefix + path, is_folder=is_folder)
            reason = None if rule is None else rule.reason
        if reason is not None:
            self.excluded.append(Skip(path, reason))
        elif self._view.listed is None:
            self._visit_by_rules(entry, path, folder, is_folder=is_folder)
        elif path in self._view.ignored:
            self.excluded.append(Skip(path, self._view.ignored[path]))
        else:
            self._take(entry, path, folder, is_folder=is_folder)

    def _find_fixed_reason(
        self, entry: "os.DirEntry[str]", path: str, *, is_folder: bool
    ) -> str | None:
        """Return why an entry is left out whatever the rules say."""
        if entry.name == _GIT:
            return "git's own data"
        if entry.path in self._barred:
            return "mempal's own folder"
        if self._view.listed is None and is_folder and path not in self._guarded:
            if entry.name in _VERSION_CONTROL:
                return "data of version control"
            if entry.name in _COPIES:
                return "a folder of installed or built files"
        return None

    def _visit_by_rules(
        self, entry: "os.DirEntry[str]", path: str, folder: _Folder, *, is_folder: bool
    ) -> None:
        rule = None
        if path not in self._view.tracked:
            rule = folder.git_rules.find_exclusion(path, is_folder=is_folder)
        if rule is None:
            self._take(entry, path, folder, is_folder=is_folder)
        elif path in self._guarded:
            # git keeps what it tracks in a folder that it ignores, and nothing else there.
            closed = replace(folder, git_rules=folder.git_rules.closed_by(rule))
            self._take(entry, path, closed, is_folder=is_folder)
        else:
            self.excluded.append(Skip(path, rule.reason))

    def _take(
        self, entry: "os.DirEntry[str]", path: str, folder: _Folder, *, is_folder: bool
    ) -> None:
        """Deal with an entry that no rule leaves out."""
        if entry.is_symlink():
            self.skipped.append(Skip(path, describe_link(self._root, Path(entry.path))))
        elif is_folder:
            self._take_folder(entry, path, folder)
        elif entry.is_file(follow_symlinks=False):
            listed = self._view.listed
            if listed is not None and path not in listed:
                self.skipped.append(Skip(path, "not in git's listing"))
                return
            found = list_file(entry, path, tracked=path in self._view.tracked)
            if isinstance(found, Skip):
                self.skipped.append(found)
            else:
                self.files.append(found)
        else:
            self.skipped.append(
                Skip(path, describe_special(entry.stat(follow_symlinks=False).st_mode))
            )

    def _take_folder(self, entry: "os.DirEntry[str]", path: str, folder: _Folder) -> None:
        is_linked = path in self._view.tracked and has_repository(Path(entry.path))
        if is_linked or path in self._view.submodules:
            self.submodules[path] = folder.own_rules
        elif path in self._view.nested:
            self.skipped.append(Skip(path, _NESTED))
        else:
            self._waiting.append(_Folder(path, folder.git_rules, folder.own_rules))


def _find_parents(paths: Iterable[str]) -> frozenset[str]:
    """Return all folders that the paths lie in."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(folders)
