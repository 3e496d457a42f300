"""Bounds of regression trees by tried cuts, under limits on leaves, against trying every tree in rationals."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from odtc.verification.leaf_sums.bound import LeafSumsBound
from odtc.verification.leaf_sums.limits import Limit
from odtc.verification.leaf_sums.squares import Squares
from tests.plain_kernels import bound_one_by_one, run_plain
from tests.unit.test_forged_leaf_sums import NUMBERS, numbers, true
from tests.unit.test_whole_trees import squares_of


class Drawn:
    """Ranks of twelve rows in three columns, of which two may part rows alike, and what the best trees cost."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.rank = rng.integers(0, (4, 3, 3), (len(NUMBERS), 3))
        self.rank[:2] = np.zeros(3), self.rank.max(axis=0)
        if seed % 3 == 0:
            self.rank[:, 2] = 3 - self.rank[:, 0]
        self.price = Fraction(seed % 4, 2)
        self.bound = LeafSumsBound(self.rank, Squares(true(), numbers()), self.price, False)
        self.best, self.every = cache(self._best), tuple(range(len(NUMBERS)))

    def cuts(self, rows: tuple):
        """(column, cut, rows on the left, rows on the right)."""
        for column in range(3):
            ranks = self.rank[list(rows), column]
            for cut in np.unique(ranks)[:-1].tolist():
                left = tuple(row for row in rows if self.rank[row, column] <= cut)
                yield column, cut, left, tuple(row for row in rows if row not in left)

    def _best(self, rows: tuple, depth: int, limit: Limit):
        """The least cost of a tree of at most so many levels, and leaves, each of rows enough; infinite for none."""
        costs = [squares_of(rows)] if len(rows) >= limit.rows else [np.inf]
        for _, _, *sides in self.cuts(rows) if depth and limit.leaves != 1 else ():
            for share in range(1, limit.leaves) if limit.leaves else (0,):
                own = Limit(limit.rows, share), Limit(limit.rows, limit.leaves - share)
                below = [self.best(side, depth - 1, one) for side, one in zip(sides, own)]
                costs.append(self.price + below[0] + below[1])
        return min(costs)

    def tried(self, rows: tuple, depth: int, limit: Limit, share_of_cuts: float, rng) -> list:
        """Cuts as a certificate has them, with sides that are bounded by two levels, by a list of their own or not."""
        limit, depth = limit.at(depth)
        found = []
        for column, cut, *sides in self.cuts(rows):
            for share in limit.shares(depth):
                if rng.random() > share_of_cuts:
                    continue
                free = [Limit(1, one.leaves) for one in limit.of_sides(share)] if limit.rows > 1 else []
                below = [
                    self._side(side, depth - 1, one, share_of_cuts, rng)
                    for side, one in zip(sides * 2, [*limit.of_sides(share), *free])
                ]
                found.append([column, cut, *([share] if limit.leaves else []), *below])
        return [found[at] for at in rng.permutation(len(found))]

    def _side(self, rows, depth, limit, share_of_cuts, rng):
        if rng.random() > share_of_cuts:
            return None
        return 0 if limit.at(depth)[1] < 3 else self.tried(rows, depth, limit, share_of_cuts, rng)

    def least(self, tried: list, depth: int, limit: Limit, need: Fraction, exact: bool = True):
        every = np.array(self.every)
        return self.bound.least(every, depth, tried, need - self.bound.floor(every), limit, exact) + self.bound.floor(
            every, exact
        )


LIMITS = [Limit(), Limit(2), Limit(4), Limit(1, 3), Limit(1, 5), Limit(2, 4), Limit(3, 3), Limit(1, 6)]


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    run_plain(monkeypatch)
    bound_one_by_one(monkeypatch)


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_of_all_cuts_the_bound_is_what_the_best_tree_costs(seed, limit):
    drawn, rng = Drawn(10 * seed + len(str(limit)) + limit.leaves), np.random.default_rng(seed)
    for depth in (2, 3):
        best = drawn.best(drawn.every, depth, limit)
        tried = drawn.tried(drawn.every, depth, limit, 1.0, rng)
        for need in (best, best + Fraction(1, 10**15)):
            assert drawn.least(tried, depth, limit, need) == best
        cheap = drawn.least(tried, depth, limit, best, exact=False)
        assert best - Fraction(drawn.bound.slack) <= Fraction(cheap) <= best


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_of_some_cuts_no_bound_is_above_the_best_tree(seed, limit):
    """Cuts between tried ones are bounded by the sides of these: with a least number of rows by those of any rows."""
    drawn, rng = Drawn(100 * seed + len(str(limit)) + limit.leaves), np.random.default_rng(seed)
    for depth in (2, 3, 3, 4) if limit.leaves in (0, 5) else (2, 3, 3):
        best = drawn.best(drawn.every, depth, limit)
        for share in (0.5, 0.8, 0.95):
            tried = drawn.tried(drawn.every, depth, limit, share, rng)
            for need in (best, best + 2):
                found = drawn.least(tried, depth, limit, need)
                assert found <= best, (depth, share)
            assert Fraction(drawn.least(tried, depth, limit, best, exact=False)) <= best


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("seed", [0, 3])
def test_a_cut_that_separates_all_rows_as_a_tried_one_does_is_tried_with_it(seed, limit):
    """The third column mirrors the first: what the left side may have of leaves is what the right one has there."""
    drawn, rng = Drawn(seed), np.random.default_rng(seed)
    best = drawn.best(drawn.every, 3, limit)
    tried = drawn.tried(drawn.every, 3, limit, 1.0, rng)
    for column in (0, 2):
        some = [entry for entry in tried if entry[0] != column]
        assert drawn.least(some, 3, limit, best) == best
        fewer = [entry for entry in some if entry[0] != 1]
        assert len(fewer) < len(some) and drawn.least(fewer, 3, limit, best) <= best


def test_bounds_of_a_state_are_counted_once_in_rounded_numbers():
    """One of the certificate, one of all rows, and one of each side that is bounded."""
    drawn, rng = Drawn(1), np.random.default_rng(1)
    for share in (1.0, 0.6):
        drawn.bound.n_states = 1
        tried = drawn.tried(drawn.every, 3, Limit(), share, rng)
        drawn.least(tried, 3, Limit(), Fraction(1), exact=False)
        assert drawn.bound.n_states == 2 + sum(side == 0 for entry in tried for side in entry[2:])
        drawn.bound.n_states = 1
        drawn.least(tried, 3, Limit(), Fraction(10**6))
        assert drawn.bound.n_states == 1 + sum(side == 0 for entry in tried for side in entry[2:])
