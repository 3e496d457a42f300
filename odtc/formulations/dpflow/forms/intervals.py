"""dpflow over ordered thresholds as a model: from a problem to the linear program of
odtc.algorithms.thresholds.interval_lp.

    min  f + Σ (1-λ) stop(S) t_jS + Σ (1-λ) cost u_jSc + Σ (1-λ) cost v_jSc
    t_0R + Σ_c (u_0Rc + v_0Rc) = 1                                       R: all rows
    t_jS + Σ_c (u_jSc + v_jSc) = Σ (u, v of level j - 1 that lead to S)    all other states S

f is the unavoidable cost, u are the splits of the best tree, and v_jSc bounds all trees that split, at S, on a
threshold from c to the one before the next v of that ordered feature. The search has already solved the program: the
tree is the one of the search for every point, and the file proves its cost.
"""

from functools import cached_property
from itertools import takewhile

import numpy as np

from odtc.algorithms.thresholds.interval_lp import Layer, layers
from odtc.algorithms.thresholds.interval_search import FIRST, IntervalSearch
from odtc.algorithms.thresholds.prefix_sums import Ranked
from odtc.base import deadline
from odtc.base.wording import option, param
from odtc.data.encoding import Encoded
from odtc.data.splits import Splits
from odtc.data.threshold_scales import MOST, Scales
from odtc.errors import ChoiceError, TreeError
from odtc.formulations.dpflow.network import Columns, write_flow
from odtc.formulations.dpflow.program import share
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.exact_objective import search_costs
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree, nested_splits, settle

TRIED = 20  # assumed number of evaluated thresholds of an ordered feature at one state
SUM = 100  # number of multiplications that take as long as one sum of a table
MOMENT_SUMS = 1e7  # sums of a search that is tried before a model is chosen: about a second
QUICK_SUMS = 1e9  # sums of a search that is tried before one of more levels is refused: about ten seconds
MIN_THRESHOLDS = 8  # thresholds per ordered feature, on average: with fewer there is little to leave out


def takes(problem: Problem) -> bool:
    """Return whether this problem is compiled by intervals. Raises ChoiceError if it requests something that intervals
    do not support."""
    params = problem.params
    if params.intervals == "false" or problem.topology.depth < 2:
        return False
    against = "tail=0" if params.tail == "0" else "fold=false" if not params.fold else None
    if params.intervals == "true":
        if against:
            raise ChoiceError(
                f"an interval of thresholds has the cost of the best subtrees below it, which {param(against)} leaves "
                f"open; drop one of {param('intervals', True)} and {param(against)}"
            )
        return True
    return against is None and not problem.constraints and worth(problem.encoded)


def worth(encoded: Encoded) -> bool:
    """Return whether features have so many thresholds that intervals of them pay."""
    splits = Splits.of(encoded.splits)
    ordered = splits.per_threshold(len(encoded.features))
    return encoded.n_candidate_splits >= MIN_THRESHOLDS * (np.count_nonzero(ordered) + len(splits.others))


def work(scales: Scales, depth: int) -> float:
    """Return the approximate number of sums of the search, as measured on data of all types: a table of pairs of
    thresholds at each of the states, of which each further level has at most TRIED per ordered feature and side."""
    rows = len(np.unique(scales.rank, axis=0))
    table = (
        np.minimum(scales.size, 2 * FIRST).sum() * float(np.minimum(scales.size, rows).sum())
        + rows * float(scales.n) ** 2
    )
    return table * float(np.minimum(scales.size, TRIED).sum()) ** max(0, depth - 2)


def ends_at_once(encoded: Encoded, scales: Scales, depth: int) -> bool:
    """Return whether a tree of less depth, quickly found, has the unavoidable cost; then `work` is a large
    overestimate."""
    return _less_does(IntervalSearch(Ranked.of(scales.rank, encoded.loss, 0.0)), scales, depth, MOMENT_SUMS)


def _less_does(search: IntervalSearch, scales: Scales, depth: int, most: float) -> bool:
    rows = np.arange(len(search.ranked.rank))
    quick = takewhile(lambda less: work(scales, less) <= most, range(2, depth))
    return any(search.value(rows, less).cost <= search.ranked.near for less in quick)


