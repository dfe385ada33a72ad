"""Where the inboxes, claims, receipts and lock of a project lie, and reading them unharmed."""

import os
import re
import stat

from mempal.core.errors import InboxError
from mempal.cowork.identity import list_file_names, project_identity

LARGEST_FILE = 16 << 20  # bytes; an inbox holds 32 KiB, a log of receipts some 100 KiB
_CLAIM = re.compile(r"\.claim-[0-9a-f]+-[0-9a-f]+(-shown)?")
_CONFIG = "config.toml"


class Place:
    """One project's part of the palace folder.

    Attributes:
        home: The palace folder.
        project: Identity of the project.
        names: File names, without ending, under which its messages may lie; the first is written.
        receipts: The log of both directions.
        lock: The lock file of both.
    """

    __slots__ = ("home", "lock", "names", "project", "receipts")

    def __init__(self, home: str, cwd: str) -> None:
        from mempal.cowork.lock import hash_lock_name  # noqa: PLC0415 - pushes and drains only

        join_worktrees, ignore_home_git = _read_options(home)
        self.home = home
        self.project = project_identity(
            cwd, join_worktrees=join_worktrees, ignore_home_git=ignore_home_git
        )
        self.names = list_file_names(cwd, self.project)
        self.receipts = f"{home}/cowork-inbox/receipts/{self.names[0]}.jsonl"
        self.lock = f"{home}/locks/receipts-{hash_lock_name(self.receipts)}.lock"

    def inbox(self, tool: str, name: str | None = None) -> str:
        """Return the inbox of a tool."""
        return f"{self.home}/cowork-inbox/{tool}/{name or self.names[0]}.jsonl"

    def list_claims(self, tool: str, name: str) -> list[str]:
        """Return what drains have taken out of an inbox and not finished, oldest first.

        A claim of the reference has the ending ``.draining``; ours name the process that took them.
        """
        folder = f"{self.home}/cowork-inbox/{tool}"
        try:
            entries = os.listdir(folder)  # noqa: PTH208 - hooks load no pathlib
        except OSError:
            return []
        found = [
            f"{folder}/{entry}"
            for entry in entries
            if entry.startswith(name)
            and (entry == f"{name}.draining" or _CLAIM.fullmatch(entry[len(name) :]))
        ]
        return sorted(found, key=_tell_age)


def read_file(path: str) -> bytes | None:
    """Return the bytes of a regular file; ``None`` when there is none.

    Raises:
        InboxError: It cannot be read, or is no regular file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise explain_unreadable(path, error) from error
    try:
        return read_descriptor(descriptor, path)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int, path: str) -> bytes:
    """Return what an open file holds, from its beginning.

    Raises:
        InboxError: It cannot be read, is no regular file or is too large.
    """
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise InboxError(f"{path} is not a regular file", hint="move it away")
        if status.st_size > LARGEST_FILE:
            raise InboxError(f"{path} is larger than {LARGEST_FILE} bytes", hint="move it away")
        os.lseek(descriptor, 0, os.SEEK_SET)
        parts = []
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
    except OSError as error:
        raise explain_unreadable(path, error) from error
    return b"".join(parts)


def is_at(path: str, descriptor: int) -> bool:
    """Return whether an open file is still the one at a path.

    Raises:
        OSError: The system does not say.
    """
    try:
        there = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return False
    mine = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, in one call where the system takes them at once.

    Raises:
        OSError: The system refuses.
    """
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def replace_file(path: str, data: bytes) -> None:
    """Write a file as a whole, or leave it as it is.

    Raises:
        OSError: The system refuses.
    """
    beside = f"{path}.{os.getpid():x}.new"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(beside, path)  # noqa: PTH105


def explain_unreadable(path: str, error: Exception) -> InboxError:
    """Return why a file cannot be read as an error of our own."""
    reason = getattr(error, "strerror", None) or error
    return InboxError(f"{path} cannot be read ({reason})", hint="check the file")


def _tell_age(path: str) -> tuple[int, str]:
    try:
        return os.stat(path).st_mtime_ns, path  # noqa: PTH116
    except OSError:
        return 0, path


def _read_options(home: str) -> tuple[bool, bool]:
    """Return how worktrees and a ``.git`` in the home folder count; a bad file means neither."""
    try:
        data = read_file(f"{home}/{_CONFIG}")
    except InboxError:
        return False, False
    if not data or b"cowork" not in data:  # parsing takes longer than all that a drain does
        return False, False
    import tomllib  # noqa: PLC0415

    try:
        table = tomllib.loads(data.decode("utf-8-sig")).get("cowork")
    except ValueError:
        return False, False
    if not isinstance(table, dict):
        return False, False
    return table.get("join_worktrees") is True, table.get("ignore_home_git") is True
