"""At most N leaves, so at most N - 1 branch nodes: Σ_{t,f} b_tf ≤ N - 1."""

from odtc.data.encoding import Encoded
from odtc.problem.constraints.by_definition import Reference, tried
from odtc.problem.constraints.constraint import count_bound
from odtc.problem.constraints.kind import Constraint, Terms
from odtc.problem.constraints.on_nodes import KNOWS, NEEDS, SUBJECT, early, mend, rows
from odtc.trees.heap_tree import HeapTree

NAME = "leaves"
SUMMARY = "leaves <= N: at most N leaves"
OPS = ("<=",)


def read(encoded: Encoded, given: Constraint) -> Constraint:
    return count_bound(given, 1, "leaves")


def value(encoded: Encoded, given: Constraint, heap: HeapTree) -> float:
    return float(heap.n_branch_nodes + 1)


def terms(encoded: Encoded, given: Constraint) -> Terms:
    return Terms(nodes=int(given.bound) - 1)


def tries(encoded: Encoded) -> list[str]:
    return tried(encoded, NAME, SUMMARY)[1:]  # every tree has a leaf


def reference(encoded: Encoded, given: Constraint) -> Reference:
    return Reference(counts=lambda n, splits: n + 1 <= given.bound)
