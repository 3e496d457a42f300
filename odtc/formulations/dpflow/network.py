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

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from odtc.algorithms.dp.lattice import Layer
from odtc.algorithms.dp.state_graph import Graph, Rows
from odtc.base.value_class import value_class
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

ROUNDED = 1e-12  # relative to an objective: difference of sums of doubles in another order


@value_class
class Columns:
    """Variables of one level, each of which leaves a state.

    Attributes
    ----------
    stem : str, the name of their block without the level
    role : Role
    state : int (variables,), ascending
    cost : float or float64 (variables,), in units of the objective
    axis : Axis or None, of the second index of the block; None if every state has one variable
    index : int (variables,) or None, the values of this index, ascending for each state
    below : int (variables, 2) or None, the states of the next level into which the flow goes on; -1 for none
    """

    stem: str
    role: Role
    state: np.ndarray
    cost: ArrayLike
    axis: Axis | None = None
    index: np.ndarray | None = None
    below: np.ndarray | None = None


def write_flow(
    m: ModelBuilder, levels: list[tuple[int, list[Columns]]], integer: bool = False
) -> list[dict[str, Block]]:
    """Write the flow of one unit through the states of some levels.

    Parameters
    ----------
    m : ModelBuilder
    levels : list of (states, variables that leave them)
    integer : bool, whether the variables are integer

    Returns
    -------
    list of dict
        The blocks of each level by their stems; a block without variables is not there.
    """
    rows: list[Block] = []
    blocks: list[dict[str, Block]] = []
    for j, (n_states, columns) in enumerate(levels):
        state, found = Axis("state", n_states), {}
        for one in columns:
            axes, members = (state,), None
            if one.axis is not None and one.index is not None:
                axes, members = (state, one.axis), one.state.astype(np.int64) * one.axis.size + one.index
            if len(one.state):
                terms = {"role": one.role, "integer": integer, "cost": one.cost, "positions": members}
                found[one.stem] = m.columns(f"{one.stem}{j}", *axes, **terms)
        blocks.append(found)
        rows.append(m.rows(f"flow{j}", state, lower=float(j == 0), upper=float(j == 0)))
    for j, (_, columns) in enumerate(levels):
        for one in columns:
            if one.stem in blocks[j]:
                block = blocks[j][one.stem]
                m.add(rows[j][one.state], block[np.arange(len(one.state))])
                if one.below is not None and j + 1 < len(rows):
                    _lead_on(m, rows[j + 1], block, one.below)
    return blocks


def _lead_on(m: ModelBuilder, row: Block, block: Block, below: np.ndarray) -> None:
    """Add the flow of variables to the states below; twice if both sides are one state."""
    same = (below[:, 0] == below[:, 1]) & (below[:, 0] >= 0)
    for side, on, times in ((0, ~same, 1), (1, ~same, 1), (0, same, 2)):
        held = np.flatnonzero(on & (below[:, side] >= 0))
        if len(held):
            m.add(row[below[held, side]], block[held], -times)


def flow_model(problem: Problem, graph: Graph) -> tuple[ModelBuilder, list[Block | None]]:
    """Return the model of the flows through these states, and the variables u of each level, None for a level without
    arcs; a variant may add its own.

    The costs of the graph are in the units of the program.
    """
    m = ModelBuilder(f"{problem.formulation}_d{problem.topology.depth}")
    split, levels = Axis("split", problem.encoded.n_candidate_splits), []
    for level in graph.levels:
        ends = Columns("t", Role.STOP, np.arange(level.n_states), share(problem, level.stop))
        arcs = Columns("u", Role.ARC, level.state, share(problem, level.cost), split, level.split, level.below)
        levels.append((level.n_states, [ends, arcs]))
    return m, [blocks.get("u") for blocks in write_flow(m, levels)]


def write_splits(
    problem: Problem, layers: Sequence[Layer], m: ModelBuilder, arcs: list[Block | None], integer: bool
) -> None:
    """Add the variables b, the split of each node, and the constraints that define them, to the flow through states
    that know their nodes."""
    node, split = Axis("node", 2**problem.topology.depth - 1, 1), Axis("split", problem.encoded.n_candidate_splits)
    b = m.columns("b", node, split, role=Role.BRANCH, integer=integer)
    asks = m.rows("asks", node, split, lower=0, upper=0)
    m.add(asks.all(), b.all(), -1)
    for layer, u in zip(layers, arcs):
        if u is not None and layer.memory is not None:
            m.add(asks[layer.memory[layer.state], layer.split], u[np.arange(len(layer.state))])


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
        found = np.flatnonzero(level.split[arcs] == heap.split[node]) if heap.split[node] >= 0 else []
        if heap.split[node] < 0 or (not len(found) and stops):
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
    split = with_min_leaf_rows(settle(heap.split, encoded), encoded, rows.least).split.copy()

    def walk(t, members, level):
        loss, floor = float(rows.leaf_costs(rows.loss[members].sum(axis=0))), rows.floor[members].sum()
        if level == shape.levels and shape.tail:
            lay_best(rows, price, members, split, t, shape.tail)
        elif problem.params.fold and loss <= floor + rows.near:
            split[t] = -1
        elif split[t] >= 0:
            ones = rows.X[members, split[t]]
            walk(2 * t, members[~ones], level + 1)
            walk(2 * t + 1, members[ones], level + 1)

    walk(1, np.arange(len(rows.X)), 0)
    return settle(split, encoded)


def largest_flow(point: dict[str, np.ndarray]) -> Callable:
    """Return the `way` of odtc.formulations.dpflow.extract_tree.tree_along that follows the largest flow of a point,
    because a point within the optimal face mixes optimal trees."""

    def way(node, j, state, arcs):
        flow = point[f"u{j}"][arcs] if arcs.stop > arcs.start else np.zeros(1)
        return None if flow.max() <= point[f"t{j}"][state] else int(flow.argmax())

    return way
