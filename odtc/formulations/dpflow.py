"""dpflow: the dynamic program for optimal trees as a flow, whose linear program is its own proof.

A state is a set of rows S that some path of j tests leaves (odtc.states). One unit of flow enters
the state of all rows; at a state it stops, or asks a test f and enters both S & f and S & ~f:

    min  Σ_{j,S} (1-λ) e(S) t_jS + Σ_{j,S,f} λ u_jSf                     e(S): the least loss of one label
    t_0R + Σ_f u_0Rf = 1                                                 R: all rows
    t_jS + Σ_f u_jSf = Σ_{P,g: S in {P & g, P & ~g}} u_{j-1,P,g}         all other states
    t, u >= 0

Every vertex is a tree. Given a feasible point, draw a tree from the root down, at each state S an
arc with probability u / inflow(S): the states of one level of a tree are disjoint and not empty, so
each is visited at most once, with its inflow as probability, and the point is the mean of trees. So
the model needs no integer columns: any LP solver proves the tree. Below the last level of arcs a
side costs what its best subtree of `tail` levels does (folded: the compiler has solved it), with
tail 0 its best label; a state whose best label costs what no tree can avoid is not expanded.

Where every leaf must have N rows of the data, no arc parts fewer from a state. What is left are the
flows of the trees that keep it, so the program stays integral; folded, its columns are subtrees (odtc.budgeted).
Where a constraint bounds a sum over the tree (rows predicted so, branch nodes), there is a column for each label or folded
subtree that no other dominates, with what it uses of the bound, Σ_p a_p t_p ≤ upper, and all columns are whole (odtc.budgeted).
Where a constraint speaks of what a node asks, the states know their nodes (odtc.paths; of both, odtc.joint).

Over many ordered thresholds one column stands for an interval of them (odtc.interval_model).

Martin, Rardin & Campbell 1990, "Polyhedral Characterization of Discrete Dynamic Programming"
(Operations Research 38) for the integrality; nobody's paper for trees.
"""

from dataclasses import dataclass

import numpy as np

from odtc import budgeted, deadline, early, interval_model, joint, levels, paths
from odtc.constraint import Knows, broken, least_rows
from odtc.errors import TreeError
from odtc.fixing import Fixed
from odtc.formulation import Problem, Role, parameter
from odtc.heap import HeapTree, blank, settle, with_least
from odtc.model import Axis, Model, ModelBuilder
from odtc.states import Graph, Rows, generate, program, valued
from odtc.subtree import graft
from odtc.targets import reduced
from odtc.trace import lay_best, tree_along

NAME = "dpflow"
TITLE = "dpflow: the dynamic program as a flow; any LP solver proves the tree"
PAPER = "Martin, Rardin & Campbell (1990), Polyhedral Characterization of Discrete Dynamic Programming"

ANY_COST = True
ROWS = ("leaf_rows",)
KEEPS = (*ROWS, *budgeted.kinds())


@dataclass(frozen=True)
class Params:
    lambda_: float = parameter(0.0, "price of a branch node: min (1-λ) errors + λ branch nodes", least=0, below=1)
    tail: str = parameter("auto", "levels above the leaves that the compiler solves (auto: 0 to depth 2, 1 at depth 3, else 2; more if it is large; 1 where a constraint bounds a sum over the tree)",
                          choices=("auto", "0", "1", "2"))
    fold: bool = parameter(True, "a state that costs what no tree can avoid is not expanded, nor a depth that none needs; but where a constraint bounds a sum")
    fix: bool = parameter(True, "where a constraint bounds a sum over the tree, or what is asked: without what no better tree than one found has")
    intervals: str = parameter("auto", "ordered thresholds: one column for many, refined until it costs as much as the best tree, which the compiler has found",
                               choices=("auto", "true", "false"))
    proof: bool = parameter(False, "only the states that prove the optimum, which the compiler has found: the smallest such file")


@dataclass(frozen=True)
class Shape:
    """The depth of the trees that the model holds, and how many levels of them are folded."""

    depth: int
    tail: int

    @property
    def levels(self) -> int:
        return self.depth - self.tail

    @classmethod
    def of(cls, problem: Problem) -> "Shape":
        """A depth less than the problem's where a tree of that depth costs what no tree can avoid."""
        depth, params = problem.topology.depth, problem.params
        tests = None if remembers(problem) else attained(problem)  # a tree of less depth may not keep them
        depth = depth if tests is None else max(1, len(tests).bit_length() - 1)
        if sees(problem) or not remembers(problem) and least_rows(problem) > 1:  # the tables that fold a level do not count rows (odtc.budgeted does)
            return cls(depth, 0)
        tail = int(params.tail) if params.tail != "auto" else levels.short_tail(problem.encoded.n_tests, depth)
        return cls(depth, min(depth - 1, tail))


