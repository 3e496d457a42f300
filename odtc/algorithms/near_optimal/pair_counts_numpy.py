"""The functions of `pair_counts` in numpy: the same results without numba, slower over many thresholds."""

import numpy as np

from odtc.algorithms.near_optimal.pair_counts import (
    BRANCHES,
    BUDGET,
    COST,
    LEAST,
    LOW,
    PRICE,
    SKEW,
    SPAN,
    TWINS,
    UNIT,
)
from odtc.base import deadline


class Blocks:
    """Rows of equal ranks in each column of a node, one column after the other.

    Attributes
    ----------
    column, rank : int64 (blocks,)
    of : int64 (columns, n), the block of each row of the node in each column
    """

    def __init__(self, rows: np.ndarray, rank: np.ndarray, columns: np.ndarray):
        n, self.rows = len(rows), rows
        ranks = rank[np.asarray(columns)[:, None], rows].astype(np.int64)
        wide = ranks.max(initial=0) + 1
        keys = ranks + wide * np.arange(len(columns))[:, None]
        found, of = np.unique(keys, return_inverse=True)
        self.of = of.reshape(len(columns), n)
        self.column, self.rank = np.asarray(columns)[found // wide], found % wide

    def sums(self, inside: np.ndarray, loss: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (loss int64 (blocks, labels), rows of the data int64 (blocks,)) of these rows, bool (n,)."""
        rows, at, wide = self.rows[inside], self.of[:, inside], len(self.rank)
        loss = np.stack([_added(at, column[rows], wide) for column in loss.T], axis=1)
        return loss, _added(at, count[rows], wide)

    def stumps(self, loss: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (block, next block, cost, fewest rows on a side) of each threshold between rows that are present."""
        there = np.flatnonzero(count)
        same = self.column[there[:-1]] == self.column[there[1:]]
        left, right = there[:-1][same], there[1:][same]
        begins = np.searchsorted(self.column, self.column[left])
        before = np.concatenate([np.zeros((1, loss.shape[1]), np.int64), loss.cumsum(axis=0)])
        ends = np.searchsorted(self.column, self.column[left], side="right")
        one, both = before[left + 1] - before[begins], before[ends] - before[begins]
        size = np.concatenate([[0], count.cumsum()])
        few, all_rows = size[left + 1] - size[begins], size[ends] - size[begins]
        return left, right, one.min(axis=1) + (both - one).min(axis=1), np.minimum(few, all_rows - few)


def _added(at, values, wide):
    return np.bincount(at.ravel(), np.broadcast_to(values, at.shape).ravel(), wide).astype(np.int64)


def pair_counts(order, rank, loss, count, columns, firsts, units, table, per_cut, splits=None):
    """Do the same as odtc.algorithms.near_optimal.pair_counts.pair_counts. `splits` are the first splits (column, rank)
    of these trees, if they are known, because each split that is tried takes a while."""
    unit, price, skew, budget, least, low = (int(units[at]) for at in (UNIT, PRICE, SKEW, BUDGET, LEAST, LOW))
    span, want, want_x, twins = *(int(units[at]) for at in (SPAN, BRANCHES)), int(units[COST]) - low, int(units[TWINS])
    blocks = Blocks(np.sort(order[columns[0]]), rank, columns)
    leaf = int(loss[blocks.rows].sum(axis=0).min())
    everywhere = np.ones(len(blocks.rows), bool)
    whole, rows = blocks.sums(everywhere, loss, count)
    for f in firsts:
        place = int(np.searchsorted(columns, f))
        mine = np.flatnonzero(blocks.column == f)
        for here, after in zip(mine[:-1], mine[1:]):
            if splits is not None and (f, blocks.rank[here]) not in splits:
                continue
            deadline.check()
            inside = blocks.of[place] <= here
            left = blocks.sums(inside, loss, count)
            sides = left, (whole - left[0], rows - left[1])
            sizes = [int(side[1][mine].sum()) for side in sides]
            if min(sizes) < least:
                continue
            leaves = [int(side[0][mine].sum(axis=0).min()) for side in sides]
            found = [_worth(blocks, side, stop + twins, least) for side, stop in zip(sides, leaves)]
            cheap = [min([stop * unit, *(cost[:1] * unit + price).tolist()]) for stop, (cost, _) in zip(leaves, found)]
            if cheap[0] + cheap[1] + price > budget:
                continue
            mult, begun = int(blocks.rank[after] - blocks.rank[here]), 0

            def add(b, x, times, mult=mult):
                np.add.at(table[b], x, mult * times)
                return int(times[x == want_x].sum()) if b == want else 0

            if sum(leaves) < leaf + twins and sum(leaves) * unit + price <= budget:
                begun += add(1, np.array([sum(leaves) + skew - low]), np.ones(1, np.int64))
            hists = []
            for s in range(2):
                cost, times = found[s]
                kept = cost * unit <= budget - cheap[1 - s] - 2 * price
                cost, times = cost[kept], times[kept]
                floor = int(cost[0]) if len(cost) else 0
                hist = np.zeros(span, np.int64)
                np.add.at(hist, cost - floor, times)
                at = np.flatnonzero(hist)
                hists.append((floor + at, hist[at]))
                ends = (floor + at) * unit + 2 * price + leaves[1 - s] * unit <= budget
                begun += add(2, floor + at[ends] + leaves[1 - s] + 2 * skew - low, hist[at][ends])
            paid = hists[0][0][:, None] + hists[1][0]
            times = hists[0][1][:, None] * hists[1][1]
            ends = paid * unit + 3 * price <= budget
            begun += add(3, paid[ends] + 3 * skew - low, times[ends])
            per_cut[f, int(inside.sum())] = begun


def _worth(blocks, side, limit, least):
    """Return (cost, splits) of the thresholds whose leaves together cost less than a limit, the cheapest first."""
    before, after, cost, few = blocks.stumps(*side)
    kept = np.flatnonzero((cost < limit) & (few >= least))
    kept = kept[np.argsort(cost[kept], kind="stable")]
    return cost[kept], (blocks.rank[after] - blocks.rank[before])[kept]


def add_products(left, right, out, shift, caps, times):
    """Do the same as odtc.algorithms.near_optimal.pair_counts.add_products."""
    for b, one in enumerate(left):
        for c, two in enumerate(right):
            if not one.any() or not two.any():
                continue
            product = np.convolve(one, two) * times
            begin, end = max(0, -shift), min(len(product), int(caps[b + c + 1]) - shift + 1)
            if begin < end:
                out[b + c + 1, begin + shift : end + shift] += product[begin:end]
