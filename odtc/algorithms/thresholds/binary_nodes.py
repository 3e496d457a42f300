"""Nodes of a search over few binary splits: trees of depth 2 by sums over pairs of splits.

Let P_k[f, g] be the sum of the savings of label k over the entries with outcome 1 for the splits f and g. With
s_k[f] = P_k[f, f] and t_k the sum over all entries, the sums by the outcomes of (f, g) give every tree of depth 2:

    (1, 1): P_k[f, g]           (0, 1): s_k[g] - P_k[f, g]
    (1, 0): s_k[f] - P_k[f, g]  (0, 0): t_k - s_k[f] - s_k[g] + P_k[f, g]

With two labels only P, the sums of signed gains, is needed: two leaves with sums a and b save |a| + |b| = max(|a + b|,
|a - b|). P of one side of a split is P of the node minus P of the other side, so only the smaller side is counted,
row by row by a kernel (binary_pairs). If leaves must have a minimum number of data rows, the kernel counts these in the
same way. The outcome of most entries is 0 in P, because P has then fewer terms, and the formulas are the same if the
outcomes of a split are exchanged. A column of more than two ranks is one split for each of its cuts.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.thresholds.binary_pairs import best_pair, pair_sums
from odtc.algorithms.thresholds.binary_triples import TABLE, height_four, height_three
from odtc.algorithms.thresholds.ranks import NONE, RankedRows
from odtc.base.whole_numbers import MAX_FLOAT32

SETS = 2**27  # maximum bytes of the stored sets of entries with the costs of their best trees of height 3
FEW_SETS = 2**10  # initial number of these sets
NOTHING = np.zeros((0, 0), np.int64)  # in place of row counts that are not needed
LONG = 1e8  # additions of a kernel: about a tenth of a second


class BinaryNode:
    """Entries that reach a node by a path of splits, with their cost as a leaf. `sums` has the saving of each label.
    `pairs`, once counted, has the sums P, the weights of the entries with outcome 1, and the data rows by pairs."""

    __slots__ = ("cuts", "entries", "key", "label", "last", "leaf", "pairs", "rows", "sibling", "sums", "weight")

    def __init__(self, entries: np.ndarray, key: bytes, sums: np.ndarray, totals: tuple[int, int, int, int]):
        self.entries, self.key, self.sums = entries, key, sums
        self.cuts = self.pairs = self.last = None
        self.sibling: tuple | None = None  # (the node it is part of, the node of the other side)
        self.leaf, self.label, self.weight, self.rows = totals

    @property
    def n(self) -> int:
        """Return the number of entries."""
        return len(self.entries)

    @property
    def held(self) -> np.ndarray:
        """Return the entries, int64 (entries of the node,)."""
        return self.entries


class BinaryNodes:
    """The nodes of ranked rows with few cuts in total (`RankedRows.by_splits`). An entry has outcome 0 for a split if
    it is on the left side of the cut."""

    def __init__(self, ranked: RankedRows):
        self.ranked = ranked
        self.type = np.float32 if 4 * int(ranked.most.sum()) + int(ranked.count.sum()) < MAX_FLOAT32 else np.float64
        cuts = ranked.rank.max(axis=0, initial=0).astype(np.int64)
        self.before = np.concatenate([[0], cuts.cumsum()])  # the number of splits of the columns before each
        self.of_column = np.repeat(np.arange(len(cuts)), cuts)
        self.of_rank = np.arange(self.before[-1]) - self.before[self.of_column]
        self.answer = ranked.rank.T[self.of_column] > self.of_rank[:, None]
        self.swapped = 2 * self.answer.sum(axis=1) > ranked.n
        table = (self.answer.T != self.swapped).astype(self.type)
        self.table = table
        entry, self.column = (part.astype(np.int32) for part in np.nonzero(table))
        self.first = np.searchsorted(entry, np.arange(ranked.n + 1))
        self.gain = np.zeros((ranked.n, ranked.stride), np.int64)
        self.gain[np.arange(ranked.n), ranked.label] = ranked.gain
        self.most, self.count = ranked.most, ranked.count
        self.inside = np.zeros(max(1, ranked.n), np.uint8)
        self.splits, self.parted = len(self.of_column), (-1, False)
        self.saves = np.zeros(0, np.int64)  # by first split, for the last tree of height 3 that was sought
        self._saves_of = b""  # the set of entries of its node
        self._room: tuple | None = None  # arrays of the kernels of height 3 and 4
        self._sets = 0  # number of sets of entries that these kernels searched

    def root(self) -> BinaryNode:
        """Return the node of all entries."""
        return self.node_of(np.ones(self.ranked.n, bool))

    def node_of(self, inside: np.ndarray) -> BinaryNode:
        """Return the node of these entries, bool (entries,)."""
        entries = np.flatnonzero(inside)
        return self._node(entries, self._key(entries))

    def _key(self, entries):
        self.inside[:] = 0
        self.inside[entries] = 1
        return np.packbits(self.inside).tobytes()

    def _node(self, entries, key):
        sums = self.gain[entries].sum(axis=0)
        weight, rows = int(self.most[entries].sum()), int(self.count[entries].sum())
        if self.ranked.stride == 1:
            total = int(sums[0])
            return BinaryNode(entries, key, sums, ((weight - abs(total)) >> 1, int(total > 0), weight, rows))
        best = int(sums.argmax())
        return BinaryNode(entries, key, sums, (weight - int(sums[best]), best, weight, rows))

    def cuts(self, node: BinaryNode) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return (blocks, starts, weight, rows) of the cuts of each column, as `profile` of the kernels does."""
        return self._cuts(node)[0]

    def _cuts(self, node):
        """Return (the cuts, their splits, the number of cuts of the columns before each): splits that separate the
        entries, each differently from those before it."""
        if node.cuts is None:
            both = np.stack([np.ones(node.n), self.most[node.entries], self.count[node.entries]])
            left = np.rint(both @ (~self.answer[:, node.entries]).T.astype(float)).astype(np.int64)
            new = (left[0] > 0) & (left[0] < node.n)
            new[1:] &= (left[0, 1:] != left[0, :-1]) | (self.of_column[1:] != self.of_column[:-1])
            splits = np.flatnonzero(new)
            before = np.searchsorted(splits, self.before)
            column = self.of_column[splits]
            cuts = np.zeros((3, len(before) - 1, 2 + max(1, int(np.diff(before).max(initial=0)))), np.int64)
            cuts[:, :, 1:] = np.array([node.n, node.weight, node.rows])[:, None, None]
            cuts[:, column, 1 + np.arange(len(splits)) - before[column]] = left[:, splits]
            node.cuts = (1 + np.diff(before), *cuts), splits, before
        return node.cuts

    def part(self, node: BinaryNode, column: int, cut: int, right: bool) -> tuple[bytes, np.ndarray]:
        """Return (the set of the entries on one side of a cut, these entries). A number outside of the cuts puts all
        entries on one side."""
        cuts, splits, before = self._cuts(node)
        inside = 1 <= cut < cuts[0][column]
        split = int(splits[before[column] + cut - 1]) if inside else -1
        self.parted = split, bool(right)
        answer = self.answer[split][node.entries] if inside else np.full(node.n, cut < 1)
        entries = node.entries[answer if right else ~answer]
        return self._key(entries), entries

    def child(self, node: BinaryNode, key: bytes, entries: np.ndarray) -> BinaryNode:
        """Return the node of the side of a split that `part` returned last."""
        child = self._node(entries, key)
        split, right = self.parted
        last, node.last = node.last, (split, right, child)
        child.sibling = node, last[2] if last is not None and split >= 0 and last[:2] == (split, not right) else None
        return child

    def sides(self, node: BinaryNode, column: int, rank: int) -> list[BinaryNode]:
        """Return both sides of a split, which need not be a cut of the node."""
        cut = self.cut_of(node, column, rank)
        return [self.child(node, *self.part(node, column, cut, right)) for right in (False, True)]

    def narrowed(self, node: BinaryNode, entries: np.ndarray) -> BinaryNode:
        """Return the node of some entries of a node."""
        return self._node(entries, self._key(entries))

    def middle(self, node: BinaryNode, weight: np.ndarray) -> np.ndarray:
        """Return the rank of each column up to which half of a weight is, float (entries of the node,)."""
        above = 2 * (self.answer[:, node.entries] @ weight) > weight.sum()
        return np.bincount(self.of_column[above], minlength=len(self.ranked.columns)).astype(np.uint32)

    def split(self, node: BinaryNode, column: int, cut: int) -> tuple[int, int]:
        """Return a cut of a node as a split (column, rank) of all entries."""
        _, splits, before = self._cuts(node)
        return column, int(self.of_rank[splits[before[column] + cut - 1]])

    def cut_of(self, node: BinaryNode, column: int, rank: int) -> int:
        """Return a split as a cut of a node; 0, or more than the number of cuts, if it does not separate
        the entries."""
        cuts, splits, before = self._cuts(node)
        if not self.answer[self.before[column] + rank][node.entries].any():
            return int(cuts[0][column])
        return int((self.of_rank[splits[before[column] : before[column + 1]]] <= rank).sum())

    def _places(self, node):
        """Return (the splits that are cuts of a node, their columns, their numbers among the cuts of the column)."""
        _, splits, before = self._cuts(node)
        column = self.of_column[splits]
        return splits, column, 1 + np.arange(len(splits)) - before[column]

    def named(self, split: int) -> tuple[int, int]:
        """Return (column, rank) of a split."""
        return int(self.of_column[split]), int(self.of_rank[split])

    def stump(self, node: BinaryNode) -> tuple[tuple[int, int] | None, int]:
        """Return (the best split with a leaf on both sides, its cost); None as the split if there is none."""
        splits, column, cut = self._places(node)
        if not len(splits):
            return None, NONE
        right = np.rint(self.gain[node.entries].T @ self.table[node.entries]).astype(np.int64)[:, splits, None]
        saved = self._saved(right, node.sums[:, None, None] - right)[:, 0]
        left, least = self.cuts(node)[3][column, cut], self.ranked.least
        enough = (left >= least) & (node.rows - left >= least)
        cost = np.where(enough, self.ranked.price + self._cost(node.weight, saved), NONE)
        at = int(cost.argmin())
        return (self.named(splits[at]), int(cost[at])) if cost[at] < NONE else (None, NONE)

    def gini(self, node: BinaryNode) -> tuple[int, int]:
        """Return (column, cut) of the split of least Gini impurity; (-1, 0) if no split separates the entries."""
        return next(iter(self.gini_of_columns(node)), (-1, 0))

    def gini_of_columns(self, node: BinaryNode) -> list[tuple[int, int]]:
        """Return (column, cut) of the best split of each column that separates the entries, by rising Gini impurity."""
        splits, column, cut = self._places(node)
        if not len(splits):
            return []
        gain = self.gain[node.entries].astype(float)
        if self.ranked.stride == 1:
            gain = np.concatenate([np.maximum(-gain, 0), np.maximum(gain, 0)], axis=1)
        one = (gain.T @ self.table[node.entries])[:, splits]
        pure = np.zeros(len(splits))
        for side in (one, gain.sum(axis=0)[:, None] - one):
            whole = side.sum(axis=0)
            pure += np.divide((side**2).sum(axis=0), whole, out=np.zeros(len(splits)), where=whole > 0)
        order = np.argsort(-pure, kind="stable")
        best = np.sort(np.unique(column[order], return_index=True)[1])
        return [(int(column[at]), int(cut[at])) for at in order[best].tolist()]

    def pair(
        self, node: BinaryNode, limit: int, found: Callable[[int, int, int], None] | None = None
    ) -> tuple[int, int, int]:
        """Return (cost, column, rank) of the best tree of depth 2 if it costs less than `limit`: column -1 for a leaf,
        -2 and `limit` if no tree costs less. `found` is not called; nodes that are searched tree by tree need it
        (odtc.algorithms.thresholds.ordered_nodes)."""
        best = (node.leaf, -1, 0) if node.leaf < limit else (limit, -2, 0)
        if not node.n or not self.splits:
            return best
        pairs, weight, count = self._pairs(node)
        counted = count, node.rows, self.ranked.least
        cost, at = best_pair(pairs, weight, node.sums, node.weight, self.ranked.price, counted)
        return (int(cost), *self.named(at)) if cost < best[0] else best

    def solves(self, height: int) -> bool:
        """Return whether a kernel finds the best tree of this height (`tall`): 3 or 4, if its tables are not too
        large."""
        small = self.ranked.least <= 1 and self.ranked.gain.dtype == np.int32
        size = 4 * self.ranked.stride * self.splits**3
        return small and 3 <= height <= 4 and size <= TABLE and self.splits > 0

    def tall(self, node: BinaryNode, height: int, need: int) -> tuple[int, int, int, int]:
        """Return (cost, column, rank, sets) of the best tree of height 3, or of height 4 if it costs less than `need`.
        Column -1 is a leaf, and -2 a tree of height 3; -3 comes with a bound of at least `need` if no tree costs less.
        `sets` counts the sets of entries for which trees of height 3 were sought."""
        ranked = self.ranked
        if self._room is None:
            answer = np.ascontiguousarray(self.table.T > 0)
            self._room = np.zeros(ranked.stride * self.splits**3, np.int32), *self._slots(FEW_SETS), answer
        room, keys, costs, answer = self._room
        entries, rows = node.entries.astype(np.int32), (ranked.label, ranked.gain, ranked.most)
        terms = ranked.stride, ranked.price
        if height == 3:
            size = len(entries)
            self.saves, self._saves_of = np.empty(self.splits, np.int64), node.key
            cost, split = height_three(
                entries, size, self.first, self.column, *rows, *terms, self.splits, room, self.saves
            )
            return int(cost), *self._first(split), 1
        cost, split, sets = height_four(
            entries, self.first, self.column, answer, *rows, *terms, need, room, keys, costs
        )
        self._sets += sets
        if self._sets > len(costs) and 4 * keys.nbytes <= SETS:
            self._room = room, *self._slots(4 * len(costs)), answer
        return int(cost), *self._first(split), int(sets)

    def first_splits(self, node: BinaryNode, height: int, limit: int) -> list[tuple[int, int]] | None:
        """Return (column, cut) of the first split of each tree of height 2 or 3 on a node that costs less than `limit`;
        None if only a search finds them."""
        if self.ranked.least > 1 or not (height == 2 or (height == 3 and self.solves(3))):
            return None
        if height == 2:
            saves = self._pair_saves(node)
        else:
            if self._saves_of != node.key:
                self.tall(node, 3, NONE)
            saves = self.saves
        splits, column, cut = self._places(node)
        begins = self._cost(node.weight, saves[splits]) < limit
        return list(zip(column[begins].tolist(), cut[begins].tolist()))

    def _pair_saves(self, node):
        """Return the saving of the best tree of height 2 with each first split, int64 (splits,); with two labels twice
        that, minus the weight."""
        half = self._pairs(node)[0]
        both = half + half.transpose(0, 2, 1)  # P for all f and g; twice the sums of single splits on the diagonal
        own = np.einsum("kff->kf", half)
        np.einsum("kff->kf", both)[:] = own
        of_f, of_g, whole = own[:, :, None], own[:, None, :], node.sums[:, None, None]
        toll = self.ranked.price * (2 if self.ranked.stride == 1 else 1)
        saves = np.full(self.splits, -toll)
        for side, leaf in ((both, of_f), (of_g - both, whole - of_f)):  # outcome 1 and 0 of f
            split = self._saved(side, leaf - side).max(axis=1, initial=-NONE) - toll
            saves += np.maximum(split, self._leaf_saves(leaf[:, :, 0]))
        return saves

    def _leaf_saves(self, sums):
        """Return the savings of leaves with these sums by label, as `_saved` counts them."""
        return np.abs(sums[0]) if self.ranked.stride == 1 else sums.max(axis=0)

    def is_long(self, node: BinaryNode, height: int) -> bool:
        """Return whether the best tree of height 3 or 4 takes long by a kernel, which does not check the deadline."""
        ones = float((self.first[node.entries + 1] - self.first[node.entries]).sum()) / max(1, node.n)
        triples = node.n * ones**3 / 6 + 2 * self.ranked.stride * self.splits**3
        return triples * self.splits ** (height - 3) > LONG

    def _first(self, split: int) -> tuple[int, int]:
        """Return (column, rank) of the first split that a kernel found; a negative number stands for no split, and is
        returned as the column."""
        return self.named(split) if split >= 0 else (int(split), 0)

    def _slots(self, slots):
        """Return empty arrays for sets of entries and the costs of their best trees of height 3, -1 for no set."""
        return np.zeros((slots, max(1, (self.ranked.n + 63) // 64)), np.uint64), np.full(slots, -1)

    def _pairs(self, node):
        """Return the sums P for f <= g, int64 (labels, splits, splits); the weights of the entries with outcome 1; and
        their numbers of data rows for f <= g, or nothing if these do not count. The sums of the larger side of a split
        are differences."""
        if node.pairs is None:
            whole, other = (one and one.pairs for one in node.sibling or (None, None))
            node.sibling, ranked, counts = None, self.ranked, self.ranked.least > 1
            # A search without a least number of rows may have counted the other side.
            if whole is not None and other is not None and (not counts or (whole[2].size and other[2].size)):
                node.pairs = whole[0] - other[0], whole[1] - other[1], whole[2] - other[2] if counts else NOTHING
            else:
                given = node.entries, self.first, self.column
                pairs, weight = pair_sums(*given, ranked.label, ranked.gain, ranked.most, ranked.stride, self.splits)
                count = NOTHING
                if counts:
                    one = np.zeros_like(ranked.label)
                    count = pair_sums(*given, one, ranked.count, ranked.most, 1, self.splits)[0][0]
                node.pairs = pairs, weight, count
        return node.pairs

    def _saved(self, one, two):
        """Return the savings of two leaves with these sums by label; with two labels twice that, minus the weight."""
        if self.ranked.stride == 1:
            return np.maximum(np.abs(one[0] + two[0]), np.abs(one[0] - two[0]))
        return one.max(axis=0) + two.max(axis=0)

    def _cost(self, weight, saved):
        """Return the costs of leaves on entries of this weight."""
        rest = weight - saved
        return rest >> 1 if self.ranked.stride == 1 else rest


class Fours:
    """Lower bounds on the costs of trees of height 3 on both sides of each split of a node, for its best tree of height
    4: the cost for one set of entries bounds the cost for any other (odtc.algorithms.thresholds.binary_triples).

    Parameters
    ----------
    nodes : BinaryNodes, of which `solves(3)`
    node : BinaryNode
    """

    def __init__(self, nodes: BinaryNodes, node: BinaryNode):
        self.nodes, self.node, self.price = nodes, node, nodes.ranked.price
        three = nodes.tall(node, 3, NONE)[0]
        table = nodes.table[node.entries]
        ones = table.sum(axis=0)
        parting = np.flatnonzero((ones > 0) & (ones < node.n))
        # All splits that separate the entries, the best first.
        self.order = parting[np.argsort(-nodes.saves[parting], kind="stable")].tolist()
        self._fewer_one = 2 * ones <= node.n
        weight = (table * nodes.most[node.entries, None].astype(nodes.type)).T @ table
        self._weight, self._own = np.rint(weight).astype(np.int64), np.rint(weight.diagonal()).astype(np.int64)
        self._low = np.maximum(0, np.stack([three - self._own, three - (node.weight - self._own)]))
        self._parting = parting

    def bound(self, split: int) -> int:
        """Return a lower bound on the cost of trees that begin with a split."""
        return self.price + int(self._low[0, split]) + int(self._low[1, split])

    def least(self) -> int:
        """Return a lower bound on the cost of trees that begin with any split."""
        return self.price + int(self._low[:, self._parting].sum(axis=0).min(initial=NONE))

    def sides(self, split: int) -> list[tuple[int, bool]]:
        """Return (outcome in the table, whether it is the right side) of both sides of a split, the smaller
        one first."""
        first = int(self._fewer_one[split])
        return [(answer, bool(answer) != bool(self.nodes.swapped[split])) for answer in (first, 1 - first)]

    def learn(self, split: int, answer: int, cost: int) -> None:
        """Use the cost of the best tree of height 3 on one side of a split."""
        both, own = self._weight[split], self._own
        if answer:  # the weight with outcome 1, and 0, for each other split, among the entries with outcome 1
            ones, zeros = both, own[split] - both
        else:
            ones, zeros = own - both, self.node.weight - own[split] - own + both
        self._low[1] = np.maximum(self._low[1], cost - zeros)
        self._low[0] = np.maximum(self._low[0], cost - ones)
        self._low[answer, split] = cost
