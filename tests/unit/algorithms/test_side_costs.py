"""Costs of trees of two levels on both sides of each split: sums over triples of splits equal matrix products."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.dp import side_costs, state_expansion
from odtc.algorithms.dp.side_costs import SideCosts
from odtc.algorithms.dp.state_graph import Rows


@given(
    seed=st.integers(0, 10**6),
    price=st.sampled_from([0.0, 0.5, 1.0, 0.3]),
    labels=st.integers(2, 4),
    decimals=st.integers(0, 1),
    depth=st.integers(3, 5),
)
@settings(max_examples=20, deadline=None)
def test_the_values_of_states_are_those_of_products(seed, price, labels, decimals, depth):
    rng = np.random.default_rng(seed)
    n, tests = rng.integers(1, 25), rng.integers(1, 6)
    loss = rng.integers(0, 9, (n, labels)) / 10**decimals
    rows = Rows.of(rng.random((n, tests)) < rng.random(tests), loss, np.ones(n))
    found = []
    for few in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(state_expansion, "FEW_STATES", few)
            found.append(state_expansion.build_valued_graph(rows, depth, price))
    for one, other in zip(*(graph.levels for graph in found), strict=True):
        assert one.stop == pytest.approx(other.stop, abs=1e-9)


def test_losses_of_many_digits_and_tests_without_end_are_left_to_products(monkeypatch):
    X, count = np.eye(3, dtype=bool), np.ones(3)
    whole = Rows.of(X, np.array([[0, 2], [1, 0], [0, 3]], float), count)
    assert SideCosts(whole, 0.0).of(np.arange(3)).tolist() == [[0.0] * 3] * 2
    assert not SideCosts(whole, 1 / 3).fits
    assert not SideCosts(Rows.of(X, np.full((3, 2), 2.0**30), count), 0.0).fits
    assert not SideCosts(Rows.of(X, np.array([[0, np.pi], [1, 0], [0, 3]]), count), 0.0).fits
    monkeypatch.setattr(side_costs, "TABLE", 100)
    assert not SideCosts(whole, 0.0).fits
