"""The dynamic program for the best tree of a problem of dpflow: what its states must know, and the states themselves.

A state is a set of rows that some path of tests leaves (odtc.algorithms.dp.state_graph). Where a constraint speaks
of what is asked, states
remember their paths, and where rows must say what nodes ask, their nodes, too
(odtc.formulations.dpflow.path_constraints); where one bounds a sum over
the tree, there is a column for each label or folded subtree, with what it uses of the bound
(odtc.formulations.dpflow.resources; of both, odtc.formulations.dpflow.paths_and_resources).

What is found is kept with the problem, and is in units of loss, in which a branch node costs λ / (1-λ).
"""

from dataclasses import dataclass

import numpy as np

from odtc.algorithms.dp import perfect_tree_search
from odtc.algorithms.dp.dual_targets import reduced
from odtc.algorithms.dp.reduced_cost_fixing import Fixed
from odtc.algorithms.dp.shallow_trees import graft
from odtc.algorithms.dp.state_expansion import generate, program, valued
from odtc.algorithms.dp.state_graph import Graph, Rows
from odtc.base import deadline
from odtc.formulations.dpflow import interval_model, path_constraints, paths_and_resources, resources, size_estimate
from odtc.formulations.dpflow.extract_tree import tree_along
from odtc.problem.branch_penalty import branch_price
from odtc.problem.constraints.constraint import least_rows, rowed
from odtc.problem.constraints.on_predictions import Knows
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank, settle

ROWS = ("leaf_rows",)  # kept by every form of the program, by its arcs
KEEPS = (*ROWS, *resources.kinds())


@dataclass(frozen=True)
class Shape:
    """The depth of the trees that the model holds, and how many levels of them are folded."""

    depth: int
    tail: int

    @property
    def levels(self) -> int:
        return self.depth - self.tail

    @classmethod
    def of(cls, problem: Problem) -> "Shape":
        """A depth less than the problem's where a tree of that depth costs what no tree can avoid."""
        depth, params = problem.topology.depth, problem.params
        tests = None if remembers(problem) else attained(problem)  # a tree of less depth may not keep them
        depth = depth if tests is None else max(1, len(tests).bit_length() - 1)
        if (
            sees(problem) or not remembers(problem) and least_rows(problem) > 1
        ):  # the tables that fold a level do not count rows (odtc.formulations.dpflow.resources does)
            return cls(depth, 0)
        tail = int(params.tail) if params.tail != "auto" else size_estimate.short_tail(problem.encoded.n_tests, depth)
        return cls(depth, min(depth - 1, tail))


def remembers(problem: Problem) -> bool:
    """Whether states remember their paths, since a constraint speaks of what is asked
    (odtc.formulations.dpflow.path_constraints)."""
    if problem.params.proof or interval_model.taken(problem):
        return False
    others = [given for given in problem.constraints if given.name not in ROWS]
    alone = problem.params.tail in ("auto", "0") or all(path_constraints.barring(given.name) for given in others)
    return alone and any(given.module.KNOWS == Knows.TESTS and given.name not in KEEPS for given in others)


def sees(problem: Problem) -> bool:
    """Whether they know their nodes, for constraints in rows."""
    return remembers(problem) and bool(rowed(problem))


def sums(problem: Problem) -> bool:
    """Whether columns are subtrees (odtc.formulations.dpflow.resources), or labels beside what is asked
    (odtc.formulations.dpflow.paths_and_resources)."""
    if problem.params.proof or interval_model.taken(problem):
        return False
    return (
        any(given.name in resources.answering() for given in problem.constraints)
        if remembers(problem)
        else resources.taken(problem)
    )


def share(problem: Problem, loss: np.ndarray) -> np.ndarray:
    """(1-λ) · loss, in which branch nodes count λ / (1-λ) each; without the noise of their division."""
    lam = problem.params.lambda_
    return np.round((1 - lam) * loss, 12) if lam else loss


def rows_of(problem: Problem) -> Rows:
    """The rows of the program, with what each label costs on them."""
    if "dpflow rows" not in problem.memo:
        deadline.check()
        encoded = problem.encoded
        problem.memo["dpflow rows"] = Rows.of(encoded.X, encoded.loss, encoded.copies, least_rows(problem))
    return problem.memo["dpflow rows"]


