"""Gains of trees of two or three levels on either side of each cut, over all trees with few cuts; plain loops for
numba.

The sums of whole numbers of the rows for which one, two, three or four splits are true are counted first, for all such
sets. The sums for false splits follow by subtraction, one split after the other. The leaves of a tree of four levels
are parts that four splits make, and two leaves that one split separates are a division of the part that the other
three make. Parts of splits a > b > c are numbered by bits, 1 if a is true, 2 if b is, and 4 if c is. Nothing of the
search is used.
"""

import math

import numpy as np

from odtc.base import deadline
from odtc.base.deadline import KERNEL_STEPS
from odtc.base.kernels import kernel
from odtc.verification.leaf_sums.two_levels import CHEAPEST, part_gain  # noqa: F401

MAX_SETS_OF_FOUR = 5_000_000  # maximum number of sets of four splits


def start(number, last):
    """Return the position of the sets of `number` splits whose greatest is `last`, among all sets in the order of the
    greatest, the next and so on."""
    found = 1
    for k in range(number):
        found = found * (last - k) // (k + 1)
    return found


@kernel
def count_sets(true, begin, span, moments, sums):
    """Add rows to the sums of the sets of splits that are true for them.

    Parameters
    ----------
    true, begin : int64, the true splits of each row, rising, and where those of a row begin
    span : two integers, the rows from the first to before the second
    moments : int64 (2, rows)
    sums : four arrays, int64 (2, sets) of one, two, three and four splits; the last is empty if no set of four counts
    """
    for row in range(span[0], span[1]):
        own = true[begin[row] : begin[row + 1]]
        for k in range(2):
            told = moments[k, row]
            if told == 0:
                continue
            one, two, three, four = sums[0][k], sums[1][k], sums[2][k], sums[3][k]
            deep = len(four) > 0
            for a in range(len(own)):
                one[own[a]] += told
                to_two, to_three, to_four = start(2, own[a]), start(3, own[a]), start(4, own[a])
                for b in range(a):
                    two[to_two + own[b]] += told
                    of_two, of_three = to_three + start(2, own[b]), to_four + start(3, own[b])
                    for c in range(b):
                        three[of_two + own[c]] += told
                        last = of_three + start(2, own[c])
                        for d in own[: c if deep else 0]:
                            four[last + d] += told


def fill(sums, every, tests, part):
    """Write the sums of the eight parts that three splits a > b > c make into `part`, int64 (2, 8)."""
    a, b, c = tests
    ab, ac, bc = a * (a - 1) // 2 + b, a * (a - 1) // 2 + c, b * (b - 1) // 2 + c
    abc = a * (a - 1) * (a - 2) // 6 + bc
    for k in range(2):
        part[k, 0], part[k, 1], part[k, 2], part[k, 4] = every[k], sums[0][k, a], sums[0][k, b], sums[0][k, c]
        part[k, 3], part[k, 5], part[k, 6], part[k, 7] = sums[1][k, ab], sums[1][k, ac], sums[1][k, bc], sums[2][k, abc]
        for r in range(3):  # where split r is false, by subtraction
            for j in range(8):
                if not j >> r & 1:
                    part[k, j] -= part[k, j | 1 << r]


