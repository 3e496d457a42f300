"""`odtc doctor`: its table, its exit code, and its messages on solvers that are absent, fail or are wrong."""

import itertools
import re
import tomllib
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from odtc.algorithms.moments import medians
from odtc.base import kernels
from odtc.errors import SolverError
from odtc.evaluation import diagnostics, kernel_compilation
from tests.command_line import CHECKOUT, odtc


def test_the_tiny_model_has_one_error_by_exhaustion():
    data = diagnostics.tiny()
    X, y = data.X, data.y
    tests = [X[:, j] <= cut for j in range(3) for cut in np.unique(X[:, j])[:-1]]

    def errors(rows):
        return min((y[rows] != k).sum() for k in (0, 1)) if rows.any() else 0

    def stump(rows):
        return min([errors(rows), *(errors(rows & test) + errors(rows & ~test) for test in tests)])

    assert min(stump(root) + stump(~root) for root in tests) == 1


def test_the_solver_that_comes_with_odtc_is_right():
    said = odtc("doctor", "--solver", "highs")
    assert said.code == 0 and re.search(r"^highs  ok +\d+\.\d\d s  \S+ +1 error, optimal, verified$", said.out, re.M), (
        said.out
    )
    assert "1 of 1 solvers found here solve the tiny model" in said.out
    facts = odtc("doctor", "--solver", "highs,glpk", "--json").facts
    assert [entry["solver"] for entry in facts["solvers"]] == ["highs", "glpk"] and facts["solvers"][0][
        "state"
    ] == "right"


@pytest.mark.parametrize(
    ("lie", "state", "words"),
    [
        (
            lambda solution, model: (_ for _ in ()).throw(SolverError("its licence has expired")),
            "failed",
            "licence has expired",
        ),
        (lambda solution, model: solution.__class__(solution.x * 0, solution.termination, 0.0, 0.0), "wrong", "rows"),
    ],
)
def test_a_solver_that_fails_or_lies_is_said_to(monkeypatch, lie, state, words):
    honest = diagnostics.solving.solve
    monkeypatch.setattr(
        diagnostics.solving, "solve", lambda model, *given, **more: lie(honest(model, *given, **more), model)
    )
    (answer,) = diagnostics.answers(["highs"])
    assert (answer.state, answer.passed) == (state, False) and words in answer.words
    assert odtc("doctor", "--solver", "highs").code == 1


def test_a_solver_that_is_not_there_is_no_fault(monkeypatch):
    monkeypatch.setattr(diagnostics, "version", lambda module: None)
    (answer,) = diagnostics.answers(["cbc"])
    assert (answer.state, answer.passed, answer.version) == ("not found", True, None) and answer.words


def test_packages_are_those_of_the_project():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def names(requirements):
        return {re.match(r"[\w-]+", one)[0] for one in requirements}

    assert names(project["dependencies"]) | {"joblib"} == set(diagnostics.PACKAGES[""])
    for extra, packages in itertools.islice(diagnostics.PACKAGES.items(), 1, None):
        assert names(project["optional-dependencies"][extra]) == set(packages)


def test_an_unknown_solver_is_a_sentence():
    said = odtc("doctor", "--solver", "hihgs")
    assert said.code == 2 and "did you mean 'highs'" in said.err


def test_loops_are_compiled_ahead_into_the_folder_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_compilation, "MODULES", [medians.__name__])
    monkeypatch.setattr(kernel_compilation, "PROBLEMS", {})
    monkeypatch.setattr(medians.best_cut, "_entries", {})  # another test may have compiled it
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    said = odtc("doctor", "--solver", "highs", "--compile", "--json")
    (loops,) = said.facts["compiled"]
    assert said.code == 0 and loops["name"] == medians.__name__
    assert Path(loops["folder"]).is_relative_to(tmp_path / "kept") and list(Path(loops["folder"]).glob("*.kernel"))


def test_kernels_that_cannot_be_kept_are_a_sentence():
    with mock.patch.object(kernels, "folder_of", return_value=None):
        said = odtc("doctor", "--solver", "highs", "--compile")
    assert said.code == 1 and "set NUMBA_CACHE_DIR" in said.err
