"""Paths of a decision tree from the root to an end, each with the best subtree below it, and their costs.

Firat et al. (2020), section 3.2, call a choice of one split at every branch node on the way to a leaf a decision path.
Here a path may end `tail` levels above the leaves, in a node whose best subtree of `tail` levels is counted at once;
with tail 0 the ends are the leaves, as printed.

Every split of a path separates the rows that reach it. A path may also stop at a branch node; its rows then all end in
the leftmost end below it, with one label. So each tree without needless branch nodes, whose leaves and subtrees are the
best for their rows, corresponds to exactly one choice of paths.

The paths to a node are numbered. Their rows are packed, 64 to a word; the path of number i at node t that uses the
split a has the numbers child[t][i, a] at nodes 2t and 2t + 1. The cost of a path is computed when it is needed
(`evaluate`) and kept; until then `low` has a bound.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from odtc.algorithms.dp.shallow_trees_min_leaf import Subtrees
from odtc.base.wording import option, param
from odtc.data.encoding import Encoded
from odtc.data.threshold_scales import whole_weights
from odtc.errors import ChoiceError
from odtc.problem.exact_objective import WholeCosts
from odtc.trees.heap_tree import CompleteTree

MOST_PATHS = 4_000_000  # maximum number of paths to all nodes together
MOST_BYTES = 2**30  # maximum size of the packed rows of all paths
TABLE_NUMBERS = 20_000_000  # numbers of an unpacked table in memory at once
CALL = 5e5  # overhead of one evaluation of two levels, as a number of multiplications
EXACT = 2**24  # whole numbers below this are exact in float32


@dataclass
class NodePaths:
    """The paths to one node: their packed rows, uint64 (paths, words); the position of the split at each level in that
    node's splits, int32 (paths, level); the number of the path to the parent node that each path extends; and the
    cost of the best label, in units."""

    rows: np.ndarray
    places: np.ndarray
    parent: np.ndarray
    leaf: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)


class Paths:
    """All paths over `splits`: for each node of the heap the splits that it may use (int32).

    A leaf costs its loss and the penalty of a branch node, the reward, which an empty leaf does not pay (Firat et al.,
    appendix A.0.2), and has at least `least` rows of the data or none (A.0.3). Costs are in units of `unit`. Raises
    ChoiceError if the paths do not fit into memory, or if there are fewer than `least` rows.
    """

    def __init__(
        self,
        encoded: Encoded,
        topology: CompleteTree,
        splits,
        tail: int,
        costs: WholeCosts,
        least: int = 0,
        threads: int = 1,
    ):
        self.topology, self.tail, self.depth = topology, tail, topology.depth - tail
        self.ends = np.arange(2**self.depth, 2 ** (self.depth + 1))
        self.upper = np.arange(1, 2**self.depth)
        self.candidates = np.unique(np.concatenate([np.zeros(0, np.int32), *splits])).astype(np.int32)
        # Per node, as columns of self.X, ascending: a node that may use all splits uses X as it is.
        self.splits = [np.sort(np.searchsorted(self.candidates, some)) for some in splits]
        self.threads = threads
        X = encoded.X[:, self.candidates]
        lines = (
            np.ascontiguousarray(np.packbits(X, axis=1)) if len(self.candidates) else np.zeros((len(X), 1), np.uint8)
        )
        _, first, group = np.unique(lines.view(f"V{lines.shape[1]}").ravel(), return_index=True, return_inverse=True)
        self.first, self.group = first, group.reshape(-1)  # an encoded row of each group, and the group of each
        self.X = X[first]
        loss = np.zeros((len(first), len(encoded.classes)))
        np.add.at(loss, group, costs.loss)
        self.copies = np.bincount(group, encoded.copies, len(first))
        paid = loss.max(axis=1).sum() + costs.price * len(topology.leaves)
        scaled, unit, whole = whole_weights(np.append(loss.ravel(), costs.price), paid)
        self.unit, self.whole = unit * float(costs.step), whole and costs.exact
        self.loss, self.reward, self.least = scaled[:-1].reshape(loss.shape), float(scaled[-1]), least
        self.most = self.loss.max(axis=1)
        self.kind = np.float32 if self.whole and paid / unit < EXACT and self.copies.sum() < EXACT else np.float64
        if least > self.copies.sum():
            raise ChoiceError(
                f"expected a least number of rows in a leaf of at most {self.copies.sum():.0f}, the rows there are, "
                f"got {least}"
            )
        # Costs that differ by less than this are equal.
        self.near = 0.25 if self.whole else 1e-9 * max(1.0, float(self.most.sum()))
        self.subtrees = Subtrees(self.X, self.loss, self.copies, self.reward, least, self.near, self.kind)
        self._lay_out()

    @property
    def n_groups(self) -> int:
        return len(self.X)

    def _lay_out(self) -> None:
        columns = pack_bits(self.X.T)
        everything = pack_bits(np.ones((1, self.n_groups), bool))
        self.reached: dict[int, NodePaths] = {
            1: NodePaths(everything, np.zeros((1, 0), np.int32), np.zeros(1, int), self.leaf_costs(everything))
        }
        self.child: dict[int, np.ndarray] = {}
        total = 1
        for t in self.upper.tolist():
            here, asked = self.reached[t], self.splits[t]
            require_path_memory(total + 2 * len(here) * len(asked), 8 * columns.shape[1], len(self.candidates))
            sides = []
            step = max(1, TABLE_NUMBERS // max(1, len(asked) * columns.shape[1]))
            for begin in range(0, len(here), step):
                ones = here.rows[begin : begin + step, None] & columns[asked]
                zeros = here.rows[begin : begin + step, None] & ~columns[asked]
                fits = ones.any(axis=2) & zeros.any(axis=2)
                if self.least > 1:
                    fits[fits] = (self.count(ones[fits]) >= self.least) & (self.count(zeros[fits]) >= self.least)
                sides.append((fits, zeros[fits], ones[fits]))
            fits = np.concatenate([side[0] for side in sides]) if sides else np.zeros((len(here), 0), bool)
            at, place = np.nonzero(fits)
            child = np.full((*fits.shape, 2), -1, np.int32)
            child[at, place] = np.arange(len(at))[:, None]
            self.child[t] = child
            places = np.column_stack([here.places[at], place]).astype(np.int32)
            for side in (0, 1):
                rows = np.concatenate([part[1 + side] for part in sides]) if sides else here.rows[:0]
                self.reached[2 * t + side] = NodePaths(rows, places, at, self.leaf_costs(rows))
            total += 2 * len(at)
        self.cost = {e: np.full(len(self.reached[e]), np.nan) for e in self.ends.tolist()}
        self.low = {e: self._floors(self.reached[e].rows) for e in self.ends.tolist()}
        self.below = {e: np.full((len(self.reached[e]), 2**self.tail), -1, np.int32) for e in self.ends.tolist()}
        self._known = {}
        same: dict = {}  # ends with the same splits in their subtrees have one number
        self._asks = (
            {
                e: same.setdefault(tuple(self.splits[t].tobytes() for t in (e, 2 * e, 2 * e + 1)), e)
                for e in self.ends.tolist()
            }
            if self.tail == 2
            else {}
        )

    def way(self, t: int, number: int) -> list[int]:
        """Return the splits of a path, as columns of X, from the root on."""
        places, found = self.reached[t].places[number], []
        for level, place in enumerate(places.tolist()):
            found.append(int(self.splits[t >> len(places) - level][place]))
        return found

    def find(self, t: int, way) -> int | None:
        """Return the number of the path to node t with these splits; None if no path has them."""
        number, height = 0, t.bit_length() - 1
        if len(way) != height:
            return None
        for level, split in enumerate(way):
            node = t >> height - level
            place = np.flatnonzero(self.splits[node] == split)
            number = int(self.child[node][number, place[0], 0]) if len(place) else -1
            if number < 0:
                return None
        return number

    def parent(self, t: int, number: int) -> int:
        """Return the number of the path to node t // 2 that this one extends."""
        return int(self.reached[t].parent[number])

    def price(self, e: int, t: int, number: int) -> float:
        """Return the cost of a column at its end: the cost of the path itself, or of a path that stops at t and ends
        in the leftmost end."""
        if e == t:
            return float(self.cost[e][number])
        return float(self.reached[t].leaf[number]) if self.leftmost(t) == e else 0.0

    def rows_of(self, e: int, t: int, number: int) -> np.ndarray:
        """Return the packed rows of a column at its end."""
        return self.reached[t].rows[number] if self.leftmost(t) == e else np.zeros_like(self.reached[1].rows[0])

    def leftmost(self, t: int) -> int:
        """Return the first end below a node."""
        return t << self.depth - t.bit_length() + 1

    def give(self, e: int, number: int, below: np.ndarray) -> None:
        """Set the cost of a path to the cost of this subtree, which may not be the best: `low` is unchanged, so that
        `evaluate` still looks for the best one. Does nothing if the best is known, or if a leaf has too few rows."""
        if self.known(e, number):
            return
        members = np.flatnonzero(self.bits(self.reached[e].rows[number : number + 1])[0])
        node = np.ones(len(members), int)
        for _ in range(self.tail if len(self.candidates) else 0):
            asked = below[np.minimum(node, len(below) - 1)] if len(below) > 1 else np.full(len(node), -1)
            moving = (node < len(below)) & (asked >= 0)
            node = np.where(moving, 2 * node + self.X[members, np.maximum(asked, 0)], node)
        leaves = [members[node == leaf] for leaf in np.unique(node)]
        if self.least <= 1 or all(self.copies[rows].sum() >= self.least for rows in leaves):
            self.below[e][number] = below
            self.cost[e][number] = sum(self.loss[rows].sum(axis=0).min() + self.reward for rows in leaves)

    def known(self, e: int, some=slice(None)) -> np.ndarray:
        """Return bool (paths,): whether the best subtree of each path to an end, or of some of them, was found."""
        return self.cost[e][some] == self.low[e][some]

    def bits(self, rows: np.ndarray) -> np.ndarray:
        """Return packed rows as 0 and 1: uint8 (paths, groups)."""
        return np.unpackbits(rows.view(np.uint8), axis=1, count=self.n_groups, bitorder="little")

    def sums(self, rows: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Return float64 (paths, columns): the sums of `of` (groups, columns) over the rows of each path."""
        found, step = np.zeros((len(rows), of.shape[1])), max(1, TABLE_NUMBERS // self.n_groups)
        for begin in range(0, len(rows), step):
            found[begin : begin + step] = self.bits(rows[begin : begin + step]).astype(self.kind) @ of.astype(self.kind)
        return found

    def count(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of rows of the data of each path."""
        return self.sums(rows, self.copies[:, None])[:, 0]

    def leaf_costs(self, rows: np.ndarray) -> np.ndarray:
        """Return the cost of a leaf for the rows of each path, which has at least one row."""
        cost = self.sums(rows, self.loss).min(axis=1, initial=np.inf) + self.reward
        if self.least > 1:
            cost[self.count(rows) < self.least] = np.inf
        return cost

    def _floors(self, rows: np.ndarray) -> np.ndarray:
        """Return lower bounds on the cost of any subtree: the groups' best labels, and one leaf."""
        return self.sums(rows, self.loss.min(axis=1, keepdims=True))[:, 0] + self.reward

    def evaluate(self, wanted: dict[int, np.ndarray]) -> None:
        """Compute the costs of these paths, {end: numbers}; ends in parallel if there are threads for them."""
        jobs = [(e, new) for e, some in wanted.items() if len(new := some[~self.known(e, some)])]
        if self.threads > 1 and len(jobs) > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(lambda job: self._evaluate(*job), jobs))
        else:
            for job in jobs:
                self._evaluate(*job)

    def _evaluate(self, e: int, some: np.ndarray) -> None:
        here = self.reached[e]
        cost, below = here.leaf[some].copy(), np.full((len(some), 2**self.tail), -1, np.int32)
        if self.tail == 1:
            step = max(1, TABLE_NUMBERS // max(self.n_groups, len(self.splits[e]) * self.loss.shape[1]))
            for begin in range(0, len(some), step):
                part = slice(begin, begin + step)
                cost[part], below[part, 1] = self.subtrees.stumps(
                    self.bits(here.rows[some[part]]), self.splits[e], cost[part]
                )
        elif self.tail == 2:
            asks = self._asks[e]
            for at, number in enumerate(some.tolist()):
                # The same rows come by other ways, too: a then b is b then a.
                key = asks, here.rows[number].tobytes()
                if key not in self._known:
                    members = np.flatnonzero(self.bits(here.rows[number : number + 1])[0])
                    self._known[key] = self.subtrees.two_levels(
                        members, self.splits[e], (self.splits[2 * e], self.splits[2 * e + 1]), cost[at]
                    )
                cost[at], below[at, 1:] = self._known[key]
        self.below[e][some] = below  # first, because a cost marks it as known
        self.cost[e][some] = self.low[e][some] = cost

    def work(self, e: int) -> float:
        """Return the approximate number of multiplications to evaluate one path, including other work that takes as
        long."""
        pairs = (
            len(self.splits[e]) * max(1, *(len(self.splits[t]) for t in (2 * e, 2 * e + 1))) if self.tail == 2 else 0
        )
        rows, K = self.n_groups / 2**self.depth, self.loss.shape[1]
        return (
            1e4
            + (len(self.splits[e]) * self.n_groups * K if self.tail == 1 else 0)
            + (CALL + pairs * (rows + 50) * K if self.tail == 2 else 0)
        )


def pack_bits(X: np.ndarray) -> np.ndarray:
    """Return lines of bool (lines, bits) as words, uint64; the unused bits at the end are 0."""
    lines = np.packbits(X, axis=1, bitorder="little")
    return np.ascontiguousarray(np.pad(lines, ((0, 0), (0, -lines.shape[1] % 8)))).view(np.uint64)


def require_path_memory(n_paths: int, bytes_each: int, n_candidate_splits: int) -> None:
    if n_paths > MOST_PATHS or n_paths * bytes_each > MOST_BYTES:
        raise ChoiceError(
            f"expected at most {min(MOST_PATHS, MOST_BYTES // bytes_each):,} paths, got {n_paths:,} over "
            f"{n_candidate_splits} splits; take fewer splits ({param('splits', 'sampled')}, a smaller {param('q')}), "
            f"or a smaller {option('depth')}"
        )
