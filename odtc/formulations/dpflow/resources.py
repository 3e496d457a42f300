"""dpflow if sums over the tree are bounded: subtrees as variables, with their costs and their uses of the bounds.

To each state flows are added that end there, one per label or folded subtree p that no other dominates
(odtc.algorithms.dp.pareto), with its cost c_p and its uses a_p; the flow into a state goes on as before:

    min  Σ_p c_p t_p + Σ λ u        Σ_p t_jSp + Σ_f u_jSf = the flow into S at level j
    lower ≤ Σ_p a_p t_p + Σ branch u ≤ upper,     t, u in {0, 1}

Integer flows are trees (odtc.formulations.dpflow.network), and their sums are the sums of the tree. With a bound the
program is not integral any more, so its variables are integer: a mixture of trees may satisfy a bound that none of
them satisfies. Parts that no tree as good as one found needs are left out (odtc.algorithms.dp.reduced_cost_fixing).
Without a bound, if every leaf must only have some rows of the data, it is a linear program whose subtrees have such
leaves.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.algorithms.constrained.subtree_options import code_of, lay
from odtc.algorithms.dp.lagrangian_flow import Flow, FlowLevel, tie_tolerance
from odtc.algorithms.dp.pareto import Budgets, label_points, stump_points
from odtc.algorithms.dp.reduced_cost_fixing import FixedFlow, fix_columns, join_points
from odtc.algorithms.dp.state_expansion import generate
from odtc.algorithms.dp.state_graph import HALF, Rows
from odtc.base.wording import param
from odtc.errors import ChoiceError, TreeError
from odtc.formulations.dpflow import path_constraints, size_estimate
from odtc.formulations.dpflow.forms import COUNTING
from odtc.formulations.dpflow.network import Columns, write_flow, write_splits
from odtc.model.blocks import Axis, Block
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import least_rows, mended, most_branch_nodes
from odtc.problem.constraints.kind import OnPredictions
from odtc.problem.constraints.on_predictions import lines_of
from odtc.problem.exact_objective import plain_costs
from odtc.problem.problem import Problem
from odtc.problem.roles import Role
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

ROUNDED = 1e-11  # relative to cost and uses: sums over the same rows in another order differ by less
TOLD_APART = 2.0**42  # sums up to it are whole numbers that tie_tolerance and ROUNDED keep apart
LARGEST = 1e5  # maximum coefficient of a bound in a file; larger ones are scaled down by a power of two


def bounded(problem: Problem) -> bool:
    """Return whether a constraint bounds a sum over the tree."""
    return any(given.name in COUNTING or given.module.can(OnPredictions) for given in problem.constraints)


def budgets_of(problem: Problem) -> Budgets:
    """Return the bounds of the problem's constraints, over the encoded rows; a constraint bounded on both sides is one
    sum."""
    encoded, most, found = problem.encoded, most_branch_nodes(problem), []
    if most is not None:
        found.append([1.0, np.zeros_like(encoded.loss), -np.inf, most])
    for line in lines_of(problem):
        coef = line.coef.astype(float)
        if np.abs(coef).sum() + abs(line.upper) > TOLD_APART:
            raise ChoiceError(
                "expected sums of weights in few digits, got some that are equal as float64 in this model; leave out "
                "the parameters, so that the compiler searches for the tree itself, or round the weights and the "
                "numbers of the constraints"
            )
        same = next((one for one in found if not one[0] and np.array_equal(one[1], coef)), None)
        opposite = next((one for one in found if not one[0] and np.array_equal(one[1], -coef)), None)
        if same is not None:
            same[3] = min(same[3], line.upper)
        elif opposite is not None:
            opposite[2] = max(opposite[2], -line.upper)
        else:
            found.append([0.0, coef, -np.inf, line.upper])
    if not found:
        none = np.zeros(0)
        return Budgets(none, np.zeros((*encoded.loss.shape, 0)), none, none, none)
    branch, answers, lower, upper = zip(*found)
    bounds = np.array(lower, float), np.array(upper, float)
    return Budgets(np.array(branch), np.stack(answers, axis=-1), *bounds, np.full(len(found), HALF))


def frame(problem: Problem) -> tuple[Rows, np.ndarray, Budgets, np.ndarray]:
    """Return (rows with their contributions to the bounded sums, branch, budgets, scale), as in
    odtc.algorithms.dp.reduced_cost_fixing.Flow; costs are in units of the program (odtc.problem.exact_objective)."""
    budgets, encoded, costs = budgets_of(problem), problem.encoded, plain_costs(problem)
    n, K, r = budgets.answers.shape
    rows = Rows.of(
        encoded.X, costs.loss, encoded.copies, least_rows(problem), budgets.answers.reshape(n, K * r) if r else None
    )
    branch = np.append(float(costs.price), budgets.branch)
    scale = (
        np.append(rows.loss.max(axis=1).sum(), np.abs(budgets.answers).max(axis=1).sum(axis=0))
        + branch * 2**problem.topology.depth
    )
    return rows, branch, budgets, scale


def flow_of(problem: Problem, remembers: bool, knows_nodes: bool) -> FixedFlow:
    """Return the flow of the model; every variable of it with `-p fix=false`, and if no sum is bounded.

    Parameters
    ----------
    problem : Problem
    remembers : bool
        Whether a constraint depends on splits. Then no level is folded, because a dominated subtree may be the only one
        with allowed splits.
    knows_nodes : bool
        Whether constraints of the model depend on the split of each node.
    """
    rows, branch, budgets, scale = frame(problem)
    depth, r, unit = problem.topology.depth, len(budgets.branch), tie_tolerance(scale)
    tail = 0 if remembers else _folded_levels(problem, r)
    height = min(1, tail)
    graph, steps = generate(rows, depth - height, branch[0], fold=False, ends=True), []
    if remembers:
        graph = path_constraints.barred(problem, graph)
    for j, level in enumerate(graph.levels):
        if height and j == len(graph.levels) - 1:
            points = stump_points(rows, level, branch, budgets, unit)
        else:
            points = label_points(rows, level, budgets, unit)
        links = {"state": level.state, "split": level.split, "below": level.below}
        steps.append(FlowLevel(n_states=level.n_states, points=points, **links))
    flow = Flow(tuple(steps), height, branch, budgets, scale)
    if tail == 2 and len(steps) > 1:
        points = join_points(flow, steps[-2], steps[-1].points, height)
        no_arcs = np.zeros(0, np.int64)
        last = steps[-2].picked(np.arange(steps[-2].n_states), no_arcs, state=no_arcs, below=np.zeros((0, 2), np.int32))
        flow = Flow((*steps[:-2], replace(last, points=points)), 2, branch, budgets, scale)
    if not r or not problem.params.fix:
        return FixedFlow(flow, -np.inf, None, flow.n_columns)
    if knows_nodes:
        return path_constraints.fix_flow(problem, flow)
    return fix_columns(flow, lambda: path_constraints.known_vector(problem, flow))


def _folded_levels(problem: Problem, n_sums: int) -> int:
    """Return the number of levels above the leaves whose subtrees are variables."""
    depth, tail = problem.topology.depth, problem.params.tail
    auto = 1 if n_sums else size_estimate.short_tail(problem.encoded.n_candidate_splits, depth)
    return min(depth - 1, auto if tail == "auto" else int(tail))


def build(problem: Problem, flow: Flow, share: Callable, knows_nodes: bool = False) -> Model:
    """Return the model; `share` converts a cost to the objective. If states know their nodes, it has the variables b,
    the split of each node."""
    m = ModelBuilder(f"dpflow_d{problem.topology.depth}")
    K, r, levels = len(problem.encoded.classes), len(flow.branch) - 1, []
    split = Axis("split", problem.encoded.n_candidate_splits)
    for step in flow.steps:
        points, first = step.points, step.points.first(step.n_states)
        if points.code.shape[1] == 1:
            way, number = Axis("class", K), -1 - points.code[:, 0]
        else:
            way, number = Axis("way", int(np.diff(first).max())), np.arange(len(points)) - first[points.state]
        ends = Columns("t", Role.STOP, points.state, share(points.vector[:, 0]), way, number)
        arcs = Columns("u", Role.ARC, step.state, share(flow.branch[0]), split, step.split, step.below)
        levels.append((step.n_states, [ends, arcs]))
    blocks = write_flow(m, levels, integer=r > 0)
    if r:
        _write_bounds(m, flow, blocks)
    if knows_nodes:
        write_splits(problem, flow.steps, m, [found.get("u") for found in blocks], integer=False)
    return m.finish()


def _write_bounds(m: ModelBuilder, flow: Flow, blocks: list[dict[str, Block]]) -> None:
    """Add the constraints that bound the sums over the tree."""
    scale = 2.0 ** np.ceil(np.log2(np.maximum(1.0, _largest(flow) / LARGEST)))
    which, low, high = _one_sided(flow.budgets)
    bound = m.rows("bound", Axis("sum", len(which)), lower=low / scale[which], upper=high / scale[which])
    for step, found in zip(flow.steps, blocks):
        for i in range(len(scale)):
            row, use = bound[np.flatnonzero(which == i)[:, None]], step.points.vector[:, 1 + i]
            used = np.flatnonzero(use)
            if len(used):
                m.add(row, found["t"][used], use[used] / scale[i])
            if "u" in found and flow.branch[1 + i]:
                m.add(row, found["u"][np.arange(len(step.state))], flow.branch[1 + i] / scale[i])


def _one_sided(budgets: Budgets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (sum, lower, upper) of each constraint. The portable formats have no ranges, so a sum that is bounded on
    both sides by different numbers has two constraints."""
    twice = np.flatnonzero((budgets.lower > -np.inf) & (budgets.upper < np.inf) & (budgets.lower < budgets.upper))
    which, low = np.append(np.arange(len(budgets.lower)), twice), budgets.lower.copy()
    low[twice] = -np.inf
    return which, np.append(low, budgets.lower[twice]), np.append(budgets.upper, np.full(len(twice), np.inf))


