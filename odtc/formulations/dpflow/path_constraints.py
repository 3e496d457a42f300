"""The dynamic program if a constraint depends on splits: states that remember the path on which they were reached.

A state of odtc.algorithms.dp.state_graph knows its rows, not the splits before it. Here a state is a pair (memory,
rows) instead, in which the memory is a number that each split and side on the way changes, and that may forbid a
split.

If a path by itself shows whether a constraint is satisfied (`bars` in odtc.problem.constraints.kind), the memory
contains the necessary facts about the path, and arcs are left out: the remaining flows represent the trees that
satisfy it, so the program stays integral. With the heap number n of the node as memory the model has variables for the
split of each node,

    b_nf = Σ_S u_{n,S,f}            n a branch node, f a split; one constraint each

to which other constraints may refer in constraints of their own. Integer b leave one tree: at the root one arc carries
the flow, so one state is entered at either child, and so on down. If a constraint only limits the number of different
splits (`groups` in odtc.problem.constraints.kind), b need not be integer: once these are chosen, the rest is the
program over them, whose polytope is integral, and the constraints y_g ≥ Σ_{f of g} b_nf are satisfied automatically.

Folding stays exact for a state whose best label has the unavoidable cost: a tree that stops there has no additional
split, has fewer branch nodes, and costs no more. Folding whole subtrees (tail) is exact if the path determines
everything, by the values of the states that remember it; with variables b it is not.

Parts that cannot be in any tree as cheap as the incumbent are left out (`fix`). The bounds for this are least costs of
trees under fewer constraints: the values of the states. If a constraint allows only few groups of splits and all
choices of groups can be tried, the values are computed for each choice, and an arc stays if it stays for some choice.
If sums over the tree are bounded, too, these are the least costs at multipliers of the sums
(odtc.algorithms.dp.lagrangian_flow).
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, islice
from math import comb

import numpy as np

from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
from odtc.algorithms.constrained.subtree_options import code_of
from odtc.algorithms.dp import lattice
from odtc.algorithms.dp.lagrangian_flow import (
    Flow,
    Incumbent,
    drop_dominated_columns,
    inside_costs,
    outside_costs,
    solve_dual,
)
from odtc.algorithms.dp.lattice import Layers
from odtc.algorithms.dp.reduced_cost_fixing import FixedFlow
from odtc.algorithms.dp.state_graph import Graph
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.formulations.dpflow.constrained import Posed
from odtc.problem.constraints.kind import Constraint, OnPlaces, Subject
from odtc.problem.constraints.search_terms import terms_of
from odtc.problem.exact_objective import plain_costs, search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

MAX_ARCS = 30_000_000  # arcs of all choices of splits that are looked at
AT_ONCE = 4_000_000  # maximum number of arcs that are processed together


@value_class
class ConstrainedProgram:
    """The program of a model, the incumbent that bounds its contents (None if there is none), and how many arcs, of
    the program for all trees, are left out."""

    graph: Graph
    incumbent: HeapTree | None = None
    n_fixed: int = 0
    n_arcs: int = 0


def barring(given: Constraint) -> bool:
    """Return whether paths by themselves show if a constraint is satisfied."""
    return given.module.can(OnPlaces) and given.module.SUBJECT != Subject.SETTLED


def sight(problem: Problem, graph: Graph, nodes: bool) -> ConstrainedProgram:
    """Return the program of all trees reduced to the constraints; with `nodes` its states know their nodes."""
    graph = barred(problem, graph)
    if not nodes:
        return ConstrainedProgram(graph)
    best, left = known_tree(problem)[0] if problem.params.fix else None, graph
    if best is not None:
        most = problem.module.objective(problem, best) / float(search_costs(problem).step)

        def alive(levels: Layers) -> list[np.ndarray]:
            return arcs_within(replace(graph, levels=levels), most)

        left = replace(graph, levels=lattice.reached(graph.levels, alive(graph.levels)))
        for group, size in budgets(problem):
            if left.values[0][0] < most - graph.rows.near:
                left = replace(left, levels=within_few(left.levels, group, size, alive))
    nodes_too = replace(left, levels=lattice.placed(left.levels))
    return ConstrainedProgram(nodes_too, best, graph.n_arcs - left.n_arcs, graph.n_arcs)


def most_columns(n_candidate_splits: int, depth: int) -> int:
    """Return the number of variables of the program over (node, rows) if no two itemsets had the same rows and each
    had some: at each of the C(j,k) nodes of level j that are k times on the side of ones, there are C(F,j) C(j,k)
    itemsets."""
    return sum(comb(2 * j, j) * comb(n_candidate_splits, j) * (n_candidate_splits - j + 1) for j in range(depth))


def among(layers: Layers, held: np.ndarray) -> Layers:
    """Return the layers for each of some sets of splits, bool (sets, splits), next to each other: state s of the first
    one is all rows, with the splits of set s."""
    return lattice.remembering(
        layers,
        np.arange(len(held)),
        lambda which, j, arc: held[which, layers[j].split[arc]],
        lambda which, split, side: which,
    )


def barred(problem: Problem, graph: Graph) -> Graph:
    """Return the program without the paths that a constraint bars. Bit i of the memory is 1 after a split that bars
    others below it."""
    terms = [terms_of(problem.encoded, given) for given in problem.constraints if barring(given)]
    if not terms:
        return graph
    levels = np.logical_and.reduce([one.levels(len(graph.levels)) for one in terms if one.levels])
    bars = [one.below for one in terms if one.below is not None]
    none = np.zeros((0, problem.encoded.n_candidate_splits), bool)
    once = np.concatenate([none, *(one.once for one in bars)])
    under = np.concatenate([none, *(one.under for one in bars)])
    bit = 2 ** np.arange(len(once))

    def allowed(memory, j, arc):
        split = graph.levels[j].split[arc]
        return levels[j, split] & ~(under[:, split] & (memory & bit[:, None] > 0)).any(axis=0)

    def then(memory, split, side):
        return memory | bit @ once[:, split]

    return replace(graph, levels=lattice.remembering(graph.levels, np.zeros(1, np.int64), allowed, then))


def within_few(layers: Layers, group: np.ndarray, size: int, alive: Callable[[Layers], list[np.ndarray]]) -> Layers:
    """Return the layers without the arcs that no cheap tree over the splits of this many groups has, by all choices of
    them; the layers as they are if these are too many.

    Parameters
    ----------
    layers : sequence of Layer
    group : int (splits,)
    size : int
    alive : callable, returns for each of some layers bool (arcs,), the arcs in trees that cost little enough
    """
    n = int(group.max()) + 1
    share = min(1.0, size / n)
    each = 1 + sum(len(layer.state) * share ** (j + 1) for j, layer in enumerate(layers))  # arcs of a choice, about
    if size >= n or comb(n, size) * each > MAX_ARCS:
        return layers
    choices, marks = combinations(range(n), size), [np.zeros(len(layer.state), bool) for layer in layers]
    while part := list(islice(choices, max(1, int(AT_ONCE / each)))):
        deadline.check()
        held = np.zeros((len(part), n), bool)
        held[np.arange(len(part))[:, None], part] = True
        some = among(layers, held[:, group])
        for layer, own, kept in zip(some, marks, alive(some)):
            own[layer.arc[kept]] = True
    return lattice.reached(layers, marks)


def arcs_within(graph: Graph, most: float) -> list[np.ndarray]:
    """Return for each level of a program bool (arcs,): the arcs in trees of at most this cost, except for rounding."""
    most += max(graph.rows.near, 1e-12 * most)
    costs = [level.cost for level in graph.levels]
    return [whole <= most for _, whole in lattice.outside_costs(graph.levels, costs, graph.values)]


def fix_flow(problem: Problem, flow: Flow) -> FixedFlow:
    """Return the part of a flow of subtrees that trees with few splits need, if a tree is known: a variable stays if
    some choice of few splits has a tree with it that costs, at good multipliers of the sums, no more than this one."""
    (multipliers, bound, _), (known, proved) = solve_dual(flow), known_vector(problem, flow)
    if known is None:
        return FixedFlow(flow, bound, None, flow.n_columns)
    most, weight = known.vector[0], flow.weight(multipliers)
    allowed, least = float(multipliers @ flow.budgets.sides[1]), []

    def alive(steps: Layers) -> list[np.ndarray]:
        part = replace(flow, steps=steps)
        values = inside_costs(part, weight)
        least.append(float(values[0].min()) - allowed)
        return [arc <= most + allowed + flow.near(weight) for _, _, arc in outside_costs(part, weight, values)]

    left = flow
    for group, size in budgets(problem):
        least.clear()
        left = replace(left, steps=within_few(left.steps, group, size, alive))
        bound = max(bound, min(least, default=bound))
    bound = most if proved else min(bound, most)
    return FixedFlow(drop_dominated_columns(left, multipliers, most), bound, known, flow.n_columns)


def known_vector(problem: Problem, flow: Flow) -> tuple[Incumbent | None, bool]:
    """Return the result of `known_tree`, with the tree as a subtree of the flow."""
    (heap, proved), costs, encoded = known_tree(problem), plain_costs(problem), problem.encoded
    if heap is None:
        return None, False
    rows, label = np.arange(encoded.n_rows), heap.label[heap.reach(encoded.X)]
    sums = np.append(costs.loss[rows, label].sum(), flow.budgets.answers[rows, label].sum(axis=0))
    vector = sums + flow.branch * heap.n_branch_nodes
    size = 2 ** (problem.topology.depth + 1) - 1
    return Incumbent(vector, code_of(heap.split, heap.label, 1, size)), proved


def known_tree(problem: Problem) -> tuple[HeapTree | None, bool]:
    """Return (a good tree that satisfies the constraints, whether it is proved to be the best), by the first steps of
    the search under constraints, or by its end if it has ended; (None, False) without such a tree or search."""
    posed = problem.derived(Posed)
    if posed.search is None or posed.problem is None:
        return None, False
    found = posed.search.found
    if not found.proved:
        if not isinstance(posed.search, ConstrainedSearch):
            return None, False
        found = ConstrainedSearch(posed.problem.arrays, deadline.is_over).run(exactly=False)
        deadline.check()
    if found.split is None:
        return None, False
    return posed.problem.tree(found.split, found.label), found.proved


def budgets(problem: Problem) -> list[tuple[np.ndarray, int]]:
    """Return (group of each split, most groups) of the constraints that limit groups."""
    terms = [terms_of(problem.encoded, given) for given in problem.constraints]
    return [one.groups for one in terms if one.groups]
