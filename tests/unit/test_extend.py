"""Authors of plug-ins import from odtc.extend."""

import ast

import pytest

from odtc import extend
from tests.command_line import CHECKOUT


def test_every_name_is_there():
    for name in extend.__all__:
        assert getattr(extend, name) is not None
    with pytest.raises(AttributeError, match="module 'odtc.extend' has no attribute 'Nothing'"):
        extend.Nothing  # noqa: B018


@pytest.mark.parametrize("path", sorted((CHECKOUT / "examples").glob("my-*/*.py")), ids=lambda path: path.name)
def test_examples_import_from_the_public_place(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "odtc":
            assert node.module in ("odtc", "odtc.extend")
