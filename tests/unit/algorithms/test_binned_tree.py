"""Trees over few cuts of each column: the best ones where all cuts are taken, and trees at every moment."""

import numpy as np
import pytest

from odtc.algorithms.bins import binned_tree
from odtc.algorithms.bins.binned_tree import BinnedTree
from odtc.algorithms.thresholds.ranks import rank_columns, rank_rows
from odtc.errors import TimeLimitReached
from odtc.formulations.shared.ranked_splits import RankedSplits
from odtc.problem.branch_penalty import branch_penalty, objective
from odtc.problem.constraints.constraint import least_rows
from tests.threshold_problems import draw, optimum


def begun(problem, parts, check=lambda: None):
    tests = RankedSplits(problem.encoded, branch_penalty(problem), least_rows(problem))
    return tests, BinnedTree(tests.ranked, problem.topology.depth, parts, check)


def paid(problem, tests, tree):
    return objective(problem, tests.heap_tree(tree.nested(), problem.topology))


@pytest.mark.parametrize("seed", range(40))
def test_over_all_cuts_no_tree_of_depth_two_costs_less(seed):
    problem = draw(seed, depths=(1, 2), wide=True)
    tests, tree = begun(problem, 99)
    tree.search()
    assert paid(problem, tests, tree) == pytest.approx(optimum(problem))
    share = 1 - problem.params.lambda_
    assert share * tests.ranked.cost(tree.cost) == pytest.approx(optimum(problem))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("parts", [2, 99])
def test_an_interrupted_tree_costs_what_it_is_said_to(seed, parts, monkeypatch):
    monkeypatch.setattr(binned_tree, "QUICK", 5)
    problem = draw(seed, depths=(2, 3))
    least = optimum(problem)
    before = np.inf
    for looks in (0, 3, 9, 27, 10**9):
        left = [10**9]  # the columns are cut, whatever time is left

        def look(left=left):
            left[0] -= 1
            if left[0] < 0:
                raise TimeLimitReached("ended by the test")

        tests, tree = begun(problem, parts, look)
        left[0] = looks
        try:
            tree.search()
        except TimeLimitReached:
            pass
        found = paid(problem, tests, tree)
        assert least - 1e-9 <= found <= before + 1e-9
        # The objective counts no test that the rows do not need, the cost does.
        assert found <= (1 - problem.params.lambda_) * tests.ranked.cost(tree.cost) + 1e-9
        before = (1 - problem.params.lambda_) * tests.ranked.cost(tree.cost)


def test_of_very_many_columns_the_pairs_of_the_best_are_counted(monkeypatch):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.integers(0, 40, 300)[:, None] == np.arange(40), rng.normal(size=(300, 3))])
    y = ((X[:, 40] > 0) == (X[:, 41] > 0)) | (X[:, 7] > 0)
    ranked = rank_rows(rank_columns(X)[0], 1.0 - np.eye(2)[y.astype(int)])
    every = BinnedTree(ranked, 2, 16, lambda: None)
    every.search()
    monkeypatch.setattr(binned_tree, "STEPS", (300 + 4 * 2 * every.bins**2) * 10**2 // 2)  # rows, and cells
    some, pairs, counted = BinnedTree(ranked, 2, 16, lambda: None), [], binned_tree._Sides.take
    monkeypatch.setattr(
        binned_tree._Sides, "take", lambda *given: (pairs.extend(given[2].tolist()), counted(*given))[1]
    )
    some.search()
    assert 0 < len(pairs) <= 10 * 11 // 2 and set(pairs) == set(range(10))
    alone = BinnedTree(ranked, 1, 16, lambda: None)
    alone.search()
    assert every.cost <= some.cost <= alone.cost < ranked.most.sum()
    assert all(0 <= column < 43 and 0 <= last < len(some.kept[column]) for column, last in some.place.values())


@pytest.mark.parametrize("n_rows", [40, 40_000])
def test_of_few_rows_the_bins_are_what_takes_the_time(n_rows, monkeypatch):
    """300 rows and 2,000 columns took 15 seconds, of which the rows were an eighth; many rows are counted as before."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 60)).round(2)
    ranked = rank_rows(rank_columns(X)[0], 1.0 - np.eye(2)[(X[:, 7] > 0).astype(int)])
    tree = BinnedTree(ranked, 2, 16, lambda: None)
    monkeypatch.setattr(binned_tree, "STEPS", n_rows * 60**2 // 2)
    taken = tree._likely(tree.entries)
    assert 7 in taken and (2 <= len(taken) <= 15 if n_rows < 100 else len(taken) >= 55)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_deeper_trees_over_many_rows_cost_less(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(3000, 4))
    y = ((X[:, 0] > 0) + 2 * (X[:, 1] > 0.3) + (X[:, 2] > rng.normal(size=3000))) % n_classes
    rank, _ = rank_columns(X)
    costs = []
    for depth in (1, 2, 3, 4):
        tree = BinnedTree(rank_rows(rank, 1.0 - np.eye(n_classes)[y]), depth, 16, lambda: None)
        tree.search()
        costs.append(tree.cost)
    assert all(deeper < shallower for shallower, deeper in zip(costs, costs[1:]))


def test_a_column_that_parts_only_rows_that_cost_the_same_is_no_test():
    rank = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 2]], np.uint32)
    loss = np.array([[0, 1], [1, 0], [0, 1], [1, 1], [1, 1]], float)
    ranked = rank_rows(rank, loss)
    assert len(ranked.columns) == 2
    for depth in (1, 2, 3):
        tree = BinnedTree(ranked, depth, 16, lambda: None)
        tree.search()
        assert tree.cost == (1 if depth == 1 else 0)
        assert not tree.place or tree.nested()[0] == 1
