"""`best_cut` of odtc.algorithms.moments.medians in numpy, cut by cut."""

import numpy as np

from odtc.algorithms.weighted_quantiles import ROUNDING


def spread(weight, values):
    """Return the cost of some rows around their median."""
    return (weight * np.abs(values - values[:, None])).sum(axis=1).min(initial=np.inf) if weight.any() else 0.0


def costs_of_cuts(code, size, w, y, count, rows, limits):
    """Return float64 (columns, ranks): the cost of both leaves of each cut, infinite if it is not within the limits."""
    least, most = limits
    found = np.full((len(size), int(size.max())), np.inf)
    for column, ranks in enumerate(code[:, rows]):
        for cut in np.unique(ranks)[:-1]:
            sides = [rows[ranks <= cut], rows[ranks > cut]]
            if min(count[side].sum() for side in sides) >= least:
                found[column, cut] = sum(spread(w[side], y[side]) for side in sides)
    return np.where(found < most, found, np.inf)


def best_cut(*given):
    """Return (cost, column, cut) of the best split, the same as odtc.algorithms.moments.medians.best_cut."""
    _, _, w, y, _, rows, (_, most) = given
    near, best, column, cut = ROUNDING * spread(w[rows], y[rows]), np.inf, -1, -1
    for at, line in enumerate(costs_of_cuts(*given)):
        place = int((line <= line.min() + near).argmax())
        if line[place] < min(best, most) - near:
            best, column, cut = float(line[place]), at, place
    return best, column, cut