def keeps(problem: Problem) -> tuple[str, ...]:
    """The kinds of constraints that decide which states and arcs there are; a proof is one of all trees with such leaves."""
    if interval_model.taken(problem):
        return ()
    if remembers(problem):
        bars = tuple(given.name for given in problem.constraints if paths.barring(given.name))
        return (*ROWS, *bars, *(budgeted.kinds() if _budgeted(problem) else ()))
    return ROWS if problem.params.proof else KEEPS


def hinders(problem: Problem, given) -> str:
    """The parameter for which a constraint is not kept that would be without it, as on the command line; "" for none."""
    params = problem.params
    if given.name not in KEEPS and given.module.KNOWS != Knows.TESTS:
        return ""
    return "-p proof=true" if params.proof else "-p intervals=true" if params.intervals == "true" else f"-p tail={params.tail}" if params.tail in ("1", "2") else ""


def remembers(problem: Problem) -> bool:
    """Whether states remember their paths, since a constraint speaks of what is asked (odtc.paths)."""
    if problem.params.proof or interval_model.taken(problem):
        return False
    others = [given for given in problem.constraints if given.name not in ROWS]
    alone = problem.params.tail in ("auto", "0") or all(paths.barring(given.name) for given in others)
    return alone and any(given.module.KNOWS == Knows.TESTS and given.name not in KEEPS for given in others)


def sees(problem: Problem) -> bool:
    """Whether they know their nodes, for constraints in rows."""
    return remembers(problem) and any(given.name not in keeps(problem) for given in problem.constraints)


def build(problem: Problem) -> Model:
    if interval_model.taken(problem):
        return interval_model.build(problem, NAME)
    if _budgeted(problem):
        model = budgeted.build(problem, _fixed(problem).flow, lambda loss: _share(problem, loss))
        return joint.asked(problem, _fixed(problem), model) if sees(problem) else model
    graph = _program(problem)
    F = problem.encoded.n_tests
    m = ModelBuilder(f"{NAME}_d{problem.topology.depth}")
    flows = []
    for j, level in enumerate(graph.levels):
        state, test = Axis("state", level.n_states), Axis("test", F)
        t = m.columns(f"t{j}", state, role=Role.STOP, cost=_share(problem, level.stop))
        members = level.state.astype(np.int64) * F + level.test
        u = m.columns(f"u{j}", state, test, role=Role.ARC, cost=_share(problem, level.cost), members=members) if len(members) else None
        flows.append((m.rows(f"flow{j}", state, lower=float(j == 0), upper=float(j == 0)), t, u))
    for j, (level, (flow, t, u)) in enumerate(zip(graph.levels, flows)):
        every, arc = np.arange(level.n_states), np.arange(len(level.state))
        m.add(flow[every], t[every])
        if u is None:
            continue
        m.add(flow[level.state], u[arc])
        for side in (0, 1):
            on = np.flatnonzero(level.below[:, side] >= 0)
            if len(on):
                m.add(flows[j + 1][0][level.below[on, side]], u[on], -1)
    if sees(problem):
        paths.asked(problem, graph, m, [u for _, _, u in flows])
    return m.finish()


def _share(problem: Problem, loss: np.ndarray) -> np.ndarray:
    """(1-λ) · loss, in which branch nodes count λ / (1-λ) each; without the noise of their division."""
    lam = problem.params.lambda_
    return np.round((1 - lam) * loss, 12) if lam else loss


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """A tree that `trimmed` made, as a point: leaves have the labels that cost least, and folded parts
    are the best there are. Raises TreeError for another."""
    if interval_model.taken(problem):
        return interval_model.start(problem, heap)
    if _budgeted(problem):
        return budgeted.start(problem, _fixed(problem).flow, heap) | _asked(problem, heap)
    graph, encoded = _program(problem), problem.encoded
    point = {f"t{j}": np.zeros(level.n_states) for j, level in enumerate(graph.levels)}
    point |= {f"u{j}": np.zeros(len(level.state)) for j, level in enumerate(graph.levels) if len(level.state)}
    point |= _asked(problem, heap)
    cost, stack = 0.0, [(1, 0, 0)]
    while stack:
        node, j, state = stack.pop()
        level = graph.levels[j]
        if heap.test[node] < 0:
            point[f"t{j}"][state] = 1
            cost += level.stop[state]
            continue
        arcs = slice(*level.first[state : state + 2])
        found = np.flatnonzero(level.test[arcs] == heap.test[node])
        if not len(found) and problem.params.proof:  # what needs no state is written as a stop
            point[f"t{j}"][state] = 1
            cost += level.stop[state]
            continue
        if not len(found):
            raise TreeError(f"the tree asks a test at node {node} that parts too few rows there, or need not be asked{'' if incumbent(problem) is None else ', or the tree costs more than one that the compiler knows'}; drop it")
        arc = arcs.start + int(found[0])
        point[f"u{j}"][arc] = 1
        cost += level.cost[arc]
        stack += [(2 * node + side, j + 1, int(s)) for side, s in enumerate(level.below[arc]) if s >= 0]
    cost *= 1 - problem.params.lambda_
    if abs(cost - (paid := objective(problem, heap))) > 1e-9 * max(1.0, float(encoded.loss.sum())):
        raise TreeError(f"the tree costs {paid:.10g}, the model writes it as one of {cost:.10g}: it has leaves or folded "
                        "subtrees that are not the best; give the tree that a heuristic makes, or set -p tail=0 -p fold=false")
    return point


