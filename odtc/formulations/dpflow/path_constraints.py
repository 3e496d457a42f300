"""The dynamic program if a constraint depends on splits: states that remember the path on which they were reached.

A state of odtc.algorithms.dp.state_graph knows its rows, not the splits before it. Here a state is a pair (memory,
rows) instead, in which the memory is a number that each split and side on the way changes, and that may forbid a
split.

If a path by itself shows whether a constraint is satisfied (`bars` in odtc.problem.constraints.constraint), the memory
contains the necessary facts about the path, and arcs are left out: the remaining flows are those of the trees that
satisfy it, so the program stays integral. With the heap number n of the node as memory the model has variables for the
split of each node,

    b_nf = Σ_S u_{n,S,f}            n a branch node, f a split; one constraint each

to which other constraints may refer in constraints of their own. Integer b leave one tree: at the root one arc carries
the flow, so one state is entered at either child, and so on down. If a constraint only limits the number of different
splits (`groups` in odtc.problem.constraints.constraint), b need not be integer: once these are chosen, the rest is the
program over them, whose polytope is integral, and the constraints y_g ≥ Σ_{f of g} b_nf are satisfied automatically.

Folding stays exact for a state whose best label has the unavoidable cost: a tree that stops there has no additional
split, has fewer branch nodes, and costs no more. Folding whole subtrees (tail) is exact if the path determines
everything, by the values of the states that remember it; with variables b it is not.

Parts that no tree as cheap as an incumbent can have are left out (`fix`). The bounds for this are least costs of trees
under fewer constraints: at each state by its values, and if all choices of few groups of splits can be tried, by the
values over each of them; an arc stays if some choice leaves it.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, islice
from math import comb

import numpy as np

from odtc.algorithms.dp import lattice
from odtc.algorithms.dp.state_graph import Graph
from odtc.base import deadline
from odtc.base.value_class import value_class
from odtc.problem.constraints.kind import CONSTRAINTS, BarsPaths, CountsSplits
from odtc.problem.exact_objective import search_costs
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree

WORK = 30_000_000  # arcs of all choices of splits that are looked at
AT_ONCE = 4_000_000  # of them together


@value_class
class ConstrainedProgram:
    """The program of a model, the incumbent that bounds its contents (None if there is none), and how many arcs, of
    the program for all trees, are left out."""

    graph: Graph
    incumbent: HeapTree | None = None
    n_fixed: int = 0
    n_arcs: int = 0


def barring(kind: str) -> bool:
    """Return whether paths by themselves show if a constraint of this type is satisfied."""
    return CONSTRAINTS.get(kind).can(BarsPaths)


def sight(problem: Problem, graph: Graph, nodes: bool) -> ConstrainedProgram:
    """Return the program of all trees reduced to the constraints; with `nodes` its states know their nodes."""
    graph = barred(problem, graph)
    if not nodes:
        return ConstrainedProgram(graph)
    best, left = known_tree(problem)[0] if problem.params.fix else None, graph
    if best is not None:
        most = problem.module.objective(problem, best) / float(search_costs(problem).step)
        left = within(graph, most)
        for group, size in budgets(problem):
            if left.values[0][0] < most - graph.rows.near:
                left = within_few(left, group, size, most)
    return ConstrainedProgram(placed(left), best, graph.n_arcs - left.n_arcs, graph.n_arcs)


def most_columns(n_candidate_splits: int, depth: int) -> int:
    """Return the number of variables of the program over (node, rows) if no two itemsets had the same rows and each
    had some: at each of the C(j,k) nodes of level j that are k times on the side of ones, there are C(F,j) C(j,k)
    itemsets."""
    return sum(comb(2 * j, j) * comb(n_candidate_splits, j) * (n_candidate_splits - j + 1) for j in range(depth))


def placed(graph: Graph) -> Graph:
    """Return the program over (node, rows)."""
    return replace(graph, levels=lattice.placed(graph.levels))


def among(graph: Graph, held: np.ndarray) -> Graph:
    """Return the program for each of some sets of splits, bool (sets, splits), next to each other: state s of its
    first level is all rows, with the splits of set s."""
    return _remembering(
        graph, np.arange(len(held)), lambda which, split: held[which, split], lambda which, split, side: which
    )


def _remembering(graph: Graph, memory: np.ndarray, allowed: Callable, then: Callable) -> Graph:
    """Return the program of odtc.algorithms.dp.lattice.remembering, with the arcs for which allowed(memory, split)."""
    levels = graph.levels
    return replace(
        graph,
        levels=lattice.remembering(levels, memory, lambda held, j, arc: allowed(held, levels[j].split[arc]), then),
    )


def barred(problem: Problem, graph: Graph) -> Graph:
    """Return the program without the paths that a constraint bars. Bit 0 of the memory is 1 below the root, and bit 1
    + i is 1 after a split that bars others below it."""
    bars = [given.module.bars(problem.encoded, given) for given in problem.constraints if barring(given.name)]
    if not bars:
        return graph
    root, once, below = (np.stack(tables) for tables in zip(*bars))  # (constraints, splits) each
    bit = 2 ** np.arange(1, len(bars) + 1)

    def allowed(memory, split):
        return ~(
            root.any(axis=0)[split] & (memory & 1 == 0) | (below[:, split] & (memory & bit[:, None] > 0)).any(axis=0)
        )

    return _remembering(
        graph, np.zeros(1, np.int64), allowed, lambda memory, split, side: memory | 1 | bit @ once[:, split]
    )


def within(graph: Graph, most: float) -> Graph:
    """Return the program without the arcs and states that no tree of at most this cost has, except for rounding."""
    return replace(graph, levels=lattice.reached(graph.levels, _alive(graph, most)))


def within_few(graph: Graph, group: np.ndarray, size: int, most: float) -> Graph:
    """Return the same for trees over the splits of this many groups, by all choices of them; the program as it is if
    these are too many."""
    n = int(group.max()) + 1
    each = _arcs_each(graph, min(1.0, size / n))
    if size >= n or comb(n, size) * each > WORK:
        return graph
    choices, alive = combinations(range(n), size), [np.zeros(len(level.state), bool) for level in graph.levels]
    while part := list(islice(choices, max(1, int(AT_ONCE / each)))):
        deadline.check()
        held = np.zeros((len(part), n), bool)
        held[np.arange(len(part))[:, None], part] = True
        some = among(graph, held[:, group])
        for level, marks, kept in zip(some.levels, alive, _alive(some, most)):
            marks[level.arc[kept]] = True
    return replace(graph, levels=lattice.reached(graph.levels, alive))


def _alive(graph: Graph, most: float) -> list[np.ndarray]:
    """Return for each level bool (arcs,): the arcs in trees of at most this cost."""
    most += max(graph.rows.near, 1e-12 * most)
    costs = [level.cost for level in graph.levels]
    return [whole <= most for _, whole in lattice.outside_costs(graph.levels, costs, graph.values)]


def known_tree(problem: Problem) -> tuple[HeapTree | None, bool]:
    """Return (a good tree that satisfies the constraints, whether it is proved to be the best), by the first steps of
    the search under constraints, or by its end if it has ended; (None, False) if there is no tree, or no search."""
    from odtc.algorithms.constrained.constrained_search import ConstrainedSearch
    from odtc.formulations.dpflow.constrained import Posed

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
    return [
        (given.module.groups(problem.encoded), int(given.bound))
        for given in problem.constraints
        if given.module.can(CountsSplits)
    ]


def _arcs_each(graph: Graph, share: float) -> float:
    """Return the approximate number of arcs that this share of the splits leaves of the program."""
    return 1 + sum(len(level.state) * share ** (j + 1) for j, level in enumerate(graph.levels))
