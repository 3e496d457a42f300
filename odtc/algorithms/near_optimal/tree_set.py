"""The trees within a budget as an AND/OR graph over sets of rows: their exact number, by branch nodes and cost.

A node of the graph is a set of rows with the remaining height. It may end as a leaf, or have a split (OR); a split
needs a tree on either side (AND). So the trees of a node by cost are

    T(S, h) = leaf(S) + Σ_splits  price · T(left, h - 1) · T(right, h - 1)     (products of polynomials in the cost)

minus the pairs of leaves that could predict the same class. The budget of a node is the part of the root's budget that
remains for it if all sibling subtrees above it have their least cost. Splits whose sides cost more are skipped: the
bounds come from the search for the best tree (odtc.algorithms.thresholds.rank_search). The two lowest levels are one
kernel (pair_counts).

Two trees are different if at some node their splits, as written, differ, or only one of them has a leaf. A leaf
predicts the cheapest class, so ties of labels do not count as further trees. A split has rows on both sides. Two
sibling leaves do not share a cheapest class, because as one leaf they would cost the same.

The graph follows Xin, Zhong, Chen, Takagi, Seltzer & Rudin (2022), "Exploring the Whole Rashomon Set of Sparse Decision
Trees".
"""

import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from math import gcd

import numpy as np

from odtc.algorithms.equal_rows import distinct_values
from odtc.algorithms.near_optimal.pair_counts import pair_counts
from odtc.algorithms.near_optimal.tree_table import TreeTable, Units
from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import RankedRows
from odtc.base import deadline
from odtc.base.memory import available, require_memory
from odtc.base.value_class import value_class
from odtc.errors import TimeLimitReached

MAX_PAIRS_AT_ONCE = 1e8  # pairs of thresholds, about, beyond which the kernel is called column by column, if at all
PART = 0.5  # share of the free memory for tables
REMEMBERED = 500  # nodes for which the first splits of sampled trees are stored


class OutOfMemory(MemoryError):
    """The tables do not fit into half of the memory that was free."""


@dataclass(frozen=True)
class Part:
    """A set of rows: one bit for each row, and the cost of the set as one leaf, in units of loss."""

    key: bytes
    leaf: int

    @property
    def rows(self) -> np.ndarray:
        """The numbers of the rows, rising. They are not stored, because a large set of trees has many sets of rows."""
        return np.flatnonzero(np.unpackbits(np.frombuffer(self.key, np.uint8)))


@value_class
class Arc:
    """The splits at ranks low to high - 1 of a column, which separate a set of rows in the same way. `bounds` are lower
    bounds on the cost of the trees on each side. `twins` is True if both sides as leaves cost as much as one leaf."""

    column: int
    low: int
    high: int
    sides: tuple[Part, Part]
    bounds: tuple[int, int]
    twins: bool


