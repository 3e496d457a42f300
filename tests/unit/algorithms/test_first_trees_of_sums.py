"""The trees that a search of leaves that answer numbers meets first, before it proves any."""

import numpy as np
import pytest

from odtc.algorithms.moments import first_trees, laws
from odtc.algorithms.moments.search import MomentSearch


class Ended(Exception):
    """What a check raises."""


def drawn(seed: int, n: int = 60):
    """(ranks, moments) of a draw: three columns of numbers and one of two answers; few rows have targets far above."""
    random = np.random.default_rng(seed)
    rank = np.column_stack([*random.integers(0, 12, (3, n)), random.integers(0, 2, n)])
    y = np.round(random.normal(size=n) + (rank[:, 0] > 5) * (rank[:, 3] * 4 - 2) + 30 * (rank[:, 1] > 10), 2)
    return rank, np.stack([np.ones(n), y, y * y, np.ones(n)])


@pytest.mark.parametrize("least", [1, 4, 22])
@pytest.mark.parametrize("seed", range(6))
def test_they_change_no_optimum(seed, least, monkeypatch):
    rank, moments = drawn(seed)
    plain = MomentSearch(rank, moments, laws.SQUARE, 0.1, least)
    plain.solve(3)
    monkeypatch.setattr(first_trees, "MIN_WORK", 0.0)
    monkeypatch.setattr(first_trees, "CUTS_PER_COLUMN", 9)
    engine = MomentSearch(rank, moments, laws.SQUARE, 0.1, least)
    engine.solve(3)
    assert engine.cost == pytest.approx(plain.cost, abs=1e-9) and engine.bound == pytest.approx(plain.bound, abs=1e-9)
    assert cost(engine.tree(), engine, np.arange(len(rank))) == pytest.approx(engine.cost, abs=1e-9)


def cost(tree, engine, rows) -> float:
    """Of a nested tree, from the moments; every leaf has its rows."""
    if tree is None:
        w, s, count = engine.moments[:, rows].sum(axis=1)
        assert count >= engine.least
        return float((engine.moments[1, rows] ** 2).sum() - s * s / w)
    return engine.price + sum(cost(one, engine, side) for one, side in zip(tree[2:], engine.sides(rows, *tree[:2])))


def test_a_large_table_has_a_good_tree_before_a_proof(monkeypatch):
    """No cut alone says anything of the sign of a product; 50,000 rows ended with CART's tree after 40 s."""
    random = np.random.default_rng(3)
    x = random.normal(size=(3_000, 8))
    y = np.sign(x[:, 2]) * np.sign(x[:, 5]) * 3 + (x[:, 0] > 0) + random.normal(size=len(x))
    rank = np.argsort(np.argsort(x, axis=0), axis=0)
    monkeypatch.setattr(MomentSearch, "_solve", only_one_level(MomentSearch._solve))
    engine = MomentSearch(rank, np.stack([np.ones(len(x)), y, y * y, np.ones(len(x))]), laws.SQUARE)
    with pytest.raises(Ended):
        engine.solve(3)
    assert engine.cost < 0.25 * ((y - y.mean()) ** 2).sum()


def only_one_level(solve):
    """The search ends with the first tree of two levels over all cuts."""

    def solved(self, rows, depth, *more):
        if depth > 1:
            raise Ended
        return solve(self, rows, depth, *more)

    return solved
