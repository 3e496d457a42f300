"""Linear models by a direct call of liblinear equal scikit-learn's, which are used where they would differ."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from odtc.algorithms.hyperplanes import linear_models


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(2, 40),
    columns=st.integers(1, 6),
    C=st.sampled_from((0.1, 1.0, 1000.0)),
    sparse=st.booleans(),
)
@settings(max_examples=60, deadline=None, derandomize=True)
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_a_model_is_to_the_bit_that_of_scikit_learn(seed, rows, columns, C, sparse):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(rows, 2 * columns)).round(int(rng.integers(0, 8)))[:, ::2]  # columns that are not side by side
    side, weight = rng.random(rows) < 0.5, rng.random(rows) * rng.choice([1, 1e6])
    side[:2] = [True, False]
    h, g = linear_models.fit_hinge(Z, side, weight, C, sparse=sparse, steps=60, seed=seed % 2**31)
    penalty = "l1" if sparse else "l2"
    model = LinearSVC(C=C, penalty=penalty, dual=False, max_iter=60, tol=1e-3, random_state=seed % 2**31)
    model.fit(Z, side, sample_weight=weight)
    assert np.array_equal(h, model.coef_[0]) and g == -model.intercept_[0]


def test_this_scikit_learn_is_called_past_its_checks():
    assert linear_models._is_alike()


@pytest.mark.parametrize("other", ["another end", "another call", "no such module"])
def test_a_scikit_learn_that_is_not_alike_is_called_as_it_wants_to_be(other, monkeypatch):
    def direct():
        if other == "no such module":
            raise ImportError(other)
        call = (lambda Z, *_: (Z[0], 0.0)) if other == "another end" else lambda Z: None
        return call

    monkeypatch.setattr(linear_models, "_direct", direct)
    alike = linear_models._is_alike.__wrapped__()
    assert not alike
    monkeypatch.setattr(linear_models, "_is_alike", lambda: alike)
    Z = np.array([[0.0], [1.0]])
    h, g = linear_models.fit_hinge(Z, Z[:, 0] > 0, np.ones(2), 1e3, sparse=False, steps=60)
    assert (Z @ h > g).tolist() == [False, True]
