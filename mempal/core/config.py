"""Configuration: one table of keys, read from ``config.toml`` in the palace folder.

Every key has a default; a missing file means all defaults. A file that cannot be read, and a value
that is not what its key takes, are refused with file, line and key. An unknown key is a warning.
"""

import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mempal.core.errors import ConfigError, UsageError
from mempal.core.files import read_linked
from mempal.core.home import locate_home

FILE_NAME = "config.toml"
LARGEST_FILE = 1_000_000  # bytes

_HEADER = re.compile(r"\s*\[{1,2}\s*([\w.-]{1,80})\s*\]")
_SETTING = re.compile(r"\s*([\w.-]{1,80})\s*=")


@dataclass(frozen=True, slots=True)
class Key:
    """What one configuration key takes.

    Attributes:
        default: Value when the file does not say; its type is the type the key takes.
        help: One line for people.
        choices: The only values allowed, when not empty.
        minimum: Smallest number allowed.
        maximum: Largest number allowed.
    """

    default: str | int | float | bool
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


KEYS: MappingProxyType[str, Key] = MappingProxyType(
    {
        "wing": Key("", "wing used when no --wing is given; empty: the git root's folder name"),
        "embed.backend": Key(
            "static",
            "what turns text into vectors",
            choices=("static", "ollama", "openai", "hash"),
        ),
        "embed.model": Key("", "model name for ollama and openai"),
        "embed.endpoint": Key("", "URL of the embedding endpoint; empty: the local default"),
        "embed.api_key_env": Key("", "environment variable that holds the endpoint's key"),
        "embed.dim": Key(0, "dimensions of the vectors; 0: ask the model", minimum=0),
        "index.backend": Key("auto", "vector index", choices=("auto", "exact", "chroma")),
        "index.ann_threshold": Key(
            500_000, "drawers above which `auto` answers from Chroma", minimum=0
        ),
        "index.chroma_url": Key("", "URL of a Chroma server; empty: embedded in the palace folder"),
        "mine.limit_file_size": Key(2_097_152, "largest file that is mined, in bytes", minimum=1),
        "search.floor": Key(
            -1.0,
            "score in [0, 1] under which nothing is returned; -1: the measured default",
            minimum=-1,
            maximum=1,
        ),
        "cowork.join_worktrees": Key(
            False, "whether all worktrees of one repository share one inbox"
        ),
        "cowork.ignore_home_git": Key(
            False, "whether a .git in the home folder leaves the folders below it alone"
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of one palace.

    Attributes:
        home: The palace folder.
        values: Value of every key of :data:`KEYS`.
        warnings: What in the file was not understood but does no harm.
    """

    home: Path
    values: MappingProxyType[str, Any]
    warnings: tuple[str, ...] = ()

    def text(self, key: str) -> str:
        """Return a text value."""
        return str(self.values[key])

    def number(self, key: str) -> int:
        """Return a whole number."""
        return int(self.values[key])

    def fraction(self, key: str) -> float:
        """Return a number that need not be whole."""
        return float(self.values[key])


def find_home(option: str | None = None) -> Path:
    """Return the palace folder: the option, else ``MEMPAL_HOME``, else ``~/.mempal``."""
    return Path(locate_home(option))


def find_key(key: str) -> Key:
    """Return what a key takes.

    Raises:
        UsageError: There is no such key.
    """
    if key not in KEYS:
        raise UsageError(f"no such configuration key: {key}", hint=f"known keys: {', '.join(KEYS)}")
    return KEYS[key]


def check_value(key: str, value: object) -> str | int | float | bool:
    """Return ``value`` as what ``key`` takes.

    Raises:
        ConfigError: It is of another type, not among the choices or too small.
    """
    rule = find_key(key)
    wanted = type(rule.default)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not wanted:
        raise ConfigError(f"{key} takes {_describe(rule)}, not {value!r}")
    if rule.choices and value not in rule.choices:
        raise ConfigError(f"{key} takes {_describe(rule)}, not {value!r}")
    low = -math.inf if rule.minimum is None else rule.minimum
    high = math.inf if rule.maximum is None else rule.maximum
    if not isinstance(value, str) and not low <= float(value) <= high:
        raise ConfigError(f"{key} takes {_describe(rule)}, not {value!r}")
    return value


def parse_value(key: str, text: str) -> str | int | float | bool:
    """Read a value given on a command line.

    Raises:
        ConfigError: It is not what the key takes.
    """
    wanted = type(find_key(key).default)
    if wanted is bool:
        return check_value(key, {"true": True, "false": False}.get(text.strip().lower(), text))
    try:
        value: object = text if wanted is str else wanted(text.replace("_", ""))
    except ValueError as error:
        raise ConfigError(f"{key} takes {_describe(KEYS[key])}, not {text!r}") from error
    return check_value(key, value)


def load_config(home: Path) -> Config:
    """Read the configuration of a palace.

    Raises:
        ConfigError: The file cannot be read, or holds a value that its key does not take.
    """
    path = home / FILE_NAME
    text = _read_text(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{path}:{_place_error(text, str(error))}",
            hint="correct the file, or move it away to use defaults",
        ) from error
    values: dict[str, Any] = {key: rule.default for key, rule in KEYS.items()}
    warnings = []
    for key, value in _flatten(document):
        if key not in KEYS:
            warnings.append(f"{path}:{_find_line(text, key)}: unknown key {key}")
            continue
        try:
            values[key] = check_value(key, value)
        except ConfigError as error:
            raise ConfigError(
                f"{path}:{_find_line(text, key)}: {error.message}",
                hint="correct the value, or remove the line to use the default",
            ) from error
    return Config(home, MappingProxyType(values), tuple(warnings))


def _read_text(path: Path) -> str:
    try:
        return read_linked(path, LARGEST_FILE).decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: not UTF-8 text", hint="save the file as UTF-8"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror or error})", hint="check the file"
        ) from error


def _flatten(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in KEYS:
            pairs.extend(_flatten(value, f"{key}.") or [(key, value)])
        else:
            pairs.append((key, value))
    return pairs


def _place_error(text: str, message: str) -> str:
    """Return what a parser says is wrong, behind the line and the key that it is about.

    The value is not repeated: it may be a secret.
    """
    reason, _, place = message.rpartition(" (at ")
    lines = text.rstrip("\n").split("\n")
    given = re.match(r"line (\d+)", place)
    number = int(given[1]) if given else len(lines)
    section = key = ""
    for line in lines[:number]:
        if header := _HEADER.match(line):
            section, key = header[1], ""
        elif setting := _SETTING.match(line):
            key = setting[1]
    name = ".".join(part for part in (section, key) if part)
    return f"{number}: {name}: {reason or message}" if name else f"{number}: {reason or message}"


def _find_line(text: str, key: str) -> int:
    """Return the 1-based line where a key is set; 1 when it cannot be told."""
    section, _, name = key.rpartition(".")
    current = ""
    for number, line in enumerate(text.split("\n"), 1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            current = header.group(1)
            if current == key:
                return number
        for spelled, within in ((name, section), (key, "")):
            if current == within and re.match(rf"\s*[\"']?{re.escape(spelled)}[\"']?\s*[=.]", line):
                return number
    return 1


def _describe(rule: Key) -> str:
    if rule.choices:
        return "one of " + ", ".join(rule.choices)
    kind = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}[
        type(rule.default)
    ]
    if rule.minimum is None:
        return kind
    if rule.maximum is None:
        return f"{kind} not below {rule.minimum:g}"
    return f"{kind} from {rule.minimum:g} to {rule.maximum:g}"
