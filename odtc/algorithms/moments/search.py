"""The tree of least cost and a depth, over all cuts of ranked columns, with a proof; of leaves that cost a function of
sums over their rows (odtc.algorithms.moments.laws), as squared error.

What each row costs alone no tree avoids, and is taken off. With V_d(A) the rest of the least cost of a tree of depth d
on the rows A, and price of branch nodes: V_d(A) >= 0, and V_d(A) <= V_d(B) for A within B, as a tree of B costs no more
on A. Of all cuts of a column between two cuts a < b that were tried,

    V_d-1(left of a) + V_d-1(right of b) + price

is a bound: such a cut sends the rows left of a to the left, and those right of b to the right. The intervals between
tried cuts are taken by rising bound, and cut at their middle, until none can hold a better tree. No bound is used that
moves a value by the weight of rows, which holds for errors that cost at most 1 alone.

If leaves must have a least number of rows, a tree of B may have too few rows of A in a leaf, and V(A) <= V(B) holds no
more: the values left of a and right of b are then those of trees whose leaves may have any rows (`free`).
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from odtc.algorithms.moments import kernels, laws
from odtc.algorithms.moments.partition_bound import partition_costs

SMALL = 3e5  # sums of a search that is made without compiling
NEAR = 1e-11  # of the error of one leaf: trees nearer than that are equally good
KEPT = 200_000  # subtrees that are remembered
WIDEST = 6e7  # pairs of cuts that two levels are found of at once, without a look at the clock


MANY = 200  # cuts, from which on three levels may take so long that a bound of any tree comes first
SOON = 1e5  # rows and sets of a partition that takes no more than some hundredths of a second
SURELY = 1 - 1e-9  # of a bound of sums that are rounded

STUMP = "the best tree of one level"  # of a tree that is drawn at the end


@dataclass
class Known:
    """What is known of the trees of a depth on some rows: no tree costs less than `lower`, and the best one met,
    `tree`, costs `upper`: (column, cut, left, right), None for a leaf, or STUMP."""

    lower: float
    upper: float
    tree: tuple | None


class MomentSearch:
    """The search on some rows.

    Parameters
    ----------
    rank : integers (rows, columns); a cut c of a column sends ranks of at most c to the left
    moments : float64 (4, rows): W, S and Q of each row, and how many rows of the data it is
    law : int, of odtc.algorithms.moments.laws
    price : float, of a branch node, in units of cost
    least : int, rows of the data that each leaf must have
    check : called often; what it raises ends the search
    told : called with (bound, cost) of all trees when one of them changes
    """

    def __init__(
        self,
        rank: np.ndarray,
        moments: np.ndarray,
        law: int,
        price: float = 0.0,
        least: int = 1,
        check: Callable[[], None] = lambda: None,
        told: Callable[[float, float], None] = lambda lower, upper: None,
    ):
        self.code = np.ascontiguousarray(rank.T.astype(np.int32))
        self.size = self.code.max(axis=1).astype(np.int64) + 1
        w, s, q, count = moments
        alone = laws.leaf_costs(law, moments[:3])
        self.law, self.tiny, self.base = law, laws.smallest(law, moments), float(alone.sum())
        self.moments, self.q = np.ascontiguousarray(np.stack([w, s, count]).astype(float)), q - alone
        self.price, self.least, self.check, self.told = float(price), float(max(1, least)), check, told
        self.near = NEAR * max(self._leaf(np.arange(len(w))), 1e-300)
        self.known: dict[tuple, Known] = {}
        n, p = rank.shape
        self.narrow = self._pairs(n) <= WIDEST
        self.depth_two = kernels.depth_two if n * p * n * p < SMALL else kernels.compiled()
        self.root: Known | None = None
        # By depth and rows of three levels or more: the cuts that were tried, and which of their sides were solved.
        self.tried: dict[tuple, list] = {}
        self.free = MomentSearch(rank, moments, law, price, 1, check) if least > 1 else None

    def solve(self, depth: int) -> Known:
        """The best tree of all rows."""
        rows = np.arange(self.code.shape[1])
        self.root = Known(0.0, self._leaf(rows), None)
        if depth > 2 and self.size.sum() - len(self.size) >= MANY:
            self.root.lower = min(self._by_leaves(2**depth), self.root.upper)
        for height in range(1, depth + 1):
            found = self._solve(rows, height, np.inf, root=height == depth)
            if found.upper < self.root.upper:
                self.root.upper, self.root.tree = found.upper, found.tree
        self.root.lower = max(self.root.lower, found.lower)
        return self.root

    def _by_leaves(self, most: int) -> float:
        """What no tree with so many leaves costs less than."""
        moments = np.stack([*self.moments[:2], self.q])
        most = min(most, len(self.q))
        check = self.check if most * len(self.q) > SOON else lambda: None  # a bound is worth a moment after the limit
        costs = partition_costs(self.law, moments, self.tiny, most, check)
        return SURELY * max(0.0, float((costs + self.price * np.arange(len(costs))).min()) - self.near)

    @property
    def cost(self) -> float:
        """What the best tree met costs."""
        return self.base + self.root.upper

    @property
    def bound(self) -> float:
        """What no tree costs less than."""
        return self.base + self.root.lower

    def tree(self) -> tuple | None:
        """The best tree met, as nested (column, cut, left, right), None for a leaf."""
        return self._whole(self.root.tree, np.arange(self.code.shape[1]))

    def _whole(self, tree, rows: np.ndarray) -> tuple | None:
        if tree is None:
            return None
        if tree is STUMP:
            _, column, cut = self._depth_one(rows)
            return None if column < 0 else (int(column), int(cut), None, None)
        sides = self.sides(rows, *tree[:2])
        return (*tree[:2], *(self._whole(below, side) for below, side in zip(tree[2:], sides)))

    def _depth_one(self, rows: np.ndarray):
        return kernels.depth_one(self.code, self.size, self.moments, rows, self.least, self.price, self.law, self.tiny)

    def _depth_two(self, rows: np.ndarray):
        return self.depth_two(self.code, self.size, self.moments, rows, self.least, self.price, self.law, self.tiny)

    def _leaf(self, rows: np.ndarray) -> float:
        w, s, _ = self.moments[:, rows].sum(axis=1)
        return max(0.0, float(self.q[rows].sum()) - laws.gain(self.law, s, w, self.tiny))

    def _solve(self, rows: np.ndarray, depth: int, limit: float, root: bool = False) -> Known:
        """What is known of these rows: the best tree, or a lower bound of at least `limit`."""
        self.check()
        if depth == 0:
            leaf = self._leaf(rows)
            return Known(leaf, leaf, None)
        key = depth, self.key_of(rows)
        entry = self.known.get(key)
        if entry is not None and (entry.lower >= limit or entry.upper - entry.lower <= self.near):
            return entry
        if depth == 1 or (depth == 2 and (self.narrow or self._pairs(len(rows)) <= WIDEST)):
            entry = self._shallow(rows, depth)
        else:
            entry = self._deep(rows, depth, limit, entry, root)
        if len(self.known) >= KEPT:
            self.known.clear()
        self.known[key] = entry
        return entry

    def _pairs(self, n_rows: int) -> float:
        """No more pairs of cuts separate so many rows."""
        return float(np.minimum(self.size, n_rows).sum()) ** 2 / 2

    def key_of(self, rows: np.ndarray) -> bytes:
        """A set of rows as packed bits."""
        mask = np.zeros(self.code.shape[1], bool)
        mask[rows] = True
        return np.packbits(mask).tobytes()

    def _shallow(self, rows: np.ndarray, depth: int) -> Known:
        """The best tree of one or two levels."""
        if depth == 1:
            gain, column, cut = self._depth_one(rows)
        else:
            gain, column, cut = self._depth_two(rows)
        if column < 0:
            leaf = self._leaf(rows)
            return Known(leaf, leaf, None)
        below = (None, None) if depth == 1 else (STUMP, STUMP)
        cost = max(0.0, float(self.q[rows].sum()) - gain)
        return Known(cost, cost, (int(column), int(cut), *below))

    def sides(self, rows: np.ndarray, column: int, cut: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows at most at a cut of a column, and the others."""
        left = self.code[column, rows] <= cut
        return rows[left], rows[~left]

    def _deep(self, rows: np.ndarray, depth: int, limit: float, entry: Known | None, root: bool) -> Known:
        """The best tree of three levels or more, or of two over many cuts, by intervals of cuts."""
        if entry is None:
            less = self._solve(rows, depth - 1, np.inf if depth == 3 else limit)
            entry = Known(0.0, less.upper, less.tree)
        if entry.upper <= self.near:
            return Known(entry.upper, entry.upper, entry.tree)
        heap = []
        for column in range(len(self.size)):
            cuts = self._cuts(rows, column)
            if len(cuts):
                heap.append((0.0, len(heap), column, cuts, -1, len(cuts), 0.0, 0.0))
        heapq.heapify(heap)
        number, lower = len(heap), entry.upper
        tried = self.tried[depth, self.key_of(rows)] = []
        while heap:
            bound, _, column, cuts, low, high, before, behind = heapq.heappop(heap)
            most = min(entry.upper, limit) - self.price
            if root:
                self._tell(min(entry.upper, bound + self.price), entry)
            if bound >= most - self.near:
                lower = bound + self.price
                break
            middle = (low + high) // 2
            left, right = self.sides(rows, column, cuts[middle])
            one = self._solve(left, depth - 1, most - behind)
            if one.lower >= most - behind:
                two = Known(behind, np.inf, None)
            else:
                two = self._solve(right, depth - 1, most - one.lower)
            tried.append((column, int(cuts[middle]), (True, two.upper < np.inf)))
            ends = one.lower, two.lower
            if self.free is not None:
                ends = tuple(self.free._solve(side, depth - 1, most).lower for side in (left, right))
            if one.upper + two.upper + self.price < entry.upper:
                cost = one.upper + two.upper + self.price
                entry = Known(0.0, cost, (column, int(cuts[middle]), one.tree, two.tree))
            if middle - low > 1:
                number += 1
                value = max(bound, before + ends[1])
                heapq.heappush(heap, (value, number, column, cuts, low, middle, before, ends[1]))
            if high - middle > 1:
                number += 1
                value = max(bound, ends[0] + behind)
                heapq.heappush(heap, (value, number, column, cuts, middle, high, ends[0], behind))
        lower = min(lower, entry.upper)
        return Known(entry.upper if entry.upper - lower <= self.near else lower, entry.upper, entry.tree)

    def _cuts(self, rows: np.ndarray, column: int) -> np.ndarray:
        """The ranks after which a column can be cut, with enough rows on both sides."""
        count = np.bincount(self.code[column, rows], self.moments[2, rows], self.size[column])
        held = np.bincount(self.code[column, rows], minlength=self.size[column]) > 0
        below = np.cumsum(count)
        fits = held & (below >= self.least) & (below[-1] - below >= self.least)
        last = np.flatnonzero(held)[-1]
        fits[last:] = False
        return np.flatnonzero(fits)

    def _tell(self, lower: float, entry: Known) -> None:
        if entry.upper < self.root.upper:
            self.root.upper, self.root.tree = entry.upper, entry.tree
        self.root.lower = max(self.root.lower, min(lower, self.root.upper))
        self.told(self.bound, self.cost)
