"""Search, with a proof, for the tree of a given depth and least cost over all cuts of ranked columns, if the cost of a
leaf is a function of sums over its rows (odtc.algorithms.moments.laws), for example squared error.

The cost of each row in a leaf of its own is unavoidable, and is subtracted. Let V_d(A) be the remaining least cost of a
tree of depth d on the rows A, including the penalty (`price`) of branch nodes. Then V_d(A) >= 0, and V_d(A) <= V_d(B)
for A within B, because a tree of B costs no more on A. For all cuts of a column between two cuts a < b that were tried,

    V_d-1(left of a) + V_d-1(right of b) + price

is a lower bound, because such a cut sends the rows left of a to the left, and the rows right of b to the right. The
intervals between tried cuts are taken by rising bound, and their middle cut is tried, until no interval can contain a
better tree. Bounds that change a value by the weight of rows are not used: they are valid only for errors that cost at
most 1 per row.

If leaves must have a minimum number of rows, a tree of B may have too few rows of A in a leaf, so V(A) <= V(B) is no
longer true: the values left of a and right of b are then values of trees whose leaves may have any number of rows
(`free`).

With limits on leaves and columns (odtc.algorithms.moments.tree_limits), a value depends on rows, depth and position:
the cuts of a column are taken for each number of leaves on the left side. If a tree must use columns of one of several
sets, all remaining sets are searched at once, as if a tree could use columns of several sets; if the best tree does,
one of its columns divides the sets in two. Required columns are distributed over the two sides of a node in all ways;
as with a minimum number of rows, bounds of intervals are then bounds of trees that need not split on them.

Four levels over few cuts need no search (odtc.algorithms.moments.four_levels).
"""

import heapq
from collections.abc import Callable
from functools import cached_property
from itertools import product
from typing import Protocol

import numpy as np

from odtc.algorithms.moments import few_splits, first_trees, four_levels, kernels, laws, two_levels
from odtc.algorithms.moments.partition_bound import partition_costs
from odtc.algorithms.moments.tree_limits import Family, Place, TreeLimits, dealt, fitted, shares
from odtc.algorithms.moments.two_levels import Known, OneStump, Stump, Worth

NO_LIMITS = TreeLimits()
NO_TOTALS = np.zeros((0, 0))  # argument of a call of `depth_two` that lists no cuts
HALF = 0.5  # share of `room` that exact costs need: the other half is for the rounding of sums of bounds
NEAR = 1e-13  # relative to the cost of one leaf: trees that differ by less are equally good
MOST_ROOM = 1e-6  # relative: up to this `room` a search lists its near-optimal cuts, beyond it another search does
OFF = 16  # times `near`: the tree found may cost this much more than the best tree
KEPT = 200_000  # maximum number of stored subtrees
WIDEST = 6e7  # maximum pairs of cuts for which two levels are found at once, without a check of the time


MANY = 200  # minimum number of cuts for which a bound on all trees comes before a search of three levels or more
TREE_TOLD, BOUND_TOLD = 1, 2  # what is reported for all rows: trees; at the whole depth also the bound
SOON = 1e5  # rows times sets of a partition that takes at most some hundredths of a second
SURELY = 1 - 1e-9  # factor on a bound from rounded sums


