"""The objective of formulations with a price of branch nodes in errors: min (1-λ) · loss + λ · branch nodes.

That of FlowOCT, (1.1) of Aghaei, Gomez & Vayanos 2020, as a minimum; λ is `params.lambda_`, at least 0 and below 1.
"""

from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


def objective(problem: Problem, heap: HeapTree) -> float:
    """(1 - λ) · loss + λ · branch nodes.

    Parameters
    ----------
    problem : Problem
    heap : HeapTree

    Returns
    -------
    float
    """
    lam = problem.params.lambda_
    return (1 - lam) * heap.loss(problem.encoded) + lam * heap.n_branch_nodes


def branch_price(problem: Problem) -> float:
    """λ / (1 - λ): the loss that pays for one branch node.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    float
    """
    return problem.params.lambda_ / (1 - problem.params.lambda_)


def prices(problem: Problem) -> tuple[float, float]:
    """(1-λ, λ): the price of a unit of loss, and of a branch node."""
    return 1 - problem.params.lambda_, problem.params.lambda_
