"""Convex hulls: dropped rows are mixtures of kept rows, and kept rows are extreme."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from odtc.algorithms.convex_hull import TOLERANCE, hull

SLOW = {"deadline": None, "derandomize": True}


@st.composite
def clouds(draw, most=40):
    d, n = draw(st.integers(1, 6)), draw(st.integers(1, most))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(("grid", "binary", "normal", "ball", "flat", "wide")))
    points = {
        "grid": lambda: random.integers(0, 4, (n, d)).astype(float),
        "binary": lambda: random.integers(0, 2, (n, d)).astype(float),
        "normal": lambda: random.standard_normal((n, d)),
        "ball": lambda: (lambda x: x / np.linalg.norm(x, axis=1, keepdims=True))(random.standard_normal((n, d))),
        "flat": lambda: random.standard_normal((n, max(1, d - 2))) @ random.standard_normal((max(1, d - 2), d)),
        "wide": lambda: random.standard_normal((n, d)) * 10.0 ** random.integers(-6, 7, d),
    }[kind]()
    return np.concatenate([points, points[random.integers(0, n, draw(st.integers(0, 5)))]])  # some twice


def scaled(points):
    span = np.ptp(points, axis=0)
    return (points - points.min(axis=0)) / np.where(span > 0, span, 1.0)


def distance(points, p):
    """By a linear program of scipy: how far p is from the hull, in the coordinate where it is farthest."""
    n, d = points.shape
    A = np.vstack([np.hstack([points.T, -np.ones((d, 1))]), np.hstack([-points.T, -np.ones((d, 1))])])
    return linprog(np.append(np.zeros(n), 1.0), A, np.append(p, -p), np.append(np.ones(n), 0.0)[None, :], [1.0]).fun


@given(points=clouds())
@settings(max_examples=150, **SLOW)
def test_dropped_points_are_mixtures_of_kept_ones_and_kept_ones_are_extreme(points):
    found, z = hull(points), scaled(points)
    assert found.extreme.any() and len(found.of) == len(found.inner) == (~found.extreme).sum()
    assert (found.weight >= 0).all() and found.extreme[found.of[found.weight > 0]].all()
    assert np.allclose(found.weight.sum(axis=1), 1, atol=1e-12)
    mixed = (found.weight[:, :, None] * z[found.of]).sum(axis=1)
    assert np.abs(mixed - z[found.inner]).max(initial=0) <= TOLERANCE + 1e-14
    for p in np.flatnonzero(found.extreme):
        others = np.delete(z, p, axis=0)
        others = others[(others != z[p]).any(axis=1)]
        assert not len(others) or distance(others, z[p]) > 0.9 * TOLERANCE


@pytest.mark.parametrize("d", [2, 3, 5])
def test_the_extreme_points_are_those_of_qhull(d):
    points = np.random.default_rng(d).standard_normal((400, d))
    assert set(np.flatnonzero(hull(points).extreme)) == set(ConvexHull(points).vertices)


@given(points=clouds(), slack=st.sampled_from((0.05, 0.3)))
@settings(max_examples=60, **SLOW)
def test_a_tolerance_keeps_fewer_points_that_express_the_others_within_it(points, slack):
    found, z = hull(points, tolerance=slack), scaled(points)
    assert found.extreme[found.of[found.weight > 0]].all()
    mixed = (found.weight[:, :, None] * z[found.of]).sum(axis=1)
    assert np.abs(mixed - z[found.inner]).max(initial=0) <= slack + 1e-12


def test_points_at_equal_steps_are_not_all_dropped():
    """docs/explanation/printed-models.md: each is within a quarter of the others, but not all can go."""
    found = hull(np.array([[0.0], [0.25], [0.5], [0.75], [1.0]]), tolerance=0.25)
    assert found.extreme.any() and not found.extreme.all()


def test_the_same_points_have_the_same_hull():
    points = np.random.default_rng(1).integers(0, 6, (300, 5)).astype(float)
    first, second = hull(points), hull(points)
    assert np.array_equal(first.extreme, second.extreme) and np.array_equal(first.weight, second.weight)


def test_of_equal_points_one_is_kept():
    found = hull(np.ones((4, 3)))
    assert found.extreme.tolist() == [True, False, False, False] and (found.of[found.weight > 0] == 0).all()


@pytest.mark.parametrize("seed", range(4))
def test_points_that_are_flat_but_for_rounding_keep_the_corners_alone(seed):
    """Shares of a total, far from 0: Qhull took what rounding left of them for a shape, and nearly all for corners."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3), 60)
    found = hull(1e5 + shares @ rng.normal(size=(3, 3)))
    assert set(np.flatnonzero(found.extreme)) == set(ConvexHull(shares[:, :2]).vertices)
