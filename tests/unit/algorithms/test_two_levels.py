"""Trees of two levels over many cuts, bounded by columns."""

import numpy as np
import pytest

from odtc.algorithms.moments import laws, search, two_levels
from odtc.algorithms.moments.search import MomentSearch
from odtc.algorithms.moments.tree_limits import TreeLimits
from tests.references import side_gains


def drawn(seed: int) -> tuple:
    """(ranks, moments, law, price, least, limits) of some rows."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 24)), int(rng.integers(1, 5))
    ranks = [np.unique(rng.integers(0, rng.integers(1, 20), n), return_inverse=True)[1] for _ in range(p)]
    law, w, told = seed % 2, rng.choice([0.5, 1.0, 2.3], n), rng.integers(0, 2, n).astype(float)
    if law == laws.SQUARE:
        told = rng.choice([rng.normal(size=n), rng.integers(0, 3, n)])
    s = w * told
    moments = np.stack([w, s, s * told if law == laws.SQUARE else s, rng.integers(1, 3, n)])
    levels, below = np.tile(rng.random(p) < 0.7, (3, 1)), rng.random((p, p)) < 0.7
    limits = TreeLimits(), TreeLimits(levels=levels), TreeLimits(below=below), TreeLimits(subsets=below[:2])
    return np.stack(ranks, axis=1), moments, law, float(rng.choice([0, 0.1])), int(rng.choice([1, 3])), limits[seed % 4]


@pytest.mark.parametrize("seed", range(24))
def test_they_are_those_of_all_pairs_of_cuts(seed, monkeypatch):
    rank, moments, law, price, least, limits = drawn(seed)
    depth, found = 2 + (seed % 5 == 0), []
    for widest, kept in ((search.WIDEST, two_levels.CUTS_PER_COLUMN), (-1, 2), (100, 2)):
        monkeypatch.setattr(search, "WIDEST", widest)
        monkeypatch.setattr(two_levels, "CUTS_PER_COLUMN", kept)
        engine = MomentSearch(rank, moments, law, price, least, limits=limits)
        engine.solve(depth)
        found.append(engine)
        assert engine.bound >= engine.cost - engine.off
    plain = found[0]
    for engine in found[1:]:
        assert engine.cost == pytest.approx(plain.cost, abs=plain.off + 1e-12)
        assert "sorted" in vars(engine) or limits.subsets is not None or engine.root.upper <= engine.near or widest > 0


@pytest.mark.parametrize("seed", range(6))
def test_the_loops_find_what_numpy_does(seed):
    rank, moments, law, _, least, _ = drawn(seed)
    code = rank.T.astype(np.int32)
    order = np.argsort(code, axis=1, kind="stable").astype(np.int32)
    rng = np.random.default_rng(seed)
    side = (code[0] > np.median(code[0])).astype(np.uint8)
    wanted = rng.integers(0, 4, len(code)).astype(np.uint8)
    terms = law, laws.smallest(law, moments[:3]), float(least)
    found = np.full((2, 2, len(code), 2), -np.inf)
    ranked, own = np.take_along_axis(code, order, axis=1), np.ascontiguousarray(moments[[0, 1, 3]].T)
    for loops, into in zip((two_levels.side_gains, side_gains.side_gains), found):
        sums = loops(side, order, ranked, own, wanted, terms, into)
        for k in (0, 1):
            assert sums[k] == pytest.approx(own[side == k].sum(axis=0), abs=1e-12)
    assert found[0] == pytest.approx(found[1], abs=1e-12)
    assert (found[0][:, wanted == 0] == -np.inf).all() and (found[0][0] >= found[0][1]).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_an_interrupted_search_has_a_tree_and_a_bound(seed, monkeypatch):
    class Ended(Exception):
        pass

    monkeypatch.setattr(search, "WIDEST", -1)
    monkeypatch.setattr(two_levels, "CUTS_PER_COLUMN", 2)
    rng = np.random.default_rng(seed)
    y = rng.normal(size=60)
    given = rng.permuted(np.tile(np.arange(60), (3, 1)), axis=1).T, np.stack([y**0, y, y * y, y**0]), laws.SQUARE
    best = MomentSearch(*given)
    best.solve(2)
    told = []
    for stop in range(3, 30, 5):
        calls = iter(range(stop))

        def check(calls=calls):
            if next(calls, None) is None:
                raise Ended

        engine = MomentSearch(*given, check=check, told=lambda *ends: told.append(ends))
        with pytest.raises(Ended):
            engine.solve(2)
        assert engine.bound <= best.cost + best.off and engine.cost >= best.cost - best.off
    bounds = [lower for lower, _ in told]
    assert max(bounds) > 0 and max(bounds) <= best.cost + best.off