def start(problem: Problem, flow: Flow, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree as a point. Raises TreeError for a tree that the model does not contain."""
    walked = _walk(problem, flow, heap)
    if walked is None:
        raise TreeError(
            "the model has no columns for this tree: one that costs less is known, or satisfies the constraints as "
            f"well; give a tree of a heuristic, or set {param('fix', False)}"
        )
    costs, rows = plain_costs(problem), np.arange(problem.encoded.n_rows)
    paid, less = (
        costs.loss[rows, tree.label[tree.reach(problem.encoded.X)]].sum() + flow.branch[0] * tree.n_branch_nodes
        for tree in (heap, HeapTree(walked[1], walked[2]))
    )
    if abs(paid - less) > ROUNDED * flow.scale[0]:
        shown = [float(cost) * float(costs.step) for cost in (paid, less)]
        raise TreeError(
            f"the tree costs {shown[0]:.10g}; with other subtrees it costs {shown[1]:.10g} and satisfies the "
            "constraints, and the model has only such trees; give the tree that a heuristic makes"
        )
    point = {f"t{j}": np.zeros(len(step.points)) for j, step in enumerate(flow.steps) if len(step.points)}
    point |= {f"u{j}": np.zeros(len(step.state)) for j, step in enumerate(flow.steps) if len(step.state)}
    for block, place in walked[0]:
        point[block][place] = 1
    return point


def decode(problem: Problem, fixed: FixedFlow, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, with the labels of the point: at each state the way with the largest flow. If
    merging equal leaves gives a tree that the model does not contain, the incumbent is better, and is returned
    instead."""
    flow, (split, label) = fixed.flow, blank_arrays(problem.topology)
    stack = [(1, 0, 0)]
    while stack:
        node, j, state = stack.pop()
        step = flow.steps[j]
        first, end = step.points.first(step.n_states)[state : state + 2]
        arc, last = step.first[state : state + 2]
        ends = point[f"t{j}"][first:end] if end > first else np.array([-1.0])
        goes = point[f"u{j}"][arc:last] if last > arc else np.array([-1.0])
        if ends.max() >= goes.max():
            lay(step.points.code[first + int(ends.argmax())], split, label, node)
        else:
            arc += int(goes.argmax())
            split[node] = step.split[arc]
            stack += [(2 * node + side, j + 1, int(below)) for side, below in enumerate(step.below[arc])]
    heap = settle(split, problem.encoded, label)
    return canonical(problem, flow, heap) or known(problem, fixed) or heap


def canonical(problem: Problem, flow: Flow, heap: HeapTree) -> HeapTree | None:
    """Return the tree with the subtrees of the model that equal or dominate its own; None if the model does not have
    them."""
    while (walked := _walk(problem, flow, heap)) is not None:
        again = settle(walked[1], problem.encoded, walked[2])
        if np.array_equal(again.split, heap.split) and np.array_equal(again.label, heap.label):
            return again
        heap = again
    return None


def trimmed(problem: Problem, fixed: FixedFlow, heap: HeapTree) -> HeapTree:
    """Return a tree that the model contains, repaired from this one, or the best that the compiler found; the tree
    itself if there is none."""
    heap = settle(heap.split, problem.encoded, heap.label)
    kept = mended(problem, heap)
    found = None if kept is None else canonical(problem, fixed.flow, kept)
    return found or known(problem, fixed) or heap


def known(problem: Problem, fixed: FixedFlow) -> HeapTree | None:
    """Return the incumbent as a tree."""
    if fixed.incumbent is None:
        return None
    split, label = blank_arrays(problem.topology)
    lay(fixed.incumbent.code, split, label, 1)
    return canonical(problem, fixed.flow, settle(split, problem.encoded, label))


def _walk(problem: Problem, flow: Flow, heap: HeapTree):
    """Return ([(block, position)], split, label): the variables that are this tree, or one that dominates it part by
    part, and that tree; None if the model does not have all of them."""
    encoded, budgets = problem.encoded, flow.budgets
    loss = plain_costs(problem).loss
    vector = np.concatenate([loss[..., None], budgets.answers], axis=-1)  # (rows, classes, 1 + r)
    columns, (split, label), stack = [], blank_arrays(problem.topology), [(1, 0, 0, np.arange(encoded.n_rows))]

    def total(node, members):
        if heap.split[node] < 0:
            return vector[members, heap.label[node]].sum(axis=0)
        ones = encoded.X[members, heap.split[node]]
        return flow.branch + total(2 * node, members[~ones]) + total(2 * node + 1, members[ones])

    while stack:
        node, j, state, members = stack.pop()
        step = flow.steps[j]
        if heap.split[node] >= 0 and (j < len(flow.steps) - 1 or not flow.height):
            begin, end = step.first[state : state + 2]
            arc = begin + np.flatnonzero(step.split[begin:end] == heap.split[node])
            if not len(arc):
                return None
            split[node] = heap.split[node]
            columns.append((f"u{j}", int(arc[0])))
            ones = encoded.X[members, split[node]]
            stack += [
                (2 * node + side, j + 1, int(below), part)
                for side, (below, part) in enumerate(zip(step.below[arc[0]], (members[~ones], members[ones])))
            ]
            continue
        begin, end = step.points.first(step.n_states)[state : state + 2]
        # The subtree itself, or one whose vector is no greater except for the rounding of sums.
        own = code_of(heap.split, heap.label, node, step.points.code.shape[1])
        fits = (step.points.code[begin:end] == own).all(axis=1)
        if not fits.any():
            over = (step.points.vector[begin:end] - total(node, members)) / (ROUNDED * np.maximum(flow.scale, 1e-300))
            fits = (over <= 1).all(axis=1) & (over[:, budgets.both] >= -1).all(axis=1)
        if not fits.any():
            return None
        place = begin + int(fits.argmax())
        lay(step.points.code[place], split, label, node)
        columns.append((f"t{j}", place))
    return columns, split, label


def _largest(flow: Flow) -> np.ndarray:
    """Return float64 (r,): the largest use of a variable."""
    return np.max(
        [flow.branch[1:], *(np.abs(step.points.vector[:, 1:]).max(axis=0, initial=0.0) for step in flow.steps)], axis=0
    )
