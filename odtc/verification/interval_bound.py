"""Check, level by level, of the lower bound that the states of a certificate over thresholds prove.

`states[j]` is a text of entries "t,c,k,a,b,c,k,a,b,…;…", one for each state of level j. An entry states that no tree of
D - j levels costs less than t on the rows of the state, above the unavoidable cost there. The rest of it lists cuts:
for cut k of column c, the rows on the left cost at least the bound of state a of the next level, and the rows on the
right at least the bound of state b (states are counted from 1; 0 means no bound). The rows of a state are the rows that
the sides of all cuts leading to it have in common; if leaves must have a least number of rows, these sides must be
equal. If c is one past the last column, there is no split: all rows are on the right, with one level less. A state
"ft,…" bounds trees without a least number of rows in the leaves, and so do all states that it names.

The bound of a state is valid if no label costs less than its t, and the two sides of every cut cost at least t - P
together (odtc.verification.node_cuts). With two levels left this is computed from the data
(odtc.verification.pair_bound), and with three levels, too, if the state names no other states
(odtc.verification.three_levels).
"""

import re

import numpy as np

from odtc.base import deadline, phases
from odtc.base.deadline import KERNEL_STEPS
from odtc.base.json_schema import show_value
from odtc.errors import CertificateError
from odtc.verification import pair_kernel
from odtc.verification.node_cuts import NodeCuts, Rows
from odtc.verification.pair_bound import best_stump, require_pair
from odtc.verification.three_levels import least_cost

ENTRY = re.compile(r"f?[0-9]{1,16}(,[0-9]{1,9},[0-9]{1,9},[0-9]{1,9},[0-9]{1,9})*")


class State:
    """An entry: the bound, whether leaves may have any number of rows, and int64 (points, 4): column, cut, states;
    `way` has column, side and rows of each cut that leads to it. States are checked in the order of their ways. Then
    each state on one side of the cuts of a column contains the rows of the state before
    (odtc.verification.pair_kernel)."""

    __slots__ = ("free", "points", "target", "way")

    def __init__(self, target: float, free: bool, points: np.ndarray):
        self.target, self.free, self.points = target, free, points
        self.way: tuple[int, ...] = ()


class IntervalBound:
    """The bound of the states of a certificate.

    Parameters
    ----------
    texts : list of str, as the certificate has them
    rows : Rows
    depth : int
    check : called between states; raises to end the check
    """

    def __init__(self, texts: list[str], rows: Rows, depth: int, check=lambda: None):
        if not 1 <= len(texts) <= max(1, depth - 1):
            raise ValueError("expected states of the levels from the root to the last but one")
        self.levels = [_entries(text, level) for level, text in enumerate(texts)]
        self.rows, self.depth, self.check = rows, depth, check
        self._free = rows if rows.least == 1 else Rows(rows.columns, rows.loss, rows.count, rows.price, 1)

    def of_root(self) -> float:
        """Return a lower bound on the cost of any tree, above the unavoidable cost.

        Raises
        ------
        CertificateError
            If the bound of a state is not valid.
        ValueError
            If the states are not valid.
        """
        n = len(self.rows.count)
        if len(self.levels[0]) != 1 or (self.levels[0][0].free and self.rows.least > 1):
            raise ValueError("expected one state of all rows at level 0")
        pairs = PairCheck()
        packed = [np.packbits(np.ones(n, bool))]
        for level, states in enumerate(self.levels):
            height = self.depth - level
            below = self.levels[level + 1] if level + 1 < len(self.levels) else []
            sets: list = [None] * len(below)
            order = sorted(range(len(packed)), key=lambda at: states[at].way)
            for at in phases.over(order, f"checking states of level {level}"):
                state, own = states[at], packed[at]
                self.check()
                if own is None:
                    raise ValueError(f"nothing leads to entry {at + 1} of states[{level}]")
                inside = np.unpackbits(own, count=n).astype(bool)
                rows = self._free if state.free else self.rows
                try:
                    self._hold(state, rows, inside, height, below, sets, pairs)
                except CertificateError as problem:
                    raise CertificateError(f"entry {at + 1} of states[{level}]: {problem}") from None
            packed = sets
        return self.levels[0][0].target

    def _hold(self, state, rows, inside, height, below, sets, pairs) -> None:
        """Raise an error if the bound of a state is not valid; record the rows of the states it names in `sets`."""
        target, members = state.target, np.flatnonzero(inside)
        if not len(members) and (target or len(state.points)):
            raise ValueError("a state holds no rows")
        if not target and not len(state.points):
            return
        alone = float((inside.astype(float) @ rows.loss).min())  # sums of whole numbers
        if alone < target:
            raise CertificateError(
                f"a single label costs {alone:.0f}, above the cost that no tree can avoid, the target is {target:.0f}"
            )
        if height <= 2:
            _hold_last_levels(state, rows, members, height, pairs)
        elif height == 3 and not len(state.points) and rows.least == 1:
            _hold_three_levels(target, rows, members)
        else:
            self._hold_by_cuts(state, rows, inside, below, sets)

    def _hold_by_cuts(self, state, rows, inside, below, sets) -> None:
        """Raise an error unless the states that a state names prove its bound: every cut costs at least its target."""
        cuts = NodeCuts(rows, np.flatnonzero(inside))
        left, right, whole = self._named_bounds(state, rows, inside, cuts, below, sets)
        lower, upper = cuts.carried(left[0], right[0], whole[0])
        if rows.least > 1:
            ours = cuts.carried(left[1], right[1], whole[1], falls=False)
            lower, upper = np.maximum(lower, ours[0]), np.maximum(upper, ours[1])
        worth = lower + upper + rows.price
        short = np.flatnonzero(cuts.parts & (worth < state.target))
        if len(short):
            raise CertificateError(
                f"by its own numbers a split of column {int(cuts.column[short[0]])} of those that differ leaves "
                f"{worth[short[0]]:.0f}, above the cost that no tree can avoid, the target is {state.target:.0f}"
            )

    def _named_bounds(self, state, rows, inside, cuts, below, sets) -> tuple[np.ndarray, np.ndarray, list[float]]:
        """Return the bounds of the states that a state names, and record the rows of these states in `sets`.

        Returns
        -------
        left, right : float64 (2, cuts)
            Of the rows on each side of a cut, 0 without a state: for trees without, and with, a least number of rows.
        whole : list of two floats
            The same for all rows of the state.
        """
        left, right = np.zeros((2, 2, cuts.size))
        whole = [0.0, 0.0]
        for column, cut, *sides in state.points.tolist():
            named = [self._child(below, number, state.free) for number in sides]
            if column == len(rows.columns.place):
                if named[0] is not None or named[1] is None:
                    raise ValueError("without a split all rows are on the right")
                self._note(sets, sides[1] - 1, inside, named[1])
                for kind in (0, 1) if named[1].free or rows.least == 1 else (1,):
                    whole[kind] = max(whole[kind], named[1].target)
                continue
            if column > len(rows.columns.place):
                raise ValueError(f"it evaluates column {column} of {len(rows.columns.place)}")
            at, rank, turned = rows.columns.cut(column, cut)
            goes = rows.columns.rank[:, at] <= rank
            halves = [inside & goes, inside & ~goes]
            if turned:
                halves.reverse()
            place = cuts.place_of(at, rank)
            if place < 0 or place == cuts.last[at]:
                raise ValueError("it evaluates a split that separates no rows")
            for one, (child, half) in enumerate(zip(named, halves)):
                if child is None:
                    continue
                self._note(sets, sides[one] - 1, half, child)
                child.way = child.way or (*state.way, column, one, int(half.sum()))
                bounds = left if (one == 0) != turned else right
                for kind in (0, 1) if child.free or rows.least == 1 else (1,):
                    bounds[kind, place] = max(bounds[kind, place], child.target)
        return left, right, whole

    def _child(self, below, number, free):
        if number > len(below):
            raise ValueError(f"it names state {number} of a level that has {len(below)}")
        child = below[number - 1] if number else None
        if child is not None and free and not child.free and self.rows.least > 1:
            raise ValueError("a bound without a least number of rows follows from no bound with one")
        return child

    def _note(self, sets, number, inside, child) -> None:
        """Record the rows of a state: the rows that the sides of all cuts leading to it have in common. Each of these
        sides contains at least these rows, so it costs no less. With a least number of rows in a leaf this is not
        valid, so the sides must then be equal."""
        packed = np.packbits(inside)
        before = sets[number]
        if before is not None and self.rows.least > 1 and not child.free and not np.array_equal(before, packed):
            raise ValueError(f"different cuts lead to state {number + 1}, which leave other rows")
        sets[number] = packed if before is None else before & packed


