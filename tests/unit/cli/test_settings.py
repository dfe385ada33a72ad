"""``mempal config`` and the file behind it."""

import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.adapters.settings import set_value
from mempal.core.config import KEYS, load_config
from mempal.core.errors import ConfigError

Run = Callable[..., Any]

COMMENTED = """\
# who uses this palace
wing = "shop"  # the usual one

[index]
# small palaces need no more
backend = "auto"

[search]
floor = 0.1
"""


@pytest.fixture
def path(isolation: Any) -> Path:
    return isolation.palace / "config.toml"


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_get_prints_the_value_alone(run: Run, path: Path):
    write(path, COMMENTED)
    assert run("config", "get", "wing").out == "shop\n"
    assert run("config", "get", "search.floor", "--json").json == {
        "key": "search.floor",
        "value": 0.1,
    }
    assert run("config", "get", "--json").json["values"]["embed.backend"] == "static"


def test_list_names_every_key(run: Run, path: Path):
    document = run("config", "list", "--json").json
    assert document["path"] == str(path)
    assert set(document["values"]) == set(KEYS)
    out = run("config", "list").out
    assert all(key in out for key in KEYS)
    assert not path.parent.exists()


def test_a_doubtful_file_warns_and_a_bad_one_fails(run: Run, path: Path):
    write(path, "colour = 1\n")
    assert run("config", "get", "wing").err == f"warning: {path}:1: unknown key colour\n"
    write(path, 'wing = "a"\nindex.backend = "fast"\n')
    printed = run("config", "get", "wing", "--json")
    assert printed.code == 1
    assert printed.json["error"]["message"].startswith(f"{path}:2: index.backend takes")


def test_set_changes_one_line(run: Run, path: Path):
    write(path, COMMENTED)
    printed = run("config", "set", "index.backend", "exact", "--json")
    assert printed.json == {"key": "index.backend", "value": "exact", "path": str(path)}
    assert path.read_text() == COMMENTED.replace('"auto"', '"exact"')
    assert run("config", "set", "wing", "a b").out == "wing = a b\n"
    assert path.read_text() == COMMENTED.replace('"auto"', '"exact"').replace('"shop"', '"a b"')


def test_set_makes_file_and_folder_private(run: Run, path: Path):
    assert run("config", "set", "mine.limit_file_size", "5_000").code == 0
    assert tomllib.loads(path.read_text()) == {"mine": {"limit_file_size": 5000}}
    assert mode(path) == 0o600
    assert mode(path.parent) == 0o700


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("no.such.key", "1", 2),
        ("index.backend", "fast", 1),
        ("mine.limit_file_size", "many", 1),
        ("mine.limit_file_size", "0", 1),
    ],
)
def test_a_wrong_value_leaves_no_file(run: Run, path: Path, key: str, value: str, code: int):
    assert run("config", "set", key, value).code == code
    assert not path.parent.exists()


def test_set_mends_a_bad_value(run: Run, path: Path):
    write(path, 'index.backend = "fast"\n')
    assert run("config", "set", "index.backend", "exact").code == 0
    assert path.read_text() == 'index.backend = "exact"\n'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        "[embed]\nmodel = 'm'\n",
        "embed.model = 'm'\n",
        "embed = {model = 'm'}\n",
        '"embed.backend" = "static"\n',
        "[search]\nfloor = 0.1\n\n[embed]\n",
        'wing = "w"\r\n[embed]\r\nmodel = "m"\r\n',
        '\ufeffwing = "w"\n',
        "other = [1, 2]\n[[list]]\na = 1\n",
    ],
)
@pytest.mark.parametrize(("key", "value"), [("embed.backend", "hash"), ("wing", "new")])
def test_every_spelling_of_a_table_is_understood(path: Path, text: str, key: str, value: str):
    write(path, text)
    before = tomllib.loads(text.removeprefix("\ufeff"))
    set_value(path, key, value)
    after = path.read_bytes().decode()
    assert load_config(path.parent).values[key] == value
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    parsed = tomllib.loads(after.removeprefix("\ufeff"))
    for name, kept in before.items():
        if isinstance(kept, dict):
            assert kept.items() <= parsed[name].items()
        elif name != key:
            assert parsed[name] == kept
    for line in text.splitlines():
        if line.startswith("#"):
            assert line in after


@given(
    lines=st.lists(
        st.sampled_from(
            ["# note", "", 'wing = "w" # why', "search.floor = 0.5", "mine.limit_file_size = 1"]
        ),
        unique=True,
    ),
    tables=st.permutations(["[index]\nbackend = 'auto'", "[embed] # model\ndim = 3", "[x.y]"]),
    key=st.sampled_from(["wing", "index.backend", "embed.dim", "search.floor", "embed.model"]),
)
def test_only_the_line_of_the_key_changes(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], tables: list[str], key: str
):
    path = tmp_path_factory.mktemp("config") / "config.toml"
    text = "\n".join([*lines, *tables]) + "\n"
    path.write_text(text)
    value: Any = {"embed.dim": 7, "search.floor": 0.25}.get(key, "exact")
    set_value(path, key, value)
    kept = path.read_text().splitlines()
    lost = [line for line in text.splitlines() if line and line not in kept]
    assert len(lost) <= 1
    assert load_config(path.parent).values[key] == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wing = \n", "config.toml"),
        ("wing = 'a'\nwing = 'b'\n", "config.toml"),
        (b"wing = '\xe9'\n", "not UTF-8"),
        ("embed = 3\n", "embed is a value"),
    ],
)
def test_what_cannot_be_edited_is_left_as_it_was(path: Path, text: str | bytes, message: str):
    write(path, text)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=message):
        set_value(path, "embed.backend", "hash")
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["config.toml"]


def test_a_link_stays_a_link(path: Path, tmp_path: Path):
    target = tmp_path / "dotfiles.toml"
    target.write_text(COMMENTED)
    path.parent.mkdir()
    path.symlink_to(target)
    set_value(path, "wing", "new")
    assert path.is_symlink()
    assert target.read_text() == COMMENTED.replace('"shop"', '"new"')


def test_setting_the_same_value_does_not_touch_the_file(path: Path):
    write(path, COMMENTED)
    inode = path.stat().st_ino
    set_value(path, "wing", "shop")
    assert path.stat().st_ino == inode


def test_a_write_that_fails_leaves_nothing_behind(path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    write(path, COMMENTED)
    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(ConfigError, match=r"cannot be changed \(Permission denied\)"):
        set_value(path, "wing", "new")
    assert path.read_text() == COMMENTED
    assert [entry.name for entry in path.parent.iterdir()] == ["config.toml"]


def test_a_folder_in_place_of_the_file_is_named(path: Path):
    path.mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be changed"):
        set_value(path, "wing", "new")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
def test_a_pipe_in_place_of_the_file_is_named_not_waited_for(path: Path):
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(ConfigError, match=r"cannot be changed \(.*not a regular file\)"):
        set_value(path, "wing", "new")