class TreeRows:
    """The rows of the data in the arrays of the kernels; rows with equal ranks are one row.

    Parameters
    ----------
    ranked : RankedRows; made with `keep`, if splits that separate only rows with the same cost for all predictions
        count as different
    """

    def __init__(self, ranked: RankedRows):
        first = np.diff(ranked.row, prepend=-1) > 0
        head, entry = np.flatnonzero(first), first.cumsum() - 1  # rows that are not there have no number
        n = len(head)
        labels = max(2, ranked.stride)
        gain = np.zeros((n, labels), np.int64)
        if ranked.stride == 1:
            gain[:, 0], gain[:, 1] = np.maximum(-ranked.gain, 0), np.maximum(ranked.gain, 0)
        else:
            gain[entry, ranked.label] = ranked.gain
        loss = ranked.most[head][:, None] - gain
        divisor = gcd(*distinct_values(loss).tolist(), 0) or max(1, ranked.price)
        self.units = Units(divisor, ranked.price)
        self.loss, self.count = loss // divisor, ranked.count[head]
        self.by_label = np.ascontiguousarray(self.loss.T)
        self.rank = np.empty((ranked.rank.shape[1], n), np.int32)
        self.order = np.empty_like(self.rank)
        small = ranked.rank.max(initial=0) < 2**16  # numpy sorts 16 bits by counting
        for f, column in enumerate(ranked.rank.T):  # one at a time: the sort takes eight bytes an entry
            self.rank[f] = column[head]
            self.order[f] = np.argsort(self.rank[f].astype(np.uint16) if small else self.rank[f], kind="stable")
        self.entry, self.least, self.n = entry, ranked.least, n

    def part(self, rows: np.ndarray) -> Part:
        """Return the set of these rows, rising numbers."""
        inside = np.zeros(self.n, bool)
        inside[rows] = True
        return Part(np.packbits(inside).tobytes(), int(self.loss[rows].sum(axis=0).min()))

    def inside(self, part: Part) -> np.ndarray:
        """Return bool (n,): whether each row is in a set."""
        return np.unpackbits(np.frombuffer(part.key, np.uint8), count=self.n).astype(bool)

    def ordered(self, part: Part) -> np.ndarray:
        """Return int32 (columns, n), the rows of a set by rising rank."""
        inside = self.inside(part)
        return self.order if inside.all() else self.order[inside[self.order]].reshape(len(self.order), inside.sum())

    def cuts(self, part: Part, columns: Iterable[int]) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (column, its rows of a set by rising rank, their ranks, the positions of the last rows left of each cut
        that leaves enough rows on both sides)."""
        inside = self.inside(part)
        for column in columns:
            order = self.order[column][inside[self.order[column]]]
            ranks, size = self.rank[column, order], self.count[order].cumsum()
            ends = np.flatnonzero(ranks[1:] > ranks[:-1])
            yield column, order, ranks, ends[np.minimum(size[ends], size[-1] - size[ends]) >= self.least]


@dataclass
class _Known:
    """The table of a node up to a budget; its arcs, or, if the kernel counted it, the columns of its first splits."""

    table: TreeTable
    arcs: list
    columns: np.ndarray | None = None  # None if arcs are counted one by one


class TreeSet:
    """All trees of a depth that cost at most a budget.

    Parameters
    ----------
    rows : TreeRows
    search : RankSearch, over the same rows, with its results about the best trees
    depth : int
    budget : int, in the units of the search
    columns : the columns that trees may use, None for all
    twins : bool, whether trees with twin leaves are counted, too, as other programs do

    `complete` is true if all trees are counted. If the deadline, the memory or Ctrl-C ended the count, it is a lower
    bound, and `stopped` is the reason.
    """

    def __init__(self, rows: TreeRows, search: RankSearch, depth: int, budget: int, columns=None, twins=False):
        self.twins = twins
        self.rows, self.search, self.depth, self.budget = rows, search, depth, budget
        allowed = range(len(rows.rank)) if columns is None else sorted(set(columns))
        self.columns = np.array([f for f in allowed if rows.rank[f].max(initial=0) > 0], np.int64)
        self._may = np.isin(np.arange(len(rows.rank)), self.columns)
        self._known: dict[tuple[int, bytes], _Known] = {}
        self._begins: dict[tuple[int, bytes, int, int], tuple] = {}  # first splits of sampled trees
        self._bytes = 0
        self._room = available()
        self.root = rows.part(np.arange(rows.n))
        self.complete, self.stopped = False, ""
        self.table = TreeTable(rows.units, depth, self._least(), budget)

    def _least(self):
        return min(self.budget + 1, self.search.known(self.depth).lower)

    def restricted(self, columns) -> "TreeSet":
        """Return the trees of the set that use these columns only; not counted yet."""
        return TreeSet(self.rows, self.search, self.depth, self.budget, columns, self.twins)

    def count(self) -> int:
        """Return the number of trees, which `table` has by branch nodes and cost; only of the trees found so far if
        `complete` is false. Does not raise KeyboardInterrupt and the like, but sets `stopped`."""
        try:
            require_memory(self.table.counts.nbytes * 4.0, "the table of the trees by cost")
            self._fill(self.table, self.root, self.depth, self._known_of(self.root, self.depth, self.table))
            self.complete = True
        except TimeLimitReached:
            self.stopped = deadline.what_ends()
        except MemoryError:
            self.stopped = "the memory"
        except KeyboardInterrupt:
            self.stopped = "an interruption"
            deadline.end_soon()
        self.table.settle()
        return self.table.total

    def _known_of(self, part, height, table):
        known = self._known[height, part.key] = _Known(table, [])
        return known

    def _get(self, part: Part, height: int, budget: int, lower: int) -> _Known:
        """Return the stored data of a node, whose table has all trees up to a budget."""
        known = self._known.get((height, part.key))
        if known is None or known.table.budget < budget:
            if known is not None:  # so that a node that is reached with ever greater budgets is counted few times
                budget = max(budget, min(lower + self.budget - self._least(), 2 * budget - known.table.budget))
            table = TreeTable(self.rows.units, height, lower, budget)
            self._hold(table.counts.nbytes + len(part.key) + 500)
            known = _Known(table, [])
            self._fill(table, part, height, known)
            self._known[height, part.key] = known
        return known

    def _hold(self, size):
        self._bytes += size
        if self._room is not None and self._bytes > PART * self._room:
            raise OutOfMemory

    def _fill(self, table: TreeTable, part: Part, height: int, known: _Known) -> None:
        deadline.check()
        table.add(0, part.leaf, 1)
        if not height or not len(self.columns) or len(part.rows) < 2:
            return
        if height == 1:
            most = (table.budget - self.rows.units.price) // self.rows.units.unit
            _, low, high, costs = self.stump_cuts(part, most)
            table.add_all(1, costs + self.rows.units.skew, high - low)
            return
        arcs = self.arcs(part, height, table.budget)
        if height == 2:
            # The kernel counts any number of arcs in one sweep; on many rows, few arcs are counted in less time.
            few = [] if self._work(part, self.columns) < MAX_PAIRS_AT_ONCE else [*islice(arcs, len(self.columns) + 1)]
            if not 0 < len(few) <= len(self.columns):
                known.columns = self.columns
                known.columns = np.flatnonzero(self._pairs(part, table, self.columns).any(axis=1))
                return
            arcs = iter(few)
        for arc in arcs:
            known.arcs.append(arc)  # first, so that no tree is counted that cannot be drawn, whenever it ends
            self._add_arc(table, arc, height)

    def _work(self, part: Part, firsts: np.ndarray) -> int:
        """Return about how many pairs of thresholds a set of rows has, with the first ones on some columns."""
        return len(part.rows) ** 2 * len(firsts) * len(self.columns)

    def _add_arc(self, table, arc, height):
        units, (left, right) = self.rows.units, arc.sides
        one = self._get(left, height - 1, table.budget - units.price - arc.bounds[1], arc.bounds[0]).table
        if not one.total:
            return
        b, x, _ = one.cells()[0]
        two = self._get(right, height - 1, table.budget - units.price - units.cost(b, x), arc.bounds[1]).table
        if two.total:
            table.add_products(one, two, arc.high - arc.low)
            if arc.twins:
                table.add(1, left.leaf + right.leaf + units.skew, arc.low - arc.high)

    def arcs(self, part: Part, height: int, budget: int):
        """Yield the arcs of a node of height 2 or more with trees within a budget."""
        for column, rank, *bounds in self.search.splits_below(self.node(part), height, budget + 1):
            if self._may[column]:
                yield self.arc(part, column, rank, bounds)

    def node(self, part: Part):
        """Return the node of the search of these rows."""
        return self.search.node_of(self.rows.inside(part)[self.rows.entry])

    def arc(self, part: Part, column: int, rank: int, bounds) -> Arc:
        """Return the splits that separate a set of rows in the same way as a split on a column does."""
        rows = part.rows
        ranks = self.rows.rank[column, rows]
        left = ranks <= rank
        sides = self.rows.part(rows[left]), self.rows.part(rows[~left])
        low, high = int(ranks[left].max()), int(ranks[~left].min())
        twins = not self.twins and sides[0].leaf + sides[1].leaf == part.leaf
        return Arc(column, low, high, sides, tuple(bounds), twins)

    def stumps(self, part: Part, most: int) -> list[Arc]:
        """Return the arcs of a node of height 1 whose leaves cost at most this many units of loss."""
        columns, low, _, _ = self.stump_cuts(part, most)
        return [self.arc(part, *cut, (0, 0)) for cut in zip(columns.tolist(), low.tolist())]

    def stump_cuts(self, part: Part, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the same as four arrays: the columns, `low` and `high` of an `Arc`, and the costs of the leaves."""
        found = [np.zeros((4, 0), np.int64)]
        for column, order, ranks, ends in self.rows.cuts(part, self.columns.tolist()):
            sums = self.rows.by_label.take(order, axis=1).cumsum(axis=1)
            left = sums.take(ends, axis=1)
            cost = left.min(axis=0) + (sums[:, -1:] - left).min(axis=0)
            wanted = (cost < part.leaf + self.twins) & (cost <= most)
            ends = ends[wanted]
            found.append(np.stack([np.full(len(ends), column), ranks[ends], ranks[ends + 1], cost[wanted]]))
        return tuple(np.concatenate(found, axis=1))

    def _pairs(self, part: Part, table: TreeTable, firsts: np.ndarray, cell: tuple[int, int] = (-1, 0)) -> np.ndarray:
        """Count the trees of a node of height 2 whose first split is on one of some columns, and return how many of one
        cell begin with each cut, or how many of all cells, int64 (columns, n)."""
        rows, units = self.rows, self.rows.units
        span = max(1, table.counts.shape[1] + 1)
        given = np.array(
            [units.unit, units.price, units.skew, table.budget, rows.least, table.low, span, *cell, self.twins],
            np.int64,
        )
        order = rows.ordered(part)
        per_cut = np.zeros(order.shape, np.int64)
        for first in [firsts] if self._work(part, firsts) < MAX_PAIRS_AT_ONCE else firsts[:, None]:
            deadline.check()
            pair_counts(order, rows.rank, rows.loss, rows.count, self.columns, first, given, table.counts, per_cut)
        table.settle()
        return per_cut

    # Trees one by one.

    def _begun(self, part: Part, height: int, b: int, x: int) -> tuple[list, list[int]]:
        """Return how trees with b branch nodes in a cell x begin on a node of height 1 or more: arcs, or (column, rank
        of the last row on the left) of arcs, and the number of these trees on each."""
        units = self.rows.units
        if height == 1:
            wanted = x - units.skew
            columns, low, high, costs = (values.tolist() for values in self.stump_cuts(part, wanted))
            here = [at for at, cost in enumerate(costs) if cost == wanted]
            return [(columns[at], low[at]) for at in here], [high[at] - low[at] for at in here]
        known = self._known[height, part.key]
        if known.columns is None:
            trees = [sum(many for many, *_ in self._sides(arc, height, b, x)) for arc in known.arcs]
            begun = [(arc, many) for arc, many in zip(known.arcs, trees) if many]
            return [arc for arc, _ in begun], [many for _, many in begun]
        table = TreeTable(units, 2, known.table.lower, units.cost(b, x))
        per_cut = self._pairs(part, table, known.columns, (b, x))
        cuts: list[tuple[int, int]] = []
        trees = []
        for column in known.columns.tolist():
            left = np.flatnonzero(per_cut[column])  # the numbers of rows on the left
            ranks = np.sort(self.rows.rank[column, part.rows])
            cuts += [(column, low) for low in ranks[left - 1].tolist()]
            trees += ((ranks[left] - ranks[left - 1]) * per_cut[column, left]).tolist()
        return cuts, trees

    def _opened(self, part: Part, begun: Arc | tuple[int, int]) -> Arc:
        """Return the arc of one of the results of `_begun`."""
        return begun if isinstance(begun, Arc) else self.arc(part, *begun, (0, 0))

    def _sides(self, arc: Arc, height: int, b: int, x: int):
        """Yield (trees, left, right) of the trees that begin with an arc, of b branch nodes in a cell x: their number,
        and the cells of their sides."""
        units = self.rows.units
        if height > 2 and any((height - 1, side.key) not in self._known for side in arc.sides):
            return  # a side had no tree within the budget, or was never counted
        one, two = (self._side(side, height - 1, units.cost(b, x)) for side in arc.sides)
        for c, y, many in one.cells():
            d, z = b - 1 - c, x - units.skew - y
            trees = many * two.at(d, z) * (arc.high - arc.low)
            if trees and not (arc.twins and c == d == 0):
                yield trees, (c, y), (d, z)

    def _side(self, part, height, cost):
        known = self._get(part, height, cost, 0) if height < 2 else self._known[height, part.key]
        return known.table

    def sample(self, number: int, seed: int = 0) -> list:
        """Return trees drawn at random, each with the same probability; some may be equal.

        Parameters
        ----------
        number : int
        seed : int

        Returns
        -------
        list of (cost, tree), a tree as nested (column, rank, left, right) with None for a leaf
        """
        chance, cells = random.Random(seed), self.table.cells()
        found = []
        for _ in range(number if cells else 0):
            deadline.check()
            at = _pick(chance, [trees for _, _, trees in cells])
            b, x, _ = cells[at]
            found.append((self.rows.units.cost(b, x), self._drawn(chance, self.root, self.depth, b, x)))
        return found

    def _drawn(self, chance, part, height, b, x):
        if not b:
            return None
        key = height, part.key, b, x
        if key not in self._begins:
            if len(self._begins) >= REMEMBERED:
                self._begins.clear()
            self._begins[key] = self._begun(part, height, b, x)
        begun, trees = self._begins[key]
        arc = self._opened(part, begun[_pick(chance, trees)])
        sides = list(self._sides(arc, height, b, x))
        _, *cells = sides[_pick(chance, [trees for trees, *_ in sides])]
        rank = chance.randrange(arc.low, arc.high)
        below = [self._drawn(chance, side, height - 1, *cell) for side, cell in zip(arc.sides, cells)]
        return arc.column, rank, *below

    def trees(self):
        """Yield (cost, tree) of all trees in order of cost; of equal cost, trees with fewer leaves come first."""
        for b, x, _ in self.table.cells():
            for tree in self._each(self.root, self.depth, b, x):
                yield self.rows.units.cost(b, x), tree

    def _each(self, part, height, b, x):
        deadline.check()
        if not b:
            yield None
            return
        for begun in self._begun(part, height, b, x)[0]:
            arc = self._opened(part, begun)
            for _, left, right in self._sides(arc, height, b, x):
                for one in self._each(arc.sides[0], height - 1, *left):
                    for two in self._each(arc.sides[1], height - 1, *right):
                        for rank in range(arc.low, arc.high):
                            yield arc.column, rank, one, two


def _pick(chance: random.Random, weights: list[int]) -> int:
    """Return a position, drawn by whole weights."""
    drawn = chance.randrange(sum(weights))
    return bisect_right(list(accumulate(weights)), drawn)
