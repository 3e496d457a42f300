"""The dynamic program where a constraint must see which node asks what: states that remember how they were come to.

A state of odtc.states knows its rows, not the node that it stands at. Here a state is a pair (memory, rows)
instead, where the memory is a number that each test and side on the way changes, or that forbids a test.
With the heap number n of the node as memory the model has columns for what each node asks,

    b_nf = Σ_S u_{n,S,f}            n a branch node, f a test; one row each

of which constraints may speak in rows of their own. Whole numbers b leave one tree: at the root one arc
carries the flow, so one state is entered at either child, and so on down. Where a constraint only says
of which tests there are few (`groups` in odtc.constraint) b need not be whole: once these are chosen, the
rest is the program over them, whose polytope is integral, and rows y_g ≥ Σ_{f of g} b_nf hold by themselves.

Folding stays exact for a state whose best label costs what no tree can avoid: a tree that stops there asks
no test that it did not, has fewer branch nodes, and costs no more. Folding whole subtrees (tail) is not.

`within` leaves out what no tree can have that costs as little as an incumbent: least costs of trees that
need not keep the constraints, from the values of the states, are bounds for those that do.
"""

from dataclasses import dataclass, replace
from math import comb

import numpy as np

from odtc.constraint import CONSTRAINTS, Knows, broken, mended, rowed
from odtc.formulation import Problem, Role
from odtc.heap import HeapTree, blank, settle
from odtc.model import Axis, Block, ModelBuilder
from odtc.states import Graph, Level

WORK = 30_000_000  # arcs that the search for an incumbent may look at
AT_ONCE = 4_000_000  # of them together


@dataclass(frozen=True)
class Placed(Level):
    """A Level whose states remember: `memory` int64 (states,)."""

    memory: np.ndarray


def seen(kinds, others: tuple[str, ...]) -> list[str]:
    """Which of these kinds of constraints speak of what is asked, if some do beside `others`; else none."""
    speaking = [name for name in kinds if CONSTRAINTS.get(name).KNOWS == Knows.TESTS]
    return speaking if set(speaking) - set(others) else []


def most_columns(n_tests: int, depth: int) -> int:
    """The columns of the program over (node, rows) if no two itemsets had the same rows and each had some: at the
    nodes of level j that are k times on the side of ones, C(j,k) nodes, stand C(F,j) C(j,k) itemsets each."""
    return sum(comb(2 * j, j) * comb(n_tests, j) * (n_tests - j + 1) for j in range(depth))


def remembering(graph: Graph, memory: np.ndarray, allowed, then) -> Graph:
    """The program over pairs (memory, rows) that are reached from the root with each of `memory` (int64):
    arcs where allowed(memory, test), bool; then(memory, test, side) is the memory on that side. Its first level has a
    state for each memory."""
    levels, states = [], np.zeros(len(memory), np.int64)
    for j, level in enumerate(graph.levels):
        count = level.first[states + 1] - level.first[states]
        state = np.repeat(np.arange(len(states)), count)
        arc = np.arange(len(state)) - np.repeat(np.cumsum(count) - count - level.first[states], count)
        kept = allowed(memory[state], level.test[arc])
        state, arc = state[kept], arc[kept]
        test, sides = level.test[arc], level.below[arc]
        below, on = np.full(sides.shape, -1, np.int32), sides >= 0
        past = np.stack([then(memory[state], test, side) for side in (0, 1)], axis=1)
        n = graph.levels[j + 1].n_states if j + 1 < len(graph.levels) else 1
        pairs, below[on] = np.unique(past[on] * n + sides[on], return_inverse=True)
        levels.append(Placed(level.cover[states], level.path[states], level.stop[states], level.label[states], level.floor[states],
                             state.astype(np.int32), test, below, level.cost[arc], memory))
        if not len(pairs):
            break
        memory, states = pairs // n, pairs % n
    return replace(graph, levels=tuple(levels))


def placed(graph: Graph) -> Graph:
    """The program over (node, rows)."""
    return remembering(graph, np.ones(1, np.int64), lambda node, test: np.ones(len(node), bool), lambda node, test, side: 2 * node + side)


def among(graph: Graph, held: np.ndarray) -> Graph:
    """The program for each of some sets of tests, bool (sets, tests), side by side: state s of its first level is
    all rows, with the tests of set s."""
    return remembering(graph, np.arange(len(held)), lambda which, test: held[which, test], lambda which, test, side: which)


