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


def wide_table(rows=14, columns=300):
    """More splits than a search looks at all of, on so few rows that each tree can be tried."""
    rng = np.random.default_rng(3)
    X, y = rng.random((rows, columns)), rng.integers(0, 2, rows).astype(np.int32)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(columns))
    return Dataset("wide", X, y, features, ("no", "yes"), np.ones(rows))


def test_many_splits_are_searched_without_multipliers():
    problem = pipeline.pose(wide_table(), "dpflow", 3, constraints=("leaves <= 4", "leaf_rows >= 2"))
    assert dpflow.engine(problem).endswith("few branch nodes")
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
