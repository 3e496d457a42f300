"""The unit that the objectives of all trees of a problem are whole multiples of, and bounds rounded up to it.

An objective is a price of loss times the loss, and a price of branch nodes times their number. The loss adds one entry
of each row's costs; if these and the prices are multiples of a unit u, then so is every objective:

    cost = a Σ_i l_i + b k,   a l_i and b in u Z   →   cost in u Z

The float64 numbers are taken for the decimals that they were written as, in exact rationals; how far they are off is
added up, and counts against the bound.
"""

from fractions import Fraction
from math import ceil, gcd, lcm

import numpy as np

from odtc.data.task import TASKS
from odtc.model.feasibility import TOLERANCE
from odtc.problem.formulation import Compiled
from odtc.problem.problem import Problem

MOST_DENOMINATOR = 10**6  # of a weight or a price that is no whole number
MOST_VALUES = 10_000  # different costs of rows: more of them have no unit worth a search
ROUNDING = 1e-10  # of a bound: what all numbers together may be off


def objective_unit(problem: Problem) -> tuple[Fraction, float] | None:
    """(unit, error): the objective of every tree is within `error` of a multiple of `unit`; None if none is known.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    (Fraction, float) or None
        None also for objectives of other terms, such as margins, or a price of discrimination.
    """
    module, costs = problem.module, problem.encoded.loss
    if (
        TASKS.get(problem.encoded.task).MOMENTS
        or not module.can(Compiled)
        or module.WEIGHS
        or module.prices_answers(problem)
    ):
        return None
    values, place = np.unique(costs, return_inverse=True)
    if len(values) > MOST_VALUES or not np.isfinite(values).all():
        return None
    of_loss, of_node = (Fraction(price) for price in module.prices(problem))
    a, b = (price.limit_denominator(MOST_DENOMINATOR) for price in (of_loss, of_node))
    exact = [Fraction(value) for value in values.tolist()]
    near = [value.limit_denominator(MOST_DENOMINATOR) for value in exact]
    parts = [part for part in [*(a * value for value in near), b] if part]
    if not parts:
        return None
    below = lcm(*(part.denominator for part in parts))
    unit = Fraction(gcd(*(int(part * below) for part in parts)), below)
    off = np.array([float(abs(of_loss * value - a * other)) for value, other in zip(exact, near)])
    nodes = len(problem.topology.branch_nodes)
    return unit, float(off[place].reshape(costs.shape).max(axis=1).sum() + nodes * abs(of_node - b))


def rounded_up(problem: Problem, bound: float, objective: float) -> float:
    """The bound of a solver, raised to the next number that a tree can cost; never above the objective of a tree.

    A solver's bound holds within TOLERANCE, which is taken off before.

    Parameters
    ----------
    problem : Problem
    bound : float
        No tree of the problem costs less, within TOLERANCE.
    objective : float
        What a tree of it costs.

    Returns
    -------
    float
        `bound` itself if there is no unit, or one that is not above what numbers and tolerance may be off.
    """
    if bound >= objective or (known := objective_unit(problem)) is None:
        return min(bound, objective)
    unit, off = known
    slack = TOLERANCE * max(1.0, abs(bound))
    if off > ROUNDING * max(1.0, abs(bound)) or unit <= 4 * (slack + off):
        return bound
    next_cost = float(ceil((Fraction(bound) - Fraction(slack + off)) / unit) * unit) - off
    return min(max(bound, next_cost), objective)
