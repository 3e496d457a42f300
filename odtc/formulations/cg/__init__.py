"""cg: a tree is one path for each end, and a path is a column; for data too large for a constraint per row.

Firat, Crognier, Gabor, Hurkens & Zhang (2020), section 4.1, as costs; the paths are defined in
odtc.formulations.cg.decision_paths:

    min  Σ_e Σ_{p∈P(e)} c_p x_p                                                           (3)
         Σ_{p∈P(e)} x_p = 1                                   e                           (4)
         Σ_e Σ_{p∈P(e): r∈R_p} x_p = 1                        r covered                   (5)
         Σ_{p∈P(e): s_j(p)=a} x_p = ρ_ja                      e, j above e, a             (6)
         x_p, ρ_ja ∈ {0, 1}                                                               (7, 8)

The ends e are the nodes `tail` levels above the leaves, and a column includes the best subtree below its end; with
tail=0 they are the leaves, as printed. A path may stop at a node that does not branch. A file contains the columns
generated so far: all if they are few, otherwise those that `odtc build` generates in some rounds or that `odtc fit`
left in STEM.columns.json. Its optimum is the optimum over its columns. `odtc fit` generates columns until none
improves the relaxation, and reports over which splits its tree is the best.
"""

import contextlib
import json
import time
from dataclasses import replace

import numpy as np

from odtc.algorithms.dp.shallow_trees import graft_subtree
from odtc.base import deadline
from odtc.base.text import count_of
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import as_written
from odtc.base.wording import param
from odtc.data.threshold_scales import Scales
from odtc.errors import ChoiceError, SolverError, TimeLimitReached, TreeError
from odtc.formulations.cg import initial_columns, printed_fit
from odtc.formulations.cg.branch_and_price import BranchAndPrice
from odtc.formulations.cg.column_pool import MARK, ColumnPool, Columns, columns_asked, follow_tree
from odtc.formulations.cg.decision_paths import Paths
from odtc.formulations.cg.initial_columns import (
    MOST,
    MOST_BITS,
    Held,
    columns_of,
    is_printed,
    is_small,
    paths_of,
    searched_tree,
    tail_of,
)
from odtc.formulations.cg.over_all_splits import OverAllSplits, Stopped
from odtc.formulations.cg.pricing_mip import pricing_model
from odtc.formulations.cg.restricted_master import RestrictedMaster
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.feasibility import ROUNDING
from odtc.model.milp import Model
from odtc.model.solution import Round, Solution, Termination, is_proved
from odtc.problem.constraints.constraint import complete
from odtc.problem.constraints.kind import Subject
from odtc.problem.estimates import Counts
from odtc.problem.exact_objective import settled_bound
from odtc.problem.formulation import MERGED, OTHER, SAME, TIGHTER, ModelChange
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree, settle, with_min_leaf_rows

NAME = "cg"
TITLE = "Column generation: a column is a path with its subtree; proves the best tree over chosen splits"
PAPER = (
    "Firat, Crognier, Gabor, Hurkens & Zhang (2020), Column generation based heuristic for learning "
    "classification trees"
)
ANY_COST = True
TIMED = True  # `fit` receives the remaining time in seconds
BESIDE = 2 ** np.arange(5)  # distances in rank from a threshold to the nearby thresholds that are tried
ALMOST = 0.9  # fraction of the remaining time for the last search
GROWS = True  # the last model has other columns than the first one
FIT_DEFAULTS = {"columns": "start"}
CHANGES = (
    ModelChange("search=true: a search over all splits finds the first tree (undo: search=false)", SAME, SAME),
    ModelChange(
        "tail=auto: a path ends above the leaves, with its best subtree (undo: tail=0, literal=true)", SAME, TIGHTER
    ),
    ModelChange(
        "a path may stop above its end, and each of its splits separates rows (undo: literal=true)", SAME, OTHER
    ),
    ModelChange("(5) has only rows that a relaxation has violated (undo: literal=true)", SAME, OTHER),
    MERGED,
)
VARIANTS = (
    {"tail": "0"},
    {},
    {"tail": "2"},
    {"reward": 0.25},
    {"n_min": 2, "tail": "0"},
    {"n_min": 2, "reward": 0.25},
    {"search": False, "splits": "all"},
    {"literal": True},
)

