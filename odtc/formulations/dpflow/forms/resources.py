"""Sums over the tree are bounded (rows with a prediction, branch nodes), or folded subtrees must have leaves with a
number of rows: variables are subtrees, with their uses of the bounds (odtc.formulations.dpflow.resources)."""

from functools import cached_property

import numpy as np

from odtc.algorithms.dp.reduced_cost_fixing import FixedFlow
from odtc.formulations.dpflow import resources
from odtc.formulations.dpflow.forms import states
from odtc.formulations.dpflow.program import share
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import least_rows
from odtc.problem.exact_objective import plain_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


class Resources:
    """The flow of the model of one problem."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @cached_property
    def fixed(self) -> FixedFlow:
        return resources.flow_of(self.problem)


def takes(problem: Problem) -> bool:
    """Return whether a sum is bounded, or whether levels are to be folded whose leaves must have a number of rows."""
    folds = problem.topology.depth > 2 if problem.params.tail == "auto" else problem.params.tail != "0"
    return resources.bounded(problem) or (least_rows(problem) > 1 and folds)


def keeps(problem: Problem) -> tuple[str, ...]:
    return (*states.ROWS, *resources.kinds())


def build(problem: Problem) -> Model:
    return model_of(problem, problem.derived(Resources).fixed)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    return resources.start(problem, problem.derived(Resources).fixed.flow, heap)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    return resources.trimmed(problem, problem.derived(Resources).fixed, heap)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    return resources.decode(problem, problem.derived(Resources).fixed, point)


def notes(problem: Problem) -> dict:
    if not (resources.bounded(problem) and problem.params.fix):
        return {}
    found = problem.derived(Resources).fixed
    return notes_of(problem, found, found.flow.n_columns)


def model_of(problem: Problem, found: FixedFlow) -> Model:
    """Return the model of a flow."""
    return resources.build(problem, found.flow, lambda loss: share(problem, loss, plain_costs(problem)))


def notes_of(problem: Problem, found: FixedFlow, n_left: int) -> dict:
    """Return the number of variables that were left out because no better tree has them, and the bound and the tree
    that prove it."""
    return {
        "fixed": {
            "columns": found.n_columns - n_left,
            "of": found.n_columns,
            "bound": float(share(problem, found.bound, plain_costs(problem))),
            "incumbent": None
            if found.incumbent is None
            else float(share(problem, found.incumbent.vector[0], plain_costs(problem))),
        }
    }
