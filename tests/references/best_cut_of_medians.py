"""`best_cut` of odtc.algorithms.moments.medians in numpy, cut by cut."""

import numpy as np

from odtc.algorithms.weighted_quantiles import ROUNDING


def spread(weight, values):
    """Return the cost of some rows around their median."""
    return (weight * np.abs(values - values[:, None])).sum(axis=1).min(initial=np.inf) if weight.any() else 0.0


def gains_of_cuts(code, size, w, y, count, rows, terms):
    """Return float64 (columns, ranks): the gain of each cut, -inf if it is not allowed."""
    least, price = terms
    found = np.full((len(size), int(size.max())), -np.inf)
    for column, ranks in enumerate(code[:, rows]):
        for cut in np.unique(ranks)[:-1]:
            sides = [rows[ranks <= cut], rows[ranks > cut]]
            if min(count[side].sum() for side in sides) >= least:
                found[column, cut] = -sum(spread(w[side], y[side]) for side in sides) - price
    return found


def best_cut(*given):
    """Return (gain, column, cut) of the best split, the same as odtc.algorithms.moments.medians.best_cut."""
    _, _, w, y, _, rows, _ = given
    leaf, gains = spread(w[rows], y[rows]), gains_of_cuts(*given)
    best, column, cut = -leaf, -1, -1
    for at, line in enumerate(gains):
        place = int((line >= line.max() - ROUNDING * leaf).argmax())
        if line[place] > best + ROUNDING * leaf:
            best, column, cut = float(line[place]), at, place
    return best, column, cut