OVER = 0.1  # seconds that are left when a linear program has used up the limit, about


@value_class
class Params:
    splits: str = parameter(
        "auto",
        "the splits of the nodes: all; those that threshold sampling finds for each node, or for any (pooled); "
        "auto: all if they are few, else pooled, and sampled with search=false",
        choices=("auto", "all", "sampled", "pooled"),
    )
    q: int = parameter(100, "threshold sampling keeps the q most frequent splits of a node, of the root all", least=1)
    seed: int = parameter(0, "of the threshold sampling and the random paths", least=0)
    tail: str = parameter(
        "auto",
        "levels above the leaves at which paths end (0: at the leaves, as printed; auto: 2, at depth 2 one)",
        choices=("auto", "0", "1", "2"),
    )
    exact: bool = parameter(False, "fit: branch and price, if the relaxation leaves a gap")
    reward: float = parameter(
        0.0, "reward of an empty leaf: min errors + reward (used leaves - 1)", least=0, below=float("inf")
    )
    n_min: int = parameter(0, "least number of rows in a leaf that is not empty", least=0)
    columns: str = parameter(
        "auto", "auto (all if they are few, else generated), all, start (of a first tree), or a file STEM.columns.json"
    )
    rounds: int = parameter(20, "of column generation, for a file", least=0)
    final: str = parameter(
        "auto",
        "fit: how the best tree of the last master is found: by a dynamic program over its paths, or by the solver "
        "(mip); auto: mip with search=false, else paths",
        choices=("auto", "paths", "mip"),
    )
    threads: int = parameter(1, "ends whose paths are evaluated side by side", least=1, below=65)
    merge: bool = merge_rows()
    search: bool = parameter(
        True,
        "fit: search over all splits, then generate columns; false: the method of the paper (threshold sampling, "
        "CART's paths, random paths, pricing problems, master) with the parameters below",
    )
    literal: bool = parameter(
        False, "master and pricing problem as printed, with a row (5) for every row; implies search=false and tail=0"
    )
    initial: str = parameter("cart", "the tree that gives the first columns", choices=("cart", "random"))
    heuristic: bool = parameter(True, "price by random paths first")
    pricing_mip: bool = parameter(
        True, "solve the pricing problems (11)-(18) of all leaves and classes when random paths find nothing"
    )
    pool_size: int = parameter(400, "random paths of a draw, and those that are kept for the next", least=1)
    pool_leaves: int = parameter(4, "leaves to which the first draw of a round goes, the most promising ones", least=1)
    pool_columns: int = parameter(40, "most columns that a draw adds", least=1)
    pool_tries: int = parameter(10, "draws without a promising path before pricing problems are solved", least=1)
    max_rounds: int = parameter(10_000, "fit: rounds after which the method ends", least=0)


def limited(problem: Problem, start: HeapTree | None = None) -> tuple[Problem, Stopped | None]:
    """Return the problem, and the result of the search over all splits if Ctrl-C ended it, because then there is no
    model."""
    over = problem.derived(Held).over_all
    return problem, over.stopped if over is not None and over.interrupted else None


def so_far(problem: Problem) -> Stopped | None:
    """Return the result so far of the search over all splits."""
    over = problem.derived(Held).over_all
    return None if over is None else replace(over.stopped, interrupted=False)


def prepared(problem: Problem) -> Problem:
    return (printed_fit if is_printed(problem.params) else initial_columns).prepared(problem)


