"""Objective of formulations with a penalty for branch nodes: min (1-λ) · loss + λ · branch nodes.

This is the objective of FlowOCT, (1.1) of Aghaei, Gomez & Vayanos 2020, as a minimum; λ is `params.lambda_`, at least
0 and below 1.
"""

from fractions import Fraction
from math import floor, log10

from odtc.base.whole_numbers import MAX_DIGITS
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return (1 - λ) · loss + λ · branch nodes.

    Parameters
    ----------
    problem : Problem
    heap : HeapTree

    Returns
    -------
    float
    """
    share = exact_share(problem.params.lambda_)
    return float((1 - share) * heap.exact_loss(problem.encoded) + share * heap.n_branch_nodes)


def exact_share(lambda_: float) -> Fraction:
    """Return λ as an exact number: a decimal of at most 15 digits, or else the simplest quotient that rounds to it, as
    for a price p in decimals it is p / (1 + p).

    Parameters
    ----------
    lambda_ : float

    Returns
    -------
    Fraction
    """
    digits = repr(float(lambda_)).split("e")[0].replace(".", "").strip("0")
    if len(digits) > MAX_DIGITS:
        for power in range(1, MAX_DIGITS + 2):
            near = Fraction(lambda_).limit_denominator(10**power)
            if float(near) == lambda_:
                return near
    return Fraction(repr(float(lambda_)))


def exact_price(problem: Problem) -> Fraction:
    """Return λ / (1 - λ) as the fraction that is meant."""
    share = exact_share(problem.params.lambda_)
    return share / (1 - share)


def branch_penalty(problem: Problem) -> float:
    """Return λ / (1 - λ): the loss that outweighs one branch node.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    float
    """
    return problem.params.lambda_ / (1 - problem.params.lambda_)


def without_noise(cost: float) -> float:
    """Return a cost, rounded to nine digits after the point, or to twelve digits in all if these are more: this
    removes the rounding errors of sums of decimals, for costs of any size."""
    return round(cost, max(9, 11 - floor(log10(abs(cost))))) if cost else 0.0


def unit_costs(problem: Problem) -> tuple[float, float]:
    """Return (1-λ, λ): the costs of a unit of loss and of a branch node."""
    return 1 - problem.params.lambda_, problem.params.lambda_
