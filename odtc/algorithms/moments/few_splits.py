"""The best tree with at most N different splits: all sets of N - 1 splits, each with all splits after it at once.

N splits divide the rows into 2^N cells. Their sums follow from the sums of the 2^(N-1) cells of the first N - 1 splits
and, within each, of the rows with outcome 1 for the last split: one product of matrices for all last splits. A node of
a tree over these splits has a set of cells, its state. There are 3^N states, because each split has outcome 0, has
outcome 1, or is still free: cells that differ only in free splits are in the same state. Its best tree gains

    G(state) = max(gain of a leaf, max over free splits of G(outcome 0) + G(outcome 1) - price)

and -∞ if it has too few rows. A path does not contain a split twice, so N levels are enough. If the number of levels is
smaller, there is one G for each number of remaining levels.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product
from math import comb

import numpy as np

from odtc.algorithms.moments.laws import gains

MOST_SETS = 50_000  # maximum number of sets of N - 1 splits; each set takes about a millisecond
MOST_TESTS = 5  # maximum number of different splits of a tree, because there are 3^N states


def takes(n_splits: int, most: int) -> bool:
    """Return whether trees of at most `most` of `n_splits` splits are searched by this module."""
    return 1 <= most <= min(MOST_TESTS, n_splits - 1) and comb(n_splits, most - 1) <= MOST_SETS


def near_sets(
    answers: np.ndarray,
    moments: np.ndarray,
    limits: tuple[int, int, float],
    terms: tuple[float, int, float],
    check: Callable[[], None],
    room: Callable[[float], float],
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield (gain, splits) of the best tree over each set of splits that gains more than all sets before, or nearly as
    much.

    Parameters
    ----------
    answers : float64 (rows, splits): the outcomes, 0 or 1
    moments : float64 (3, rows): W, S, and rows of the data
    limits : (maximum different splits, maximum levels, minimum rows of a leaf)
    terms : (penalty of a branch node, law, `laws.smallest` of the moments)
    check : called often; an exception that it raises ends the search
    room : returns how much less than a gain counts as nearly as much
    """
    most, depth, least = limits
    best = -np.inf
    for held in combinations(range(answers.shape[1] - 1), most - 1):
        check()
        first = held[-1] + 1 if held else 0
        found = _gains(answers, moments, held, first, min(depth, most), least, terms)
        for at in np.flatnonzero(found >= max(best, found.max()) - room(max(best, found.max()))).tolist():
            yield float(found[at]), (*held, first + at)
        best = max(best, float(found.max()))


def _gains(
    answers: np.ndarray,
    moments: np.ndarray,
    held: tuple[int, ...],
    first: int,
    depth: int,
    least: float,
    terms: tuple[float, int, float],
) -> np.ndarray:
    """Return float64 (last splits,): the gain of the best tree over the `held` splits and a split from `first` on."""
    price, law, tiny = terms
    cell = answers[:, list(held)].astype(np.int64) @ (1 << np.arange(len(held))[::-1])
    n_cells, every = 2 ** len(held), np.arange(len(answers))
    apart = np.zeros((3, n_cells, len(answers)))
    apart[:, cell, every] = moments
    whole = apart.sum(axis=2)
    ones = (apart.reshape(3 * n_cells, -1) @ answers[:, first:]).reshape(3, n_cells, -1)
    sums = np.stack([whole[:, :, None] - ones, ones], axis=2)  # (3, cells, outcome of the last split, last splits)
    sums = sums.reshape(3, *(2,) * (len(held) + 1), -1)
    for axis in range(1, len(held) + 2):  # the third entry of an axis is the free split
        sums = np.concatenate([sums, sums.sum(axis=axis, keepdims=True)], axis=axis)
    w, s, count = sums
    leaf = np.where(count >= least, gains(law, s, w, tiny), -np.inf)
    known = {0: leaf}
    for height in range(1, depth + 1):
        known[height] = leaf.copy()
        # States of fewer free splits come first; a side has one level less.
        for state in sorted(product(range(3), repeat=len(held) + 1), key=lambda one: one.count(2)):
            for axis, answer in enumerate(state):
                if answer == 2:
                    zero, one = (known[height - 1][(*state[:axis], side, *state[axis + 1 :])] for side in (0, 1))
                    np.maximum(known[height][state], zero + one - price, out=known[height][state])
    return known[depth][(2,) * (len(held) + 1)]
