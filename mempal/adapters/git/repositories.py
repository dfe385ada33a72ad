"""Working trees as the git program shows them, and as far as possible without it.

One look at a tree costs four calls of git: what it is, what it shows, what it hides, and by which
rules. Paths come as bytes and are decoded like any file name of the system, so that each of them
opens its file.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from mempal.adapters.git import history, layout
from mempal.adapters.git.command import Git, printable
from mempal.adapters.git.index import read_tracked
from mempal.core.commits import CommitListing
from mempal.core.model import Repository, Skip, TreeListing

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SUBMODULE_MODE = b"160000"
_FILE_MODES = (b"100644 blob ", b"100755 blob ")
_FIELDS_PER_RULE = 4
_TIMEOUT = 60.0


class GitRepositories:
    """The port ``Repositories`` on the git program, or on GitPython where there is none.

    Args:
        environment: Variables to start git with, those of this process by default. ``PATH`` says
            where git is, ``HOME`` and ``XDG_CONFIG_HOME`` where the user's settings are.
        timeout: Seconds after which one call of git is given up.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, timeout: float = _TIMEOUT
    ) -> None:
        self._environment = os.environ if environment is None else environment
        self._git = Git(self._environment, timeout)
        self._refused: set[Path] = set()
        self._commit_tree: tuple[str, bytes] | None = None

    def find(self, path: Path) -> Repository | None:
        """Return the working tree that ``path`` lies in; ``None`` outside of any.

        What git will not tell is a notice of the answer, never an error.
        """
        try:
            start = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        top = layout.find_top(start)
        if top is None:
            return None
        found = self._ask(top) if self._git.program else _read_repository(top)
        if found.notices and self._git.program:
            self._refused.add(top)
        else:
            self._refused.discard(top)
        return found

    def is_bare(self, path: Path) -> bool:
        """Return whether ``path`` itself is a repository without a working tree."""
        return layout.is_bare(path)

    def list_tree(self, repository: Repository) -> TreeListing | None:
        """Return what git would show of a working tree; ``None`` when git cannot tell."""
        root = repository.root
        if root in self._refused:
            return None
        shown = self._git.run(root, "ls-files", "-z", "-t", "-s", "-c", "-o", "--exclude-standard")
        if not shown.ok:
            return None
        hidden = self._git.run(
            root, "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory"
        )
        if not hidden.ok:
            return None
        tracked, untracked, linked = _sort_entries(shown.output)
        submodules = {path for path in linked if layout.has_git(root / path)}
        nested = {path for path in submodules if layout.is_linked(root / path)}
        nested.update(path.removesuffix("/") for path in untracked if path.endswith("/"))
        files = tracked.union(path for path in untracked if not path.endswith("/"))
        return TreeListing(
            files=tuple(sorted(files)),
            tracked=frozenset(tracked),
            submodules=tuple(sorted(submodules - nested)),
            nested=tuple(sorted(nested)),
            ignored=tuple(self._explain(root, hidden.output)),
        )

    def tracked_paths(self, repository: Repository) -> frozenset[str]:
        """Return tracked paths, submodules included, read from the index file.

        Empty when the index cannot be read, or when git refused to read this repository.
        """
        git_folder = layout.find_git_folder(repository.root)
        if git_folder is None or repository.root in self._refused:
            return frozenset()
        return read_tracked(git_folder / "index", repository.object_format)

    def find_blob(self, repository: Repository, blob: str) -> str | None:
        """Return the first path in the checked-out commit that holds a blob, if one does."""
        commit = repository.commit
        if commit is None or not _OBJECT_ID.fullmatch(blob):
            return None
        if not self._git.program:
            return self._find_blob_alone(repository.root, commit, blob)
        listing = self._list_commit(repository.root, commit)
        records = [b"\0" + mode + blob.encode() + b"\t" for mode in _FILE_MODES]
        places = [(listing.find(record), len(record)) for record in records]
        first = min((place for place in places if place[0] >= 0), default=None)
        if first is None:
            return None
        start = sum(first)
        return os.fsdecode(listing[start : listing.index(b"\0", start)])

    def list_commits(
        self, repository: Repository, since: str | None, after: str | None
    ) -> CommitListing | None:
        """Return the history of the checked-out commit; ``None`` when git cannot tell.

        Raises:
            UsageError: ``since`` is neither a revision nor a date.
        """
        if repository.root in self._refused or not self._git.program:
            return None
        return history.list_commits(self._git, repository, since, after)

    def excludes_file(self, repository: Repository | None) -> list[Path]:
        """Return the global ignore file and ``info/exclude``, weakest first, if they exist."""
        files = [self._global_excludes()]
        git_folder = None if repository is None else layout.find_git_folder(repository.root)
        if git_folder is not None:
            files.append(layout.find_common_folder(git_folder) / "info" / "exclude")
        return [file for file in files if file is not None and layout.is_file(file)]

    def _ask(self, top: Path) -> Repository:
        """Ask git about the working tree whose ``.git`` was found."""
        answer = self._git.run(
            top, "rev-parse", "--show-object-format", "--show-toplevel", "--revs-only", "HEAD"
        )
        if not answer.ok:
            return _without_data(top, answer.complaint)
        object_format, _, rest = answer.output.partition(b"\n")
        # The top folder is compared, not parsed: its name may hold line ends.
        expected = os.fsencode(top.as_posix()) + b"\n"
        if not rest.startswith(expected):
            reported, _, head = rest.partition(b"\n")
            if not _is_same(Path(os.fsdecode(reported)), top):
                return _without_data(top, "its settings name another folder as its working tree")
        else:
            head = rest.removeprefix(expected)
        commit = head.decode("ascii", "replace").strip()
        return Repository(
            root=top,
            commit=commit if _OBJECT_ID.fullmatch(commit) else None,
            object_format="sha256" if object_format == b"sha256" else "sha1",
        )

    def _explain(self, root: Path, hidden: bytes) -> Iterator[Skip]:
        """Yield the ignored entries with their rules.

        git also names each folder that holds ignored files only, beside those files; where no rule
        speaks of the folder, the files say enough.
        """
        entries = sorted(set(filter(None, hidden.split(b"\0"))))
        if not entries:
            return
        # With ./ in front, a name that begins with a colon is not taken for a pattern. With / at
        # the end, the rules inside of a folder would be taken to speak of the folder itself.
        given = b"".join(b"./" + entry.removesuffix(b"/") + b"\0" for entry in entries)
        answer = self._git.run(
            root, "check-ignore", "-v", "-z", "--no-index", "--stdin", given=given
        )
        rules = dict(_read_rules(answer.output))
        for entry in entries:
            path = entry.removesuffix(b"/")
            reason = rules.get(b"./" + path)
            if reason is not None or path == entry:
                yield Skip(os.fsdecode(path), f"ignored by {reason or 'git'}")

    def _list_commit(self, root: Path, commit: str) -> bytes:
        """Return ``mode type id TAB path`` of every file of a commit, each between NUL bytes.

        The last answer is kept: a commit does not change, and a search asks for several blobs.
        """
        if self._commit_tree is None or self._commit_tree[0] != commit:
            answer = self._git.run(root, "ls-tree", "-r", "-z", "--full-tree", commit)
            self._commit_tree = (commit, b"\0" + answer.output if answer.ok else b"")
        return self._commit_tree[1]

    def _find_blob_alone(self, root: Path, commit: str, blob: str) -> str | None:
        git_folder = layout.find_git_folder(root)
        if git_folder is None:
            return None
        from mempal.adapters.git.objects import find_path

        return find_path(layout.find_common_folder(git_folder), commit, blob)

    def _global_excludes(self) -> Path | None:
        """Return the ignore file that holds for all of the user's trees, there or not."""
        home = self._environment.get("HOME") or self._environment.get("USERPROFILE")
        settings = self._environment.get("XDG_CONFIG_HOME") or (home and f"{home}/.config")
        if self._git.program:
            # Outside of any repository git reads the user's own settings only.
            answer = self._git.run(
                Path(os.sep),
                "config",
                "--get",
                "--type=path",
                "core.excludesFile",
                variables={"GIT_DIR": os.devnull},
            )
            named = os.fsdecode(answer.output).removesuffix("\n")
        else:
            named = _read_excludes_setting(home, settings)
        if named:
            return Path(named)
        return Path(settings, "git", "ignore") if settings else None


