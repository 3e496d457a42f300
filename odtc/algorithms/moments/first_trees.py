"""Good trees of three levels or more before a proof, because the first trees of a search of all cuts may be no better
than a greedy tree if its table is large.

    1. each column keeps the cuts at quantiles of its rows
    2. on a sample, each of some cuts of a column is a root, with the best tree of one level on either side
    3. each of the best roots, of different columns, gets the best trees of two levels over the cuts kept below it
    4. the best of these roots is moved to cuts near it, as long as that lowers the cost
"""

import heapq
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

MIN_WORK = 1e8  # rows times columns times cuts; a smaller table is searched directly
CUTS_PER_COLUMN = 31  # cuts that are kept for each column
ROOTS = 7  # cuts of a column that are tried as a root
SAMPLE = 2_000  # number of rows, about, on which roots are compared
TRIED_COLUMNS = 3  # number of columns whose best root gets two levels below it
STEPS = (4, 2, 1)  # distances, in quantiles, by which the best root is moved
MOST_ROWS = 10_000  # maximum number of rows, about, on which two levels are found
MAX_WORK = 1e9  # maximum rows times pairs of columns for two levels; further columns are left out


def repays(code: np.ndarray, size: np.ndarray) -> bool:
    """Return whether a search over this many ranks may take so long that a good tree should be found first."""
    return code.size * float((size - 1).sum()) > MIN_WORK


def quantile_cuts(code: np.ndarray, size: int, most: int) -> np.ndarray:
    """Return at most `most` ranks of a column after which it can be cut, with about as many rows between each two of
    them."""
    if size - 1 <= most:
        return np.arange(size - 1)
    below = np.cumsum(np.bincount(code, minlength=size))
    at = np.searchsorted(below, below[-1] * np.arange(1, most + 1) / (most + 1))
    return np.unique(np.minimum(at, size - 2))


def first_trees(search: Any, cost_of: Callable[[tuple], float]) -> None:
    """Pass nested trees (column, cut, left, right), None for a leaf, of two levels to `cost_of`, which makes them
    deeper and returns their cost: first roots of different columns, then other cuts of the best one.

    Parameters
    ----------
    search : MomentSearch (odtc.algorithms.moments.search), whose only limit is the minimum number of rows of a leaf
    """
    cuts = [quantile_cuts(code, size, CUTS_PER_COLUMN) for code, size in zip(search.code, search.size.tolist())]
    every = np.arange(search.code.shape[1])
    sample, some = (every[:: max(1, len(every) // most)] for most in (SAMPLE, MOST_ROWS))
    code = np.stack([np.searchsorted(kept, code) for kept, code in zip(cuts, search.code)])
    coarse = search.over(code, math.ceil(search.least * len(some) / len(every)))
    columns = _columns(coarse, sample)

    @cache
    def cost(column: int, cut: int) -> float:
        below = []
        for side in coarse.sides(some, column, cut):
            search.check()
            below.append(coarse.best_below(side, columns) if len(side) else None)
        tree = _named((column, cut, *below), cuts, 2)
        return cost_of(tree) if _fits(search, tree, every) else np.inf

    roots = _roots(coarse, sample, columns)
    if not roots:
        return
    column, cut = min(roots, key=lambda root: cost(*root))
    for step in STEPS:
        near = [at for at in (cut - step, cut, cut + step) if 0 <= at < len(cuts[column])]
        cut = min(near, key=lambda at: cost(column, at))


def _columns(coarse: Any, sample: np.ndarray) -> tuple[int, ...]:
    """Return the columns by which one level gains most, as many as there is time for."""
    most = max(2, int((MAX_WORK / coarse.code.shape[1]) ** 0.5))
    if most >= len(coarse.size):
        return tuple(range(len(coarse.size)))
    gains = [coarse.gain_of_one(sample, (column,)) for column in range(len(coarse.size))]
    return tuple(sorted(heapq.nlargest(most, range(len(gains)), key=gains.__getitem__)))


def _roots(coarse: Any, sample: np.ndarray, columns: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the best (column, cut) of the columns that gain most with one level on either side."""
    found = []
    for column in columns:
        own = []
        for cut in quantile_cuts(coarse.code[column], int(coarse.size[column]), ROOTS).tolist():
            coarse.check()
            sides = coarse.sides(sample, column, cut)
            if min(map(len, sides)):
                own.append((sum(coarse.gain_of_one(side, columns) for side in sides), column, cut))
        found += [max(own)] if own else []
    return [(column, cut) for _, column, cut in heapq.nlargest(TRIED_COLUMNS, found)]


def _named(tree: tuple | None, cuts: list[np.ndarray], levels: int) -> tuple | None:
    """Return this many levels of the tree, with its cuts as ranks of all values."""
    if tree is None or not levels:
        return None
    column, cut, *below = tree
    return (column, int(cuts[column][cut]), *(_named(one, cuts, levels - 1) for one in below))


def _fits(search: Any, tree: tuple | None, rows: np.ndarray) -> bool:
    """Return whether all leaves have enough of all rows; the search used only some of the rows."""
    if search.moments[2, rows].sum() < search.least:
        return False
    return tree is None or all(_fits(search, one, side) for one, side in zip(tree[2:], search.sides(rows, *tree[:2])))
