"""Paths, master problem and pricing problem exactly as printed: one split on every level down to a leaf.

Firat et al. (2020), sections 3.2, 4.1 and 4.2, as costs. S_j are the splits of node j, R_p the rows of path p, c_p the
least loss of one label on R_p:

    min  Σ_l Σ_{p∈P(l)} c_p x_p                                                           (3)
         Σ_{p∈P(l)} x_p = 1                                   leaf l              [α_l]   (4)
         Σ_l Σ_{p∈P(l): r∈R_p} x_p = 1                        row r               [β_r]   (5)
         Σ_{p∈P(l): s_j(p)=a} x_p - ρ_ja = 0                  l, j above l, a∈S_j [γ_lja] (6)
         x_p, ρ_ja ∈ {0, 1}                                                               (7, 8)

The pricing problem of leaf l and class k at dual values α, β, γ; u_ha: the path splits on a at level h, y_r: row r
reaches the leaf:

    min  Σ_r (loss_rk - β_r) y_r - Σ_ha γ_lja u_ha - α_l                                  (11)
         Σ_{a∈S_h} u_ha = 1                                   level h                     (12)
         y_r ≤ Σ_{a: r goes left} u_ha                        h with a left turn, r       (13)
         y_r ≤ Σ_{a: r goes right} u_ha                       h with a right turn, r      (14)
         Σ_h Σ_{a: r follows} u_ha - (levels - 1) ≤ y_r       r                           (15)
         Σ_h u_ha ≤ 1                                         a in several S_h            (16)
         y_r, u_ha ∈ {0, 1}                                                               (17, 18)

Row (16) is left out, and paths may repeat a split, if there are fewer splits than levels, because no path would exist
otherwise. Unlike in odtc.formulations.cg.decision_paths a split may send all rows one way, no path ends above the
leaves, and paths are added one by one instead of being enumerated.
"""

from collections import defaultdict
from itertools import product
from math import prod

import numpy as np

from odtc.base.value_class import value_class
from odtc.base.wording import option, param
from odtc.data.threshold_scales import whole_weights
from odtc.errors import ChoiceError
from odtc.formulations.cg.column_pool import ColumnPool
from odtc.formulations.cg.decision_paths import require_path_memory
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.feasibility import ROUNDING
from odtc.model.milp import Model
from odtc.problem.exact_objective import plain_costs
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree

PATH_BYTES = 1000  # memory of a path: its splits, its position in the dictionaries, its cost


@value_class
class PrintedDuals:
    """Dual values of the master: alpha (leaves,), beta (rows,), gamma (rows (6),), in units."""

    alpha: np.ndarray
    beta: np.ndarray
    gamma: np.ndarray


