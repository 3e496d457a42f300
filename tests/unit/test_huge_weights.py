"""Weights and costs whose sums or squares no double holds are refused in a sentence by every task; nothing warns of an
overflow on the way."""

import warnings

import numpy as np
import polars as pl
import pytest

import odtc
from odtc.errors import ChoiceError, DataError, DataWarning
from tests.command_line import odtc as run

W = np.array([1e300, 1e300, 1e308, 1.0])
X = np.arange(4.0)[:, None]
ROWS = {"x": [1, 2, 3, 4], "y": list("abab"), "n": [1.0, 2, 3, 5], "c": [1, 2, 1, 4]}
ROWS |= {"t": [3.0, 1, 2, 5], "e": [1, 1, 0, 1]}
TASKS = {
    "classification": (["x", "y"], {"target": "y"}),
    "regression": (["x", "n"], {"target": "n", "task": "regression"}),
    "median": (["x", "n"], {"target": "n", "task": "median"}),
    "survival": (["x", "t", "e"], {"time": "t", "event": "e", "task": "survival"}),
    "policy": (["x", "n", "c"], {"actions": ("n", "c"), "task": "policy"}),
}
FITS = {
    "classes": lambda w: odtc.OptimalTreeClassifier(1).fit(X, [0, 1, 0, 1], sample_weight=w),
    "numbers": lambda w: odtc.OptimalTreeRegressor(1).fit(X, ROWS["n"], sample_weight=w),
    "medians": lambda w: odtc.OptimalTreeRegressor(1, criterion="absolute_error").fit(X, ROWS["n"], sample_weight=w),
    "actions": lambda w: odtc.OptimalPolicyTree(1).fit(X, np.array([ROWS["n"], ROWS["c"]]).T, sample_weight=w),
    "risks": lambda w: odtc.OptimalSurvivalTree(1).fit(
        X, np.array(list(zip([True, True, False, True], ROWS["t"])), dtype=[("e", bool), ("t", float)]), sample_weight=w
    ),
}


@pytest.fixture(autouse=True)
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("scale", [1.0, 1e-150])
@pytest.mark.parametrize("task", TASKS)
def test_of_a_frame(task, scale):
    names, how = TASKS[task]
    frame = pl.DataFrame({name: ROWS[name] for name in names} | {"w": W * scale})
    with pytest.raises(DataError, match=r"^expected weights that add up to less than 1e\+150 in column 'w' of "):
        odtc.fit(frame, depth=1, weights="w", **how)


@pytest.mark.parametrize("scale", [1.0, 1e-150])
@pytest.mark.parametrize("kind", FITS)
def test_of_an_estimator(kind, scale):
    with pytest.raises(DataError, match=r"^expected weights that add up to less than 1e\+150 in sample_weight"):
        FITS[kind](W * scale)


def test_weights_below_are_taken():
    """The least of them is lost beside the sum of all, which is told."""
    with pytest.warns(DataWarning, match="^rounding loses 1 of 4 weights, the least 1e-160, because the sum"):
        assert all(np.isfinite(fit(W * 1e-160).objective_) for name, fit in FITS.items() if name != "risks")


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("weight", "numbers", "squares", "medians"),
    [
        ([1e140, 1e140, 1e148, 1e-160], [1.0, 2, 3, 5], 5e139, 1e140),
        ([1e140, 1e140, 1e148, 3e-170], [1.0, 2, 3, 5], 5e139, 1e140),
        ([1e-20, 1e-20, 1e-12, 1e-320], [1.0, 2, 3, 5], 5e-21, 1e-20),
        ([1.0, 1, 1, 1], [1e-120, 2e130, 0, 0], 2e260, 2e130),
    ],
)
def test_trees_of_numbers_are_proved_over_the_range_of_doubles(weight, numbers, squares, medians, depth):
    """The best cut leaves the first two rows together, or no other row that counts; two levels part all numbers."""
    frame = pl.DataFrame({"x": ROWS["x"], "n": numbers, "w": weight})
    for task, least in (("regression", squares), ("median", medians)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            done = odtc.fit(frame, depth=depth, target="n", weights="w", task=task)
        expected = least if depth == 1 else 0
        assert done.proved and done.proof.objective == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("task", ["regression", "median"])
def test_weights_that_no_doubles_hold_together_are_refused(task):
    frame = pl.DataFrame({"x": ROWS["x"], "n": ROWS["n"], "w": [1e140, 1e140, 1e148, 1e-320]})
    with pytest.raises(DataError, match="^expected weights and numbers whose sums and squares doubles hold, got"):
        odtc.fit(frame, depth=1, target="n", weights="w", task=task)


@pytest.mark.parametrize("price", [1e155, 1e300, 1e308])
def test_of_a_cost(price):
    frame = pl.DataFrame({name: ROWS[name] for name in ("x", "y")})
    with pytest.raises(ChoiceError, match="^expected errors that cost less than"):
        odtc.fit(frame, depth=1, target="y", cost={("a", "b"): price})


def test_of_a_command(tmp_path):
    (tmp_path / "huge.csv").write_text("x,w,y\n1,1e300,a\n2,1e300,b\n3,1e308,a\n4,1,b\n")
    said = run("fit", "huge.csv", "--weights", "w", folder=tmp_path)
    assert said.code == 1 and "expected weights that add up to less than 1e+150 in column 'w'" in said.err


@pytest.mark.parametrize("scale", [1e-7, 1e-12, 1e-100])
@pytest.mark.parametrize("further", [{}, {"ccp_alpha": 0.02}, {"max_depth": 0}, {"cost": [[0, 2], [1, 0]]}], ids=str)
def test_the_estimator_scales_weights_that_would_count_as_rounding(scale, further):
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 6, (40, 3)), rng.integers(0, 2, 40)
    weight = rng.integers(1, 9, 40) / 4
    one = odtc.OptimalTreeClassifier(**{"max_depth": 2, **further}).fit(X, y, weight)
    small = odtc.OptimalTreeClassifier(**{"max_depth": 2, **further}).fit(X, y, weight * scale)
    assert small.is_optimal_ and small.bound_ == pytest.approx(small.objective_, rel=1e-9, abs=0)
    if "ccp_alpha" not in further:  # whose objective counts branch nodes, too
        assert small.objective_ == pytest.approx(scale * one.objective_, rel=1e-9, abs=0)
    assert small.leaf_weights_ == pytest.approx(scale * one.leaf_weights_, rel=1e-9, abs=0)
    assert small.predict(X).tolist() == one.predict(X).tolist()
    assert all(check.passed for check in small.verify(X, y, weight * scale))
