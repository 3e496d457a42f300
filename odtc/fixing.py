"""The flow of the constrained dynamic program, less the columns that no better tree can have.

With multipliers λ >= 0 on the bounds D · use ≤ most (odtc.pareto) the dynamic program is separable again:

    L(λ) = min over trees of cost + λ · (D use - most)        no tree that keeps the bounds costs less

For these λ one pass from the leaves up gives the least cost below every state, one from the root down the
least of the rest of a tree, so for every column the least of a tree that has it. Where that is above
the cost of a tree that keeps the bounds, no tree as good as this has the column, and it goes; ties stay. (That is
reduced-cost fixing by the exact reduced costs of a flow; the λ that bound best are the duals of the
linear relaxation, and max L its value, as the polytope without the bounds is integral.) λ is found by
cutting planes (Kelley 1960): every tree met is one, and those that keep the bounds are incumbents.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog

from odtc import deadline
from odtc.pareto import Budgets, Points, crowned, nondominated
from odtc.states import least

ROUNDS = 80  # of cutting planes
CLOSE = 1e-7  # of the scale of cost: multipliers this near to the best are good enough
MOST = 1e4  # the largest multiplier, where cost and uses are in parts of their scales
GAP = 1 / 4096  # of the scale of cost: trees so near to the bound are the first from which an incumbent is taken
WIDTHS = (20, 60)  # subtrees of a state from which one is made where there are too many
WORK = 3_000_000  # pairs of subtrees of a level: more are too many
PAIRS = 1_000_000  # of them held at once
ROUNDING = 1e-9  # of numbers up to three times the number of states
NEAR = 1e-9  # of the scale of cost and uses: what rounding may make of a sum


@dataclass(frozen=True)
class Step:
    """The states of one level with their points, and the arcs to the next one."""

    n_states: int
    points: Points
    state: np.ndarray  # int32 (arcs,), ascending
    test: np.ndarray  # int32 (arcs,)
    below: np.ndarray  # int32 (arcs, 2), states of the next level

    @property
    def first(self) -> np.ndarray:
        """int64 (states + 1,): where the arcs of each state begin."""
        return np.searchsorted(self.state, np.arange(self.n_states + 1))


@dataclass(frozen=True)
class Incumbent:
    """A tree that keeps the bounds: its vector (1 + r,), and its code (as of Points)."""

    vector: np.ndarray
    code: np.ndarray


@dataclass(frozen=True)
class Flow:
    """All levels, above subtrees of `height` levels; `branch` (1 + r,) is what a branch node costs and uses,
    `scale` (1 + r,) the most that a tree without branch nodes can."""

    steps: tuple[Step, ...]
    height: int
    branch: np.ndarray
    budgets: Budgets
    scale: np.ndarray

    @property
    def n_columns(self) -> int:
        return sum(len(step.points) + len(step.state) for step in self.steps)

    @property
    def unit(self) -> np.ndarray:
        return unit(self.scale)

    def weight(self, multipliers: np.ndarray) -> np.ndarray:
        """(1 + r,): what the coordinates of a vector weigh."""
        return np.append(1.0, multipliers @ self.budgets.sides[0])

    def near(self, weight: np.ndarray) -> float:
        """Weighted sums that differ by less are one."""
        return NEAR * float(np.abs(weight) @ self.scale)


def unit(scale: np.ndarray) -> np.ndarray:
    """(1 + r,): vectors that differ by less than half of it are one; whole numbers stay apart, sums of fractions that
    are one number may not meet, which does no harm."""
    return 2.0**-44 * np.maximum(scale, 1e-300)


@dataclass(frozen=True)
class Fixed:
    """What is left of a Flow, and why: no tree that keeps the bounds costs less than `bound`, and none that costs no
    more than the `incumbent` lost a column. The incumbent is None where no tree was met."""

    flow: Flow
    bound: float
    incumbent: Incumbent | None
    n_columns: int  # before


def fixed(flow: Flow) -> Fixed:
    """The flow without the columns that only trees have that cost more than the best one met.

    All trees within a gap of the bound are gone through, for a gap that doubles until one of them keeps the bounds, which is
    the best of all then; where these are too many, trees of some subtrees of each state.
    """
    whole, scale = flow.n_columns, flow.scale[0]
    multipliers, bound, best = dual(flow)
    most = scale if best is None else best.vector[0]  # no tree costs more than its scale
    gap = GAP * scale
    while gap > 0 and bound < most - NEAR * scale:
        limit = min(most, bound + gap)
        found = nearest(without(flow, multipliers, limit), multipliers, limit)
        if found is None:
            break
        if found.code is not None and found.vector[0] < most:
            best, most = found, found.vector[0]
        bound, gap = min(limit, most), 2 * gap  # whatever costs less is not there
    for width in WIDTHS if bound < most - NEAR * scale else ():
        found = nearest(without(flow, multipliers, most), multipliers, most, width)
        if found is not None and found.code is not None and found.vector[0] < most:
            best, most = found, found.vector[0]
    return Fixed(without(flow, multipliers, most), bound, best, whole)


def dual(flow: Flow) -> tuple[np.ndarray, float, Incumbent | None]:
    """(multipliers, the bound L they give, the cheapest tree met that keeps the bounds)."""
    D, most = flow.budgets.sides
    cost, use = max(flow.scale[0], 1e-300), np.maximum(np.abs(D) @ flow.scale[1:], 1e-300)
    at, best, cuts = np.zeros(len(most)), None, []
    bound, chosen = -np.inf, at
    for _ in range(ROUNDS):
        deadline.check()
        weight = flow.weight(at * cost / use)
        values = inside(flow, weight)
        value = float(values[0][0] - at * cost / use @ most)
        tree = cheapest(flow, weight, values)
        if value > bound:
            bound, chosen = value, at
        if flow.budgets.kept(tree.vector) and (best is None or tree.vector[0] < best.vector[0]):
            best = tree
        # L(λ) is at most what this tree says of λ: in parts of the scales,  z - λ · (D use - most) ≤ cost.
        cuts.append((tree.vector[0] / cost, (D @ tree.vector[1:] - most) / use))
        A = np.array([[1.0, *-excess] for _, excess in cuts])
        master = linprog(np.append(-1.0, np.zeros(len(most))), A, [own for own, _ in cuts], bounds=[(None, None), *[(0, MOST)] * len(most)])
        if master.x is None or master.x[0] * cost <= bound + CLOSE * cost:
            break
        at = master.x[1:]
    return chosen * cost / use, bound, best


def inside(flow: Flow, weight: np.ndarray) -> list[np.ndarray]:
    """Per level, float64 (states,): the least weighted vector of a subtree."""
    values, price = [], float(flow.branch @ weight)
    for step in reversed(flow.steps):
        value = least(step.points.vector @ weight, step.points.first(step.n_states))
        if len(step.state):
            value = np.minimum(value, least(price + values[-1][step.below].sum(axis=1), step.first))
        values.append(value)
    return values[::-1]


def through(flow: Flow, weight: np.ndarray, values: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Per level (outside (states,), points, arcs): the least weighted vector of the rest of a tree, and of a tree
    that has this column."""
    price, outside, found = float(flow.branch @ weight), np.zeros(1), []
    for step, below in zip(flow.steps, [*values[1:], None]):
        point, arc = outside[step.points.state] + step.points.vector @ weight, np.zeros(0)
        sides = below[step.below] if len(step.state) else np.zeros((0, 2))
        arc = outside[step.state] + price + sides.sum(axis=1)
        found.append((outside, point, arc))
        if below is not None:
            outside = np.full(len(below), np.inf)
            for side in (0, 1):
                np.minimum.at(outside, step.below[:, side], arc - sides[:, side])
    return found


