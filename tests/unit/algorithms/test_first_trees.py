"""A good tree at once over thousands of thresholds, whatever then ends the search."""

from itertools import product

import numpy as np
import pytest

import odtc
from odtc.algorithms.constrained import first_trees
from odtc.algorithms.constrained.all_thresholds import CoarseSearch
from odtc.algorithms.constrained.constrained_problem import cost_of, keeps
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.first_trees import first_tree
from odtc.data.dataset import Dataset, Feature
from odtc.formulations.dpflow import constrained
from odtc.formulations.dpflow.constrained import Posed
from odtc.workflow import pipeline

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
        tree = first_tree(arrays, search.search.tests, lambda: False, exactly).tree
        assert keeps(arrays, *tree)
        costs.append(cost_of(arrays, *tree))
    assert costs == sorted(costs, reverse=True) and costs[2] < costs[0]


def test_no_tree_is_handed_in_if_the_time_is_over(table):
    search = posed(table, 2).derived(Posed)
    assert first_tree(search.problem.arrays, search.search.tests, lambda: True, True).tree is None


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
    monkeypatch.setattr(first_trees, "MOST", 400 * 40**2)
    search = pipeline.pose(data, "dpflow", 2, constraints=("recall[b] >= 0.5",), fitting=True).derived(Posed)
    tree = first_tree(search.problem.arrays, search.search.tests, lambda: False, False).tree
    assert cost_of(search.problem.arrays, *tree) < 0.7 * min(y.sum(), (1 - y).sum())
