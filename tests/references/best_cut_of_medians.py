"""`best_cut` of odtc.algorithms.moments.medians in numpy."""

import numpy as np

from odtc.algorithms.moments.median_cuts import _spread, _tables, gains_of_cuts
from odtc.algorithms.weighted_quantiles import ROUNDING


def best_cut(code, size, w, y, count, rows, least, price):
    """Return (gain, column, cut) of the best split, the same as odtc.algorithms.moments.medians.best_cut."""
    n = len(rows)
    weight, values = w[rows], y[rows] - y[rows[n // 2]]
    terms = weight, weight * values
    every = _tables(np.arange(n)[None], terms)
    leaf = float(_spread(every, np.zeros(1, int), np.zeros(1, int), np.full(1, n), values)[0])
    best, column, cut = -leaf, -1, -1
    for first, line, ranks, gains in gains_of_cuts(code, size, w, y, count, rows, least, price):
        place = int((gains >= gains.max() - ROUNDING * leaf).argmax())
        if gains[place] > best + ROUNDING * leaf:
            best, column, cut = float(gains[place]), first + int(line[place]), int(ranks[place])
    return best, column, cut