def cheapest(flow: Flow, weight: np.ndarray, values: list[np.ndarray]) -> Incumbent:
    """A tree of the least weighted vector."""

    def grow(j, state):
        step = flow.steps[j]
        begin, end = step.points.first(step.n_states)[state : state + 2]
        own = step.points.vector[begin:end] @ weight
        first, last = step.first[state : state + 2]
        arcs = values[j + 1][step.below[first:last]].sum(axis=1) + flow.branch @ weight if last > first else np.array([np.inf])
        if end > begin and own.min() <= arcs.min():
            place = begin + int(own.argmin())
            code, missing = step.points.code[place], len(flow.steps) - 1 - j
            return step.points.vector[place], code if not missing else np.full(2 ** (missing + flow.height + 1) - 1, code[0])
        arc = first + int(arcs.argmin())
        (one, left), (two, right) = (grow(j + 1, int(side)) for side in step.below[arc])
        return flow.branch + one + two, crowned(step.test[[arc]], left[None], right[None])[0]

    return Incumbent(*grow(0, 0))


def without(flow: Flow, multipliers: np.ndarray, most: float) -> Flow:
    """The flow without the columns of which these multipliers prove that only trees have them that cost more than
    `most` or break the bounds."""
    weight = flow.weight(multipliers)
    values = inside(flow, weight)
    limit = most + float(multipliers @ flow.budgets.sides[1]) + flow.near(weight)
    kept = [(point <= limit, arc <= limit) for _, point, arc in through(flow, weight, values)]
    reached = [np.ones(1, bool)]
    for step, (_, arcs), below in zip(flow.steps, kept, flow.steps[1:]):
        arcs &= reached[-1][step.state]
        there = np.zeros(below.n_states, bool)
        there[step.below[arcs]] = True
        reached.append(there)
    if not kept[0][0].any() and not kept[0][1].any():  # no tree keeps the bounds; the labels of the root say so, too
        kept[0] = flow.steps[0].points.code[:, 0] < 0, kept[0][1]
    steps = []
    for j, (step, (points, arcs)) in enumerate(zip(flow.steps, kept)):
        here = reached[j]
        if not here.any():
            break
        number, points = np.cumsum(here) - 1, step.points.picked(points & here[step.points.state])
        below = (np.cumsum(reached[j + 1]) - 1)[step.below[arcs]] if j + 1 < len(flow.steps) else np.zeros((0, 2))
        steps.append(Step(int(here.sum()), replace(points, state=number[points.state].astype(np.int32)),
                          number[step.state[arcs]].astype(np.int32), step.test[arcs], below.astype(np.int32)))
    # A level that nothing enters is gone, and the points of the last one left have the height of labels above it.
    return replace(flow, steps=tuple(steps), height=flow.height if len(steps) == len(flow.steps) else 0)


