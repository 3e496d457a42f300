"""The constrained search over very many ordered tests: some of them first, then the roots that could matter.

    1. The search on a few quantiles of each scale gives a tree, and multipliers m. Its columns are searched again with
       the thresholds near those of the tree, until it gets no better.
    2. At m the roots of each scale are swept, intervals first (root_sweep). An interval whose bound exceeds Λ
       (close_gap) for every subset of columns needs none of its roots.
    3. Each subset of columns that is left is searched exactly, with the roots that are left.

For two labels, depth 3, and leaves that hold enough rows, sums and subsets of columns; other problems are refused.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained.constrained_problem import (
    ConstrainedProblem,
    codes_of,
    cost_of,
    fixed_point,
    keeps,
    named,
    ones_of,
    with_tests,
)
from odtc.algorithms.constrained.constrained_search import ConstrainedSearch, Found, Settled
from odtc.algorithms.constrained.sweeps.root_sweep import RootSweep
from odtc.algorithms.constrained.sweeps.swept_trees import SweptTrees
from odtc.algorithms.constrained.sweeps.threshold_sides import Sides, ThresholdSides, weighed

FEW = 15  # tests of a scale that are searched first
NEAR = 12  # places on either side of a threshold of the best tree that are searched next
AGAIN = 4  # such searches at most
MANY = 300  # tests from which on this is quicker than all of them at once
LONG = 3000  # tests from which on all of them may take minutes, so that more is done for a good tree first
COARSEST = 4  # tests of a scale that are searched before the first ones of so many
MOST_SWEPT = 50_000  # tests; the sweep of one side takes steps as the square of them, here seconds
MANY_SWEPT = 50  # tests from which on a sweep finds the best tree of a root sooner than counts of pairs
INSIDE = 150  # quantiles of the columns of one tree that are searched together
OTHERS = 8  # subsets of columns beside that of the best tree


def takes(problem: ConstrainedProblem, scale: np.ndarray) -> bool:
    """Whether this search is one for a problem with these scales, int (tests,)."""
    if problem.depth != 3 or problem.n_labels != 2 or not MANY <= len(scale) <= MOST_SWEPT:
        return False
    plain = problem.below is None and problem.allowed.all() and problem.accepts is None
    one = len(problem.measures) == 0 or (len(problem.measures) == 1 and (problem.least == problem.least[:, :1]).all())
    return plain and one and (problem.measures >= 0).all()


class CoarseSearch:
    """A search over some tests of each scale first, then near those of its best tree, then over all if they are few
    enough; it can be asked for its tree and its bound at any moment.

    Parameters
    ----------
    problem : ConstrainedProblem
    scale : int (tests,)
        Tests of one number are nested: of any two, the ones of one are among the ones of the other.
    few : int
        Tests of a scale that are searched first.
    exactly : bool
        Whether all tests are searched at the end.
    near : int
        Places on either side of a threshold of the best tree that are searched next.
    inside : int
        Tests that are searched together in the columns of one tree.

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
        near: int = NEAR,
        inside: int = INSIDE,
    ):
        fixed_point(problem)  # what is too large is said before the search
        self.problem, self.scale, self.few, self.exactly, self.near = problem, scale, few, exactly, near
        self.inside, self.long = inside, len(scale) > LONG
        self._tick, self._progress = (lambda: False), (lambda bound, cost: None)
        self.upper, self.best, self.bound = problem.most_cost + 1, None, 0
        self.floor, self.begun = 0, False  # as of ConstrainedSearch
        self.whole: ConstrainedSearch | None = None  # the search over all tests, if there was one
        # Of each scale its tests, from the one with the most ones on; a row answers 1 to the first `code` of them.
        self.ones = ones = ones_of(problem.X)
        order = np.lexsort((-ones, scale))
        self.tests = np.split(order, np.flatnonzero(np.diff(scale[order])) + 1)

    def watch(self, tick: Callable[[], bool], progress: Callable[[int, int | None], None]) -> None:
        """A clock and a listener, as of ConstrainedSearch."""
        self._tick, self._progress = tick, progress

    def start(self, test: np.ndarray, label: np.ndarray) -> bool:
        """A feasible tree to start from."""
        cost = cost_of(self.problem, test, label)
        if cost >= self.upper or not keeps(self.problem, test, label):
            return False
        self._take(test, label, cost)
        return True

    def run(self) -> Found:
        """Searches to the end, or until the clock says stop."""
        if self.long and self.few > COARSEST:
            self._of_each(COARSEST)
        elif self.long:  # no quick search tells more than the tree to start from
            self._columns_of_best()
            self._refine(self.best, np.zeros(0, int))
        first = self._of_each(self.few)
        if self.long:
            self._others(first)
        if not self._tick():
            self._finish(first)
        return self._found()

    @property
    def found(self) -> Found:
        """What is known at any moment."""
        if self.whole is not None:
            inner = self.whole.found
            if inner.test is not None and inner.cost < self.upper:
                self._take(inner.test, inner.label, inner.cost)
        return self._found()

    def settled(self) -> Settled | None:
        """The multipliers of a search that has ended; None if it has none of all cases."""
        return None if self.whole is None else self.whole.settled()

    # Parts.

    def _of_each(self, few: int) -> ConstrainedSearch:
        """Searches some tests of each scale, then the columns of the best tree; returns the first of these searches."""
        tests = self._some(few)
        first = ConstrainedSearch(only(self.problem, tests), self._tick)
        found = self._take_named(first.run(), tests)
        if self.long:
            self._columns_of_best()
            # The tree over these tests has columns of its own, and the best one near it may be the best of all.
            if few == self.few and found.test is not None and found.cost > self.upper:
                self._refine((found.test, found.label), tests)
        self._refine(self.best, tests)
        return first

    def _some(self, few: int) -> np.ndarray:
        """int (tests,): some quantiles of each scale."""
        return np.sort(np.concatenate([quantiles(mine, self.ones, few) for mine in self.tests]))

    def _inside(self, columns: np.ndarray) -> None:
        """Searches the thresholds of some columns, bool (columns,), together: as many quantiles as may be."""
        tests = [mine for mine in self.tests if columns[self.problem.column[mine[0]]]]
        if not tests or self._tick():
            return
        few = self.inside // len(tests)
        if few > 1:
            self._search(np.sort(np.concatenate([quantiles(mine, self.ones, few) for mine in tests])), self.upper)

    def _columns_of_best(self) -> None:
        """Searches the columns that the best tree tests."""
        if self.best is not None:
            asked = self.best[0][self.best[0] >= 0]
            self._inside(np.isin(np.arange(self.problem.subsets.shape[1]), self.problem.column[asked]))

    def _others(self, first: ConstrainedSearch) -> None:
        """Searches the subsets of columns whose trees cost least by the search of the first tests."""
        if len(self.problem.subsets) == 1:
            return
        for columns in first.promising(OTHERS):
            before = self.upper
            self._inside(columns)
            if self.upper < before:
                self._refine(self.best, np.zeros(0, int))

    def _search(self, tests: np.ndarray, upper: int) -> Found:
        """The best tree over some tests, int (tests,) in order, that costs less than `upper`; taken if it is the best
        one known."""
        search = self._made(tests)
        if self.best is not None:
            search.want_below(upper)
        # The sweep settles all roots: here a good tree is enough, but for tables that it may never get to.
        return self._take_named(search.run(exactly=self.long), tests)

    def _made(self, tests: np.ndarray) -> ConstrainedSearch:
        """A search over some tests, int (tests,) in order."""
        return ConstrainedSearch(only(self.problem, tests), self._tick)

    def _take_named(self, found: Found, tests: np.ndarray) -> Found:
        """What a search over some tests has found in the terms of all, taken if it costs less than the best tree."""
        if found.test is None:
            return found
        found = replace(found, test=named(found.test, tests))
        if found.cost < self.upper:
            self._take(found.test, found.label, found.cost)
        return found

    def _finish(self, first: ConstrainedSearch) -> None:
        """All tests."""
        if not self.exactly:
            return
        search = self.whole = ConstrainedSearch(self.problem, self._tick, self._told)
        search.floor, search.begun = self.floor, self.begun
        if self.best is not None:
            search.start(*self.best)
        found = search.run()
        if found.test is not None and found.cost < self.upper:
            self._take(found.test, found.label, found.cost)
        self.bound = max(self.bound, self.upper if found.infeasible else found.bound)

    def _told(self, bound: int, cost: int | None) -> None:
        self.bound = max(self.bound, bound)
        known = [one for one in (cost, None if self.best is None else self.upper) if one is not None]
        self._progress(self._known_bound, min(known, default=None))

    def _refine(self, start: tuple[np.ndarray, np.ndarray] | None, few: np.ndarray) -> None:
        """Searches the columns of a feasible tree (test, label) again, with the thresholds near its own, and so on from
        what is found. Of a scale with very many thresholds these are spread over the rows between two of the first
        tests, then over less: places beside each other would creep towards a better tree that is far."""
        part, still = 1.0 / self.few, 0
        while start is not None and not self._tick() and still < AGAIN:
            asked = np.unique(start[0][start[0] >= 0])
            used = np.isin(np.arange(self.problem.subsets.shape[1]), self.problem.column[asked])
            holding = np.flatnonzero((self.problem.subsets | ~used).all(axis=1))
            inside = self.problem.subsets[holding[0]][self.problem.column]
            near, narrow = [few[inside[few]]], True
            for test in asked.tolist():
                mine = next(mine for mine in self.tests if test in mine)
                place = int(np.flatnonzero(mine == test)[0])
                width = max(self.near, int(part * len(mine)))
                narrow &= width == self.near
                for side in (mine[max(0, place - width) : place + 1], mine[place : place + width + 1]):
                    near.append(quantiles(side, self.ones, self.near + 1))
            tests = np.unique(np.concatenate(near))
            if not len(tests):  # no column may be tested
                return
            found = self._search(tests, cost_of(self.problem, *start))
            if found.test is not None:
                start = found.test, found.label
            elif narrow:
                return
            still += narrow
            part *= min(0.5, 2 / self.near)

    def _take(self, test, label, cost: int) -> None:
        self.upper, self.best = int(cost), (np.asarray(test, np.int32), np.asarray(label, np.int32))
        self._progress(self._known_bound, self.upper)

    @property
    def _known_bound(self) -> int:
        """No feasible tree costs less, by this search or from elsewhere."""
        return min(max(self.bound, self.floor), self.upper)

    def _found(self) -> Found:
        bound = self._known_bound
        infeasible = self.best is None and bound >= self.upper
        test, label = (None, None) if self.best is None else self.best
        return Found(
            test,
            label,
            None if self.best is None else self.upper,
            bound,
            infeasible,
            0 if bound >= self.upper else 1,
            len(self.scale),
        )


