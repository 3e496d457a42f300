"""Limit on the number of branch nodes: Σ_{t,f} b_tf ≤ N.

No branch node is below a node that predicts, unless the formulation requires one; a model in which all nodes branch
uses its other variant.
"""

from odtc.data.encoding import Encoded
from odtc.model.builder import ModelBuilder
from odtc.model.milp import Model
from odtc.problem.constraints.by_definition import Reference, tried_counts
from odtc.problem.constraints.constraint import BRANCHING, Constraint, cap_branch_nodes, count_bound, with_at_most
from odtc.problem.constraints.kind import Subject
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.constraints.terms import Terms
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "branch_nodes"
SUMMARY = "branch_nodes <= N: at most N branch nodes"
OPS = ("<=",)
SUBJECT = Subject.BRANCHES
KNOWS = Knows.TESTS
NEEDS = BRANCHING


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return count_bound(given, 0, "branch nodes")


def early(given: Constraint) -> bool:
    return True


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(heap.n_branch_nodes)


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    cap_branch_nodes(problem, model, m, f"branches{suffix}", int(given.bound))


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    return with_at_most(encoded, heap, int(given.bound))


def terms(encoded: Encoded, given: Constraint) -> Terms:
    return Terms(nodes=int(given.bound))


def tries(encoded: Encoded) -> list[str]:
    return tried_counts(NAME)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(counts=lambda n, splits: n <= given.bound)
