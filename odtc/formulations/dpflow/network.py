"""The dynamic program as a flow through its states: variables that represent one split, or one label.

One unit of flow enters the state of all rows R; at a state S of level j it stops, or takes a split f and enters both S
& f and S & ~f (odtc.formulations.dpflow.program):

    min  Σ_{j,S} (1-λ) e(S) t_jS + Σ_{j,S,f} λ u_jSf                     e(S): the least loss of one label
    t_0R + Σ_f u_0Rf = 1
    t_jS + Σ_f u_jSf = Σ_{P,g: S in {P & g, P & ~g}} u_{j-1,P,g}         all other states
    t, u >= 0

Every vertex is a tree. Given a feasible point, draw a tree from the root down, at each state S an arc with probability
u / inflow(S): the states of one level of a tree are disjoint and not empty, so each is visited at most once, with its
inflow as probability, and the point is the mean of trees. So the model needs no integer variables: any LP solver
proves the tree. Below the last level of arcs, the cost of a side is the cost of its best subtree of `tail` levels
(folded: the compiler has solved it), or with tail 0 of its best label; a state whose best label has the unavoidable
cost is not expanded.

Martin, Rardin & Campbell 1990, "Polyhedral Characterization of Discrete Dynamic Programming" (Operations Research 38)
for the integrality; there is no paper on this for trees.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.dp.state_graph import Graph, Rows
from odtc.base.wording import param
from odtc.data.task import TASKS
from odtc.errors import TreeError
from odtc.formulations.dpflow.extract_tree import lay_best
from odtc.formulations.dpflow.program import Shape, share
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.problem.branch_penalty import objective
from odtc.problem.exact_objective import exact_objective, search_costs
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree, settle, with_min_leaf_rows

ROUNDED = 1e-12  # of an objective: sums of doubles in another order


def flow_model(problem: Problem, graph: Graph) -> tuple[ModelBuilder, list[Block | None]]:
    """Return the model of the flows through these states.

    Parameters
    ----------
    problem : Problem
    graph : Graph
        States and arcs with their costs, in the units of the program.

    Returns
    -------
    ModelBuilder
        With all variables t, u and all constraints; a variant may add its own.
    list of Block or None
        The variables u of each level, None for a level without arcs.
    """
    F = problem.encoded.n_candidate_splits
    m = ModelBuilder(f"{problem.formulation}_d{problem.topology.depth}")
    flows = []
    for j, level in enumerate(graph.levels):
        state, test = Axis("state", level.n_states), Axis("test", F)
        t = m.columns(f"t{j}", state, role=Role.STOP, cost=share(problem, level.stop))
        members = level.state.astype(np.int64) * F + level.test
        u = (
            m.columns(f"u{j}", state, test, role=Role.ARC, cost=share(problem, level.cost), members=members)
            if len(members)
            else None
        )
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
    return m, [u for _, _, u in flows]


def point_of(
    problem: Problem, graph: Graph, heap: HeapTree, stops: bool = False, beaten: bool = False
) -> dict[str, np.ndarray]:
    """Return a tree as a flow.

    Parameters
    ----------
    problem : Problem
    graph : Graph
        The states and arcs of the model.
    heap : HeapTree
        A tree that the `trimmed` of the variant made.
    stops : bool
        Whether a state without the arc of the tree's split is left as a stop, as in a proof.
    beaten : bool
        Whether the model lacks trees that cost more than one that the compiler knows.

    Returns
    -------
    dict
        The values of the variables t and u, by block.

    Raises
    ------
    TreeError
        If the model does not contain the tree.
    """
    point = {f"t{j}": np.zeros(level.n_states) for j, level in enumerate(graph.levels)}
    point |= {f"u{j}": np.zeros(len(level.state)) for j, level in enumerate(graph.levels) if len(level.state)}
    cost, stack = 0.0, [(1, 0, 0)]
    while stack:
        node, j, state = stack.pop()
        level = graph.levels[j]
        arcs = slice(*level.first[state : state + 2])
        found = np.flatnonzero(level.test[arcs] == heap.test[node]) if heap.test[node] >= 0 else []
        if heap.test[node] < 0 or (not len(found) and stops):
            point[f"t{j}"][state] = 1
            cost += level.stop[state]
            continue
        if not len(found):
            raise TreeError(
                f"the tree has a split at node {node} that separates too few rows there, or is not "
                f"needed{', or the tree costs more than one that the compiler knows' if beaten else ''}; drop it"
            )
        arc = arcs.start + int(found[0])
        point[f"u{j}"][arc] = 1
        cost += level.cost[arc]
        stack += [(2 * node + side, j + 1, int(s)) for side, s in enumerate(level.below[arc]) if s >= 0]
    cost, off, paid = *share(problem, np.array([cost, graph.rows.near])).tolist(), objective(problem, heap)
    if TASKS.get(problem.encoded.task).MOMENTS:  # a leaf has one label, and no subtrees are folded
        return point
    if abs(cost - paid) > max(off, ROUNDED * abs(paid)) and (
        exact_objective(problem) is None or search_costs(problem).plain
    ):
        raise TreeError(
            f"the tree costs {paid:.10g}, the model writes it as one of {cost:.10g}: it has leaves or folded subtrees "
            f"that are not the best; give the tree that a heuristic makes, or set {param('tail', 0)} "
            f"{param('fold', False)}"
        )
    return point


def pruned(problem: Problem, rows: Rows, price: float, shape: Shape, heap: HeapTree) -> HeapTree:
    """Return a tree that costs no more: without splits that no row needs, each leaf with its best label, and the best
    subtrees if the model folds them. A tree with too few rows in a leaf is first pruned."""
    encoded = problem.encoded
    test = with_min_leaf_rows(settle(heap.test, encoded), encoded, rows.least).test.copy()

    def walk(t, members, level):
        loss, floor = float(rows.leaf_costs(rows.loss[members].sum(axis=0))), rows.floor[members].sum()
        if level == shape.levels and shape.tail:
            lay_best(rows, price, members, test, t, shape.tail)
        elif problem.params.fold and loss <= floor + rows.near:
            test[t] = -1
        elif test[t] >= 0:
            ones = rows.X[members, test[t]]
            walk(2 * t, members[~ones], level + 1)
            walk(2 * t + 1, members[ones], level + 1)

    walk(1, np.arange(len(rows.X)), 0)
    return settle(test, encoded)


def largest_flow(point: dict[str, np.ndarray]) -> Callable:
    """Return the `way` of odtc.formulations.dpflow.extract_tree.tree_along that follows the largest flow of a point,
    because a point within the optimal face mixes optimal trees."""

    def way(j, state, arcs):
        flow = point[f"u{j}"][arcs] if arcs.stop > arcs.start else np.zeros(1)
        return None if flow.max() <= point[f"t{j}"][state] else int(flow.argmax())

    return way
