"""Changing one key of ``config.toml`` and nothing else in it, with tomlkit."""

import os
import tempfile
import tomllib
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from mempal.core.config import LARGEST_FILE
from mempal.core.errors import ConfigError
from mempal.core.files import read_regular

_BOM = "\ufeff"


def set_value(path: Path, key: str, value: str | float | bool) -> None:
    """Set one dotted key of a TOML file; comments, order and every other value stay.

    The file is replaced in one step, readable by its owner only, and made when there is none. A
    symbolic link stays one: what it points to is replaced.

    Raises:
        ConfigError: The file is not TOML, holds a value where the key needs a table, or cannot be
            read or written; it is left as it was.
    """
    target = Path(os.path.realpath(path))
    try:
        text = _read(target)
        changed = _change(path, text, key, value)
        if changed != text:
            _replace(target, changed)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be changed ({error.strerror or error})",
            hint="check the file and its folder",
        ) from error


def _read(target: Path) -> str:
    try:
        return read_regular(target, LARGEST_FILE).decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ConfigError(f"{target}: not UTF-8 text", hint="save the file as UTF-8") from error


def _change(path: Path, text: str, key: str, value: str | float | bool) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    mark = _BOM if text.startswith(_BOM) else ""
    try:
        document = tomlkit.parse(text.removeprefix(_BOM))
    except TOMLKitError as error:
        raise ConfigError(
            f"{path}: {error}", hint="correct the file first; it was left as it was"
        ) from error
    wanted = document.unwrap()
    _assign(path, wanted, key, value)
    _assign(path, document, key, value)
    changed = tomlkit.dumps(document)
    if _parse(changed) != wanted:
        raise ConfigError(
            f"{path}: {key} cannot be set without touching other keys", hint="edit the file by hand"
        )
    return mark + changed


def _assign(
    path: Path, table: MutableMapping[str, Any], key: str, value: str | float | bool
) -> None:
    if key in table:  # at the top, or spelled with its dots in quotes
        table[key] = value
        return
    head, dot, rest = key.partition(".")
    if not dot:
        table[key] = value
        return
    below = table.setdefault(head, {})
    if not isinstance(below, MutableMapping):
        raise ConfigError(
            f"{path}: {head} is a value, but {key} needs it to be a table",
            hint=f"remove {head} from the file",
        )
    _assign(path, below, rest, value)


def _parse(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _replace(target: Path, text: str) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
