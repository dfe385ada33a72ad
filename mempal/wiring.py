"""The composition root: the only module that names adapters, each where it is chosen."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mempal.core.config import FILE_NAME, Config, load_config, parse_value
from mempal.core.outfit import Outfit
from mempal.palace import Palace

if TYPE_CHECKING:
    from mempal.core.archive import Archive
    from mempal.core.ports import Embedder, Store, VectorIndex

DATABASE = "palace.db"


def open_palace(home: Path, *, config: Config | None = None) -> Palace:
    """Return the palace in a folder, which need not exist yet.

    Args:
        home: The folder.
        config: Settings; read from the folder when not given.

    Raises:
        ConfigError: The configuration cannot be read.
    """
    from mempal.adapters.git import GitRepositories, describe_git
    from mempal.adapters.lock import FileLock

    settings = config or load_config(home)
    database = home / DATABASE
    outfit = Outfit(
        database=database,
        open_store=partial(_open_store, database),
        open_archive=partial(_open_archive, database),
        open_embedder=partial(_open_embedder, settings),
        open_index=partial(_open_index, settings),
        lock=FileLock(home / "index" / "writer.lock"),
        repositories=GitRepositories(),
        describe_git=describe_git,
    )
    return Palace(settings, outfit)


def change_setting(home: Path, key: str, text: str) -> str | int | float | bool:
    """Change one key of a palace's configuration in place and return its new value.

    Raises:
        UsageError: There is no such key.
        ConfigError: It does not take this value, or the file cannot be changed.
    """
    from mempal.adapters.settings import set_value

    value = parse_value(key, text)
    set_value(home / FILE_NAME, key, value)
    return value


def _open_store(database: Path, writable: bool) -> "Store":
    from mempal.adapters.sqlite.store import SqliteStore

    return SqliteStore(database, writable=writable)


def _open_archive(database: Path, writable: bool) -> "Archive":
    from mempal.adapters.sqlite.transfer import SqliteArchive

    return SqliteArchive(database, writable=writable)


def _open_embedder(config: Config) -> "Embedder":
    backend = config.text("embed.backend")
    if backend == "static":
        from mempal.adapters.embedders.static import StaticEmbedder

        return StaticEmbedder()
    if backend == "hash":
        from mempal.testing import HashEmbedder

        return HashEmbedder(config.number("embed.dim") or 64, config.text("embed.model") or "A")
    from mempal.adapters.embedders.http import HttpEmbedder

    return HttpEmbedder(
        shape=backend,
        endpoint=config.text("embed.endpoint"),
        model=config.text("embed.model"),
        dimensions=config.number("embed.dim"),
        api_key=os.environ.get(config.text("embed.api_key_env") or "", ""),
    )


def _open_index(config: Config, store: "Store") -> "VectorIndex | None":
    identity, dimensions = store.embedder_identity(), store.vector_dimensions()
    if identity is None or dimensions is None:
        return None
    folder = config.home / "index"
    if _choose_index(config, store) == "chroma":
        from mempal.adapters.chroma import ChromaIndex

        url = config.text("index.chroma_url")
        return ChromaIndex(
            folder / "chroma", identity, dimensions, url=url or None, lineage=store.lineage()
        )
    from mempal.adapters.exact import ExactIndex

    return ExactIndex(folder / "exact.bin", identity, dimensions, lineage=store.lineage())


def _choose_index(config: Config, store: "Store") -> str:
    backend = config.text("index.backend")
    if backend != "auto":
        return backend
    return "chroma" if store.count_drawers() > config.number("index.ann_threshold") else "exact"
