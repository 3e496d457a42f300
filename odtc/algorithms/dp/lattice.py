"""Layers of states with arcs, each to a state of the next layer on either side: the shape of the dynamic program.

The functions here need only the arcs, with the costs that a caller gives to each arc and to ending at each state. The
two programs of odtc are made of them: states that end with their best label (odtc.algorithms.dp.state_graph), and
states that end with one of several labels or subtrees, each a vector (odtc.algorithms.dp.lagrangian_flow).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Layer:
    """The states of one level, and their arcs in the order of the states.

    Attributes
    ----------
    n_states : int
    state : int32 (arcs,), the state that an arc leaves
    split : int32 (arcs,), its split
    below : int32 (arcs, 2), the states of the next layer to which it leads; -1 for a side that ends with the arc
    memory : int64 (states,) or None, the memory of each state, if states remember (`remembering`)
    arc : int64 (arcs,) or None, the corresponding arcs of the layer from which this one was made
    """

    OF_STATES: ClassVar[tuple[str, ...]] = ()
    OF_ARCS: ClassVar[tuple[str, ...]] = ("split",)

    n_states: int
    state: np.ndarray
    split: np.ndarray
    below: np.ndarray
    memory: np.ndarray | None = None
    arc: np.ndarray | None = None

    @cached_property
    def first(self) -> np.ndarray:
        """Return int64 (states + 1,): where the arcs of each state begin."""
        return np.searchsorted(self.state, np.arange(self.n_states + 1))

    def worth(self, cost: np.ndarray, below: np.ndarray | None, arcs: slice = slice(None)) -> np.ndarray:
        """Return float64 (arcs,): the least cost of a tree that begins with each arc; `below` has the costs at the
        states below."""
        if below is None or not len(below):
            return cost[arcs]
        padded, sides = np.append(below, 0.0), self.below[arcs]  # -1 is a side whose cost is part of the arc's cost
        return cost[arcs] + padded[sides[:, 0]] + padded[sides[:, 1]]

    def picked(self, states: np.ndarray, arcs: np.ndarray, **links: Any) -> Self:
        """Return the layer of some states, in this order, and some arcs, with new links between them."""
        kept = {name: getattr(self, name)[states] for name in self.OF_STATES}
        kept |= {name: getattr(self, name)[arcs] for name in self.OF_ARCS}
        return replace(self, n_states=len(states), **kept, **links)


L = TypeVar("L", bound=Layer)
Layers = Sequence[Layer]


def segment_minimum(values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the minimum of each run values[first[s]:first[s+1]]; infinity if the run is empty."""
    out = np.full(len(first) - 1, np.inf)
    filled = first[1:] > first[:-1]
    if filled.any():
        out[filled] = np.minimum.reduceat(values, first[:-1][filled])
    return out


def runs(count: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (which, position) of `count` positions from `first` on, one run after another."""
    which = np.repeat(np.arange(len(count)), count)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(count) - count - first, count)


def inside_costs(layers: Layers, ends: Sequence[np.ndarray], costs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return for each layer, float64 (states,): the least cost of a tree at each state.

    Parameters
    ----------
    layers : Sequence of Layer
    ends : for each layer float64 (states,), the least cost of ending at a state
    costs : for each layer float64 (arcs,)
    """
    values: list[np.ndarray] = []
    for layer, end, cost in zip(reversed(layers), reversed(ends), reversed(costs)):
        worth = layer.worth(cost, values[-1] if values else None)
        values.append(np.minimum(end, segment_minimum(worth, layer.first)))
    return values[::-1]


def outside_costs(
    layers: Layers, costs: Sequence[np.ndarray], values: Sequence[np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each layer (float64 (states,), the least cost of the rest of a tree next to each state; float64
    (arcs,), the least cost of a tree that has each arc), by the `inside_costs`.

    The rest of a tree costs at least the minimum, over the ways to the state, of the sum of the values of the sides not
    taken.
    """
    found, outside = [], np.zeros(layers[0].n_states)
    for j, (layer, cost) in enumerate(zip(layers, costs)):
        below = values[j + 1] if j + 1 < len(values) else np.zeros(0)
        found.append((outside, outside[layer.state] + layer.worth(cost, below)))
        padded, rest = np.append(below, 0.0), np.full(len(below), np.inf)
        way = outside[layer.state] + cost
        for side in (0, 1):
            on = np.flatnonzero(layer.below[:, side] >= 0)
            np.minimum.at(rest, layer.below[on, side], way[on] + padded[layer.below[on, 1 - side]])
        outside = rest
    return found


def remembering(layers: Sequence[L], memory: np.ndarray, allowed: Callable, then: Callable) -> tuple[L, ...]:
    """Return the layers of pairs (memory, state) that are reached from the first state with each of `memory` (int64).

    They have the arcs for which allowed(memory, level, arc); then(memory, split, side) is the memory on that side. The
    first layer has a state for each memory.
    """
    found, states = [], np.zeros(len(memory), np.int64)
    for j, layer in enumerate(layers):
        first = layer.first[states]
        state, arc = runs(layer.first[states + 1] - first, first)
        kept = allowed(memory[state], j, arc)
        state, arc = state[kept], arc[kept]
        sides = layer.below[arc]
        below, on = np.full(sides.shape, -1, np.int32), sides >= 0
        past = np.stack([then(memory[state], layer.split[arc], side) for side in (0, 1)], axis=1)
        n = layers[j + 1].n_states if j + 1 < len(layers) else 1
        pairs, below[on] = np.unique(past[on] * n + sides[on], return_inverse=True)
        found.append(layer.picked(states, arc, state=state.astype(np.int32), below=below, memory=memory, arc=arc))
        if not len(pairs):
            break
        memory, states = pairs // n, pairs % n
    return tuple(found)


def reached(layers: Sequence[L], alive: Sequence[np.ndarray]) -> tuple[L, ...]:
    """Return the layers with these arcs, bool (arcs,) for each, as far as they are reached from the first state."""
    return remembering(
        layers, np.zeros(1, np.int64), lambda memory, j, arc: alive[j][arc], lambda memory, split, side: memory
    )


def placed(layers: Sequence[L]) -> tuple[L, ...]:
    """Return the layers of pairs (node, state), with the numbers of nodes on a heap from 1 as memory."""
    return remembering(
        layers,
        np.ones(1, np.int64),
        lambda node, j, arc: np.ones(len(node), bool),
        lambda node, split, side: 2 * node + side,
    )
