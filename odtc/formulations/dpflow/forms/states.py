"""The plain variant: one linear program over the states; each leaf may be required to have a least number of rows."""

import numpy as np

from odtc.formulations.dpflow import network
from odtc.formulations.dpflow.extract_tree import tree_along
from odtc.formulations.dpflow.forms import ROWS
from odtc.formulations.dpflow.program import Program
from odtc.model.milp import Model
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


def takes(problem: Problem) -> bool:
    return True


def keeps(problem: Problem) -> tuple[str, ...]:
    return ROWS


def build(problem: Problem) -> Model:
    return network.flow_model(problem, problem.derived(Program).written)[0].finish()


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    return network.point_of(problem, problem.derived(Program).written, heap)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    program = problem.derived(Program)
    return network.pruned(problem, program.rows, program.price, program.shape, heap)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point; folded subtrees are searched for again."""
    program = problem.derived(Program)
    shape = program.shape
    return tree_along(problem, program.skeleton, network.largest_flow(point), shape.tail)


def notes(problem: Problem) -> dict:
    return {}


def optimal(problem: Problem) -> HeapTree:
    return problem.derived(Program).optimal()
