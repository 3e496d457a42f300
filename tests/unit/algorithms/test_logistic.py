"""Logistic regression by Newton steps: no neighbour is better, whatever the start, the shape and the penalty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from odtc.algorithms.hyperplanes.linear_models import fit_logistic


def value(point, Z, side, weight, C):
    margin = Z @ point[:-1] - point[-1]
    return 0.5 * point[:-1] @ point[:-1] + C * weight @ (np.logaddexp(0, margin) - side * margin)


def slope(point, Z, side, weight, C):
    miss = C * weight * (1 / (1 + np.exp(-np.clip(Z @ point[:-1] - point[-1], -500, 500))) - side)
    return np.append(point[:-1] + miss @ Z, -miss.sum())


@given(
    st.integers(0, 10**6),
    st.integers(2, 40),
    st.sampled_from([1, 2, 5, 60]),
    st.sampled_from([0.1, 10.0, 1000.0]),
    st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_the_slope_vanishes_and_a_solver_of_gradients_finds_nothing_better(seed, n, d, C, whole):
    rng = np.random.default_rng(seed)
    Z = rng.integers(-1, 3, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    side, weight = rng.permutation(np.arange(n) % 2) > 0, rng.exponential(size=n) + 0.01
    h, g = fit_logistic(Z, side, weight, C)
    found = np.append(h, g)
    least = value(found, Z, side, weight, C)
    other = minimize(value, found, (Z, side, weight, C), jac=slope, options={"maxiter": 50})
    assert least <= other.fun + 1e-5 * (1e-3 + abs(other.fun))
    begun = fit_logistic(Z, side, weight, C, (rng.normal(size=d) * 100, float(rng.normal())))
    assert value(np.append(*begun), Z, side, weight, C) == pytest.approx(least, rel=1e-5, abs=1e-8)


def test_classes_that_a_plane_parts_have_an_end_too():
    Z = np.linspace(0, 1, 50)[:, None]
    h, g = fit_logistic(Z, Z[:, 0] > 0.6, np.ones(50), 1e6)
    assert ((Z @ h > g) == (Z[:, 0] > 0.6)).all() and np.isfinite(h).all()


def test_a_column_that_says_nothing_weighs_nothing_and_one_row_of_a_class_is_enough():
    Z = np.column_stack([np.ones(30), np.zeros(30), np.arange(30.0)])
    h, g = fit_logistic(Z, np.arange(30) > 28, np.ones(30), 1.0)
    assert h[1] == 0 and abs(h[0]) < 1e-9 and h[2] > 0
