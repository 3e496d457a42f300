"""Sums that differ from target to target, computed from two of them: the sums of the loosest and of the tightest
target.

The sums of a precision or an F1 score of at least ρ are ρ A - B with A and B the same for every ρ, so the sums for
three numbers are linearly dependent. With u the uses of a row, or of a whole tree, of one such sum,

    γ_t u_t  =  α_t u_first + β_t u_last,     all whole, γ_t > 0,

so u_t ≤ b_t is α_t u_first + β_t u_last ≤ γ_t b_t. A list of subtrees with u_first and u_last serves every target.
"""

from dataclasses import replace
from math import gcd

import numpy as np

from odtc.algorithms.constrained.constrained_problem import EXACT, ConstrainedProblem
from odtc.algorithms.constrained.count_tensors import Counts
from odtc.algorithms.constrained.subtree_options import Options
from odtc.base.value_class import value_class


@value_class
class SharedSums:
    """The sums of lists that serve all targets.

    Attributes
    ----------
    listed : int (listed sums,)
        The sums of the joint problem that a list contains.
    factors : float64 (targets, constraints, listed sums)
        α and β.
    times : int64 (targets, constraints)
        γ.
    bounds : int64 (targets, constraints)
        Of the targets, times γ.
    """

    listed: np.ndarray
    factors: np.ndarray
    times: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, counts: Counts, rows: np.ndarray, bounds: np.ndarray) -> "SharedSums | None":
        """Return the sums of targets; None if two of each constraint do not determine the others, or numbers grow too
        large.

        Parameters
        ----------
        counts : Counts
            Of the joint problem.
        rows : int (targets, constraints)
            Its sums, by target.
        bounds : int64 (targets, constraints)
        """
        listed, parts, times, problem = [], [], np.ones(rows.shape, np.int64), counts.problem
        for r, mine in enumerate(rows.T):
            uses = counts.uses[mine].reshape(len(mine), -1).astype(np.int64)
            first, last = uses[0], uses[-1]
            if (uses == first).all():
                listed.append(mine[0])
                parts.append((r, [(1,)] * len(mine)))
                continue
            i = int(np.abs(first).argmax())
            j = int(np.abs(first[i] * last - last[i] * first).argmax())
            whole = int(first[i]) * int(last[j]) - int(last[i]) * int(first[j])
            if not whole or problem.branch_uses[mine].any() or problem.leaf_uses[mine].any():
                return None
            pairs = []
            for t, own in enumerate(uses):
                a = int(own[i]) * int(last[j]) - int(own[j]) * int(last[i])
                b = int(first[i]) * int(own[j]) - int(first[j]) * int(own[i])
                divisor = gcd(a, b, whole) * (1 if whole > 0 else -1)
                a, b, c = a // divisor, b // divisor, whole // divisor
                if max(abs(a), abs(b), c) * _most(counts, uses) >= EXACT / 4 or (c * own != a * first + b * last).any():
                    return None
                pairs.append((a, b))
                times[t, r] = c
            listed += [mine[0], mine[-1]]
            parts.append((r, pairs))
        factors, at = np.zeros((*rows.shape, len(listed))), 0
        for r, pairs in parts:
            for t, pair in enumerate(pairs):
                factors[t, r, at : at + len(pair)] = pair
            at += len(pairs[0])
        return cls(np.array(listed, int), factors, times, bounds * times)

    def seen_by(self, target: int, options: Options) -> Options:
        """Return the subtrees of a list with the uses of one target, times γ."""
        uses = options.vector[:, 1:] @ self.factors[target].T
        return Options(options.weight, np.column_stack([options.vector[:, 0], uses]), options.code)

    def problem_of(self, target: int, problem: ConstrainedProblem) -> ConstrainedProblem:
        """Return the problem of a target with bounds times γ."""
        return replace(problem, bound=self.bounds[target], branch_uses=problem.branch_uses * self.times[target])


def _most(counts: Counts, uses: np.ndarray) -> int:
    """Return the maximum amount of one of these sums that a tree uses; uses is int64 (targets, kinds × labels)."""
    each = np.abs(uses).reshape(len(uses), counts.n_kinds, -1).max(axis=(0, 2))
    return int(np.abs(counts.factor).sum(axis=0) @ each) + 1
