"""Few lower bounds (targets) that prove a tree, each on the trees at one state of the dynamic program.

A set of targets t(S) is a proof if no label at a state with a target costs less than t(S), and each split f that
separates its rows satisfies

    t(S & f) + t(S & ~f) + price >= t(S)

A state without a target counts with its unavoidable cost. The fewer states have a target, the smaller the proof. The
target of the root is the cost of the tree. An arc whose two sides do not reach their parent's target needs a target for
one of them, namely for the state that most arcs need.
"""

from dataclasses import replace

import numpy as np

from odtc.algorithms.dp.lattice import segment_minimum
from odtc.algorithms.dp.state_graph import Graph
from odtc.base import deadline


def dual_targets(graph: Graph) -> list[np.ndarray]:
    """Return for each level of a Graph, float64 (states,): the target of each state; -inf if none is needed."""
    near, values = graph.rows.near, graph.values
    wanted = [np.full(level.n_states, -np.inf) for level in graph.levels]
    if values[0][0] > graph.levels[0].floor[0] + near:
        wanted[0][0] = values[0][0]
    for j in range(len(graph.levels) - 1):
        level, below = graph.levels[j], graph.levels[j + 1]
        arcs = np.flatnonzero(wanted[j][level.state] > -np.inf)
        sides = level.below[arcs]
        need = wanted[j][level.state[arcs]] - level.cost[arcs]
        # The last entry is for a side that stops: its cost is part of the arc's cost.
        value, floor = np.append(values[j + 1], 0.0), np.append(below.floor, 0.0)
        given = floor.copy()
        short = np.flatnonzero(given[sides].sum(axis=1) < need - near)
        side, lack = sides[short], need[short]
        alone = value[side] + given[side[:, ::-1]] >= lack[:, None] - near
        asked = np.bincount(side[alone], minlength=len(value)).astype(float)
        pick = np.where(alone, asked[side], -1.0).argmax(axis=1)
        neither = ~alone.any(axis=1)  # both sides need a target: the first gets the cost of its best tree
        row = np.arange(len(short))
        chosen, other = side[row, pick], side[row, 1 - pick]
        np.maximum.at(given, chosen, np.where(neither, value[chosen], lack - given[other]))
        while True:  # raise the second side as long as both sides together are too low
            deadline.check()
            short = np.flatnonzero(given[sides].sum(axis=1) < need - near)
            if not len(short):
                break
            side = sides[short]
            slack = value[side] - given[side]
            pick = slack.argmax(axis=1)
            row = np.arange(len(short))
            chosen = side[row, pick]
            np.maximum.at(given, chosen, np.minimum(value[chosen], need[short] - given[side[row, 1 - pick]]))
        raised = given[:-1] > below.floor + near
        wanted[j + 1][raised] = given[:-1][raised]
    return wanted


def reduced_graph(graph: Graph) -> Graph:
    """Return the part of a Graph that proves its value: the states with a target and the states of one best tree.

    A side without a state has its unavoidable cost, and an arc that needs no state at all has the cost of stopping.
    The linear program of the part is a relaxation with the same value: the targets are feasible for its dual, and the
    tree is in it.
    """
    kept = [wanted > -np.inf for wanted in dual_targets(graph)]
    stack = [(0, 0)]
    while stack:
        j, state = stack.pop()
        kept[j][state] = True
        level = graph.levels[j]
        arcs = slice(*level.first[state : state + 2].tolist())
        choice = graph.best(j, state, arcs)
        if choice is not None:
            stack += [(j + 1, int(side)) for side in level.below[arcs.start + choice] if side >= 0]
    levels = []
    for j, level in enumerate(graph.levels):
        states, arcs = np.flatnonzero(kept[j]), np.flatnonzero(kept[j][level.state])
        below, cost = level.below[arcs], level.cost[arcs].copy()
        if j + 1 < len(graph.levels):
            there, floor = np.append(kept[j + 1], False), np.append(graph.levels[j + 1].floor, 0.0)
            cost += np.where(there[below], 0.0, floor[below]).sum(axis=1)
            below = np.where(there[below], np.append(np.cumsum(kept[j + 1]) - 1, -1)[below], -1).astype(np.int32)
        state = (np.cumsum(kept[j]) - 1)[level.state[arcs]].astype(np.int32)
        bare = (below < 0).all(axis=1)
        first = np.searchsorted(state[bare], np.arange(len(states) + 1))
        left = level.picked(states, arcs[~bare], state=state[~bare], below=below[~bare])
        stop = np.minimum(left.stop, segment_minimum(cost[bare], first))
        levels.append(replace(left, stop=stop, cost=cost[~bare]))
        if not kept[j].any() or not (~bare).any():
            break
    return replace(graph, levels=tuple(levels))
