"""BendersOCT: FlowOCT without its flows; a row counts as correct unless a cut of its flow graph shows otherwise.

Aghaei, Gomez & Vayanos 2020, section 3, equations (8.1)-(8.7). It represents every tree of this depth over the splits.
The number of cuts (8.2) in a file determines whether its optimum is correct:

* `cuts=path` (default of `odtc build`): all cuts whose source set is a walk from the root to a node,
  exact at integer points (Proposition 1), so the file has the correct optimum by itself. The relaxation with all
  cuts has the bound of `flowoct`, because a largest flow equals a smallest cut; with the cuts of walks only it can be
  weaker. They are marked lazy: a dialect with LAZYCONS may write them there.
* `cuts=none` (default of `odtc fit`): the master without them, in which nothing limits g. Its file does NOT have the
  optimum; `fit` adds the cuts that points violate. If the solver's package allows it
  (odtc.solvers.protocols.CutSolver), they are added inside one branch-and-bound tree, as in the paper. For other
  solvers, HiGHS first solves the linear relaxation in this process, repeatedly, with the cuts that its last point
  violates, and continues from its last basis; then the solver gets the master with these cuts, the best tree
  and the bound so far. If that master lacks cuts, its first rounds are short, because a point that violates cuts
  does not have to be proved optimal.

As in FlowOCT, at lambda = 0 every branch node branches, because a split costs nothing, so only leaves predict. With
`bottom=stump` a bottom node with its two leaves is one choice, "split on f and predict k on side s": the graph ends
there, with Σ_f p_{t,f,x_if,y_i} as the capacity to the sink, so there are half as many walks and the relaxation is
tighter, and only the b of inner nodes are integer. `bottom=flow` undoes that.

`literal=true` is the printed master: w at every node and at every lambda. Its cuts are separated as in the proof of
Proposition 1: at integer points only, and for each row only the cut of the path that the row takes. Once a quarter of
the cuts of all walks was found in this way, the next master, or the next tree, begins with all of them.
"""

import time
from dataclasses import replace

import numpy as np

from odtc.algorithms.tree_min_cut import CutPool, are_walks, min_cuts, walk_sets, walk_values, walks
from odtc.base.value_class import value_class
from odtc.errors import SolverError
from odtc.formulations.shared import node_choices
from odtc.model.blocks import Axis, labels_where
from odtc.model.builder import ModelBuilder
from odtc.model.feasibility import TOLERANCE
from odtc.model.in_packages import add_rows, growing_lp, solve_growing_lp
from odtc.model.milp import Model
from odtc.model.solution import STOPPED, Round, Solution, Termination
from odtc.model.vectors import replaced
from odtc.problem.branch_penalty import (  # noqa: F401
    branch_penalty,
    objective,
    unit_costs,  # noqa: F401
)
from odtc.problem.constraints.constraint import broken, complete, early, knows
from odtc.problem.constraints.kind import Knows, Subject
from odtc.problem.exact_objective import exact_objective
from odtc.problem.formulation import MERGED, SAME, WEAKER, ModelChange, error_cost
from odtc.problem.parameters import merge_rows, parameter
from odtc.problem.problem import Problem
from odtc.problem.roles import Role, node_axis
from odtc.trees.heap_tree import HeapTree, settle

NAME = "bendersoct"
TITLE = "BendersOCT: min-cut formulation on binary splits, as one file or as a loop that adds cuts"
PAPER = "Aghaei, Gomez & Vayanos (2020), Learning Optimal Classification Trees: Strong Max-Flow Formulations"
FIT_DEFAULTS = {"cuts": "none"}

