"""dpflow: the dynamic program for optimal trees as a flow, whose linear program is its own proof.

A state is a set of rows that some path of tests leaves. One unit of flow enters the state of all rows; at a state it
stops, or asks a test and enters the states of both sides. Every vertex is a tree, so the model needs no integer
columns,
and any LP solver proves the tree (odtc.formulations.dpflow.network, with the program and why that is so).

Where every leaf must have N rows of the data, no arc parts fewer from a state. What is left are the
flows of the trees that keep it, so the program stays integral; folded, its columns are subtrees
(odtc.formulations.dpflow.resources).
Where a constraint bounds a sum over the tree (rows predicted so, branch nodes), there is a column for each label or
folded
subtree that no other dominates, with what it uses of the bound, Σ_p a_p t_p ≤ upper, and all columns are whole
(odtc.formulations.dpflow.resources).
Where a constraint speaks of what a node asks, the states know their nodes
(odtc.formulations.dpflow.path_constraints; of both, odtc.formulations.dpflow.paths_and_resources).

Over many ordered thresholds one column stands for an interval of them (odtc.formulations.dpflow.interval_model).
"""

from dataclasses import dataclass

import numpy as np

from odtc.formulations.dpflow import interval_model, network, path_constraints, paths_and_resources, resources
from odtc.formulations.dpflow.program import (
    KEEPS,
    ROWS,
    fixed_flow,
    incumbent,
    optimal,
    remembers,
    sees,
    share,
    sight,
    sums,
)
from odtc.model.milp import Model
from odtc.problem.branch_penalty import branch_price, objective  # noqa: F401
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.parameters import parameter
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

NAME = "dpflow"
TITLE = "dpflow: the dynamic program as a flow; any LP solver proves the tree"
PAPER = "Martin, Rardin & Campbell (1990), Polyhedral Characterization of Discrete Dynamic Programming"

ANY_COST = True


@dataclass(frozen=True)
class Params:
    lambda_: float = parameter(0.0, "price of a branch node: min (1-λ) errors + λ branch nodes", least=0, below=1)
    tail: str = parameter(
        "auto",
        "levels above the leaves that the compiler solves (auto: 0 to depth 2, 1 at depth 3, else 2; more if it is "
        "large; 1 where a constraint bounds a sum over the tree)",
        choices=("auto", "0", "1", "2"),
    )
    fold: bool = parameter(
        True,
        "a state that costs what no tree can avoid is not expanded, nor a depth that none needs; but where a "
        "constraint bounds a sum",
    )
    fix: bool = parameter(
        True,
        "where a constraint bounds a sum over the tree, or what is asked: without what no better tree than one found "
        "has",
    )
    intervals: str = parameter(
        "auto",
        "ordered thresholds: one column for many, refined until it costs as much as the best tree, which the "
        "compiler has found",
        choices=("auto", "true", "false"),
    )
    proof: bool = parameter(
        False, "only the states that prove the optimum, which the compiler has found: the smallest such file"
    )


def keeps(problem: Problem) -> tuple[str, ...]:
    """The kinds of constraints that decide which states and arcs there are; a proof is one of all trees with such
    leaves."""
    if interval_model.taken(problem):
        return ()
    if remembers(problem):
        bars = tuple(given.name for given in problem.constraints if path_constraints.barring(given.name))
        return (*ROWS, *bars, *(resources.kinds() if sums(problem) else ()))
    return ROWS if problem.params.proof else KEEPS


def hinders(problem: Problem, given) -> str:
    """The parameter for which a constraint is not kept that would be without it, as on the command line; "" for
    none."""
    params = problem.params
    if given.name not in KEEPS and given.module.KNOWS != Knows.TESTS:
        return ""
    return (
        "-p proof=true"
        if params.proof
        else "-p intervals=true"
        if params.intervals == "true"
        else f"-p tail={params.tail}"
        if params.tail in ("1", "2")
        else ""
    )


def build(problem: Problem) -> Model:
    if interval_model.taken(problem):
        return interval_model.build(problem, NAME)
    if not sums(problem):
        return network.build(problem, NAME)
    model = resources.build(problem, fixed_flow(problem).flow, lambda loss: share(problem, loss))
    return paths_and_resources.asked(problem, fixed_flow(problem), model) if sees(problem) else model


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    """A tree that `trimmed` made, as a point: leaves have the labels that cost least, and folded parts
    are the best there are. Raises TreeError for another."""
    if interval_model.taken(problem):
        return interval_model.start(problem, heap)
    point = resources.start(problem, fixed_flow(problem).flow, heap) if sums(problem) else network.start(problem, heap)
    asked = heap.test[problem.topology.branch_nodes, None] == np.arange(problem.encoded.n_tests)
    return point | ({"b": asked} if sees(problem) else {})


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    """A tree that costs no more, and which the model has."""
    if interval_model.taken(problem):
        return optimal(problem)
    return resources.trimmed(problem, fixed_flow(problem), heap) if sums(problem) else network.trimmed(problem, heap)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """The tree of a point; of one in intervals, or of a proof, the compiler's, whose cost is what the file proves."""
    if interval_model.taken(problem):
        return optimal(problem)
    return resources.decode(problem, fixed_flow(problem), point) if sums(problem) else network.decode(problem, point)


def notes(problem: Problem) -> dict:
    """Where columns were left out because no better tree has them: how many, and the bound and the tree that prove
    it."""
    if (better := incumbent(problem)) is not None:
        found = sight(problem)
        return {
            "fixed": {
                "arcs": found.n_fixed,
                "of": found.n_arcs,
                "bound": float(share(problem, found.graph.values[0][0])),
                "incumbent": objective(problem, better),
            }
        }
    if not (sums(problem) and resources.bounded(problem) and problem.params.fix):
        return {}
    found = fixed_flow(problem)
    cost = None if found.incumbent is None else float(share(problem, found.incumbent.vector[0]))
    left = found.n_left if isinstance(found, paths_and_resources.Joint) else found.flow.n_columns
    return {
        "fixed": {
            "columns": found.n_columns - left,
            "of": found.n_columns,
            "bound": float(share(problem, found.bound)),
            "incumbent": cost,
        }
    }
