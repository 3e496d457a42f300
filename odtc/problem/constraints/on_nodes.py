"""Constraints on the number of branch nodes, Σ_t [t branches] ≤ `nodes` of their `terms`: parts that their kinds share.

No branch node is below a node that predicts, unless the formulation requires one; a model in which all nodes branch
uses its other variant.
"""

import numpy as np

from odtc.data.encoding import Encoded
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import least_missed
from odtc.problem.constraints.kind import Constraint, Knows, Subject
from odtc.problem.expressions import BRANCHING, Statement, needed
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

SUBJECT, KNOWS, NEEDS = Subject.BRANCHES, Knows.TESTS, BRANCHING


def early(given: Constraint) -> bool:
    """Return True: a tree with fewer branch nodes predicts early."""
    return True


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    """Write Σ_t [t branches] ≤ nodes."""
    d = needed(problem, model, Statement.BRANCHES, "branch_nodes")
    most = given.module.terms(problem.encoded, given).nodes
    d.add(m, m.rows(f"branches{suffix}", upper=most), (), d.labels())


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Return the pruned tree."""
    return with_at_most(encoded, heap, given.module.terms(encoded, given).nodes)


def with_at_most(encoded: Encoded, heap: HeapTree, most: float) -> HeapTree:
    """Prune a tree to this many branch nodes: repeatedly the node above two leaves that costs least to remove.

    Parameters
    ----------
    encoded : Encoded
    heap : HeapTree
    most : float

    Returns
    -------
    HeapTree
    """
    while heap.n_branch_nodes > most:
        heap = least_missed(encoded, heap, above_leaves(heap))
    return heap


def above_leaves(heap: HeapTree) -> list[int]:
    """Return the branch nodes whose two children predict."""
    t = np.flatnonzero(heap.split >= 0)
    return t[(heap.split[2 * t] < 0) & (heap.split[2 * t + 1] < 0)].tolist()
