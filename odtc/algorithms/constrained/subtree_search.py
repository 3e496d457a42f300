"""Local search under constraints: improve a known tree by searching its lowest two levels again, node by node.

Fix the whole tree except for the subtree at one node. Subtract the amounts that the fixed part uses from the bounds;
then the best subtree for the rows of the node is the optimum of a smaller problem,

    Σ over leaves and branch nodes of the subtree of their uses  ≤  bound - uses of the rest,

of depth 2, over few rows and all thresholds. Put this subtree into the tree, and repeat until no node gives a cheaper
tree. A leaf higher up may grow by two levels.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    cost_of,
    keeps,
    leaves_of,
    named,
    ones_of,
    part_of,
)
from odtc.algorithms.constrained.engines import engine_of

HEIGHT = 2  # height of the subtrees that are searched again
ROUNDS = 8  # maximum number of rounds through all nodes

Tree = tuple[np.ndarray, np.ndarray]


def improved(problem: ConstrainedProblem, scale: np.ndarray, tree: Tree, tick: Callable[[], bool]) -> Tree:
    """Return a feasible tree that costs no more than this one.

    Parameters
    ----------
    problem : ConstrainedProblem
    scale : int (splits,)
        Splits with the same number are nested.
    tree : (split, label), int32 (2^(depth + 1),) each
        A feasible tree on a heap.
    tick : Callable[[], bool]
        Returns whether the search has to end.
    """
    known = cost_of(problem, *tree)
    if problem.depth <= HEIGHT:
        return tree
    idle: set[int] = set()  # nodes that were searched since the tree has changed
    for _ in range(ROUNDS):
        for node in list(_nodes(tree[0], problem.depth - HEIGHT)):
            if tick():
                return tree
            if node in idle:
                continue
            idle.add(node)
            found = _Below(problem, scale, tree, node).best(tick)
            if found is not None and (cost := cost_of(problem, *found)) < known and keeps(problem, *found):
                tree, known, idle = found, cost, {node}
        if idle.issuperset(_nodes(tree[0], problem.depth - HEIGHT)):
            break
    return tree


def _nodes(split: np.ndarray, level: int, node: int = 1) -> Iterator[int]:
    """Yield the nodes of a tree at a level, and its leaves above."""
    if split[node] < 0 or node.bit_length() - 1 == level:
        yield node
        return
    yield from _nodes(split, level, 2 * node)
    yield from _nodes(split, level, 2 * node + 1)


class _Below:
    """The problem of the subtree below one node of a feasible tree."""

    def __init__(self, problem: ConstrainedProblem, scale: np.ndarray, tree: Tree, node: int):
        self.problem, self.scale, self.tree, self.node = problem, scale, tree, node
        self.level = node.bit_length() - 1
        place = leaves_of(problem, tree[0])
        up = np.array([int(at).bit_length() - 1 - self.level for at in range(len(tree[0]))])
        self.under = np.array([at for at in range(1, len(up)) if up[at] >= 0 and at >> up[at] == node])
        self.rows = np.isin(place, self.under)
        self.rest = self._rest(place)

    def best(self, tick: Callable[[], bool]) -> Tree | None:
        """Return the tree with the best subtree that is found; None if there is none."""
        problem, (split, _) = self.problem, self.tree
        asked = np.setdiff1d(np.flatnonzero(split >= 0), self.under)
        held = np.isin(np.arange(problem.subsets.shape[1]), problem.column[split[asked]])
        subsets = problem.subsets[(problem.subsets | ~held).all(axis=1)]
        splits = self._splits(subsets.any(axis=0))
        if not len(splits):
            return None
        accepts = problem.accepts
        part = replace(
            problem,
            X=part_of(problem.X, self.rows, splits),
            cost=problem.cost[self.rows],
            depth=HEIGHT,
            uses=problem.uses[:, self.rows],
            bound=problem.bound - self.rest,
            measures=problem.measures[:, self.rows],
            column=problem.column[splits],
            allowed=problem.allowed[self.level : self.level + HEIGHT, splits],
            below=None if problem.below is None else problem.below[np.ix_(splits, splits)],
            subsets=subsets,
            most_splits=None,
            accepts=None if accepts is None else lambda *sub: accepts(*self._grafted(splits, *sub)),
        )
        _, scale = np.unique(self.scale[splits], return_inverse=True)
        engine = engine_of(part, scale.reshape(-1))
        engine.watch(tick, lambda bound, cost: None)
        found = engine.run()
        return None if found.split is None else self._grafted(splits, found.split, found.label)

    def _splits(self, columns: np.ndarray) -> np.ndarray:
        """Return int (splits,): the splits on some columns that separate the rows, and are allowed below the splits
        above."""
        problem, n = self.problem, int(self.rows.sum())
        ones = ones_of(problem.X, self.rows)
        may = columns[problem.column] & (ones > 0) & (ones < n)
        if problem.below is not None:
            above = [self.tree[0][self.node >> up] for up in range(1, self.level + 1)]
            may &= problem.below[above].all(axis=0)
        splits = np.flatnonzero(may)
        if problem.below is None and problem.accepts is None and problem.allowed.all():
            # Splits of one scale are nested: those with as many ones among the rows separate them in the same way.
            alike = np.stack([self.scale[splits], problem.column[splits], ones[splits]])
            splits = np.sort(splits[np.unique(alike, axis=1, return_index=True)[1]])
        return splits

    def _rest(self, place: np.ndarray) -> np.ndarray:
        """Return int64 (constraints,): the amounts that the tree uses without the subtree."""
        problem, (split, label) = self.problem, self.tree
        rows = np.flatnonzero(~self.rows)
        leaves = np.unique(place[rows])
        asking = np.setdiff1d(np.flatnonzero(split >= 0), self.under)
        uses = problem.uses[:, rows, label[place[rows]]].sum(axis=1)
        return uses + problem.leaf_uses[:, label[leaves]].sum(axis=1) + problem.branch_uses * len(asking)

    def _grafted(self, splits: np.ndarray, split: np.ndarray, label: np.ndarray) -> Tree:
        """Return the tree with a subtree in place of the one below the node."""
        whole = self.tree[0].copy(), self.tree[1].copy()
        for heap, sub in zip(whole, (named(split, splits), label)):
            heap[self.under] = -1
            for at in range(1, len(sub)):
                down = at.bit_length() - 1
                heap[(self.node << down) + at - (1 << down)] = sub[at]
        return whole
