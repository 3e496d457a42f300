"""Both at once: sums over predictions are bounded, and a constraint refers to the features that nodes split on
(odtc.formulations.dpflow.paths_and_resources)."""

from functools import cached_property

import numpy as np

from odtc.formulations.dpflow import paths_and_resources
from odtc.formulations.dpflow import resources as subtrees
from odtc.formulations.dpflow.forms import paths, resources
from odtc.formulations.dpflow.paths_and_resources import Joint
from odtc.model.milp import Model
from odtc.problem.constraints.constraint import rowed
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree


class PathsAndResources:
    """The flow of the model of one problem, whose states remember their paths."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @cached_property
    def sees(self) -> bool:
        """Return whether states know their nodes, because model constraints depend on the split of each node."""
        return bool(rowed(self.problem))

    @cached_property
    def joint(self) -> Joint:
        return paths_and_resources.flow_of(self.problem, self.sees)


def takes(problem: Problem) -> bool:
    return paths.takes(problem) and any(given.name in subtrees.answering() for given in problem.constraints)


def keeps(problem: Problem) -> tuple[str, ...]:
    return (*paths.keeps(problem), *subtrees.kinds())


def build(problem: Problem) -> Model:
    found = problem.derived(PathsAndResources)
    model = resources.model_of(problem, found.joint)
    return paths_and_resources.asked(problem, found.joint, model) if found.sees else model


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    found = problem.derived(PathsAndResources)
    return subtrees.start(problem, found.joint.flow, heap) | paths.tested(problem, heap, found.sees)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    return subtrees.trimmed(problem, problem.derived(PathsAndResources).joint, heap)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    return subtrees.decode(problem, problem.derived(PathsAndResources).joint, point)


def notes(problem: Problem) -> dict:
    if not problem.params.fix:
        return {}
    joint = problem.derived(PathsAndResources).joint
    return resources.notes_of(problem, joint, joint.n_left)
