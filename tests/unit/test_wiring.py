"""Which adapters a palace gets for which settings."""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from mempal.core.config import KEYS, Config
from mempal.core.errors import ConfigError, EmbedderError, UsageError
from mempal.wiring import change_setting, open_palace
from tests.cases.support import Silence, mine, open_at
from tests.repositories import write_files


def with_settings(home: Path, **settings: Any) -> Config:
    values = {key: rule.default for key, rule in KEYS.items()}
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return Config(home, MappingProxyType(values | given))


@pytest.mark.parametrize(
    ("settings", "identity"),
    [
        ({}, "static:minilm-256:"),
        ({"embed__backend": "hash"}, "hash:A:64:"),
        ({"embed__backend": "hash", "embed__dim": 8, "embed__model": "B"}, "hash:B:8:"),
        ({"embed__backend": "ollama", "embed__model": "m", "embed__dim": 3}, "ollama:m:3"),
        ({"embed__backend": "openai", "embed__model": "m", "embed__dim": 3}, "openai:m:3"),
    ],
)
def test_the_embedder_is_the_configured_one(tmp_path, settings, identity):
    palace = open_palace(tmp_path, config=with_settings(tmp_path, **settings))
    assert palace.access.outfit.open_embedder().identity.startswith(identity)


def test_the_key_of_an_endpoint_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret")
    settings = {"embed__backend": "openai", "embed__api_key_env": "MY_KEY", "embed__dim": 3}
    palace = open_palace(tmp_path, config=with_settings(tmp_path, **settings))
    embedder = palace.access.outfit.open_embedder()
    assert embedder._api_key == "s3cret"
    assert "s3cret" not in repr(palace.config)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, "exact"),
        ({"index.backend": "exact", "index.ann_threshold": "1"}, "exact"),
        ({"index.backend": "auto", "index.ann_threshold": "2"}, "exact"),
        ({"index.backend": "auto", "index.ann_threshold": "1"}, "chroma"),
        ({"index.backend": "chroma"}, "chroma"),
    ],
)
def test_the_index_is_chosen_by_setting_and_size(isolation, tmp_path, settings, kind):
    root = write_files(tmp_path / "shop", {"a.md": "alpha\n", "b.md": "beta\n"})
    mine(open_at(isolation.palace), root)
    for key, value in settings.items():
        change_setting(isolation.palace, key, value)
    index = open_palace(isolation.palace).status().index
    assert index is not None
    assert (index.backend, index.pending) == (kind, 2)


def test_an_empty_palace_has_no_index(isolation, tmp_path):
    palace = open_at(isolation.palace)
    (tmp_path / "empty").mkdir()
    mine(palace, tmp_path / "empty")
    assert palace.status().index is None
    assert palace.reindex(reembed=False, progress=Silence()).backend == "none"


def test_opening_touches_nothing(isolation):
    open_palace(isolation.palace)
    assert not isolation.palace.exists()


def test_settings_are_read_from_the_folder(isolation):
    change_setting(isolation.palace, "wing", "shop")
    assert open_palace(isolation.palace).config.text("wing") == "shop"
    (isolation.palace / "config.toml").write_text("wing = 3\n")
    with pytest.raises(ConfigError, match=r"config.toml:1: wing takes text, not 3"):
        open_palace(isolation.palace)


def test_a_setting_is_checked_before_anything_is_written(isolation):
    with pytest.raises(UsageError, match="no such configuration key"):
        change_setting(isolation.palace, "nonsense", "1")
    with pytest.raises(ConfigError):
        change_setting(isolation.palace, "index.backend", "nonsense")
    assert not isolation.palace.exists()
    assert change_setting(isolation.palace, "mine.limit_file_size", "5") == 5
    assert (isolation.palace.stat().st_mode & 0o777) == 0o700


def test_an_endpoint_that_is_no_address_is_an_error_of_the_embedder(tmp_path):
    settings = {"embed__backend": "openai", "embed__endpoint": "nonsense", "embed__dim": 3}
    palace = open_palace(tmp_path, config=with_settings(tmp_path, **settings))
    with pytest.raises(EmbedderError):
        palace.access.outfit.open_embedder().embed_query("word")
