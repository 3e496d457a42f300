"""Each leaf classifies at most one of several rows of different classes correctly (Zhu et al. 2020, Theorem 3).

    Σ_{i∈I} c_i >= Σ_{i∈I, l∈Λ} z_il - |Λ|        I of pairwise different classes, Λ some leaves

There are exponentially many. The static choice distributes the rows of each class to sets in their order, and uses
each single leaf as Λ. At a point, the most violated I for a Λ has from each class the row with the largest Σ_{l∈Λ}
z_il - c_i, if that is above 0; for all Λ up to MAX_LEAVES leaves, and for single leaves and pairs beyond.
"""

from itertools import combinations

import numpy as np

from odtc.model.blocks import Axis
from odtc.model.feasibility import TOLERANCE
from odtc.model.milp import Model
from odtc.problem.cuts.cut import EVERY_TREE, CutRows
from odtc.problem.expressions import Need, Statement, needed
from odtc.problem.problem import Problem
from odtc.problem.roles import fresh_name

NAME = "one_per_class"
SUMMARY = (
    "of rows of different classes in some leaves, as many are misclassified as are more than these leaves (SVM1-ODT, "
    "Theorem 3)"
)
NEEDS = ((Need(Statement.MISCLASSIFIED), Need(Statement.ENDS, "leaves")),)
VALID = EVERY_TREE
SEPARATES = True
MAX_LEAVES = 8  # leaves, of which all sets are tried


def rows(problem: Problem, model: Model, point: dict[str, np.ndarray] | None = None) -> tuple[CutRows, ...]:
    encoded = problem.encoded
    c, z = needed(problem, model, Statement.MISCLASSIFIED), needed(problem, model, Statement.ENDS, "leaves")
    leaf = z.nodes
    if point is None:
        chosen = [(members, np.array([l])) for members in _dealt(encoded.y) for l in leaf]
    else:
        chosen = _broken(encoded.y, c.value(point), z.value(point), leaf)
    if not chosen:
        return ()
    number = np.repeat(np.arange(len(chosen)), [len(members) for members, _ in chosen])
    entries = c.entries((number,), (np.concatenate([members for members, _ in chosen]),))
    number = np.repeat(np.arange(len(chosen)), [len(members) * len(some) for members, some in chosen])
    i = np.concatenate([np.repeat(members, len(some)) for members, some in chosen])
    l = np.concatenate([np.tile(some, len(members)) for members, some in chosen])
    entries += z.entries((number,), (i, l), -1.0)
    lower = -np.array([len(some) for _, some in chosen], float)
    return (CutRows(fresh_name(model, "mixed"), (Axis("set", len(chosen)),), tuple(entries), lower=lower),)


def _dealt(y: np.ndarray) -> list[np.ndarray]:
    """Return the rows in sets with one row of each remaining class."""
    order = np.argsort(y, kind="stable")
    first = np.searchsorted(y[order], y[order])
    turn = np.arange(len(y)) - first
    return [order[turn == k] for k in range(turn.max() + 1) if (turn == k).sum() > 1]


def _broken(y: np.ndarray, c: np.ndarray, z: np.ndarray, leaf: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    size = len(leaf) if len(leaf) <= MAX_LEAVES else 2
    classes = np.unique(y)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for some in (list(one) for k in range(1, size + 1) for one in combinations(range(len(leaf)), k)):
        worth = z[:, some].sum(axis=1) - c
        best = [members[worth[members].argmax()] for members in (np.flatnonzero(y == k) for k in classes)]
        wrong = np.array([i for i in best if worth[i] > 0], int)
        if worth[wrong].sum() > len(some) + TOLERANCE and len(wrong) > len(some):
            found.append((wrong, leaf[some]))
    return found
