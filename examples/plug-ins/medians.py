"""Each numeric column is cut at its median, or at quantiles; one column per level of the others."""

import numpy as np

from odtc.extend import NUMERIC, Threshold, level_splits

TYPE = "encoding"
NAME = "medians"
SUMMARY = "numeric columns cut at their median (medians:parts=4 at quartiles); one column per level of the others"
OPTIONS = {"parts": (int, "parts of about the same number of rows (default 2)")}


def splits(dataset, parts: int = 2):
    found = []
    for place, feature in enumerate(dataset.features):
        if feature.kind != NUMERIC:
            found += level_splits(dataset, place)
            continue
        known = dataset.X[~np.isnan(dataset.X[:, place]), place]
        cuts = np.unique(np.quantile(known, np.arange(1, parts) / parts)) if len(known) else []
        found += [(Threshold(place, float(cut)), False) for cut in cuts]
    return found
