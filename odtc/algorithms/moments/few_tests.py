"""The best tree that asks at most N different tests: all sets of N - 1 tests, each with all tests behind it at once.

N tests part the rows into 2^N cells, whose sums are those of 2^(N-1) cells and, within each, of the rows that answer 1
to the last test: one product of matrices for all last tests. A state of a tree over these tests is a set of cells that
some of them tell apart no more, one of 3^N: each test is answered 0, answered 1, or still free. Its best tree gains

    G(state) = max(gain of a leaf, max over free tests of G(answered 0) + G(answered 1) - price)

and -∞ if it has too few rows. A path asks no test twice, so that N levels are enough; of fewer levels, G is one of each
number of them.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product
from math import comb

import numpy as np

from odtc.algorithms.moments.laws import gains

MOST_SETS = 50_000  # of N - 1 tests, of which each takes about a millisecond
MOST_TESTS = 5  # of a tree: states are 3^N


def takes(n_tests: int, most: int) -> bool:
    """Whether trees of so many different tests are searched so."""
    return 1 <= most <= min(MOST_TESTS, n_tests - 1) and comb(n_tests, most - 1) <= MOST_SETS


def near_sets(
    answers: np.ndarray,
    moments: np.ndarray,
    limits: tuple[int, int, float],
    terms: tuple[float, int, float],
    check: Callable[[], None],
    room: Callable[[float], float],
) -> Iterator[tuple[float, tuple[int, ...]]]:
    """(gain, tests) of the best tree over each set of tests that gains more than all before, or nearly as much.

    Parameters
    ----------
    answers : float64 (rows, tests): 0 or 1
    moments : float64 (3, rows): W, S, and rows of the data
    limits : (different tests, levels, rows of a leaf), at most and at least
    terms : (price of a branch node, law, `laws.smallest` of the moments)
    check : called often; what it raises ends the search
    room : how much less than a gain counts as nearly as much
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
    """float64 (last tests,): what the best tree over the tests that are held and each test from `first` on gains."""
    price, law, tiny = terms
    cell = answers[:, list(held)].astype(np.int64) @ (1 << np.arange(len(held))[::-1])
    n_cells, every = 2 ** len(held), np.arange(len(answers))
    apart = np.zeros((3, n_cells, len(answers)))
    apart[:, cell, every] = moments
    whole = apart.sum(axis=2)
    ones = (apart.reshape(3 * n_cells, -1) @ answers[:, first:]).reshape(3, n_cells, -1)
    sums = np.stack([whole[:, :, None] - ones, ones], axis=2)  # (3, cells, answer to the last test, last tests)
    sums = sums.reshape(3, *(2,) * (len(held) + 1), -1)
    for axis in range(1, len(held) + 2):  # the third place of an axis is the test that is free
        sums = np.concatenate([sums, sums.sum(axis=axis, keepdims=True)], axis=axis)
    w, s, count = sums
    leaf = np.where(count >= least, gains(law, s, w, tiny), -np.inf)
    known = {0: leaf}
    for height in range(1, depth + 1):
        known[height] = leaf.copy()
        # States of fewer free tests come first; a side has one level less.
        for state in sorted(product(range(3), repeat=len(held) + 1), key=lambda one: one.count(2)):
            for axis, answer in enumerate(state):
                if answer == 2:
                    zero, one = (known[height - 1][(*state[:axis], side, *state[axis + 1 :])] for side in (0, 1))
                    np.maximum(known[height][state], zero + one - price, out=known[height][state])
    return known[depth][(2,) * (len(held) + 1)]