LAZY = TIMED = True  # `fit` receives a solver that adds cuts inside its tree (LAZY), and the remaining seconds (TIMED)
BROKEN_IN_TREE = 1e-5  # the same inside a tree: above the tolerance of its relaxations, so that no cut is added twice
PART_OF_UNIT = 1e-6  # tolerance of a proof, relative to the least difference of two objectives
RELAXED_ROUNDS = 20  # maximum number of rounds of the relaxation
MANY = 4  # all walks are added to the next master if they are at most this many times as many as the violated cuts
FIRST_SECONDS = 2.0  # time limit of the first integer master that lacks cuts; doubled whenever it is reached
VARIANTS = (
    {},
    {"bottom": "flow"},
    {"literal": True},
    {"lambda": 0.25},
    {"lambda": 0.25, "bottom": "flow"},
    {"lambda": 0.25, "literal": True},
)
CHANGES = (
    node_choices.FULL,
    node_choices.STUMP,
    ModelChange(
        "cuts=path: the file has the cuts (8.2) of walks from the root, which are enough for integer points",
        SAME,
        WEAKER,
    ),
    ModelChange(
        "fit: cuts are separated at fractional points, too, and the cuts of all walks are added at once", SAME, SAME
    ),
    MERGED,
)


@value_class
class Params:
    lambda_: float = parameter(
        0.0,
        "penalty for each branch node: min (1-λ) loss + λ branch nodes; a node has to save λ/(1-λ) units of loss",
        least=0,
        below=1,
    )
    cuts: str = parameter(
        "path",
        "the rows (8.2): all walks from the root, or none (for `odtc fit`, which adds them as needed)",
        choices=("path", "none"),
    )
    literal: bool = parameter(False, "the printed master (8.1)-(8.7) and separation: w at every node, integer points")
    bottom: str = parameter("stump", "how the last branch level is written", choices=("stump", "flow"))
    one_tree: bool = parameter(
        True,
        "fit: cuts are added inside one branch-and-bound tree if the solver's package allows it; false: the solver "
        "solves one master after another",
    )
    merge: bool = merge_rows()


@value_class
class Graph:
    """The flow graph of a row without source and sink; node numbers in heap order."""

    stump: bool
    full: bool  # every branch node branches
    forks: np.ndarray  # nodes with arcs to two children
    last: np.ndarray  # nodes without: leaves, or with stumps the bottom nodes
    label: np.ndarray  # nodes with label columns
    ends: np.ndarray  # nodes where a walk may end
    whole: np.ndarray  # branch nodes whose choice of a split is integer

    @classmethod
    def of(cls, problem: Problem) -> "Graph":
        tree, none, B = problem.topology, problem.topology.nodes[:0], problem.topology.branch_nodes
        if problem.params.literal:
            return cls(False, False, B, tree.leaves, tree.nodes, tree.nodes, B)
        full = problem.params.lambda_ == 0 and not early(problem)
        if problem.params.bottom == "stump":
            label, ends = (none, tree.bottom) if full else (B, B)
            return cls(True, full, tree.inner, tree.bottom, label, ends, node_choices.whole_with_stumps(problem))
        return cls(False, full, B, tree.leaves, *(((tree.leaves,) if full else (tree.nodes,)) * 2), B)


