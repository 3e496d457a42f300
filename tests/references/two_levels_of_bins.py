"""The best tree of two levels over bins in numpy: `odtc.algorithms.bins.three_levels` finds it below each cut."""

import numpy as np


def two_levels(code, n_bins, cuts, n_cuts, members, label, gain, most, n_labels, whole, price):
    """Return the least cost of a tree of at most two levels of cuts; the arguments are those of `three_levels`, without
    the first cuts."""
    own, label, gain, most = code[:, members].astype(np.int64), label[members], gain[members], most[members]
    sums = [(gain * (label == k)) for k in range(n_labels)] + ([] if whole else [most])

    def table(bins, size):
        """Return sums over the first bins, (…, sums), with a line of zeros before."""
        found = np.stack([np.bincount(bins, one, int(np.prod(size))).reshape(size) for one in sums], axis=-1)
        for axis in range(len(size)):
            found = np.cumsum(found, axis=axis)
        return np.pad(np.rint(found).astype(np.int64), [(1, 0)] * len(size) + [(0, 0)])

    def leaf(saved):
        """Return the costs of leaves with these savings by label, (…, sums)."""
        if whole:
            return saved.sum(axis=-1) - saved.max(axis=-1)
        return saved[..., -1] - saved[..., :-1].max(axis=-1)

    lines = [table(own[c], (int(n_bins[c]),)) for c in range(len(code))]
    best = int(leaf(lines[0][-1]))
    if best <= price:
        return best
    cuts = [own[:, :m] for own, m in zip(cuts, n_cuts)]
    left, right = [], []
    for line, (a, b) in zip(lines, cuts):
        last = line[-1]
        d, e = a[None], b[None]
        a, b = a[:, None], b[:, None]
        one = leaf(line[np.minimum(d, a)]) + leaf(line[a] - line[np.minimum(e, a)])
        two = leaf(line[np.maximum(d, b)] - line[b]) + leaf(last - line[np.maximum(e, b)])
        left.append(np.minimum(leaf(line[a[:, 0]]), price + one.min(axis=1, initial=2**60)))
        right.append(np.minimum(leaf(last - line[b[:, 0]]), price + two.min(axis=1, initial=2**60)))
    for c in range(len(code)):
        for d in range(c + 1, len(code)):
            if not (n_cuts[c] and n_cuts[d]):
                continue
            size = int(n_bins[c]), int(n_bins[d])
            found = table(own[c] * size[1] + own[d], size)
            (a0, a1), (b0, b1) = (one[:, None] for one in cuts[c]), cuts[d]
            low, high = found[a0, b0], found[a1, b0]
            low_right, high_right = found[a0, b1], found[a1, b1]
            before, after = found[a0[:, 0], size[1]][:, None], found[a1[:, 0], size[1]][:, None]
            top, top_right, all_of = found[size[0], b0][None], found[size[0], b1][None], found[-1, -1]
            one, two = leaf(low), leaf(before - low_right)
            three = leaf(top - high)
            four = leaf(all_of - after - top_right + high_right)
            left[c] = np.minimum(left[c], price + (one + two).min(axis=1))
            right[c] = np.minimum(right[c], price + (three + four).min(axis=1))
            left[d] = np.minimum(left[d], price + (one + three).min(axis=0))
            right[d] = np.minimum(right[d], price + (two + four).min(axis=0))
    paid = [int((one + two).min(initial=2**60)) for one, two in zip(left, right)]
    return min(best, price + min(paid))
