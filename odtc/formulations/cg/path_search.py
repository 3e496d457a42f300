"""Column generation over paths, in turn with a search over all splits: `odtc fit --model cg`."""

import contextlib
import time
from dataclasses import replace

import numpy as np

from odtc.base import deadline
from odtc.base.wording import param
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError, SolverError, TimeLimitReached, TreeError
from odtc.formulations.cg.branch_and_price import BranchAndPrice
from odtc.formulations.cg.column_pool import Columns, columns_asked
from odtc.formulations.cg.decision_paths import Paths
from odtc.formulations.cg.initial_columns import (
    MAX_PATHS,
    MOST_BITS,
    Held,
    columns_of,
    paths_of,
    searched_tree,
)
from odtc.formulations.cg.over_all_splits import OverAllSplits
from odtc.formulations.cg.path_model import build, decode, heap_of, objective, some_splits
from odtc.model.feasibility import ROUNDING
from odtc.model.milp import Model
from odtc.model.solution import Round, Solution, Termination, is_proved
from odtc.problem.constraints.constraint import complete
from odtc.problem.exact_objective import settled_bound
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NEAR = 2 ** np.arange(5)  # distances in rank from a threshold to the nearby thresholds that are tried
ALMOST = 0.9  # fraction of the remaining time for the last search
OVER = 0.1  # seconds that are left when a linear program has used up the limit, about


def fit(base: Model, solve, start=None, tell=None, left=None) -> tuple[Model, Solution]:
    """Generate columns, beginning with the model `base`; return the last master, and the best tree as a point of it.
    `left()` returns the seconds of the time limit that are left. Ctrl-C keeps the best tree."""
    generation = _Generation(base.problem, tell, left or (lambda: None))
    termination, message = generation.run()
    problem, model, x, heap = generation.last_master()
    if problem.params.final == "mip" and termination is None:
        x, heap = _solved(problem, model, x, heap, solve)
    return model, generation.solution(model, x, heap, termination, message, start is not None)