class ShallowSearch(CoarseSearch):
    """A search for a good tree where even one test of each scale is too much for this depth: it starts from the best
    tree of less depth, and looks at the tests near its own at full depth. Its bound is what is known from elsewhere.

    Parameters
    ----------
    problem : ConstrainedProblem
    scale, near
        As of CoarseSearch.
    """

    def __init__(self, problem: ConstrainedProblem, scale: np.ndarray, near: int = NEAR, inside: int = INSIDE):
        super().__init__(problem, scale, 1, False, near, inside)

    def run(self) -> Found:
        """Searches until no better tree is near, or until the clock says stop."""
        self._columns_of_best()
        self._refine(self.best, np.zeros(0, int))
        return self._found()


class ThresholdSearch(CoarseSearch):
    """A search that sweeps the roots; its parameters are those of CoarseSearch, of a problem that `takes`. A run after
    one that was stopped in the sweep continues there."""

    def __init__(self, problem: ConstrainedProblem, scale: np.ndarray, few: int = FEW):
        super().__init__(problem, scale, few)
        self._settled: dict[tuple[int, int], np.ndarray] = {}  # the multipliers of a root with a subset of columns
        self._first, self._sweeps = None, takes(problem, scale)  # a search of another depth has other sides
        self._sweep: RootSweep | None = None
        self._left: dict[int, list[tuple[float, int]]] = {}  # roots that the sweep does not exclude, by their subset
        self.codes = np.ascontiguousarray([codes_of(problem.X, mine) for mine in self.tests], np.int32)

    def settled(self) -> Settled | None:
        """Those of the sweep over all roots settled all cases but those that have their own."""
        if self._first is None:
            return super().settled()
        return Settled(self._first.scale, [self._first.leading], lambda root, subset: self._settled.get((root, subset)))

    def run(self) -> Found:
        """Searches to the end, or until the clock says stop."""
        if self._sweep is None:
            return super().run()
        if not self._tick():
            self._finish(self._first)
        return self._found()

    def _finish(self, first: ConstrainedSearch) -> None:
        self._first = first
        if self._swept_all():
            self._close(self._left)

    def _swept_all(self) -> bool:
        """Evaluates roots until none could be part of a better tree except for those in `_left`; returns whether the
        clock allowed that."""
        problem, scale, left = self.problem, self._first.scale, self._left
        m = self._first.leading
        budget = sum(int(a) * int(b) for a, b in zip(m, problem.bound))
        if self._sweep is None:
            weight, price = weighed(problem, scale, m)
            sides = self._sides(weight, m, price)
            places = [
                np.flatnonzero(problem.allowed[0, mine]) if len(sides.of_scale[j]) else np.zeros(0, int)
                for j, mine in enumerate(self.tests)
            ]
            self._sweep = RootSweep(sides, self.codes, weight.max(axis=1), places)
        sweep = self._sweep

        def bound_of(value):
            return np.ceil((value - budget) / scale)

        while bound_of(sweep.least) < self.upper:
            if self._tick():
                return False
            j, f, value = sweep.step()
            bounds = bound_of(value)
            for s in sweep.sides.of_scale[j]:
                if bounds[s] < self.upper:
                    left.setdefault(int(s), []).append((float(bounds[s]), int(self.tests[j][f])))
            known = min((bound for roots in left.values() for bound, _ in roots), default=np.inf)
            self.bound = max(self.bound, int(min(self.upper, known, max(0.0, bound_of(sweep.least)))))
        known = min((bound for roots in left.values() for bound, _ in roots), default=np.inf)
        self.bound = max(self.bound, int(max(0, min(self.upper, known))))
        return True

    def _sides(self, weight: np.ndarray, m: np.ndarray, price: float) -> Sides:
        return ThresholdSides(self.problem, self.codes, self.tests, weight, m, price)

    def _swept(self, search: ConstrainedSearch, tests: np.ndarray) -> SweptTrees:
        """The trees of a search over some tests, int (tests,), of one subset of columns."""
        place = np.full(len(self.problem.column), -1)
        place[tests] = np.argsort(search.order)
        inside = [mine[place[mine] >= 0] for mine in self.tests]
        inside = [mine for mine in inside if len(mine)]
        codes = np.array([codes_of(self.problem.X, mine) for mine in inside], np.int32)
        return SweptTrees(search, codes, [place[mine] for mine in inside])

    def _made(self, tests: np.ndarray) -> ConstrainedSearch:
        search = super()._made(tests)
        if self._sweeps and len(search.problem.subsets) == 1 and len(tests) > MANY_SWEPT:
            search.swept = self._swept(search, tests)
        return search

    def _close(self, left: dict) -> None:
        """Each subset of columns with the roots that are left, best first."""
        order = sorted(left, key=lambda s: min((bound for bound, _ in left[s]), default=np.inf))
        for place, s in enumerate(order):
            roots = [root for bound, root in left[s] if bound < self.upper]
            if roots:
                tests = np.flatnonzero(self.problem.subsets[s][self.problem.column])
                part = only(self.problem, tests, roots)
                search = ConstrainedSearch(part, self._tick)
                search.upper = min(search.upper, self.upper)
                if self.best is None:
                    found = search.run()
                else:
                    search.swept = self._swept(search, tests)
                    search.tighten_all(self._first.leading / self._first.scale)
                    found = search.close()
                unit = self._first.scale / search.scale
                self._settled |= {(int(tests[root]), s): m * unit for root, _, m in search.evidence()}
                if found.test is not None and found.cost < self.upper:
                    self._take(named(found.test, tests), found.label, found.cost)
                if self._tick() or found.open_cases:
                    return
                left[s] = []
            rest = min((bound for t in order[place + 1 :] for bound, _ in left[t]), default=np.inf)
            self.bound = max(self.bound, int(min(self.upper, rest)))
            self._progress(self._known_bound, None if self.best is None else self.upper)
        self.bound = self.upper