def _entries(text: str, level: int) -> list[State]:
    """Return the states of a level."""
    found = []
    for at, entry in enumerate(text.split(";") if text else (), 1):
        if not ENTRY.fullmatch(entry):
            raise ValueError(
                f"expected a bound and four whole numbers for each cut in entry {at} of states[{level}], got "
                f"{show_value(entry)}"
            )
        target, *points = entry.removeprefix("f").split(",")
        found.append(State(float(int(target)), entry[0] == "f", np.array(points, np.int64).reshape(-1, 4)))
    return found


def _hold_last_levels(state, rows, members, height, pairs) -> None:
    """Raise an error if a tree of at most two levels costs less than the target of a state."""
    if len(state.points):
        raise ValueError("a state of the last levels names other states")
    if state.target <= rows.price:
        return
    if height == 2:
        pairs.require(rows, members, state.target)
    elif best_stump(NodeCuts(rows, members), rows.loss[members]) < state.target:
        raise CertificateError(f"one split costs less than the target {state.target:.0f}")


def _hold_three_levels(target, rows, members) -> None:
    """Raise an error if a tree of three levels, of all of them, costs less than a target."""
    if target > rows.price and (least := least_cost(rows, members)) < target:
        raise CertificateError(
            f"a tree of three levels costs {least:.0f} there, above the cost that no tree can avoid, the "
            f"target is {target:.0f}"
        )


class PairCheck:
    """The checks of depth 2 of one certificate, by a kernel, or by numpy for leaves of a least number of rows."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[tuple[np.ndarray, ...], np.ndarray]] = {}

    def require(self, rows: Rows, members: np.ndarray, target: float) -> None:
        """Raise CertificateError if a tree of depth 2 costs less than the target on these rows."""
        if rows.least > 1:
            require_pair(rows, members, target, deadline.check)
            return
        if (found := self._least(rows, members, target)) < target:
            raise CertificateError(
                f"a tree of two splits after each other costs {found:.0f} there, above the cost that no tree can "
                f"avoid, the target is {target:.0f}"
            )

    def _least(self, rows: Rows, members: np.ndarray, target: float) -> int:
        if id(rows) not in self._tables:
            self._tables[id(rows)] = pair_kernel.tables_of(rows)
        tables, row = self._tables[id(rows)]
        inside = np.zeros(len(rows.count), np.uint8)
        inside[members] = 1
        arrays = inside[row], int(rows.price), int(target), KERNEL_STEPS, *tables
        found = pair_kernel.PAUSED
        while found == pair_kernel.PAUSED:
            deadline.check()
            found = pair_kernel.least_pair(*arrays)
        return found
