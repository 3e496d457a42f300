"""Authors of plug-ins import from odtc.extend; where things were before they moved is told, and works for a release."""

import ast
import importlib
import subprocess
import sys
import warnings

import pytest

from odtc import extend
from odtc.old_paths import MOVED
from tests.command_line import CHECKOUT

# Names that docs and examples had, and that the contracts of the old modules spoke of.
OLD = {
    "odtc.dataset": "NUMERIC",
    "odtc.encoding": "level_tests",
    "odtc.split": "Threshold",
    "odtc.format": "read_model",
    "odtc.model": "name_list",
    "odtc.explain": "explain",
    "odtc.formulation": "Problem",
    "odtc.constraint": "Constraint",
    "odtc.cut": "CutRows",
    "odtc.dialect": "Dialect",
    "odtc.heap": "HeapTree",
    "odtc.solver": "SOLVERS",
}


def test_every_name_is_there():
    for name in extend.__all__:
        assert getattr(extend, name) is not None
    with pytest.raises(AttributeError, match="module 'odtc.extend' has no attribute 'Nothing'"):
        extend.Nothing  # noqa: B018


@pytest.mark.parametrize("old", OLD)
def test_an_old_path_works_and_says_where_it_is_now(old):
    with pytest.warns(DeprecationWarning, match=f"{old} has moved .* import {OLD[old]} from odtc[.]") as told:
        value = getattr(importlib.import_module(old), OLD[old])
    assert told[0].filename == __file__
    if OLD[old] in extend.__all__:
        assert value is getattr(extend, OLD[old]) and "from odtc.extend" in str(told[0].message)


def test_old_modules_that_are_nowhere_stay_nowhere():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("odtc.nothing")
    with pytest.raises(ImportError, match="nothing"):
        from odtc.encoding import nothing  # noqa: F401
    for old in MOVED:
        assert importlib.import_module(f"odtc.{old}")


@pytest.mark.slow
def test_our_own_modules_use_no_old_path():
    code = "import odtc.workflow.pipeline, odtc.cli.app, odtc.estimators.classifier, odtc.evaluation.benchmark"
    subprocess.run([sys.executable, "-W", "error::DeprecationWarning:odtc", "-c", code], check=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from odtc.model import milp  # noqa: F401


@pytest.mark.parametrize("path", sorted((CHECKOUT / "examples").glob("my-*/*.py")), ids=lambda path: path.name)
def test_examples_import_from_the_public_place(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "odtc":
            assert node.module in ("odtc", "odtc.extend")
