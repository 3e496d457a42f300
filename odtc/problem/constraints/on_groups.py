"""Constraints on how many groups of splits occur in a tree, by the `groups` of a kind: parts that such kinds share.

    Σ_{f in group g} b_tf ≤ y_g,   Σ_g y_g ≤ N          t ∈ B, g;  either y or b is integer

N is the number of the constraint, or 1 for a kind without a number. If y is integer, as many y are 1 as may be: CBC
2.10 ends in an error if it turns Σ y ≤ 1 into an equation by itself and has a start.
"""

from itertools import combinations

import numpy as np

from odtc.data.encoding import Encoded
from odtc.data.splits import Splits
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import least_missed
from odtc.problem.constraints.kind import Constraint, Knows, Terms
from odtc.problem.constraints.on_features import asked, of_label
from odtc.problem.expressions import SPLITTING, Expression, split_variables
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

KNOWS, NEEDS = Knows.TESTS, SPLITTING


def early(given: Constraint) -> bool:
    """Return whether no split is allowed; otherwise a tree can be filled up with its own splits."""
    return most_of(given) < 1


def most_of(given: Constraint) -> int:
    """Return how many groups may occur."""
    return int(given.bound) if given.op else 1


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    """Return how many groups occur, or, for a kind without a number, how many too many."""
    used = len(_used(encoded, given, heap))
    return float(used if given.op else max(0, used - 1))


def terms(encoded: Encoded, given: Constraint) -> Terms:
    """Return the groups with their number, or as sets of splits that are apart."""
    F = encoded.n_candidate_splits
    group = _numbered(given.module.groups(encoded, given, np.arange(F), Splits.of(encoded.splits).first_feature))
    if given.op:
        return Terms(groups=(group, most_of(given)))
    return Terms(apart=tuple(combinations([group == g for g in range(group.max(initial=-1) + 1)], 2)))


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    """Write the rows of the formula, unless there are too few groups for them."""
    group, most = _of_labels(problem, model, given), most_of(given)
    if (n := int(group.max(initial=-1)) + 1) <= most:
        return
    b = split_variables(problem, model)
    whole, t, f, g = _chooses(model, b), b.nodes[:, None], np.flatnonzero(group >= 0), np.arange(n)
    y = m.columns(f"held{suffix}", Axis("group", n), integer=whole)
    hold = m.rows(f"hold{suffix}", b.axis("node"), Axis("group", n), upper=0)
    b.add(m, hold, (t, group[f]), (t, f))
    m.add(hold[t, g], y[g], -1)
    m.add(m.rows(f"distinct{suffix}", lower=most if whole else -np.inf, upper=most)[()], y[g])


def values(problem: Problem, model: Model, given: Constraint, point: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the values of y at a point of the formulation's columns."""
    group, most = _of_labels(problem, model, given), most_of(given)
    if (n := int(group.max(initial=-1)) + 1) <= most:
        return {}
    b, y, counted = split_variables(problem, model), np.zeros(n), group >= 0
    np.maximum.at(y, group[counted], b.value(point).max(axis=0)[counted])
    if _chooses(model, b):
        y[np.flatnonzero(y == 0)[: max(0, int(most - y.sum()))]] = 1
    return {"held": y}


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the tree without the splits of a group, and the subtrees below them, one group after another: first the
    one whose removal costs least."""
    while len(used := _used(encoded, given, heap)) > most_of(given):
        group = _of_nodes(encoded, given, heap)
        heap = least_missed(encoded, heap, [np.flatnonzero(group == g) for g in used])
    return heap


def _of_nodes(encoded: Encoded, given: Constraint, heap: HeapTree) -> np.ndarray:
    """Return the group of the split of each node."""
    return given.module.groups(encoded, given, heap.split, asked(encoded, heap))


def _used(encoded: Encoded, given: Constraint, heap: HeapTree) -> list[int]:
    """Return the groups that occur."""
    found = np.unique(_of_nodes(encoded, given, heap))
    return found[found >= 0].tolist()


def _of_labels(problem: Problem, model: Model, given: Constraint) -> np.ndarray:
    """Return the number of the group of each label of `split_variables`, from 0; -1 for one that is not counted."""
    feature = of_label(problem, model)
    return _numbered(given.module.groups(problem.encoded, given, np.arange(len(feature)), feature))


def _numbered(group: np.ndarray) -> np.ndarray:
    """Return the groups numbered from 0; -1 stays."""
    counted = np.where(group >= 0, group, -1)
    return np.unique(np.append(counted, -1), return_inverse=True)[1].ravel()[:-1] - 1


def _chooses(model: Model, b: Expression) -> bool:
    """Return whether integer variables choose the allowed splits, because the splits of the nodes are not integer."""
    return not any(model.integrality[places].any() for places in b.places())
