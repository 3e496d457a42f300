"""The thresholds that CART uses on random parts of the rows: few columns for data with many different numbers.

Firat et al. (2020), section 5, sample thresholds in this way, per node of the tree; an encoding contains the thresholds
of all nodes together, and any formulation can use it. The first sample is all rows, so that CART's own splits are
included.
"""

import numpy as np

from odtc.data.binary_splits.column_splits import level_splits, midpoints
from odtc.data.dataset import NUMERIC
from odtc.data.splits import Missing, Threshold

NAME = "sampled"
SUMMARY = "the thresholds of CART trees on 90 % samples of the rows, one-hot for columns that are not numeric"
OPTIONS = {
    "depth": (int, "of the trees (by default 4)"),
    "samples": (int, "how many trees (by default 50)"),
    "seed": (int, "of the samples"),
}
PORTION = 0.9  # of the rows in each sample but the first


def splits(dataset, depth=4, samples=50, seed=0):
    """Return (Threshold, False) in rising order, feature by feature; (Missing, True) if cells are missing, and the
    splits of `onehot` for columns that are not numeric."""
    from sklearn.tree import DecisionTreeClassifier

    rng, columns, values = np.random.default_rng(seed), [], {}
    for place, feature in enumerate(dataset.features):
        if feature.kind == NUMERIC:
            # Ranks say the same as numbers, are exact in single precision, and put a missing cell to the right.
            found, rank = np.unique(dataset.X[:, place], return_inverse=True)
            values[place] = found[: np.isfinite(found).sum()]
            columns.append((place, rank))
        else:
            columns += [(place, split.left(dataset.X)) for split, _ in level_splits(dataset, place)]
    cuts = {place: set() for place in values}
    if columns and (dataset.weight > 0).any():
        X = np.column_stack([column for _, column in columns]).astype(np.float32)
        used = np.flatnonzero(dataset.weight > 0)
        for sample in range(max(1, samples)):
            rows = used if sample == 0 else rng.choice(used, max(1, int(PORTION * len(used))), replace=False)
            model = DecisionTreeClassifier(max_depth=depth, random_state=sample)
            model.fit(X[rows], dataset.y[rows], sample_weight=dataset.weight[rows])
            for column, threshold in zip(model.tree_.feature.tolist(), model.tree_.threshold.tolist()):
                place = columns[column][0] if column >= 0 else None
                if place in cuts and threshold < len(values[place]) - 1:
                    cuts[place].add(int(threshold))
    found = []
    for place in range(len(dataset.features)):
        if place not in values:
            found += level_splits(dataset, place)
            continue
        middles = midpoints(values[place])
        found += [(Threshold(place, float(middles[cut])), False) for cut in sorted(cuts[place])]
        found += [(Missing(place), True)] if np.isnan(dataset.X[:, place]).any() else []
    return found
