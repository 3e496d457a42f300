"""The search over thresholds if constraints limit the number of branch nodes, or of columns.

A tree of at most K columns is one of the trees over all columns. If none of those costs less than the best known tree,
no tree of K columns does. Otherwise the columns u1, u2, … of one that does divide all sets of columns into parts: sets
without u1, with u1 and without u2, with both and without u3, … and, once K columns are required, these columns. A part
is searched over its columns in the same way, so that few sets of K columns are searched one by one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb

import numpy as np

from odtc.algorithms.constrained import engines
from odtc.algorithms.thresholds.few_nodes.shapes import heights_within, levels, limited
from odtc.base import deadline
from odtc.base.text import count_of
from odtc.base.value_class import value_class
from odtc.data.threshold_scales import Scales
from odtc.errors import TimeLimitReached
from odtc.formulations.dpflow.forms import COUNTING, ROWS, is_plain
from odtc.formulations.dpflow.searched import Searched
from odtc.formulations.dpflow.threshold_search import ThresholdSearch
from odtc.formulations.dpflow.write_constrained_certificate import only_proof
from odtc.heuristics.ranked_splits import columns_asked
from odtc.problem.branch_penalty import objective
from odtc.problem.constraints.constraint import most_branch_nodes
from odtc.problem.exact_objective import search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

Told = Callable[[float, float, str], None]

SHARE = (
    0.75  # fraction of the remaining time; without a proof, the search under constraints raises the bound in the rest
)
COLUMNS = "features"  # the constraint on the number of columns
LEVELS = 3  # maximum levels of trees of few columns, because a proof over all columns seldom ends for more
MANY = 3000  # sets of columns; fewer sets are searched one by one, under the constraints


def searches(problem: Problem) -> bool:
    """Return whether this search supports a problem: constraints that limit nothing but branch nodes, columns and the
    rows of leaves, over so many splits that the search under constraints, whose multipliers are a certificate, looks
    at some of them only."""
    names = tuple(given.name for given in problem.constraints)
    if not is_plain(problem) or not limits_size(names, levels(_shape(problem))):
        return False
    if COLUMNS in names and _n_sets(problem) < MANY:
        return False
    splits, depth = problem.encoded.n_candidate_splits, problem.topology.depth
    if splits <= engines.MOST_TESTS and engines.sums(splits, depth) <= engines.MOST_SUMS:
        return False
    costs = search_costs(problem)
    return costs.exact and costs.parts is None


def limits_size(names: Sequence[str], depth: int) -> bool:
    """Return whether constraints of these kinds limit nothing but the size of trees of this depth, so that this search
    supports them over very many splits."""
    size = {*COUNTING, COLUMNS} & set(names)
    return bool(size) and set(names) <= {*ROWS, *size} and (COLUMNS not in size or depth <= LEVELS)


def _shape(problem: Problem):
    """Return the shape of the trees that the constraints on branch nodes allow."""
    depth, nodes = problem.topology.depth, most_branch_nodes(problem)
    return depth if nodes is None else limited(depth, nodes)


def _most_columns(problem: Problem) -> int | None:
    """Return the largest number of columns of a tree; None if no constraint limits it."""
    return min((int(given.bound) for given in problem.constraints if given.name == COLUMNS), default=None)


def _n_sets(problem: Problem) -> int:
    """Return the number of sets of as many columns as a tree may have."""
    columns = {column for split in problem.encoded.splits for column in split.features}
    return comb(len(columns), _most_columns(problem))


class CheaperTree(TimeLimitReached):
    """The end of a search that only had to find out whether a tree costs less than the known one."""


class LimitedSearch(ThresholdSearch):
    """The search of one problem.

    Parameters
    ----------
    problem, start, tell, among, scales
        As of ThresholdSearch.
    any_better : bool
        Whether the search ends when it has found a tree that costs less than `start`.
    """

    def __init__(
        self,
        problem: Problem,
        start: HeapTree | None = None,
        tell: Told | None = None,
        among: np.ndarray | None = None,
        scales: Scales | None = None,
        any_better: bool = False,
    ):
        super().__init__(problem, start, tell, among, scales)
        self.shape, self.any_better, self.part = _shape(problem), any_better, among is not None

    def _can_count(self, ranked) -> bool:
        """Return False: of several best trees, any one is the result, as under other constraints."""
        return False

    def _phases(self) -> None:
        self.need = self._known_cost()
        for height in () if self.part else heights_within(self.shape):
            self.height = height
            self.search.solve(height)
            self.proved.append(height)
        self.height = self.shape
        if not self.part:
            self.search.solve(self.shape, self.need)
            return
        if self.any_better and isinstance(self.shape, int):
            self.search.dive(self.shape)
            self._look_for_better()
        self.search.bound(self.shape, self.need)

    def _found(self, upper, lower):
        super()._found(upper, lower)
        self._look_for_better()

    def _look_for_better(self) -> None:
        if self.any_better and self.search.known(self.shape).upper < self.need:
            raise CheaperTree

    def _certified(self, found: Searched) -> Searched:
        """Return the result with the reason why it has no certificate."""
        return replace(found, uncertified=only_proof(self.problem)) if found.proved else found


@value_class
class Part:
    """The trees that may use some columns, of which some are required for other parts not to contain the same trees.

    Attributes
    ----------
    required, allowed : frozenset of int
        Columns of the data, the required ones among them.
    floor : float
        A lower bound on the objective of these trees.
    """

    required: frozenset[int]
    allowed: frozenset[int]
    floor: float


class ColumnSets:
    """Search for the best tree of few columns.

    Parameters
    ----------
    problem, start, tell
        As of ThresholdSearch; `start` satisfies the constraints.
    """

    def __init__(self, problem: Problem, start: HeapTree | None, tell: Told):
        self.problem, self.best, self._tell = problem, start, tell
        self.most = _most_columns(problem)
        self._scales = Scales.of(problem.encoded)
        self._columns = [frozenset(columns) for columns in columns_asked(problem.encoded, self._scales)]
        self._parts = [Part(frozenset(), frozenset().union(*self._columns), 0.0)]

    def run(self) -> Searched:
        """Search all parts, or until the deadline of this context."""
        found = LimitedSearch(self.problem, self.best, self._tell, scales=self._scales).run()  # the bound of all trees
        while not found.interrupted and not deadline.is_over():
            if not self._close(found):
                break
            self._parts = [part for part in self._parts if part.floor < self._upper]
            if not self._parts:
                heap, bound = self.best, self._upper
                return Searched(heap, bound, False, 0, 1, proved=True, uncertified=only_proof(self.problem))
            found = self._searched(self._parts[-1], any_better=len(self._parts[-1].allowed) > self.most)
        floors = [part.floor for part in self._parts[:-1]]
        bound = min([self._upper, max(self._parts[-1].floor, found.bound), *floors])
        left = f"{count_of(len(self._parts), 'part')} of the sets of columns left"
        return Searched(self.best, bound, False, 1, 1, left, interrupted=found.interrupted)

    @property
    def _upper(self) -> float:
        return np.inf if self.best is None else objective(self.problem, self.best)

    def _searched(self, part: Part, any_better: bool) -> Searched:
        """Return the result of a search for a tree over the columns of a part that costs less than the best one."""
        among = np.array([scale for scale, columns in enumerate(self._columns) if columns <= part.allowed], int)

        def tell(bound: float, _: float, phase: str) -> None:
            floors = [one.floor for one in self._parts[:-1]]
            self._tell(min([self._upper, max(part.floor, bound), *floors]), self._upper, phase)

        return LimitedSearch(self.problem, self.best, tell, among, self._scales, any_better).run()

    def _close(self, found: Searched) -> bool:
        """Take out the last part, whose search is `found`, if it is proved that no tree of it costs less than the best
        one, and otherwise divide it by the columns of its tree; a tree of few columns is the best one. Return whether
        the search allows one of these."""
        used, is_better = self._used(found.heap), objective(self.problem, found.heap) < self._upper
        if not (found.proved or is_better):
            return False
        part = self._parts.pop()
        if is_better and len(used) <= self.most:
            self.best = found.heap
        if found.proved and (not is_better or len(used) <= self.most):
            return True
        required, parts = part.required, []
        floor = max(part.floor, found.bound)
        for column in used:
            if column not in part.required and len(required) < self.most:
                parts.append(Part(required, part.allowed - {column}, floor))
                required = required | {column}
        parts.append(Part(required, required if len(required) == self.most else part.allowed, floor))
        self._parts += parts
        return True

    def _used(self, heap: HeapTree) -> list[int]:
        """Return the columns of a tree, the first split's column first."""
        splits = heap.split[heap.split >= 0].tolist()
        return list(dict.fromkeys(column for split in splits for column in self.problem.encoded.splits[split].features))


def search(problem: Problem, start: HeapTree | None, tell: Told) -> Searched:
    """Return the best tree of a problem and a bound, until a share of the time has passed.

    Parameters
    ----------
    problem : Problem, one that `searches` supports
    start : HeapTree or None, a known tree that satisfies the constraints
    tell : called with (bound, objective, phase as text) now and then
    """
    kind = LimitedSearch if _most_columns(problem) is None else ColumnSets
    with deadline.within(deadline.time_share(np.inf, SHARE)):
        return kind(problem, start, tell).run()
