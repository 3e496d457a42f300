"""A constraint refers to the features that nodes split on: states remember their paths, and know their nodes if
constraints of the model depend on the split of each node (odtc.formulations.dpflow.path_constraints)."""

from functools import cached_property

import numpy as np

from odtc.algorithms.dp.state_expansion import build_graph
from odtc.algorithms.dp.state_graph import Graph
from odtc.formulations.dpflow import network, path_constraints
from odtc.formulations.dpflow.extract_tree import best_way, tree_along
from odtc.formulations.dpflow.forms import ROWS, kinds
from odtc.formulations.dpflow.path_constraints import ConstrainedProgram
from odtc.formulations.dpflow.program import Program, Shape, folded_levels, share
from odtc.model.milp import Model
from odtc.problem.branch_penalty import objective
from odtc.problem.constraints.constraint import broken, rowed
from odtc.problem.constraints.kind import Knows
from odtc.problem.constraints.search_terms import terms_of
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, settle, with_min_leaf_rows


class Paths:
    """The program of one problem whose states remember their paths."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @cached_property
    def sees(self) -> bool:
        """Return whether states know their nodes, because model constraints depend on the split of each node."""
        return bool(rowed(self.problem))

    @property
    def shape(self) -> Shape:
        """Return the problem's depth, because a tree of less depth may break the constraints. If states know their
        nodes, no level is folded."""
        depth = self.problem.topology.depth
        return Shape(depth, 0 if self.sees else folded_levels(self.problem, depth))

    @cached_property
    def sight(self) -> ConstrainedProgram:
        """Return the program whose states remember their paths, with none of them folded away."""
        problem = self.problem
        program, depth = problem.derived(Program), problem.topology.depth
        graph = build_graph(program.rows, depth, program.price, problem.params.fold)
        return path_constraints.sight(problem, graph, self.sees)

    @cached_property
    def written(self) -> Graph:
        """Return the states and arcs of the model with their costs."""
        return self.sight.graph.folded(self.shape.levels)


def takes(problem: Problem) -> bool:
    others = [given for given in problem.constraints if given.name not in ROWS]
    alone = problem.params.tail in ("auto", "0") or all(path_constraints.barring(given) for given in others)
    return alone and any(given.module.KNOWS == Knows.TESTS and given.name not in kinds() for given in others)


def keeps(problem: Problem) -> tuple[str, ...]:
    bars = (given.name for given in problem.constraints if path_constraints.barring(given))
    return (*ROWS, *bars)


def build(problem: Problem) -> Model:
    paths = problem.derived(Paths)
    m, arcs = network.flow_model(problem, paths.written)
    if paths.sees:
        whole = not all(terms_of(problem.encoded, given).groups for _, given in rowed(problem))
        network.write_splits(problem, paths.written.levels, m, arcs, integer=whole)
    return m.finish()


def start(problem: Problem, heap: HeapTree) -> dict[str, np.ndarray]:
    paths = problem.derived(Paths)
    point = network.point_of(problem, paths.written, heap, beaten=paths.sight.incumbent is not None)
    return point | used(problem, heap, paths.sees)


def trimmed(problem: Problem, heap: HeapTree) -> HeapTree:
    paths, program = problem.derived(Paths), problem.derived(Program)
    if not paths.sees:
        heap = with_min_leaf_rows(settle(heap.split, problem.encoded), problem.encoded, program.rows.least)
        kept = None if broken(problem, heap) else heap
        return _along(problem, paths.sight.graph, kept, paths.shape.levels)
    least, better = network.pruned(problem, program.rows, program.price, paths.shape, heap), paths.sight.incumbent
    if better is None or not (broken(problem, least) or objective(problem, least) > objective(problem, better)):
        return least
    least = network.pruned(problem, program.rows, program.price, paths.shape, better)
    return better if broken(problem, least) else least


def _along(problem: Problem, graph: Graph, heap: HeapTree | None, n_levels: int) -> HeapTree:
    """Return the splits of a tree on this many levels, as far as the program has them, and the best subtrees below;
    the best tree if none is given."""

    def way(node, j, state, arcs):
        if heap is None or j >= n_levels:
            return graph.best(j, state, arcs)
        return next(iter(np.flatnonzero(graph.levels[j].split[arcs] == heap.split[node])), None)

    return tree_along(problem, graph, way)


def decode(problem: Problem, point: dict[str, np.ndarray]) -> HeapTree:
    """Return the tree of a point, with the best subtrees by the values of the states if the model folds them."""
    paths, way = problem.derived(Paths), network.largest_flow(point)
    graph, levels = paths.sight.graph, paths.shape.levels
    return tree_along(problem, graph, lambda node, j, *at: (way if j < levels else best_way(graph))(node, j, *at))


def notes(problem: Problem) -> dict:
    """Return the number of arcs that were left out because no better tree has them, and the bound and the tree that
    prove it."""
    found = problem.derived(Paths).sight
    if found.incumbent is None:
        return {}
    return {
        "fixed": {
            "arcs": found.n_fixed,
            "of": found.n_arcs,
            "bound": float(share(problem, found.graph.values[0][0])),
            "incumbent": objective(problem, found.incumbent),
        }
    }


def used(problem: Problem, heap: HeapTree, sees: bool) -> dict[str, np.ndarray]:
    """Return the variables b of a tree, the split of each node, if states know their nodes."""
    return (
        {"b": heap.split[problem.topology.branch_nodes, None] == np.arange(problem.encoded.n_candidate_splits)}
        if sees
        else {}
    )
