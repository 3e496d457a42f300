"""A bound of all trees soon after a search over thresholds has begun.

One cut of a column, with L and R its sides, bounds all cuts of this column: a cut behind it has L on its left side, and
one before it has R on its right side. So with any one cut c(f) of each column f

    V_h(S) >= min_f min(V_{h-1}(L), V_{h-1}(R))      with L, R the sides of c(f)

and if a bound of some part of the best tree's cost is wanted, the middle cut of each column mostly shows it. Bounds of
rising parts are shown one after the other. A sample of the rows comes first, as V_h(S) >= V_h(sample): its bound is a
small one, but there soon.
"""

from dataclasses import replace

import numpy as np

from odtc.algorithms.thresholds.ranks import RankedRows

FIRST = 16  # the first bound that is asked for is this part of the best tree's cost
DOUBLED = 0.5  # of that cost: up to it bounds are doubled, and then raised by STEP
STEP = 1.25
EASY = 8  # this part of the cost is asked for without a limit
SMALL = 64  # least losses that the best tree costs at least, so that bounds are asked for without a limit
PATIENCE = 3  # times the trees of depth 2 that one cut of each column takes; of a sample, and without a limit
FEW = 120  # entries of the smallest sample
FINER = 4  # each sample has as many times the entries of the one before


class _Enough(Exception):
    """More is not worth it."""


def samples(ranked: RankedRows) -> list[RankedRows]:
    """Parts of the rows, the smallest first, each of which has the rows of those before.

    Parameters
    ----------
    ranked : RankedRows

    Returns
    -------
    list of RankedRows : of trees without a least number of rows in a leaf
    """
    parts, size = [], FEW
    place = np.random.default_rng(0).permutation(int(ranked.row.max(initial=-1)) + 1)[ranked.row]
    in_order = np.sort(place)
    while size < ranked.n // 2:
        taken = np.flatnonzero(place <= in_order[size - 1])
        of_entries = {name: getattr(ranked, name)[taken] for name in ("label", "gain", "most", "count", "row")}
        parts.append(replace(ranked, rank=np.ascontiguousarray(ranked.rank[taken]), least=1, **of_entries))
        size *= FINER
    return parts


class EarlyBound:
    """The bound of the trees of one height of all entries of a search, raised until `search.check` raises.

    Parameters
    ----------
    search : RankSearch
    height : int, 3 or more
    need : int, the cost of a tree that is known elsewhere
    """

    def __init__(self, search, height: int, need: int):
        self.search, self.height, self.need = search, height, need
        self.least = _least_loss(search.ranked)
        sides = 1 if search.ranked.binary else 2
        self.patience = PATIENCE * (len(search.ranked.columns) * sides) ** (height - 2)
        self.beside: list = []  # the searches of the samples

    def by_samples(self) -> None:
        """The bound of samples of the rows; what was found before is not sought again."""
        if not self.beside:
            self.beside = [
                type(self.search)(part, None, None, self.search.room) for part in samples(self.search.ranked)
            ]
        for one in self.beside:
            one.check = self.search.check
            try:
                share = max(self.least, self._most() * one.ranked.n // self.search.ranked.n)
                _rise(one, self.height, share, self.least, EASY, self.patience)
            finally:
                self.search.note_bound(self.height, one.known(self.height).lower)

    def raise_all(self, timed: bool) -> None:
        """The bound of all rows; with a limit (`timed`) on and on, else as far as that is soon shown."""
        if timed or self._most() >= SMALL * self.least:
            args = (1, None) if timed else (EASY, self.patience)
            _rise(self.search, self.height, self._most(), self.least, *args)

    def _most(self):
        return min(self.need, self.search.known(self.height).upper)


def _least_loss(ranked):
    return int(np.abs(ranked.gain[ranked.gain != 0].astype(np.int64)).min(initial=2**40))


def _rise(search, height, most, least, part, patience=None):
    """Asks for rising bounds, up to a part of a cost."""
    asked, known = max(least, most // FIRST), search.known(height)
    before, check = search.evaluated, search.check

    def look():
        check()
        if patience is not None and search.evaluated > before + patience:
            raise _Enough

    search.check = look
    try:
        while True:
            asked = min(asked, most // part)
            known = search.bound(height, asked)
            if known.exact or asked >= most // part:
                break
            asked = max(asked + least, 2 * asked if asked < DOUBLED * most / 2 else int(STEP * asked))
    except _Enough:
        pass
    finally:
        search.check = check
