"""The loops of the checker of leaf sums, as plain Python: against trying all trees, and against its way in numpy."""

import json
import math
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from odtc.verification.certificate import check
from odtc.verification.leaf_sums import ALL, two_levels
from odtc.verification.leaf_sums.bound import LeafSumsBound
from odtc.verification.leaf_sums.limits import Limit
from odtc.verification.leaf_sums.squares import Squares
from tests.plain_kernels import run_plain
from tests.unit.test_forged_leaf_sums import numbers, true


def cost(law, unit, moments, told, rows):
    """What a leaf of some rows costs, by its definition."""
    a, b = (int(moments[k, rows].sum()) for k in (0, 1))
    if law == two_levels.SQUARE:
        gain = b * b / a if a > 0 else 0.0
    elif law == two_levels.LIKELIHOOD:
        gain = b * math.log(b * unit / a) if a > 0 and b > 0 else 0.0
    else:
        gain = max(0, a, b)
    return told[rows].sum() - gain


def roots(rank, rows, leaf, price, least, leaves):
    """{(column, cut): the least cost of a tree of two levels with this root}, by trying all."""

    def stump(part):
        found = [(leaf(part), 1)]
        for g in range(rank.shape[1]):
            for cut in np.unique(rank[part, g])[:-1]:
                left = rank[part, g] <= cut
                if min(left.sum(), (~left).sum()) >= least:
                    found.append((price + leaf(part[left]) + leaf(part[~left]), 2))
        return found

    found = {}
    for f in range(rank.shape[1]):
        for cut in np.unique(rank[rows, f])[:-1].tolist():
            left = rank[rows, f] <= cut
            if min(left.sum(), (~left).sum()) >= least:
                pairs = product(stump(rows[left]), stump(rows[~left]))
                found[f, cut] = price + min(a + b for (a, m), (b, n) in pairs if not leaves or m + n <= leaves)
    return found


@pytest.mark.parametrize("law", [two_levels.SQUARE, two_levels.LIKELIHOOD, two_levels.CHEAPEST])
@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("leaves", [0, 3])
@pytest.mark.parametrize("seed", range(3))
def test_every_root_of_two_levels_has_its_best_tree(law, least, leaves, seed):
    rng = np.random.default_rng(seed)
    rank = rng.integers(0, 5, (11, 3))
    rank[:, 1] *= 2  # ranks with gaps
    moments = np.stack([rng.integers(-3 if law == two_levels.CHEAPEST else 0, 4, 11), rng.integers(-4, 5, 11)])
    moments[1] = np.abs(moments[1]) if law == two_levels.LIKELIHOOD else moments[1]
    told, unit, price = rng.integers(30, 40, 11), (1.0, 4.0)[law == two_levels.LIKELIHOOD], (0.0, 0.5, 2.5)[seed]
    rows = np.sort(rng.choice(11, 9, replace=False))
    leaf = partial(cost, law, unit, moments, told)
    wanted = roots(rank, rows, leaf, price, least, leaves)
    laws, total = (law, unit), float(told[rows].sum())
    found = two_levels.root_costs(rank, moments, rows, total, laws, price, least, leaves)
    assert [tuple(map(int, key)) for key in zip(*found[:2])] == list(wanted)
    assert found[2] == pytest.approx(list(wanted.values()), rel=1e-12, abs=1e-9)
    best = min([leaf(rows), *wanted.values()])
    assert two_levels.least_cost(rank, moments, rows, total, laws, price, least, leaves) == pytest.approx(
        best, abs=1e-9
    )


