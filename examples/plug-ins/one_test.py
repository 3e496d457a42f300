"""The best tree of one branch node: every test is tried at the root."""

import numpy as np

from odtc.extend import blank_arrays, settle

KIND = "heuristic"
NAME = "one_test"
SUMMARY = "the best tree of one branch node"


def tree(encoded, topology, price: float = 0.0):
    test, _ = blank_arrays(topology)
    X, loss = np.asarray(encoded.X), encoded.loss  # bool (rows, tests); float64 (rows, classes)
    best = loss.sum(axis=0).min() - price
    for j in range(encoded.n_candidate_splits):
        cost = loss[X[:, j]].sum(axis=0).min() + loss[~X[:, j]].sum(axis=0).min()
        if cost < best:
            best, test[1] = cost, j
    return settle(test, encoded)
