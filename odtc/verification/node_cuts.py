"""The cuts of a set of rows, and bounds for all of these cuts that follow from bounds at a few of them.

V_h(S) is the least cost of a tree of height h on the rows S, above the unavoidable cost. A tree for more rows is also a
tree for fewer rows, and rows D that are added cost at most w(D), the sum of their largest costs: V(S) <= V(S + D) <=
V(S) + w(D). So for cuts a <= c <= b of one column, where w(c) is the largest cost of the rows left of c,

    L_c >= L_a,   L_c >= L_b - (w(b) - w(c)),   R_c >= R_b,   R_c >= R_a - (w(c) - w(a))

If leaves must have a least number of rows, the first and the third are valid only for trees without that constraint,
whose bounds are also bounds of the others.
"""

import numpy as np

from odtc.verification.threshold_columns import DistinctColumns


class Rows:
    """The rows of a certificate, all with different ranks: `loss` float64 (rows, classes) of whole numbers, the cost
    of a label above the cheapest; `count` (rows,) rows of the data; `price`, the penalty of a branch node; `least`,
    the fewest rows of a leaf."""

    def __init__(self, columns: DistinctColumns, loss: np.ndarray, count: np.ndarray, price: float, least: int):
        self.columns, self.loss, self.count, self.price, self.least = columns, loss, count, price, least
        self.most = loss.max(axis=1)
        size = columns.rank.max(axis=0, initial=0).astype(np.int64) + 1
        self.begin = np.cumsum(size) - size
        self.n_places = int(size.sum())
        self.copies = np.append(0, np.cumsum(columns.copy))


class NodeCuts:
    """The cuts of some rows, int64 (members,).

    Attributes
    ----------
    place : int64 (members, columns), the first position of a column that has the row on its left
    column, rank : int64 (places,), the cut of each position: the rows up to this rank are on its left
    last : int64 (columns,), the last position of each column, which has all rows on its left
    parts : bool (places,), whether both sides have enough rows, and no earlier column has the same cut
    moved : float64 (places,), the largest cost of the rows on the left
    """

    def __init__(self, rows: Rows, members: np.ndarray):
        self.rows, self.members = rows, members
        at = rows.columns.rank[members] + rows.begin
        seen = np.zeros(rows.n_places, bool)
        seen[at] = True
        self.place = (np.cumsum(seen) - 1)[at]
        flat = np.flatnonzero(seen)
        self.column = np.searchsorted(rows.begin, flat, side="right") - 1
        self.rank = flat - rows.begin[self.column]
        self.size = len(flat)
        self.first = np.searchsorted(self.column, np.arange(len(rows.begin)))
        self.last = np.append(self.first[1:], self.size) - 1
        self.parts = np.ones(self.size, bool)
        self.parts[self.last] = False
        # A position stands for all cuts up to the next rank that occurs; if one of them is a copy, an earlier column
        # has it.
        self.parts &= rows.copies[np.append(flat[1:], rows.n_places)] == rows.copies[flat]
        self.moved = self.up_to(rows.most[members])
        if rows.least > 1:
            held = self.up_to(rows.count[members])
            self.parts &= (held >= rows.least) & (rows.count[members].sum() - held >= rows.least)
        wide = int((self.last - self.first).max(initial=0)) + 1
        self._at = self.column * wide + np.arange(self.size) - self.first[self.column]
        self._shape = len(rows.begin), wide
        self._moved = np.zeros(self._shape)
        self._moved.reshape(-1)[self._at] = self.moved

    def up_to(self, values: np.ndarray) -> np.ndarray:
        """Return float64 (places,): the sum of a value of each member over the rows left of each position."""
        n_columns = self.place.shape[1]
        sums = np.bincount(self.place.reshape(-1), np.repeat(values, n_columns), self.size)
        sums[self.first[1:]] -= values.sum()
        return np.cumsum(sums)

    def place_of(self, column: int, rank: int) -> int:
        """Return the position of a cut of all rows; -1 if it has no row on its left here."""
        first, last = int(self.first[column]), int(self.last[column])
        return (
            first + int(np.searchsorted(self.rank[first : last + 1], rank, side="right")) - 1
            if (self.rank[first] <= rank)
            else -1
        )

    def carried(self, left: np.ndarray, right: np.ndarray, whole: float, falls: bool = True):
        """Return the bounds at all positions of the columns that follow from bounds at some of them.

        Parameters
        ----------
        left, right : float64 (places,), bounds of the trees on either side; 0 if there is none
        whole : float, a bound of the trees for all members
        falls : bool, whether fewer rows cost no more

        Returns
        -------
        (left, right), float64 (places,) each
        """
        total = float(self.rows.most[self.members].sum())
        sides = np.full((2, *self._shape), -np.inf)  # columns have different numbers of places
        for side, values in zip(sides, (left, right)):
            side.reshape(-1)[self._at] = values
        moved, most = self._moved, np.maximum.accumulate
        lower = most((sides[0] - moved)[:, ::-1], axis=1)[:, ::-1] + moved
        upper = most(sides[1] + moved, axis=1) - moved
        if falls:
            lower = np.maximum(lower, most(sides[0], axis=1))
            upper = np.maximum(upper, most(sides[1][:, ::-1], axis=1)[:, ::-1])
        lower, upper = lower.reshape(-1)[self._at], upper.reshape(-1)[self._at]
        return np.maximum(lower, whole - (total - self.moved)), np.maximum(upper, whole - self.moved)
