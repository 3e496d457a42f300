"""At most N leaves, so at most N - 1 branch nodes: Σ_{t,f} b_tf ≤ N - 1."""

from odtc.constraint import BRANCHING, Constraint, Knows, above_leaves, cap_branch_nodes, count_bound, least_missed
from odtc.heap import HeapTree

NAME = "leaves"
SUMMARY = "leaves <= N: at most N leaves"
OPS = ("<=",)
KNOWS = Knows.TESTS
NEEDS = BRANCHING
HINT = "flowoct, bendersoct, oct, binoct, fair and dpflow say which nodes branch"


def read(encoded, given: Constraint) -> Constraint:
    return count_bound(given, 1, "leaves")


def early(given: Constraint) -> bool:
    return True


def value(encoded, given: Constraint, heap: HeapTree) -> float:
    return float(heap.n_branch_nodes + 1)


def rows(problem, model, given: Constraint, m, suffix: str) -> None:
    cap_branch_nodes(problem, model, m, f"branches{suffix}", given.bound - 1)


def mend(encoded, given: Constraint, heap: HeapTree) -> HeapTree:
    """Without the branch nodes above two leaves that are missed least, one after another."""
    while heap.n_branch_nodes + 1 > given.bound:
        heap = least_missed(encoded, heap, above_leaves(heap))
    return heap
