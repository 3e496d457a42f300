"""The objective of formulations with a price of branch nodes in errors: min (1-λ) · loss + λ · branch nodes.

That of FlowOCT, (1.1) of Aghaei, Gomez & Vayanos 2020, as a minimum; λ is `params.lambda_`, at least 0 and below 1.
"""

from fractions import Fraction
from math import floor, log10

from odtc.data.task import leaf_cost
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

MOST = 10**6  # the denominator of a share that counts as meant


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


def exact_share(lambda_: float) -> Fraction:
    """λ as the fraction that is meant: of a price in decimals it is p / (1 + p), a quotient of small numbers that a
    double holds but for its last digit; else that of its digits.

    Parameters
    ----------
    lambda_ : float

    Returns
    -------
    Fraction
    """
    near = Fraction(lambda_).limit_denominator(MOST)
    return near if abs(float(near) - lambda_) <= 1e-15 * lambda_ else Fraction(str(lambda_))


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


def unit_of_costs(problem: Problem) -> float:
    """What objectives are rounded in: 1, or what all rows can cost in one leaf if that is less.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    float
    """
    return min(1.0, (1 - getattr(problem.params, "lambda_", 0.0)) * leaf_cost(problem.encoded))


def without_noise(cost: float) -> float:
    """A cost, rounded to nine digits behind the point, or to twelve digits in all if these are more: what sums of
    decimals are off by goes, of costs of any size."""
    return round(cost, max(9, 11 - floor(log10(abs(cost))))) if cost else 0.0


def prices(problem: Problem) -> tuple[float, float]:
    """(1-λ, λ): the price of a unit of loss, and of a branch node."""
    return 1 - problem.params.lambda_, problem.params.lambda_
