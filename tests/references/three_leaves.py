"""The best tree of two splits by numpy: every first split, a leaf on one side, every second split on the other."""

import numpy as np


def two_splits(rank: np.ndarray, loss: np.ndarray, count: np.ndarray, price: float, least: int) -> float:
    """Return the least cost of a tree of at most two splits, for the losses of each row under each label."""

    def leaf(rows: np.ndarray) -> float:
        return loss[rows].sum(axis=0).min() if count[rows].sum() >= least else np.inf

    def halves(rows: np.ndarray):
        for column in rank.T:
            for value in np.unique(column[rows])[:-1]:
                yield rows & (column <= value), rows & (column > value)

    every = np.ones(len(rank), bool)
    best = leaf(every)
    for sides in halves(every):
        leaves = [leaf(side) for side in sides]
        best = min(best, price + sum(leaves))
        for split, other in ((sides[0], leaves[1]), (sides[1], leaves[0])):
            for parts in halves(split) if np.isfinite(other) else ():
                best = min(best, 2 * price + other + sum(map(leaf, parts)))
    return best
