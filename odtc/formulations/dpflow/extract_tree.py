"""The tree along paths through the states of the dynamic program."""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.dp.shallow_trees import ShallowTreeSearch, graft_subtree
from odtc.algorithms.dp.state_graph import Graph, Rows
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle


def tree_along(problem: Problem, graph: Graph, way, tail: int = 0) -> HeapTree:
    """Return the tree that follows `way(node, level, state, arcs)` at each state: the position of an arc among those
    of the state (a slice), or None to stop; with the best subtrees of the last `tail` levels."""
    rows, (split, _) = graph.rows, blank_arrays(problem.topology)
    stack = [(1, 0, 0, np.arange(len(rows.X)))]
    while stack:
        node, j, state, members = stack.pop()
        level = graph.levels[j]
        arcs = slice(*level.first[state : state + 2].tolist())
        choice = way(node, j, state, arcs)
        if choice is None:
            continue
        arc = arcs.start + choice
        split[node] = level.split[arc]
        ones = rows.X[members, split[node]]
        for side, part in enumerate((members[~ones], members[ones])):
            if level.below[arc, side] >= 0:
                stack.append((2 * node + side, j + 1, int(level.below[arc, side]), part))
            elif tail and j + 1 == problem.topology.depth - tail:
                lay_best(rows, graph.price, part, split, 2 * node + side, tail)
    return settle(split, problem.encoded)


def best_way(graph: Graph) -> Callable:
    """Return the `way` of `tree_along` to the best tree, by the values of the states."""
    return lambda node, j, state, arcs: graph.best(j, state, arcs)


def lay_best(rows: Rows, price: float, members: np.ndarray, split: np.ndarray, node: int, height: int) -> None:
    """Put the best subtree of this height for these rows at a node of `split`, in place."""
    gain = rows.loss.max(axis=1, keepdims=True) - rows.loss
    graft_subtree(split, node, ShallowTreeSearch(rows.X, gain, price).best(members, height)[1])
