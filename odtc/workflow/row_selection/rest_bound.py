"""Effect of rows that were not selected: a bound on the loss of all rows by the proof of some of them.

    Σ_{i in all} w_i l_i(T)  ≥  Σ_{i in S} w_i l_i(T)  ≥  (1 / f) Σ_{i in S} v_i l_i(T)  ≥  B / f

for every tree T, because no row has a negative cost: S are the selected rows, w_i their weights in the data, v_i their
weights in the selection with f = max v_i / w_i, and B the bound of the search on S. Bounds of disjoint S add up. Every
tree over all thresholds partitions S as some tree over the thresholds of S does, so B is valid for all of them if S
was searched over all of its own thresholds; otherwise no bound is known.
"""

import time
from collections.abc import Callable

import numpy as np

from odtc.base import deadline
from odtc.data.dataset import NUMERIC, Dataset
from odtc.data.encoding import Encoded
from odtc.errors import DataError, NoSolutionError, TimeLimitReached
from odtc.problem.exact_objective import exact_objective
from odtc.problem.problem import Problem
from odtc.workflow.row_selection.selection import take_rows

SEED = 0  # of the samples: the same data gives the same bound
ROUNDING = 1e-10  # of a bound: what all numbers together may be off


def rest_bound(problem: Problem, part: Dataset, bound: float | None) -> float | None:
    """Return the bound on the loss of any tree of the problem's depth on all rows; None if none is known.

    Parameters
    ----------
    problem : Problem
        The problem of the selected rows. Constraints may be satisfied on some rows and not on all, so no bound is known
        under constraints.
    part : Dataset
        The selected rows.
    bound : float or None
        No tree's objective on the selected rows is less.

    Returns
    -------
    float or None
        In units of the loss of all rows.
    """
    whole, module = part.selected.whole, problem.module
    if bound is None or problem.constraints or exact_objective(problem) is None:
        return None
    of_loss, of_node = module.unit_costs(problem)
    if of_node or of_loss <= 0 or (whole.weight <= 0).any() or not asks_all(problem.encoded, part):
        return None
    copies = part.weight / whole.weight[part.selected.rows]
    of_all = max(0.0, bound) / of_loss / float(np.max(copies))
    whole_losses = (whole.weight % 1 == 0).all() and (problem.encoded.cost % 1 == 0).all()
    return max(0.0, float(np.ceil(of_all - ROUNDING * (1 + of_all)))) if whole_losses else of_all


def asks_all(encoded: Encoded, dataset: Dataset) -> bool:
    """Return whether the candidate splits partition the rows in each way in which a threshold between neighbouring
    values, a single level, or whether a cell is missing does."""
    splits: dict[int, list] = {}
    for first, others in zip(encoded.splits, encoded.stands_for):
        for split in (first, *(other for other, _ in others)):
            if split.kind == "oblique":
                return False
            splits.setdefault(split.feature, []).append(split)
    for at, feature in enumerate(dataset.features):
        cells, asked = dataset.X[:, at], splits.get(at, [])
        values = np.unique(cells[~np.isnan(cells)])
        if np.isnan(cells).any():
            return False  # missing cells can be split in more ways than are compared here
        if feature.kind == NUMERIC:
            cuts = np.sort([split.threshold for split in asked if split.kind == "threshold"])
            between = np.searchsorted(cuts, values, side="left")  # cuts below a value
            if (np.diff(between) == 0).any():
                return False
            continue
        sides = {(left.tobytes(), (~left).tobytes()) for split in asked for left in [split.left(dataset.X)]}
        have = {side for both in sides for side in both}
        if len(values) > 1 and not all((cells == value).tobytes() in have for value in values):
            return False
    return True


def bound_by_parts(
    dataset: Dataset,
    parts: int,
    prove: Callable,
    tell: Callable[[str], None],
    time_limit: float | None,
    interrupted: Callable[[], bool] = lambda: False,
) -> float | None:
    """Return the sum of the bounds of `parts` parts, which are disjoint and together all rows: each has its share of
    each class, drawn at random, and an equal share of the time that is left.

    `prove(part, seconds)` returns the bound of a part, None for none; a part that ends without a tree has bound 0, and
    so have the parts after `interrupted()` is true because Ctrl-C or SIGTERM ended one.
    """
    random, began, total, known = np.random.default_rng(SEED), time.monotonic(), 0.0, 0
    order = random.permutation(dataset.n_rows)
    order = order[np.argsort(dataset.y[order], kind="stable")]
    for k in range(parts):
        rows, left = np.sort(order[k::parts]), deadline.limit_left(began, time_limit)
        if left == deadline.MOMENT or interrupted():
            break
        part = take_rows(dataset, rows, dataset.weight[rows], {"scheme": f"part {k + 1} of {parts}"})
        try:
            bound = prove(part, None if left is None else left / (parts - k))
        except (TimeLimitReached, NoSolutionError, DataError):  # also: no split separates its rows
            continue
        if bound is None:
            return None
        total, known = total + bound, known + 1
    tell(f"the proofs of {known} disjoint parts of all rows add up: no tree loses less than {total:.10g}")
    return total
