"""Rows with equal results for all splits go together, so at most one class of each such group is correct.

With flows, on every edge (G: rows with equal x and pairwise different classes):

    Σ_{i∈G} z_{i,t} ≤ Σ_{f: x_Gf leads to t} b_{a(t),f}            the edge into t; ≤ 1 into the root

Without flows, Σ_{i∈G} [row i is correct] ≤ 1. Data without such groups gets no rows. If equal rows of one class are not
merged, a group has one row of each class, and there are as many groups as the largest class has equal rows: smaller
classes begin again with their first row.
"""

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.milp import Model
from odtc.problem.cuts.cut import EVERY_TREE, CutRows
from odtc.problem.expressions import Need, Statement, needed, stated
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name, node_axis

NAME = "equivalent_points"
SUMMARY = "among rows that every split sends the same way, at most one class is correct"
NEEDS = ((Need(Statement.SPLITS_ON, "branch_nodes"), Need(Statement.PASSES)), (Need(Statement.CORRECT),))
VALID = EVERY_TREE


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    X = problem.encoded.X
    first, group, member = _groups(X, problem.encoded.y)
    if not len(member):
        return ()
    same = X[first]
    name, axis = fresh_name(model, "same"), Axis("group", len(first))
    b, z = stated(problem, model, Statement.SPLITS_ON, "branch_nodes"), stated(problem, model, Statement.PASSES)
    if b is None or z is None:
        right = needed(problem, model, Statement.CORRECT)
        return (CutRows(name, (axis,), tuple(right.entries((group,), (member,))), upper=1.0),)
    t = z.nodes
    entries = z.entries((group[:, None], t), (member[:, None], t))
    for side in (0, 1):
        below = t[(t > 1) & (t % 2 == side)]
        at, f = (labels[:, None] for labels in np.nonzero(same == side))
        if len(below):
            entries += b.entries((at, below), (below // 2, f), -1.0)
    upper = np.broadcast_to(np.where(t == 1, 1.0, 0.0), (len(first), len(t)))
    return (CutRows(name, (axis, node_axis(t)), tuple(entries), upper=upper),)


def _groups(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sets of rows with equal outcomes and pairwise different classes.

    Parameters
    ----------
    X : uint8 array, shape (rows, splits)
    y : int array, shape (rows,)

    Returns
    -------
    first : int array, shape (groups,)
        A row of each group.
    group, member : int arrays, shape (members,)
        Each row that belongs to a group, as often as it belongs to one.
    """
    _, kind = np.unique(np.packbits(X, axis=1), axis=0, return_inverse=True)
    pair, of_row, size = np.unique(np.stack([kind.reshape(-1), y]), axis=1, return_inverse=True, return_counts=True)
    of_row, kind = of_row.reshape(-1), pair[0]
    _, start, classes = np.unique(kind, return_index=True, return_counts=True)
    # The groups of a kind of rows: as many as its largest class has rows, none if it has one class.
    groups = np.where(classes > 1, np.maximum.reduceat(size, start), 0)
    base, groups = np.repeat(groups.cumsum() - groups, classes), np.repeat(groups, classes)
    # Row number r of the m equal rows of a class is in the groups r, r + m, r + 2m, … of its kind.
    order = np.argsort(of_row, kind="stable")
    number = np.empty(len(y), int)
    number[order] = np.arange(len(y)) - np.repeat(size.cumsum() - size, size)
    times = np.maximum(0, -((number - groups[of_row]) // size[of_row]))
    member = np.repeat(np.arange(len(y)), times)
    again = np.arange(len(member)) - np.repeat(times.cumsum() - times, times)
    group = base[of_row[member]] + number[member] + again * size[of_row[member]]
    _, at = np.unique(group, return_index=True)
    return member[at], group, member
