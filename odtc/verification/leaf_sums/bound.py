"""Bounds of all trees on some rows, by the tried cuts of a certificate; of trees of two levels or less by all cuts.

A cut between two tried cuts a < b costs at least the bounds of the left side of a and the right side of b together.
"""

import math
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np

from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.verification.leaf_sums import every_tree
from odtc.verification.leaf_sums.limits import NO_LIMIT, Limit
from odtc.verification.leaf_sums.two_levels import least_cost, root_costs
from odtc.verification.threshold_columns import cut_groups

ALL = "all"  # in place of a list of cuts, if all cuts of a state are tried


class LeafSumsBound:
    """Bounds of all trees on some rows.

    Most are rounded numbers minus the largest rounding error; the few that decide are counted again in whole numbers.

    Parameters
    ----------
    rank : int64 (rows, columns)
    measure : the costs of leaves
    price : Fraction, of a branch node
    single : whether a row that differs from all others may cost something as a leaf
    """

    def __init__(self, rank: np.ndarray, measure, price: Fraction, single: bool):
        self.rank, self.measure, self.moments, self.price, self.n_states = rank, measure, measure.moments, price, 1
        self.near = 2 * measure.near  # upper bound on the error of a rounded number, and of a few sums of them
        self.slack = 64 * self.near  # upper bound on the distance of a rounded bound from the exact one
        self._single, self._by_sums, self._price = single, measure.LAW is not None, float(price)
        dense = np.stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in rank.T], axis=1)
        self.cuts = dense.max(axis=0)  # the number of cuts of each column
        groups = cut_groups(dense)
        twice = np.bincount(np.abs(np.concatenate(groups))) > 1
        # For each column, its cuts that separate the rows like a cut of another column: {rank: number of the group}.
        # The number is negative if left and right are exchanged.
        self.alike: list[dict[int, int]] = []
        self._known: dict[tuple[int, Limit, bytes], float] = {}  # results of `best` in rounded numbers
        for column, group in zip(rank.T, groups):
            own, values = np.abs(group), np.unique(column)
            # The side of the first row decides which side of one cut is the left side of the other.
            signed = np.where(column[0] <= values, own, -own)
            self.alike.append({int(values[at]): int(signed[at]) for at in np.flatnonzero(twice[own] & (own > 0))})

    def over(self, columns: list[int]) -> "LeafSumsBound":
        """Return the bounds of trees that split on some of the columns only."""
        return LeafSumsBound(np.ascontiguousarray(self.rank[:, columns]), self.measure, self.price, self._single)

    @cached_property
    def some_floor(self) -> bool:
        """Return whether there are rows that no column separates and that have a cost."""
        return bool(self.floors.any())

    @cached_property
    def floors(self) -> np.ndarray:
        """Return int64 (rows,): lower bounds on the costs of rows that no column separates, on the first row of each
        such set, in units of 1/`parts`: no tree avoids them. Some are less than 0. All are whole numbers of parts;
        if they are too large for that, they are rounded down to parts of a power of two."""
        _, first, kind = np.unique(self.rank, axis=0, return_index=True, return_inverse=True)
        kind = kind.reshape(-1)
        sums = np.zeros((len(self.moments), len(first)), np.int64)
        for own, told in zip(sums, self.moments):
            np.add.at(own, kind, told)
        told = (
            np.flatnonzero(np.bincount(kind) > (0 if self._single else 1)) if self._by_sums else np.zeros(0, np.int64)
        )
        exact = {k: self.measure.low(sums[:, k]) for k in told.tolist()}
        most = sum(map(abs, exact.values()), Fraction(0))
        largest = Fraction(2) ** (61 - int(most).bit_length())
        self.parts = Fraction(1)
        for cost in exact.values():
            self.parts = min(largest, Fraction(math.lcm(self.parts.numerator, cost.denominator)))
            if self.parts == largest:
                break
        found = np.zeros(len(self.rank), np.int64)
        for k, cost in exact.items():
            found[first[k]] = math.floor(cost * self.parts)
        return found

    def floor(self, rows: np.ndarray, exact: bool = True) -> Fraction | float:
        """Return a lower bound on the cost of rows that no split separates."""
        units = int(self.floors[rows].sum()) if self.some_floor else 0
        return units / self.parts if exact else units / float(self.parts)

    def least(
        self, rows: np.ndarray, depth: int, tried, need: Fraction, limit: Limit = NO_LIMIT, exact: bool = True
    ) -> Fraction | float:
        """Return a lower bound on the cost of any tree of this depth on these rows within a limit, above the
        unavoidable cost (`floor`).

        Parameters
        ----------
        rows : int64 (rows,)
        depth : int
        tried : list or 0, as in the certificate
        need : Fraction, the bound to reach
        limit : Limit
        exact : whether a bound that misses it by no more than rounding is counted in whole numbers
        """
        deadline.check()
        limit, depth = limit.at(depth)
        self.n_states += not exact
        if not len(rows):
            raise ValueError("it bounds a state without rows")
        if tried == 0 or not depth:
            if depth > 2:
                return 0.0
            floor = self.floor(rows, exact)
            if exact:
                return self.best(rows, depth, need + floor, limit) - floor
            return self._rounded(rows, depth, limit) - floor
        sides = None
        if tried == ALL:
            tried = self._all_cuts(rows, depth, limit)
            sides = self._all_sides(rows, tried, depth - 1)
        elif type(tried) is not list:
            raise ValueError("the tried cuts of a state are not a list")
        elif any(type(one) is not int for entry in tried for one in entry[: 3 if limit.leaves else 2]):
            raise ValueError("a cut that it tries is not in whole numbers")
        if sides is not None and not exact:
            self.n_states += sides.size
            leaf = self._leaf(rows, False) - self.floor(rows, False)
            return min(leaf, self._price + float(sides.sum(axis=1).min()))
        by_column = self._bounds_of_cuts(rows, tried, depth, limit, sides)
        found = self._leaf(rows, exact) - self.floor(rows, exact)
        alike: dict[tuple[int, int], Fraction | float] = {}
        price = self.price if exact else self._price
        for column in range(self.rank.shape[1]):
            ranks, count = np.unique(self.rank[rows, column], return_counts=True)
            below = np.cumsum(count)[:-1]
            fits = (below >= limit.rows) & (len(rows) - below >= limit.rows)
            for share in limit.shares(depth):
                cuts = by_column.pop((column, share), {})
                if fits.any():
                    wanted = need - self.price if exact else None
                    bound = self._column(column, ranks, fits, cuts, wanted, (alike, share, limit.leaves))
                    found = found if bound is None else min(found, price + (Fraction(bound) if exact else bound))
        if by_column:
            raise ValueError("it tries cuts of columns that it has not")
        return min([found, *(price + (Fraction(cost) if exact else cost) for cost in alike.values())])

    def _bounds_of_cuts(
        self, rows: np.ndarray, tried: list, depth: int, limit: Limit, sides: np.ndarray | None
    ) -> "dict[tuple[int, int], dict[int, _Cut]]":
        """Return {(column, share of the leaves on the left): {cut: its bounds}} of the tried cuts of some rows; the
        bounds of both sides are in `sides`, float64 (cuts, 2), if they are known."""
        by_column: dict[tuple[int, int], dict[int, _Cut]] = {}
        for number, (column, cut, *below) in enumerate(tried):
            share, *below = below if limit.leaves else (0, *below)
            known = (None, None) if sides is None else sides[number].tolist()
            cut, bounds = self._cut(rows, column, cut, below, depth - 1, limit.of_sides(share), known)
            cuts = by_column.setdefault((column, share), {})
            if cut in cuts:
                raise ValueError("it tries a cut twice")
            cuts[cut] = bounds
        return by_column

    def _all_cuts(self, rows: np.ndarray, depth: int, limit: Limit) -> list:
        """Return all cuts of a state, in the form of a certificate."""
        if depth not in (3, 4) or limit != NO_LIMIT:
            raise ValueError(f"it tries all cuts of trees of {depth} levels under a limit, not of three or four levels")
        below = [ALL, ALL] if depth == 4 else [0, 0]
        own = (np.unique(self.rank[rows, column])[:-1].tolist() for column in range(self.rank.shape[1]))
        return [[column, cut, *below] for column, cuts in enumerate(own) for cut in cuts]

    def _all_sides(self, rows: np.ndarray, tried: list, levels: int) -> np.ndarray | None:
        """Return float64 (cuts, 2), rounded lower bounds on the costs of the sides of all cuts, of two or three levels;
        None without compiled loops for all cuts at once."""
        if not tried or not self._by_sums:
            return None
        left = np.stack([self.rank[rows, column] <= cut for column, cut, *_ in tried])
        alike = left != left[:, :1]  # splits with exchanged sides count as equal
        first, kind = np.unique(np.packbits(alike, axis=1), axis=0, return_index=True, return_inverse=True)[1:]
        laws = self.measure.LAW, self.measure.root_unit
        gains = every_tree.side_gains(alike[first], self.moments[:2, rows], laws, self._price, levels)
        if gains is None:
            return None
        gains = gains[kind.reshape(-1)]
        gains = np.where(left[:, :1], gains, gains[:, ::-1])
        told = self.measure.rounded[self.measure.TOLD, rows]
        floors = self.floors[rows].astype(float) / float(self.parts)
        found = np.stack([own @ told - own @ floors for own in (left, ~left)], axis=1)
        return np.maximum(0.0, found - gains - self.near)

    def _cut(self, rows: np.ndarray, column: int, cut: int, below: list, depth: int, limits, known):
        """Return the rank of these rows whose cut separates them as `cut` does, and lower bounds on the costs of its
        sides, for which rounded numbers may be known; raises ValueError if it leaves one side without rows."""
        rank, free = self.rank[rows, column], limits[0].rows > 1
        left = rank <= cut
        parts = rows[left], rows[~left]
        if not (len(parts[0]) and len(parts[1])):
            raise ValueError("it tries a cut that separates no rows")
        if len(below) != (4 if free else 2):
            raise ValueError("a cut that it tries has not two sides")
        own = near = tuple(map(_Side, (self, self), parts, below[:2], (depth, depth), limits, known))
        if free:
            near = tuple(map(_Side, (self, self), parts, below[2:], (depth, depth), map(_any_rows, limits), known))
        return int(rank[left].max()), _Cut(own, near)

    def _column(self, column: int, ranks: np.ndarray, fits: np.ndarray, cuts: dict, need: Fraction | None, others):
        """Return the least cost of a cut of a column, without its branch node.

        A tried cut is bounded by its sides, a cut between two tried ones by the left side of the lower and the right
        side of the upper one. A cut that separates all rows in the same way as a cut of another column has the best
        bound of all these, in `alike`, by the leaves of the left side. None if all cuts are such.

        Parameters
        ----------
        column : int
        ranks : int64 (cuts + 1,), of these rows
        fits : bool (cuts,), the cuts whose sides have enough rows
        cuts : dict, the tried ones
        need : Fraction or None, the bound to reach if it is counted in whole numbers
        others : (alike, leaves of the left side, leaves), 0 of any number
        """
        (alike, share, leaves), places = others, sorted(cuts)
        ranks, last = ranks[:-1], int(ranks[-1])
        above = np.searchsorted(places, ranks)  # the first tried cut that is not below
        tried = np.append(places, -1)[above] == ranks
        sides, zero = [cuts[place] for place in places], 0.0
        # Greatest bounds of the left sides of the first tried cuts, and of the right sides of the last ones.
        one = [zero, *accumulate((side.near[0].found for side in sides), max)]
        two = [*accumulate((side.near[1].found for side in reversed(sides)), max)][::-1] + [zero]

        def of(low: int, high: int) -> Fraction | float:
            """Return the sum for the left side of tried cut `low` and the right side of tried cut `high`; for one cut
            its own sides."""
            left, right = one[low + 1], two[high]
            mine = sides[low].own if low == high and sides[low].own is not sides[low].near else ()
            if mine:
                left, right = max(left, mine[0].found), max(right, mine[1].found)
            if need is not None and need - self.slack <= left + right < need:
                left, right = Fraction(left), Fraction(right)
                lefts = *mine[:1], *(side.near[0] for side in reversed(sides[: low + 1]))
                rights = *mine[1:], *(side.near[1] for side in sides[high:])
                for side in lefts:
                    if left + right < need and side.found >= left - self.slack:
                        left = max(left, side.again(need - right))
                for side in rights:
                    if left + right < need and side.found >= right - self.slack:
                        right = max(right, side.again(need - left))
            return left + right

        below = above - ~tried
        shared = self.alike[column]
        for cut, group in shared.items():
            at = int(np.searchsorted(ranks, cut, side="right")) - 1  # the equivalent rank on these rows
            if 0 <= at and cut < last and fits[at]:
                key = abs(group), share if group > 0 else leaves - share
                alike[key] = max(alike.get(key, zero), of(int(below[at]), int(above[at])))
        own = fits & ~np.isin(ranks, list(shared)) if shared else fits
        pairs = sorted(set(zip(below[own].tolist(), above[own].tolist())))
        return min((of(*pair) for pair in pairs), default=None)

    def _leaf(self, rows: np.ndarray, exact: bool = True) -> Fraction | float:
        if exact:
            return self.measure.low(self.moments[:, rows].sum(axis=1))
        if not self._by_sums:
            return self.measure.leaf(rows)
        return float(self.measure.costs(*self.measure.rounded[:, rows].sum(axis=1)[:, None])[0]) - self.near

    def best(self, rows: np.ndarray, depth: int, need: Fraction | None = None, limit: Limit = NO_LIMIT) -> Fraction:
        """Return no more than the cost of the best tree of two levels or less, and exactly this cost if it is less
        than `need`."""
        leaf = self._leaf(rows)
        if not depth:
            return leaf
        cheap = self._rounded(rows, depth, limit)
        if need is not None and not need - self.slack <= cheap < need:
            return min(leaf, Fraction(cheap))
        columns, cuts, costs = self._roots(rows, depth, limit)
        found = [leaf]
        for at in np.argsort(costs, kind="stable").tolist():
            if costs[at] - self.near >= min(found):
                break
            left = self.rank[rows, columns[at]] <= cuts[at]
            for share in limit.shares(depth):
                sides = zip((rows[left], rows[~left]), limit.of_sides(share))
                below = [self._best_within(part, depth - 1, own) for part, own in sides]
                found.append(self.price + sum(below, Fraction(0)))
        return min(found)

    def _best_within(self, rows: np.ndarray, depth: int, limit: Limit) -> Fraction:
        limit, depth = limit.at(depth)
        return self.best(rows, depth, None, limit)

    def _rounded(self, rows: np.ndarray, depth: int, limit: Limit) -> float:
        """Return no more than the same, by rounded numbers."""
        inside = np.zeros(len(self.rank), bool)
        inside[rows] = True
        key = depth, limit, np.packbits(inside).tobytes()
        if key not in self._known:
            deadline.check()
            if self._by_sums and depth:
                self._known[key] = least_cost(*self._of_roots(rows, depth, limit)) - self.near
            else:
                costs = self._roots(rows, depth, limit)[2] if depth else np.zeros(0)
                self._known[key] = min(self._leaf(rows, False), float(costs.min(initial=np.inf)) - self.near)
        return self._known[key]

    def _of_roots(self, rows: np.ndarray, depth: int, limit: Limit) -> tuple:
        """Return the arguments of `root_costs` and `least_cost`."""
        measure = self.measure
        told = float(measure.rounded[measure.TOLD].take(rows).sum())
        laws, leaves = (measure.LAW, measure.root_unit), 2 if depth == 1 else limit.leaves
        return self.rank, self.moments, rows, told, laws, self._price, limit.rows, leaves

    def _roots(self, rows: np.ndarray, depth: int, limit: Limit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (column, cut, cost as a float) of each cut of these rows, with the best tree of depth - 1 on either
        side."""
        deadline.check()
        if self._by_sums:
            return root_costs(*self._of_roots(rows, depth, limit))
        return self._roots_by_sides(rows, depth, limit)

    def _roots_by_sides(self, rows: np.ndarray, depth: int, limit: Limit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return `_roots` if the cost of a leaf is not a function of sums; the costs are lower bounds."""
        columns, cuts, costs = self.measure.stumps(self.rank, rows, limit.rows)
        for at in range(len(columns)) if depth == 2 else ():
            left, costs[at] = self.rank[rows, columns[at]] <= cuts[at], np.inf
            for share in limit.shares(depth):
                sides = zip((rows[left], rows[~left]), limit.of_sides(share))
                below = (self._rounded(part, *reversed(own.at(1))) for part, own in sides)
                costs[at] = min(costs[at], sum(below))
        return columns, cuts, costs + self._price


@value_class
class _Cut:
    """Lower bounds on the costs of the left and the right side of a tried cut: `own` within the limit, and `near` for
    the bounds of the cuts next to it."""

    own: "tuple[_Side, ...]"
    near: "tuple[_Side, ...]"


def _any_rows(limit: Limit) -> Limit:
    return limit._replace(rows=1)


class _Side:
    """A lower bound on the cost of a side of a tried cut: rounded at first, and computed again if that decides."""

    def __init__(self, bound: LeafSumsBound, rows: np.ndarray, below, depth: int, limit: Limit, known: float | None):
        self.bound, self.rows, self.below, self.depth, self.limit = bound, rows, below, depth, limit
        self.found = self._least(Fraction(0), False) if known is None else known
        bound.n_states += known is not None
        self.need: Fraction | None = None  # the bound in whole numbers that was requested

    def _least(self, need: Fraction, exact: bool) -> Fraction | float:
        if self.below is None:
            return 0.0
        return self.bound.least(self.rows, self.depth, self.below, need, self.limit, exact)

    def again(self, need: Fraction) -> Fraction:
        """Return the same in whole numbers, if it does not reach the needed bound."""
        if self.found < need and (self.need is None or self.need < need):
            self.need = need
            self.found = max(self.found, self._least(need, True))
        return Fraction(self.found)