def build(problem: Problem) -> Model:
    encoded, tree, lam, graph = problem.encoded, problem.topology, problem.params.lambda_, Graph.of(problem)
    X, y, n, F, K = encoded.X, encoded.y, encoded.n_rows, encoded.n_candidate_splits, len(encoded.classes)
    B, bottom = tree.branch_nodes, tree.bottom
    row, split, klass, side = Axis("row", n), Axis("split", F), Axis("class", K), Axis("side", 2)
    m = ModelBuilder(f"{NAME}_d{tree.depth}")

    # min (1-λ) Σ_i w_i (1 - g_i) + λ Σ_tf b_tf;  0 ≤ g_i ≤ 1,  w_i the cost of an error   (8.1), (8.5)
    price, whole = error_cost(problem), bool(knows(problem) & {Knows.RIGHT, Knows.CLASS})
    b = m.columns("b", node_axis(B), split, role=Role.BRANCH, cost=lam, integer=np.isin(B, graph.whole)[:, None])
    w = (
        m.columns("w", node_axis(graph.label), klass, role=Role.LABEL, integer=whole or not graph.stump)
        if len(graph.label)
        else None
    )
    if graph.stump:
        p = m.columns("p", node_axis(bottom), split, side, klass, role=Role.STUMP, integer=whole)
    g = m.columns("g", row, role=Role.CORRECT, cost=-(1 - lam) * price)
    m.constant((1 - lam) * float(price.sum()))

    i, k, f = np.arange(n)[:, None], np.arange(K), np.arange(F)
    node_choices.choice_rows(m, tree, b, w, graph.full, graph.stump)  # (8.3), (8.4)

    # Σ_k p_tfsk = b_tf                                t bottom, f, s                   instead of (8.4), with stumps
    if graph.stump:
        t, s = bottom[:, None, None, None], np.arange(2)[:, None]
        pick = m.rows("pick", node_axis(bottom), split, side, lower=0, upper=0)
        m.add(pick[t, f[:, None, None], s], b[t, f[:, None, None]], -1)
        m.add(pick[t, f[:, None, None], s], p[t, f[:, None, None], s, k])

    # g_i ≤ Σ_{t∈S} w_{t,y_i} + Σ_{t∈S: 2t∉S} Σ_{f: x_if=0} b_tf + Σ_{t∈S: 2t+1∉S} Σ_{f: x_if=1} b_tf
    #                                                  i, S a walk from node 1 to v     (8.2)
    # v the last node of its walk, or one that may predict.
    if problem.params.cuts == "path":
        ends = graph.ends
        path = m.rows("path", row, node_axis(ends), upper=0, lazy=True)
        m.add(path[i, ends], g[i])
        value = [[labels[:, None] for labels in labels_where(X == bit)] for bit in (0, 1)]  # the (i, f) of either value
        for up in range(tree.depth + 1):
            v = ends[np.isin(ends >> up, graph.label)]
            if len(v):
                m.add(path[i, v], w[v >> up, y[:, None]], -1)
            for away in (0, 1) if up else ():
                # At v >> up the walk turns to one side: the arc to the other leaves S.
                v, (at, asked) = ends[(ends >> up > 0) & (ends >> up - 1 & 1 != away)], value[away]
                m.add(path[at, v], b[v >> up, asked], -1)
        if graph.stump:
            m.add(path[i[:, None], bottom], p[bottom, f[:, None], X[:, :, None].view(np.uint8), y[:, None, None]], -1)
        v = ends[np.isin(ends, graph.forks), None]
        m.add(path[i[:, None], v], b[v, f], -1)
    return m.finish()


def with_cuts(model: Model, problem: Problem, rows: np.ndarray, S: np.ndarray) -> Model:
    """Return the model with (8.2) for these rows and source sets, bool (cuts, 2^(D+1)), in a last block."""
    X, y, graph = problem.encoded.X, problem.encoded.y, Graph.of(problem)
    if not len(rows):
        return model
    m, have = ModelBuilder.onto(model), {block.name: block for block in model.columns}
    cut = m.rows("cut", Axis("cut", len(rows)), upper=0)
    m.add(cut[np.arange(len(rows))], have["g"][rows])
    if len(graph.label):
        c, t = np.nonzero(S[:, graph.label])
        m.add(cut[c], have["w"][graph.label[t], y[rows[c]]], -1)
    if graph.stump:
        c, t = (labels[:, None] for labels in np.nonzero(S[:, graph.last]))
        bits = X[rows[c[:, 0]]].view(np.uint8)
        m.add(cut[c], have["p"][graph.last[t], np.arange(X.shape[1]), bits, y[rows[c]]], -1)
    for side in (0, 1):
        c, t = np.nonzero(S[:, graph.forks] & ~S[:, 2 * graph.forks + side])
        arc, f = np.nonzero(X[rows[c]] == side)
        m.add(cut[c[arc]], have["b"][graph.forks[t[arc]], f], -1)
    return m.finish()


def capacities(problem: Problem, point) -> tuple[np.ndarray, np.ndarray]:
    """Return (sink, cap) of odtc.algorithms.tree_min_cut at a point: for each row, of the arc from each node to the
    sink, and of the arc into each node."""
    encoded, graph, b = problem.encoded, Graph.of(problem), point["b"]
    sink = np.zeros((encoded.n_rows, 2 ** (problem.topology.depth + 1)))
    cap = np.zeros_like(sink)
    if len(graph.label):
        sink[:, graph.label] = point["w"][:, encoded.y].T
    for t, p in zip(graph.last, point.get("p", ())):
        sink[:, t] += np.where(encoded.X, p[:, 1, encoded.y].T, p[:, 0, encoded.y].T).sum(axis=1)
    for side, bits in enumerate((~encoded.X, encoded.X)):
        cap[:, 2 * graph.forks + side] = bits.astype(float) @ b[graph.forks - 1].T
    return sink, cap