def describe_git() -> str | None:
    """Return the version and place of the git program; ``None`` when there is none to start."""
    git = Git(os.environ, _TIMEOUT)
    answer = git.run(Path(os.sep), "version")
    version = answer.output.decode(errors="backslashreplace").strip()
    return f"{version} ({git.program})" if answer.ok else None


def _read_repository(top: Path) -> Repository:
    """Read without the git program what lies in plain files."""
    git_folder = layout.find_git_folder(top)
    if git_folder is None:
        return _without_data(top, "its .git file points to a folder that is not there")
    return Repository(
        root=top,
        commit=layout.read_head(git_folder),
        object_format=layout.read_object_format(layout.find_common_folder(git_folder)),
        notices=("git is not installed: mempal reads repositories and ignore rules itself",),
    )


def _without_data(top: Path, complaint: str) -> Repository:
    return Repository(root=top, notices=(f"no git data for {printable(str(top))}: {complaint}",))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def _sort_entries(output: bytes) -> tuple[set[str], set[str], set[str]]:
    """Return what ``ls-files -t -s`` names: tracked files, untracked entries, submodules."""
    tracked: set[str] = set()
    untracked: set[str] = set()
    linked: set[str] = set()
    for record in output.split(b"\0"):
        if record.startswith(b"? "):
            untracked.add(os.fsdecode(record[2:]))
        elif record:
            fields, _, path = record.partition(b"\t")
            kind = linked if fields.split()[1] == _SUBMODULE_MODE else tracked
            kind.add(os.fsdecode(path))
    return tracked, untracked, linked


def _read_rules(output: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield each path of ``check-ignore -v -z`` with the rule that decides on it."""
    fields = output.split(b"\0")[:-1]
    for start in range(0, len(fields) - _FIELDS_PER_RULE + 1, _FIELDS_PER_RULE):
        origin, line, pattern, path = fields[start : start + _FIELDS_PER_RULE]
        if not pattern.startswith(b"!"):
            yield (
                path,
                " ".join((f"{_show(origin)}:{line.decode('ascii', 'replace')}", _show(pattern))),
            )


def _show(text: bytes) -> str:
    return text.decode(errors="backslashreplace")


def _read_excludes_setting(home: str | None, settings: str | None) -> str:
    files = [Path(os.sep, "etc", "gitconfig")]
    files += [Path(settings, "git", "config")] if settings else []
    files += [Path(home, ".gitconfig")] if home else []
    there = [file for file in files if layout.is_file(file)]
    if not there:
        return ""
    from mempal.adapters.git.objects import read_excludes_setting

    named = read_excludes_setting(there)
    return str(Path(named).expanduser()) if named else ""