@pytest.mark.parametrize("law", [two_levels.SQUARE, two_levels.CHEAPEST])
@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("widths", [(2, 2, 2), (4, 2, 2), (2, 3, 2), (2, 2, 4), (5, 2, 1, 2)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_columns_of_two_ranks_are_counted_with_those_of_more(law, least, widths, seed):
    """Behind and before them, the one or the other rank the rarer one."""
    rng = np.random.default_rng(seed)
    rank = np.stack([(rng.random(12) ** (0.5 + seed) * width).astype(int) for width in widths], axis=1)
    moments, told = np.stack([rng.integers(1, 4, 12), rng.integers(-4, 5, 12)]), rng.integers(30, 40, 12)
    rows, price = np.sort(rng.choice(12, 10, replace=False)), (0.0, 0.5, 1.5)[seed]
    for leaves in (0, 3):
        wanted = roots(rank, rows, partial(cost, law, 1.0, moments, told), price, least, leaves)
        found = two_levels.root_costs(rank, moments, rows, float(told[rows].sum()), (law, 1.0), price, least, leaves)
        assert [tuple(map(int, key)) for key in zip(*found[:2])] == list(wanted)
        assert found[2] == pytest.approx(list(wanted.values()), rel=1e-12, abs=1e-9)


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """Kernels as plain functions; hashes overflow in them, without a warning."""
    run_plain(monkeypatch)
    with np.errstate(over="ignore"):
        yield


@pytest.mark.parametrize("depth", [3, 4])
def test_all_cuts_are_no_less_than_those_of_a_list(depth):
    """Of all cuts the bound is what the best tree costs."""
    facts = json.loads(json.dumps(true("regression", depth)))
    proof = check(facts | {"tried": ALL}, numbers())
    assert proof.optimal and proof.objective == check(facts, numbers()).objective


def test_limits_on_leaves_are_those_of_the_sides():
    """By the leaves of the left side: as many as it and the other one can have."""
    for depth, leaves in product((1, 2, 3, 4), range(2, 17)):
        if leaves < 2**depth:
            wanted = [n for n in range(1, leaves) if n <= 2 ** (depth - 1) and leaves - n <= 2 ** (depth - 1)]
            assert Limit(1, leaves).shares(depth) == wanted, (depth, leaves)
    assert Limit(2, 0).shares(3) == [0] and Limit(2, 5).of_sides(2) == (Limit(2, 2), Limit(2, 3))
    assert Limit(2, 0).of_sides(0) == (Limit(2, 0), Limit(2, 0))
    assert Limit(3, 8).at(3) == (Limit(3, 0), 3) and Limit(3, 7).at(3) == (Limit(3, 7), 3)
    assert Limit(3, 3).at(9) == (Limit(3, 3), 2) and Limit(3, 2).at(9) == (Limit(3, 0), 1)


def of_different_ranks(seed: int):
    """(bound, rows) of a table in which a column tells all rows apart, and another has one rank of each row but two."""
    rng = np.random.default_rng(seed)
    rank = np.column_stack([rng.permutation(12), np.minimum(rng.permutation(12), 10), *rng.integers(0, 2, (3, 12))])
    return LeafSumsBound(rank, Squares(true(), numbers()), Fraction(seed, 2), False), np.sort(rng.permutation(12)[:9])


@pytest.mark.parametrize("seed", range(4))
def test_a_state_of_one_or_two_levels_costs_what_its_best_tree_does(seed):
    """In whole numbers just that, in rounded ones no more and hardly less; ranks that one row has are cuts, too."""
    bound, rows = of_different_ranks(seed)
    leaf = partial(_exactly, bound)
    price = Fraction(seed, 2)
    stumps = roots(bound.rank, rows, leaf, price, 1, 2)  # of which both sides are leaves
    for depth, each in ((1, stumps), (2, roots(bound.rank, rows, leaf, price, 1, 0))):
        least = min(leaf(rows), *each.values())
        assert bound.best(rows, depth) == least
        for need in (Fraction(0), least, least + Fraction(1, 10**12), 2 * least + 10):
            assert least - 4 * Fraction(bound.near) <= bound.best(rows, depth, need) <= least
        cheap = bound._rounded(rows, depth, Limit())
        assert least - 4 * Fraction(bound.near) <= Fraction(cheap) < least


def test_a_side_of_three_levels_of_which_nothing_was_tried_is_bounded_by_nothing():
    bound, rows = of_different_ranks(1)
    for exact in (False, True):
        assert bound.least(rows, 3, 0, Fraction(10**6), exact=exact) == 0
        assert bound.least(rows, 2, 0, Fraction(10**6), exact=exact) > 0


def test_cuts_that_part_some_rows_alike_are_one_cut_among_the_rows_that_there_are():
    """At the rank below the cut that some row has: of all cuts the bound is what the best tree costs, of some no more;
    a cut is bounded as well by the sides of the one that the second column, which mirrors the first, has there."""
    pairs = np.array([[0, 4], [1, 3], [2, 2], [3, 1], [4, 0], [4, 0]] * 2)
    rank = np.column_stack([pairs, np.arange(12) * 5 % 12])  # the second column mirrors the first, the third differs
    for kept in ([0, 1, 2, 6], [1, 2, 3, 7], [2, 3, 4, 5], [3, 4, 5, 9], [4, 5, 10, 11], [0, 3, 6, 9], list(range(12))):
        bound, rows = LeafSumsBound(rank, Squares(true(), numbers()), Fraction(1, 3), False), np.array(kept)
        best = _best(bound, rows, 3)
        cuts = [(g, int(cut)) for g in range(3) for cut in np.unique(rank[rows, g])[:-1]]
        found = []
        for number in range(len(cuts) + 1):
            asked = [[*cut, 0, 0] for cut in cuts[:number]]
            found.append(bound.least(rows, 3, asked, Fraction(0), exact=False) + bound.floor(rows, False))
        assert (np.diff(found) >= -bound.slack).all()
        assert found[-1] == pytest.approx(float(best), abs=1e-9)
        without = [[*cut, 0, 0] for cut in cuts if cut[0] != 1]
        assert bound.least(rows, 3, without, Fraction(0), exact=False) == pytest.approx(
            found[-1] - bound.floor(rows, False)
        )


def _best(bound: LeafSumsBound, rows, depth: int) -> Fraction:
    """What the best tree costs, by trying all."""
    found = _exactly(bound, rows)
    for column in range(bound.rank.shape[1]) if depth else ():
        for cut in np.unique(bound.rank[rows, column])[:-1]:
            left = bound.rank[rows, column] <= cut
            below = _best(bound, rows[left], depth - 1) + _best(bound, rows[~left], depth - 1)
            found = min(found, bound.price + below)
    return found


def _exactly(bound: LeafSumsBound, rows) -> Fraction:
    return bound.measure.low(bound.moments[:, rows].sum(axis=1))