def fixed_flow(problem: Problem) -> Fixed:
    """The flow of the model where it `sums`."""
    if "dpflow flow" not in problem.memo:
        problem.memo["dpflow flow"] = (
            paths_and_resources.flow_of(problem, sees(problem)) if remembers(problem) else resources.flow_of(problem)
        )
    return problem.memo["dpflow flow"]


def sight(problem: Problem) -> path_constraints.ConstrainedProgram:
    """The program whose states remember, none of them folded away."""
    if "dpflow sight" not in problem.memo:
        graph = program(rows_of(problem), problem.topology.depth, branch_price(problem), problem.params.fold)
        problem.memo["dpflow sight"] = path_constraints.sight(problem, graph, sees(problem))
    return problem.memo["dpflow sight"]


def incumbent(problem: Problem) -> HeapTree | None:
    """The tree of the compiler's that bounds what the model holds, None where nothing does."""
    return sight(problem).incumbent if remembers(problem) and not sums(problem) else None


def known(problem: Problem) -> Graph:
    """The program down to the states with two levels left (or the leaves:
    odtc.algorithms.dp.state_expansion.valued), with the
    value of every state, in units of loss."""
    if "dpflow known" not in problem.memo:
        problem.memo["dpflow known"] = valued(
            rows_of(problem), Shape.of(problem).depth, branch_price(problem), problem.params.fold
        )
    return problem.memo["dpflow known"]


def attained(problem: Problem) -> np.ndarray | None:
    """The tests of a tree that costs what none can avoid, where one was quickly found
    (odtc.algorithms.dp.perfect_tree_search)."""
    params, rows = problem.params, rows_of(problem)
    if not params.fold or params.lambda_ or rows.least > 1:
        return None
    if "dpflow attained" not in problem.memo:
        problem.memo["dpflow attained"] = perfect_tree_search.attained(rows, problem.topology.depth)
    return problem.memo["dpflow attained"]


def written(problem: Problem) -> Graph:
    """The states and arcs of the model with their costs."""
    if "dpflow program" not in problem.memo:
        shape = Shape.of(problem)
        if remembers(problem):
            graph = sight(problem).graph.folded(shape.levels)
        elif shape.tail == 2:
            graph = known(problem).folded(shape.levels)
        else:
            graph = program(rows_of(problem), shape.depth, branch_price(problem), problem.params.fold, shape.tail)
        problem.memo["dpflow program"] = reduced(graph) if problem.params.proof else graph
    return problem.memo["dpflow program"]


def skeleton(problem: Problem) -> Graph:
    """The same states and arcs, without the cost of what is folded where it is not known already."""
    if "dpflow program" in problem.memo:
        return written(problem)
    return generate(rows_of(problem), Shape.of(problem).levels, branch_price(problem), problem.params.fold)


def states(problem: Problem) -> tuple[Graph | None, int]:
    """(graph, levels): states of all trees of the problem's depth with their values, of which the first so many
    levels have arcs of one test each; those that were made already, where they are these."""
    depth, shape, rows = problem.topology.depth, Shape.of(problem), rows_of(problem)
    if shape.depth == depth and not shape.tail and not problem.params.proof and "dpflow program" in problem.memo:
        return problem.memo["dpflow program"], depth
    if rows.least == 1 and depth <= 2:
        return None, 0
    graph = known(problem) if shape.depth == depth else valued(rows, depth, branch_price(problem), problem.params.fold)
    return graph, depth if rows.least > 1 else depth - 2


def optimal(problem: Problem) -> HeapTree:
    """The best tree, by the values of the states."""
    if interval_model.taken(problem):
        return interval_model.optimal(problem)
    if (tests := attained(problem)) is not None:
        test, _ = blank(problem.topology)
        graft(test, 1, tests)
        return settle(test, problem.encoded)
    depth = Shape.of(problem).depth
    shape = Shape(depth, 0 if rows_of(problem).least > 1 else min(2, depth - 1))
    graph = known(problem).folded(shape.levels)
    return tree_along(problem, graph, graph.best, shape.tail, depth)
