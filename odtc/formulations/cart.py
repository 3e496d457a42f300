"""CART, the greedy tree of Breiman et al. (1984), as one of the models: no solver, no proof."""

from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.heuristics.heuristic import HEURISTICS
from odtc.problem.constraints.constraint import limits, mended
from odtc.problem.parameters import merge_rows
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "cart"
TITLE = "CART: greedy Gini splits by scikit-learn; a learner without a model"
PAPER = "Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees"

ANY_COST = True
CONSTRAINTS = ("leaf_rows", "branch_nodes", "leaves")  # scikit-learn has parameters for these


@value_class
class Params:
    merge: bool = merge_rows()


def tree(problem: Problem) -> HeapTree:
    """Return the greedy tree of the problem's depth over its splits, as used by `--start cart`."""
    with deadline.put_off():  # the line that compares has it grown to its end in any case
        heap = HEURISTICS.get("cart").tree(problem.encoded, problem.topology, **limits(problem))
    return mended(problem, heap)


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return the loss."""
    return heap.loss(problem.encoded)
