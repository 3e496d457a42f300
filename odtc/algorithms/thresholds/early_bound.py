"""A bound of all trees soon after a search over thresholds has begun.

One cut of a column, with L and R its sides, bounds all cuts of this column: a cut behind it has L on its left side, and
one before it has R on its right side. So with any one cut c(f) of each column f

    V_h(S) >= min_f min(V_{h-1}(L), V_{h-1}(R))      with L, R the sides of c(f)

and if a bound of some part of the best tree's cost is wanted, the middle cut of each column mostly shows it. Bounds of
rising parts are shown one after the other. Rows that the sides of many splits have in common come first
(odtc.algorithms.thresholds.common_rows): their bound is a small one, but there soon.
"""

import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from statistics import median

from odtc.algorithms.thresholds.common_rows import CommonRows
from odtc.base import deadline

# The first bound that is asked for is this part of the best tree's cost: of depth 2, and of more depth, where less
# takes about as long, unless the time is short.
FIRST, FIRST_IN_TIME = (16, 4), 8
DOUBLED = 0.5  # of that cost: up to it bounds are doubled, and then raised by STEP
STEP = 1.25  # factor by which a bound rises from one search to the next
QUICKLY = 4  # the same without a limit, of more depth than 2
# A bound b of trees of more depth, of which the best one costs v, takes time like b / (STEEP · v - b), and one of less
# than v / FLAT about as long as that.
STEEP, FLAT = 1.1, 4
FEW_ASKED = 8  # bounds that the time is for at least, if they are to rise one after the other
PARTS = 1 / 4, 3 / 8, 1 / 2  # of the cost, which the first cuts of all columns may show, in the order of their time
HARDER = 4  # times as long as the least of these parts takes the greatest one, about
EASY = 8  # this part of the cost is asked for without a limit
SMALL = 64  # least losses that the best tree costs at least, so that bounds are asked for without a limit
PATIENCE = 3  # times the trees of depth 2 that one cut of each column takes, without a limit
FEW = 2000  # trees of depth 2 for the bound by common rows without a limit, at most
GROWS = 4  # times the bound by common rows is what is asked for next, without a limit
RAISED = 2, 4  # times that bound at least and at most with a limit: a pass that does not end shows nothing
PART = 1 / 6  # of the time that is left, for the next bound: what it takes is known roughly
SURE = 0.7  # of the time that is left: what is expected to take more is not begun
QUICK = 1e-9  # seconds for an entry and two columns of a tree of depth 2 at least: its middle cuts
HARD = 3.0  # times what is expected, for a bound that is about what one half of a column shows


class _Enough(Exception):
    """More is not worth it."""


class EarlyBound:
    """The bound of the trees of one height of all entries of a search, raised until `search.check` raises.

    Parameters
    ----------
    search : RankSearch
    height : int, 2 or more; common rows are for 3 or more
    need : int, the cost of a tree that is known elsewhere
    """

    def __init__(self, search, height: int, need: int):
        self.search, self.height, self.need = search, height, need
        self.least = search.ranked.least_loss
        sides = 1 if search.ranked.binary else 2
        self.patience = PATIENCE * (len(search.ranked.columns) * sides) ** (height - 2)
        self.common = CommonRows(search)
        self.ended = False  # whether common rows show no more
        self.slow = False  # whether they would, but not in the time that is left
        self.rate = 0.0  # seconds that they took for each entry of a tree of depth 2
        self.soon: int | None = None  # a bound that is shown at once (`at_once`)

    def at_once(self) -> int:
        """Return the greatest part of the cost of the best tree that trees of depth 2 on both sides of the first cut
        of each column are expected to show in SURE of the time that was left at first; 0 if there is no such part, or
        if that takes so little that bounds can rise one after the other.

        The cuts of some columns are timed, once, and their bounds are kept.
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
                expected = columns * median(took)  # one that parts the labels takes longer than most
                if expected > SURE * left or HARDER * FEW_ASKED * expected < left:
                    break
                self.soon = asked if FEW_ASKED * expected > left else 0
        return self.soon

    def takes_more(self, seconds: float) -> bool:
        """Return whether a bound by one cut of each column takes more than so many seconds, however quick the
        machine."""
        return self._at_least(self.patience * self.search.ranked.n / 2 ** (self.height - 2)) > seconds

    def _at_least(self, entries: float) -> float:
        """Return the seconds that trees of depth 2 of so many entries in all take at least."""
        return QUICK * len(self.search.ranked.columns) ** 2 * entries

    def by_common_rows(self, timed: bool) -> None:
        """The bound by rows that the sides of many splits have in common; with a limit (`timed`) as far as it goes."""
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
        """The bound of all rows; with a limit (`timed`) on and on, else as far as that is soon shown."""
        if self.slow:  # what is left of the time is for trees
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
        """Return whether the first pass takes longer, however quick the machine."""
        if self.search.ranked.by_splits:
            return False
        return self._at_least(self.common.work(self.height, self.least)) > seconds

    def _most(self):
        return self.search.ranked.goal(min(self.need, self.search.known(self.height).upper))

    def raise_on(self, between: Callable[[float], None]) -> None:
        """The bound of all rows up to the best tree; after each search `between` is called with the seconds that it
        took, for example to look for better trees."""
        self._rise(1, None, between)

    def _rise(self, part, patience, between=None):
        """Asks for rising bounds, up to a part of the best tree's cost. With a limit, each after the first is the
        greatest that is expected in PART of it. If each takes so long that the time is for few of them, the first one
        of depth 3 is a greater part of the cost (`at_once`), and the second one of depth 2 is DOUBLED of it: up to that
        the middle cuts mostly show any bound in as long."""
        search, height, least = self.search, self.height, self.least
        timed = height > 2 and deadline.seconds_left() is not None
        asked = max(least, self._most() // (FIRST_IN_TIME if timed else FIRST[height > 2]))
        if lower := search.lower(height):  # little more takes as long as much more
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
        """Return the bound to ask for after one that took so many seconds, if so many are left; None for no limit."""
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
    """Ends with _Enough after so many trees of depth 2; None for no end."""
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
    """Return the bound that takes so many times as long as one that was shown; more than `most` for the proof."""
    asked = max(asked, most / FLAT)
    work = times * asked / max(1.0, STEEP * most - asked)
    return int(STEEP * most * work / (1 + work))


def _more(asked, most, least, height):
    more = 2 * asked if asked < DOUBLED * most / 2 else int(STEP * asked)
    if height == 2 and asked >= DOUBLED * most:  # one search shows each, and takes the longer the nearer it is
        more = min(more, (asked + most) // 2)
    return max(asked + least, more)
