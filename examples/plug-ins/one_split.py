"""The best tree of one branch node: every split is tried at the root."""

import numpy as np

from odtc.extend import blank_arrays, settle

TYPE = "heuristic"
NAME = "one_split"
SUMMARY = "the best tree of one branch node"


def tree(encoded, topology, price: float = 0.0):
    split, _ = blank_arrays(topology)
    X, loss = np.asarray(encoded.X), encoded.loss  # bool (rows, splits); float64 (rows, classes)
    best = loss.sum(axis=0).min() - price
    for j in range(encoded.n_candidate_splits):
        cost = loss[X[:, j]].sum(axis=0).min() + loss[~X[:, j]].sum(axis=0).min()
        if cost < best:
            best, split[1] = cost, j
    return settle(split, encoded)
