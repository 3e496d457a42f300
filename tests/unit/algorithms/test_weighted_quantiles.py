"""The lower median has the least absolute error of all numbers, and is the least of those that have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.weighted_quantiles import places_of, weighted_median


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=1, max_size=8))
@settings(max_examples=12)
def test_the_median_costs_least(rows):
    y, weight = np.array(rows, float).T
    weight[0] += 1  # some row weighs something
    paid = {v: float((weight * np.abs(y - v)).sum()) for v in y.tolist()}
    assert weighted_median(y, weight) == min(v for v in paid if paid[v] == min(paid.values()))


def test_quantiles_are_rows():
    assert places_of(np.array([1.0, 1, 2]), np.array([0.0, 0.25, 0.26, 0.5, 0.51, 1.0])).tolist() == [0, 0, 1, 1, 2, 2]
    assert weighted_median(np.array([7.0]), np.array([0.1])) == pytest.approx(7)
