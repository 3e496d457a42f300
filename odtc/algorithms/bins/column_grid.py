"""A bound of all trees by few cuts of each column, column by column.

Cuts c(1) < c(2) < … of a column f, with L(i) and R(i) their sides, bound all trees whose first test is of f: a cut
between c(i) and c(i+1) has L(i) on its left side, and R(i+1) on its right side, and V grows with the rows. So with L(0)
and the last R empty

    V_h(S) >= min(leaf(S), price + min over f, i of V_{h-1}(L(i)) + V_{h-1}(R(i+1)))

and each side is bounded likewise by few cuts of each of its columns, down to trees of depth 2, which a kernel knows.
If k cuts part what the best trees cost into equal pieces, a step loses one piece of k + 1: two cuts of each column on
two steps show at most 4 / 9 of a tree of depth 4, four 16 / 25. So the cuts are a grid, the same on all nodes: `left of
a and left of b` and `left of b and left of a` are one set of rows, which is searched once. The parts are those of the
losses of the best tree that is known, and each side is asked for its part of the bound and the piece that is lost: what
is asked for more is not shown, and its search would go on to the best tree of that side.

Each column is one piece of work, so that the time that a bound takes of all columns is known by that of the first one,
where the best trees are: it is asked for rising bounds, as long as all columns are expected to show as much in time.
"""

import time
from contextlib import contextmanager
from heapq import heappop, heappush

import numpy as np

from odtc.algorithms.thresholds.rank_search import NONE, Known
from odtc.base import deadline

FITS = 0.85  # of what the best tree loses on some rows, that a tree of its own loses there, about
MOST = 0.66  # of a side's losses, that cuts of the grid are to keep on each step: for more, intervals are halved
NEAR = 0.2  # of a piece, that a cut of the grid may lie beside a piece of a node
FIRST = 0.06  # of the losses of the best tree: what is asked for first
STEP, LEAST_STEP = 1.25, 1.08  # between two bounds that the first column is asked for, and from the last one of all
PILOT = 0.15  # of the time, for the first column alone
SURE = 0.8  # of the time that is left: what is expected to take more is not begun
SHARED = 1.4  # times as long as the others may the first column take, with which they share sets of rows
PATIENT = 2.5  # times its part of the time may a column take, until less is asked for


