"""The judge: the cheapest tree by trying every one. Plain Python, apart from all code it judges."""

import numpy as np


def cheapest(X, y, weight, depth: int, price: float = 0.0, share: float = 1.0, copies=None, least: int = 0) -> float:
    """min share · (weight of errors) + price · (branch nodes) over all trees of this depth at most
    that ask the 0/1 columns of X, and whose leaves stand for no row of the data or for `least`."""
    n_classes = int(y.max()) + 1

    def best(rows, depth):
        weights = [float(weight[rows & (y == k)].sum()) for k in range(n_classes)]
        cost = share * (sum(weights) - max(weights))
        if least and 0 < copies[rows].sum() < least:
            return float("inf")
        if depth == 0:
            return cost
        for test in range(X.shape[1]):
            ones = rows & X[:, test]
            zeros = rows & ~X[:, test]
            cost = min(cost, price + best(ones, depth - 1) + best(zeros, depth - 1))
        return cost

    return best(np.ones(len(y), bool), depth)