class _Generation:
    """Column generation over the splits that the nodes may use, in turn with a search over all splits.

    Each round generates columns over the current paths; the next round has wider paths: over thresholds close to the
    best tree's, or over the splits of a better tree. The rounds end if there are none.

    Attributes
    ----------
    search : BranchAndPrice
        Of the current round.
    over : OverAllSplits or None
    whole : bool
        Whether the nodes may use all splits, so that the proofs of both searches cover the same trees.
    """

    def __init__(self, problem: Problem, tell, left):
        self.problem, self.reward, self.left = problem, problem.params.reward, left
        self._tell, self._history, self._began = tell, [], time.monotonic() - problem.derived(Held).seconds
        self.columns = columns_of(problem)
        self.over = _over_all(problem, self.columns.paths)
        self.whole = not some_splits(problem, self.columns.paths)
        self._begin_round()
        self.finder = _Finder(problem, self.over)

    def _begin_round(self) -> None:
        columns = self.columns
        self.search = BranchAndPrice(columns.paths, columns, self.problem.params.exact, self._say, self.left)

    def _say(self, state) -> None:
        """Record a round of the relaxation, and report it."""
        seconds, unit = time.monotonic() - self._began, self.search.paths.unit
        cost, found = state.incumbent * unit - self.reward, state.bound * unit - self.reward
        bound, chosen = (found, None) if self.over is None or self.whole else (min(self.over.bound, cost), found)
        self._history.append((round(seconds, 3), cost, bound))
        if self._tell:
            step = len(self._history), state.phase, state.columns, state.added
            self._tell(Round(*step, cost, bound, seconds, "columns", chosen))

    def run(self) -> tuple[Termination | None, str]:
        """Generate columns until no wider paths are worth it; return why this ended early, and in words, or (None,
        "")."""
        beaten = float("inf")  # the cost of the tree whose nearby thresholds were tried last
        try:
            while True:
                self._improve()
                wider = _around(self.over, self.search, self.columns, beaten)
                if wider is not None:  # until thresholds near those of the tree are no better, either
                    beaten = self.search.upper
                else:
                    wider = self._of_better_tree()
                if wider is None:
                    break
                self.columns = wider
                self._begin_round()
                self.finder.hear(self.search, "the search over all splits")
        except SolverError as failed:
            return Termination.UNKNOWN, str(failed)
        except KeyboardInterrupt:
            self.columns = Columns(self.search.paths, self.search.columns.to_pool())  # consistent again
            self.columns.add_tree(self.search.best)
            return Termination.INTERRUPTED, ""
        return None, ""

    def _improve(self) -> None:
        """Improve the tree and the bound of this round: by the local search, the search over all splits, and column
        generation."""
        problem, search, over = self.problem, self.search, self.over
        with contextlib.suppress(TimeLimitReached), deadline.within(self.left()):
            search.take(searched_tree(problem, search.paths))
            self.finder.hear(search, "the local search")
        if over is not None and not search.paths.whole and not over.proved:
            with deadline.within(self.left()):
                search.take(columns_asked(search.paths, over.run().split))
                self.finder.hear(search, "the search over all splits")
        self._learn_bound()
        if over is None or not over.proved or (problem.params.splits != "auto" and not search.proven):
            search.run()
        self.finder.hear(search, "column generation")

    def _learn_bound(self) -> None:
        """Give the bound of the search over all splits to column generation, if it covers the same trees."""
        if self.over is not None and self.whole:
            self.search.learn((self.over.bound + self.reward) / self.search.paths.unit)

    def _of_better_tree(self) -> Columns | None:
        """Return columns over paths that may also use the splits of a better tree; None if there is none."""
        if self.whole and self.search.proven:
            return None
        better = _better(self.over, self.search, self.left())
        return None if better is None else _with_splits_of(self.problem, self.columns, better)

    def last_master(self) -> tuple[Problem, Model, np.ndarray, HeapTree]:
        """Return the problem with the generated columns, its model, and the best tree as a point and as a tree."""
        self.finder.hear(self.search, "column generation")
        self.proof = "column generation" if self.search.proven else ""
        self._learn_bound()
        heap = heap_of(self.problem, self.search.paths, self.search.best)
        problem = replace(self.problem, params=replace(self.problem.params, columns=self.columns.to_pool().to_text()))
        problem.derived(Held).columns = self.columns
        model = replace(build(problem), problem=problem)
        x = complete(problem, model, heap)
        if self.over is not None and not self.search.paths.whole:
            # Costs that a linear program cannot distinguish may still differ considerably.
            other = self.over.stopped.heap
            with contextlib.suppress(TreeError):
                if objective(problem, other) < objective(problem, heap):
                    x, heap = complete(problem, model, other), other
        return problem, model, x, heap

    def solution(
        self, model: Model, x: np.ndarray, heap: HeapTree, termination: Termination | None, message: str, started: bool
    ) -> Solution:
        """Return a tree of the last master with its bounds and its claim."""
        problem, search, over, paid = model.problem, self.search, self.over, model.objective(x)
        # Linear programs do not bound costs below their tolerance; the search over all splits does.
        least = search.bound if search.paths.whole else 0.0
        told, by = objective(problem, heap), self.proof
        bound = settled_bound(problem, least * search.paths.unit - self.reward, told)
        overall = bound if over is None else settled_bound(problem, over.bound, told)
        if over is not None and is_proved(told, overall):
            by = "the search over all splits"
        overall = max(bound, overall) if self.whole else overall
        # The search over all splits may have proved it, if no proof by columns was requested.
        if is_proved(told, max(bound, overall)):
            termination = Termination.OPTIMAL
        elif termination is None:
            seconds = self.left()
            timed = seconds is not None and seconds <= OVER
            termination = Termination.TIME_LIMIT if timed and not search.finished else Termination.UNKNOWN
        some = some_splits(problem, search.paths)
        words = f"found by {self.finder.name}{by and f', proved by {by}'}"
        return Solution(
            x,
            termination,
            paid,
            max(bound, overall),
            time.monotonic() - self._began,
            "HiGHS (column generation)",
            search.nodes,
            start="accepted" if started else "none",
            history=tuple(self._history),
            message="; ".join(filter(None, [words, message or _words(search, some)])),
            scope=some and f"trees over {some} ({param('splits', ...)})",
            overall=overall,
        )


class _Finder:
    """The name of the part that found the best tree first."""

    def __init__(self, problem: Problem, over: OverAllSplits | None):
        self.problem, self.cost, self.name = problem, float("inf"), ""
        first = problem.derived(Held).first
        if over is not None and over.search.evaluated:
            self._hear(objective(problem, over.stopped.heap), "the search over all splits")
        if first is not None:
            self._hear(objective(problem, first), "a heuristic over all splits")

    def hear(self, search: BranchAndPrice, name: str) -> None:
        """Record the name of the part after which the best tree of a search is better than before."""
        self._hear(search.upper * search.paths.unit - self.problem.params.reward, name)

    def _hear(self, cost: float, name: str) -> None:
        if not self.name or cost < self.cost - ROUNDING * max(1.0, abs(self.cost)):
            self.cost, self.name = cost, name


