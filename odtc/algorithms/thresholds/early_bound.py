"""Lower bound on the cost of all trees, available soon after a search over thresholds has begun.

One cut of a column bounds all cuts of this column. With L and R its sides, a cut behind it has all rows of L on its
left side, and a cut before it has all rows of R on its right side. So with any one cut c(f) of each column f

    V_h(S) >= min_f min(V_{h-1}(L), V_{h-1}(R))      with L, R the sides of c(f)

If the requested bound is only a part of the best tree's cost, the middle cut of each column usually proves it. So
bounds for larger and larger parts are proved one after the other. The first bound comes from rows that the sides of
many splits share (odtc.algorithms.thresholds.common_rows): it is weak, but available sooner.
"""

import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from statistics import median

from odtc.algorithms.thresholds.common_rows import CommonRows
from odtc.base import deadline

# The first requested bound is the best tree's cost divided by this: at depth 2; at more depth, where a smaller bound
# takes about as long; and at more depth with a time limit.
FIRST, FIRST_IN_TIME = (16, 4), 8
DOUBLED = 0.5  # part of that cost up to which bounds are doubled; beyond it they are raised by STEP
STEP = 1.25  # factor by which a bound rises from one search to the next
QUICKLY = 4  # the same factor at more depth than 2 without a time limit
# At more depth than 2, with v the cost of the best tree, the time to prove a bound b is about proportional to
# b / (STEEP · v - b). Bounds below v / FLAT take about as long as v / FLAT.
STEEP, FLAT = 1.1, 4
FEW_ASKED = 8  # bounds that must fit in the remaining time, if they are to rise one after the other
PARTS = 1 / 4, 3 / 8, 1 / 2  # parts of the cost that the first cuts of all columns may prove; larger ones take longer
HARDER = 4  # the largest of these parts takes about this many times as long as the smallest
EASY = 8  # without a time limit, bounds rise up to the best tree's cost divided by this
SMALL = 64  # without a time limit, bounds are sought only if the best tree costs at least this many least losses
PATIENCE = 3  # without a time limit: at most this many times the trees of depth 2 that one cut of each column needs
FEW = 2000  # maximum number of trees of depth 2 for the bound by common rows without a time limit
GROWS = 4  # factor from the bound by common rows to the next requested one, without a time limit
RAISED = 2, 4  # minimum and maximum of this factor with a time limit, because a pass that does not end proves nothing
PART = 1 / 6  # share of the remaining time for the next bound, because its time is known only roughly
SURE = 0.7  # share of the remaining time: work that is expected to take more is not begun
QUICK = 1e-9  # minimum seconds of a tree of depth 2, per entry and pair of columns, for its middle cuts
HARD = 3.0  # factor on the expected time of a bound above `CommonRows.most`


class _Enough(Exception):
    """The search has used up its number of trees."""