def tail(problem: Problem) -> int:
    """Return the number of levels above the leaves that the compiler solves."""
    depth, asked = problem.topology.depth, problem.params.tail
    return min(depth - 1, int(asked) if asked != "auto" else 1 if depth <= 3 else 2)


def keeps(problem: Problem) -> tuple[str, ...]:
    return ()


def build(problem: Problem) -> Model:
    """Return the model of the program that the search has solved."""
    made = problem.derived(Intervals)
    F, levels = problem.encoded.n_candidate_splits, []
    m = ModelBuilder(f"{problem.formulation}_d{problem.topology.depth}")
    m.constant(float(share(problem, made.ranked.floor)))
    for layer in made.program:
        columns = [Columns("t", Role.STOP, np.arange(len(layer.stop)), share(problem, layer.stop))]
        for stem, role, arcs in (("u", Role.ARC, layer.splits), ("v", Role.BOUND, layer.intervals)):
            split = made.scales.split(*arcs.first.T)
            order = np.argsort(arcs.state * F + split)
            cost = share(problem, arcs.cost[order])
            columns.append(
                Columns(stem, role, arcs.state[order], cost, Axis("split", F), split[order], arcs.below[order])
            )
        levels.append((len(layer.stop), columns))
    write_flow(m, levels)
    return m.finish()


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return the best tree as a point. Raises TreeError for a tree that costs more, because each variable for other
    trees represents many at once."""
    best, module = optimal(problem), problem.module
    paid, least = module.objective(problem, heap), module.objective(problem, best)
    if paid > least:
        raise TreeError(
            f"the tree costs {paid:.10g}; by intervals only the best tree is written, which costs {least:.10g}; start "
            f"from the tree of a heuristic, or set {param('intervals', False)}"
        )
    point = {}
    for j, layer in enumerate(problem.derived(Intervals).program):
        point[f"t{j}"] = np.zeros(len(layer.stop))
        point |= {f"u{j}": np.ones(len(layer.splits.state))} if len(layer.splits.state) else {}
        point |= {f"v{j}": np.zeros(len(layer.intervals.state))} if len(layer.intervals.state) else {}
    if "u0" not in point:
        point["t0"][0] = 1.0
    return point


def optimal(problem: Problem) -> HeapTree:
    """Return the best tree that the search finds."""
    search, scales, depth = problem.derived(Intervals).search, problem.derived(Intervals).scales, problem.topology.depth
    rows = np.arange(len(search.ranked.rank))
    return settle(nested_splits(search.tree(rows, depth), problem.topology, scales.split), problem.encoded)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    return optimal(problem)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    return optimal(problem)


def notes(problem: Problem) -> dict:
    return {}


class Intervals:
    """Results for one problem over its ordered thresholds (`problem.derived(Intervals)`), each part made once."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @cached_property
    def scales(self) -> Scales:
        return Scales.of(self.problem.encoded)

    @cached_property
    def ranked(self) -> Ranked:
        costs = search_costs(self.problem)
        return Ranked.of(self.scales.rank, costs.loss, costs.price)

    @cached_property
    def search(self) -> IntervalSearch:
        """Return the search after its end."""
        depth, search, problem = self.problem.topology.depth, IntervalSearch(self.ranked), self.problem
        rows = np.arange(len(search.ranked.rank))
        if problem.params.lambda_ or not _less_does(search, self.scales, depth, QUICK_SUMS):
            deadline.expect_end(
                SUM * work(self.scales, depth),
                f"the search over intervals of {problem.encoded.n_candidate_splits:,} thresholds at depth {depth}",
                f"use a smaller {option('depth')}, fewer thresholds ({option('encoding', 'auto:bins=8')}), or "
                f"{option('model', 'flowoct')}",
            )
        search.value(rows, depth)
        return search

    @cached_property
    def program(self) -> list[Layer]:
        # A flow has fewer than 2^levels columns of intervals.
        problem, depth = self.problem, self.problem.topology.depth
        more = self.unit / 2 ** (depth - tail(problem))
        return layers(self.search, depth, tail(problem), more, problem.params.proof)

    @property
    def unit(self) -> float:
        """Return the unit of which all costs are whole multiples; 0 if it is very small, or if costs are rounded."""
        return 1.0 if search_costs(self.problem).exact and self.ranked.most.sum() <= MOST else 0.0