def nearest(flow: Flow, multipliers: np.ndarray, most: float, width: int | None = None) -> Incumbent | None:
    """The cheapest tree that keeps the bounds, of those that cost `most` at most with these multipliers; its code is None where
    there is none. With `width`, only of those made of about so many subtrees of each state. None where there are too many."""
    weight = flow.weight(multipliers)
    limit = most + float(multipliers @ flow.budgets.sides[1]) + flow.near(weight)
    outside = [rest for rest, _, _ in through(flow, weight, inside(flow, weight))]
    points, height = None, flow.height
    for step, rest in zip(flow.steps[:0:-1], outside[:0:-1]):
        if points is not None:
            points = joined(flow, step, points, height, weight, limit - rest)
            if points is None:
                return None
            height += 1
        else:
            points = step.points
        value = points.vector @ weight
        kept = np.flatnonzero(value <= limit - rest[points.state])
        points = points.picked(kept[np.lexsort((value[kept], points.state[kept]))])
        if width is not None:
            points = thinned(points, width)
    return rooted(flow, points, limit, weight)


def thinned(points: Points, width: int) -> Points:
    """Of points in order of weight the first `width` of each state, and the first of each of about so many ranges of uses."""
    use = points.vector[:, 1:]
    first = np.searchsorted(points.state, points.state)
    r = use.shape[1]
    each = max(2.0, width ** (1 / max(1, r)))
    low, span = use.min(axis=0, initial=np.inf), np.maximum(np.ptp(use, axis=0) if len(use) else 0.0, 1e-300)
    cell = np.floor((use - low) / span * each).astype(np.int64) @ np.array([1000**i for i in range(r)], np.int64)
    keep = np.arange(len(points)) - first < width
    keep[np.unique(np.stack([points.state, cell], axis=1), axis=0, return_index=True)[1]] = True
    return points.picked(keep)


def rooted(flow: Flow, below: Points | None, limit: float, weight: np.ndarray) -> Incumbent | None:
    """The cheapest tree that keeps the bounds, made of these points of the second level, or of one of the root."""
    root, budgets, nothing = flow.steps[0], flow.budgets, np.full(1 + len(flow.branch[1:]), np.inf)
    good = np.flatnonzero(budgets.kept(root.points.vector))
    best = Incumbent(nothing, None)
    if len(good):
        at = good[root.points.vector[good, 0].argmin()]
        best = Incumbent(root.points.vector[at], root.points.code[at])
    if below is None or not len(below):
        return best
    first, pairs = below.first(flow.steps[1].n_states), 0
    for test, (zero, one) in zip(root.test, root.below):
        left, right = np.arange(*first[zero : zero + 2]), np.arange(*first[one : one + 2])
        if not len(left) or not len(right) or below.vector[left, 0].min() + below.vector[right, 0].min() + flow.branch[0] >= best.vector[0]:
            continue
        deadline.check()
        if len(budgets.branch) == 1:
            i, k = _windowed(budgets, flow.branch, below.vector[left], below.vector[right])
        else:
            pairs += len(left) * len(right)
            if pairs > WORK:
                return None
            total = below.vector[left][:, None] + below.vector[right] + flow.branch
            cost = np.where(budgets.kept(total), total[..., 0], np.inf)
            i, k = np.unravel_index(cost.argmin(), cost.shape)
        vector = below.vector[left[i]] + below.vector[right[k]] + flow.branch
        if vector[0] < best.vector[0] and budgets.kept(vector):
            best = Incumbent(vector, crowned(np.array([test]), below.code[left[[i]]], below.code[right[[k]]])[0])
    return best


