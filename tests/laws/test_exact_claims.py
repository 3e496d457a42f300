"""Claims against exhaustive search in exact rationals: weights, costs and penalties of all sizes, thresholds next to
each other.

`ODTC_DRAWS=10000 python -m pytest tests/laws/test_exact_claims.py` draws so many problems.
"""

import os
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import odtc
from odtc.errors import ChoiceError
from odtc.problem.exact_objective import exact_objective

DRAWS = int(os.environ.get("ODTC_DRAWS", "60"))
PARTS = 12  # tests among which the draws are divided
SIZES = (1e-9, 1e-6, 1e-3, 0.1, 1.0, 7.0, 1e3, 1e6, 1e9, 1e12, 1e15)
DECIMALS = (0.1, 0.2, 0.1 + 0.2, 0.3, 1 / 3, 0.7, 1.0, 2.5, 1e-9, 1e15, 123.456)
MODELS = ("dpflow", "auto", "cg")


def least_cost(X, y, weight, cost, price, share, depth, least=1):
    """The least objective of all trees over thresholds between neighbouring numbers, in exact rationals."""
    K = len(cost)

    def value(rows, height):
        best = min(sum((weight[i] * cost[y[i]][k] for i in rows), Fraction(0)) for k in range(K)) * share
        if not height:
            return best
        for f in range(X.shape[1]):
            numbers = sorted({X[i, f] for i in rows})
            for number in numbers[:-1]:
                left = [i for i in rows if X[i, f] <= number]
                right = [i for i in rows if X[i, f] > number]
                if min(len(left), len(right)) >= least:
                    best = min(best, price + value(left, height - 1) + value(right, height - 1))
        return best

    return value(list(range(len(y))), depth)


def recounted(tree, X, y, weight, cost, price, share):
    """The objective of a tree, row by row, in exact rationals."""
    label = tree.predict(X)
    paid = sum((weight[i] * cost[y[i]][int(label[i])] for i in range(len(y))), Fraction(0))
    return share * paid + price * tree.n_branch_nodes


def numbers_of(rng, n):
    """Numbers of one size, of all sizes, decimals, or numbers with exact ties."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.choice(SIZES, n)
    if kind == 1:
        return np.round(rng.random(n), int(rng.integers(1, 13))) + 10.0 ** -rng.integers(3, 9)
    if kind == 2:
        return rng.choice(DECIMALS, n)
    if kind == 3:
        return rng.integers(1, 4, n) * 10.0 ** rng.integers(-9, 15)
    return rng.random(n) * 10.0 ** rng.integers(-6, 10, n)


def cells(rng, n):
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(0, 4, n).astype(float)
    base = 10.0 ** rng.integers(-3, 4)
    steps = [base]
    for _ in range(4):
        steps.append(np.nextafter(steps[-1], np.inf))
    return rng.choice(steps if kind == 1 else [0.1, 0.2, 0.1 + 0.2, 0.3, 1.0], n)


def exact(value):
    """A number as it was written; quotients such as 1/3 are meant."""
    near = Fraction(value).limit_denominator(10**6)
    digits = repr(float(value)).split("e")[0].replace(".", "").strip("-0")
    return near if len(digits) > 15 and float(near) == value else Fraction(repr(float(value)))


def drawn(seed):
    rng = np.random.default_rng(seed)
    n, p, K = int(rng.integers(4, 11)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    X = np.stack([cells(rng, n) for _ in range(p)], axis=1)
    y = rng.integers(0, K, n)
    y[:K] = np.arange(K)
    weight = np.ones(n) if rng.random() < 0.2 else numbers_of(rng, n)
    cost = np.ones((K, K)) if rng.random() < 0.4 else numbers_of(rng, K * K).reshape(K, K)
    np.fill_diagonal(cost, 0.0)
    penalty = float(rng.choice([0.0, 0.0, 0.1, 0.3, 1e-7, 1 / 3, 0.1 + 0.2]))
    return rng, X, y, weight, cost, penalty


def expect_true_claim(seed):
    """A fit of a drawn problem says nothing that is false; whether it is proved."""
    rng, X, y, weight, cost, penalty = drawn(seed)
    depth, model = int(rng.integers(1, 3)), str(rng.choice(MODELS))
    if not (X != X[0]).any():
        return None
    frame = pd.DataFrame(X, columns=[f"x{f}" for f in range(X.shape[1])])
    frame["w"], frame["y"] = weight, [f"c{k}" for k in y]
    params = {} if model == "cg" else {"lambda": penalty}
    reading = {"target": "y", "weights": "w", "numeric": tuple(frame.columns[:-2])}
    try:
        fit = odtc.fit(frame, model=model, depth=depth, cost=cost, params=params, **reading)
    except ChoiceError as refused:  # a model whose costs solvers would not tell apart
        assert model == "cg" and "expected an error that costs" in str(refused), seed
        return None
    share = 1 - exact(penalty) if params else Fraction(1)
    price = exact(penalty) if params else Fraction(0)
    w, c = [exact(value) for value in weight], [[exact(value) for value in line] for line in cost]
    paid = recounted(fit.tree, X, y, w, c, price, share)
    least = least_cost(X, y, w, c, price, share, depth)
    costs = exact_objective(fit.problem).costs
    if not fit.verified and model == "cg" and not costs.plain:
        return None  # its linear programs lose such costs, and the check says so
    assert fit.verified, (seed, fit.claim)
    assert fit.proof.objective == pytest.approx(float(paid), rel=1e-12, abs=0.0), seed
    assert fit.proof.bound <= float(least) * (1 + 1e-12), (seed, fit.proof.bound, float(least))
    if fit.proved or "proved optimal" in fit.claim:
        assert paid == least, (seed, float(paid), float(least), fit.claim)
        assert fit.proof.bound == fit.proof.objective, seed
    assert fit.proved or model == "cg", (seed, fit.claim)
    return fit.proved


@pytest.mark.parametrize("part", range(PARTS))
def test_no_claim_is_false(part):
    for seed in range(part, DRAWS, PARTS):
        expect_true_claim(seed)
