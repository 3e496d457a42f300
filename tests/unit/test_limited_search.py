"""Limits on branch nodes over many thresholds: the search over thresholds against the search by multipliers."""

from dataclasses import replace

import numpy as np
import pytest

from odtc.algorithms.constrained import engines
from odtc.base import deadline
from odtc.data.dataset import Dataset, Feature
from odtc.formulations import dpflow
from odtc.formulations.dpflow import constrained, limited_search
from odtc.problem.branch_penalty import objective
from odtc.problem.constraints.constraint import broken
from tests import pipeline
from tests.threshold_problems import draw


def said(*told):
    """Take no notice of the progress."""


def limited_problem(seed):
    """A drawn problem, with a limit on the branch nodes of its trees."""
    rng = np.random.default_rng(seed + 1000)
    drawn = draw(seed)
    texts = [*map(str, drawn.constraints), f"branch_nodes <= {int(rng.integers(0, 2**drawn.topology.depth))}"]
    if seed % 3 == 0:
        texts.append(f"leaves <= {int(rng.integers(1, 8))}")
    parsed = pipeline.pose(drawn.encoded.dataset, "dpflow", drawn.topology.depth, constraints=tuple(texts))
    return replace(drawn, constraints=parsed.constraints)


@pytest.mark.parametrize("seed", range(60))
def test_the_best_tree_is_that_of_the_search_by_multipliers(seed, monkeypatch):
    problem = limited_problem(seed)
    expected = constrained.search(problem)
    monkeypatch.setattr(engines, "MOST_TESTS", 0)
    if not limited_search.searches(problem):
        return  # the costs have no unit
    found = dpflow.search(problem, None, said)
    assert found.proved and found.heap is not None and not broken(problem, found.heap)
    assert objective(problem, found.heap) == pytest.approx(objective(problem, expected.heap), abs=1e-12)
    assert found.certificate is None and "the only proof" in found.uncertified


@pytest.mark.parametrize("seed", range(60))
def test_the_best_tree_of_few_columns_is_that_of_the_search_by_multipliers(seed, monkeypatch):
    drawn = draw(seed, wide=True)
    texts = [*map(str, drawn.constraints), f"features <= {1 + seed % 2}"]
    if seed % 3 == 0:
        texts.append(f"branch_nodes <= {2 + seed % 5}")
    parsed = pipeline.pose(drawn.encoded.dataset, "dpflow", drawn.topology.depth, constraints=tuple(texts))
    problem = replace(parsed, encoded=parsed.encoded, params=drawn.params)
    expected = constrained.search(problem)
    monkeypatch.setattr(engines, "MOST_TESTS", 0)
    monkeypatch.setattr(limited_search, "MANY", 0)
    assert limited_search.searches(problem)
    found = dpflow.search(problem, None, said)
    assert found.proved and found.heap is not None and not broken(problem, found.heap)
    assert objective(problem, found.heap) == pytest.approx(objective(problem, expected.heap), abs=1e-12)
    assert found.bound == pytest.approx(objective(problem, found.heap), abs=1e-9)


def test_the_bound_of_all_columns_remains_if_the_time_ends_soon(monkeypatch):
    """Also of a first search that did not end."""
    problem = pipeline.pose(wide_table(60, 30), "dpflow", 3, constraints=("features <= 3",))
    monkeypatch.setattr(limited_search, "MANY", 0)
    of_all = replace(limited_search.LimitedSearch(problem).run(), bound=1.0, proved=False, interrupted=True)
    monkeypatch.setattr(limited_search.LimitedSearch, "run", lambda self: of_all)
    assert limited_search.search(problem, None, said).bound == 1.0


@pytest.mark.parametrize("looks", [3, 10, 30, 100, 300])
def test_an_interrupted_search_of_few_columns_has_a_true_bound(looks, monkeypatch):
    problem = pipeline.pose(wide_table(30, 30), "dpflow", 3, constraints=("features <= 3",))
    monkeypatch.setattr(limited_search, "MANY", 0)
    monkeypatch.setattr(engines, "MOST_TESTS", 0)
    best, left = limited_search.search(problem, None, said), iter(range(looks))

    def interrupted():
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(deadline, "check", interrupted)
    try:
        found = limited_search.search(problem, None, said)
    except KeyboardInterrupt:
        return
    assert found.bound <= best.bound + 1e-9
    assert found.heap is None or objective(problem, found.heap) >= best.bound - 1e-9


def wide_table(rows=14, columns=300):
    """More splits than a search looks at all of, on so few rows that each tree can be tried."""
    rng = np.random.default_rng(3)
    X, y = rng.random((rows, columns)), rng.integers(0, 2, rows).astype(np.int32)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(columns))
    return Dataset("wide", X, y, features, ("no", "yes"), np.ones(rows))


def test_many_splits_are_searched_without_multipliers():
    problem = pipeline.pose(wide_table(), "dpflow", 3, constraints=("leaves <= 4", "leaf_rows >= 2"))
    assert dpflow.engine(problem).endswith("few branch nodes or columns")
    assert "the only proof" in dpflow.uncertified(problem)
    found = dpflow.search(problem, None, said)
    assert found.proved and found.heap.n_branch_nodes <= 3 and not broken(problem, found.heap)


def test_the_search_by_multipliers_goes_on_where_the_time_ends(monkeypatch):
    monkeypatch.setattr(limited_search, "SHARE", 0.0)
    problem = pipeline.pose(wide_table(40, 120), "dpflow", 3, constraints=("branch_nodes <= 4",))
    with deadline.within(2.0):
        found = dpflow.search(problem, None, said)
    assert found.heap is not None and not broken(problem, found.heap)
    assert found.bound <= objective(problem, found.heap)


def test_other_constraints_are_left_to_the_search_by_multipliers():
    problem = pipeline.pose(wide_table(), "dpflow", 3, constraints=("leaves <= 4", "recall[yes] >= 0.5"))
    assert not limited_search.searches(problem)
