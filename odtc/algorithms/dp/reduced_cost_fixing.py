"""The flow of the constrained dynamic program without the variables that no better tree uses (reduced-cost fixing).

With the multipliers of odtc.algorithms.dp.lagrangian_flow, a variable is left out if the least cost of a tree that uses
it is above the cost of a known tree that satisfies the bounds; ties stay. The cheaper the known tree, the fewer
variables stay. So it is the best of the few trees whose weighted vector is near the bound. These are built from the
leaves up, in the same way as points.
"""

from collections.abc import Callable

import numpy as np

from odtc.algorithms.constrained.subtree_options import join_codes
from odtc.algorithms.dp.lagrangian_flow import (
    NEAR,
    Flow,
    FlowLevel,
    Incumbent,
    drop_dominated_columns,
    inside_costs,
    outside_costs,
    solve_dual,
)
from odtc.algorithms.dp.pareto import Points, drop_dominated
from odtc.base import deadline
from odtc.base.memory import require_memory
from odtc.base.value_class import value_class
from odtc.base.wording import param

GAP = 1 / 4096  # relative to the scale of cost: trees this near to the bound are tried first
MAX_PAIRS_OF_SUBTREES = 3_000_000  # maximum number of pairs of subtrees of a level
PAIRS = 1_000_000  # pairs of subtrees that are stored at once
SORTED = 5000  # number of multiplications that take as long as one pair
ROUNDING = 1e-9  # rounding error of numbers up to three times the number of states


@value_class
class FixedFlow:
    """The rest of a Flow after fixing. No tree that satisfies the bounds costs less than `bound`, and all trees that
    cost at most as much as the `incumbent` are still in the flow. The incumbent is None if no tree was found."""

    flow: Flow
    bound: float
    incumbent: Incumbent | None
    n_columns: int  # variables before fixing


def fix_columns(flow: Flow, known: Callable[[], tuple[Incumbent | None, bool]]) -> FixedFlow:
    """Return the flow without the variables that only more expensive trees than the best one found use.

    All trees within a gap of the bound are tried, for a gap that doubles until one of them satisfies the bounds; this
    one is then the best of all. If there are too many, `known` is called for a tree, and whether it is proved to be the
    best.
    """
    whole, scale = flow.n_columns, flow.scale[0]
    multipliers, bound, best = solve_dual(flow)
    most = scale if best is None else best.vector[0]  # no tree costs more than the scale
    gap = GAP * scale
    while gap > 0 and bound < most - NEAR * scale:
        limit = min(most, bound + gap)
        found = cheapest_feasible_tree(drop_dominated_columns(flow, multipliers, limit), multipliers, limit)
        if found is None:
            break
        if found.code is not None and found.vector[0] < most:
            best, most = found, found.vector[0]
        bound, gap = min(limit, most), 2 * gap  # no tree costs less
    if bound < most - NEAR * scale:
        found, proved = known()
        if found is not None and found.vector[0] < most:
            best, most = found, found.vector[0]
        bound = most if proved else min(bound, most)
    return FixedFlow(drop_dominated_columns(flow, multipliers, most), bound, best, whole)


def cheapest_feasible_tree(flow: Flow, multipliers: np.ndarray, most: float) -> Incumbent | None:
    """Return the cheapest tree that satisfies the bounds, of the trees that cost at most `most` with these multipliers;
    its code is None if there is no such tree. Return None if there are too many."""
    weight = flow.weight(multipliers)
    limit = most + float(multipliers @ flow.budgets.sides[1]) + flow.near(weight)
    outside = [rest for rest, _, _ in outside_costs(flow, weight, inside_costs(flow, weight))]
    points, height = None, flow.height
    for step, rest in zip(flow.steps[:0:-1], outside[:0:-1]):
        if points is not None:
            points = join_points(flow, step, points, height, weight, limit - rest)
            if points is None:
                return None
            height += 1
        else:
            points = step.points
        value = points.vector @ weight
        kept = np.flatnonzero(value <= limit - rest[points.state])
        points = points.picked(kept[np.lexsort((value[kept], points.state[kept]))])
    return best_at_root(flow, points)


