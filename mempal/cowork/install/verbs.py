"""Putting the hooks in and taking them out.

Every file is read and understood before the first is written, so a file that is refused leaves all
of them as they are.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mempal.core.errors import ConfigError
from mempal.core.secrets import redact
from mempal.cowork.install import hosts, merge
from mempal.cowork.install.hosts import Place
from mempal.cowork.install.owner import Owner
from mempal.cowork.install.store import BOM, Settings
from mempal.cowork.names import CLAUDE, CODEX

_STEPS = {
    CLAUDE: (
        "Claude Code: type /hooks, or restart it, to see the hook; it works from the next prompt on"
    ),
    CODEX: (
        "Codex: restart it, open /hooks and trust the hook; until then Codex skips it silently."
        " `codex exec` cannot ask for trust"
    ),
}


@dataclass(frozen=True, slots=True)
class Result:
    """What was done to one settings file.

    Attributes:
        host: ``claude`` or ``codex``.
        scope: ``project`` or ``user``.
        path: The file.
        action: ``registered``, ``unchanged``, ``healed``, ``removed`` or ``absent``.
        command: What the host runs; ``None`` when nothing of ours is left.
        diff: What changed, secrets taken out; empty for nothing.
        backup: The copy of the file as it was; ``None`` when none was needed.
    """

    host: str
    scope: str
    path: str
    action: str
    command: str | None
    diff: str
    backup: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """What was done, or would be, and what is left to the user."""

    dry_run: bool
    results: tuple[Result, ...]
    next_steps: tuple[str, ...]
    warnings: tuple[str, ...]


def install_hooks(
    targets: Sequence[tuple[str, str]], cwd: Path, *, home: Path | None = None, dry_run: bool
) -> Report:
    """Make each host bring the partner's messages before each prompt.

    Args:
        targets: Pairs of host and scope.
        cwd: A folder of the project.
        home: The palace folder that the hook is to use; ``None`` leaves it to its environment.
        dry_run: Whether to write nothing.

    Raises:
        ConfigError: A settings file cannot be understood or written.
        BusyError: Another program keeps changing one.
    """
    jobs = [
        _Job(hosts.find_place(host, scope, cwd), hosts.build_command(host, home))
        for host, scope in targets
    ]
    results = _run(jobs, dry_run=dry_run)
    named = {result.host for result in results}
    steps = [step for host, step in _STEPS.items() if host in named]
    steps += [f"{path} is not used any more" for path in _list_scripts(jobs)]
    warnings = hosts.warn_of_flag() if CODEX in named else []
    return Report(dry_run, results, tuple(steps), tuple(warnings))


def uninstall_hooks(targets: Sequence[tuple[str, str]], cwd: Path, *, dry_run: bool) -> Report:
    """Take our handlers out again, and nothing else.

    Args:
        targets: Pairs of host and scope.
        cwd: A folder of the project.
        dry_run: Whether to write nothing.

    Raises:
        ConfigError: A settings file cannot be understood or written.
        BusyError: Another program keeps changing one.
    """
    jobs = [_Job(hosts.find_place(host, scope, cwd), None) for host, scope in targets]
    results = _run(jobs, dry_run=dry_run)
    steps = [f"{path} is not used any more" for path in _list_scripts(jobs)]
    return Report(dry_run, results, tuple(steps), ())


def _run(jobs: "list[_Job]", *, dry_run: bool) -> tuple[Result, ...]:
    planned = [job.look() for job in jobs]
    if dry_run:
        return tuple(planned)
    for job, result in zip(jobs, planned, strict=True):
        if result.diff:
            job.check()
    return tuple(
        job.carry_out() if result.diff else result
        for job, result in zip(jobs, planned, strict=True)
    )


def _list_scripts(jobs: "list[_Job]") -> list[Path]:
    return sorted({path for job in jobs for path in job.owner.scripts})


class _Job:
    """What is to be done to one settings file: put ``command`` in, or take ours out."""

    def __init__(self, place: Place, command: str | None) -> None:
        self._place = place
        self._command = command
        self._settings = Settings(place.path)
        self._action = merge.ABSENT
        self.owner = Owner(place.root)

    def look(self) -> Result:
        """Tell what would be done."""
        before = self._settings.read()
        return self._report(before, self._plan(before), None)

    def check(self) -> None:
        """Refuse a file that may not be written."""
        self._settings.check_writable()

    def carry_out(self) -> Result:
        """Do it."""
        return self._report(*self._settings.change(self._plan, self._is_worth_keeping))

    def _is_worth_keeping(self, data: bytes) -> bool:
        """Return whether settings hold more than what we wrote ourselves."""
        text, action = self._strip(data)
        return action == merge.ABSENT or not merge.is_empty(text, str(self._place.path))

    def _strip(self, data: bytes) -> tuple[str, str]:
        path, text = str(self._place.path), self._settings.decode(data)
        return merge.remove(text, path, self.owner, frozenset())

    def _plan(self, before: bytes | None) -> bytes | None:
        if before is None:
            return self._plan_new()
        path, text = str(self._place.path), self._settings.decode(before)
        if self._command is not None:
            wanted = hosts.build_handler(self._place.host, self._command)
            after, self._action = merge.register(text, path, wanted, self.owner)
        else:
            copies = self._settings.list_backups()
            after, self._action = merge.remove(text, path, self.owner, self._list_kept(copies))
            is_ours = self._action == merge.REMOVED and not copies
            # Without a copy of what was there before us, nothing was.
            if is_ours and not self._place.path.is_symlink() and merge.is_empty(after, path):
                return None
        mark = BOM if before.startswith(BOM) else b""
        return mark + after.encode()

    def _plan_new(self) -> bytes | None:
        if self._command is None:
            self._action = merge.ABSENT
            return None
        self._action = merge.REGISTERED
        return merge.create(hosts.build_handler(self._place.host, self._command)).encode()

    def _list_kept(self, copies: list[bytes]) -> frozenset[str]:
        """Return which empty parts the settings had before ours was put in."""
        if not copies:
            return frozenset()
        path = str(self._place.path)
        try:
            text, _ = merge.remove(self._settings.decode(copies[0]), path, self.owner, frozenset())
            return merge.list_kept(text, path)
        except ConfigError:  # a copy that somebody edited since says nothing
            return frozenset()

    def _report(self, before: bytes | None, after: bytes | None, backup: Path | None) -> Result:
        place = self._place
        return Result(
            host=place.host,
            scope=place.scope,
            path=str(place.path),
            action=self._action,
            command=self._command,
            diff=_compare(before, after, str(place.path)),
            backup=str(backup) if backup else None,
        )


def _compare(before: bytes | None, after: bytes | None, path: str) -> str:
    """Return the difference of two states of a file, as ``diff -u`` writes it."""
    if before == after:
        return ""
    old, new = (
        re.findall(r"[^\n]*\n|[^\n]+", (data or b"").decode("utf-8", "replace"))
        for data in (before, after)
    )
    names = [path if data is not None else "/dev/null" for data in (before, after)]
    lines = difflib.unified_diff(old, new, names[0], names[1])
    ended = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ]
    return redact("".join(ended)).text
