"""Lines through a hyperplane: each is searched exactly, whatever the search has done before."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odtc.algorithms.hyperplanes.line_search import LineSearch

SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
KEPT = LineSearch()  # its memory is that of all examples


def _searched(search, v, slopes, sign):
    search.rows(sign, float(-sign[sign < 0].sum()))
    return search.best(v, slopes)


def _cost(v, slope, sign, delta):
    return float(-sign[sign < 0].sum()) + sign[v + delta * slope > 0].sum()


@given(st.data())
@settings(max_examples=200, **SLOW)
def test_a_line_is_searched_exactly(data):
    n, m = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4))

    def drawn(numbers, size):
        return np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)), float)

    v, slopes = drawn(st.integers(-4, 4), n), drawn(st.integers(-3, 3), n * m).reshape(m, n)
    sign = drawn(st.sampled_from([-2.0, -1.0, 0.5, 1.0, 0.1]), n)
    delta, cost = _searched(KEPT, v, slopes, sign)
    again = _searched(LineSearch(), v, slopes, sign)
    assert (delta == again[0]).all() and (cost == again[1]).all()
    for slope, found, least in zip(slopes, delta, cost):
        moving = slope != 0
        turns = np.unique(-v[moving] / slope[moving])
        tried = [
            *((turns[1:] + turns[:-1]) / 2),
            *(turns[:1] - 1),
            *(turns[-1:] + 1),
            *([0.0] if not len(turns) else []),
        ]
        assert (
            least
            == pytest.approx(min(_cost(v, slope, sign, x) for x in tried))
            == pytest.approx(_cost(v, slope, sign, found))
        )


@given(st.integers(0, 10**6), st.integers(1, 3000), st.booleans())
@settings(max_examples=30, **SLOW)
def test_what_a_search_says_is_what_its_line_costs(seed, n, whole):
    rng = np.random.default_rng(seed)
    v, slopes, sign = rng.normal(size=n), rng.normal(size=(5, n)), rng.normal(size=n) * 10.0 ** rng.integers(-9, 9)
    if whole:
        v, slopes, sign = np.rint(3 * v), np.rint(slopes), np.rint(sign)
    delta, cost = _searched(KEPT, v, slopes, sign)
    size = np.abs(sign).sum()
    for slope, found, least in zip(slopes, delta, cost):
        assert least == pytest.approx(_cost(v, slope, sign, found), abs=1e-12 * size)
        turns = rng.choice(-v[slope != 0] / slope[slope != 0], 20) if (slope != 0).any() else np.zeros(1)
        assert all(
            least <= _cost(v, slope, sign, turn + step) + 1e-12 * size for turn in turns for step in (-1e-3, 1e-3)
        )


def test_rows_that_stay_cost_what_they_do_where_they_are():
    search, v = LineSearch(), np.array([1.0, -1.0, 0.0, 2.0])
    search.rows(np.array([1.0, -2.0, 4.0, -8.0]), 10.0)
    delta, cost = search.best(v, np.array([[0.0, 0, 0, 0], [0, 1, 0, 0], [1e-13, 0, 0, 1]]))
    # Row 0 stays right, 2 stays left; in the second line row 1 is better right, in the third 3 is right as it is.
    assert (
        cost.tolist() == [10 + 1 - 8, 10 + 1 - 2 - 8, 10 + 1 - 8] and delta[0] == 0.0 and delta[1] > 1 and delta[2] > -2
    )
