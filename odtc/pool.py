"""The trees that are nearly as good: the best K over the states of the dynamic program, in order.

A tree is in the pool where each of its subtrees costs less than one label alone would, and its leaves
predict what costs least; so no two say the same in other words by a branch node that nobody needs. The
k-th best tree at a state is found when it is asked for, from the k-th best ones at the states below
(Huang & Chiang 2005, "Better k-best Parsing", lazily; a tree is a derivation of a hypergraph).
"""

import heapq
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from odtc.errors import ChoiceError, TreeError
from odtc.formulation import FORMULATIONS, Problem
from odtc.heap import HeapTree, blank, settle
from odtc.states import Graph, program
from odtc.tree import Branch, Tree

SCHEMA = "odtc.pool/1"
SUFFIX = ".pool.json"


@dataclass(frozen=True)
class Pool:
    """Trees by ascending objective; `complete` where no further tree lies within the bound."""

    trees: tuple[Tree, ...]
    objectives: tuple[float, ...]
    complete: bool

    def feature_use(self) -> dict[str, int]:
        """In how many of the trees each feature is asked, the most used first."""
        used = Counter()
        for tree in self.trees:
            used.update(asked(tree))
        return dict(used.most_common())

    def to_json(self) -> dict:
        return {"schema": SCHEMA, "complete": self.complete, "feature_use": self.feature_use(),
                "trees": [{"objective": value, "tree": tree.to_json()} for value, tree in zip(self.objectives, self.trees)]}


def near_optimal(problem: Problem, most: int, within: float | None = None) -> Pool:
    """The best trees of a problem of the model "dpflow", at most `most` of them, and none whose objective
    is more than `within` above the best one. Raises ChoiceError."""
    if problem.formulation != "dpflow":
        raise ChoiceError(f"the trees near the best are found over the states of dpflow, not of {problem.formulation}; use --model dpflow")
    if others := [given for given in problem.constraints if given.name != "leaf_rows"]:
        raise ChoiceError(f"the trees near the best are counted among all whose leaves have enough rows, whatever else they keep; leave out {str(others[0])!r}")
    if most < 1 or within is not None and not within >= 0:
        raise ChoiceError(f"expected a pool of at least 1 tree within at least 0, got {most} within {within:g}" if within is not None
                          else f"expected a pool of at least 1 tree, got {most}")
    dpflow = FORMULATIONS.get("dpflow")
    graph = program(dpflow.rows_of(problem), problem.topology.depth, dpflow.branch_price(problem))
    best, trees, values = _Derivations(graph), [], []
    while (found := best.get(0, 0, len(trees))) is not None:
        heap = _tree(problem, best, len(trees))
        value = dpflow.objective(problem, heap)
        if within is not None and trees and value > values[0] + within + 1e-9 * max(1.0, abs(values[0])):
            found = None
        if found is None or len(trees) == most:
            break
        trees.append(heap.to_tree(problem.encoded))
        values.append(value)
    return Pool(tuple(trees), tuple(values), found is None)


def asked(tree: Tree) -> list[str]:
    """The features that a tree asks, by name, in order."""
    return sorted({tree.features[j].name for node, _ in tree.walk() if isinstance(node, Branch) for j in node.split.features})


class _Derivations:
    """The trees at each state in order of cost, as far as they were asked for."""

    def __init__(self, graph: Graph):
        self.graph, self.values, self.near = graph, graph.values, graph.rows.near
        self.known, self.open = {}, {}

    def get(self, j: int, state: int, i: int):
        """(cost, arc, i, k) of the i-th best tree at a state: its first arc and which trees follow on either
        side, arc -1 for a leaf; None where there are not so many."""
        key = j, state
        if key not in self.open:
            self._begin(j, state)
        known, heap = self.known[key], self.open[key]
        while len(known) <= i and heap:
            found = heapq.heappop(heap)
            known.append(found)
            cost, arc, left, right = found
            if arc >= 0:
                # Each pair of places once: the left one grows only while the right one is the first.
                self._push(j, state, arc, left, right + 1)
                if right == 0:
                    self._push(j, state, arc, left + 1, 0)
        return known[i] if i < len(known) else None

    def _begin(self, j, state) -> None:
        level = self.graph.levels[j]
        begin, end = level.first[state : state + 2].tolist()
        worth = self._worth(j, begin, end)
        pays = np.flatnonzero(worth < level.stop[state] - self.near)
        heap = [(float(worth[at]), begin + int(at), 0, 0) for at in pays]
        heap.append((float(level.stop[state]), -1, 0, 0))
        heapq.heapify(heap)
        self.known[j, state], self.open[j, state] = [], heap

    def _worth(self, j, begin, end) -> np.ndarray:
        level = self.graph.levels[j]
        if j + 1 == len(self.graph.levels):
            return level.cost[begin:end]
        padded = np.append(self.values[j + 1], 0.0)
        return level.cost[begin:end] + padded[level.below[begin:end]].sum(axis=1)

    def _push(self, j, state, arc, left, right) -> None:
        level = self.graph.levels[j]
        cost = float(level.cost[arc])
        for side, place in zip(level.below[arc].tolist(), (left, right)):
            if side < 0:
                if place:
                    return
                continue
            below = self.get(j + 1, side, place)
            if below is None:
                return
            cost += below[0]
        if cost < level.stop[state] - self.near:
            heapq.heappush(self.open[j, state], (cost, arc, left, right))


def _tree(problem: Problem, best: _Derivations, i: int) -> HeapTree:
    test, _ = blank(problem.topology)
    stack = [(1, 0, 0, i)]
    while stack:
        node, j, state, place = stack.pop()
        _, arc, left, right = best.get(j, state, place)
        if arc < 0:
            continue
        level = best.graph.levels[j]
        test[node] = level.test[arc]
        stack += [(2 * node + side, j + 1, int(below), which)
                  for side, (below, which) in enumerate(zip(level.below[arc], (left, right))) if below >= 0]
    return settle(test, problem.encoded)


def read_pool(path) -> Pool | None:
    """The pool of a file, None where it is no pool; raises TreeError for one that is not whole."""
    try:
        facts = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
        return None
    try:
        entries = facts["trees"]
        return Pool(tuple(Tree.from_json(entry["tree"]) for entry in entries),
                    tuple(float(entry["objective"]) for entry in entries), bool(facts["complete"]))
    except (KeyError, TypeError, ValueError) as problem:
        raise TreeError(f"the pool {str(path)!r} is not whole ({type(problem).__name__}: {problem}); make it again with --pool") from None