def within(graph: Graph, most: float) -> Graph:
    """The program without the arcs and states that no tree has which costs at most this, but for rounding. What is left of a
    tree beside a state costs at least the least, over the ways there, of the values of the sides not taken."""
    most += 8 * graph.rows.near + 1e-12 * most
    values, rest, levels = graph.values, np.zeros(1), []
    states = np.zeros(1, np.int64)
    for j, level in enumerate(graph.levels):
        value = values[j + 1] if j + 1 < len(values) else np.zeros(0)
        number = np.full(level.n_states, -1)
        number[states] = np.arange(len(states))
        known = np.full(level.n_states, np.inf)
        known[states] = rest
        beside = known[level.state]
        arc = np.flatnonzero(beside + level.worth(value) <= most)
        sides = level.below[arc]
        padded = np.append(value, 0.0)
        rest = np.full(len(value), np.inf)
        for side in (0, 1):
            on = sides[:, side] >= 0
            np.minimum.at(rest, sides[on, side], (beside[arc] + level.cost[arc] + padded[sides[:, 1 - side]])[on])
        after = np.flatnonzero(rest < np.inf)
        place = np.full(len(value) + 1, -1, np.int32)
        place[after] = np.arange(len(after))
        levels.append(Level(level.cover[states], level.path[states], level.stop[states], level.label[states], level.floor[states],
                            number[level.state[arc]].astype(np.int32), level.test[arc], place[sides], level.cost[arc]))
        if not len(after):
            break
        states, rest = after, rest[after]
    return replace(graph, levels=tuple(levels))


def asked(problem: Problem, graph: Graph, m: ModelBuilder, arcs: list[Block | None]) -> None:
    """The columns b of what each node asks, and the rows that make them."""
    node, test = Axis("node", 2**problem.topology.depth - 1, 1), Axis("test", problem.encoded.n_tests)
    whole = not all(hasattr(given.module, "groups") for _, given in rowed(problem))
    b = m.columns("b", node, test, role=Role.BRANCH, integer=whole)
    asks = m.rows("asks", node, test, lower=0, upper=0)
    m.add(asks.all(), b.all(), -1)
    for level, u in zip(graph.levels, arcs):
        if u is not None:
            m.add(asks[level.memory[level.state], level.test], u[np.arange(len(level.state))])


def incumbent(problem: Problem, graph: Graph) -> HeapTree | None:
    """A good tree that keeps the constraints, None where none is found: the best ones over few tests, chosen
    greedily and then by exchange, or for other constraints those of higher prices per branch node, mended."""
    budgets = [(given.module.groups(problem.encoded), int(given.bound)) for given in problem.constraints if hasattr(given.module, "groups")]
    graphs = [graph, *(_few(graph, group, most) for group, most in budgets)]
    if not budgets:
        graphs += [_priced(graph, float(graph.rows.loss.sum()) / 2**k) for k in range(1, 20)]
    heaps = [mended(problem, _best(problem, each)) for each in graphs]
    kept = [heap for heap in heaps if heap is not None and not broken(problem, heap)]
    return min(kept, key=lambda heap: problem.module.objective(problem, heap), default=None)


def _few(graph: Graph, group: np.ndarray, most: int) -> Graph:
    """The program over the tests of a good choice of at most this many groups."""
    n, work = int(group.max()) + 1, 0
    chosen, value = np.zeros(n, bool), np.inf
    while work < WORK and most:
        grows = chosen.sum() < min(most, n)
        swaps = [(new, new) for new in np.flatnonzero(~chosen)] if grows else [
            (old, new) for old in np.flatnonzero(chosen) for new in np.flatnonzero(~chosen)]
        if not swaps:
            break
        sets = np.repeat(chosen[None], len(swaps), axis=0)
        for held, (old, new) in zip(sets, swaps):
            held[old], held[new] = False, True
        values, looked = _values(graph, sets[:, group])
        work += looked
        if not grows and values.min() >= value - graph.rows.near:
            break
        chosen, value = sets[values.argmin()], values.min()
    return among(graph, chosen[None, group])


def _values(graph: Graph, held: np.ndarray) -> tuple[np.ndarray, int]:
    """(least cost of a tree over each of these sets of tests, arcs that were looked at), in pieces."""
    share = held.mean(axis=1).max()
    each = 1 + sum(len(level.state) * share ** (j + 1) for j, level in enumerate(graph.levels))
    step = max(1, int(AT_ONCE / each))
    parts = [among(graph, held[begin : begin + step]) for begin in range(0, len(held), step)]
    return np.concatenate([part.values[0] for part in parts]), sum(len(level.state) for part in parts for level in part.levels)


def _priced(graph: Graph, extra: float) -> Graph:
    """The same program with this added to what a branch node costs."""
    return replace(graph, levels=tuple(replace(level, cost=level.cost + extra) for level in graph.levels))


def _best(problem: Problem, graph: Graph) -> HeapTree:
    """The best tree of the program."""
    (test, _), stack = blank(problem.topology), [(1, 0, 0)]
    while stack:
        node, j, state = stack.pop()
        level = graph.levels[j]
        arcs = slice(*level.first[state : state + 2].tolist())
        choice = graph.best(j, state, arcs)
        if choice is not None:
            test[node] = level.test[arcs.start + choice]
            stack += [(2 * node + side, j + 1, int(s)) for side, s in enumerate(level.below[arcs.start + choice]) if s >= 0]
    return settle(test, problem.encoded)
