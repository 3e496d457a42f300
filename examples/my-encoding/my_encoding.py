"""Thresholds that a person would say: the midpoints between quarters of the rows, rounded to a few places."""

import numpy as np

from odtc.extend import NUMERIC, Threshold, level_splits

NAME = "cutoffs"
SUMMARY = "quartiles of numeric columns, rounded; one column per level of the others"
OPTIONS = {"places": (int, "decimal places of a threshold (default 1)")}


def splits(dataset, places=1):
    """(split, ones_left) of every split; `ones_left` says whether its 0/1 column is 1 where the split goes left."""
    found = []
    for place, feature in enumerate(dataset.features):
        if feature.kind != NUMERIC:
            found += level_splits(dataset, place)
            continue
        quartiles = np.nanquantile(dataset.X[:, place], (0.25, 0.5, 0.75))
        found += [(Threshold(place, float(cut)), False) for cut in np.unique(np.round(quartiles, places))]
    return found
