"""A quick tree under constraints: the splits of CART, pruned and labelled so that they satisfy the constraints.

The greedy tree (odtc.heuristics.cart) is pruned in every possible way, and the leaves get the cheapest labels that
satisfy the constraints. The cost of the leaves with their best labels is a lower bound for each pruned tree, so they
are tried in this order, and trees that cannot cost less than the best so far are skipped. This takes a moment for any
number of splits, so a search that is ended early has a tree, and never a worse one than this.
"""

from itertools import islice

import numpy as np

from odtc.algorithms.constrained.constrained_problem import TooLarge, keeps, named, placed
from odtc.algorithms.constrained.trace_tree import Structure, labelled, labellings
from odtc.base import deadline
from odtc.formulations.dpflow.floors.splits_of_tree import SplitsOfTree
from odtc.heuristics.cart import grown_splits
from odtc.problem.constraints.constraint import least_rows
from odtc.problem.constraints.search_terms import SearchProblem
from odtc.trees.heap_tree import HeapTree

LEVELS = 4  # levels of the greedy tree that are pruned in every way; deeper levels are cut off first
MOST_WAYS = 100  # maximum number of pruned trees for which labels are searched
MOST_LABELLINGS = 2_000  # maximum number of labellings of one pruned tree
MOST_CHECKED = 200  # maximum number of trees that are checked against all constraints
FEW_CHECKED = 30  # the same limit after the deadline


def pruned_tree(posed: SearchProblem) -> HeapTree | None:
    """Return the cheapest of these trees that satisfies the constraints; None if none was found.

    Parameters
    ----------
    posed : SearchProblem
    """
    arrays, problem = posed.arrays, posed.problem
    least = max(1, least_rows(problem))
    found: tuple[np.ndarray, np.ndarray] | None = None
    upper, checked = arrays.most_cost + 1, 0
    for rows in dict.fromkeys((1, least)):  # leaves with this many rows; the better tree may have others
        split = np.full(2 ** (arrays.depth + 1), -1, np.int32)
        inner = min(len(split) // 2, 2**LEVELS)
        split[:inner] = grown_splits(problem.encoded, problem.topology, rows)[:inner]
        whole = SplitsOfTree(arrays, split)
        tables, asked = whole.tables, whole.asked
        ways = (way for way in _ways(whole) if placed(arrays, named(way.split, asked)))
        for structure in islice(ways, MOST_WAYS):
            try:
                labels = labellings(tables, structure, upper, MOST_LABELLINGS)
            except TooLarge:
                continue
            for place in np.argsort(labels.cost, kind="stable"):
                if checked >= (MOST_CHECKED if not deadline.is_over() else FEW_CHECKED):
                    break
                tree = labelled(tables, structure, labels.choice[place])
                own, checked = (named(tree.split, asked), tree.label), checked + 1
                if tree.cost < upper and keeps(arrays, *own):
                    found, upper = own, tree.cost
                    break
    return None if found is None else posed.tree(*found)


def _ways(whole: SplitsOfTree) -> list[Structure]:
    """Return a tree pruned in every way, in the order of the cost of the leaves with any labels."""
    own, count, tables = whole.own, whole.count.copy(), whole.tables
    for node in range(len(own) // 2 - 1, 0, -1):
        count[node] += count[2 * node] + count[2 * node + 1]
    may = np.array([tables.labels_of(one) for one in count])
    cost = np.where(may, count @ tables.counts.cost, np.inf).min(axis=1)

    def below(node: int) -> list[tuple[float, tuple[int, ...], tuple[int, ...]]]:
        """Return (least cost, branch nodes, leaves) of each way below a node."""
        found = [(float(cost[node]), (), (node,))]
        if 2 * node < len(own) and own[node] >= 0:
            pairs = [(zero, one) for zero in below(2 * node) for one in below(2 * node + 1)]
            price = whole.arrays.branch_cost
            found += [(price + z[0] + o[0], (node, *z[1], *o[1]), (*z[2], *o[2])) for z, o in pairs]
        return found

    structures = []
    for least, asking, leaves in sorted(below(1), key=lambda way: (way[0], len(way[1]))):
        if np.isfinite(least):
            heap = np.full_like(own, -1)
            heap[list(asking)] = own[list(asking)]
            structures.append(Structure(heap, tuple(sorted(leaves)), count[sorted(leaves)]))
    return structures
