"""How trees were mined, as runs wrote it down; a tree is looked at again in the same way."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mempal.core.ports import Store
from mempal.core.reports import MineOptions
from mempal.core.runs import RunState
from mempal.ingest.walk import Tree, WalkRules

# Runs that are looked through for how a tree was mined last.
_RUNS = 1000


@dataclass(frozen=True, slots=True)
class Usage:
    """How one tree was mined: the rules, and the files in it that were named one by one."""

    rules: WalkRules = field(default_factory=WalkRules)
    named: frozenset[str] = frozenset()


def describe_usage(
    paths: Sequence[Path], trees: Sequence[Tree], options: MineOptions
) -> dict[str, object]:
    """Return what a run of ``mine`` writes down, as JSON values."""
    return {
        "roots": [_show(tree.root) for tree in trees],
        "named": [_show(Path(os.path.realpath(path))) for path in paths if path.is_file()],
        "folders": [_show(Path(os.path.realpath(path))) for path in paths if path.is_dir()],
        "use_gitignore": options.use_gitignore,
        "use_mempalignore": options.use_mempalignore,
        "ignore_files": [_show(Path(os.path.realpath(name))) for name in options.ignore_files],
    }


def recall_usage(store: Store, wing: str) -> dict[str, Usage]:
    """Return how each tree of a wing was mined the last time that changed something, by root."""
    rules: dict[str, WalkRules] = {}
    named: dict[str, set[str]] = {}
    for run in store.runs(_RUNS):
        if run.verb != "mine" or run.wing != wing or run.state is RunState.UNDONE:
            continue
        files = [Path(name) for name in _list_texts(run.detail, "named")]
        folders = [Path(name) for name in _list_texts(run.detail, "folders")]
        for root in _list_texts(run.detail, "roots"):
            below = (path for path in files if path.is_relative_to(root))
            named.setdefault(root, set()).update(p.relative_to(root).as_posix() for p in below)
            if root not in rules and _was_listed(Path(root), folders):
                rules[root] = _read_rules(run.detail)
    plain = Usage()
    return {
        root: replace(plain, rules=rules.get(root, plain.rules), named=frozenset(paths))
        for root, paths in named.items()
    }


def _was_listed(root: Path, folders: Sequence[Path]) -> bool:
    """Return whether a tree was looked through, rather than single files of it read."""
    return any(root.is_relative_to(one) or one.is_relative_to(root) for one in folders)


def _show(path: Path) -> str:
    # A name that is not valid Unicode has no place in a JSON text; it is then not recalled.
    return str(path).encode("utf-8", "replace").decode()


def _read_rules(detail: Mapping[str, object]) -> WalkRules:
    files = (Path(name) for name in _list_texts(detail, "ignore_files"))
    return WalkRules(
        use_gitignore=detail.get("use_gitignore") is not False,
        use_mempalignore=detail.get("use_mempalignore") is not False,
        ignore_files=tuple(path for path in files if path.is_file()),
    )


def _list_texts(detail: Mapping[str, object], name: str) -> list[str]:
    values = detail.get(name)
    return [str(value) for value in values] if isinstance(values, list) else []
