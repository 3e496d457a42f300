"""`side_gains` of odtc.algorithms.moments.two_levels in numpy."""

import numpy as np

from odtc.algorithms.moments.laws import gains


def side_gains(side, order, rank, moments, wanted, terms, found):
    """Do the same as the kernel."""
    law, tiny, least = terms
    sums = np.stack([moments[order[0, side[order[0]] == k]].sum(axis=0) for k in (0, 1)])
    for g in np.flatnonzero(wanted).tolist():
        for k in (0, 1):
            if not wanted[g] & (1 + k):
                continue
            here = side[order[g]] == k
            ranks = rank[g, here]
            ends = np.flatnonzero(ranks[1:] != ranks[:-1])
            if not len(ends):
                continue
            w, s, count = moments[order[g, here]].T.cumsum(axis=1)[:, ends]
            both = gains(law, s, w, tiny) + gains(law, sums[k, 1] - s, sums[k, 0] - w, tiny)
            found[0, g, k] = both.max()
            found[1, g, k] = both[(count >= least) & (sums[k, 2] - count >= least)].max(initial=-np.inf)
    return sums