@kernel
def split_parts(sums, every, a, laws, best):
    """Enter all sets a > b > c > d into `best`, float64 (2, 8, sets of three): the gain of each part of three splits
    as one leaf, and the largest gain of the two leaves that a fourth split makes of it.

    Parameters
    ----------
    sums : as in `count_sets`
    every : int64 (2,), the sums of all rows
    a : int
    laws : (int, float), of `part_gain`
    """
    law, unit = laws
    part, told = np.empty((2, 8), np.int64), np.empty((2, 8, a), np.int64)
    gained, to = np.empty((2, 8, a)), np.empty(3, np.int64)
    for b in range(a):
        for c in range(b):
            bc = start(2, b) + c
            abc = start(3, a) + bc
            to[0], to[1], to[2] = start(3, b) + start(2, c), start(3, a) + start(2, c), start(3, a) + start(2, b)
            last = start(4, a) + start(3, b) + start(2, c)
            fill(sums, every, (a, b, c), part)
            for k in range(2):
                one, two, three, four = sums[0][k], sums[1][k], sums[2][k], sums[3][k]
                told[k, 0, :c], told[k, 7, :c] = one[:c], four[last : last + c]
                told[k, 1, :c] = two[start(2, a) : start(2, a) + c]
                told[k, 2, :c] = two[start(2, b) : start(2, b) + c]
                told[k, 4, :c] = two[start(2, c) : start(2, c) + c]
                for r in range(3):
                    told[k, 7 - (1 << r), :c] = three[to[r] : to[r] + c]
                for r in range(3):  # where split r is false, by subtraction
                    for j in range(8):
                        if not j >> r & 1:
                            for d in range(c):
                                told[k, j, d] -= told[k, j | 1 << r, d]
            for j in range(8):
                best[0, j, abc] = part_gain(law, unit, part[0, j], part[1, j])
                most = best[1, j, abc]
                for d in range(c):
                    x, y = told[0, j, d], told[1, j, d]
                    gained[1, j, d] = part_gain(law, unit, x, y)
                    gained[0, j, d] = part_gain(law, unit, part[0, j] - x, part[1, j] - y)
                    most = max(most, gained[0, j, d] + gained[1, j, d])
                best[1, j, abc] = most
            for side in range(2):
                for r in range(3):
                    for j in range(8):
                        if not j >> r & 1:  # two leaves that split r makes of a part of d and the other two
                            split = best[1, without(j, r) + 4 * side]
                            for d in range(c):
                                both = gained[side, j, d] + gained[side, j | 1 << r, d]
                                split[to[r] + d] = max(split[to[r] + d], both)


def without(part, r):
    """Return the number of a part without the bit of split r."""
    return (part & ((1 << r) - 1)) | (part >> (r + 1) << r)


@kernel
def join_parts(sums, every, laws, price, best):
    """Return float64 (tests, 2): the gain of the best tree of three levels where a split is false, and where it is
    true."""
    many = sums[0].shape[1]
    pairs, at, gained = np.full((4, sums[1].shape[1]), -np.inf), 0, np.empty(8)
    for a in range(many):
        for b in range(a):
            for c in range(b):
                for j in range(8):
                    gained[j] = max(best[0, j, at], best[1, j, at] - price)
                take(gained, (a, b, c), pairs)
                at += 1
    return join_pairs(sums, every, laws, price, pairs)


@kernel
def join_leaves(sums, every, laws, price):
    """Return the same for the best tree of two levels."""
    law, unit = laws
    pairs, part, gained = np.full((4, sums[1].shape[1]), -np.inf), np.empty((2, 8), np.int64), np.empty(8)
    for a in range(sums[0].shape[1]):
        for b in range(a):
            for c in range(b):
                fill(sums, every, (a, b, c), part)
                for j in range(8):
                    gained[j] = part_gain(law, unit, part[0, j], part[1, j])
                take(gained, (a, b, c), pairs)
    return join_pairs(sums, every, laws, price, pairs)


def take(gained, tests, pairs):
    """Enter the gains of the parts of three splits a > b > c into `pairs`, float64 (4, pairs of tests): the largest
    gain of the parts of two with a third split."""
    a, b, c = tests
    bc, ac, ab = b * (b - 1) // 2 + c, a * (a - 1) // 2 + c, a * (a - 1) // 2 + b
    for j in range(4):
        pairs[j, bc] = max(pairs[j, bc], gained[2 * j] + gained[2 * j + 1])
        up = (j & 1) + 4 * (j >> 1)
        pairs[j, ac] = max(pairs[j, ac], gained[up] + gained[up + 2])
        pairs[j, ab] = max(pairs[j, ab], gained[j] + gained[j + 4])


