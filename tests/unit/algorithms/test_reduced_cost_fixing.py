"""The cheapest pair of points of which each and both keep one bound, against trying every pair."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.dp.pareto import Budgets
from odtc.algorithms.dp.reduced_cost_fixing import _windowed


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_the_cheapest_pair_within_the_bounds(data):
    def points():
        pairs = st.tuples(st.integers(0, 9), st.integers(-4, 6))
        return np.array(data.draw(st.lists(pairs, min_size=1, max_size=9)), float)

    left, right, branch = points(), points(), np.array([0.5, float(data.draw(st.integers(0, 2)))])
    lower, upper = (
        data.draw(st.sampled_from([-np.inf, *range(-4, 12)])),
        data.draw(st.sampled_from([*range(-4, 12), np.inf])),
    )
    budgets = Budgets(np.ones(1), np.zeros((0, 2, 1)), np.array([lower]), np.array([upper]), np.array([1e-9]))
    pairs = {
        (i, k): left[i, 0] + right[k, 0]
        for i in range(len(left))
        for k in range(len(right))
        if lower - 1e-9 <= left[i, 1] + right[k, 1] + branch[1] <= upper + 1e-9
    }
    found = _windowed(budgets, branch, left, right)
    if pairs:
        assert found in pairs and pairs[found] == min(pairs.values())
