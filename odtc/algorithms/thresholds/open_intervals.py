"""Queue of the open intervals of cuts of one node, by their bounds and by the costs at their ends."""

from heapq import heapify, heappop, heappush
from typing import Any

NEARER = 4  # next to a good split, the cut at 1 / NEARER of the interval is evaluated

# (bound, -width, number, column, first cut, last cut, low end, high end, cut to evaluate first or 0)
Interval = tuple[Any, ...]


class OpenIntervals:
    """Queue of intervals to halve. One in three turns it returns the interval of least bound, otherwise the interval
    next to the best evaluated cut, because better trees are often there.

    Parameters
    ----------
    first : list of Interval
    raising : bool, True if only a bound is sought: then always return the interval of least bound
    """

    def __init__(self, first: list[Interval], raising: bool):
        heapify(first)
        self._heap, self._raising = first, raising
        self._near: list[tuple] = []  # the same intervals, by the cost at the better end
        self._done: set[int] = set()  # numbers of the intervals that were given out
        self._turn = 0

    def add(self, interval: Interval) -> None:
        """Add a half of an interval."""
        heappush(self._heap, interval)
        heappush(self._near, (min(interval[6].paid, interval[7].paid), interval))

    def least(self, none: int) -> int:
        """Return the least bound of an open interval; `none` if no interval is open."""
        while self._heap and self._heap[0][2] in self._done:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else none

    def take(self, cutoff: int) -> Interval | None:
        """Return the next interval, with the cut to evaluate; None if no bound is below `cutoff`."""
        if self.least(cutoff) >= cutoff:
            return None
        self._turn = (self._turn + 1) % 3
        near = self._near
        while near and (near[0][1][2] in self._done or near[0][1][0] >= cutoff):
            heappop(near)
        chosen = _beside(near[0][1]) if near and self._turn and not self._raising else self._heap[0]
        self._done.add(chosen[2])
        return chosen


def _beside(interval: Interval) -> Interval:
    """Return an interval with a cut to evaluate near its better end, unless it already has one."""
    a, z, low, high, place = interval[4:9]
    step = (z - a) // NEARER
    beside = a + step if low.paid <= high.paid else z - step
    return *interval[:8], place or beside
