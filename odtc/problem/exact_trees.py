"""Exact comparison of the trees of a small problem: list all trees whose objective is in an interval.

Searches add costs and sums of constraints as numbers of 53 bits. Weights of many digits are rounded for them, so some
trees remain that only exact costs distinguish, or the numbers are too large for a search. If these trees are few, each
is compared by its exact cost and checked against every constraint.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

import numpy as np

from odtc.base import deadline
from odtc.problem.constraints.constraint import broken
from odtc.problem.exact_objective import ExactObjective, exact_objective
from odtc.problem.problem import Problem
from odtc.trees.heap_tree import HeapTree, blank_arrays, settle

MAX_TREES = 20_000  # maximum number of listed subtrees: some seconds
MAX_PRODUCTS = 2e7  # maximum number of products of whole numbers for the costs of leaves: some seconds
Nested = int | tuple[int, "Nested", "Nested"]  # a label, or (split, left subtree, right subtree)
Listed = list[tuple[int, Nested]]  # subtrees with their costs in units of the objective


class TooMany(Exception):
    """There are too many trees in the interval."""


class ExactTrees:
    """The trees of a problem by their exact objectives.

    Parameters
    ----------
    exact : ExactObjective
        The exact objectives of the problem.

    Raises
    ------
    TooMany
        Also by the methods, if more trees than MAX_TREES have to be compared, or the numbers are too many.
    """

    def __init__(self, exact: ExactObjective):
        self.exact, self.problem = exact, exact.problem
        encoded = self.problem.encoded
        if encoded.n_rows * encoded.n_candidate_splits > MAX_PRODUCTS:
            raise TooMany
        self._X = np.asarray(encoded.X).astype(bool)
        self._loss, self._node = self.exact.whole_loss, self.exact.whole_node
        self._splits: dict[bytes, list[tuple[int, np.ndarray, np.ndarray]]] = {}
        self._leaf: dict[bytes, list[int]] = {}
        self._least: dict[tuple[bytes, int], int] = {}
        self._count: dict[tuple[bytes, int], int] = {}
        self._products = self._listed = 0

    def best(self, least: Fraction, below: Fraction | None) -> HeapTree | None:
        """Return the tree of least exact objective that satisfies all constraints, of those with an objective of at
        least `least` and less than `below`, if that is not None; None if there is none.

        Raises
        ------
        TooMany
            If more trees than MAX_TREES have to be compared.
        """
        rows, depth = np.ones(len(self._X), bool), self.problem.topology.depth
        most = self.most if below is None else ceil(below / self.exact.unit) - 1
        trees = self._below(rows, depth, most, floor(least / self.exact.unit))
        return next((heap for heap in map(self._heap, trees) if not broken(self.problem, heap)), None)

    @property
    def number(self) -> int:
        """The number of all trees."""
        return self._counted(np.ones(len(self._X), bool), self.problem.topology.depth)

    @property
    def most(self) -> int:
        """The largest cost of a tree."""
        return int(self._loss.max(axis=1).sum()) + self._node * len(self.problem.topology.branch_nodes)

    def _counted(self, rows: np.ndarray, depth: int) -> int:
        """Return the number of trees of these rows."""
        key = rows.tobytes(), depth
        if key not in self._count:
            sides = self._divided(rows) if depth else []
            pairs = (self._counted(left, depth - 1) * self._counted(right, depth - 1) for _, left, right in sides)
            self._count[key] = self._loss.shape[1] + sum(pairs)
        return self._count[key]

    def _labels(self, rows: np.ndarray) -> list[int]:
        """Return the cost of a leaf of these rows by its label."""
        key = rows.tobytes()
        if key not in self._leaf:
            self._work(self._loss.shape[1] * int(rows.sum()))
            self._leaf[key] = self._loss[rows].sum(axis=0).tolist()
        return self._leaf[key]

    def _divided(self, rows: np.ndarray) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return the splits that separate these rows, with the rows of both sides."""
        key = rows.tobytes()
        if key not in self._splits:
            self._work(self._X.size)
            ones = self._X[rows].sum(axis=0)
            splits = np.flatnonzero((ones > 0) & (ones < rows.sum())).tolist()
            self._splits[key] = [(f, *self._sides(rows, f)) for f in splits]
        return self._splits[key]

    def _sides(self, rows: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
        return rows & ~self._X[:, split], rows & self._X[:, split]

    def _work(self, products: int) -> None:
        deadline.check()
        self._products += products
        if self._products > MAX_PRODUCTS:
            raise TooMany

    def _lower(self, rows: np.ndarray, depth: int) -> int:
        """Return the cost of the best tree of these rows without constraints."""
        key = rows.tobytes(), depth
        if key not in self._least:
            sides = self._divided(rows) if depth else []
            found = [self._lower(left, depth - 1) + self._lower(right, depth - 1) for _, left, right in sides]
            self._least[key] = min([*self._labels(rows), *(cost + self._node for cost in found)])
        return self._least[key]

    def _below(self, rows: np.ndarray, depth: int, most: int, least: int = 0) -> Listed:
        """Return the trees of these rows that cost from `least` to `most`, the cheapest first."""
        found: Listed = [(cost, label) for label, cost in enumerate(self._labels(rows)) if least <= cost <= most]
        for split, left, right in self._divided(rows) if depth else []:
            room = most - self._node
            if self._lower(left, depth - 1) + (other := self._lower(right, depth - 1)) > room:
                continue
            ones = self._below(left, depth - 1, room - other)
            twos = self._below(right, depth - 1, room - self._lower(left, depth - 1))
            found += self._paired(split, ones, twos, least, most)
        return sorted(found, key=lambda one: one[0])

    def _paired(self, split: int, left: Listed, right: Listed, least: int, most: int) -> Iterator[tuple[int, Nested]]:
        """Yield the trees of a split with these subtrees that cost from `least` to `most`."""
        costs = [cost for cost, _ in right]
        for cost, one in left:
            before = cost + self._node
            begin, end = bisect_left(costs, least - before), bisect_right(costs, most - before)
            self._listed += end - begin
            if self._listed > MAX_TREES:
                raise TooMany
            for paid, other in right[begin:end]:
                yield before + paid, (split, one, other)

    def _heap(self, listed: tuple[int, Nested]) -> HeapTree:
        split, label = blank_arrays(self.problem.topology)
        stack: list[tuple[int, Nested]] = [(1, listed[1])]
        while stack:
            node, tree = stack.pop()
            if isinstance(tree, int):
                label[node] = tree
            else:
                split[node] = tree[0]
                stack += [(2 * node, tree[1]), (2 * node + 1, tree[2])]
        return settle(split, self.problem.encoded, label)


def are_few(problem: Problem) -> bool:
    """Return whether a problem has exact objectives, and so few trees that all of them are compared."""
    return bool(problem.derived(_Known).few)


class _Known:
    """The answer of `are_few` for one problem."""

    def __init__(self, problem: Problem):
        exact = exact_objective(problem)
        try:
            self.few = exact is not None and ExactTrees(exact).number <= MAX_TREES
        except TooMany:
            self.few = False
