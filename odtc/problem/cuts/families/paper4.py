"""Rows that go one way at the last branching include at most one correct row per class, so at most one is correct in
total.

Aghaei, Gomez & Vayanos (2020), family (4) and its mirror, for t with leaf children and a set H of rows of pairwise
different classes:

    Σ_{i∈H} z_{i,2t}   + b_tf ≤ 1      H ⊆ {i : x_if = 1}
    Σ_{i∈H} z_{i,2t+1} + b_tf ≤ 1      H ⊆ {i : x_if = 0}

If t splits on f, these rows go to the other side; otherwise, the leaf has one label. Static: the eligible rows are
divided into sets with one row per class, by decreasing weight. Separated: the most violated set has, from each class,
the row with the largest flow.
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.feasibility import TOLERANCE
from odtc.model.milp import Model
from odtc.problem.cuts.cut import EVERY_TREE, CutRows, Entry
from odtc.problem.expressions import Expression, Need, Statement, needed
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name, node_axis

NAME = "paper4"
SUMMARY = (
    "family (4) of the FlowOCT paper and its mirror: rows of different classes in one leaf are at most one correct"
)
NEEDS = ((Need(Statement.SPLITS_ON, "bottom"), Need(Statement.PASSES, "leaves")),)
VALID = EVERY_TREE
SEPARATES = True
HINT = "the stumps of the default model of flowoct imply its constraints"


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    return _static(problem, model) if point is None else _separated(problem, model, point)


def _written_on(problem: Problem, model: Model) -> tuple[Expression, Expression]:
    """Return the statements (t splits on f, row i is correct below t)."""
    return needed(problem, model, Statement.SPLITS_ON, "bottom"), needed(problem, model, Statement.PASSES, "leaves")


def _static(problem: Problem, model: Model) -> tuple[CutRows, ...]:
    encoded, bottom = problem.encoded, problem.topology.bottom
    b, z = _written_on(problem, model)
    F, K = encoded.n_candidate_splits, len(encoded.classes)
    if K < 2:
        return ()
    order = np.argsort(-encoded.loss.max(axis=1), kind="stable")
    X, y = encoded.X[order], encoded.y[order]
    # The place of a row among the eligible ones of its class is the number of its set.
    number = np.empty(X.shape, np.int32)
    sizes = np.zeros((2, F, K), np.int64)
    for k in range(K):
        for value in (0, 1):
            held = X[y == k] == value
            number[y == k] = np.where(held, held.cumsum(axis=0) - 1, number[y == k])
            sizes[value, :, k] = held.sum(axis=0)
    # A set of one row is implied by the capacities (1.7), (1.8): keep those that a second class reaches.
    count = np.sort(sizes, axis=2)[:, :, -2]
    total = int(count.sum())
    if not total:
        return ()
    first = np.cumsum(count.reshape(-1)).reshape(2, F) - count
    entries: list[Entry] = []
    for value in (0, 1):
        at, f = np.nonzero((X == value) & (number < count[value]))
        labels = bottom, (first[value, f] + number[at, f])[:, None]
        entries += z.entries(labels, (order[at][:, None], 2 * bottom + 1 - value))
    split = np.repeat(np.tile(np.arange(F), 2), count.reshape(-1))[:, None]
    entries += b.entries((bottom, np.arange(total)[:, None]), (bottom, split))
    axes = node_axis(bottom), Axis("set", total)
    return (CutRows(fresh_name(model, "cover"), axes, tuple(entries), upper=1.0),)


def _separated(problem: Problem, model: Model, point: dict[str, np.ndarray]) -> tuple[CutRows, ...]:
    encoded, bottom = problem.encoded, problem.topology.bottom
    b, z = _written_on(problem, model)
    asked, flow, node = b.value(point), z.value(point), int(z.nodes[0])
    found = []  # (t, f, side, rows of H)
    for t in bottom:
        choice = asked[t - b.nodes[0]]
        for value in (0, 1):
            into = flow[:, 2 * t + 1 - value - node]
            best = []
            for k in range(len(encoded.classes)):
                mine = np.flatnonzero(encoded.y == k)
                held = np.where(encoded.X[mine] == value, into[mine, None], -1.0)
                if len(mine):
                    at = held.argmax(axis=0)
                    best.append((mine[at], held[at, np.arange(len(at))]))
            chosen, amount = (np.array(part) for part in zip(*best))  # (classes, splits)
            total = choice + np.where(amount > TOLERANCE, amount, 0).sum(axis=0)
            for f in np.flatnonzero(total > 1 + TOLERANCE).tolist():
                found.append((t, f, 1 - value, chosen[amount[:, f] > TOLERANCE, f]))
    if not found:
        return ()
    number = np.repeat(np.arange(len(found)), [len(H) for *_, H in found])
    into = np.repeat([2 * t + side for t, _, side, _ in found], [len(H) for *_, H in found])
    entries = (
        *b.entries((np.arange(len(found)),), (np.array([t for t, *_ in found]), np.array([f for _, f, *_ in found]))),
        *z.entries((number,), (np.concatenate([H for *_, H in found]), into)),
    )
    return (CutRows(fresh_name(model, "cover"), (Axis("cut", len(found)),), entries, upper=1.0),)