def _over_all(problem: Problem, paths: Paths) -> OverAllSplits | None:
    """Return the search over all splits, if the nodes may use only some, if the tolerance of linear programs cannot
    distinguish the costs, or if it has already run because the paths over all splits are many."""
    held = problem.derived(Held)
    if held.over_all is None and (some_splits(problem, paths) or not paths.whole):
        held.over_all = OverAllSplits(problem)
    return held.over_all


def _better(over: OverAllSplits | None, search: BranchAndPrice, seconds: float | None) -> HeapTree | None:
    """Return a tree over all splits that costs less than the best one over the chosen splits, found in the time that
    is left; None if none is found."""
    if over is None or over.proved:
        return None
    with deadline.within(seconds):
        found = over.run(ALMOST)
    least = search.upper * search.paths.unit - over.problem.params.reward
    return found if objective(over.problem, found) < least - search.paths.near * search.paths.unit else None


def _around(over: OverAllSplits | None, search: BranchAndPrice, columns: Columns, beaten: float) -> Columns | None:
    """Return columns over paths that may also use thresholds close to the best tree's, at distances 1, 2, 4, …. Return
    None if these are all included already, if there would be too many paths, if the tree has not improved since the
    last time (`beaten`), or if the search over all splits has ended with a proof. Also return None unless the compiler
    chose the splits, for all nodes together."""
    if over is None or over.proved or not (search.finished or search.proven):
        return None
    problem, paths = over.problem, search.paths
    if problem.params.splits != "auto":
        return None
    if min(len(paths.splits[t]) for t in problem.topology.branch_nodes.tolist()) < len(paths.candidates):
        return None
    if search.upper >= beaten - search.paths.near:
        return None
    scales, asked = Scales.of(problem.encoded), heap_of(problem, paths, search.best).split
    asked = asked[asked >= 0]
    place = scales.place[asked][:, None] + np.concatenate([NEAR, -NEAR])
    inside = (place >= 0) & (place < scales.size[scales.scale[asked]][:, None])
    near = np.setdiff1d(
        scales.split(np.repeat(scales.scale[asked], inside.sum(axis=1)), place[inside]), paths.candidates
    )
    n_paths = (2.0 * (len(paths.candidates) + len(near))) ** max(1, paths.depth)
    if not len(near) or n_paths > MAX_PATHS or n_paths * problem.encoded.n_rows > MOST_BITS:
        return None
    return _with_splits(problem, columns, near)


def _with_splits_of(problem: Problem, columns: Columns, heap: HeapTree) -> Columns:
    """Return columns over paths whose nodes may also use the splits of a tree, including the columns of the tree; only
    over the tree's own splits if all paths together are too many."""
    try:
        wider = _with_splits(problem, columns, heap.split)
    except ChoiceError:
        own = tuple(np.array([split] if split >= 0 else [], np.int32) for split in heap.split.tolist())
        wider = Columns(paths_of(problem, own))
    wider.add_tree(columns_asked(wider.paths, heap.split))
    return wider


def _with_splits(problem: Problem, columns: Columns, asked: np.ndarray) -> Columns:
    """Return columns over paths whose nodes may also use the splits `asked`, -1 for none. A node that may use every
    chosen split gets all of them. Any other node gets only asked[node]."""
    pool = columns.to_pool()
    splits = list(pool.splits)
    for node in problem.topology.branch_nodes.tolist():
        more = asked if len(splits[node]) == len(columns.paths.candidates) > 0 else asked[node : node + 1]
        splits[node] = np.union1d(splits[node], more[more >= 0]).astype(np.int32)
    return Columns(paths_of(problem, tuple(splits)), replace(pool, splits=tuple(splits)))


def _solved(problem: Problem, model: Model, x: np.ndarray, heap: HeapTree, solve) -> tuple[np.ndarray, HeapTree]:
    """Solve the last master with the solver, starting from the best tree; return its point and its tree, if that is
    better."""
    found = solve(model, start=x)
    tree = decode(problem, model.split(found.x)) if found.has_solution else heap
    return (complete(problem, model, tree), tree) if objective(problem, tree) < objective(problem, heap) else (x, heap)


def _words(search: BranchAndPrice, some: str) -> str:
    """Return a text on what remains open after the search over the splits that the nodes may use."""
    if search.proven or not search.finished or search.exact:
        return ""
    return f"no column over {some or 'all splits'} is worth it, and a gap is left: {param('exact', True)} closes it"
