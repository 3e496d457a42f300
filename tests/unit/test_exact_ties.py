"""Weights, costs and penalties of many digits: the search compares the trees exactly that its rounded costs do not tell
apart, so that they are proved like any others."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.estimators.classifier import OptimalTreeClassifier
from odtc.problem.exact_objective import exact_objective
from tests.command_line import odtc as run
from tests.laws.test_exact_claims import least_cost, recounted


def framed(X, y, weight):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return frame.assign(w=weight, y=[f"c{k}" for k in y])


def fitted(X, y, weight, depth, **more):
    numeric = tuple(f"x{j}" for j in range(X.shape[1]))
    return odtc.fit(framed(X, y, weight), target="y", weights="w", numeric=numeric, depth=depth, **more)


def written(values):
    return [Fraction(repr(float(value))) for value in values]


def drawn(seed, n, p, numbers):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, numbers, (n, p)).astype(float)
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return rng, X, y


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("numbers", [2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_random_weights_are_proved_as_exhaustive_search_does(seed, depth, numbers):
    rng, X, y = drawn(seed, 14, 3, numbers)
    weight = rng.random(14)
    penalty = [0.0, 0.012345678901234567][seed % 2]
    price = Fraction(repr(penalty))
    fit = fitted(X, y, weight, depth, params={"lambda": penalty})
    terms = written(weight), [[0, 1], [1, 0]], price, 1 - price
    least = least_cost(X, y, *terms, depth)
    assert fit.proved and fit.verified, fit.claim
    assert recounted(fit.tree, X, y, *terms) == least
    assert fit.proof.objective == fit.proof.bound == float(least)


def test_costs_of_many_digits_and_three_classes_are_proved():
    rng, X, _ = drawn(3, 12, 2, 5)
    y = np.arange(12) % 3
    weight, cost = rng.random(12), rng.random((3, 3))
    np.fill_diagonal(cost, 0.0)
    fit = fitted(X, y, weight, 2, cost=cost)
    terms = written(weight), [written(line) for line in cost], Fraction(0), Fraction(1)
    assert fit.proved and recounted(fit.tree, X, y, *terms) == least_cost(X, y, *terms, 2)


@pytest.mark.parametrize("far", [False, True])
def test_the_better_of_two_trees_that_differ_in_the_last_digit_is_taken(far):
    """The columns x0 and x1 each misclassify one row, of weights that differ by a unit in the 17th digit."""
    one, other = 0.12345678901234567, 0.12345678901234568
    if far:  # the difference is lost next to the other weights
        one, other = one * 1e-3, np.nextafter(one * 1e-3, 1.0)
    large = np.random.default_rng(1).random(40) + 1e3
    y = np.arange(42) % 2
    for swap in (False, True):
        X = np.stack([y, y], axis=1).astype(float)
        X[0, 0], X[2, 1] = 1 - X[0, 0], 1 - X[2, 1]
        weight = np.concatenate([[other, large[0], one] if swap else [one, large[0], other], large[1:]])
        fit = fitted(X, y, weight, 1)
        assert fit.proved, fit.claim
        assert fit.tree.used == {int(swap)}
        assert fit.proof.objective == one


def test_rows_whose_rounded_cost_is_nothing_are_told_apart():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0]] * 2, float)
    y = np.array([0, 1, 0, 1, 1, 0, 1, 1, 0, 1])
    weight = np.where(np.arange(10) < 5, 1e-17, 1.0) * (1 + np.random.default_rng(0).random(10))
    terms = written(weight), [[0, 1], [1, 0]], Fraction(0), Fraction(1)
    fit = fitted(X, y, weight, 2)
    assert fit.proved and recounted(fit.tree, X, y, *terms) == least_cost(X, y, *terms, 2)


@pytest.mark.parametrize("penalty", [0.012345678901234567, 0.5 + 1e-16, 1 / 3])
@pytest.mark.parametrize("most", [9, 10**3, 10**6, 10**9, 10**12])
def test_whole_weights_with_a_long_penalty_are_proved(penalty, most):
    """Also if the sums are a few bits longer than a search counts, which a certificate could hold."""
    rng, X, y = drawn(1, 40, 3, 6)
    weight = rng.integers(1, most, 40).astype(float)
    fit = fitted(X, y, weight, 2, params={"lambda": penalty})
    assert fit.proved and fit.proof.objective == fit.proof.bound, fit.claim


@pytest.mark.parametrize("seed", range(4))
def test_the_least_rows_of_a_leaf_are_kept(seed):
    rng, X, y = drawn(seed, 16, 2, 5)
    weight = rng.random(16)
    terms = written(weight), [[0, 1], [1, 0]], Fraction(0), Fraction(1)
    fit = fitted(X, y, weight, 2, constraints=["leaf_rows >= 4"])
    assert fit.proved and min(sum(leaf.rows) for leaf in fit.tree.leaves()) >= 4
    assert recounted(fit.tree, X, y, *terms) == least_cost(X, y, *terms, 2, least=4)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    X = rng.random((300, 5)).round(3)
    y = ((X[:, 0] + X[:, 1] > 1) ^ (rng.random(300) < 0.2)).astype(int)
    return X, y, rng.random(300)


def test_a_table_with_random_weights_is_proved(table):
    X, y, weight = table
    for model in ("auto", "dpflow"):
        fit = fitted(X, y, weight, 2, model=model)
        assert fit.proved and fit.proof.objective == fit.proof.bound
        assert fit.claim.startswith("proved optimal: ")
    exact = exact_objective(fit.problem)
    assert float(exact.cost(fit.decoded.heap)) == fit.proof.objective


def test_the_command_line_proves_it_and_says_why_it_is_not_certified(table, tmp_path):
    X, y, weight = table
    path = tmp_path / "t.csv"
    framed(X, y, weight).to_csv(path, index=False)
    facts = run("fit", path, "--target", "y", "--weights", "w", "--json", folder=tmp_path).facts
    assert facts["claim"] == "proved optimal" and "2^53" in facts["claim_reason"]
    assert facts["objective"] == facts["bound"]
    screen = run("fit", path, "--target", "y", "--weights", "w", folder=tmp_path)
    assert [line for line in screen.out.splitlines() if facts["claim_reason"] in line] == [
        f"not certified: {facts['claim_reason']}"
    ]
    assert facts["claim_reason"] not in screen.err
    sure = run("fit", path, "--target", "y", "--auxiliary", "w", folder=tmp_path)
    assert "proved optimal, certified: " in sure.out and "not certified" not in sure.out


def test_estimators_prove_it(table):
    X, y, weight = table
    fit = OptimalTreeClassifier(max_depth=2).fit(X, y, sample_weight=weight)
    assert fit.is_optimal_ and fit.claim_ == "proved optimal" and fit.bound_ == fit.objective_
    odd = OptimalTreeClassifier(max_depth=2, class_weight={0: 0.1234567890123456, 1: np.pi}).fit(X, y, weight)
    assert odd.is_optimal_
    assert OptimalTreeClassifier(max_depth=1).fit(X, y).claim_ == "proved optimal, certified"
    limited = OptimalTreeClassifier(max_depth=1, model="cart").fit(X, y)
    assert limited.claim_ == "best found" and not limited.is_optimal_