def quantiles(tests: np.ndarray, ones: np.ndarray, few: int, ends: bool = True) -> np.ndarray:
    """Some tests of a scale, spread evenly over the rows.

    Spread over the tests alone, most of them would be in the tails of a column whose values in the middle many rows
    have. If few values hold most rows, the rest is spread over the tests.

    Parameters
    ----------
    tests : int (tests of the scale,)
        From the one with the most ones on.
    ones : int (all tests,)
        How many rows answer each with 1.
    few : int
    ends : bool
        Whether the first and the last test are among them; they part few rows from the others.

    Returns
    -------
    int (at most `few`,)
        In the order of `tests`.
    """
    if few >= len(tests):
        return tests
    rows = ones[tests]
    shares = np.linspace(0, 1, few) if ends else np.linspace(0, 1, few + 2)[1:-1]
    wanted = rows[0] + shares * (rows[-1] - rows[0])
    after = np.clip(np.searchsorted(-rows, -wanted), 1, len(tests) - 1)
    nearest = np.unique(after - (rows[after - 1] - wanted < wanted - rows[after]))
    others = np.setdiff1d((shares * (len(tests) - 1)).round().astype(int), nearest)
    rest = np.linspace(0, len(others) - 1, min(few - len(nearest), len(others))).round().astype(int)
    return tests[np.union1d(nearest, others[rest])]


def only(problem: ConstrainedProblem, tests: np.ndarray, roots=None) -> ConstrainedProblem:
    """The problem with these tests alone, and these roots."""
    allowed = problem.allowed[:, tests].copy()
    if roots is not None:
        allowed[0] &= np.isin(tests, roots)
    columns, column = np.unique(problem.column[tests], return_inverse=True)
    subsets = np.unique(problem.subsets[:, columns], axis=0)
    inside = (subsets[:, None, :] <= subsets[None, :, :]).all(axis=2) & ~np.eye(len(subsets), dtype=bool)
    accepts = problem.accepts
    return with_tests(
        problem,
        X=problem.X[:, tests],
        column=column.reshape(-1),
        subsets=subsets[~inside.any(axis=1)],
        allowed=allowed,
        below=None if problem.below is None else problem.below[np.ix_(tests, tests)],
        accepts=None if accepts is None else lambda test, label: accepts(named(test, tests), label),
    )
