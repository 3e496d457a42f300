"""Subtrees under constraints, searched again: the result satisfies them, and no change below one node is better."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from odtc.algorithms.constrained import constrained_problem
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, cost_of, keeps, part_of
from odtc.algorithms.constrained.constrained_search import search
from odtc.algorithms.constrained.subtree_search import improved
from odtc.data.ranked_answers import RankedAnswers


def small_table(seed: int):
    """(problem of depth 3, scale): some thresholds of some columns, under a rate, a gap, leaf rows and a budget."""
    rng = np.random.default_rng(seed)
    n, columns, labels = 24, 3, int(rng.integers(2, 4))
    numbers = rng.integers(0, 4, (n, columns))
    tests = [(c, cut) for c in range(columns) for cut in range(3) if 0 < (numbers[:, c] > cut).sum() < n]
    column = np.array([c for c, _ in tests])
    y, group = rng.integers(0, labels, n), rng.integers(0, 2, n)
    uses = np.zeros((2, n, labels), np.int64)
    uses[0, :, 1] = -(y == 1).astype(int)
    uses[1, :, 1] = np.where(group == 0, (group == 1).sum(), -(group == 0).sum())
    return ConstrainedProblem(
        X=np.array([numbers[:, c] > cut for c, cut in tests]).T,
        cost=(np.arange(labels) != y[:, None]) * rng.integers(1, 4, (n, 1)),
        depth=3,
        uses=uses,
        bound=np.array([-int(0.3 * (y == 1).sum()), int(0.2 * (group == 0).sum() * (group == 1).sum())]),
        column=column,
        subsets=~np.eye(columns, dtype=bool),
        branch_cost=int(seed % 2),
        measures=np.ones((1, n), np.int64),
        least=np.full((1, labels), float(rng.integers(1, 3))),
        below=None if seed % 3 else ~np.eye(len(tests), dtype=bool),
    ), column


def below(problem, tree, node: int):
    """Every tree that differs from one below a node of level 1 by a subtree of one test there."""
    labels = range(problem.n_labels)
    under = [at for at in range(2 * node, 16) if any(at >> up == node for up in range(1, 4))]
    for asked, left, right in product(range(problem.X.shape[1]), labels, labels):
        test, label = tree[0].copy(), tree[1].copy()
        test[[node, *under]], label[[node, *under]] = -1, -1
        test[node], label[2 * node], label[2 * node + 1] = asked, left, right
        if problem.X[:, asked].any():
            yield test, label


@pytest.mark.parametrize("seed", range(8))
def test_a_subtree_that_is_searched_anew_keeps_everything_and_is_the_best(seed):
    problem, scale = small_table(seed)
    less = search(replace(problem, depth=1, allowed=None))
    best = search(problem)
    if less.split is None:
        pytest.skip("no tree of depth 1 keeps the constraints")
    fill = np.full(12, -1, np.int32)
    tree = np.append(less.split, fill).astype(np.int32), np.append(less.label, fill).astype(np.int32)
    found = improved(problem, scale, tree, lambda: False)
    cost = cost_of(problem, *found)
    assert keeps(problem, *found) and best.cost <= cost <= less.cost
    for node in (2, 3) if found[0][1] >= 0 else ():
        for test, label in below(problem, found, node):
            held = np.bincount(_leaf(problem, test), minlength=16)
            if all(held[at] for at in np.flatnonzero(label >= 0)) and keeps(problem, test, label):
                assert cost_of(problem, test, label) >= cost


def _leaf(problem, test):
    node = np.ones(len(problem.X), int)
    for _ in range(problem.depth):
        node = np.where(test[node] >= 0, 2 * node + problem.X[np.arange(len(node)), test[node]], node)
    return node


def test_a_clock_that_says_stop_leaves_the_tree():
    problem, scale = small_table(1)
    tree = np.full(16, -1, np.int32), np.full(16, -1, np.int32)
    assert improved(problem, scale, tree, lambda: True) is tree


def test_a_large_part_of_ranked_answers_is_no_table(monkeypatch):
    """Below a node of many rows the answers to all thresholds are held as ranks, and tell the same."""
    rng = np.random.default_rng(3)
    rank = rng.integers(0, 20, (60, 3)).astype(np.uint32)
    scale, place = np.repeat(np.arange(3), 20), np.tile(np.arange(20), 3)
    answers = RankedAnswers(rank, scale, place)
    rows, tests = rng.random(60) < 0.5, np.arange(1, 60, 2)
    dense = part_of(answers, rows, tests)
    assert isinstance(dense, np.ndarray)
    monkeypatch.setattr(constrained_problem, "MOST_CELLS", 10)
    part = part_of(answers, rows, tests)
    assert isinstance(part, RankedAnswers) and (np.asarray(part) == dense).all()
    assert (dense == (rank[rows][:, scale[tests]] > place[tests])).all()