def build(problem: Problem) -> Model:
    if is_printed(problem.params):
        return printed_fit.paths_of(problem).master()
    columns, over = columns_of(problem), problem.derived(Held).over_all
    if over is not None and over.interrupted:
        raise KeyboardInterrupt  # as soon as a caller can return its tree
    paths, m = columns.paths, ModelBuilder(f"{NAME}_d{problem.topology.depth}")
    ends, n, width = len(paths.ends), len(columns), len(paths.candidates) + 1
    end, members, place = _asked(columns)
    x = m.columns("x", Axis("path", n), role=Role.PATH, cost=columns.cost() * paths.unit, integer=True)
    p = np.arange(n)
    pick = m.rows("pick", Axis("end", ends, int(paths.ends[0])), lower=1, upper=1)  # (4)
    m.add(pick[end], x[p])
    if paths.depth:
        rho = m.columns("rho", Axis("node", len(paths.upper), 1), Axis("split", width), integer=True, positions=members)
        # One constraint for each end, level and split that is used there or by another end below the node.
        links: dict = {}
        for rank, cell in enumerate(members.tolist()):
            j = cell // width + 1
            up = paths.depth - j.bit_length() + 1
            for e in range(j << up, (j + 1) << up):
                links[e, rank] = len(links)
        link = m.rows("link", Axis("link", len(links)), lower=0, upper=0)  # (6)
        row = np.array([[links[e, rank] for rank in ranks] for e, ranks in zip(end.tolist(), place.tolist())])
        m.add(link[row], x[p[:, None]])
        m.add(link[np.arange(len(links))], rho[np.array([rank for _, rank in links])], -1)
    if columns.cover:
        cover = m.rows("cover", Axis("group", len(columns.cover)), lower=1, upper=1)  # (5)
        at, group = np.nonzero(paths.bits(columns.rows())[:, columns.cover])
        m.add(cover[group], x[at])
    m.constant(-problem.params.reward)
    return m.finish()


def counts(problem: Problem) -> Counts | None:
    """Return None if all paths are columns, because otherwise the columns come from a search."""
    if problem.params.columns == "all" or (problem.params.columns == "auto" and is_small(problem)):
        return None
    return Counts(words="its columns are the paths that a search finds")


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree that `trimmed` made, as a point. Raises TreeError for a tree whose paths are not columns, or whose
    leaves or subtrees below the ends are not the best."""
    if is_printed(problem.params):
        return _printed_start(problem, heap)
    columns = columns_of(problem)
    paths, x = columns.paths, np.zeros(len(columns))
    chosen = columns.of_tree(columns_asked(paths, heap.split))
    if chosen is None:
        raise TreeError(
            f"a path of the tree is none of the {count_of(len(columns), 'column')} of the model; give the start of a "
            f"heuristic, or columns that hold it ({param('columns', 'all')}, or a file of odtc fit --model cg)"
        )
    x[chosen] = 1
    cost, paid = float(columns.cost()[chosen].sum()) * paths.unit - problem.params.reward, objective(problem, heap)
    if abs(cost - paid) > paths.near * paths.unit:
        raise TreeError(
            f"the tree costs {paid:.10g}, its columns {cost:.10g}: it has leaves, or subtrees below the ends of the "
            f"paths, that are not the best; give the tree that a heuristic makes, or set {param('tail', 0)}"
        )
    if not paths.depth:
        return {"x": x}
    cells, place = _asked(columns)[1:]
    rho = np.zeros(len(cells))
    rho[place[chosen]] = 1
    return {"x": x, "rho": rho}


def _printed_start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    paths = printed_fit.paths_of(problem)
    if (chosen := paths.of_tree(heap)) is None:
        raise TreeError(
            f"a path of the tree is not among the {count_of(len(paths), 'path')} of the model; give the start of a "
            f"heuristic, or all paths ({param('columns', 'all')})"
        )
    return paths.point(chosen)


def _asked(columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (ends (columns,); the cells of the grid node x split that some column uses, ascending; for each column and
    level, the position of its cell among these). The last split of the grid means "no split"."""
    paths, width = columns.paths, len(columns.paths.candidates) + 1
    split = np.full((len(columns), paths.depth), width - 1)
    for at, (_, t, number) in enumerate(columns.keys):
        way = paths.way(t, number)
        split[at, : len(way)] = way
    end = np.array([e for e, _, _ in columns.keys])
    cells, place = np.unique(
        ((end[:, None] >> paths.depth - np.arange(paths.depth)) - 1) * width + split, return_inverse=True
    )
    return end, cells, place.reshape(split.shape)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """Return a tree over the columns: this tree without nodes that no row needs, and with the best subtrees below the
    ends, which costs no more. If its paths are not columns, return the best tree over the columns."""
    if is_printed(problem.params):
        return printed_fit.trimmed(problem, heap)
    columns, encoded, least = columns_of(problem), problem.encoded, problem.params.n_min
    paths, heap = columns.paths, settle(heap.split, encoded)
    tree = columns_asked(paths, (with_min_leaf_rows(heap, encoded, least) if least > 1 else heap).split)
    if columns.of_tree(tree) is None:
        return _heap(problem, paths, columns.best())
    for t, number, _ in list(follow_tree(paths, tree)):
        if t >> paths.depth:
            graft_subtree(tree, t, paths.below[t][number])
    return _heap(problem, paths, tree)


