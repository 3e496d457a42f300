"""`monotonic_cst` of trees of numbers, against all trees of depth 2 on all inputs; and depth 0 everywhere."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeRegressor

import odtc
from odtc.estimators import monotone
from tests.command_line import MONKS
from tests.command_line import odtc as command

GRID = np.array(list(itertools.product(range(3), repeat=2)), float)


def all_trees(X, y, center, loss, depth):
    """(cost, what is predicted on the grid) of all trees; a node without rows on one side is none."""

    def of(rows, inputs, left):
        answer = center(y[rows])
        yield loss(y[rows], answer), dict.fromkeys(inputs, answer)
        if not left:
            return
        for column, cut in itertools.product(range(2), (0.5, 1.5)):
            goes, there = X[rows, column] <= cut, GRID[inputs, column] <= cut
            if goes.all() or not goes.any():
                continue
            sides = [list(of(rows[here], inputs[at], left - 1)) for here, at in ((goes, there), (~goes, ~there))]
            for (one, low), (other, high) in itertools.product(*sides):
                yield one + other, low | high

    yield from of(np.arange(len(X)), np.arange(len(GRID)), depth)


def rises(told, orders):
    return all(
        (told[b] - told[a]) * sign >= 0
        for column, sign in enumerate(orders)
        for a, b in itertools.permutations(range(len(GRID)), 2)
        if sign and GRID[a, column] < GRID[b, column] and GRID[a, 1 - column] == GRID[b, 1 - column]
    )


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_tree_that_rises_is_found(seed, criterion):
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 3, (14, 2)).astype(float), random.integers(0, 9, 14).astype(float)
    orders = [(1, 0), (-1, 1), (1, -1), (-1, -1), (1, 1), (0, 1)][seed]
    squared = criterion == "squared_error"
    center = np.mean if squared else lambda values: np.sort(values)[(len(values) - 1) // 2]
    loss = lambda values, answer: ((values - answer) ** 2 if squared else np.abs(values - answer)).sum()  # noqa: E731
    best = min(cost for cost, told in all_trees(X, y, center, loss, 2) if rises(told, orders))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fitted = odtc.OptimalTreeRegressor(2, criterion=criterion, monotonic_cst=orders).fit(X, y)
    assert fitted.is_optimal_ and rises(dict(enumerate(fitted.predict(GRID))), orders)
    assert fitted.objective_ == pytest.approx(fitted.bound_)
    # Of several medians the tree may take another than the lower one, so no tree of lower medians is needed to be best.
    assert fitted.objective_ == pytest.approx(best) if squared else fitted.objective_ <= best + 1e-9
    assert all(check.passed for check in fitted.verify(X, y))
    if squared:
        peer = DecisionTreeRegressor(max_depth=2, monotonic_cst=orders).fit(X, y).predict(X)
        assert fitted.objective_ <= ((peer - y) ** 2).sum() + 1e-9


def test_a_tree_that_is_not_proved_rises_all_the_same_and_says_so(monkeypatch):
    monkeypatch.setattr(monotone, "MAX_RANKED", 3)
    random = np.random.default_rng(0)
    X = random.integers(0, 6, (60, 3)).astype(float)
    y = X[:, 0] + random.random(60)
    with pytest.warns(ConvergenceWarning, match="not proved to be the best"):
        fitted = odtc.OptimalTreeRegressor(2, monotonic_cst={"x0": -1}).fit(X, y)
    assert monotone.rises(fitted.tree_, [("x0", -1)]) and not fitted.is_optimal_ and fitted.claim_ == "best found"
    free = odtc.OptimalTreeRegressor(2).fit(X, y)
    assert free.objective_ <= fitted.bound_ <= fitted.objective_
    assert all(check.passed for check in fitted.verify(X, y))


def test_orders_that_hold_anyway_leave_the_proof_as_it_is():
    X = np.arange(8.0)[:, None]
    plain, ordered = (odtc.OptimalTreeRegressor(2, monotonic_cst=one).fit(X, X[:, 0]) for one in (None, [1]))
    assert ordered.claim_ == plain.claim_ and ordered.objective_ == plain.objective_
    with pytest.raises(ValueError, match="expected -1, 0 or 1 in monotonic_cst"):
        odtc.OptimalTreeRegressor(2, monotonic_cst=[2]).fit(X, X[:, 0])


@pytest.mark.parametrize("model", ["auto", "flowoct", "oct", "cart"])
def test_depth_0_is_a_leaf_by_all_ways(model, tmp_path):
    path = MONKS / "monks-1.csv"
    fitted = odtc.fit(path, model, depth=0)
    assert fitted.verified and fitted.tree.n_leaves == 1
    done = command("fit", path, "--model", model, "--depth", 0, "-o", f"{tmp_path}/", folder=tmp_path)
    assert done.code == 0 and (tmp_path / f"monks-1_{fitted.problem.formulation}_d0.tree.json").is_file()
    table = odtc.read(path)
    leaf = odtc.OptimalTreeClassifier(0).fit(table.X, table.y)
    assert leaf.get_n_leaves() == 1 and leaf.predict(table.X)[0] == fitted.tree.root.label


def test_depth_0_of_numbers_and_under_constraints():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    fitted = odtc.fit(X, y, depth=0, task="regression")
    assert fitted.proof.objective == pytest.approx(((y - 2.5) ** 2).sum()) and fitted.tree.n_leaves == 1
    with pytest.raises(odtc.NoSolutionError):
        odtc.fit(X, (y > 2).astype(int), depth=0, constraints=["recall[0] >= 1", "recall[1] >= 1"])
    with pytest.raises(odtc.OdtcError, match="a whole number"):
        odtc.fit(X, y > 2, depth=0.0)