class PrintedPaths:
    """The paths generated so far over the splits S_j of each node (splits of the encoding, heap order).

    A path is (leaf, splits from the root on). Costs are in units of `unit`; `whole` is true if every cost is a whole
    number of units. Rows that no split separates are one row, except with `literal`.
    """

    def __init__(self, problem: Problem, splits: tuple[np.ndarray, ...], pool: ColumnPool | None = None):
        encoded, params = problem.encoded, problem.params
        self.depth = problem.topology.depth
        self.leaves, self.inner = np.arange(1 << self.depth, 2 << self.depth), range(1, 1 << self.depth)
        self.splits = tuple(np.unique(some).astype(np.int32) for some in splits)
        self.candidates = np.unique(np.concatenate([np.zeros(0, np.int32), *self.splits]))
        self.distinct = len(self.candidates) >= self.depth
        self.column = np.full(encoded.n_candidate_splits, -1)
        self.column[self.candidates] = np.arange(len(self.candidates))
        X = encoded.X[:, self.candidates].astype(bool)
        if params.literal or not len(self.candidates):
            first = group = np.arange(len(X))
        else:
            _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
        costs = plain_costs(problem)
        loss = np.zeros((len(first), len(encoded.classes)))
        np.add.at(loss, group.reshape(-1), costs.loss)
        self.X, self.copies = X[first], np.bincount(group.reshape(-1), encoded.copies, len(first))
        scaled, unit, whole = whole_weights(loss.ravel(), loss.max(axis=1).sum())
        self.whole = whole and costs.exact
        if self.whole:
            self.loss, self.unit = scaled.reshape(loss.shape), unit * float(costs.step)
        else:  # in units of loss
            self.loss, self.unit = loss * float(costs.step), 1.0
        self.least, self.near = params.n_min, ROUNDING * max(1.0, float(self.loss.max(axis=1).sum()))
        # (leaf, level) -> its first row (6)
        self.link, n = {}, 0
        for leaf in self.leaves.tolist():
            for level in range(self.depth):
                self.link[leaf, level], n = n, n + len(self.splits[self.node(leaf, level)])
        self.n_links = n
        self.paths: list[tuple[int, tuple[int, ...]]] = []
        self.costs: list[float] = []
        self.number: dict = {}
        self.next: dict = defaultdict(dict)  # (node, splits above it) -> the splits of paths there
        for leaf, node, way, _ in pool.columns if pool else ():
            if leaf == node:
                self.add(leaf, np.array([way], np.int32).reshape(1, self.depth))

    def __len__(self) -> int:
        return len(self.paths)

    def node(self, leaf: int, level: int) -> int:
        """Return the node that the path to a leaf splits at on this level."""
        return leaf >> self.depth - level

    def turn(self, leaf: int, level: int) -> int:
        """Return 0 for a left turn of the path to a leaf on this level, 1 for a right turn."""
        return leaf >> self.depth - level - 1 & 1

    def rows(self, leaf: int, ways: np.ndarray) -> np.ndarray:
        """Return R_p of the paths to a leaf with these splits, int (paths, levels), as bool (paths, rows)."""
        found = np.ones((len(ways), len(self.X)), bool)
        for level in range(self.depth):
            found &= self.X.T[self.column[ways[:, level]]] == bool(self.turn(leaf, level))
        return found

    def cost(self, rows: np.ndarray) -> np.ndarray:
        """Return c_p for R_p as bool (paths, rows): (1); inf if (24) is violated."""
        found = (rows @ self.loss).min(axis=1)
        if self.least > 1:
            found[rows.any(axis=1) & (rows @ self.copies < self.least)] = np.inf
        return found

    def reduced(self, leaf: int, ways: np.ndarray, duals: PrintedDuals) -> np.ndarray:
        """Return the reduced costs (9), negative for promising paths; inf if a path has the same split twice."""
        rows = self.rows(leaf, ways)
        found = self.cost(rows) - duals.alpha[leaf - self.leaves[0]] - rows @ duals.beta
        found -= duals.gamma[self.links(leaf, ways)].sum(axis=1)
        if self.distinct:
            order = np.sort(ways, axis=1)
            found[(order[:, 1:] == order[:, :-1]).any(axis=1)] = np.inf
        return found

    def links(self, leaf: int, ways: np.ndarray) -> np.ndarray:
        """Return the constraints (6) of the paths, int (paths, levels)."""
        found = np.empty(ways.shape, int)
        for level in range(self.depth):
            place = np.searchsorted(self.splits[self.node(leaf, level)], ways[:, level])
            found[:, level] = self.link[leaf, level] + place
        return found

    def add(self, leaf: int, ways: np.ndarray) -> int:
        """Add the paths to a leaf that are new and satisfy (24); return their number."""
        before, cost = len(self), self.cost(self.rows(leaf, ways))
        for way, paid in zip(map(tuple, ways.tolist()), cost.tolist()):
            if (leaf, way) not in self.number and paid < np.inf:
                self.number[leaf, way] = len(self.paths)
                self.paths.append((leaf, way))
                self.costs.append(paid)
                for level, split in enumerate(way):
                    self.next[self.node(leaf, level), way[:level]][split] = None
        return len(self) - before

    def add_all(self) -> None:
        """Add every path, with different splits if these suffice. Raises ChoiceError if they are too many."""
        sizes = [[len(self.splits[self.node(leaf, level)]) for level in range(self.depth)] for leaf in self.leaves]
        require_path_memory(sum(map(prod, sizes)), PATH_BYTES, len(self.candidates))
        for leaf in self.leaves.tolist():
            choices = [self.splits[self.node(leaf, level)].tolist() for level in range(self.depth)]
            ways = [way for way in product(*choices) if len(set(way)) == len(way) or not self.distinct]
            self.add(leaf, np.array(ways, np.int32).reshape(-1, self.depth))

    def add_tree(self, heap: HeapTree, rng: np.random.Generator | None = None) -> None:
        """Add the paths of a tree. Nodes that predict get a split of their own, drawn by `rng` if given.

        Raises
        ------
        ChoiceError
            If no complete tree has enough rows in every leaf, or there are no splits.
        """
        found = self._complete(heap, new=True, rng=rng)
        if found is None:
            raise ChoiceError(
                f"expected splits for a tree that splits at every node and has at least {param('n_min', self.least)} "
                f"rows, or none, in every leaf, because the paper's paths have a split on every level; found none among"
                f" {len(self.candidates)} splits; use a smaller {option('depth')} or {param('n_min')}, or the default "
                f"{param('search', True)}"
            )
        for leaf in self.leaves.tolist():
            way = [found[self.node(leaf, level)] for level in range(self.depth)]
            self.add(leaf, np.array([way], np.int32).reshape(1, self.depth))

    def of_tree(self, heap: HeapTree) -> list[int] | None:
        """Return the paths that are this tree, in the order of the leaves; None if some are missing."""
        found = self._complete(heap)
        if found is None:
            return None
        return self.numbers(self._heap_order(found))

    def numbers(self, split: np.ndarray) -> list[int]:
        """Return the paths of a complete tree, whose splits are in heap order, in the order of the leaves."""
        ways = [
            (t, tuple(int(split[self.node(t, level)]) for level in range(self.depth))) for t in self.leaves.tolist()
        ]
        return [self.number[one] for one in ways]

    def _complete(self, heap: HeapTree, new: bool = False, rng: np.random.Generator | None = None):
        """Return {node: split} of a complete tree that predicts as `heap` does, which may split where `heap` predicts:
        over the existing paths, or over `new` ones, which may predict better; None if there is none."""
        whole = heap.split

        def search(t: int, way: tuple, u: int, rows: np.ndarray):
            if t >> self.depth:
                if new:
                    return {} if not len(rows) or self.copies[rows].sum() >= self.least else None
                fits = whole[u] < 0 and self.loss[rows].sum(axis=0).argmin() == heap.label[u]
                return {} if (t, way) in self.number and (fits or not len(rows)) else None
            here = (
                [split for split in self.splits[t].tolist() if split not in way or not self.distinct]
                if new
                else list(self.next[t, way])
            )
            if rng is not None:
                rng.shuffle(here)
            own = whole[u] if not new or whole[u] in here else -1
            for split in sorted(here, key=lambda one: one != own):  # the tree's own split first
                ones = self.X[rows, self.column[split]]
                parts = rows[~ones], rows[ones]
                splits = all(map(len, parts))
                if splits and own >= 0 and split != own:
                    continue
                found = {t: split}
                for side in (0, 1):
                    below = search(2 * t + side, (*way, split), 2 * u + side if split == own else u, parts[side])
                    if below is None:
                        break
                    found |= below
                else:
                    return found
            return None

        return search(1, (), 1, np.arange(len(self.X)))

    def best(self) -> np.ndarray:
        """Return the splits of the best tree of these paths, int32 in heap order: the optimum of (3)-(8), by dynamic
        programming over the beginnings of the paths."""

        def value(t: int, way: tuple):
            if t >> self.depth:
                at = self.number.get((t, way))
                return (np.inf if at is None else self.costs[at]), {}
            least, chosen = np.inf, {}
            for split in self.next[t, way]:
                left, right = value(2 * t, (*way, split)), value(2 * t + 1, (*way, split))
                if left[0] + right[0] < least:
                    least, chosen = left[0] + right[0], {t: split} | left[1] | right[1]
            return least, chosen

        return self._heap_order(value(1, ())[1])

    def tree_at(self, x: np.ndarray) -> np.ndarray:
        """Return the splits of a point, int32 in heap order: at each node the split of most of the paths."""
        weight: dict = defaultdict(lambda: defaultdict(float))
        for at in np.flatnonzero(x > 1e-9).tolist():
            leaf, way = self.paths[at]
            for level, split in enumerate(way):
                weight[self.node(leaf, level), way[:level]][split] += x[at]
        found, stack = {}, [(1, ())]
        while stack:
            t, way = stack.pop()
            if share := weight.get((t, way)):
                found[t] = split = max(share, key=share.get)
                stack += [(2 * t, (*way, split)), (2 * t + 1, (*way, split))]
        return self._heap_order(found)

    def _heap_order(self, chosen: dict[int, int]) -> np.ndarray:
        split = np.full(2 << self.depth, -1, np.int32)
        split[list(chosen)] = list(chosen.values())
        return split

    def master(self, integer: bool = True) -> Model:
        """Return the master problem (3)-(8) over these paths, or its linear relaxation, whose variables have no upper
        bounds because (4) and (6) imply them."""
        m, n, upper = ModelBuilder(f"cg_d{self.depth}"), len(self), 1.0 if integer else np.inf
        leaf, at = np.array([one for one, _ in self.paths], int), np.arange(n)
        ways = np.array([way for _, way in self.paths], np.int32).reshape(n, self.depth)
        if self.depth:
            width = len(self.column)
            cells = np.concatenate([(j - 1) * width + self.splits[j] for j in self.inner])
            axes = Axis("node", len(self.inner), 1), Axis("split", width)
            rho = m.columns("rho", *axes, integer=integer, upper=upper, positions=cells)
        cost = np.array(self.costs) * self.unit
        x = m.columns("x", Axis("path", n), role=Role.PATH, cost=cost, integer=integer, upper=upper)
        pick = m.rows("pick", Axis("leaf", len(self.leaves), int(self.leaves[0])), lower=1, upper=1)  # (4)
        m.add(pick[leaf], x[at])
        cover = m.rows("cover", Axis("row", len(self.X)), lower=1, upper=1)  # (5)
        covered = [np.zeros((0, 2), int)]
        for one in self.leaves.tolist():
            mine = np.flatnonzero(leaf == one)
            path, row = np.nonzero(self.rows(one, ways[mine]))
            covered.append(np.column_stack([row, mine[path]]))
        row, path = np.concatenate(covered).T
        m.add(cover[row], x[path])
        if self.depth:
            link = m.rows("link", Axis("link", self.n_links), lower=0, upper=0)  # (6)
            for one in self.leaves.tolist():
                mine = np.flatnonzero(leaf == one)
                m.add(link[self.links(one, ways[mine])], x[mine[:, None]])
            place = {cell: rank for rank, cell in enumerate(cells.tolist())}
            of_link = [
                place[(j - 1) * width + split]
                for one in self.leaves.tolist()
                for j in (self.node(one, level) for level in range(self.depth))
                for split in self.splits[j].tolist()
            ]
            m.add(link[np.arange(self.n_links)], rho[np.array(of_link)], -1)
        return m.finish()

    def point(self, chosen: list[int]) -> dict[str, np.ndarray]:
        """Return the point of the master that chooses these paths."""
        x = np.zeros(len(self))
        x[chosen] = 1
        if not self.depth:
            return {"x": x}
        rho = {(j, split): 0.0 for j in self.inner for split in self.splits[j].tolist()}
        for at in chosen:
            leaf, way = self.paths[at]
            rho |= {(self.node(leaf, level), split): 1.0 for level, split in enumerate(way)}
        return {"x": x, "rho": np.array(list(rho.values()))}

    def pricing(self, duals: PrintedDuals, leaf: int, label: int) -> Model:
        """Return the pricing problem (11)-(18) of a leaf and a class, with (23) and (25) for `n_min`."""
        m, unit, r = ModelBuilder(f"pricing_{leaf}_{label}"), self.unit, np.arange(len(self.X))
        sets = [self.splits[self.node(leaf, level)] for level in range(self.depth)]
        gamma = [duals.gamma[self.link[leaf, level] :][: len(own_splits)] for level, own_splits in enumerate(sets)]
        u = [
            m.columns(f"u{level + 1}", Axis("split", len(own_splits)), cost=-unit * paid, integer=True)
            for level, (own_splits, paid) in enumerate(zip(sets, gamma))
        ]
        row = Axis("row", len(self.X))
        y = m.columns("y", row, cost=unit * (self.loss[:, label] - duals.beta), integer=True)
        if self.depth:
            follows = m.rows("follow", row, upper=self.depth - 1)  # (15)
            m.add(follows[r], y[r], -1)
        for level, own_splits in enumerate(sets):
            check = m.rows(f"check{level + 1}", lower=1, upper=1)  # (12)
            m.add(check[()], u[level].all())
            side = self.turn(leaf, level)
            turn = m.rows(f"{('left', 'right')[side]}{level + 1}", row, upper=0)  # (13, 14)
            at, a = np.nonzero(self.X[:, self.column[own_splits]] == bool(side))
            m.add(turn[r], y[r])
            m.add(turn[at], u[level][a], -1)
            m.add(follows[at], u[level][a])
        for split in self.candidates.tolist() if self.distinct else ():
            there = [
                (level, np.flatnonzero(own_splits == split))
                for level, own_splits in enumerate(sets)
                if split in own_splits
            ]
            if len(there) > 1:
                distinct = m.rows(f"distinct{split}", upper=1)  # (16)
                for level, place in there:
                    m.add(distinct[()], u[level][place])
        if self.least > 1:
            used = m.columns("used", integer=True)
            uses = m.rows("uses", row, upper=0)  # (23)
            m.add(uses[r], y[r])
            m.add(uses[r], used[()], -1)
            fill = m.rows("fill", lower=0)  # (25)
            m.add(fill[()], y[r], self.copies)
            m.add(fill[()], used[()], -float(self.least))
        m.constant(-unit * float(duals.alpha[leaf - self.leaves[0]]))
        return m.finish()

    def to_pool(self) -> ColumnPool:
        """Return the paths in the format of a manifest."""
        return ColumnPool(self.splits, tuple((leaf, leaf, way, ()) for leaf, way in self.paths))
