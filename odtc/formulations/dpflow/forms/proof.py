"""`-p proof=true`: only the states of the plain variant that bound the optimum, which the compiler has found.

Everything else is left out, so the tree is the compiler's for every point: the file proves the cost of this tree.
"""

from functools import cached_property

import numpy as np

from odtc.algorithms.dp.dual_targets import reduced_graph
from odtc.algorithms.dp.state_graph import Graph
from odtc.formulations.dpflow import network
from odtc.formulations.dpflow.forms.states import keeps, notes, optimal  # noqa: F401
from odtc.formulations.dpflow.program import Program
from odtc.model.milp import Model
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


class Proof:
    """The states of the proof of one problem."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @cached_property
    def graph(self) -> Graph:
        return reduced_graph(self.problem.derived(Program).graph())


def takes(problem: Problem) -> bool:
    return problem.params.proof


def build(problem: Problem) -> Model:
    return network.flow_model(problem, problem.derived(Proof).graph)[0].finish()


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """Return a tree as a point; parts that need no state in a proof are written as a stop."""
    return network.point_of(problem, problem.derived(Proof).graph, heap, stops=True)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    return optimal(problem)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    return optimal(problem)