class Grid:
    """Where the cuts of each column lie by what the best tree that is known loses.

    Parameters
    ----------
    search : RankSearch
    height : int, of the tree
    """

    def __init__(self, search, height: int):
        self.ranked = search.ranked
        self.loss = _losses(search, height)
        total = max(1e-9, float(self.loss.sum()))
        self.upto = [np.cumsum(np.bincount(column, self.loss)) / total for column in self.ranked.rank.T]
        self.share, self.pieces = 0.5, 2
        self.marks: list[np.ndarray] = []

    def aim(self, share: float) -> None:
        """Takes as many pieces as it takes to keep this share of the losses on each step."""
        self.share = min(MOST, max(0.5, share))
        self.pieces = int(np.ceil(1 / (1 - self.share) - 1e-9))
        wanted = np.arange(1, self.pieces) / self.pieces
        self.marks = [np.searchsorted(upto, wanted) for upto in self.upto]

    def middle(self, nodes, node, column: int, first: int, last: int) -> int:
        """The cut from first to last to be evaluated: the one at the piece in the middle, or in the middle of what is
        lost between them; that of the grid if it is about there, too."""
        loss = self.loss[node.order[column] >> 1].cumsum()
        upto = loss[nodes.cuts(node)[1][column, first : last + 1] - 1] / max(loss[-1], 1e-9)
        pieces = np.arange(int(np.ceil(upto[0] * self.pieces)), int(upto[-1] * self.pieces) + 1)
        wanted = pieces[len(pieces) // 2] / self.pieces if len(pieces) else (upto[0] + upto[-1]) / 2
        at = int(np.searchsorted(upto, wanted).clip(max=last - first))
        if len(pieces):
            marks = self.marks[column]
            rank = marks[min(len(marks), max(1, pieces[len(pieces) // 2])) - 1]
            cut = nodes.cut_of(node, column, int(rank)) - first
            if 0 <= cut <= last - first and abs(upto[cut] - wanted) < NEAR / self.pieces:
                at = cut
        return first + at

    def parts(self, node, column: int, entries: int) -> tuple[float, float]:
        """The parts of the losses on a node that are left and right of a cut, behind so many entries in the order of
        the column."""
        line = self.loss[node.order[column] >> 1]
        whole = float(line.sum())
        left = float(line[:entries].sum()) / whole if whole > 0 else entries / node.n
        return left, 1.0 - left


def _losses(search, height):
    """What each entry costs beyond its best label in the best tree that is known, float64 (entries,); what it costs by
    the label of most if that tree costs nothing."""
    ranked = search.ranked
    for tree in (search.tree(height), None):
        loss = np.zeros(ranked.n)
        _add_losses(ranked, tree, np.ones(ranked.n, bool), loss)
        if loss.any():
            return loss
    return np.ones(ranked.n)


def _add_losses(ranked, tree, inside, loss):
    if tree is not None:
        column, rank, left, right = tree
        goes = ranked.rank[:, column] <= rank
        _add_losses(ranked, left, inside & goes, loss)
        _add_losses(ranked, right, inside & ~goes, loss)
        return
    gain = ranked.gain[inside].astype(float)
    label = ranked.label[inside] if ranked.stride > 1 else (gain > 0).astype(np.int64)
    saved = np.bincount(label, np.abs(gain), max(2, ranked.stride))
    most = ranked.most[inside] if ranked.stride > 1 else np.abs(gain)
    loss[inside] = np.maximum(0.0, most - np.where(label == saved.argmax(), np.abs(gain), 0.0))


class ColumnGrid:
    """The bound of the trees of one height of all entries of a search, raised column by column; of trees without a
    least number of rows in a leaf, where the search has one.

    Parameters
    ----------
    search : RankSearch, whose memory takes what is found
    height : int, 3 or more
    """

    def __init__(self, search, height: int):
        self.asked, self.search, self.height = search, search.relaxed or search, height
        self.known, self.root = self.search.entry(self.search.root, height), self.search.root
        self.grid = Grid(self.asked, height)
        first = {one[3]: one for one in self.search._columns(self.root, Known(0, NONE), Known(0, NONE))}
        # The purer a column can make both sides, the better are the trees below it, and the harder is a bound.
        columns = [column for column, _ in self.search.nodes.gini_of_columns(self.root)]
        self.first = {column: first[column] for column in columns if column in first}
        self.shown = dict.fromkeys(self.first, 0)

    @property
    def lower(self) -> int:
        """No tree costs less."""
        most = min(self.known.upper, self.root.leaf)
        return max(self.known.lower, min([most, *self.shown.values()]))

    def rise(self, most: int) -> bool:
        """Raises the bound as far as the time allows, which has to have an end; whether it was raised.

        Parameters
        ----------
        most : int, the cost of the best tree that is known

        Returns
        -------
        bool
        """
        before = self.lower
        while self.first and self.lower < min(most, self.known.upper) and (need := self._affordable(most)):
            if not self._raise_all(need):
                break
        return self.lower > before

    def _raise_all(self, need):
        """Raises the bound of each column, of the later ones less if the time does not suffice; whether that of all is
        raised."""
        before, left = self.lower, len(self.first)
        for column in self.first:
            while not self._shows(column, need, PATIENT * deadline.time_share(NONE) / left):
                need = int(need / STEP)
                if need <= before:
                    return False
            left -= 1
        return self.lower > before

    def _affordable(self, most):
        """The greatest bound that the first column shows in its part of the time; 0 if that is none above `lower`."""
        found, lower, most = 0, self.lower, min(most, self.known.upper)
        column, end = next(iter(self.first)), time.monotonic() + PILOT * deadline.time_share(NONE)
        need = min(most, max(int(lower * LEAST_STEP), lower + 1, int(FIRST * most)))
        while lower < need <= most:
            self._aim(need, most)
            if not self._shows(column, need, SHARED * SURE * deadline.time_share(NONE) / len(self.first)):
                break
            found, need = need, min(most, max(need + 1, int(STEP * need))) if need < most else most + 1
            if time.monotonic() > end:
                break
        self._aim(found, most)
        return found

    def _aim(self, need, most):
        self.grid.aim((need / (FITS * most)) ** (1 / (self.height - 2)))

    def _shows(self, column, need, seconds):
        """Whether `_raise` ends in some seconds."""
        try:
            with _ended_after(self.search, seconds):
                self._raise(column, need)
        except _TooLong:
            return False
        return True

    def _raise(self, column, need):
        """Shows that no tree that begins with a test of this column costs less than `need`, or finds one."""
        if self.shown[column] >= min(need, self.known.upper):
            return
        search, height, open_ = self.search, self.search.height, [self.first[column]]
        found = Known(0, self.known.upper)
        search.grid, search.raising, search.height = self.grid, True, self.height
        try:
            while open_ and open_[0][0] < min(need, found.upper):
                search.check()
                halves = search.halved(self.root, self.height, need, found, open_[:1])
                heappop(open_)  # what ends the search leaves the interval that it was at
                for half in halves:
                    heappush(open_, half)
        finally:
            search.grid, search.raising, search.height = None, False, height
            search.learn(self.known, found)
            least = min([need, found.upper, *(one[0] for one in open_[:1])])
            self.shown[column] = max(self.shown[column], least)
            self.known.lower = self.lower
            self.asked.note_bound(self.height, self.known.lower)


class _TooLong(Exception):
    """One column takes too much of the time."""


@contextmanager
def _ended_after(search, seconds):
    """Ends with _TooLong after some seconds."""
    check, end = search.check, time.monotonic() + seconds

    def look():
        check()
        if time.monotonic() > end:
            raise _TooLong

    search.check = look
    try:
        yield
    finally:
        search.check = check