def join_pairs(sums, every, laws, price, pairs):
    """Return the gains of trees on either side of each split, from the gains below two splits and one more (`take`)."""
    law, unit = laws
    many = sums[0].shape[1]
    found, part = np.full((many, 2), -np.inf), np.empty((2, 4), np.int64)
    for a in range(many):
        for b in range(a):
            pair = start(2, a) + b
            for k in range(2):
                both = sums[1][k, pair]
                part[k, 3], part[k, 1], part[k, 2] = both, sums[0][k, a] - both, sums[0][k, b] - both
                part[k, 0] = every[k] - part[k, 1] - part[k, 2] - both
            for j in range(4):
                leaf = part_gain(law, unit, part[0, j], part[1, j])
                pairs[j, pair] = max(leaf, pairs[j, pair] - price)
            for side in range(2):
                found[a, side] = max(found[a, side], pairs[side, pair] + pairs[side + 2, pair])
                found[b, side] = max(found[b, side], pairs[2 * side, pair] + pairs[2 * side + 1, pair])
    for a in range(many):
        for side in range(2):
            x, y = sums[0][0, a], sums[0][1, a]
            if side == 0:
                x, y = every[0] - x, every[1] - y
            found[a, side] = max(part_gain(law, unit, x, y), found[a, side] - price)
    return found


def side_gains(true: np.ndarray, moments: np.ndarray, laws: tuple, price: float, levels: int) -> np.ndarray | None:
    """Return float64 (tests, 2): the gain of the best tree of two or three levels where each split is false, and where
    it is true.

    Parameters
    ----------
    true : bool (tests, rows)
    moments : int64 (2, rows)
    laws : (int, float), of `part_gain`
    price : float, of a branch node
    levels : 2 or 3

    Returns
    -------
    None if there are too many splits for tables of all their sets, or fewer than levels + 1.
    """
    many = len(true)
    if not 0 < math.comb(many, levels + 1) <= MAX_SETS_OF_FOUR:
        return None
    # The side with fewer rows is counted as true.
    turned = 2 * true.sum(axis=1) > true.shape[1]
    own = true != turned[:, None]
    each = own.sum(axis=0)
    begin, at = np.concatenate([[0], np.cumsum(each)]), 0
    work = np.cumsum(each.astype(float) ** (levels + 1) / math.factorial(levels + 1) + 1)
    sets = [math.comb(many, k) if k <= levels + 1 else 0 for k in (1, 2, 3, 4)]
    sums, rows = tuple(np.zeros((2, number), np.int64) for number in sets), np.nonzero(own.T)[1]
    moments, every = np.ascontiguousarray(moments), moments.sum(axis=1)
    while at < len(each):
        deadline.check()
        to = max(at + 1, int(np.searchsorted(work, (work[at - 1] if at else 0.0) + KERNEL_STEPS)))
        count_sets(rows, begin, np.array([at, min(to, len(each))]), moments, sums)
        at = to
    if levels == 2:
        found = join_leaves(sums, every, laws, price)
    else:
        best = np.full((2, 8, math.comb(many, 3)), -np.inf)
        for a in range(many):
            deadline.check()
            split_parts(sums, every, a, laws, best)
        found = join_parts(sums, every, laws, price, best)
    return np.where(turned[:, None], found[:, ::-1], found)


def least_sides(true: np.ndarray, loss: np.ndarray, price: float) -> np.ndarray:
    """Return float64 (tests, 2): the cost of the best tree of two levels where each split is false, and where it is
    true.

    Parameters
    ----------
    true : bool (tests, rows)
        At least three tests, with at most MAX_SETS_OF_FOUR sets of three.
    loss : float of whole numbers (rows, two or three labels)
    price : float, of a branch node
    """
    labels = loss.shape[1]
    dearer = np.zeros((2, len(loss)), np.int64)  # with two labels a third one saves nothing compared with the first
    dearer[: labels - 1] = (loss[:, :1] - loss[:, 1:]).T
    gains = side_gains(true, dearer, (CHEAPEST, 0.0), price, 2)
    assert gains is not None
    first = loss[:, 0].astype(float)
    held = true @ first
    return np.stack([first.sum() - held, held], axis=1) - gains
