"""Which files of a tree are mined: those that git would show, and a reason for every other entry.

Inside a working tree git lists the files; the walk then looks at the folders itself, because git
does not speak of pipes, sockets and folders it cannot open. Where git cannot list, and outside of
git, the rules of :mod:`mempal.ingest.ignore` decide. Nothing is opened but folders and rule files,
no symbolic link is followed, and every regular file on disk is listed or has a reason, of its own
or of a folder it is in.

Two families of rules never mix: git's own, and mempal's (``--ignore-file``, weakest, then
``.mempalignore`` in each folder, the deepest strongest). Either leaves a path out; a ``!`` rule
takes back only what its own family excludes. A path that is named to be mined is mined whatever
excludes it.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from mempal.core.errors import NotFoundError, SourceError
from mempal.core.model import Repository, Skip, TreeListing
from mempal.core.ports import Repositories
from mempal.ingest.disk import FileEntry, list_file
from mempal.ingest.ignore import Rule, RuleSet, read_rules
from mempal.ingest.scan import Scan, View

__all__ = ["FileEntry", "Tree", "Walk", "WalkRules", "walk"]


@dataclass(frozen=True, slots=True)
class WalkRules:
    """Which rules hold.

    Attributes:
        use_gitignore: Whether what git ignores is left out.
        use_mempalignore: Whether ``.mempalignore`` files are read.
        ignore_files: Further rule files, anchored at the root of the tree, the last strongest.
    """

    use_gitignore: bool = True
    use_mempalignore: bool = True
    ignore_files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of one working tree or folder.

    Attributes:
        root: Top of the working tree, or the folder that was named; all paths are relative to it.
        repository: What git knows about it; ``None`` outside of git.
        files: What is to be mined, by path.
        skipped: What cannot be mined, and why, by path.
        excluded: What rules leave out, by path; a folder once, for all below it.
        notices: What could not be learned, in words for the user.
    """

    root: Path
    repository: Repository | None
    files: tuple[FileEntry, ...]
    skipped: tuple[Skip, ...] = ()
    excluded: tuple[Skip, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Walk:
    """The trees under one path: the one it lies in, then each submodule below it."""

    trees: tuple[Tree, ...]

    @property
    def notices(self) -> tuple[str, ...]:
        """The notices of all trees, each once."""
        return tuple(dict.fromkeys(notice for tree in self.trees for notice in tree.notices))


def walk(
    path: Path, repositories: Repositories, rules: WalkRules, exclude: tuple[Path, ...] = ()
) -> Walk:
    """List what is to be mined at or below ``path``.

    Args:
        path: A folder, or a single file, which is taken whatever rules say of it.
        repositories: What git knows.
        rules: Which rules hold.
        exclude: Folders that are left out wherever they are: the palace itself.

    Raises:
        NotFoundError: ``path`` or a rule file is not there.
        SourceError: There is nothing at ``path`` that could be mined, or it cannot be read.
    """
    start = _resolve(path)
    barred = frozenset(os.path.realpath(folder) for folder in exclude)
    _refuse_repository_data(start, repositories, barred)
    repository = repositories.find(start)
    top = repository.root if repository else (start if start.is_dir() else start.parent)
    walker = _Walker(repositories, rules, barred)
    if start.is_dir():
        walker.add_tree(top, repository, start.relative_to(top).as_posix())
    else:
        walker.add_file(top, repository, start)
    return Walk(tuple(walker.trees))


class _Walker:
    """Collects the trees of one walk."""

    def __init__(
        self, repositories: Repositories, rules: WalkRules, barred: frozenset[str]
    ) -> None:
        self._repositories = repositories
        self._rules = rules
        self._barred = barred
        self._named = RuleSet()
        for file in rules.ignore_files:
            self._named = self._named.joined("", _read_named(file))
        self.trees: list[Tree] = []

    def add_tree(
        self,
        top: Path,
        repository: Repository | None,
        under: str,
        own: RuleSet | None = None,
        prefix: str = "",
    ) -> None:
        """Scan one tree and the submodules in it.

        Args:
            top: Root of the tree.
            repository: What git knows about it.
            under: The folder to scan, relative to ``top``; ``.`` for all of it.
            own: mempal's rules from the trees around it; ``None`` in the outermost one.
            prefix: Path of ``top`` in the outermost tree, with ``/`` at its end, or empty.
        """
        folder = "" if under == "." else under
        notices = [] if repository is None else list(repository.notices)
        view = self._look(repository, folder, notices)
        view = replace(view, own_rules=self._named if own is None else own)
        scan = Scan(top, prefix, view, self._barred)
        scan.run(folder)
        index = len(self.trees)
        for path, rules in sorted(scan.submodules.items()):
            found = self._repositories.find(top / path)
            if found is None or found.root != top / path:
                scan.skipped.append(Skip(path, "submodule that git cannot read"))
            else:
                self.add_tree(found.root, found, ".", rules, f"{prefix}{path}/")
        tree = Tree(
            root=top,
            repository=repository,
            files=tuple(sorted(scan.files, key=lambda entry: entry.path)),
            skipped=_sort(scan.skipped),
            excluded=_sort(scan.excluded),
            notices=(*notices, *scan.notices),
        )
        self.trees.insert(index, tree)

    def add_file(self, top: Path, repository: Repository | None, file: Path) -> None:
        """Take exactly one file, whatever rules say of it."""
        path = file.relative_to(top).as_posix()
        entry = list_file(file, path, tracked=path in self._find_tracked(repository))
        notices = () if repository is None else repository.notices
        if isinstance(entry, Skip):
            self.trees.append(Tree(top, repository, (), skipped=(entry,), notices=notices))
        else:
            self.trees.append(Tree(top, repository, (entry,), notices=notices))

    def _find_tracked(self, repository: Repository | None) -> frozenset[str]:
        if repository is None:
            return frozenset()
        listing = self._repositories.list_tree(repository)
        return listing.tracked if listing else self._repositories.tracked_paths(repository)

    def _look(self, repository: Repository | None, under: str, notices: list[str]) -> View:
        """Return how a tree is to be judged; what could not be learned is added to ``notices``."""
        if repository is None:
            return self._judge_by_rules(None, View(), notices)
        listing = self._repositories.list_tree(repository)
        if listing is None:
            if not notices:
                notices.append(f"git did not list {repository.root}: mempal read its ignore rules")
            view = View(tracked=self._repositories.tracked_paths(repository))
        else:
            view = View.of_listing(listing, reads_mempalignore=self._rules.use_mempalignore)
            if self._rules.use_gitignore and not _is_ignored(listing, under):
                return view
        return self._judge_by_rules(repository, view, notices)

    def _judge_by_rules(
        self, repository: Repository | None, known: View, notices: list[str]
    ) -> View:
        """Return the view in which rules decide, with the tracked paths that are known."""
        git_rules = RuleSet()
        if self._rules.use_gitignore:
            for file in self._repositories.excludes_file(repository):
                try:
                    # A link is fine here: the file is the user's own.
                    rules = read_rules(file.resolve(strict=True), _show(file, repository))
                except (OSError, RuntimeError) as error:
                    notices.append(f"the rules in {file} do not hold: {error}")
                else:
                    git_rules = git_rules.joined("", rules)
        return View(
            tracked=known.tracked,
            submodules=known.submodules,
            git_rules=git_rules,
            reads_gitignore=self._rules.use_gitignore,
            reads_mempalignore=self._rules.use_mempalignore,
        )


def _resolve(path: Path) -> Path:
    """Return the one spelling of a path that exists.

    Raises:
        NotFoundError: It does not exist.
        SourceError: It cannot be looked at.
    """
    try:
        path.stat()
        return path.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFoundError(
            f"{path} does not exist", hint="check the path that is to be mined"
        ) from None
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SourceError(f"{path} cannot be read: {reason}", hint="mine another path") from error


def _refuse_repository_data(
    start: Path, repositories: Repositories, barred: frozenset[str]
) -> None:
    if str(start) in barred:
        raise SourceError(
            f"nothing to mine: {start} is mempal's own folder", hint="name a project's folder"
        )
    if ".git" in start.parts:
        raise SourceError(
            f"nothing to mine: {start} lies in git's own data", hint="mine the working tree"
        )
    if not start.is_dir() and not start.is_file():
        raise SourceError(
            f"nothing to mine: {start} is neither a folder nor a regular file",
            hint="name a folder or a file",
        )
    if start.is_dir() and repositories.is_bare(start):
        raise SourceError(
            f"nothing to mine: {start} is a bare repository, it has no files checked out",
            hint="clone it and mine the clone",
        )


def _read_named(file: Path) -> tuple[Rule, ...]:
    try:
        # A link is fine here: the user named it.
        return read_rules(file.resolve(strict=True), str(file))
    except FileNotFoundError:
        raise NotFoundError(
            f"the ignore file {file} does not exist", hint="check what --ignore-file names"
        ) from None
    except (OSError, RuntimeError, ValueError) as error:
        raise SourceError(
            f"the ignore file {file} cannot be read: {error}", hint="check what --ignore-file names"
        ) from error


def _show(file: Path, repository: Repository | None) -> str:
    """Return how git names a rule file: relative to the working tree if it lies there."""
    if repository is not None and file.is_relative_to(repository.root):
        return file.relative_to(repository.root).as_posix()
    return str(file)


def _is_ignored(listing: TreeListing, path: str) -> bool:
    """Return whether git ignores a path or a folder that it is in."""
    ignored = {skip.path for skip in listing.ignored}
    parts = path.split("/")
    return any("/".join(parts[: count + 1]) in ignored for count in range(len(parts)))


def _sort(skips: Iterable[Skip]) -> tuple[Skip, ...]:
    return tuple(sorted(skips, key=lambda skip: skip.path))
