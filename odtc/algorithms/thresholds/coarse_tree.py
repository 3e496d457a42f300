"""A good tree over few cuts of each column of ranked rows, in little time.

A few of the cuts of each column divide it into bins of about equal size. A search over these cuts
(odtc.algorithms.thresholds.rank_search) finds a tree greedily (by dives), and improves it by moving its splits. For a
large table it uses a sample of evenly spaced entries. A tree is available at any moment.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from odtc.algorithms.thresholds.rank_search import RankSearch
from odtc.algorithms.thresholds.ranks import RankedRows
from odtc.base import deadline

# Entries of the sample: for one tree of depth 2, entries times columns² is at most STEPS, which is about a CPU second.
STEPS = 2**27
MIN_ENTRIES, MAX_ENTRIES = 2**10, 2**17


class CoarseTree:
    """Search for a good tree over few cuts of each column; the best tree so far is always available.

    Parameters
    ----------
    ranked : RankedRows
    depth : int
    parts : int, bins of a column, about; more than 1
    check : called between steps; raises to end the search
    """

    def __init__(self, ranked: RankedRows, depth: int, parts: int, check: Callable[[], None]):
        entries = min(MAX_ENTRIES, max(MIN_ENTRIES, STEPS // max(1, len(ranked.columns)) ** 2))
        every = -(-ranked.n // entries) or 1  # the sample has one in `every` entries
        self.depth, self.kept = depth, []
        rank = np.empty((len(range(0, ranked.n, every)), len(ranked.columns)), np.uint32)
        for column, ranks in enumerate(ranked.rank.T):
            check()
            self.kept.append(_cuts(ranks, parts))
            rank[:, column] = np.searchsorted(self.kept[-1], ranks[::every])
        names = ("label", "gain", "most", "count", "row")
        some = {name: np.ascontiguousarray(getattr(ranked, name)[::every]) for name in names}
        coarse = replace(ranked, rank=rank, least=max(1, ranked.least // every), **some)
        self._search = RankSearch(coarse, check)

    def search(self) -> None:
        """Improve the tree until no step lowers its cost, or `check` raises."""
        if self.kept and self._search.ranked.n:
            self._search.dive(self.depth)
            self._search.improve(self.depth)

    def nested(self):
        """Return the best tree so far as nested (column, rank, left, right), with None for a leaf."""
        with deadline.put_off():  # because the lowest splits of the tree may have to be computed again
            return self._named(self._search.tree(self.depth))

    def _named(self, tree):
        if tree is None:
            return None
        column, cut, *sides = tree
        return column, int(self.kept[column][cut]), *map(self._named, sides)


def _cuts(ranks: np.ndarray, parts: int) -> np.ndarray:
    """Return the ranks of at most `parts` - 1 cuts of a column; rows of this rank and below go left of a cut."""
    counts = np.bincount(ranks)  # ranks are small whole numbers, so that counting them is quicker than np.unique
    distinct = np.flatnonzero(counts)
    if len(distinct) > parts:
        at = np.arange(1, parts) * len(ranks) // parts
        inner = np.searchsorted(counts.cumsum(), at, side="right")
        distinct = np.append(np.unique(inner), distinct[-1])
    return distinct[distinct < distinct[-1]] if len(distinct) else distinct