class EarlyBound:
    """Lower bound on the cost of trees of one height for all entries, raised until `search.check` raises.

    Parameters
    ----------
    search : RankSearch
    height : int, 2 or more; common rows need 3 or more
    need : int, the cost of a tree found elsewhere
    """

    def __init__(self, search, height: int, need: int):
        self.search, self.height, self.need = search, height, need
        self.least = search.ranked.least_loss
        sides = 1 if search.ranked.binary else 2
        self.patience = PATIENCE * (len(search.ranked.columns) * sides) ** (height - 2)
        self.common = CommonRows(search)
        self.ended = False  # True once common rows do not raise the bound any further
        self.slow = False  # True if they could, but not in the remaining time
        self.rate = 0.0  # their seconds per entry of a tree of depth 2
        self.soon: int | None = None  # the result of `at_once`

    def at_once(self) -> int:
        """Return the greatest part of the best tree's cost that one cut of each column, with trees of depth 2 on both
        sides, is expected to prove within SURE of the remaining time. Return 0 if there is no such part, or if it takes
        so little time that bounds can rise one after the other.

        The first cuts of some columns are timed, only once, and their bounds are kept.
        """
        if self.soon is None:
            self.soon, left = 0, deadline.seconds_left()
            columns = len(self.search.ranked.columns)
            some = sorted({0, columns // 2, columns - 1})
            for part in PARTS if self.height == 3 and left is not None else ():
                asked, took = int(part * self._most()), []
                for column in some:
                    began = time.monotonic()
                    self.search.first_cut(column, 2, asked)
                    took.append(time.monotonic() - began)
                # Not the mean, because a column that separates the labels takes longer than most.
                expected = columns * median(took)
                if expected > SURE * left or HARDER * FEW_ASKED * expected < left:
                    break
                self.soon = asked if FEW_ASKED * expected > left else 0
        return self.soon

    def takes_more(self, seconds: float) -> bool:
        """Return whether a bound by one cut of each column takes more than this many seconds on any machine."""
        return self._at_least(self.patience * self.search.ranked.n / 2 ** (self.height - 2)) > seconds

    def _at_least(self, entries: float) -> float:
        """Return the minimum time in seconds of trees of depth 2 with this many entries in total."""
        return QUICK * len(self.search.ranked.columns) ** 2 * entries

    def by_common_rows(self, timed: bool) -> None:
        """Raise the bound by rows that the sides of many splits share: as far as possible with a time limit (`timed`),
        otherwise with a limited number of trees."""
        if self.soon or (not timed and self._most() < SMALL * self.least):
            return
        try:
            with _at_most(self.search, None if timed else min(FEW, self.patience)):
                self.slow = False
                while not self.ended and (lower := self.search.lower(self.height)) < self._most():
                    asked = self._next(lower)
                    self.slow = asked is None
                    if self.slow:
                        break
                    work, began = self.common.work(self.height, asked), time.monotonic()
                    self.ended = self.common.bound(self.height, asked) < asked
                    self.rate = (time.monotonic() - began) / max(1.0, work)
        except _Enough:
            self.ended = True

    def raise_all(self, timed: bool) -> None:
        """Raise the bound by cuts of all columns: until the time is over with a time limit (`timed`), otherwise only as
        far as that is quick."""
        if self.slow:  # the remaining time is for better trees
            return
        if timed or self._most() >= SMALL * self.least:
            self._rise(*((1, None) if timed else (EASY, self.patience)))

    def _next(self, lower: int) -> int | None:
        """Return the bound by common rows to require next.

        Without a limit it is GROWS times the one before; otherwise the greatest that, if the time per entry stays the
        same, takes no more than SURE of the remaining time; None if none does.
        """
        left, most = deadline.seconds_left(), self._most()
        if not (lower and self.rate) or left is None:
            if left is not None and not lower and self._never_in(left):
                return None
            return min(max(self.least, GROWS * lower), most)
        soon, found = self.common.most(self.height), None
        asked, top = min(RAISED[0] * lower, most), min(max(soon, GROWS * lower), RAISED[1] * lower, most)
        while asked <= top:
            hard = HARD if asked > soon else 1.0
            if hard * self.rate * self.common.work(self.height, asked) < SURE * left:
                found = asked
            asked = max(asked + self.least, int(STEP * asked))
        return found

    def _never_in(self, seconds: float) -> bool:
        """Return whether the first pass takes more than this many seconds on any machine."""
        if self.search.ranked.by_splits:
            return False
        return self._at_least(self.common.work(self.height, self.least)) > seconds

    def _most(self):
        return self.search.ranked.goal(min(self.need, self.search.known(self.height).upper))

    def raise_on(self, between: Callable[[float], None]) -> None:
        """Raise the bound up to the cost of the best tree. After each search, call `between` with its duration in
        seconds, for example to look for better trees."""
        self._rise(1, None, between)

    def _rise(self, part, patience, between=None):
        """Request rising bounds, up to the best tree's cost divided by `part`.

        At more depth than 2 with a time limit, each bound after the first is the greatest that is expected to take PART
        of the remaining time. If few bounds fit in the time, the first bound at height 3 is a larger part of the cost
        (`at_once`), and the second bound at height 2 is DOUBLED of the cost, because up to this part the middle cuts
        usually prove any bound in about the same time.
        """
        search, height, least = self.search, self.height, self.least
        timed = height > 2 and deadline.seconds_left() is not None
        asked = max(least, self._most() // (FIRST_IN_TIME if timed else FIRST[height > 2]))
        if lower := search.lower(height):  # a slightly higher bound takes as long as a much higher one
            asked = max(asked, _more(lower, self._most(), least, height))
        if timed:
            asked = max(asked, self.at_once())
        with suppress(_Enough), _at_most(search, patience):
            while True:
                enough, began = self._most() // part, time.monotonic()
                asked = min(asked, enough)
                known = search.bound(height, asked)
                if search.is_settled(known) or asked >= enough:
                    break
                took = time.monotonic() - began
                if between is not None:
                    between(took)
                asked = self._after(asked, took, deadline.seconds_left())

    def _after(self, asked, took, left):
        """Return the bound to request after one that took `took` seconds, with `left` seconds remaining (None: no
        limit)."""
        height, most, least = self.height, self._most(), self.least
        more = _more(asked, most, least, height)
        if left is None:
            return max(more, QUICKLY * asked) if height > 2 else more
        if height > 2:
            times = PART * left / max(took, deadline.MOMENT)
            return max(asked + least, int(STEP * asked), _in_time(asked, most, times))
        soon = int(DOUBLED * most)
        return soon if asked < soon and FEW_ASKED * took > left else more


@contextmanager
def _at_most(search, patience):
    """End the block with _Enough after `patience` trees of depth 2; None for no limit."""
    before, check = search.evaluated, search.check

    def look():
        check()
        if patience is not None and search.evaluated > before + patience:
            raise _Enough

    search.check = look
    try:
        yield
    finally:
        search.check = check


def _in_time(asked, most, times):
    """Return the bound that takes `times` as long to prove as `asked`; more than `most` if the proof fits in it."""
    asked = max(asked, most / FLAT)
    work = times * asked / max(1.0, STEEP * most - asked)
    return int(STEEP * most * work / (1 + work))


def _more(asked, most, least, height):
    more = 2 * asked if asked < DOUBLED * most / 2 else int(STEP * asked)
    # Each bound takes one search, which is longer the nearer it is to the cost.
    if height == 2 and asked >= DOUBLED * most:
        more = min(more, (asked + most) // 2)
    return max(asked + least, more)