def _windowed(budgets: Budgets, branch: np.ndarray, left: np.ndarray, right: np.ndarray) -> tuple[int, int]:
    """The cheapest pair whose one use is within its bounds: of the points in order of use that fit beside each, the
    cheapest, by the least cost of every run of 2^j of them."""
    order = np.argsort(right[:, 1], kind="stable")
    use, place = right[order, 1], [order]
    while 2 ** len(place) <= len(order):
        last, half = place[-1], 2 ** (len(place) - 1)
        one, two = last[:-half], last[half:]
        place.append(np.where(right[one, 0] <= right[two, 0], one, two))
    beside = left[:, 1] + branch[1]
    begin = np.searchsorted(use, budgets.lower[0] - budgets.slack[0] - beside, side="left")
    end = np.searchsorted(use, budgets.upper[0] + budgets.slack[0] - beside, side="right")
    best, pair = np.inf, (0, 0)
    length = end - begin
    for j, runs in enumerate(place):
        some = np.flatnonzero((length >= 2**j) & (length < 2 ** (j + 1)))
        if len(some):
            one, two = runs[begin[some]], runs[end[some] - 2**j]
            which = np.where(right[one, 0] <= right[two, 0], one, two)
            cost = left[some, 0] + right[which, 0]
            at = cost.argmin()
            if cost[at] < best:
                best, pair = cost[at], (int(some[at]), int(which[at]))
    return pair


def joined(flow: Flow, step: Step, below: Points, height: int, weight: np.ndarray | None = None, room: np.ndarray | None = None) -> Points | None:
    """P_{h+1} of the states of a step from the points below, of height h; where `room` (states,) is given, those of
    at most this weight, and None where there are too many: the points below are then in order of theirs."""
    n = int(step.below.max(initial=-1)) + 1
    first = below.first(n)
    left = np.diff(first)[step.below[:, 0]]
    arc = np.repeat(np.arange(len(left)), left)
    i = np.arange(len(arc)) - np.repeat(np.cumsum(left) - left - first[step.below[:, 0]], left)
    right = step.below[arc, 1]
    if room is None:
        count = np.diff(first)[right]
    else:
        # How many points fit beside each: their states and weights, from 0 to 1, are in one ascending order.
        value = below.vector @ weight
        low, span = value.min(initial=np.inf), max(np.ptp(value) if len(value) else 0.0, 1e-300)
        rest = room[step.state[arc]] - flow.branch @ weight - value[i]
        ends = np.searchsorted(3.0 * below.state + (value - low) / span, 3.0 * right + np.clip((rest - low) / span, -0.5, 1.5) + ROUNDING, side="right")
        count = np.maximum(ends - first[right], 0)
        if count.sum() > WORK:
            return None
    found, begin, ends = [step.points.raised(height + 1)], 0, np.cumsum(count)
    while begin < len(count):
        deadline.check()
        end = max(begin + 1, int(np.searchsorted(ends, PAIRS + (ends[begin - 1] if begin else 0))))
        pair = np.repeat(np.arange(begin, end), count[begin:end])
        k = first[right[pair]] + np.arange(len(pair)) - np.repeat(np.cumsum(count[begin:end]) - count[begin:end], count[begin:end])
        at, one = arc[pair], i[pair]
        code = crowned(step.test[at], below.code[one], below.code[k])
        points = Points(step.state[at], below.vector[one] + below.vector[k] + flow.branch, code)
        found.append(nondominated(points, flow.budgets.both, flow.unit))
        begin = end
    return nondominated(Points.joined(found), flow.budgets.both, flow.unit)
