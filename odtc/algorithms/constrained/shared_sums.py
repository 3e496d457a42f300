"""The sums of many targets as combinations of few sums, so that one list of subtrees serves all targets.

A precision or an F1 score of at least ρ is a constraint on ρ A - B, with the same A and B for every ρ. So the uses
u_t of a row, or of a whole tree, for target t follow from its uses for the first and the last target,

    c_t u_t  =  a_t u_first + b_t u_last,     all whole, c_t > 0.
"""

from math import gcd

import numpy as np

from odtc.algorithms.constrained.subtree_options import Options
from odtc.base.value_class import value_class
from odtc.base.whole_numbers import MAX_DIFFERENCE


@value_class
class SharedSums:
    """The sums of lists that serve all targets.

    Attributes
    ----------
    listed : int (listed sums,)
        The sums of the joint problem that a list contains.
    factors : float64 (targets, constraints, listed sums)
        a and b.
    times : float64 (targets, constraints)
        c.
    """

    listed: np.ndarray
    factors: np.ndarray
    times: np.ndarray

    @classmethod
    def of(cls, every: np.ndarray, rows: np.ndarray) -> "SharedSums | None":
        """Return the sums of targets; None if two of a constraint do not determine the others, or numbers grow too
        large.

        Parameters
        ----------
        every : int64 (sums, rows, labels)
            The uses of the joint problem, whose nodes use nothing of these sums.
        rows : int (targets, constraints)
            Its sums, by target.
        """
        parts, each = [], []
        for mine in rows.T:
            uses = every[mine]
            most = float(np.abs(uses).max(axis=(0, 2)).sum())  # upper bound on the uses of a tree
            alike = bool((uses == uses[0]).all())
            found = [(1, 0, 1)] * len(mine) if alike else _combined(uses.reshape(len(mine), -1), most)
            if found is None:
                return None
            parts.append(mine[:1] if alike else mine[[0, -1]])
            each.append(found)
        factors, at = np.zeros((*rows.shape, sum(map(len, parts)))), 0
        for r, (part, found) in enumerate(zip(parts, each)):
            factors[:, r, at : at + len(part)] = np.array(found, float)[:, : len(part)]
            at += len(part)
        times = np.array([[c for _, _, c in found] for found in each], float).reshape(rows.T.shape).T
        return cls(np.concatenate([np.zeros(0, int), *parts]), factors, times)

    def seen_by(self, target: int, options: Options) -> Options:
        """Return the subtrees of a list with the uses of one target."""
        uses = options.vector[:, 1:] @ self.factors[target].T / self.times[target]
        return Options(options.weight, np.column_stack([options.vector[:, 0], uses]), options.code)


def _combined(uses: np.ndarray, most: float) -> list[tuple[int, int, int]] | None:
    """Return (a, b, c) of each line of uses, int64 (targets, …), from the first and the last line; None if there are
    none, or if sums of trees, `most` for each unit, are then not exact."""
    first, last = uses[0], uses[-1]
    i = int(np.abs(first).argmax())
    j = int(np.abs(first[i] * last - last[i] * first).argmax())

    def crossed(one, other) -> int:
        return int(one[i]) * int(other[j]) - int(one[j]) * int(other[i])

    whole, found = crossed(first, last), []
    for own in uses if whole else ():
        a, b = crossed(own, last), crossed(first, own)
        divisor = gcd(a, b, whole) * (1 if whole > 0 else -1)
        a, b, c = a // divisor, b // divisor, whole // divisor
        if (abs(a) + abs(b) + c) * most >= MAX_DIFFERENCE or (c * own != a * first + b * last).any():
            return None
        found.append((a, b, c))
    return found or None
