"""A good tree quickly, for problems with very many ordered splits: the best trees over a few quantiles of each scale.

The search uses at most PER_SCALE splits of each scale, so it takes only a moment. It starts at a low depth and goes
deeper, so that a first tree is found soon and a deeper tree is never worse.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.constrained.all_thresholds import quantiles
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, named, of_depth, ones_of, only, padded
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.base.value_class import value_class

PER_SCALE = 8  # maximum number of splits of a scale
MAX_WORK = 2e9  # maximum of rows times splits to the power of the depth


@value_class
class First:
    """The results of a search over a few splits of each scale.

    Attributes
    ----------
    tree : tuple of int32 (2^(depth + 1),), or None
        (split, label) of the best tree found; None if none was found.
    multipliers : float64 (constraints,)
        The multipliers of its bound, in costs for one use.
    """

    tree: tuple[np.ndarray, np.ndarray] | None
    multipliers: np.ndarray


def first_tree(problem: ConstrainedProblem, scales: list[np.ndarray], tick: Callable[[], bool], exactly: bool) -> First:
    """Return a tree that satisfies the constraints, on the heap of the problem's depth.

    Parameters
    ----------
    problem : ConstrainedProblem
        Without `accepts`.
    scales : list of int (splits,)
        The splits of each scale, nested in this order.
    tick : Callable[[], bool]
        Returns whether the search has to end; called often.
    exactly : bool
        Whether to search until the best tree over these splits is proved, or `tick` returns true. Otherwise only
        multipliers for all cases together are tried.
    """
    best, cost, multipliers = None, problem.most_cost + 1, np.zeros(problem.n_constraints)
    for depth in range(1, problem.depth + 1):
        splits = some_of_each(problem, scales, depth)
        if not len(splits) or tick():
            break
        search = ConstrainedSearch(only(of_depth(problem, depth), splits), tick)
        search.begun = True
        if best is not None:
            search.want_below(cost)
        found = search.run(exactly)
        multipliers = search.leading / search.scale
        if found.split is not None and found.cost < cost:
            best, cost = padded(named(found.split, splits), found.label, problem.depth), found.cost
    return First(best, multipliers)


def some_of_each(problem: ConstrainedProblem, scales: list[np.ndarray], depth: int) -> np.ndarray:
    """Return int (splits,): as many quantiles of each scale as this depth allows, at most PER_SCALE; none if one is too
    many."""
    ones = ones_of(problem.X)
    for few in range(PER_SCALE, 0, -1):
        n = sum(min(few, len(mine)) for mine in scales)
        if len(problem.X) * float(n) ** max(2, depth) <= MAX_WORK:
            return np.sort(np.concatenate([quantiles(mine, ones, few, ends=False) for mine in scales]))
    return np.zeros(0, int)
