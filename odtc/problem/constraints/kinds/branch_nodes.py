"""Limit on the number of branch nodes: Σ_{t,f} b_tf ≤ N."""

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference
from odtc.problem.constraints.constraint import count_bound
from odtc.problem.constraints.kind import Constraint, Terms
from odtc.problem.constraints.on_nodes import KNOWS, NEEDS, SUBJECT, early, mend, rows
from odtc.trees.heap_tree import HeapTree

NAME = "branch_nodes"
SUMMARY = "branch_nodes <= N: at most N branch nodes"
OPS = ("<=",)


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return count_bound(given, 0, "branch nodes")


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(heap.n_branch_nodes)


def terms(encoded: Encoded, given: Constraint) -> Terms:
    return Terms(nodes=int(given.bound))


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(counts=lambda n, splits: n <= given.bound)