def _heap(problem: Problem, paths: Paths, tree: np.ndarray) -> HeapTree:
    """Return the tree whose splits are given as columns of paths.X."""
    return settle(np.append(paths.candidates, -1)[tree].astype(np.int32), problem.encoded)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point: at each node the split that most of its columns use, and below each end the subtree
    of its column."""
    if is_printed(problem.params):
        return settle(printed_fit.paths_of(problem).tree_at(point["x"]), problem.encoded)
    columns = columns_of(problem)
    paths, weight = columns.paths, {}
    for at in np.flatnonzero(point["x"] > 1e-9).tolist():
        _, t, number = columns.keys[at]
        way = [*paths.way(t, number), *([-1] if t < 1 << paths.depth else [])]
        for level, split in enumerate(way):
            node = t >> (t.bit_length() - 1 - level)
            share = weight.setdefault((node, tuple(way[:level])), {})
            share[split] = share.get(split, 0.0) + point["x"][at]
    tree, stack = np.full(2 ** (problem.topology.depth + 1), -1, np.int32), [(1, 0, ())]
    while stack:
        t, number, way = stack.pop()
        if t >> paths.depth:
            graft_subtree(tree, t, paths.below[t][number])
            continue
        share = weight.get((t, way), {})
        split = max(share, key=share.get, default=-1)
        if split < 0:
            continue
        place = int(np.flatnonzero(paths.splits[t] == split)[0])
        tree[t] = split
        stack += [(2 * t + side, int(paths.child[t][number, place, side]), (*way, split)) for side in (0, 1)]
    return _heap(problem, paths, tree)


def objective(problem: Problem, heap: HeapTree) -> float:
    """Return loss + reward · (used leaves - 1): the paper's reward for empty leaves, relative to a tree with one used
    leaf."""
    return float(heap.exact_loss(problem.encoded) + as_written(problem.params.reward) * heap.n_branch_nodes)


def least_rows(problem: Problem) -> int:
    return problem.params.n_min


def branch_penalty(problem: Problem) -> float:
    """Return the loss that a branch node must save, because it uses one more leaf."""
    return problem.params.reward


def loops(problem: Problem) -> bool:
    """Return True, because it is not known in advance which columns are needed."""
    return True


def instead(problem: Problem, given) -> str:
    """Return the parameter that replaces a side constraint, which this model does not contain."""
    return param("n_min", int(given.bound)) if given.name == "leaf_rows" else ""


def pricing(problem: Problem, leaf: int, label: int | None = None) -> Model:
    """Return the pricing problem of the end above a leaf, at the duals of the relaxation over the current columns;
    with search=false of a leaf and a class, as printed."""
    if is_printed(problem.params) != (label is not None):
        raise ChoiceError(
            f"--pricing: expected leaf=N,class=LABEL with {param('search', False)} or {param('literal', True)}, "
            f"because the printed pricing problem has a leaf and a class, and leaf=N without them"
        )
    if label is not None:
        return printed_fit.pricing(problem, leaf, label)
    columns = columns_of(problem)
    return pricing_model(columns.paths, RestrictedMaster(columns).solve().duals, leaf >> columns.paths.tail)


def scope(problem: Problem) -> str:
    """Return the trees that the model represents: over the chosen splits, or over the current columns, if others are
    left out."""
    if is_printed(problem.params):
        paths = printed_fit.paths_of(problem)
        some = problem.params.columns.startswith(MARK) or printed_fit.scope_words(problem, paths)
        return f"trees over the {count_of(len(paths), 'path')} of the model" if some else ""
    columns = columns_of(problem)
    if not problem.params.columns.startswith(MARK) and not _some_splits(problem, columns.paths):
        return ""
    return f"trees over the {count_of(len(columns), 'column')} of the model"


def _some_splits(problem: Problem, paths: Paths) -> str:
    """Return a text that names the splits that the nodes may use; "" if these are all."""
    asked = [len(paths.splits[t]) for t in problem.topology.branch_nodes.tolist()]
    F = problem.encoded.n_candidate_splits
    if min(asked, default=F) == F:
        return ""
    if min(asked) < len(paths.candidates):
        return f"the splits that were chosen for each node, {len(paths.candidates)} of {F}"
    return f"the {len(paths.candidates)} of {count_of(F, 'split', '')} that were chosen"


def fit(base: Model, solve, start=None, tell=None, left=None) -> tuple[Model, Solution]:
    """Generate columns, beginning with the model `base`; return the last master, and the best tree as a point of it.
    `left()` returns the seconds of the time limit that are left. Ctrl-C keeps the best tree."""
    if is_printed(base.problem.params):
        return printed_fit.fit(base, build, solve, start, tell, left)
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
        self.whole = not _some_splits(problem, self.columns.paths)
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
        heap = _heap(self.problem, self.search.paths, self.search.best)
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
        some = _some_splits(problem, search.paths)
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
    if held.over_all is None and (_some_splits(problem, paths) or not paths.whole):
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
    scales, asked = Scales.of(problem.encoded), _heap(problem, paths, search.best).split
    asked = asked[asked >= 0]
    place = scales.place[asked][:, None] + np.concatenate([BESIDE, -BESIDE])
    inside = (place >= 0) & (place < scales.size[scales.scale[asked]][:, None])
    near = np.setdiff1d(
        scales.split(np.repeat(scales.scale[asked], inside.sum(axis=1)), place[inside]), paths.candidates
    )
    n_paths = (2.0 * (len(paths.candidates) + len(near))) ** max(1, paths.depth)
    if not len(near) or n_paths > MOST or n_paths * problem.encoded.n_rows > MOST_BITS:
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


def beside(problem: Problem) -> dict[str, str]:
    """Return the additional files of `odtc fit`, by suffix: the columns, from which another run can continue."""
    depth, tail, encoded = problem.topology.depth, tail_of(problem), problem.encoded
    facts = ColumnPool.from_text(problem.params.columns, depth, tail, encoded).to_json(encoded, depth, tail)
    return {".columns.json": json.dumps(facts, ensure_ascii=False, separators=(",", ":")) + "\n"}


def subjects(params) -> tuple[Subject, ...]:
    """Return no subjects, because no side constraint becomes a model constraint. The least rows of a leaf are the
    parameter n_min, because the pricing respects it."""
    return ()


def unit_costs(problem: Problem) -> tuple[float, float]:
    return 1.0, problem.params.reward
