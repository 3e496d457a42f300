"""Greedy trees of cuts that leave a gap: each does, and none along one line is better where a node is all there is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.data.linear_terms import LinearTerms
from odtc.heuristics.heuristic import grow
from odtc.heuristics.margin_tree import directions, grow_margin_tree
from odtc.heuristics.separating_hyperplanes import rows_at_node
from odtc.trees.heap_tree import CompleteTree
from tests import pipeline
from tests.unit.test_oct_h import posed, widest
from tests.unit.test_row_selection import data


@st.composite
def clouds(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, K = draw(st.integers(4, 40)), draw(st.integers(1, 4)), draw(st.integers(2, 3))
    X = rng.integers(0, draw(st.sampled_from((3, 20, 1000))), (n, d)).astype(float)
    y = rng.integers(0, K, n)
    X[0], X[1], y[:K] = 0.0, 1.0, np.arange(K)
    return data(X, y, weight=rng.integers(1, 4, n))


@given(dataset=clouds(), depth=st.integers(1, 3), gap=st.sampled_from((0.001, 0.02, 0.1)), gini=st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_cut_leaves_the_gap(dataset, depth, gap, gini):
    problem = posed(dataset, depth, mu=gap)
    encoded, terms = problem.encoded, LinearTerms.encoded(problem.encoded)
    heap = grow_margin_tree(
        encoded,
        CompleteTree(depth),
        terms,
        gap,
        directions(terms, grow("cart", encoded, CompleteTree(depth)), encoded),
        gini,
    )
    for t in np.flatnonzero(heap.split >= 0).tolist():
        rows, left = rows_at_node(heap, t, encoded)
        assert left.any() and not left.all() and widest(terms.Z[rows], ~left) >= gap - 1e-9
    if depth == 1 and terms.n == 1 and not gini:
        reach, least = terms.Z[:, 0], encoded.loss.sum(axis=0).min()
        for value, after in zip(np.unique(reach), np.unique(reach)[1:]):
            if after - value >= gap * 1.001:
                least = min(
                    least, sum(encoded.loss[side].sum(axis=0).min() for side in (reach <= value, reach > value))
                )
        assert heap.loss(encoded) == pytest.approx(least)


def test_rows_that_lie_close_leave_a_start_of_oct_h_more_than_one_leaf():
    """A thousand rows along a line: no cut of CART's leaves a twentieth, and two far from each other do."""
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(0, 0.3, 400), rng.uniform(0.36, 0.7, 300), rng.uniform(0.76, 1.0, 300)])
    dataset = data(np.column_stack([x, rng.random(1000)]), ((x > 0.28) & (x < 0.74)).astype(int))
    problem = posed(dataset, 2, mu=0.05)
    cart = grow("cart", problem.encoded, problem.topology)
    assert cart.errors(problem.encoded) == 0
    kept = problem.module.trimmed(problem, cart)
    rows = ((x > 0.28) & (x < 0.36)).sum()
    assert kept.errors(problem.encoded) == rows and kept.n_branch_nodes == 2
    assert pipeline.start(pipeline.compile_model(problem), "cart")[0].errors(problem.encoded) == rows


def test_the_directions_of_a_tree_are_those_that_it_weighs():
    rng = np.random.default_rng(8)
    X = rng.random((200, 3)) * [1, 10, 100]
    dataset = data(X, (X @ [1.0, 0.2, -0.01] > 1).astype(int))
    problem = posed(dataset, 1)
    terms = LinearTerms.encoded(problem.encoded)
    heap = grow("oblique:seconds=5", problem.encoded, problem.topology)
    rows, left = rows_at_node(heap, 1, problem.encoded)
    found = directions(terms, heap, problem.encoded)
    assert np.allclose(np.abs(found).sum(axis=1), 1) and len(found) == 3 + 1 + 6
    reach = terms.Z[rows] @ found[3]
    assert heap.errors(problem.encoded) == 0 and (
        reach[left].max() < reach[~left].min() or reach[left].min() > reach[~left].max()
    )
