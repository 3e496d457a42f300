"""Local search over the splits of a tree: against trying every tree, and in the search of a deep tree."""

import itertools

import numpy as np
import pytest

import odtc
from odtc.algorithms.thresholds.node_moves import NEVER, TreeMoves
from odtc.algorithms.thresholds.ranks import rank_rows
from odtc.base import deadline
from odtc.data.dataset import Dataset, Feature
from odtc.formulations.dpflow import threshold_search
from tests import pipeline
from tests.unit.algorithms.test_threshold_search import cheapest, cost_of, dense, instance


def paid(ranked, tree, given) -> float:
    """Return the cost of a nested tree by definition; each leaf must have enough rows."""
    rank, loss, count, price, least = given
    return cost_of(tree, dense(rank, ranked.columns), loss, count, price, least * (least > 1))


def depth_of(tree) -> int:
    return 0 if tree is None else 1 + max(map(depth_of, tree[2:]))


@pytest.mark.parametrize("seed", range(30))
def test_trees_cost_what_is_noted_and_never_less_than_the_best(seed):
    given, height = instance(seed), 2 + seed % 2
    ranked, last = rank_rows(*given), NEVER
    if not ranked.n or not len(ranked.columns):
        return
    moves, best = TreeMoves(ranked, height), cheapest(*given, height)
    for _ in itertools.islice(moves.steps(), 5):
        tree = moves.nested()
        assert paid(ranked, tree, given) == pytest.approx(ranked.cost(moves.best.cost), abs=1e-9)
        assert best - 1e-9 <= ranked.cost(moves.best.cost) <= ranked.cost(last) and depth_of(tree) <= height
        last = moves.best.cost


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize(("price", "least"), [(0.0, 1), (2.0, 1), (0.0, 9), (3.0, 5)])
def test_as_many_steps_find_the_same_tree(labels, price, least):
    random = np.random.default_rng(labels)
    rank, weight = random.integers(0, 30, (300, 5)), random.integers(1, 4, 300)
    y = ((rank[:, 0] * rank[:, 1] > 200) + (labels - 2) * (rank[:, 2] > 20) + (random.random(300) < 0.1)) % labels
    given = rank, (1.0 - np.eye(labels)[y]) * weight[:, None], weight, price, least
    ranked = rank_rows(*given)

    def found():
        moves = TreeMoves(ranked, 4)
        for _ in itertools.islice(moves.steps(), 12):
            tree = moves.nested()
            assert paid(ranked, tree, given) == ranked.cost(moves.best.cost)
        return moves.best.cost, tree

    assert found() == found()


def test_a_tree_that_is_given_is_no_worse_afterwards():
    random = np.random.default_rng(0)
    rank = random.integers(0, 9, (200, 4))
    y = (rank[:, 0] > 4) ^ (rank[:, 1] > 4)
    ranked = rank_rows(rank, np.eye(2)[y.astype(int)])
    moves, half = TreeMoves(ranked, 3), (1, 4, None, None)
    tree = (0, 4, half, half)
    moves.take(tree)
    assert moves.best.cost == 0 and moves.nested() == tree
    assert not list(moves.steps())  # nothing costs less


def grid(random, rows=400):
    """Labels that a tree of depth 5 separates, and no greedy one: parity of three columns, turned by a fourth."""
    X = random.integers(0, 40, (rows, 6)).astype(float)
    return X, ((X[:, :3] > 20).sum(axis=1) + (X[:, 3] > 10) * (X[:, 0] > 7)) % 2


def test_a_deep_tree_without_errors_is_proved_and_ends_the_search():
    X, y = grid(np.random.default_rng(3))
    fitted = odtc.fit(X=X, y=y.astype(int), depth=6, time_limit=600)
    assert fitted.facts["termination"] == "optimal" and fitted.facts["objective"] == 0


def test_leaves_of_a_deep_tree_have_the_rows_that_they_must_have():
    random = np.random.default_rng(1)
    X, y = random.integers(0, 40, (250, 5)).astype(float), random.integers(0, 3, 250)
    fitted = odtc.fit(X=X, y=y, depth=5, time_limit=1, constraints=["leaf_rows >= 9"])
    assert fitted.facts["verified"] and fitted.facts["n_leaves"] > 1


def test_the_tree_of_the_moves_is_the_one_of_the_search():
    """At a limit that ends it in its first phase, too, with a bound below it."""
    random = np.random.default_rng(2)
    X, y = random.integers(0, 90, (300, 5)).astype(float), random.integers(0, 2, 300).astype(np.int32)
    features = tuple(Feature(f"x{j}", "numeric") for j in range(5))
    problem = pipeline.pose(Dataset("drawn", X, y, features, ("p", "q"), np.ones(300), "y"), "dpflow", 5)
    search = threshold_search.ThresholdSearch(problem)
    with deadline.within(1.0):
        found = search.run()
    assert 0 <= found.bound <= search.upper == problem.module.objective(problem, found.heap)
