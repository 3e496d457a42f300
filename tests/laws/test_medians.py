"""Medians of many numbers: the search over sorted rows equals exhaustive search, and its kernel equals numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from odtc.algorithms.moments import medians
from odtc.algorithms.moments.search import NO_TOTALS
from odtc.algorithms.moments.tree_limits import TreeLimits
from odtc.formulations.dpflow import search_by_sums
from tests.laws.test_task_limits import every_tree
from tests.references import best_cut_of_medians


def spread(y, w):
    return min((w * np.abs(y - middle)).sum() for middle in y) if len(y) else 0.0


def best(X, y, w, depth, least, price):
    """The least cost of a tree by trying all."""
    found = spread(y, w)
    if depth:
        for column in X.T:
            for cut in np.unique(column)[:-1]:
                left = column <= cut
                if min(left.sum(), (~left).sum()) >= least:
                    sides = (best(X[side], y[side], w[side], depth - 1, least, price) for side in (left, ~left))
                    found = min(found, price + sum(sides))
    return found


@settings(max_examples=6)
@given(st.integers(0, 10**6), st.sampled_from([1, 2]), st.sampled_from([1, 5]), st.sampled_from([0.0, 0.6]))
def test_no_tree_has_less_absolute_error(seed, depth, least, lam):
    rng = np.random.default_rng(seed)
    n = search_by_sums.MAX_DISTINCT_TARGETS + 8
    X, y = rng.integers(0, 4, (n, 2)).astype(float), rng.permutation(n) * 0.25 - 3
    w = rng.integers(1, 4, n).astype(float)
    fitted = odtc.OptimalTreeRegressor(
        depth, criterion="absolute_error", min_samples_leaf=least, params={"lambda": lam}
    ).fit(X, y, sample_weight=w)
    price = lam / (1 - lam)
    assert fitted.is_optimal_
    assert fitted.objective_ / (1 - lam) == pytest.approx(best(X, y, w, depth, least, price), rel=1e-9)
    assert (w * np.abs(y - fitted.predict(X))).sum() + price * (fitted.tree_.n_leaves - 1) == pytest.approx(
        fitted.objective_ / (1 - lam)
    )


@pytest.mark.parametrize(
    "text", ["leaves <= 3", "leaves <= 1", "features <= 1", "not_below[x0,x1]", "deepest[x1] <= 0"]
)
@pytest.mark.parametrize("least", [1, 4])
def test_no_tree_within_limits_has_less_absolute_error(text, least):
    rng = np.random.default_rng(len(text))
    n = search_by_sums.MAX_DISTINCT_TARGETS + 8
    X, y = rng.integers(0, 4, (n, 2)).astype(float), rng.permutation(n) * 0.25 - 3
    fitted = odtc.OptimalTreeRegressor(2, criterion="absolute_error", constraints=text, min_samples_leaf=least)
    fitted.fit(X, y)
    limits = TreeLimits(
        levels=np.array([[True, True], [True, False]]) if text.startswith("deepest") else None,
        below=np.array([[True, True], [False, True]]) if text.startswith("not_below") else None,
    )
    trees = every_tree(X.astype(int), lambda rows: spread(y[rows], np.ones(len(rows))), 2, limits, least, 0.0)
    fits = [
        paid
        for (leaves, columns), paid in trees.items()
        if not (text.startswith("leaves") and leaves > int(text[-1])) and not (text[0] == "f" and len(columns) > 1)
    ]
    assert fitted.is_optimal_ and fitted.model_ == "dpflow"
    assert np.abs(y - fitted.predict(X)).sum() == pytest.approx(min(fits)) == fitted.objective_


@settings(max_examples=12)
@given(st.integers(0, 10**6))
def test_a_fenwick_tree_tells_what_numbers_cost_around_their_median(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    values, tree, held = np.sort(rng.integers(-9, 9, n) / 4), np.zeros((2, n + 1)), np.zeros(n)
    for place in rng.permutation(n)[: n // 2 + 1]:
        held[place] = rng.integers(1, 4)
        medians.add_at(tree, place, held[place], held[place] * values[place])
    found = medians.spread(tree, values, held.sum(), (held * values).sum())
    assert found == pytest.approx(spread(values, held), abs=1e-12)


def test_the_best_cut_is_the_same_compiled_and_plain():
    rng = np.random.default_rng(1)
    code = rng.integers(0, 7, (3, 40)).astype(np.int32)
    y, w, count = np.sort(rng.normal(size=40)), rng.random(40) + 0.1, rng.integers(1, 3, 40).astype(float)
    given_ = code, np.full(3, 7), w, y, count, np.arange(3, 37), (4.0, 20.0)
    given_ = *given_, NO_TOTALS
    assert medians.best_cut(*given_) == pytest.approx(medians.best_cut.function(*given_))


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_numpy_finds_the_best_cut_of_the_loops(seed):
    """With ties, weights of 0, leaves of several rows and a price: the same cost, column and cut."""
    rng = np.random.default_rng(seed)
    n, columns = int(rng.integers(1, 25)), int(rng.integers(1, 5))
    code = np.stack([rng.integers(0, rng.integers(1, 8), n + 3) for _ in range(columns)])
    y, w = np.sort(rng.integers(-20, 20, n + 3) / 10), rng.integers(seed % 2, 4, n + 3).astype(float)
    rows, count = np.sort(rng.choice(n + 3, n, replace=False)), rng.integers(1, 3, n + 3).astype(float)
    leaf = spread(y[rows], w[rows])
    assert medians.leaf_cost(w, y, rows) == pytest.approx(leaf, abs=1e-12)
    limits = float(rng.integers(0, 4)), leaf - float(rng.integers(0, 3)) / 2
    size = code.max(axis=1) + 1
    given_ = code, size, w, y, count, rows, limits
    found, looped = best_cut_of_medians.best_cut(*given_), medians.best_cut(*given_, NO_TOTALS)
    assert found[0] == pytest.approx(looped[0], abs=1e-9) and found[1:] == looped[1:]
    limits = limits[0], np.inf  # costs at the limit are rounded
    given_, listed = (*given_[:-1], limits), np.full((columns, int(size.max())), np.inf)
    assert medians.best_cut(*given_, listed)[1:] == (-1, -1)
    np.testing.assert_allclose(listed, best_cut_of_medians.costs_of_cuts(*given_), atol=1e-9)