class MomentSearch:
    """Search for the best trees on some rows.

    A subclass whose leaves have a cost that is not a function of sums sets `_by_sums` to False.

    Parameters
    ----------
    rank : integers (rows, columns); a cut c of a column sends ranks of at most c to the left
    moments : float64 (4, rows): W, S and Q of each row, and how many rows of the data it represents
    law : int, of odtc.algorithms.moments.laws
    price : float, penalty of a branch node, in units of cost
    least : int, rows of the data that each leaf must have
    check : called often; an exception that it raises ends the search
    told : called with (bound, cost) of all trees when one of them changes
    limits : TreeLimits

    Attributes
    ----------
    slack : float
        A bound on rounding errors: two trees whose costs differ by more really differ; 0 if no bound is known.
    relative : float
        The same as a share of the costs.
    """

    _by_sums = True

    def __init__(
        self,
        rank: np.ndarray,
        moments: np.ndarray,
        law: int,
        price: float = 0.0,
        least: int = 1,
        check: Callable[[], None] = lambda: None,
        told: Callable[[float, float], None] = lambda lower, upper: None,
        limits: TreeLimits = NO_LIMITS,
    ):
        self.code = np.ascontiguousarray(rank.T.astype(np.int32))
        self.size = self.code.max(axis=1).astype(np.int64) + 1
        w, s, q, count = moments
        alone = laws.leaf_costs(law, moments[:3])
        self.law, self.tiny, self.base = law, laws.smallest(law, moments), float(alone.sum())
        self.moments, self.q = np.ascontiguousarray(np.stack([w, s, count]).astype(float)), q - alone
        self.price, self.least, self.check, self.told = float(price), float(max(1, least)), check, told
        self.near = NEAR * max(self._leaf(np.arange(len(w))), 1e-300)
        self.slack = self.relative = 0.0
        self.most_room: float | None = MOST_ROOM  # relative to the cost; None without a limit
        self.is_exact = False  # True if costs in doubles are exact
        self.worth: dict[tuple, Worth] = {}  # indexed by depth, position and rows
        self.families: list[Family] = []  # the families, for limits on whole trees, that may contain the best tree
        self.known: dict[tuple, Known] = {}
        self.narrow = self._pairs(len(rank)) <= WIDEST
        self.root: Known | None = None
        self.parts: dict[tuple, tuple[np.ndarray, np.ndarray]] = {}  # ranks and sizes, by columns
        # By depth, position and rows of three levels or more: the cuts that were tried, and which of their sides were
        # solved.
        self.tried: dict[tuple, list] = {}
        self.limits, self.free, self.at_once = limits, None, False
        self.height = 0  # trees of up to this many levels are proved optimal
        if least > 1 or limits.rises or limits.together:
            self.free = self._again(self.code.T, 1, limits.of_any_rows())

    def _again(self, rank: np.ndarray, least: int, limits: TreeLimits = NO_LIMITS) -> "MomentSearch":
        """Return a search of the same rows over some ranks, with this minimum number of rows in a leaf."""
        w, s, count = self.moments
        moments = np.stack([w, s, self.q, count])
        return MomentSearch(rank, moments, self.law, self.price, least, self.check, limits=limits)

    def solve(self, depth: int) -> Known:
        """Return the best tree of all rows."""
        rows = np.arange(self.code.shape[1])
        self.root = Known(0.0, self._leaf(rows), None)
        if depth > 2 and self.size.sum() - len(self.size) >= MANY:
            self.root.lower = min(self._by_leaves(min(2**depth, self.limits.leaves or np.inf)), self.root.upper)
        if self.limits.of_whole_trees:
            return self._solve_families(rows, depth)
        if depth == 4 and self._all_at_once(rows):
            self.at_once = True
            return self.root
        if depth > 2 and self.limits.nothing and first_trees.repays(self.code, self.size):
            first_trees.first_trees(self, lambda tree: self._taken(tree, rows, depth))
        for height in range(1, depth + 1):
            found = self._solve(rows, height, np.inf, self.limits.root, BOUND_TOLD if height == depth else TREE_TOLD)
            self._better(found.upper, found.tree)
            self.height = height
            if height < depth:
                self.grow(depth)
        self.root.lower = max(self.root.lower, found.lower)
        return self.root

    def grow(self, depth: int, at_once: int = 2) -> None:
        """Make the best tree found as deep as trees may be, by putting the best trees of `at_once` levels, one or two,
        below its leaves. So if a search ends early, its tree is not worse than the best tree of less depth made deeper.
        """
        if self.limits.nothing:
            rows = np.arange(self.code.shape[1])
            self._better(*self._grown(self._whole(self.root.tree, rows), rows, depth, at_once))

    def _grown(self, tree: tuple | None, rows: np.ndarray, left: int, at_once: int) -> tuple[float, tuple | None]:
        """Return (cost, tree) of a nested tree of at most this many levels, made that deep."""
        if tree is None and left:
            levels = at_once if left > 1 and self.is_shallow(len(rows), 2, self.limits.root) else 1
            tree = self._whole(self._solve(rows, levels, np.inf, self.limits.root).tree, rows)
        if tree is None:
            return self._leaf(rows), None
        sides = self.sides(rows, *tree[:2])
        costs, below = zip(*(self._grown(one, side, left - 1, at_once) for one, side in zip(tree[2:], sides)))
        return sum(costs) + self.price, (*tree[:2], *below)

    def _taken(self, tree: tuple | None, rows: np.ndarray, depth: int) -> float:
        """Return the cost of a nested tree that is made as deep as `depth`, level by level; the best tree found is
        kept and reported."""
        cost, tree = self._grown(tree, rows, depth, 1)
        self._better(cost, tree)
        self.told(self.bound, self.cost)
        return cost

    def _better(self, cost: float, tree: tuple | None) -> None:
        """Keep a tree if it is better than the best one found."""
        if cost < self.root.upper:
            self.root.upper, self.root.tree = cost, tree

    def over(self, code: np.ndarray, least: int) -> "MomentSearch":
        """Return a search of the same rows over other ranks, int (columns, rows), with this minimum number of rows in a
        leaf."""
        return self._again(code.T, least)

    def wanted(self, cost: float) -> float:
        """Return the cost up to which trees are searched for, if the best one found has this cost. Without a bound on
        rounding errors it is smaller than `cost` by the difference that doubles do not resolve. With a bound it is
        larger by this bound, so that all cuts that may be best are tried."""
        room = self.room(cost)
        return cost + room if room else cost - self.near

    def room(self, cost: float) -> float:
        """Return how much more than the best tree, which has this cost, listed trees may cost; 0 without a bound on
        rounding."""
        if cost == np.inf:
            return 0.0
        slack = self.slack if self.most_room is None else min(self.slack, self.most_room * max(0.0, cost))
        return slack + self.relative * cost

    def solved(self, rows: np.ndarray, depth: int, place: Place) -> Known:
        """Return the best tree of some rows by the costs in doubles of this search."""
        if self.at_once and len(rows) == self.code.shape[1] and depth == 4 and self.root is not None:
            return self.root
        return self._solve(rows, depth, np.inf, place)

    def near_cuts(self, rows: np.ndarray, depth: int, place: Place, cost: float) -> list[tuple[int, int, tuple, float]]:
        """Return (column, cut, shares of the sides, cost) of the roots of all trees of a state that is `solved` which
        cost at most `room` more than its best tree, by rising cost."""
        key, reach = self.key_of(rows, depth, place), cost + self.room(cost)
        is_shallow = self.is_shallow(len(rows), depth, place)
        if key in self.worth and self.worth[key].until < cost + HALF * self.room(cost):
            del self.worth[key]  # the search of a larger state stopped earlier
            self.known.pop(key, None)
            self._solve(rows, depth, np.inf, place)
        if is_shallow and not place.needed and place.leaves is None:
            found = [(*one[:2], (None, ()), one[2]) for one in self._shallow_cuts(rows, depth, place, reach)]
        elif key in self.worth:
            found = self.worth[key].cuts
        else:
            found = self._cuts_by_sides(rows, depth, place)
        return sorted((one for one in found if one[3] <= reach), key=lambda one: one[3])

    def _shallow_cuts(self, rows: np.ndarray, depth: int, place: Place, reach: float) -> list[tuple[int, int, float]]:
        """Return (column, cut, cost) of the roots of all trees of one or two levels that cost no more than `reach`."""
        q, columns = float(self.q[rows].sum()), self.limits.columns(place, len(self.size))
        code, size = self.code[columns], self.size[columns]
        if depth == 1:
            blocks = list(kernels.gains_of_cuts(code, size, self.moments, rows, self.least, *self._terms))
        else:
            totals = np.full((len(size), int(size.max(initial=1))), -np.inf)
            self.depth_two(rows, place._replace(columns=tuple(columns.tolist())), totals)
            blocks = [(0, totals > -np.inf, totals[totals > -np.inf])]
        found = []
        for first, parted, gained in blocks:
            at, cut = np.nonzero(parted)
            for one in np.flatnonzero(q - gained <= reach).tolist():
                found.append((int(columns[first + at[one]]), int(cut[one]), q - float(gained[one])))
        return found

    def _cuts_by_sides(self, rows: np.ndarray, depth: int, place: Place) -> list:
        """Return (column, cut, shares, cost) of all cuts that have a tree."""
        found = []
        for column in self.limits.columns(place, len(self.size)).tolist():
            for cut in self.cuts(rows, column).tolist():
                sides = self.sides(rows, column, cut)
                for share in product(shares(place, depth), dealt(place, column)):
                    below = zip(sides, self.limits.sides(place, column, *share))
                    cost = sum(self._solve(side, depth - 1, np.inf, at).lower for side, at in below) + self.price
                    found += [(column, cut, share, cost)] if cost < np.inf else []
        return found

    def best_below(self, rows: np.ndarray, columns: tuple[int, ...]) -> tuple | None:
        """Return the best tree of two levels over some columns, nested, None for a leaf."""
        return self._whole(self._shallow(rows, 2, self.limits.root._replace(columns=columns)).tree, rows)

    def gain_of_one(self, rows: np.ndarray, columns: tuple[int, ...]) -> float:
        """Return the gain of the best tree of one level over some columns."""
        return self._depth_one(rows, columns)[0]

    def _all_at_once(self, rows: np.ndarray) -> bool:
        """Find the best tree of four levels over few cuts, and return whether that was possible."""
        if self.free is not None or not self.limits.nothing or not four_levels.repays(len(rows), self.size):
            return False
        found = four_levels.FourLevels(self.code, self.moments, (self.law, self.tiny, self.price), self.check)
        if found.gain is None:
            return False
        cost = max(0.0, float(self.q.sum()) - found.gain)
        if cost < self.root.upper - self.near:
            self.root.upper, self.root.tree = cost, found.tree(self.near, Stump(None))
        self.root.lower = self.root.upper
        reach, total = self.wanted(max(cost, self.root.upper)), float(self.q.sum())
        costs = total - (found.three.sum(axis=1) - self.price)
        near = np.flatnonzero(costs <= reach).tolist()
        cuts = [(*found.cuts[at], (None, ()), float(costs[at])) for at in near]
        self.worth[self.key_of(rows, 4, self.limits.root)] = Worth(reach, cuts)
        return True

    def _solve_families(self, rows: np.ndarray, depth: int) -> Known:
        """Return the best tree whose columns are in one of the sets of the limits. Families of sets are taken by
        rising bound of the trees over all of their columns; with equal bounds, the one with more held columns
        first."""
        if self._few_splits(rows, depth):
            return self.root
        depth = self.levels(depth)
        families = self.limits.families(len(self.size))
        heap = [(0.0, 0, number, family) for number, family in enumerate(families)]
        number = len(heap)
        while heap:
            bound, _, _, family = heapq.heappop(heap)
            self._tell(bound, self.root)
            if bound >= self.wanted(self.root.upper):
                break
            found = self._solve(rows, depth, self.wanted(self.root.upper), self.place_of(family))
            if found.lower >= self.wanted(self.root.upper):
                continue
            if family.has(self.columns_of(self._whole(found.tree, rows))):
                self.families.append(family)
                self._better(found.upper, found.tree)
                continue
            used = self.columns_of(self._whole(found.tree, rows))
            for part in family.parts(used):
                number += 1
                heapq.heappush(heap, (found.lower, -len(part.held), number, part))
        self.root.lower = self.root.upper
        return self.root

    def levels(self, depth: int) -> int:
        """Return how many levels trees of a depth have: no path splits twice on a column with one cut."""
        few = self.limits.distinct is not None and (self.size <= 2).all()
        return min(depth, self.limits.distinct) if few else depth

    def place_of(self, family: Family) -> Place:
        """Return the position of the root of the trees over all columns of a family."""
        return self.limits.root._replace(columns=family.columns, needed=family.needed)

    def _few_splits(self, rows: np.ndarray, depth: int) -> bool:
        """Find the best tree of few different splits (odtc.algorithms.moments.few_splits), if nothing else is limited,
        and return whether that was possible."""
        most, n_splits = self.limits.distinct, len(self.size)
        if most is None or not (self.limits.distinct_alone and self._by_sums and (self.size == 2).all()):
            return False
        if not few_splits.takes(n_splits, most):
            return False
        self.root.lower = max(self.root.lower, self._by_leaves(min(2**depth, 2**most)))
        limits, answers, q = (most, depth, self.least), self.code.T.astype(float), float(self.q.sum())
        best, near = -np.inf, []
        room = lambda gain: self.room(max(0.0, q - gain))  # noqa: E731
        for gain, columns in few_splits.near_sets(answers, self.moments, limits, self._terms, self.check, room):
            near.append((gain, columns))
            if gain > best:
                best = gain
                found = self._solve(rows, self.levels(depth), np.inf, self.limits.root._replace(columns=columns))
                self._better(found.upper, found.tree)
                self.told(self.bound, self.cost)
        self.root.lower = self.root.upper
        every, near = np.arange(n_splits), [columns for gain, columns in near if gain >= best - room(best)]
        self.families = [Family(np.isin(every, columns)[None]) for columns in near]
        return True

    def columns_of(self, tree: tuple | None) -> list[int]:
        """Return the different columns that a tree splits on, the column of the root first."""
        below = [] if tree is None else [tree[0], *self.columns_of(tree[2]), *self.columns_of(tree[3])]
        return list(dict.fromkeys(below))

    def _by_leaves(self, most: int) -> float:
        """Return a lower bound on the cost of all trees with at most this many leaves."""
        moments = np.stack([*self.moments[:2], self.q])
        most = int(min(most, len(self.q)))
        # A quick bound is computed even after the time limit.
        check = self.check if most * len(self.q) > SOON else lambda: None
        costs = partition_costs(self.law, moments, self.tiny, most, check)
        return SURELY * max(0.0, float((costs + self.price * np.arange(len(costs))).min()) - self.near)

    @property
    def off(self) -> float:
        """The amount by which the best tree found may cost more than the best one, because sums are rounded."""
        return OFF * self.near

    @property
    def cost(self) -> float:
        """The cost of the best tree found."""
        return self.base + self.root.upper

    @property
    def bound(self) -> float:
        """A lower bound on the cost of all trees."""
        return self.base + self.root.lower

    def tree(self) -> tuple | None:
        """Return the best tree found, as nested (column, cut, left, right), None for a leaf."""
        return self._whole(self.root.tree, np.arange(self.code.shape[1]))

    def _whole(self, tree, rows: np.ndarray) -> tuple | None:
        if tree is None:
            return None
        if isinstance(tree, Stump):
            _, column, cut = self._depth_one(rows, tree.columns)
            return None if column < 0 else (column, cut, None, None)
        sides, below = self.sides(rows, *tree[:2]), tree[2:]
        if isinstance(tree[2], OneStump):
            stump = Stump(tree[2].columns)
            saved = [self._depth_one(side, stump.columns)[0] - self._gain(side) for side in sides]
            below = (stump, None) if saved[0] >= saved[1] else (None, stump)
        return (*tree[:2], *(self._whole(one, side) for one, side in zip(below, sides)))

    def _over(self, columns: tuple[int, ...] | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the ranks and sizes of some columns, None for all."""
        if columns is None:
            return self.code, self.size
        if columns not in self.parts:
            self.parts[columns] = self.code[list(columns)], self.size[list(columns)]
        return self.parts[columns]

    def _depth_one(self, rows: np.ndarray, columns: tuple[int, ...] | None):
        """Return (gain, column, cut) of the best split on these columns, column -1 for a leaf."""
        found = kernels.depth_one(*self._over(columns), self.moments, rows, self.least, *self._terms)
        return self._named(found, columns)

    def depth_two(self, rows: np.ndarray, place: Place, totals: np.ndarray = NO_TOTALS):
        code, size = self._over(place.columns)
        if not len(size):
            return self._depth_one(rows, place.columns)
        ends = self.least, float(place.leaves or 4), totals
        found = kernels.depth_two(code, size, self.moments, rows, ends, *self._terms)
        return self._named(found, place.columns)

    @property
    def _terms(self) -> tuple:
        return self.price, self.law, self.tiny

    @staticmethod
    def _named(found: tuple, columns: tuple[int, ...] | None) -> tuple[float, int, int]:
        gain, column, cut = float(found[0]), int(found[1]), int(found[2])
        return gain, column if columns is None or column < 0 else columns[column], cut

    def _gain(self, rows: np.ndarray) -> float:
        w, s, _ = self.moments[:, rows].sum(axis=1)
        return laws.gain(self.law, s, w, self.tiny)

    def _leaf(self, rows: np.ndarray) -> float:
        return max(0.0, float(self.q[rows].sum()) - self._gain(rows))

    def _solve(self, rows: np.ndarray, depth: int, limit: float, place: Place, root: int = 0) -> Known:
        """Return the best tree of these rows, or a lower bound of at least `limit`."""
        self.check()
        place, depth = fitted(place, depth)
        if len(place.needed) >= 2**depth:
            return Known(np.inf, np.inf, None)
        if depth == 0:
            leaf = self._leaf(rows)
            return Known(leaf, leaf, None)
        key = self.key_of(rows, depth, place)
        entry = self.known.get(key)
        if entry is not None and (entry.lower >= limit or entry.upper - entry.lower <= self.near):
            return entry
        if self.is_shallow(len(rows), depth, place):
            entry = self._shallow(rows, depth, place)
        elif depth == 2 and self._by_columns(place):
            entry = self._two_levels(rows, limit, entry, place, root)
        else:
            entry = self._deep(rows, depth, limit, entry, place, root)
        if len(self.known) >= KEPT:
            self.known.clear()
        self.known[key] = entry
        return entry

    def is_shallow(self, n_rows: int, depth: int, place: Place) -> bool:
        """Return whether the best tree of this many rows has one or two levels and is found at once, without trying
        cuts."""
        if depth != 2:
            return depth < 2
        return not place.needed and self.limits.alike(place) and (self.narrow or self._pairs(n_rows) <= WIDEST)

    def _by_columns(self, place: Place) -> bool:
        """Return whether two levels are bounded by columns (odtc.algorithms.moments.two_levels)."""
        return place.leaves is None and not place.needed and self.limits.alike(place)

    def _two_levels(self, rows: np.ndarray, limit: float, entry: Known | None, place: Place, root: int) -> Known:
        """Return the best tree of two levels over many cuts."""
        one = self._solve(rows, 1, np.inf, place)
        if entry is None or one.upper < entry.upper:
            entry = Known(0.0, one.upper, one.tree)
        if entry.upper <= self.near:
            return Known(entry.upper, entry.upper, entry.tree)
        columns = self.limits.columns(place, len(self.size))
        if self.limits.levels is not None:
            place = place._replace(columns=tuple(columns.tolist()))

        def tell(bound: float, entry: Known) -> None:
            if root:
                self._tell(bound if root == BOUND_TOLD else 0.0, entry)

        found, tried, worth = two_levels.TwoLevels(self, rows, columns).solve(limit, entry, place, tell)
        key = self.key_of(rows, 2, place)
        self.tried[key], self.worth[key] = [(*cut, (True, True), None) for cut in tried], worth
        return found

    @cached_property
    def sorted(self) -> two_levels.Sorted:
        """The rows in the order of each column."""
        return two_levels.Sorted(self)

    def _pairs(self, n_rows: int) -> float:
        """Return an upper bound on the pairs of cuts that separate this many rows."""
        return float(np.minimum(self.size, n_rows).sum()) ** 2 / 2

    def key_of(self, rows: np.ndarray, depth: int, place: Place) -> tuple:
        """Return the key of a state: the depth, the position, and the rows as packed bits."""
        mask = np.zeros(self.code.shape[1], bool)
        mask[rows] = True
        return depth, place, np.packbits(mask).tobytes()

    def _shallow(self, rows: np.ndarray, depth: int, place: Place) -> Known:
        """Return the best tree of one or two levels."""
        if self.limits.levels is not None:
            place = place._replace(columns=tuple(self.limits.columns(place, len(self.size)).tolist()))
        if place.needed:
            return self._needed_split(rows, place)
        if depth == 1:
            gain, column, cut = self._depth_one(rows, place.columns)
        else:
            gain, column, cut = self.depth_two(rows, place)
        if column < 0:
            leaf = self._leaf(rows)
            return Known(leaf, leaf, None)
        below = None if depth == 1 else (Stump if place.leaves is None else OneStump)(place.columns)
        cost = max(0.0, float(self.q[rows].sum()) - gain)
        return Known(cost, cost, (column, cut, below, below))

    def _needed_split(self, rows: np.ndarray, place: Place) -> Known:
        """Return the best tree of one level that splits on a column of the one needed set, whatever it gains."""
        found = Known(np.inf, np.inf, None)
        for column in place.needed[0]:
            if place.columns is not None and column not in place.columns:
                continue
            for cut in self.cuts(rows, column).tolist():
                cost = sum(map(self._leaf, self.sides(rows, column, cut))) + self.price
                if cost < found.upper:
                    found = Known(cost, cost, (column, cut, None, None))
        return found

    def sides(self, rows: np.ndarray, column: int, cut: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows with ranks of at most a cut of a column, and the others."""
        left = self.code[column, rows] <= cut
        return rows[left], rows[~left]

    def _deep(self, rows: np.ndarray, depth: int, limit: float, entry: Known | None, place: Place, root: int) -> Known:
        """Return the best tree of three levels or more, or of two over many cuts, by intervals of cuts."""
        if entry is None:
            less = self._solve(rows, depth - 1, np.inf if depth == 3 else limit, place)
            entry = Known(0.0, less.upper, less.tree)
        if entry.upper <= self.near:
            return Known(entry.upper, entry.upper, entry.tree)
        heap = []
        for column in self.limits.columns(place, len(self.size)).tolist():
            cuts = self.cuts(rows, column)
            for share in product(shares(place, depth), dealt(place, column)) if len(cuts) else ():
                heap.append((0.0, len(heap), column, cuts, -1, len(cuts), 0.0, 0.0, share))
        heapq.heapify(heap)
        number, lower, least = len(heap), entry.upper, np.inf  # lower bound of the cuts that were tried
        key = self.key_of(rows, depth, place)
        tried, worth, until = [], [], np.inf
        self.tried[key] = tried
        while heap:
            bound, _, column, cuts, low, high, before, behind, share = heapq.heappop(heap)
            most = self.wanted(min(entry.upper, limit)) - self.price
            if root:
                self._tell(min(entry.upper, bound + self.price) if root == BOUND_TOLD else 0.0, entry)
            if bound >= most:
                lower = until = bound + self.price
                break
            middle = (low + high) // 2
            sides, places = self.sides(rows, column, cuts[middle]), self.limits.sides(place, column, *share)
            one = self._solve(sides[0], depth - 1, most - behind, places[0])
            if one.lower >= most - behind:
                two = Known(behind, np.inf, None)
            else:
                two = self._solve(sides[1], depth - 1, most - one.lower, places[1])
            tried.append((column, int(cuts[middle]), (True, two.upper < np.inf), share[0]))
            ends = one.lower, two.lower
            least = min(least, sum(ends) + self.price)
            worth.append((column, int(cuts[middle]), share, sum(ends) + self.price))
            if self.free is not None and (place.needed or self.least > 1 or self.limits.rises):
                ends = tuple(self.free._solve(*state).lower for state in self._freed(sides, depth - 1, most, places))
            if one.upper + two.upper + self.price < entry.upper:
                cost = one.upper + two.upper + self.price
                entry = Known(0.0, cost, (column, int(cuts[middle]), one.tree, two.tree))
            if middle - low > 1:
                number += 1
                value = max(bound, before + ends[1])
                heapq.heappush(heap, (value, number, column, cuts, low, middle, before, ends[1], share))
            if high - middle > 1:
                number += 1
                value = max(bound, ends[0] + behind)
                heapq.heappush(heap, (value, number, column, cuts, middle, high, ends[0], behind, share))
        self.worth[key] = Worth(until, worth)
        lower = min(lower, least, entry.upper)  # the search of a side stops when it reaches the limit
        # Both are infinite if there is no tree.
        return Known(entry.upper if entry.upper <= lower + self.near else lower, entry.upper, entry.tree)

    @staticmethod
    def _freed(sides, depth: int, limit: float, places):
        """Return the arguments of `_solve` without the minimum of rows, levels and needed columns."""
        return [(side, depth, limit, place._replace(level=0, needed=())) for side, place in zip(sides, places)]

    def cuts(self, rows: np.ndarray, column: int) -> np.ndarray:
        """Return the ranks after which a column can be cut, with enough rows on both sides."""
        return allowed_cuts(self.code[column, rows], int(self.size[column]), self.moments[2, rows], self.least)

    def _tell(self, lower: float, entry: Known) -> None:
        self._better(entry.upper, entry.tree)
        self.root.lower = max(self.root.lower, min(lower, self.root.upper))
        self.told(self.bound, self.cost)


class CutCosts(Protocol):
    """The costs of leaves that are not functions of three sums, for a search by intervals of cuts.

    A leaf of more rows costs no less: the best prediction for all of them is one for some of them, too.

    Attributes
    ----------
    relative : float
        The relative rounding error of a leaf, if each cost is computed by itself; otherwise 0.
    """

    relative: float

    def leaf(self, rows: np.ndarray) -> float:
        """Return the cost of a leaf of some rows, int64 (rows,), rising."""
        ...

    def best_cut(
        self, code: np.ndarray, size: np.ndarray, rows: np.ndarray, limits: tuple[float, float], found: np.ndarray
    ) -> tuple[float, int, int]:
        """Return (cost, column, cut) of the cut whose two leaves cost least, column -1 if there is none.

        Parameters
        ----------
        code : int32 (columns, all rows), ranks; a cut c sends ranks of at most c to the left
        size : int64 (columns,), ranks of each column
        rows : int64 (rows,), the rows of the node, rising
        limits : (rows of the data that each leaf must have, cost that the two leaves must be below)
        found : float64 (columns, ranks) or of size 0
            If it has a size, the cost of each cut within the limits is written into it, and no cut is returned.
        """
        ...


class SearchByIntervals(MomentSearch):
    """Search for trees whose leaves have costs that are not functions of sums; two levels are found by intervals of
    cuts, too.

    Parameters
    ----------
    rank : integers (rows, columns)
    loss : CutCosts, of these rows
    count : float64 (rows,), how many rows of the data each represents
    price, least, check, told, limits
        As for MomentSearch.
    """

    _by_sums = False

    def __init__(self, rank: np.ndarray, loss: CutCosts, count: np.ndarray, *terms, **more):
        self.loss = loss
        super().__init__(rank, np.stack([count, 0 * count, 0 * count, count]), laws.SQUARE, *terms, **more)
        self.relative = loss.relative
        self.near = 0.0 if loss.relative else self.near

    def _again(self, rank: np.ndarray, least: int, limits: TreeLimits = NO_LIMITS) -> "SearchByIntervals":
        return SearchByIntervals(rank, self.loss, self.moments[2], self.price, least, self.check, limits=limits)

    def best_below(self, rows: np.ndarray, columns: tuple[int, ...]) -> tuple | None:
        """Return the best tree of one level: two levels would take a search of their own."""
        return self._whole(self._shallow(rows, 1, self.limits.root._replace(columns=columns)).tree, rows)

    def _leaf(self, rows: np.ndarray) -> float:
        return self.loss.leaf(rows)

    def _gain(self, rows: np.ndarray) -> float:
        return -self.loss.leaf(rows)

    def _depth_one(self, rows: np.ndarray, columns: tuple[int, ...] | None):
        leaf, (code, size) = self._leaf(rows), self._over(columns)
        cost, column, cut = np.inf, -1, -1
        if len(size) and leaf > self.price:
            cost, column, cut = self.loss.best_cut(code, size, rows, (self.least, leaf - self.price), NO_TOTALS)
        return self._named((-leaf if column < 0 else -cost - self.price, column, cut), columns)

    def _shallow_cuts(self, rows: np.ndarray, depth: int, place: Place, reach: float) -> list[tuple[int, int, float]]:
        """Return (column, cut, cost) of all trees of one level that cost no more than `reach`."""
        columns = self.limits.columns(place, len(self.size)).tolist()
        if not columns:
            return []
        code, size = self._over(None if len(columns) == len(self.size) else tuple(columns))
        costs = np.full((len(size), int(size.max())), np.inf)
        most = float(np.nextafter(reach - self.price, np.inf))
        self.loss.best_cut(code, size, rows, (self.least, most), costs)
        at, cut = np.nonzero(costs + self.price <= reach)
        return [(columns[one], int(two), float(costs[one, two]) + self.price) for one, two in zip(at, cut)]

    def _by_leaves(self, most: int) -> float:
        return 0.0

    def _all_at_once(self, rows: np.ndarray) -> bool:
        return False

    def _pairs(self, n_rows: int) -> float:
        return np.inf

    def _by_columns(self, place: Place) -> bool:
        return False


def allowed_cuts(ranks: np.ndarray, size: int, count: np.ndarray, least: float) -> np.ndarray:
    """Return the ranks after which some rows can be cut, with at least `least` rows of the data on both sides.

    Parameters
    ----------
    ranks : integers (rows,)
    size : int, ranks of the column
    count : float64 (rows,), how many rows of the data each represents
    least : float
    """
    below = np.cumsum(np.bincount(ranks, count, size))
    held = np.bincount(ranks, minlength=size) > 0
    fits = held & (below >= least) & (below[-1] - below >= least)
    fits[np.flatnonzero(held)[-1] :] = False
    return np.flatnonzero(fits)