def separate(
    problem: Problem, point, relaxed: bool = False, broken: float = TOLERANCE
) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, source sets) of cuts that a point violates by more than `broken`, at least one for each row that
    violates one."""
    graph, g, (sink, cap) = Graph.of(problem), point["g"], capacities(problem, point)
    paths = walk_sets(graph.ends, sink.shape[1])
    chosen = point["b"][graph.whole - 1]
    if not relaxed and (np.abs(chosen - np.round(chosen)) < node_choices.SURE).all():
        # The next trees would send a row that violates a cut to another of its ends. Adding all its walks at once saves
        # rounds, and each round is a MIP.
        split = node_choices.splits_at_nodes(problem, point)
        split[graph.last] = -1
        end = walks(split, problem.encoded.X)
        taken = walk_sets(end, len(split))
        caught = np.flatnonzero(g > (sink * taken).sum(axis=1) + broken)
        if problem.params.literal:  # the proof of Proposition 1: the nodes on the path of the row are the source set
            return caught, taken[caught]
        return np.repeat(caught, len(paths)), np.tile(paths, (len(caught), 1))
    # All walks that are violated, since integer points will need them too; a minimum cut for a row that violates none.
    violated = g[:, None] > walk_values(sink, cap, graph.forks)[:, graph.ends] + broken
    least, S = min_cuts(sink, cap, graph.forks)
    others = np.flatnonzero((g > least + broken) & ~violated.any(axis=1))
    rows, ends = np.nonzero(violated)
    return np.append(rows, others), np.vstack([paths[ends], S[others]])


def loops(problem: Problem) -> bool:
    """Return whether rounds of cuts are needed: not with all walks in the model, because an integer point of it
    violates no cut."""
    return problem.params.cuts == "none"


def fit(base: Model, solve, start=None, tell=None, left=None, in_tree=None) -> tuple[Model, Solution]:
    """Return the last master and the best tree as a point of it, with the cuts that points violate.

    Every master is a relaxation, so every bound is valid; every point contains a tree. `in_tree(model, cuts, start)`
    is a solver that adds cuts inside its tree, or None.
    """
    run = _Separation(base, start, tell, left or (lambda: None))
    if in_tree is not None and base.problem.params.one_tree:
        model, found = run.in_one_tree(in_tree)
        if found.termination != Termination.ERROR:  # such as a package whose licence is for smaller models
            return run.answer(model, found)
    if not base.problem.params.literal and (stopped := run.relax()) is not None:
        return run.answer(run.model(), stopped)
    return run.answer(*run.in_rounds(solve))


class _Filled(Exception):
    """Raised to end a solver, because its next tree begins with the cuts of all walks."""


class _Separation:
    """The best tree, the bound and the cuts that are known while `fit` runs."""

    def __init__(self, base: Model, start, tell, left):
        self.problem, self.base, self.left, self._tell = base.problem, replace(base, built=None), left, tell
        self.began, self.size = time.monotonic(), 2 ** (self.problem.topology.depth + 1)
        one_leaf = settle(np.full(self.size, -1, np.int32), self.problem.encoded)
        begun = one_leaf if start is None else decode(self.problem, base.split(start))
        self.best = _better(self.problem, None, begun)
        self.pool, self.bound, self.nodes, self.filled = CutPool(self.size), None, 0, False
        self.history: list[tuple[float, float | None, float | None]] = []
        exact = exact_objective(self.problem)
        self.unit = 0.0 if exact is None else float(exact.unit)  # the least difference of two different objectives
        self._columns = replaced(self.base, rows=(), terms=(), row_lower=np.zeros(0), row_upper=np.zeros(0), lazy=())

    @property
    def cost(self) -> float | None:
        return None if self.best is None else objective(self.problem, self.best)

    @property
    def proved(self) -> bool:
        if None in (self.bound, self.cost):
            return False
        return self.bound >= self.cost - max(TOLERANCE * max(1.0, self.cost), self.unit * (1 - PART_OF_UNIT))

    @property
    def time_over(self) -> bool:
        return self.left() is not None and self.left() <= 0

    def model(self) -> Model:
        """Return the master with the cuts of the pool."""
        return with_cuts(self.base, self.problem, self.pool.rows, self.pool.S)

    def rows(self, rows: np.ndarray, S: np.ndarray):
        """Return the cuts as a csr_array (cuts, columns); their upper bounds are 0."""
        return with_cuts(self._columns, self.problem, rows, S).A.tocsr()

    def fill(self) -> bool:
        """Add the cuts of all walks to the pool as soon as it contains one in MANY of them, because solvers handle rows
        much better if they have them from the beginning. Return whether this was done now."""
        if not self.filled:
            pool, self.pool = self.pool, _for_whole(self.problem, self.pool, True)
            self.filled = pool is not self.pool
            return self.filled
        return False

    def take(self, point, relaxed: bool) -> None:
        """Take the trees of a point, if they are better."""
        asked = settle(node_choices.splits_at_nodes(self.problem, point), self.problem.encoded)
        self.best = _better(self.problem, self.best, asked, *(() if relaxed else (decode(self.problem, point),)))

    def learn(self, bound: float | None) -> None:
        if bound is not None:
            self.bound = bound if self.bound is None else max(self.bound, bound)

    def say(self, phase: str, had: int, new: int) -> None:
        """Report a round that has ended."""
        seconds = time.monotonic() - self.began
        self.history.append((round(seconds, 3), self.cost, self.bound))
        if self._tell:
            self._tell(Round(len(self.history), phase, had, new, self.cost, self.bound, seconds))

    def relax(self) -> Solution | None:
        """Add the cuts that points of the linear relaxation violate; return the Solution if nothing is left to do."""
        lp = growing_lp(replace(self.base, integrality=np.zeros_like(self.base.integrality)))
        walked = None
        for _ in range(RELAXED_ROUNDS):
            try:
                value = solve_growing_lp(lp, self.left())
            except KeyboardInterrupt:
                return self._ended(Termination.INTERRUPTED)
            except SolverError:  # constraints may leave no tree, which the solver of the whole master reports
                return None
            if value is None:
                return self._ended(Termination.TIME_LIMIT)
            self.learn(value)
            point, had = self.base.split(np.array(lp.getSolution().col_value)), len(self.pool.rows)
            self.take(point, True)
            rows, S = separate(self.problem, point, True)
            new = self.pool.add(rows, S)
            if walked is None and not are_walks(S).any():
                walked = value  # of the relaxation with all walks, because its point violates none
            self.say("relaxation", had, new)
            if self.proved:
                return self._ended(Termination.OPTIMAL)
            if not new:
                break
            add_rows(lp, self.rows(self.pool.rows[had:], self.pool.S[had:]), np.zeros(new))
        pool, self.pool = (
            self.pool,
            _for_whole(self.problem, self.pool, walked is None or self.bound > walked + node_choices.SURE),
        )
        self.filled = pool is not self.pool
        return None

    def in_rounds(self, solve) -> tuple[Model, Solution]:
        """Solve the master with integer variables, add the cuts that its point violates, and solve it again."""
        n_walks = self.problem.encoded.n_rows * len(Graph.of(self.problem).ends)
        limit = max(FIRST_SECONDS, time.monotonic() - self.began)
        while True:
            model, had = self.model(), len(self.pool.rows)
            short = None if had >= n_walks else limit
            found = solve(model, start=complete(self.problem, model, self.best) if self.best else None, seconds=short)
            self.nodes += found.nodes or 0
            self.learn(found.bound)
            finished, new = found.termination == Termination.OPTIMAL, 0
            if found.has_solution:
                point = model.split(found.x)
                self.take(point, False)
                new = self.pool.add(*separate(self.problem, point))
                self.fill()
            self.say("whole", had, new)
            open_still = short is not None and found.termination == Termination.TIME_LIMIT and not self.time_over
            if open_still:
                limit *= 2
            if self.proved or not (open_still or (finished and new)):
                return model, found

    def in_one_tree(self, solve) -> tuple[Model, Solution]:
        """Solve the master while cuts are added inside its tree; a second time if `fill` adds all."""
        model, had_all = self.model(), self.filled
        n_columns = model.n_cols
        literal = self.problem.params.literal

        def cuts(x: np.ndarray, whole: bool):
            if literal and not whole:
                return self.rows(np.zeros(0, int), np.zeros((0, self.size), bool)), np.zeros(0)
            point = model.split(x[:n_columns])
            if whole:
                self.take(point, False)
            rows, S = separate(self.problem, point, not whole, BROKEN_IN_TREE)
            if self.pool.add(rows, S) and self.fill():
                raise _Filled
            return self.rows(rows, S), np.zeros(len(rows))

        found = solve(model, cuts, complete(self.problem, model, self.best) if self.best else None)
        self.nodes += found.nodes or 0
        if self.filled and not had_all and found.termination not in STOPPED:
            return self.in_one_tree(solve)
        if found.has_solution:
            self.take(model.split(found.x), False)
        self.learn(found.bound)
        self.say("tree", 0, len(self.pool.rows))
        return self.model(), found

    def _ended(self, termination: Termination) -> Solution:
        return Solution(None, termination, solver="HiGHS")

    def answer(self, model: Model, found: Solution) -> tuple[Model, Solution]:
        """Return the best tree as a point of the last master, with its bound or proof."""
        cost, termination = self.cost, found.termination
        if not (found.has_solution or self.proved or termination in STOPPED):
            return model, found  # the solver failed, and its message states why
        told = dict(bound=self.bound, seconds=time.monotonic() - self.began, nodes=self.nodes)
        if self.best is None:  # no round had a tree that satisfies the constraints
            return model, replace(found, x=None, objective=None, history=(), **told)
        x = complete(self.problem, model, self.best)
        if self.proved:
            told["bound"], termination = cost, Termination.OPTIMAL
        elif termination == Termination.OPTIMAL and cost > found.objective + node_choices.SURE:
            termination = Termination.UNKNOWN  # the solver's point violates rows that it was given
        return model, replace(
            found,
            x=x,
            objective=model.objective(x),
            claimed=None,
            history=tuple(self.history),
            termination=termination,
            **told,
        )


def _for_whole(problem: Problem, pool: CutPool, others: bool) -> CutPool:
    """Return the cuts for the next integer round: all walks, in the order of `cuts=path`, and after them the
    `others`, if these raise the bound. If all walks are many times the cuts of the pool, its cuts are used instead,
    because the rounds will add more."""
    n, paths = problem.encoded.n_rows, walk_sets(Graph.of(problem).ends, pool.S.shape[1])
    if n * len(paths) > MANY * len(pool.rows):
        return pool
    whole = CutPool(pool.S.shape[1])
    whole.add(np.repeat(np.arange(n), len(paths)), np.tile(paths, (n, 1)))
    if others:
        whole.add(pool.rows, pool.S)
    return whole


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return any tree of this depth over the splits as a complete feasible point: {block: values}."""
    encoded, graph = problem.encoded, Graph.of(problem)
    heap = node_choices.fit_to_depth(problem, heap, graph.full)
    point = node_choices.point_of(problem, heap, graph.label, graph.stump)
    return point | {"g": (heap.label[heap.reach(encoded.X)] == encoded.y).astype(float)}


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, read only from b, w and p."""
    graph = Graph.of(problem)
    return node_choices.tree_of(problem, point, graph.label, graph.stump)


def _better(problem: Problem, best: HeapTree | None, *trees: HeapTree) -> HeapTree | None:
    """Return the cheapest of these trees, or None if none satisfies the constraints: a tree read from the splits of a
    relaxation, or with the best labels, may violate them."""
    for tree in trees:
        if not broken(problem, tree) and (best is None or objective(problem, tree) < objective(problem, best)):
            best = tree
    return best


def subjects(params) -> tuple[Subject, ...]:
    """Return the subjects of constraints that it supports: it knows which rows are correct, but not the class that is
    predicted for a misclassified row, nor the leaf where it ends."""
    return tuple(
        subject
        for subject in Subject
        if subject not in (Subject.LEAF_ROWS, Subject.PREDICTIONS, Subject.LEAVES, Subject.SETTLED)
    )
