"""For a search under constraints that has ended, and whose program would be large: only the part that it leaves is
written (odtc.formulations.dpflow.live_cases)."""

from odtc.formulations.dpflow import live_cases
from odtc.formulations.dpflow.live_cases import build, decode, start  # noqa: F401
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


def takes(problem: Problem) -> bool:
    return bool(problem.params.cases)


def keeps(problem: Problem) -> tuple[str, ...]:
    return tuple(given.name for given in problem.constraints)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    return live_cases.known(problem)


def notes(problem: Problem) -> dict:
    return live_cases.left_out(problem)
