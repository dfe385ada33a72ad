"""Which handlers are ours: those that run ``mempal cowork-drain`` and nothing else.

A command that only mentions it (in a comment, in a text to print) or that runs something else too
is the user's. So is the script that an earlier installer wrote, once more was put into it.
"""

import re
import shlex
from pathlib import Path

from mempal.core.files import read_linked
from mempal.cowork.install.tree import Kind, Node

SCRIPT = ".claude/hooks/user-prompt-submit.sh"
_SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?")
# What may follow a drain so that its exit code never counts.
_GUARDS = (["||", "true"], ["||", ":"], ["||", "exit", "0"])
_LARGEST_SCRIPT = 65536
_LONGEST_CALL = 2


class Owner:
    """Tells our handlers from the user's.

    Attributes:
        root: The folder from which a relative command runs.
        scripts: The scripts of an earlier installer that handlers of ours ran.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.scripts: set[Path] = set()

    def owns(self, handler: Node) -> bool:
        """Return whether a handler of a settings file is ours."""
        kind, command = handler.get("type"), handler.get("command")
        if command is None or command.kind is not Kind.TEXT:
            return False
        if kind is not None and kind.scalar != "command":
            return False
        line = str(command.scalar)
        arguments = handler.get("args")
        if arguments is not None:
            words = [line, *(str(one.scalar) for one in arguments.items)]
            return _is_drain(words)
        return runs_drain(line) or self._runs_script(line)

    def _runs_script(self, line: str) -> bool:
        words = _split(line)
        if not words or not words[-1].endswith(SCRIPT) or len(words) > _LONGEST_CALL:
            return False
        if len(words) == _LONGEST_CALL and _base(words[0]) not in _SHELLS:
            return False
        path = Path(words[-1])
        if not path.is_absolute():  # or under a variable that stands for the project
            path = self.root / SCRIPT
        if not _only_drains(path):
            return False
        self.scripts.add(path)
        return True


def runs_drain(line: str) -> bool:
    """Return whether a shell command runs ``mempal cowork-drain`` and nothing else."""
    words = _split(line)
    for guard in _GUARDS:
        if words[-len(guard) :] == guard:
            words = words[: -len(guard)]
    if any(set(word) <= set(";|&()") for word in words):
        return False
    return _is_drain(words)


def _is_drain(words: list[str]) -> bool:
    if words and _PYTHON.fullmatch(_base(words[0])) and words[1:3] == ["-m", "mempal"]:
        words = words[2:]
    elif not words or _base(words[0]) not in {"mempal", "mempal.exe"}:
        return False
    # The second is how an early release spelled it.
    return words[1:2] == ["cowork-drain"] or words[1:3] == ["cowork", "drain"]


def _split(line: str) -> list[str]:
    """Return the words of a shell command, operators apart; none for what is no single line."""
    if "\n" in line.strip():
        return []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return [word for word in lexer if word]
    except ValueError:  # a quote that is never closed
        return []


def _base(word: str) -> str:
    return re.split(r"[\\/]", word)[-1]


def _only_drains(path: Path) -> bool:
    try:
        text = read_linked(path, _LARGEST_SCRIPT).decode()
    except (OSError, ValueError):
        return False
    lines = [line.strip() for line in text.replace("\\\n", " ").split("\n")]
    commands = [line for line in lines if line and not line.startswith(("#", "set -"))]
    if commands[-1:] == ["exit 0"]:
        commands.pop()
    return len(commands) == 1 and runs_drain(commands[0].removeprefix("exec "))
