"""Search for the cheapest root split at fixed multipliers, by bounds on intervals of each scale.

With x < y on one scale, left(f) the rows with outcome 0 for f and W(S, C) the least weighted cost of a subtree of rows
S over the columns C, every root f between them has

    W(left(f), C) + W(right(f), C) ≥ W(left(y), C) + W(right(x), C) - Σ over rows between x and y of max_l w_l,

because a tree of left(f) is a tree of left(y) that pays at most max_l w_l for each row added. The interval of the
least bound is halved by the root in its middle, which is evaluated; an interval whose bound is high enough needs none
of its roots.
"""

import heapq
from collections.abc import Iterator

import numpy as np

from odtc.algorithms.constrained.sweeps.threshold_sides import Sides


class RootSweep:
    """Some roots of each scale, one after the other.

    Parameters
    ----------
    sides : Sides
        At the multipliers.
    codes : int32 (scales, rows)
        For how many splits of each scale a row has outcome 1.
    dearest : float64 (rows,)
        The greatest weighted cost of a label of each row.
    places : list of int (roots of the scale,)
        The roots of each scale to sweep, by their position on it, in order.
    among : list of int (some subsets,)
        The subsets of columns over which the roots of each scale have trees.
    """

    def __init__(
        self,
        sides: Sides,
        codes: np.ndarray,
        dearest: np.ndarray,
        places: list[np.ndarray],
        among: list[np.ndarray],
    ):
        self.sides, self.places = sides, places
        self._upto = {
            j: np.append(0.0, np.cumsum(np.bincount(codes[j], dearest, len(sides.splits[j]) + 1)))
            for j, mine in enumerate(places)
            if len(mine)
        }
        whole = [self._half(j, -1, len(places[j]), among[j], np.inf) for j in self._upto]
        self._heap: list[tuple[float, int, int, int, np.ndarray]] = [one for one in whole if one is not None]
        heapq.heapify(self._heap)

    @property
    def least(self) -> float:
        """A lower bound on the cost of all roots that were not evaluated; infinite if there is none left."""
        return self._heap[0][0] if self._heap else np.inf

    def step(self, limit: float = np.inf) -> tuple[int, int, np.ndarray, np.ndarray]:
        """Evaluate the root in the middle of the interval with the least bound.

        Parameters
        ----------
        limit : float
            Subsets of columns for which no tree of an interval has a smaller weighted cost are ignored inside the
            interval.

        Returns
        -------
        scale, place : int
            The root.
        among : int (some subsets,)
            The subsets of columns for which some tree may have a weighted cost below the limit.
        value : float64 (some subsets,)
            The least weighted cost of a tree with it over each of these.
        """
        _, j, a, b, among = self._heap[0]
        middle = (a + b) // 2
        f = int(self.places[j][middle])
        value = self.sides.apart(j, f, f, among)
        each = self._half(j, a, middle, among, limit), self._half(j, middle, b, among, limit)
        halves = [half for half in each if half is not None]
        heapq.heappop(self._heap)  # now that nothing can stop this step
        for half in halves:
            heapq.heappush(self._heap, half)
        return j, f, among, value

    def rest(self) -> Iterator[tuple[int, np.ndarray, float]]:
        """Yield the roots that were not evaluated: (scale, int (roots,) positions, bound of all of them)."""
        for bound, j, a, b, _ in self._heap:
            yield j, self.places[j][a + 1 : b], bound

    def _half(
        self, j: int, a: int, b: int, among: np.ndarray, limit: float
    ) -> tuple[float, int, int, int, np.ndarray] | None:
        """Return the roots strictly between two roots of `places`, with their bound over the subsets `among`, and the
        subsets whose bound is below the limit; None if no root is between the two. Position -1 is before all roots,
        and their number is behind all."""
        if b - a < 2:
            return None
        mine = self.places[j]
        x = int(mine[a]) if a >= 0 else -1
        y = int(mine[b]) if b < len(mine) else len(self.sides.splits[j])
        between = self._upto[j][y + 1] - self._upto[j][x + 1]  # rows with codes x + 1 .. y
        bound = self.sides.apart(j, y, x, among) - between
        return float(bound.min(initial=np.inf)), j, a, b, among[bound < limit]
