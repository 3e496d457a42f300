"""Four levels over few cuts at once: search and check find the same as level by level."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odtc.algorithms.moments import four_levels
from odtc.algorithms.moments.search import MomentSearch
from odtc.errors import CertificateError, TimeLimitReached
from odtc.verification import leaf_sums
from odtc.verification.certificate import check
from tests.laws.test_tasks import of_nested_tests
from tests.plain_kernels import bound_one_by_one, run_plain


@pytest.fixture
def plain_loops(monkeypatch):
    """Kernels as plain functions, of tables however small."""
    run_plain(monkeypatch)
    monkeypatch.setattr(four_levels, "repays", lambda n_rows, size: size.sum() - len(size) >= 4)


def moments_of(rng: np.random.Generator, law: int, n: int) -> np.ndarray:
    """W, S, Q and the number of rows, of weights, ties, rows without events and numbers of all sizes."""
    if law:
        event = (rng.random(n) < rng.choice([0.1, 0.9])).astype(float)
        return np.stack([rng.exponential(size=n), event, event, np.ones(n)])
    w, y = rng.choice([0.5, 1, 2], n), rng.normal(size=n).round(int(rng.integers(0, 12)))
    y[0] *= rng.choice([1, 1e6])
    return np.stack([w, w * y, w * y * y, np.ones(n)])


def paid(engine: MomentSearch, tree: tuple | None, rows: np.ndarray) -> float:
    """What a tree costs, summed by its leaves."""
    if tree is None:
        return engine._leaf(rows)
    sides = engine.sides(rows, *tree[:2])
    assert all(len(side) for side in sides)
    return engine.price + sum(paid(engine, below, side) for below, side in zip(tree[2:], sides))


@given(seed=st.integers(0, 10**6), law=st.integers(0, 1), price=st.sampled_from([0.0, 0.1, 2.0]))
@settings(max_examples=12)
def test_four_levels_at_once_cost_what_the_search_by_levels_finds(seed, law, price):
    rng = np.random.default_rng(seed)
    rank = rng.integers(0, rng.integers(2, 4), (int(rng.integers(8, 25)), int(rng.integers(2, 5))))
    moments = moments_of(rng, law, len(rank))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(four_levels, "repays", lambda *_: False)
        by_levels = MomentSearch(rank, moments, law, price)
        best = by_levels.solve(4).upper
        patch.undo()
        plain_loops.__wrapped__(patch)
        engine = MomentSearch(rank, moments, law, price)
        found = engine.solve(4)
    assert engine.at_once == (sum(len(np.unique(column)) - 1 for column in rank.T) >= 4) and not by_levels.at_once
    near = 16 * engine.near
    assert [found.upper, found.lower] == pytest.approx([best, best], abs=near)
    assert paid(engine, engine.tree(), np.arange(len(rank))) == pytest.approx(best, abs=near)


@pytest.mark.parametrize("law", ["squares", "likelihood"])
@pytest.mark.parametrize(("seed", "depth"), [(0, 3), (1, 4), (2, 4)])
def test_a_checker_bounds_all_trees_at_once_as_one_after_the_other(monkeypatch, plain_loops, law, seed, depth):
    """Of columns with many ranks, with alike cuts, and of rows that no column tells apart."""
    rng = np.random.default_rng(seed)
    data, rank = of_nested_tests(seed, 1)[1], rng.integers(0, [3, 2, 2, 3], (30, 4))
    rank = np.column_stack([rank, rank[:, 0] > 1])
    if law == "likelihood":
        one, time = np.ones(30), rng.exponential(size=30) + 0.1
        data = replace(data, sums=np.column_stack([one, one, one, rng.integers(0, 2, 30), time]))
    measure = getattr(leaf_sums, law).MEASURE({"number_scale": 10, "weight_scale": 1}, data)
    rows, price = np.flatnonzero(rank[:, 0] <= 1 + seed % 2), Fraction(seed % 3, 4) * measure.unit
    every = leaf_sums.LeafSumsBound(rank, measure, price, law == "likelihood")
    bounds = []
    for at_once in (True, False):
        if not at_once:
            bound_one_by_one(monkeypatch)
        bounds.append(every.least(rows, depth, leaf_sums.ALL, Fraction(0), exact=False))
    assert bounds[0] > 0 and bounds[0] == pytest.approx(bounds[1], rel=1e-9, abs=1e3 * measure.near)


def test_a_certificate_of_all_trees_proves_the_best_one_and_no_better(monkeypatch, plain_loops):
    bound_one_by_one(monkeypatch)
    facts, data = of_nested_tests(2, 4)
    assert facts["tried"] == leaf_sums.ALL
    proof = check(facts, data)
    assert proof.optimal and proof.exact
    shallow = of_nested_tests(2, 2)[0]
    worse = check(facts | {key: shallow[key] for key in ("tree", "claim")}, data)
    assert worse.bound == pytest.approx(proof.objective, rel=1e-9) and worse.bound < worse.objective
    assert not check(facts | {"tried": []}, data).optimal
    for wrong in ({"tried": "most"}, {"depth": 2}, {"depth": 5}, {"least": 2}, {"leaves": 4}):
        terms = {"of": facts["of"] | {"depth": wrong.get("depth", 4)}}
        with pytest.raises(CertificateError):
            check(facts | terms | wrong, data)


@given(seed=st.integers(0, 10**6), law=st.integers(0, 1), price=st.sampled_from([0.0, 0.1]), calls=st.integers(1, 400))
@settings(max_examples=12)
def test_a_search_that_is_ended_leaves_a_tree_that_is_grown_and_bounds_that_hold(seed, law, price, calls):
    rng = np.random.default_rng(seed)
    rank = rng.integers(0, 8, (int(rng.integers(8, 25)), 2))
    depth, least = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    moments = moments_of(rng, law, len(rank))
    left = iter(range(calls))

    def check():
        if next(left, None) is None:
            raise TimeLimitReached("enough")

    engine = MomentSearch(rank, moments, law, price, least, check)
    try:
        engine.solve(depth)
    except TimeLimitReached:
        engine.check = lambda: None
        if engine.free is not None:
            engine.free.check = engine.check
        engine.grow(depth, at_once=1)
    every = np.arange(len(rank))
    near = 16 * engine.near
    tree = engine.tree()
    assert paid(engine, tree, every) == pytest.approx(engine.root.upper, abs=near)
    proved = [MomentSearch(rank, moments, law, price, least).solve(height).upper for height in (engine.height, depth)]
    assert proved[1] - near <= engine.root.upper <= proved[0] + near and engine.root.lower <= proved[1] + near

    def leaves(tree, rows, left):
        if tree is None:
            return [len(rows)]
        assert left
        return [
            one for below, side in zip(tree[2:], engine.sides(rows, *tree[:2])) for one in leaves(below, side, left - 1)
        ]

    assert tree is None or min(leaves(tree, every, depth)) >= least
