"""Constrained search over very many ordered splits: first over a few of them, then over the roots that could matter.

    1. Search a few quantiles of each scale: this gives a tree, and multipliers m. Search the columns of the tree again,
       with thresholds near those of the tree, until the tree does not improve any more.
    2. Bound the roots of each scale at m, interval by interval (RootSweep). An interval whose bound exceeds Λ
       (close_gap) for every subset of columns is excluded with all of its roots.
    3. Settle the remaining roots of each subset by separate multipliers, then by lists of subtrees
    (constrained_search).

Supports two labels, depth 3, and constraints on the rows of leaves, on sums and on subsets of columns; other problems
are refused.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    cost_of,
    fixed_point,
    keeps,
    named,
    ones_of,
    only,
)
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch, Found, Settled
from odtc.algorithms.constrained.sweeps.swept_trees import SweptTrees

FEW = 15  # splits of a scale that are searched first
NEAR_POSITIONS = 12  # positions on either side of a threshold of the best tree that are searched next
MAX_NEAR_SEARCHES = 4  # maximum number of searches near the best tree
MANY_SPLITS = 300  # splits; from this number on, this search is faster than one search over all splits
LONG_SPLITS = 3000  # splits; with more, a search over all may take minutes, so a good tree is searched for first
COARSEST = 4  # splits of a scale that are searched before the FEW ones, if there are more than LONG_SPLITS splits
MOST_SWEPT = 50_000  # splits; the sweep of one side takes time quadratic in their number, here seconds
MANY_SWEPT = 50  # splits; from this number on, a sweep finds the best tree of a root faster than counts of pairs
INSIDE = 150  # quantiles of the columns of one tree that are searched together
OTHERS = 8  # subsets of columns that are searched in addition to the subset of the best tree


def takes(problem: ConstrainedProblem, scale: np.ndarray) -> bool:
    """Return whether this search supports a problem with these scales, int (splits,)."""
    if problem.depth != 3 or problem.n_labels != 2 or not MANY_SPLITS <= len(scale) <= MOST_SWEPT:
        return False
    plain = problem.below is None and problem.allowed.all() and problem.accepts is None
    one = len(problem.measures) == 0 or (len(problem.measures) == 1 and (problem.least == problem.least[:, :1]).all())
    return plain and one and (problem.measures >= 0).all()


class CoarseSearch:
    """Search over some splits of each scale first, then near the splits of the best tree, then over all splits if they
    are few enough. Its tree and its bound are available at any moment.

    Parameters
    ----------
    problem : ConstrainedProblem
    scale : int (splits,)
        Splits with the same number are nested: for any two, the rows on side 1 of one are also on side 1 of the other.
    few : int
        Splits of a scale that are searched first.
    exactly : bool
        Whether all splits are searched at the end.
    near : int
        Positions on either side of a threshold of the best tree that are searched next.
    inside : int
        Splits that are searched together in the columns of one tree.

    Raises
    ------
    TooLarge
        If costs or uses do not fit whole numbers below 2^52.
    """

    def __init__(
        self,
        problem: ConstrainedProblem,
        scale: np.ndarray,
        few: int = FEW,
        exactly: bool = True,
        near: int = NEAR_POSITIONS,
        inside: int = INSIDE,
    ):
        fixed_point(problem)  # raises TooLarge before the search
        self.problem, self.scale, self.few, self.exactly, self.near = problem, scale, few, exactly, near
        self.inside, self.long = inside, len(scale) > LONG_SPLITS
        self._tick, self._progress = (lambda: False), (lambda bound, cost: None)
        self.upper, self.best, self.bound = problem.most_cost + 1, None, 0
        self.floor, self.begun = 0, False  # as in ConstrainedSearch
        self.settled_elsewhere: Settled | None = None  # the multipliers of searches that have proved the floor
        self.whole: ConstrainedSearch | None = None  # the search over all splits, if there was one
        self._searched_at: int | None = None  # `upper` at the end of a run that was not stopped
        # The splits of each scale, the one with the most ones first; a row has outcome 1 for the first `code` of them.
        self.ones = ones = ones_of(problem.X)
        order = np.lexsort((-ones, scale))
        self.splits = np.split(order, np.flatnonzero(np.diff(scale[order])) + 1)

    def watch(self, tick: Callable[[], bool], progress: Callable[[int, int | None], None]) -> None:
        """Set a clock and a listener, as for ConstrainedSearch."""
        self._tick, self._progress = tick, progress

    def start(self, split: np.ndarray, label: np.ndarray) -> bool:
        """Take a feasible tree to start from, and return whether it was taken."""
        cost = cost_of(self.problem, split, label)
        if cost >= self.upper or not keeps(self.problem, split, label):
            return False
        self._take(split, label, cost)
        return True

    def want_below(self, cost: int) -> None:
        """Search only for trees that cost less, as for ConstrainedSearch."""
        self.upper = min(self.upper, cost)

    def run(self) -> Found:
        """Search to the end, or until the time is over. If a run was stopped in the search over all splits, the next
        one continues there. If it ended, the next one searches only if a better tree is known by then."""
        if self.whole is not None:
            self._finish(self.whole)
        elif self.upper != self._searched_at:
            self._find()
            if not self._tick():
                self._searched_at = self.upper
        return self._found()

    def _find(self) -> None:
        """Search for trees over some splits, then over all if these are few enough."""
        if self.long and self.few > COARSEST:
            self._of_each(COARSEST)
        elif self.long:  # no quick search improves on the tree to start from
            self._columns_of_best()
            self._refine(self.best, np.zeros(0, int))
        first = self._of_each(self.few)
        if self.long:
            self._others(first)
        if not self._tick():
            self._finish(first)

    @property
    def found(self) -> Found:
        """The results so far, at any moment."""
        if self.whole is not None:
            inner = self.whole.found
            if inner.split is not None and inner.cost < self.upper:
                self._take(inner.split, inner.label, inner.cost)
        return self._found()

    def settled(self) -> Settled | None:
        """Return the multipliers of a search that has ended; None if it has none for all cases."""
        return self.settled_elsewhere if self.whole is None else self.whole.settled()

    # Parts.

    def _of_each(self, few: int) -> ConstrainedSearch:
        """Search some splits of each scale, then the columns of the best tree; return the first of these searches."""
        splits = self._some(few)
        first = self._made(splits, every=True)
        found = self._take_named(first.run(), splits)
        if self.long:
            self._columns_of_best()
            # The best tree over these splits uses certain columns, and the best tree near it may be the best of all.
            if few == self.few and found.split is not None and found.cost > self.upper:
                self._refine((found.split, found.label), splits)
        self._refine(self.best, splits)
        return first

    def _some(self, few: int) -> np.ndarray:
        """Return int (splits,): a few quantiles of each scale."""
        return np.sort(np.concatenate([quantiles(mine, self.ones, few) for mine in self.splits]))

    def _inside(self, columns: np.ndarray) -> None:
        """Search the thresholds of some columns, bool (columns,), together: as many quantiles as possible."""
        splits = [mine for mine in self.splits if columns[self.problem.column[mine[0]]]]
        if not splits or self._tick():
            return
        few = self.inside // len(splits)
        if few > 1:
            self._search(np.sort(np.concatenate([quantiles(mine, self.ones, few) for mine in splits])), self.upper)

    def _columns_of_best(self) -> None:
        """Search the columns that the best tree uses."""
        if self.best is not None:
            asked = self.best[0][self.best[0] >= 0]
            self._inside(np.isin(np.arange(self.problem.subsets.shape[1]), self.problem.column[asked]))

    def _others(self, first: ConstrainedSearch) -> None:
        """Search the subsets of columns whose trees cost least by the search of the first splits."""
        if len(self.problem.subsets) == 1:
            return
        for columns in first.promising(OTHERS):
            before = self.upper
            self._inside(columns)
            if self.upper < before:
                self._refine(self.best, np.zeros(0, int))

    def _search(self, splits: np.ndarray, upper: int) -> Found:
        """Return the best tree over some splits, int (splits,) in order, that costs less than `upper`; keep it if it is
        the best one known."""
        search = self._made(splits)
        if self.best is not None:
            search.want_below(upper)
        # The sweep will settle all roots, so a good tree is enough here, except for tables so large that the sweep may
        # never begin.
        return self._take_named(search.run(exactly=self.long), splits)

    def _made(self, splits: np.ndarray, every: bool = False) -> ConstrainedSearch:
        """Return a search over some splits, int (splits,) in order; `every` is whether they are of every scale."""
        return ConstrainedSearch(only(self.problem, splits), self._tick)

    def _take_named(self, found: Found, splits: np.ndarray) -> Found:
        """Return the result of a search over some splits with the numbers of all splits; keep the tree if it costs
        less than the best tree."""
        if found.split is None:
            return found
        found = replace(found, split=named(found.split, splits))
        if found.cost < self.upper:
            self._take(found.split, found.label, found.cost)
        return found

    def _finish(self, first: ConstrainedSearch) -> None:
        """Search all splits."""
        if not self.exactly:
            return
        if self.whole is None:
            self.whole = self._all(first)
        search = self.whole
        search.watch(self._tick, self._told)
        search.floor = max(search.floor, self.floor)
        if self.best is not None:
            search.start(*self.best)
        found = search.run()
        if found.split is not None and found.cost < self.upper:
            self._take(found.split, found.label, found.cost)
        self.bound = max(self.bound, self.upper if found.infeasible else found.bound)

    def _all(self, first: ConstrainedSearch) -> ConstrainedSearch:
        """Return the search over all splits, after the first one over some."""
        search = ConstrainedSearch(self.problem)
        search.begun = self.begun
        return search

    def _told(self, bound: int, cost: int | None) -> None:
        self.bound = max(self.bound, bound)
        known = [one for one in (cost, None if self.best is None else self.upper) if one is not None]
        self._progress(self._known_bound, min(known, default=None))

    def _refine(self, start: tuple[np.ndarray, np.ndarray] | None, few: np.ndarray) -> None:
        """Search the columns of a feasible tree (split, label) again, with thresholds near its own, and repeat from the
        tree that is found. On a scale with very many thresholds, the thresholds tried are first spread over the rows
        between two of the first splits, then over smaller and smaller ranges, because steps to neighbouring thresholds
        would take too long to reach a better tree that is far away."""
        part, still = 1.0 / self.few, 0
        while start is not None and not self._tick() and still < MAX_NEAR_SEARCHES:
            asked = np.unique(start[0][start[0] >= 0])
            used = np.isin(np.arange(self.problem.subsets.shape[1]), self.problem.column[asked])
            holding = np.flatnonzero((self.problem.subsets | ~used).all(axis=1))
            inside = self.problem.subsets[holding[0]][self.problem.column]
            near, narrow = [few[inside[few]]], True
            for split in asked.tolist():
                mine = next(mine for mine in self.splits if split in mine)
                place = int(np.flatnonzero(mine == split)[0])
                width = max(self.near, int(part * len(mine)))
                narrow &= width == self.near
                for side in (mine[max(0, place - width) : place + 1], mine[place : place + width + 1]):
                    near.append(quantiles(side, self.ones, self.near + 1))
            splits = np.unique(np.concatenate(near))
            if not len(splits):  # no column is allowed
                return
            found = self._search(splits, cost_of(self.problem, *start))
            if found.split is not None:
                start = found.split, found.label
            elif narrow:
                return
            still += narrow
            part *= min(0.5, 2 / self.near)

    def _take(self, split, label, cost: int) -> None:
        self.upper, self.best = int(cost), (np.asarray(split, np.int32), np.asarray(label, np.int32))
        self._progress(self._known_bound, self.upper)

    @property
    def _known_bound(self) -> int:
        """A lower bound on the cost of feasible trees, by this search or from elsewhere."""
        return min(max(self.bound, self.floor), self.upper)

    def _found(self) -> Found:
        bound = self._known_bound
        infeasible = self.best is None and bound >= self.upper
        split, label = (None, None) if self.best is None else self.best
        return Found(
            split,
            label,
            None if self.best is None else self.upper,
            bound,
            infeasible,
            0 if bound >= self.upper else 1,
            len(self.scale),
        )


class ShallowSearch(CoarseSearch):
    """Search for a good tree if even one split of each scale is too much for this depth. It starts from the best tree
    of less depth, and tries splits near the splits of this tree at full depth. Its bound comes from other
    searches.

    Parameters
    ----------
    problem : ConstrainedProblem
    scale, near
        As for CoarseSearch.
    """

    def __init__(
        self, problem: ConstrainedProblem, scale: np.ndarray, near: int = NEAR_POSITIONS, inside: int = INSIDE
    ):
        super().__init__(problem, scale, 1, False, near, inside)

    def _find(self) -> None:
        """Search until no better tree is near, or until the time is over."""
        self._columns_of_best()
        self._refine(self.best, np.zeros(0, int))


class ThresholdSearch(CoarseSearch):
    """Search that sweeps the roots. The parameters are the same as for CoarseSearch; `takes` returns true for the
    problem."""

    def _made(self, splits: np.ndarray, every: bool = False) -> ConstrainedSearch:
        search = super()._made(splits)
        if not every and len(search.problem.subsets) == 1 and len(splits) > MANY_SWEPT:
            search.sweep(self._swept(splits), True)
        return search

    def _all(self, first: ConstrainedSearch) -> ConstrainedSearch:
        search = super()._all(first)
        search.first, search.begun = first.leading / first.scale, True
        search.sweep(self._swept(np.arange(len(self.scale))), self.problem.depth > 2)
        return search

    def _swept(self, splits: np.ndarray) -> Callable[[ConstrainedSearch], SweptTrees]:
        """Return a function that makes the trees of a search over some splits, int (splits,)."""
        return lambda search: self.trees(search, self.scale[splits][search.order])

    @property
    def trees(self) -> type[SweptTrees]:
        """The class of the trees that sweeps find."""
        return SweptTrees


def quantiles(splits: np.ndarray, ones: np.ndarray, few: int, ends: bool = True) -> np.ndarray:
    """Return some splits of a scale, spread evenly over the rows.

    Splits spread evenly over the thresholds would mostly be in the tails of a column whose values are concentrated in
    the middle. If a few values cover most rows, the remaining splits are spread evenly over the thresholds.

    Parameters
    ----------
    splits : int (splits of the scale,)
        In descending order of the number of ones.
    ones : int (all splits,)
        The number of rows with outcome 1 for each split.
    few : int
    ends : bool
        Whether to include the first and the last split, which separate few rows from the others.

    Returns
    -------
    int (at most `few`,)
        In the order of `splits`.
    """
    if few >= len(splits):
        return splits
    rows = ones[splits]
    shares = np.linspace(0, 1, few) if ends else np.linspace(0, 1, few + 2)[1:-1]
    wanted = rows[0] + shares * (rows[-1] - rows[0])
    after = np.clip(np.searchsorted(-rows, -wanted), 1, len(splits) - 1)
    nearest = np.unique(after - (rows[after - 1] - wanted < wanted - rows[after]))
    others = np.setdiff1d((shares * (len(splits) - 1)).round().astype(int), nearest)
    rest = np.linspace(0, len(others) - 1, min(few - len(nearest), len(others))).round().astype(int)
    return splits[np.union1d(nearest, others[rest])]