def _asked(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """What each node asks, where there are columns for it."""
    return {"b": heap.test[problem.topology.branch_nodes, None] == np.arange(problem.encoded.n_tests)} if sees(problem) else {}


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """A tree that costs no more: without what no row needs, each leaf with its best label, and the best
    subtrees where the model folds them. One with too few rows in a leaf is first pruned."""
    if interval_model.taken(problem):
        return optimal(problem)
    if _budgeted(problem):
        return budgeted.trimmed(problem, _fixed(problem), heap)
    encoded, rows, shape = problem.encoded, rows_of(problem), Shape.of(problem)
    if remembers(problem) and not sees(problem):
        heap = with_least(settle(heap.test, encoded), encoded, rows.least)
        return paths.along(problem, _whole(problem), None if broken(problem, heap) else heap, shape.levels)
    if shape.depth < problem.topology.depth or problem.params.proof:
        return optimal(problem)
    price, test = branch_price(problem), with_least(settle(heap.test, encoded), encoded, rows.least).test.copy()

    def walk(t, members, level):
        loss, floor = rows.loss[members].sum(axis=0), rows.floor[members].sum()
        if level == shape.levels and shape.tail:
            lay_best(rows, price, members, test, t, shape.tail)
        elif problem.params.fold and loss.min() <= floor + rows.near:
            test[t] = -1
        elif test[t] >= 0:
            ones = rows.X[members, test[t]]
            walk(2 * t, members[~ones], level + 1)
            walk(2 * t + 1, members[ones], level + 1)

    walk(1, np.arange(len(rows.X)), 0)
    heap = settle(test, encoded)
    if not remembers(problem):
        return heap
    better, wrong = incumbent(problem), broken(problem, heap)
    return better if better is not None and (wrong or objective(problem, heap) > objective(problem, better)) else heap


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """The tree of a point: at each state the way with the largest flow, as a point within the optimal
    face mixes optimal trees; folded subtrees are searched for again. A proof leaves out all but what
    bounds the optimum, so that its tree is the compiler's: its cost is what the file proves."""
    if interval_model.taken(problem):
        return optimal(problem)
    if _budgeted(problem):
        return budgeted.decode(problem, _fixed(problem), point)
    if problem.params.proof:
        return optimal(problem)

    def way(j, state, arcs):
        flow = point[f"u{j}"][arcs] if arcs.stop > arcs.start else np.zeros(1)
        return None if flow.max() <= point[f"t{j}"][state] else int(flow.argmax())

    shape = Shape.of(problem)
    if remembers(problem):
        whole = _whole(problem)
        return tree_along(problem, whole, lambda j, state, arcs: (way if j < shape.levels else whole.best)(j, state, arcs))
    return tree_along(problem, _skeleton(problem), way, shape.tail, shape.depth)


def notes(problem: Problem) -> dict:
    """Where columns were left out because no better tree has them: how many, and the bound and the tree that prove it."""
    if (better := incumbent(problem)) is not None:
        found = problem.memo["dpflow sight"]
        return {"fixed": {"arcs": found.n_fixed, "of": found.n_arcs, "bound": float(_share(problem, found.graph.values[0][0])),
                          "incumbent": objective(problem, better)}}
    if not (_budgeted(problem) and budgeted.bounded(problem) and problem.params.fix):
        return {}
    found = _fixed(problem)
    cost = None if found.incumbent is None else float(_share(problem, found.incumbent.vector[0]))
    left = found.n_left if isinstance(found, joint.Joint) else found.flow.n_columns
    return {"fixed": {"columns": found.n_columns - left, "of": found.n_columns,
                      "bound": float(_share(problem, found.bound)), "incumbent": cost}}


def objective(problem: Problem, heap: HeapTree) -> float:
    """(1-λ) · loss + λ · branch nodes."""
    lam = problem.params.lambda_
    return (1 - lam) * heap.loss(problem.encoded) + lam * heap.n_branch_nodes


def branch_price(problem: Problem) -> float:
    """λ / (1-λ): the loss that pays for one branch node."""
    return problem.params.lambda_ / (1 - problem.params.lambda_)


def _budgeted(problem: Problem) -> bool:
    """Whether columns are subtrees (odtc.budgeted), or labels beside what is asked (odtc.joint)."""
    if problem.params.proof or interval_model.taken(problem):
        return False
    return any(given.name in budgeted.answering() for given in problem.constraints) if remembers(problem) else budgeted.taken(problem)


def _fixed(problem: Problem) -> Fixed:
    if "dpflow flow" not in problem.memo:
        problem.memo["dpflow flow"] = joint.flow_of(problem, sees(problem)) if remembers(problem) else budgeted.flow_of(problem)
    return problem.memo["dpflow flow"]


def rows_of(problem: Problem) -> Rows:
    """The rows of the program, with what each label costs on them."""
    if "dpflow rows" not in problem.memo:
        deadline.check()
        encoded = problem.encoded
        problem.memo["dpflow rows"] = Rows.of(encoded.X, encoded.loss, encoded.copies, least_rows(problem))
    return problem.memo["dpflow rows"]


def known(problem: Problem) -> Graph:
    """The program down to the states with two levels left (or the leaves: odtc.states.valued), with the
    value of every state, in units of loss."""
    if "dpflow known" not in problem.memo:
        problem.memo["dpflow known"] = valued(rows_of(problem), Shape.of(problem).depth, branch_price(problem), problem.params.fold)
    return problem.memo["dpflow known"]


def states(problem: Problem) -> tuple[Graph | None, int]:
    """(graph, levels): states of all trees of the problem's depth with their values, of which the first so many
    levels have arcs of one test each; those that were made already, where they are these."""
    depth, shape, rows = problem.topology.depth, Shape.of(problem), rows_of(problem)
    if shape.depth == depth and not shape.tail and not problem.params.proof and "dpflow program" in problem.memo:
        return problem.memo["dpflow program"], depth
    if rows.least == 1 and depth <= 2:
        return None, 0
    graph = known(problem) if shape.depth == depth else valued(rows, depth, branch_price(problem), problem.params.fold)
    return graph, depth if rows.least > 1 else depth - 2


def incumbent(problem: Problem) -> HeapTree | None:
    """The tree of the compiler's that bounds what the model holds, None where nothing does."""
    if not remembers(problem) or _budgeted(problem):
        return None
    _whole(problem)
    return problem.memo["dpflow sight"].incumbent


def attained(problem: Problem) -> np.ndarray | None:
    """The tests of a tree that costs what none can avoid, where one was quickly found (odtc.early)."""
    params, rows = problem.params, rows_of(problem)
    if not params.fold or params.lambda_ or rows.least > 1:
        return None
    if "dpflow attained" not in problem.memo:
        problem.memo["dpflow attained"] = early.attained(rows, problem.topology.depth)
    return problem.memo["dpflow attained"]


def optimal(problem: Problem) -> HeapTree:
    """The best tree, by the values of the states."""
    if interval_model.taken(problem):
        return interval_model.optimal(problem)
    if (tests := attained(problem)) is not None:
        test, _ = blank(problem.topology)
        graft(test, 1, tests)
        return settle(test, problem.encoded)
    depth = Shape.of(problem).depth
    shape = Shape(depth, 0 if rows_of(problem).least > 1 else min(2, depth - 1))
    graph = known(problem).folded(shape.levels)
    return tree_along(problem, graph, graph.best, shape.tail, depth)


def _program(problem: Problem) -> Graph:
    """The states and arcs of the model with their costs, in units of loss."""
    if "dpflow program" not in problem.memo:
        shape = Shape.of(problem)
        if remembers(problem):
            graph = _whole(problem).folded(shape.levels)
        elif shape.tail == 2:
            graph = known(problem).folded(shape.levels)
        else:
            graph = program(rows_of(problem), shape.depth, branch_price(problem), problem.params.fold, shape.tail)
        problem.memo["dpflow program"] = reduced(graph) if problem.params.proof else graph
    return problem.memo["dpflow program"]


def _whole(problem: Problem) -> Graph:
    """The states that remember, none of them folded away."""
    if "dpflow sight" not in problem.memo:
        graph = program(rows_of(problem), problem.topology.depth, branch_price(problem), problem.params.fold)
        problem.memo["dpflow sight"] = paths.sight(problem, graph, sees(problem))
    return problem.memo["dpflow sight"].graph


def _skeleton(problem: Problem) -> Graph:
    """The same states and arcs, without the cost of what is folded where it is not known already."""
    if "dpflow program" in problem.memo:
        return _program(problem)
    return generate(rows_of(problem), Shape.of(problem).levels, branch_price(problem), problem.params.fold)
