"""Settings: defaults, what a file may say, and how a mistake in it is named."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mempal.core.config import (
    KEYS,
    check_value,
    find_home,
    find_key,
    load_config,
    parse_value,
)
from mempal.core.errors import ConfigError, UsageError


@pytest.fixture
def write(tmp_path: Path):
    def write_file(text: str | bytes):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "config.toml").write_bytes(data)
        return load_config(tmp_path)

    return write_file


# --- the palace folder ------------------------------------------------------------------------


def test_the_option_comes_before_the_variable_before_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEMPAL_HOME", raising=False)
    assert find_home() == tmp_path / ".mempal"
    monkeypatch.setenv("MEMPAL_HOME", "/set")
    assert find_home() == Path("/set")
    assert find_home("/given") == Path("/given")
    monkeypatch.setenv("MEMPAL_HOME", "")
    assert find_home() == find_home("") == tmp_path / ".mempal"


def test_a_palace_folder_is_absolute(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert find_home("here") == tmp_path / "here"
    assert find_home("~/there") == tmp_path / "there"


# --- reading ----------------------------------------------------------------------------------


def test_without_a_file_every_key_has_its_default(tmp_path):
    config = load_config(tmp_path / "missing")
    assert dict(config.values) == {key: rule.default for key, rule in KEYS.items()}
    assert config.warnings == ()
    with pytest.raises(TypeError):
        config.values["wing"] = "changed"


@pytest.mark.parametrize(
    "text",
    [
        '[embed]\nbackend = "ollama"\nmodel = "m"\n',
        'embed.backend = "ollama"\nembed.model = "m"\n',
        'embed = { backend = "ollama", model = "m" }\n',
        '"embed"."backend" = "ollama"\n"embed".model = "m"\n',
        "# notes\r\n[ embed ]\r\n  backend=\"ollama\"\r\n  model='m'\r\n",
        '\ufeff[embed]\nbackend = "ollama"\nmodel = "m"\n',
    ],
)
def test_every_spelling_of_toml_will_do(write, text):
    config = write(text)
    assert (config.text("embed.backend"), config.text("embed.model")) == ("ollama", "m")
    assert config.warnings == ()
    assert config.number("embed.dim") == 0


def test_values_come_in_the_type_that_was_asked_for(write):
    config = write("[search]\nfloor = 1\n[mine]\nlimit_file_size = 1_000\n")
    assert config.fraction("search.floor") == 1.0
    assert isinstance(config.fraction("search.floor"), float)
    assert config.number("mine.limit_file_size") == 1000


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("[embed]\n\nbackend = 'chatgpt'\n", 3, "embed.backend"),
        ("embed.dim = -1\n", 1, "embed.dim"),
        ("[embed]\nmodel = 'm'\ndim = '256'\n", 3, "embed.dim"),
        ("[embed]\ndim = true\n", 2, "embed.dim"),
        ("[embed]\ndim = 1.5\n", 2, "embed.dim"),
        ("wing = 5\n", 1, "wing"),
        ("wing = ['a']\n", 1, "wing"),
        ("\n[wing]\nname = 'x'\n", 2, "wing"),
        ("[search]\nfloor = nan\n", 2, "search.floor"),
        ("[search]\nfloor = -2\n", 2, "search.floor"),
        ("[search]\nfloor = 2026-05-01\n", 2, "search.floor"),
        ("[mine]\nlimit_file_size = 0\n", 2, "mine.limit_file_size"),
        ("embed = {dim = -5}\n", 1, "embed.dim"),
    ],
)
def test_a_wrong_value_is_named_with_file_line_and_key(write, tmp_path, text, line, key):
    with pytest.raises(ConfigError) as caught:
        write(text)
    assert caught.value.message.startswith(f"{tmp_path / 'config.toml'}:{line}: {key} takes ")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("wing = \n", "1: wing: "),
        ("[embed\n", "1: "),
        ("= 1\n", "1: "),
        ("wing = 'a'\nwing = 'b'\n", "2: wing: "),
        ("\0", "1: "),
        ("db_path = [unclosed\n", "1: db_path: "),
        ("wing = 'a'\n[embed]\nbackend = 'hash'\nmodel = 'a' 'secret'\n", "4: embed.model: "),
        ("[embed]\nmodel = 'a\n\n", "2: embed.model: "),
        ("[[index]]\nx = '''secret\n\n\n", "2: index.x: "),
        ("[search]\n!\n", "2: search: "),
    ],
)
def test_what_is_no_toml_is_named_with_file_line_and_key(write, tmp_path, text, place):
    with pytest.raises(ConfigError) as caught:
        write(text)
    assert caught.value.message.startswith(f"{tmp_path / 'config.toml'}:{place}")
    assert caught.value.message.isprintable()
    assert "secret" not in caught.value.message
    assert "(at" not in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_no_text_is_named(write, tmp_path):
    with pytest.raises(ConfigError, match=r"config\.toml:1: not UTF-8 text"):
        write(b"wing = '\xff'\n")
    (tmp_path / "config.toml").unlink()
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read"):
        load_config(tmp_path)


def test_an_unknown_key_warns_with_its_line_and_does_no_harm(write, tmp_path):
    config = write("colour = 'red'\n\n[embed]\nspeed = 9\nmodel = 'm'\n\n[later]\n")
    file = tmp_path / "config.toml"
    assert config.warnings == (
        f"{file}:1: unknown key colour",
        f"{file}:4: unknown key embed.speed",
        f"{file}:7: unknown key later",
    )
    assert config.text("embed.model") == "m"


@given(
    st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_are_a_configuration_or_refused(tmp_path_factory, data):
    home = tmp_path_factory.getbasetemp()
    (home / "config.toml").write_bytes(data)
    with suppress(ConfigError):
        assert set(load_config(home).values) == set(KEYS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes in the file system")
def test_a_pipe_in_place_of_the_file_is_named_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "config.toml")
    with pytest.raises(ConfigError, match=r"config\.toml: cannot be read \(.*not a regular file\)"):
        load_config(tmp_path)


def test_a_file_kept_elsewhere_is_read_through_its_link(tmp_path):
    (tmp_path / "elsewhere.toml").write_text('wing = "w"\n')
    (tmp_path / "config.toml").symlink_to("elsewhere.toml")
    assert load_config(tmp_path).text("wing") == "w"


# --- single values ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("wing", "5", "5"),
        ("wing", "", ""),
        ("embed.dim", "256", 256),
        ("embed.dim", "1_000", 1000),
        ("search.floor", "0.25", 0.25),
        ("search.floor", "-1", -1.0),
        ("index.backend", "exact", "exact"),
        ("index.ann_threshold", "0", 0),
    ],
)
def test_a_value_from_the_command_line_becomes_what_the_key_takes(key, text, value):
    found = parse_value(key, text)
    assert found == value
    assert type(found) is type(KEYS[key].default)


@pytest.mark.parametrize(
    ("key", "text", "wanted"),
    [
        ("embed.dim", "many", "a whole number not below 0"),
        ("embed.dim", "1.5", "a whole number not below 0"),
        ("embed.dim", "-1", "a whole number not below 0"),
        ("embed.dim", "", "a whole number not below 0"),
        ("search.floor", "nan", "a number from -1 to 1"),
        ("search.floor", "1.5", "a number from -1 to 1"),
        ("index.backend", "faiss", "one of auto, exact, chroma"),
        ("index.backend", "EXACT", "one of auto, exact, chroma"),
    ],
)
def test_a_wrong_value_says_what_the_key_takes(key, text, wanted):
    with pytest.raises(ConfigError, match=f"{key} takes {wanted}, not"):
        parse_value(key, text)


@pytest.mark.parametrize("key", ["", "embed", "embed.", "EMBED.DIM", "nope", "\ud800"])
def test_an_unknown_key_is_refused_with_the_known_ones(key):
    for ask in (find_key, lambda name: parse_value(name, "1"), lambda name: check_value(name, 1)):
        with pytest.raises(UsageError, match="no such configuration key") as caught:
            ask(key)
        assert "embed.backend" in caught.value.hint


def test_every_default_is_a_value_its_key_takes():
    for key, rule in KEYS.items():
        assert check_value(key, rule.default) == rule.default
        assert rule.help
        assert "\n" not in rule.help
    assert os.sep not in "".join(KEYS)
