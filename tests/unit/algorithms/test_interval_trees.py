"""Trees over the thresholds of one column, as partings of its ranks: equal to trying every tree."""

from dataclasses import replace

import numpy as np
import pytest

from odtc.algorithms.constrained import engines
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, cost_of, keeps, only
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.engines import engine_of
from odtc.algorithms.constrained.one_column import interval_trees
from odtc.algorithms.constrained.one_column.interval_trees import nested_order
from odtc.algorithms.constrained.one_column.one_column_search import OneColumnSearch, orders_of
from tests.unit.algorithms.every_tree import cheapest_feasible


def drawn(seed: int) -> tuple[ConstrainedProblem, np.ndarray]:
    """Thresholds of one to three columns, answered with 1 above some and in any order; a tree may ask those of one."""
    rng = np.random.default_rng(seed)
    n, depth = int(rng.integers(6, 16)), int(rng.integers(2, 5))
    answers, column = [], []
    for c in range(int(rng.integers(1, 4))):
        rank = rng.integers(0, int(rng.integers(2, 8 - depth)), n)
        for cut in rng.permutation(np.unique(rank)[1:]):
            answers.append(rank >= cut)
            column.append(c)
    if not answers:
        return drawn(seed + 1000)
    column = np.unique(column, return_inverse=True)[1].reshape(-1)
    K, R = int(rng.integers(2, 4)), int(rng.integers(0, 3))
    wrong = np.arange(K) != rng.integers(0, K, n)[:, None]
    more = {}
    if rng.random() < 0.5:
        measures = np.stack([np.ones(n, np.int64), rng.integers(0, 3, n)])[: int(rng.integers(1, 3))]
        least = rng.integers(1, 5, (len(measures), K)).astype(float)
        least[rng.random(least.shape) < 0.2] = -np.inf
        more = {"measures": measures, "least": least}
    problem = ConstrainedProblem(
        np.array(answers).T,
        wrong * rng.integers(1, 4, n)[:, None],
        depth,
        uses=rng.integers(-3, 4, (R, n, K)),
        bound=rng.integers(-6, 6, R),
        branch_cost=int(rng.integers(0, 2)),
        branch_uses=rng.integers(0, 2, R),
        leaf_uses=rng.integers(0, 2, (R, K)),
        column=column,
        subsets=np.eye(int(column.max()) + 1, dtype=bool),
        **more,
    )
    return problem, column


def cheapest(problem: ConstrainedProblem) -> int | None:
    """The least cost of a feasible tree, by trying every tree of each column."""
    each = [cheapest_feasible(only(problem, np.flatnonzero(problem.column == c))) for c in np.unique(problem.column)]
    return min((cost for cost in each if cost is not None), default=None)


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_is_that_of_trying_every_tree(seed):
    problem, scale = drawn(seed)
    want = cheapest(problem)
    for search in (OneColumnSearch(problem, scale, orders_of(problem)), ConstrainedSearch(problem)):
        found = search.run()
        assert found.proved and (found.cost, found.infeasible) == (want, want is None)
        if want is not None:
            assert keeps(problem, found.split, found.label) and cost_of(problem, found.split, found.label) == want


def test_thousands_of_thresholds_are_taken_column_by_column():
    rng = np.random.default_rng(0)
    rank = rng.integers(0, 400, (500, 2))
    X = np.concatenate([rank[:, [c]] > np.arange(399) for c in (0, 1)], axis=1)
    X = X[:, (X.any(axis=0)) & ~X.all(axis=0)]
    wrong = np.arange(2) != (rank[:, 1] // 100 % 2)[:, None]
    ones = X.sum(axis=0)
    column = (np.diff(ones, prepend=ones[0]) > 0).cumsum()
    problem = ConstrainedProblem(X, wrong.astype(np.int64), 2, column=column, subsets=np.eye(2, dtype=bool))
    engine = engine_of(problem, column)
    assert isinstance(engine, OneColumnSearch) and engines.over_all_splits(engine) and engines.ends_soon(engine)
    found = engine.run()  # of four stripes of the second column each tree of depth 2 gets all rows right
    assert found.proved and found.cost == 0 and set(column[found.split[found.split >= 0]]) == {1}
    both = replace(problem, subsets=np.ones((1, 2), bool))
    assert not isinstance(engine_of(both, column), OneColumnSearch)
    levels = replace(problem, X=problem.X[rng.permutation(500)] ^ problem.X)
    assert not isinstance(engine_of(levels, column), OneColumnSearch)


@pytest.mark.parametrize("seed", range(8))
def test_a_search_that_is_stopped_has_a_valid_bound(seed):
    problem, scale = drawn(seed)
    orders = orders_of(problem)
    want = OneColumnSearch(problem, scale, orders).run()
    for most in range(0, 40, 3):
        looks = iter(range(most))
        search = OneColumnSearch(problem, scale, orders)
        search.watch(lambda looks=looks: next(looks, None) is None, lambda bound, cost: None)
        found = search.run()
        assert found.bound <= (search.upper if want.cost is None else want.cost)
        assert found.cost is None or (found.cost >= want.cost and keeps(problem, found.split, found.label))
        assert not found.infeasible or want.infeasible


def test_too_many_ways_are_left_to_lists(monkeypatch):
    problem, _ = drawn(5)
    monkeypatch.setattr(interval_trees, "MOST_WALKS", 0)
    found, want = ConstrainedSearch(problem).run(), cheapest(problem)
    assert found.proved and found.cost == want


def test_only_nested_tests_have_an_order():
    X = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
    np.testing.assert_array_equal(nested_order(X, np.arange(4)), [0, 1, 2])  # the last parts the rows as the first
    apart = np.array([[1, 0], [0, 1], [0, 0]], bool)
    assert nested_order(apart, np.arange(2)) is None


def test_a_column_without_tests_leaves_the_others_to_partings():
    X = np.array([[0, 0], [1, 0], [1, 1], [1, 1]], bool)
    wrong = np.array([[0, 1], [1, 0], [0, 1], [0, 1]])
    problem = ConstrainedProblem(X, wrong, 2, column=np.zeros(2, int), subsets=np.eye(2, dtype=bool))
    orders = orders_of(problem)
    assert [order.tolist() for order in orders] == [[0, 1], []]
    found = OneColumnSearch(problem, problem.column, orders).run()
    assert found.proved and found.cost == 0
