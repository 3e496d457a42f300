"""The tree of a run without needless branch nodes, if its constraints and its objective allow that."""

import numpy as np

from odtc.base.text import count_of
from odtc.errors import TreeError
from odtc.model.feasibility import Check
from odtc.problem.constraints.constraint import broken
from odtc.problem.exact_objective import costs_no_more
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree
from odtc.trees.simplifying import simplify_heap


def simplified(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return the tree without the branch nodes that no row needs (odtc.trees.simplifying).

    A node stays if the tree without it would violate a constraint, have a leaf with fewer rows than the parameters
    require, or cost more. A tree that the model does not represent is returned unchanged, and so is a tree of selected
    rows, because the rows that were not selected may need its nodes.

    Returns
    -------
    HeapTree
        The same object if no node is removed.
    """
    dataset = problem.encoded.dataset
    if dataset is not None and dataset.selected is not None:
        return heap
    try:
        problem.module.objective(problem, heap)
    except TreeError:
        return heap
    least, keeps = problem.module.least_rows(problem), not broken(problem, heap)

    def accepts(smaller: HeapTree) -> bool:
        try:
            dear = not costs_no_more(problem, smaller, heap)
        except TreeError:
            return False
        return not dear and smaller.fewest_rows(problem.encoded) >= least and not (keeps and broken(problem, smaller))

    return simplify_heap(heap, problem.encoded, accepts)


def simplified_check(problem: Problem, before: HeapTree, after: HeapTree) -> Check:
    """Return the check that a smaller tree has the same predictions as the larger one, and costs no more."""
    encoded = problem.encoded
    was, now = (heap.label[heap.reach(encoded.X)] for heap in (before, after))
    other = int(encoded.copies[was != now].sum())
    paid, costs = (problem.module.objective(problem, heap) for heap in (before, after))
    return Check(
        "simplified",
        bool(np.array_equal(was, now)) and costs_no_more(problem, after, before),
        f"{before.n_branch_nodes - after.n_branch_nodes} of {count_of(before.n_branch_nodes, 'branch node', '')} were "
        f"needless; {count_of(other, 'row', '')} are predicted otherwise without them, and the tree costs "
        f"{costs:.10g}, with them {paid:.10g}",
    )
