"""The intervals of cuts of one node that are still open, by their bounds and by what their ends cost."""

from heapq import heapify, heappop, heappush
from typing import Any

NEARER = 4  # a good split is left for a cut of which it is at this part of the way to the next evaluated one

# (bound, -width, number, column, first cut, last cut, low end, high end, cut to evaluate first or 0)
Interval = tuple[Any, ...]


class OpenIntervals:
    """Queue of intervals to halve: one in three turns it returns the one with the least bound, else the one next to
    the best evaluated cut, because better trees are often there.

    Parameters
    ----------
    first : list of Interval
    raising : bool, whether only a bound is sought: always the interval of least bound
    """

    def __init__(self, first: list[Interval], raising: bool):
        heapify(first)
        self._heap, self._raising = first, raising
        self._near: list[tuple] = []  # the same intervals by what their evaluated ends cost, at least
        self._done: set[int] = set()  # numbers of the intervals that were given out
        self._turn = 0

    def add(self, interval: Interval) -> None:
        """Takes a half of an interval."""
        heappush(self._heap, interval)
        heappush(self._near, (min(interval[6].paid, interval[7].paid), interval))

    def least(self, none: int) -> int:
        """The least bound of an open interval; `none` if there is none."""
        while self._heap and self._heap[0][2] in self._done:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else none

    def take(self, cutoff: int) -> Interval | None:
        """The next interval, with the cut to evaluate; None if no bound is below `cutoff`."""
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
    """An interval whose cut to be evaluated is near its better end."""
    a, z, low, high, place = interval[4:9]
    step = (z - a) // NEARER
    beside = a + step if low.paid <= high.paid else z - step
    return *interval[:8], place or beside
