"""At most N leaves, so at most N - 1 branch nodes: Σ_{t,f} b_tf ≤ N - 1."""

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

NAME = "leaves"
SUMMARY = "leaves <= N: at most N leaves"
OPS = ("<=",)
SUBJECT = Subject.BRANCHES
KNOWS = Knows.TESTS
NEEDS = BRANCHING


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return count_bound(given, 1, "leaves")


def early(given: Constraint) -> bool:
    return True


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(heap.n_branch_nodes + 1)


def rows(problem: Problem, model: Model, given: Constraint, m: ModelBuilder, suffix: str) -> None:
    cap_branch_nodes(problem, model, m, f"branches{suffix}", int(given.bound) - 1)


def mend(encoded: Encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    return with_at_most(encoded, heap, int(given.bound) - 1)


def terms(encoded: Encoded, given: Constraint) -> Terms:
    return Terms(nodes=int(given.bound) - 1)


def tries(encoded: Encoded) -> list[str]:
    return tried_counts(NAME, 1)


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(counts=lambda n, splits: n + 1 <= given.bound)