def best_at_root(flow: Flow, below: Points | None) -> Incumbent | None:
    """Return the cheapest tree that satisfies the bounds, either from two points of the second level or from a point of
    the root; its code is None if there is no such tree. Return None if there are too many pairs."""
    root, budgets, nothing = flow.steps[0], flow.budgets, np.full(1 + len(flow.branch[1:]), np.inf)
    good = np.flatnonzero(budgets.kept(root.points.vector))
    best = Incumbent(nothing, None)
    if len(good):
        at = good[root.points.vector[good, 0].argmin()]
        best = Incumbent(root.points.vector[at], root.points.code[at])
    if below is None or not len(below):
        return best
    first, pairs = below.first(flow.steps[1].n_states), 0
    for split, (zero, one) in zip(root.split, root.below):
        left, right = np.arange(*first[zero : zero + 2]), np.arange(*first[one : one + 2])
        if (
            not len(left)
            or not len(right)
            or below.vector[left, 0].min() + below.vector[right, 0].min() + flow.branch[0] >= best.vector[0]
        ):
            continue
        deadline.check()
        pairs += len(left) * len(right)
        if pairs > MAX_PAIRS_OF_SUBTREES:
            return None
        total = below.vector[left][:, None] + below.vector[right] + flow.branch
        cost = np.where(budgets.kept(total), total[..., 0], np.inf)
        i, k = np.unravel_index(cost.argmin(), cost.shape)
        vector = below.vector[left[i]] + below.vector[right[k]] + flow.branch
        if vector[0] < best.vector[0] and budgets.kept(vector):
            best = Incumbent(vector, join_codes(np.array([split]), below.code[left[[i]]], below.code[right[[k]]])[0])
    return best


def join_points(
    flow: Flow,
    step: FlowLevel,
    below: Points,
    height: int,
    weight: np.ndarray | None = None,
    room: np.ndarray | None = None,
) -> Points | None:
    """Return P_{h+1} of the states of a step from the points below, of height h.

    With `room` (states,), return only points of at most this weight, and None if there are too many; the points below
    must then be in order of weight.
    """
    n = int(step.below.max(initial=-1)) + 1
    first = below.first(n)
    left = np.diff(first)[step.below[:, 0]]
    arc = np.repeat(np.arange(len(left)), left)
    i = np.arange(len(arc)) - np.repeat(np.cumsum(left) - left - first[step.below[:, 0]], left)
    right = step.below[arc, 1]
    if room is None:
        count = np.diff(first)[right]
    else:
        # The number of right points that fit with each left one: sorted by state + weight, with weights from 0 to 1.
        value = below.vector @ weight
        low, span = value.min(initial=np.inf), max(np.ptp(value) if len(value) else 0.0, 1e-300)
        rest = room[step.state[arc]] - flow.branch @ weight - value[i]
        ends = np.searchsorted(
            3.0 * below.state + (value - low) / span,
            3.0 * right + np.clip((rest - low) / span, -0.5, 1.5) + ROUNDING,
            side="right",
        )
        count = np.maximum(ends - first[right], 0)
        if count.sum() > MAX_PAIRS_OF_SUBTREES:
            return None
    deadline.expect_end(
        float(count.sum()) * SORTED, f"{int(count.sum()):,} pairs of subtrees of a level", f"set {param('tail', 1)}"
    )
    found, begin, ends = [step.points.raised(height + 1)], 0, np.cumsum(count)
    while begin < len(count):
        deadline.check()
        end = max(begin + 1, int(np.searchsorted(ends, PAIRS + (ends[begin - 1] if begin else 0))))
        pair = np.repeat(np.arange(begin, end), count[begin:end])
        k = (
            first[right[pair]]
            + np.arange(len(pair))
            - np.repeat(np.cumsum(count[begin:end]) - count[begin:end], count[begin:end])
        )
        at, one = arc[pair], i[pair]
        code = join_codes(step.split[at], below.code[one], below.code[k])
        points = Points(step.state[at], below.vector[one] + below.vector[k] + flow.branch, code)
        found.append(drop_dominated(points, flow.budgets.both, flow.unit))
        require_memory(
            2 * sum(part.n_bytes for part in found),
            f"{sum(map(len, found)):,} subtrees of one level with their costs and uses",
            f"set {param('tail', 1)}",
        )
        begin = end
    return drop_dominated(Points.joined(found), flow.budgets.both, flow.unit)
