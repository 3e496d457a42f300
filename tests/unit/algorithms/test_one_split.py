"""Trees of one test in one pass: equal to trying every tree, and to the search by multipliers."""

from dataclasses import replace

import numpy as np
import pytest

from odtc.algorithms.constrained import one_split
from odtc.algorithms.constrained.constrained_problem import keeps
from odtc.algorithms.constrained.constrained_search import search
from odtc.algorithms.constrained.engines import engine_of
from odtc.algorithms.constrained.one_split import OneSplitSearch
from tests.unit.algorithms.every_tree import cheapest_feasible, random_problem


@pytest.mark.parametrize("seed", range(0, 300, 6))
def test_the_optimum_is_that_of_trying_every_tree(seed):
    problem, asked = random_problem(seed)
    problem = replace(problem, depth=1, allowed=problem.allowed[:1])
    want, found = cheapest_feasible(problem, asked), OneSplitSearch(problem, np.arange(problem.X.shape[1])).run()
    assert found.cost == want and found.proved and found.infeasible == (want is None)
    assert want is None or keeps(problem, found.split, found.label)


def test_thousands_of_tests_are_proved_in_one_pass():
    problem, _ = random_problem(2)
    rng = np.random.default_rng(0)
    X = np.sort(rng.random((len(problem.X), 4000)) < 0.5, axis=0)[rng.permutation(len(problem.X))]
    wide = replace(problem, X=X, depth=1, allowed=None, below=None, column=np.zeros(4000, int), accepts=None)
    wide = replace(wide, subsets=np.ones((1, 1), bool))
    engine = engine_of(wide, np.arange(4000))
    assert isinstance(engine, OneSplitSearch)
    distinct = replace(wide, X=np.unique(X, axis=1), allowed=None, column=np.zeros(len(np.unique(X, axis=1).T), int))
    assert engine.run().cost == search(distinct).cost


def test_a_search_that_is_stopped_has_a_valid_bound():
    problem, _ = random_problem(4)
    problem = replace(problem, depth=1, allowed=problem.allowed[:1])
    stopped = OneSplitSearch(problem, np.arange(problem.X.shape[1]))
    stopped.watch(lambda: True, lambda bound, cost: None)
    found = stopped.run()
    assert found.bound == 0 and not found.proved


def test_sums_by_ranks_are_those_of_the_answers(monkeypatch):
    """Tests of three scales: the search by ranks comes to what the one by blocks of answers does."""
    problem, _ = random_problem(2)
    rng = np.random.default_rng(1)
    n, scale = len(problem.X), np.repeat(np.arange(3), 5)
    rank = np.stack([rng.permutation(np.resize(np.arange(6), n)) for _ in range(3)], axis=1)
    X = rank[:, scale] > np.tile(np.arange(5), 3)
    nested = replace(problem, X=X, depth=1, allowed=None, below=None, column=scale, accepts=None)
    nested = replace(nested, subsets=np.eye(3, dtype=bool))
    blocks = OneSplitSearch(nested, scale).run()
    monkeypatch.setattr(one_split, "MOST_CELLS", 4 * n)
    ranks = OneSplitSearch(nested, scale).run()
    assert blocks.proved and ranks.proved and (blocks.cost, blocks.infeasible) == (ranks.cost, ranks.infeasible)
    assert blocks.split is None or np.array_equal(blocks.split, ranks.split)
