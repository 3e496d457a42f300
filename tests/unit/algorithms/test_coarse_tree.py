"""Trees over few cuts of each column: the best ones where all cuts are taken, and trees at every moment."""

import numpy as np
import pytest

from odtc.algorithms.thresholds import coarse_tree
from odtc.algorithms.thresholds.coarse_tree import CoarseTree
from odtc.algorithms.thresholds.ranks import rank_columns, rank_rows
from odtc.errors import TimeLimitReached
from odtc.heuristics.ranked_splits import RankedSplits
from odtc.problem.branch_penalty import branch_penalty, objective
from odtc.problem.constraints.constraint import least_rows
from tests.threshold_problems import draw, optimum


def begun(problem, parts, check=lambda: None):
    tests = RankedSplits(problem.encoded, branch_penalty(problem), least_rows(problem))
    return tests, CoarseTree(tests.ranked, problem.topology.depth, parts, check)


def cost(tree):
    return tree._search.known(tree.depth).upper


def paid(problem, tests, tree):
    return objective(problem, tests.heap_tree(tree.nested(), problem.topology))


@pytest.mark.parametrize("seed", range(40))
def test_over_all_cuts_no_tree_of_depth_two_costs_less(seed):
    problem = draw(seed, depths=(1, 2), wide=True)
    tests, tree = begun(problem, 99)
    tree.search()
    assert paid(problem, tests, tree) == pytest.approx(optimum(problem))
    share = 1 - problem.params.lambda_
    assert share * tests.ranked.cost(cost(tree)) == pytest.approx(optimum(problem))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("parts", [2, 99])
def test_an_interrupted_tree_costs_what_it_is_said_to(seed, parts):
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
        assert found <= (1 - problem.params.lambda_) * tests.ranked.cost(cost(tree)) + 1e-9
        before = (1 - problem.params.lambda_) * tests.ranked.cost(cost(tree))


@pytest.mark.parametrize("every", [1, 2, 7])
def test_a_large_table_is_represented_by_some_of_its_entries(every, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 4)).round(3)
    ranked = rank_rows(rank_columns(X)[0], 1.0 - np.eye(2)[((X[:, 0] > 0) == (X[:, 1] > 0)).astype(int)])
    monkeypatch.setattr(coarse_tree, "MAX_ENTRIES", 700 // every)
    tree = CoarseTree(ranked, 2, 16, lambda: None)
    tree.search()
    assert tree._search.ranked.n == 700 // every
    column, rank, *sides = tree.nested()
    assert {column, *(side[0] for side in sides)} == {0, 1}
    assert rank in np.unique(ranked.rank[:, column])[:-1]


@pytest.mark.parametrize("n_classes", [2, 5])
def test_deeper_trees_over_many_rows_cost_less(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(3000, 4))
    y = ((X[:, 0] > 0) + 2 * (X[:, 1] > 0.3) + (X[:, 2] > rng.normal(size=3000))) % n_classes
    rank, _ = rank_columns(X)
    costs = []
    for depth in (1, 2, 3, 4):
        tree = CoarseTree(rank_rows(rank, 1.0 - np.eye(n_classes)[y]), depth, 16, lambda: None)
        tree.search()
        costs.append(cost(tree))
    assert all(deeper < shallower for shallower, deeper in zip(costs, costs[1:]))


def test_a_column_that_parts_only_rows_that_cost_the_same_is_no_test():
    rank = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 2]], np.uint32)
    loss = np.array([[0, 1], [1, 0], [0, 1], [1, 1], [1, 1]], float)
    ranked = rank_rows(rank, loss)
    assert len(ranked.columns) == 2
    for depth in (1, 2, 3):
        tree = CoarseTree(ranked, depth, 16, lambda: None)
        tree.search()
        assert cost(tree) == (1 if depth == 1 else 0)
        assert tree.nested() is None or tree.nested()[0] == 1
