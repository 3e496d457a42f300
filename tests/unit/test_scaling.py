"""Units change no exact result: columns in other units have trees of the same objective, and the same answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odtc
from tests.unit.test_row_selection import data

LAW = {"max_examples": 5, "deadline": None, "derandomize": True}


def made(seed: int, n: int):
    """Rows of few values in two classes, and the same in other units: each column times a power of two (exact in
    float64, and in the decimals of these) and moved by a whole number."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 2)).astype(float)
    y = (X @ [1.0, -1.0] + rng.normal(0, 2, n) > 0).astype(int)
    y[:2] = [0, 1]
    X[:2] = [[0, 5], [5, 0]]
    return data(X, y), data(X * 2.0 ** rng.integers(-3, 4, 2) + rng.integers(-9, 9, 2), y)


@pytest.mark.parametrize("model", ["dpflow", "cg"])
@given(seed=st.integers(0, 2**32))
@settings(**LAW)
def test_trees_over_thresholds(model, seed):
    one, other = (odtc.fit(some, model, 2) for some in made(seed, 30))
    assert one.proved and other.proved and one.facts["objective"] == other.facts["objective"]
    assert np.array_equal(one.tree.predict(one.dataset.X), other.tree.predict(other.dataset.X))


@pytest.mark.parametrize("model", ["svm1_odt", "oct_h"])
@pytest.mark.parametrize("seed", [1])
def test_trees_of_hyperplanes(model, seed):
    one, other = (odtc.fit(some, model, 1, solver="highs", threads=1, time_limit=20) for some in made(seed, 8))
    assert one.proved and other.proved
    assert one.facts["objective"] == pytest.approx(other.facts["objective"], abs=1e-6)
