"""Where each host keeps its hooks, and the handler it gets from us."""

import os
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from mempal.core.errors import ConfigError
from mempal.core.files import read_linked
from mempal.cowork.identity import project_identity
from mempal.cowork.names import CLAUDE, CODEX

PROJECT, USER = "project", "user"
TITLES = {CLAUDE: "Claude Code", CODEX: "Codex"}
_FORMATS = {CLAUDE: "claude-hook-json", CODEX: "codex-hook-json"}
# Claude Code waits 30 seconds before a prompt unless told otherwise; the drain itself gives up
# after five.
_EXTRAS: dict[str, dict[str, object]] = {
    CLAUDE: {"timeout": 10},
    CODEX: {"statusMessage": "mempal cowork drain"},
}
_FOLDERS = {
    CLAUDE: ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    CODEX: ("CODEX_HOME", ".codex", "hooks.json"),
}
_LARGEST_CONFIG = 1 << 22


@dataclass(frozen=True, slots=True)
class Place:
    """A settings file.

    Attributes:
        host: ``claude`` or ``codex``.
        scope: ``project`` or ``user``.
        path: The file, there or not; a link stays a link.
        root: The folder that the host's folder is in.
    """

    host: str
    scope: str
    path: Path
    root: Path


def find_place(host: str, scope: str, cwd: Path) -> Place:
    """Return the settings file of a host."""
    variable, folder, name = _FOLDERS[host]
    if scope == PROJECT:
        # A repository of the user's own dotfiles does not make every folder below it one project.
        root = Path(project_identity(str(cwd), ignore_home_git=True))
        return Place(host, scope, root / folder / name, root)
    given = os.environ.get(variable)
    home = Path(given).expanduser() if given else Path("~").expanduser() / folder
    home = Path(os.path.abspath(home))  # noqa: PTH100 - links are kept
    return Place(host, scope, home / name, home.parent)


def build_command(host: str, home: Path | None) -> str:
    """Return what a host runs before a prompt, quoted for its shell.

    No guard follows it: ``cowork-drain`` ends with 0 whatever happens, and the shell's 127 for a
    command that is gone is told by both hosts but stops no prompt. Only 2 would.

    Args:
        host: ``claude`` or ``codex``.
        home: The palace folder to name; ``None`` leaves it to the environment.

    Raises:
        ConfigError: The command's path cannot be written into a settings file.
    """
    options = ["--target", host, "--format", _FORMATS[host], "--cwd-source", "stdin-json"]
    if home is not None:
        options += ["--home", os.path.abspath(home)]  # noqa: PTH100
    command = shlex.join([*_find_program(), "cowork-drain", *options])
    if not command.isprintable():
        raise ConfigError(
            "the path of the mempal command or of the palace holds characters that do not belong"
            " into a settings file",
            hint="install mempal, or keep the palace, in a folder with a plain name",
        )
    return command


def build_handler(host: str, command: str) -> dict[str, object]:
    """Return our handler as a new one is written."""
    return {"type": "command", "command": command, **_EXTRAS[host]}


def warn_of_flag() -> list[str]:
    """Return a warning when Codex is told to run no hooks; it runs them unless told."""
    path = find_place(CODEX, USER, Path("/")).path.with_name("config.toml")
    try:
        features = tomllib.loads(read_linked(path, _LARGEST_CONFIG).decode()).get("features")
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not valid TOML"
        return [f"{path} cannot be read ({reason}): whether Codex runs hooks is unknown"]
    if not isinstance(features, dict):
        return []
    # The first is today's name, and decides.
    name = next((one for one in ("hooks", "codex_hooks") if one in features), None)
    if name is None or features[name] is not False:
        return []
    warning = (
        f"the `{name}` feature is currently disabled in {path}, so Codex runs no hook:"
        f" `codex features enable {name}` turns it on"
    )
    return [warning]


def _find_program() -> list[str]:
    # Beside the interpreter first: that is the mempal that is running now. Links stay, since those
    # of a package manager outlive what they lead to.
    beside = shutil.which("mempal", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("mempal")
    if found:
        return [os.path.abspath(found)]  # noqa: PTH100
    return [sys.executable, "-m", "mempal"]
