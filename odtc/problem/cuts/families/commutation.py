"""If both children have the same split, the parent has an earlier one: the two orders are the same tree.

    b_{2n,g} + b_{2n+1,g} + Σ_{f>g} b_nf ≤ 2            n with branch nodes below, g

If n splits on f and both children on g, n may split on g and both children on f: the two middle subtrees change places
and every row meets the same labels. Repeating this as long as f > g ends, because the splits in heap order decrease.
No other family of AN_OPTIMUM is lost, because a tree with the fewest branch nodes stays one. If a node must have a
split, split 0 is not such a g (odtc.problem.cuts.cut.splits_of_an_optimum).
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import AN_OPTIMUM, CutRows, splits_of_an_optimum
from odtc.problem.expressions import Need, Statement, needed
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name, node_axis
from odtc.trees.heap_tree import HeapTree

NAME = "commutation"
SUMMARY = "of two trees that differ only in the order of two splits, one is cut off"
NEEDS = ((Need(Statement.SPLITS_ON, "branch_nodes"),),)
VALID = AN_OPTIMUM


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    inner, F, g = problem.topology.inner, problem.encoded.n_candidate_splits, splits_of_an_optimum(problem, model)[:-1]
    if not len(inner) or not len(g):
        return ()
    b = needed(problem, model, Statement.SPLITS_ON, "branch_nodes")
    n, axes = inner[:, None], (node_axis(inner), Axis("split", len(g), int(g[0])))
    low, high = np.nonzero(g[:, None] < np.arange(F))
    entries = (
        *b.entries((n, g), (2 * n, g)),
        *b.entries((n, g), (2 * n + 1, g)),
        *b.entries((n, g[low]), (n, high)),
    )
    return (CutRows(fresh_name(model, "order"), axes, entries, upper=2.0),)


def arrange(problem: Problem, model: Model, heap: HeapTree) -> HeapTree:
    split, label = heap.split.copy(), heap.label.copy()
    least = (
        int(splits_of_an_optimum(problem, model)[0])
        if len(splits_of_an_optimum(problem, model))
        else problem.encoded.n_candidate_splits
    )
    moved = True
    while moved:
        moved = False
        for n in problem.topology.inner.tolist():
            g = split[2 * n]
            if least <= g == split[2 * n + 1] and g < split[n]:
                split[n], split[[2 * n, 2 * n + 1]] = g, split[n]
                for nodes in (split, label):
                    _swap(nodes, 4 * n + 1, 4 * n + 2)
                moved = True
    return HeapTree(split, label)


def _swap(nodes: np.ndarray, one: int, two: int) -> None:
    """Exchange two subtrees of one level, in place."""
    while one < len(nodes):
        width = two - one  # neighbours: as wide as each level of them
        nodes[one : one + width], nodes[two : two + width] = (
            nodes[two : two + width].copy(),
            nodes[one : one + width].copy(),
        )
        one, two = 2 * one, 2 * two
