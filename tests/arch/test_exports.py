"""The names that mempal promises are there, and only those."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import mempal

PACKAGES = [
    "mempal",
    *(found.name for found in pkgutil.walk_packages(mempal.__path__, "mempal.") if found.ispkg),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_promised_name_resolves(package):
    module = importlib.import_module(package)

    assert [name for name in getattr(module, "__all__", []) if not hasattr(module, name)] == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Castle'"):
        _ = mempal.Castle


def test_type_checkers_see_every_public_name():
    tree = ast.parse(Path(mempal.__file__).read_text("utf-8"))
    seen = {
        alias.name
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert seen | {"__version__"} == set(mempal.__all__)
