"""Sums over the tree are bounded (rows with a prediction, branch nodes), or folded subtrees must have leaves with a
number of rows: variables are subtrees, with their uses of the bounds (odtc.formulations.dpflow.resources).

If a constraint refers to the features that nodes split on, too, states remember their paths, and know their nodes if
constraints of the model depend on the split of each node (odtc.formulations.dpflow.path_constraints).
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from odtc.algorithms.dp import lattice
from odtc.algorithms.dp.reduced_cost_fixing import FixedFlow
from odtc.formulations.dpflow import resources
from odtc.formulations.dpflow.forms import answering, kinds, paths, states
from odtc.formulations.dpflow.program import share
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import least_rows, rowed
from odtc.problem.exact_objective import plain_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


class Resources:
    """The flow of the model of one problem."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.remembers = paths.takes(problem)
        self.knows_nodes = self.remembers and bool(rowed(problem))

    @cached_property
    def fixed(self) -> FixedFlow:
        """Return the flow through states that do not know their nodes."""
        return resources.flow_of(self.problem, self.remembers, self.knows_nodes)

    @cached_property
    def written(self) -> FixedFlow:
        """Return the flow of the model."""
        found = self.fixed
        if not self.knows_nodes:
            return found
        return replace(found, flow=replace(found.flow, steps=lattice.placed(found.flow.steps)))


def takes(problem: Problem) -> bool:
    """Return whether a sum is bounded, or whether levels are to be folded whose leaves must have a number of rows."""
    if paths.takes(problem):
        return any(given.name in answering() for given in problem.constraints)
    folds = problem.topology.depth > 2 if problem.params.tail == "auto" else problem.params.tail != "0"
    return resources.bounded(problem) or (least_rows(problem) > 1 and folds)


def keeps(problem: Problem) -> tuple[str, ...]:
    return (*(paths if paths.takes(problem) else states).keeps(problem), *kinds())


def build(problem: Problem) -> Model:
    made = problem.derived(Resources)
    return resources.build(problem, made.written.flow, lambda loss: _share(problem, loss), made.knows_nodes)


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    made = problem.derived(Resources)
    return resources.start(problem, made.written.flow, heap) | paths.used(problem, heap, made.knows_nodes)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    return resources.trimmed(problem, problem.derived(Resources).written, heap)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    return resources.decode(problem, problem.derived(Resources).written, point)


def notes(problem: Problem) -> dict:
    """Return the number of variables that were left out because no better tree has them, and the bound and the tree
    that prove it."""
    if not (resources.bounded(problem) and problem.params.fix):
        return {}
    found = problem.derived(Resources).fixed
    return {
        "fixed": {
            "columns": found.n_columns - found.flow.n_columns,
            "of": found.n_columns,
            "bound": float(_share(problem, found.bound)),
            "incumbent": None if found.incumbent is None else float(_share(problem, found.incumbent.vector[0])),
        }
    }


def _share(problem: Problem, cost: np.ndarray) -> np.ndarray:
    return share(problem, cost, plain_costs(problem))
