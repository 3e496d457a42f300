"""A bound under constraints by a search that knows none: what rows use of the constraints is priced into their costs.

At multipliers m ≥ 0, in units of 1 / D, every tree that keeps Σ uses_r ≤ bound_r for all r has

    D · cost ≥ D · cost + m · (uses - bound) = Σ of w[row, label] + Σ over branch nodes, leaves - m · bound,
    w = D · cost + Σ_r m_r uses_r.

The least right side over all trees of the depth is a problem of costs w without constraints. Its search
(odtc.algorithms.thresholds.rank_search) holds a bound at every moment, over any number of thresholds, so that a bound
is there long before a search of all cases (odtc.algorithms.constrained) has looked at each. Numbers are whole; where
the search rounds them, all that rounding can amount to is taken off.
"""

import numpy as np

from odtc.algorithms.constrained.all_thresholds import named, only
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem, fixed_point
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.threshold_sides import weighed
from odtc.algorithms.thresholds.early_bound import EarlyBound
from odtc.algorithms.thresholds.rank_search import NONE, RankSearch
from odtc.algorithms.thresholds.ranks import RankedRows
from odtc.base import deadline
from odtc.formulations.dpflow.threshold_search import LOADED, RATE, SOON
from odtc.formulations.shared.ranked_tests import RankedTests
from odtc.problem.constraints.search_terms import SearchProblem
from odtc.trees.heap_tree import HeapTree


def priced_bound(posed: SearchProblem, multipliers: np.ndarray) -> tuple[HeapTree | None, float]:
    """A tree that keeps the constraints and an objective that none is below, by the deadline of this context.

    Parameters
    ----------
    posed : SearchProblem
    multipliers : float64 (constraints,)
        Of each sum, in costs for one use; any that are not negative give a bound, good ones a high one.

    Returns
    -------
    heap : HeapTree or None
        The best tree over the tests of the one that is cheapest at these multipliers; None if none keeps the
        constraints.
    floor : float
    """
    arrays, problem = posed.arrays, posed.problem
    scale, largest = fixed_point(arrays)
    m = np.clip(np.rint(multipliers * scale), 0, largest).astype(np.int64)
    weight, price = weighed(arrays, scale, m)
    tests = RankedTests(posed.encoded, max(0.0, price), 1, weight)
    search = RankSearch(tests.ranked, deadline.check)
    with deadline.cut_short():
        if deadline.time_share(np.inf) > LOADED:
            search.chosen.expect(min(SOON, tests.ranked.rank.size / RATE))
        early = EarlyBound(search, arrays.depth, NONE)
        if arrays.depth > 2:
            early.by_common_rows(True)
            search.dive(arrays.depth)
        if arrays.depth > 1:
            early.raise_all(True)
        search.solve(arrays.depth)
    value = tests.ranked.cost(search.lower(arrays.depth)) - _rounded(tests.ranked, weight)
    value += _of_nodes(arrays, m, price) - float(m @ arrays.bound)
    heap = tests.test_heap(search.tree(arrays.depth), problem.topology)
    return _labelled(posed, heap), max(0.0, float(np.ceil(value / scale - 1e-9))) * posed.unit


def _rounded(ranked: RankedRows, weight: np.ndarray) -> float:
    """What the search's rounding of weights, float64 (rows, labels), amounts to at most over all rows."""
    units = (weight - weight.min(axis=1, keepdims=True)) / ranked.unit
    return 0.0 if np.array_equal(units, np.rint(units)) else ranked.unit * (len(weight) + 1)


def _of_nodes(arrays: ConstrainedProblem, m: np.ndarray, price: float) -> float:
    """What leaves use beside their rows, and branch nodes that gain, amount to at least."""
    leaf = float((m @ arrays.leaf_uses).min(initial=0.0)) if len(m) else 0.0
    return 2**arrays.depth * min(0.0, leaf) + (2**arrays.depth - 1) * min(0.0, price)


def _labelled(posed: SearchProblem, heap: np.ndarray) -> HeapTree | None:
    """The best tree over the tests of a heap that is soon found and keeps the constraints."""
    tests = np.unique(heap[heap >= 0])
    if not len(tests):
        return None
    found = ConstrainedSearch(only(posed.arrays, tests), deadline.is_over).run(exactly=False)
    return None if found.test is None else posed.tree(named(found.test, tests), found.label)
