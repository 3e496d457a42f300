"""`monotonic_cst`: as constraints of the classifier, and for trees of numbers as the best tree whose numbers rise.

No search supports orders between numbers of leaves, so the trees are ranked by their cost: the first whose numbers
rise with the columns is proved the best of these. If none of the first `MAX_RANKED` does, the last one bounds them
from below, and the tree is the best pruning of the optimal tree; a single leaf always rises.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from odtc.base.spec_fields import quoted
from odtc.errors import ChoiceError
from odtc.model.solution import Solution, Termination
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle
from odtc.trees.monotone_order import falling_pairs
from odtc.trees.tree import Leaf, Node, Tree

MAX_RANKED = 2_000  # trees in the order of their costs, each of which is looked at
MAX_PRUNINGS = 500  # of one tree, by ascending cost


def directions(given, names: Sequence[str]) -> list[tuple[str, int]]:
    """Return (column, 1 or -1) of each constrained column.

    Parameters
    ----------
    given : sequence of int, mapping {column name: int} or None
        1 if the second class becomes more likely, or the number larger, as the column grows, -1 if less, 0 for no
        constraint.
    names : sequence of str
        The columns in their order.

    Raises
    ------
    ValueError
        For another number of columns, an unknown name, or other values.
    """
    if given is None:
        return []
    if isinstance(given, Mapping):
        if strange := [name for name in given if name not in names]:
            raise ValueError(f"expected monotonic_cst of the columns {', '.join(names)}, got one of {strange[0]!r}")
        values = [given.get(name, 0) for name in names]
    else:
        values = list(given)
    if len(values) != len(names):
        raise ValueError(f"expected monotonic_cst of {len(names)} columns, got {len(values)} values")
    if strange := [value for value in values if value not in (-1, 0, 1)]:
        raise ValueError(f"expected -1, 0 or 1 in monotonic_cst, got {strange[0]!r}")
    return [(name, int(value)) for name, value in zip(names, values) if value]


def constraint_text(kind: str, name: str, positive: str) -> str:
    """Return the constraint of this type by which the class becomes more likely as the column grows."""
    return f"{kind}[{quoted(name)},{quoted(f'positive={positive}')}]"


def rises(tree: Tree, orders: Sequence[tuple[str, int]]) -> bool:
    """Return whether the numbers of a tree rise (1) or fall (-1) with columns, for all inputs.

    Parameters
    ----------
    tree : Tree
        One whose leaves answer numbers.
    orders : sequence of (str, int)

    Returns
    -------
    bool
        False if a split is a hyperplane or a set of numbers of such a column.
    """
    places = {feature.name: at for at, feature in enumerate(tree.features)}
    answers = sorted({float(tree.answer(leaf)) for leaf in tree.leaves()})

    def above(level: float) -> Node:
        return tree.with_leaves(lambda leaf: Leaf(int(float(tree.answer(leaf)) > level))).root

    return all(
        falling_pairs(above(level), tree.features, places[name], 1 if sign > 0 else 0) == 0
        for level in answers[:-1]
        for name, sign in orders
    )


def best_rising(
    problem: Problem, tree: Tree, solution: Solution, orders: Sequence[tuple[str, int]], seconds: float | None
) -> tuple[Tree, Solution]:
    """Find the best tree whose numbers rise with columns, as far as it can be proved.

    Parameters
    ----------
    problem : Problem
    tree : Tree
        The best one without orders.
    solution : Solution
        Its proof.
    orders : sequence of (str, int)
    seconds : float or None
        The time limit for ranking trees.

    Returns
    -------
    (Tree, Solution)
        The bound is valid for all trees whose numbers rise.
    """
    from odtc.workflow.near_optimal import near_optimal  # it loads the compiler

    bound, exact = solution.bound, False
    try:
        found = near_optimal(problem, MAX_RANKED, None, seconds, lambda one: rises(one, orders))
    except ChoiceError:  # under constraints, or of a model that ranks no trees
        pass
    else:
        exact = bool(found.trees) and rises(found.trees[-1], orders)
        bound = max([bound, *found.objectives[-1:]], key=lambda value: -np.inf if value is None else value)
        if exact:
            value = found.objectives[-1]
            return found.trees[-1], replace(solution, objective=value, bound=value, termination=Termination.OPTIMAL)
    pruned, paid = _best_pruning(problem, HeapTree.from_tree(tree, problem.encoded, problem.topology, True), orders)
    return pruned, replace(solution, objective=paid, bound=bound, termination=Termination.UNKNOWN)


def _best_pruning(problem: Problem, heap: HeapTree, orders: Sequence[tuple[str, int]]) -> tuple[Tree, float]:
    """Return the cheapest pruning of a tree that rises and satisfies the constraints, and its cost; after
    `MAX_PRUNINGS` of them, one that costs little."""
    from odtc.problem.constraints.constraint import broken  # it loads the compiler

    number = count()
    queue = [(problem.module.objective(problem, heap), next(number), heap)]
    seen = set()
    while True:
        paid, _, heap = heapq.heappop(queue)
        tree = heap.to_tree(problem.encoded)
        if (rises(tree, orders) and not broken(problem, heap)) or not tree.n_branch_nodes:
            return tree, paid
        branches = np.flatnonzero(heap.split >= 0)
        for t in branches[(heap.split[2 * branches] < 0) & (heap.split[2 * branches + 1] < 0)]:
            split = heap.split.copy()
            split[t] = -1
            if split.tobytes() not in seen:
                seen.add(split.tobytes())
                cut = settle(split, problem.encoded, beyond=heap.beyond)
                heapq.heappush(queue, (problem.module.objective(problem, cut), next(number), cut))
        if len(seen) > MAX_PRUNINGS:
            queue = [min(queue, key=lambda one: (one[2].n_branch_nodes, one[0]))]
