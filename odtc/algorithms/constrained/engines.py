"""Choice of the search for a constrained problem by its size: it ends within minutes, or has a good tree by then."""

import numpy as np

from odtc.algorithms.constrained.all_thresholds import (
    FEW,
    NEAR_POSITIONS,
    CoarseSearch,
    ShallowSearch,
    ThresholdSearch,
    takes,
)
from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.few_splits.subset_trees import RATE, steps
from odtc.algorithms.constrained.few_splits.subset_trees import takes as takes_subsets
from odtc.algorithms.constrained.lagrangian_pass import sums
from odtc.algorithms.constrained.one_column.one_column_search import OneColumnSearch, orders_of
from odtc.algorithms.constrained.one_split import OneSplitSearch
from odtc.algorithms.constrained.stump_pairs import StumpSearch, takes_stumps
from odtc.algorithms.constrained.two_splits import TwoSplitSearch

MOST_SUMS = 4e11  # maximum number of sums in one pass over all roots: some minutes
MOST_SECONDS = 600  # time limit for one pass over all subsets of columns, if each subset has few splits
MOST_FIRST = 1e9  # maximum number of sums for the splits that are searched first: less than a second
MOST_TESTS = 3000  # maximum number of splits whose pairs are counted
DEEP = 3  # a deeper search starts with the best tree of this depth, then of each depth in between
SHALLOW = 2  # the same with so many scales that a search of depth DEEP takes too long
FEW_TESTS = 600  # with more splits than this, only some of them are searched first

Engine = ConstrainedSearch | CoarseSearch


def engine_of(arrays: ConstrainedProblem, scale: np.ndarray) -> Engine:
    """Return the search for a problem of this size.

    Parameters
    ----------
    arrays : ConstrainedProblem
    scale : int (splits,)
        Splits with the same number are nested.

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """
    n_splits, depth = len(scale), arrays.depth
    at_once = n_splits <= FEW_TESTS and _ends(arrays)
    if not at_once and (orders := orders_of(arrays)) is not None:
        return OneColumnSearch(arrays, scale, orders)
    if arrays.most_splits == 2 and takes_stumps(arrays, scale):
        return TwoSplitSearch(arrays, scale, max(1, few_of_each(scale, depth)))
    if depth > SHALLOW and not (at_once or few_of_each(scale, depth)) and sums(n_splits, depth) > MOST_SUMS:
        return ShallowSearch(arrays, scale, _near(depth), _inside(depth))
    few = max(1, few_of_each(scale, depth))
    if takes(arrays, scale):
        return ThresholdSearch(arrays, scale, few)
    if at_once:
        return ConstrainedSearch(arrays)
    if depth < 2:
        return OneSplitSearch(arrays, scale)
    if n_splits > MOST_TESTS and takes_stumps(arrays, scale):
        return StumpSearch(arrays, scale, few)
    exactly = n_splits <= MOST_TESTS and sums(n_splits, depth) <= MOST_SUMS
    return CoarseSearch(arrays, scale, few, exactly, _near(depth), _inside(depth))


def can_search(scale: np.ndarray, depth: int) -> bool:
    """Return whether there is a search of this depth: over all splits, or over some of each scale."""
    return sums(len(scale), depth) <= MOST_SUMS or few_of_each(scale, min(depth, SHALLOW)) > 0


def _ends(arrays: ConstrainedProblem) -> bool:
    """Return whether one pass over all cases takes at most some minutes."""
    if sums(len(arrays.column), arrays.depth) <= MOST_SUMS:
        return True
    return takes_subsets(arrays) and steps(arrays) <= RATE * MOST_SECONDS


def over_all_splits(engine: Engine) -> bool:
    """Return whether a search proves optimality over all splits, however many there are."""
    if isinstance(engine, (StumpSearch, TwoSplitSearch, OneSplitSearch, OneColumnSearch)) or not isinstance(
        engine, CoarseSearch
    ):
        return True
    return engine.exactly and len(engine.scale) <= MOST_TESTS


def ends_soon(engine: Engine) -> bool:
    """Return whether a search is so fast that no other step needs to come before it."""
    return isinstance(engine, OneColumnSearch) or (
        isinstance(engine, ConstrainedSearch) and orders_of(engine.problem) is not None
    )


def _near(depth: int) -> int:
    """Return how many splits on either side of one are searched at this depth in less than a second."""
    return min(NEAR_POSITIONS, max(1, _inside(depth) // 2**depth))


def _inside(depth: int) -> int:
    """Return how many splits are searched at this depth in less than a second."""
    return max(1, int((MOST_FIRST / sums(1, depth)) ** (1 / depth)))


def few_of_each(scale: np.ndarray, depth: int) -> int:
    """Return the number of splits of each scale to search first; 0 if even one of each would take too long."""
    size = np.bincount(scale)
    for few in range(FEW, 0, -1):
        if sums(int(np.minimum(size, few).sum()), depth) <= MOST_FIRST:
            return few
    return 0
