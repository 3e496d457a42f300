"""Weights, costs and targets far from 1: the trees are those of trying every cut, counted in fractions."""

from fractions import Fraction
from math import log

import numpy as np
import polars as pl
import pytest

import odtc
from odtc.workflow.results import Fit

X = [0.0, 1, 1, 2, 3, 3, 4, 5]


def least(leaf, price=Fraction(0)) -> float:
    """The least that a leaf alone, or a cut of X with a leaf on each side, costs; `leaf` takes places of rows."""
    rows = range(len(X))
    cuts = [([i for i in rows if X[i] <= cut], [i for i in rows if X[i] > cut]) for cut in sorted(set(X))[:-1]]
    return float(min(leaf(list(rows)), *(leaf(low) + leaf(high) + price for low, high in cuts)))


def fit(columns: dict, lam: float = 0.0, **how) -> Fit:
    params = {"params": {"lambda": lam}} if lam else {}
    done = odtc.fit(pl.DataFrame({"x": X} | columns), depth=1, **how, **params)
    assert done.proved and done.verified
    return done


@pytest.mark.parametrize("lam", [0.0, 0.5])
@pytest.mark.parametrize("scale", [1e-100, 1e-12, 1e12])
def test_costs_of_actions(scale, lam):
    """The numbers of a certificate of costs of 1e-100 are not those that it is counted in: it was refused, and with it
    the proof of the search."""
    go, stay = (np.array(costs) * scale for costs in ([0, 3, 1, 0, 2, 5, 1, 4], [2, 0, 1, 3, 1, 0, 0, 1]))
    above = [
        (Fraction(a) - min(Fraction(a), Fraction(b)), Fraction(b) - min(Fraction(a), Fraction(b)))
        for a, b in zip(go, stay)
    ]
    share = 1 - Fraction(lam)
    want = least(lambda rows: share * min(sum(above[i][k] for i in rows) for k in (0, 1)), Fraction(lam))
    done = fit({"go": go, "stay": stay}, lam, task="policy", actions=("go", "stay"))
    assert done.proof.objective == pytest.approx(want, rel=1e-9, abs=0)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30])
def test_targets_of_regression(scale):
    """Of squares that no double holds the certificate asked for the logarithm of infinity."""
    y = np.array([1, 1, 2, 1, 7, 6, 7, 9]) * scale
    exact = list(map(Fraction, y))

    def squares(rows):
        mean = sum(exact[i] for i in rows) / len(rows)
        return sum((exact[i] - mean) ** 2 for i in rows)

    done = fit({"y": y}, target="y", task="regression")
    assert done.proof.objective == pytest.approx(least(squares), rel=1e-9, abs=0)


@pytest.mark.parametrize("scale", [1e-100, 1e-10, 1.0, 1e9])
def test_weights_of_events(scale):
    """Events that weigh less than 1e-6 in all were refused."""
    time, event = [1, 2, 2, 3, 5, 4, 6, 6], [1, 1, 0, 1, 0, 1, 1, 0]
    weight = np.array([1, 2, 1, 1, 3, 1, 1, 2]) * scale
    w = list(map(Fraction, weight))
    hazard = [Fraction(0)] * len(X)
    for at in sorted({t for t, one in zip(time, event) if one}):
        died = sum(w[i] for i in range(8) if time[i] == at and event[i])
        step = died / sum(w[i] for i in range(8) if time[i] >= at)
        hazard = [h + step * (t >= at) for h, t in zip(hazard, time)]

    def likelihood(rows):
        events, seen = sum(w[i] * event[i] for i in rows), sum(w[i] * hazard[i] for i in rows)
        return events * (1 - Fraction(log(events / seen))) if events else Fraction(0)

    done = fit({"t": time, "e": event, "w": weight}, task="survival", time="t", event="e", weights="w")
    assert done.proof.objective == pytest.approx(least(likelihood), rel=1e-9, abs=0)
