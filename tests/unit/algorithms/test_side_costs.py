"""What trees of two levels cost on either side of each test, by loops over triples of tests, is what products tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.dp import side_costs, state_expansion
from odtc.algorithms.dp.state_graph import Rows
from tests.plain_kernels import run_plain


@given(
    seed=st.integers(0, 10**6),
    price=st.sampled_from([0.0, 0.5, 1.0, 0.3]),
    labels=st.integers(2, 4),
    decimals=st.integers(0, 1),
)
@settings(max_examples=12, deadline=None)
def test_the_values_of_states_are_those_of_products(seed, price, labels, decimals):
    rng = np.random.default_rng(seed)
    n, tests = rng.integers(1, 25), rng.integers(1, 6)
    loss = rng.integers(0, 9, (n, labels)) / 10**decimals
    rows = Rows.of(rng.random((n, tests)) < rng.random(tests), loss, np.ones(n))
    found = []
    for few in (0, side_costs.FEW):
        with pytest.MonkeyPatch.context() as patch:
            run_plain(patch)
            patch.setattr(side_costs, "FEW", few)
            counted = side_costs.side_costs(rows, price)
            whole = (1 + (labels == 2)) * price * (10**decimals if decimals else 1) % 1 == 0
            assert counted is None or (few == 0 and whole)
            found.append(state_expansion.build_valued_graph(rows, 3, price))
    for one, other in zip(*(graph.levels for graph in found), strict=True):
        assert one.stop == pytest.approx(other.stop, abs=1e-9)


def test_losses_of_many_digits_and_tests_without_end_are_left_to_products(monkeypatch):
    run_plain(monkeypatch)
    monkeypatch.setattr(side_costs, "FEW", 0)
    X, count = np.eye(3, dtype=bool), np.ones(3)
    whole = Rows.of(X, np.array([[0, 2], [1, 0], [0, 3]], float), count)
    assert side_costs.side_costs(whole, 0.0).tolist() == [[0.0] * 3] * 2
    assert side_costs.side_costs(whole, 1 / 3) is None
    assert side_costs.side_costs(Rows.of(X, np.full((3, 2), 2.0**30), count), 0.0) is None
    assert side_costs.side_costs(Rows.of(X, np.array([[0, np.pi], [1, 0], [0, 3]]), count), 0.0) is None
    monkeypatch.setattr(side_costs, "TABLE", 100)
    assert side_costs.side_costs(whole, 0.0) is None
