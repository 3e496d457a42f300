"""A good tree at once over thousands of thresholds, whatever then ends the search."""

from itertools import product

import numpy as np
import pytest

import odtc
from odtc.algorithms.constrained import first_trees
from odtc.algorithms.constrained.all_thresholds import CoarseSearch, quantiles
from odtc.algorithms.constrained.constrained_problem import cost_of, keeps
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.first_trees import first_tree
from odtc.data.dataset import Dataset, Feature
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.constrained import Posed
from tests import pipeline

RECALL, ROWS = 0.7, 20


@pytest.fixture(scope="module")
def table() -> Dataset:
    """A class that needs two columns, over 3,600 thresholds."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 6))
    score = X[:, 0] + 0.8 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=600)
    y = np.where(score > 1, 2, np.where(score < -1, 0, 1)).astype(np.int32)
    columns = tuple(Feature(f"c{j}", "numeric") for j in range(6))
    return Dataset("many", X, y, columns, ("low", "mid", "high"), np.ones(600))


def best_stump(data: Dataset) -> float:
    """The errors of the best stump that keeps the constraints over the eighths of each column, by trying all."""
    found = []
    for column, eighth in product(data.X.T, range(1, 8)):
        below = column <= np.quantile(column, eighth / 8)
        for a, b in product(range(3), repeat=2):
            said = np.where(below, a, b)
            if (said == data.y)[data.y == 2].mean() >= RECALL and min(below.sum(), (~below).sum()) >= ROWS:
                found.append(int((said != data.y).sum()))
    return min(found)


def posed(data: Dataset, depth: int):
    constraints = (f"recall[high] >= {RECALL}", f"leaf_rows >= {ROWS}")
    return pipeline.pose(data, "dpflow", depth, constraints=constraints, fitting=True)


@pytest.mark.parametrize("depth", [2, 3])
def test_a_search_that_is_ended_at_once_hands_in_a_tree_over_some_thresholds(table, depth, monkeypatch):
    """It handed in a tree of one test, or CART's with other labels."""

    def ended(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(CoarseSearch, "run", ended)
    monkeypatch.setattr(constrained, "floor_of", lambda *_: (None, 0.0))
    problem = posed(table, depth)
    found = problem.module.search(problem, None, lambda *told: None)
    assert found.interrupted and found.heap is not None and not found.proved
    assert problem.module.objective(problem, found.heap) < best_stump(table)


@pytest.mark.parametrize("exactly", [True, False])
def test_trees_keep_the_constraints_and_more_depth_is_no_worse(table, exactly):
    costs = []
    for depth in (1, 2, 3):
        search = posed(table, depth).derived(Posed)
        arrays = search.problem.arrays
        tree = first_tree(arrays, search.search.splits, lambda: False, exactly).tree
        assert keeps(arrays, *tree)
        costs.append(cost_of(arrays, *tree))
    assert costs == sorted(costs, reverse=True) and costs[2] < costs[0]


def test_no_tree_is_handed_in_if_the_time_is_over(table):
    search = posed(table, 2).derived(Posed)
    assert first_tree(search.problem.arrays, search.search.splits, lambda: True, True).tree is None


def test_an_interruption_of_the_first_search_ends_the_whole(table, monkeypatch):
    runs = []

    def ended(self, exactly=True):
        runs.append(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(ConstrainedSearch, "run", ended)
    found = odtc.fit(table, "dpflow", 2, constraints=[f"recall[high] >= {RECALL}"]).facts
    assert found["termination"] == "interrupted" and found["objective"] > found["bound"] and len(runs) <= 2


def test_few_tests_of_many_columns_are_not_their_ends(monkeypatch):
    """Of each column two tests are searched; the least and the greatest threshold part single rows."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 20))
    y = ((X[:, 0] > 0.4) ^ (rng.random(400) < 0.1)).astype(np.int32)
    columns = tuple(Feature(f"c{j}", "numeric") for j in range(20))
    data = Dataset("wide", X, y, columns, ("a", "b"), np.ones(400))
    monkeypatch.setattr(first_trees, "MAX_WORK", 400 * 40**2)
    search = pipeline.pose(data, "dpflow", 2, constraints=("recall[b] >= 0.5",), fitting=True).derived(Posed)
    tree = first_tree(search.problem.arrays, search.search.splits, lambda: False, False).tree
    assert cost_of(search.problem.arrays, *tree) < 0.7 * min(y.sum(), (1 - y).sum())


def test_some_tests_of_a_scale_part_the_rows_evenly():
    """They were spread over the distinct values: of numbers of few digits most were in the tails, with few rows."""
    numbers = np.random.default_rng(3).normal(size=20_000).round(2)
    ones = np.array([(numbers > value).sum() for value in np.unique(numbers)[:-1]])
    tests = np.arange(len(ones))
    for few, ends in ((8, False), (15, True)):
        some = quantiles(tests, ones, few, ends)
        parts = -np.diff([len(numbers), *ones[some], 0])
        assert len(some) == few and (np.diff(some) > 0).all() and parts.max() < 1.5 * len(numbers) / (few - ends)
    assert {0, len(ones) - 1} <= set(quantiles(tests, ones, 15).tolist())


def test_a_scale_of_a_value_that_most_rows_have_is_spread_over_its_other_values():
    ones = np.array([40, 38, 36, 30, 20, 11, 5, 1]) + np.array([960, *[0] * 7])
    for few in range(1, 10):
        some = quantiles(np.arange(8), ones, few, ends=False)
        assert len(some) == min(few, 8) and (np.diff(some) > 0).all()


def test_a_tree_that_is_far_from_the_best_one_is_refined_in_few_searches():
    """Twelve places on either side of a threshold, four times, were 48 of 6,000."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(6000, 2))
    y = ((X[:, 0] > 0.9) ^ (rng.random(6000) < 0.1)).astype(np.int32)
    columns = tuple(Feature(f"c{j}", "numeric") for j in range(2))
    data = Dataset("far", X, y, columns, ("no", "yes"), np.ones(6000))
    problem = pipeline.pose(data, "dpflow", 1, constraints=("recall[yes] >= 0.5",), fitting=True).derived(Posed).problem
    search = CoarseSearch(problem.arrays, problem.scale, 4, exactly=False)
    far = next(int(test) for test in search.splits[0] if search.ones[test] < 2600)
    asked, label = np.array([-1, far, -1, -1], np.int32), np.array([-1, -1, 0, 1], np.int32)
    assert search.start(asked, label)
    search._refine(search.best, np.zeros(0, int))
    assert search.upper < 1.02 * min(int(((X[:, 0] > value) != y).sum()) for value in X[:, 0])
