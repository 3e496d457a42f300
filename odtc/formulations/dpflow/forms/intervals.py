"""Ordered thresholds: one variable for an interval of them (odtc.formulations.dpflow.interval_model).

The tree is the compiler's for every point, because the file proves the cost of this tree.
"""

import numpy as np

from odtc.formulations.dpflow import interval_model
from odtc.formulations.dpflow.interval_model import build, optimal, start  # noqa: F401
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


def takes(problem: Problem) -> bool:
    return interval_model.taken(problem)


def keeps(problem: Problem) -> tuple[str, ...]:
    return ()


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    return optimal(problem)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    return optimal(problem)


def notes(problem: Problem) -> dict:
    return {}


def targets(problem: Problem, unit: float):
    for j, states in enumerate(interval_model.targets(problem)):
        yield (
            np.rint(np.array([bound for bound, _ in states]) * unit),
            np.array([path for _, path in states], np.int64).reshape(len(states), j),
        )
