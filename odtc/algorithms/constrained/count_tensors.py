"""Counts of rows by pairs and triples of splits, made once for all multipliers.

The rows with outcome 1 for splits f, g and h are counted by their costs and uses. Two rows with the same costs and
uses, up to a whole factor, are one kind; N3[f][b, g, h] is the sum of the factors of the rows of kind b. At multipliers
μ the weighted cost of these rows with label l is Σ_b w[b, l] N3[f][b, g, h], where w is one small matrix. If there are
more kinds of rows than distinct columns of costs and uses, these columns are counted instead.
"""

from functools import cached_property

import numpy as np

from odtc.algorithms.constrained.constrained_problem import ConstrainedProblem
from odtc.base import deadline
from odtc.base.deadline import BLOCK_CELLS
from odtc.base.whole_numbers import MAX_FLOAT32

MOST_BYTES = 1.0e9  # limit for the counts of all triples; above it, pairs below a root are recounted in each pass


class Counts:
    """The counts of a problem.

    Attributes
    ----------
    cost : float64 (kinds, labels)
    uses : float64 (constraints, kinds, labels)
    measures : float64 (conditions, kinds)
        The costs, uses and measures of one unit of each kind.
    """

    def __init__(self, problem: ConstrainedProblem):
        K, R = problem.n_labels, problem.n_constraints
        factor, kinds = problem.kinds
        self.problem, self.factor = problem, factor
        self.cost = kinds[:, :K].astype(float)
        self.uses = kinds[:, K : K + R * K].reshape(len(kinds), R, K).transpose(1, 0, 2).astype(float)
        self.measures = kinds[:, K + R * K :].T.astype(float)
        # float32 products are exact as long as every sum is.
        self.dtype = np.float32 if np.abs(factor).sum(axis=0).max(initial=0) < MAX_FLOAT32 else np.float64
        self._members = [np.flatnonzero(column) for column in factor.T]
        T = problem.X.shape[1]
        self.stored = T**3 * len(kinds) * np.dtype(self.dtype).itemsize <= MOST_BYTES
        self._below = {}
        self.barred: dict[tuple, list] = {}  # by paths, the leaves that are not allowed (lagrangian_pass)

    @property
    def n_kinds(self) -> int:
        return len(self.cost)

    @cached_property
    def total(self) -> np.ndarray:
        """float64 (kinds,): over all rows."""
        return self.factor.sum(axis=0).astype(float)

    @cached_property
    def _answers(self) -> np.ndarray:
        return np.ascontiguousarray(self.problem.X, self.dtype)

    @cached_property
    def pairs(self) -> np.ndarray:
        """(kinds, splits, splits), of `dtype`: over all rows with outcome 1 for both splits."""
        return self._pairs(np.ones(len(self.problem.X), bool))

    def share(self, other: "Counts") -> None:
        """Take over the counts of another problem, if its rows and splits are the same, and their kinds have the same
        numbers."""
        alike = self.factor.shape == other.factor.shape and self.problem.X.shape == other.problem.X.shape
        if alike and (self.factor == other.factor).all() and (self.problem.X == other.problem.X).all():
            self._below = other._below
            vars(self).update({name: vars(other)[name] for name in ("total", "pairs") if name in vars(other)})

    def below(self, path: tuple[tuple[int, int], ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs among the rows with these outcomes.

        Parameters
        ----------
        path : tuple of (split, answer)

        Returns
        -------
        pairs : (kinds, splits, splits), of `dtype`
        total : float64 (kinds,)
        """
        if not path:
            return self.pairs, self.total
        if len(path) == 1:
            split, answer = path[0]
            ones = self._ones_of(split)
            count = np.diagonal(self.pairs, axis1=1, axis2=2)[:, split].astype(float)
            return (ones, count) if answer else (self.pairs - ones, self.total - count)
        rows = np.ones(len(self.problem.X), bool)
        for split, answer in path:
            rows &= self.problem.X[:, split] == bool(answer)
        return self._pairs(rows), self.factor[rows].sum(axis=0).astype(float)

    def _ones_of(self, split: int) -> np.ndarray:
        if split not in self._below:
            found = self._pairs(self.problem.X[:, split])
            if not self.stored:
                return found
            self._below[split] = found
        return self._below[split]

    def _pairs(self, rows: np.ndarray) -> np.ndarray:
        T = self.problem.X.shape[1]
        some = max(1, BLOCK_CELLS // max(1, T))
        out = np.empty((self.n_kinds, T, T), self.dtype)
        for kind, members in enumerate(self._members):
            here = members[rows[members]]
            out[kind] = self._pairs_of(here[:some], kind)
            for begin in range(some, len(here), some):
                deadline.check()
                out[kind] += self._pairs_of(here[begin : begin + some], kind)
        return out

    def _pairs_of(self, rows: np.ndarray, kind: int) -> np.ndarray:
        X, factor = self._answers[rows], self.factor[rows, kind]
        return (X if (factor == 1).all() else X * factor[:, None].astype(self.dtype)).T @ X
