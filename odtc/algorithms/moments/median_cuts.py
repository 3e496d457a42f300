"""The best split for leaves that cost the absolute error around their median, in plain numpy, for all cuts at once.

The rows in the order of a column have ranks of their numbers, and a side of a cut is a range of them. A wavelet matrix
(Claude, Navarro & Ordóñez 2015) stores for each bit of these ranks, the highest first, how many rows with a 0 there
are before each position, and their weight: so the median of each range is found bit by bit, in log n steps for all.
"""

import numpy as np

from odtc.algorithms.moments.exact_costs import ROUND, WHOLE
from odtc.algorithms.weighted_quantiles import ROUNDING, places_of

CELLS = 2**20  # ranks that are stored at once


def rounding(weight: np.ndarray, apart: np.ndarray) -> float:
    """Return a bound on the rounding error of sums over ranges of rows, as differences of sums over all rows, where
    `apart` are numbers less their median: all weights count as far from it as the furthest number, unless sums of
    weights are exact."""
    far, each = np.abs(apart), ROUND * (len(apart) + 4)
    total = float(weight.sum())
    exact = total < WHOLE and (weight == np.rint(weight)).all()
    return each * (float(weight @ far) if exact else total * float(far.max(initial=0.0)))


def gains_of_cuts(code, size, w, y, count, rows, least, price):
    """Yield (first column, columns after it, ranks, float64 gains) of all cuts, some columns at a time."""
    n = len(rows)
    weight = w[rows]
    values = y[rows] - y[rows[places_of(weight, 0.5)]]  # sums around the median are no larger than its cost
    terms = weight, weight * values
    wide = max(1, CELLS // n)
    for first in range(0, len(size), wide):
        codes = code[first : first + wide][:, rows]
        order = np.argsort(codes, axis=1, kind="stable")
        ranks = np.take_along_axis(codes, order, axis=1)
        held = count[rows][order].cumsum(axis=1)
        ends = ranks[:, 1:] != ranks[:, :-1]
        if least > 0.0:
            ends &= (held[:, :-1] >= least) & (held[:, -1:] - held[:, :-1] >= least)
        line, at = np.nonzero(ends)
        if not len(line):
            continue
        tables, none = _tables(order, terms), np.zeros(len(at), int)
        left = _spread(tables, line, none, at + 1, values)
        yield first, line, ranks[line, at], -left - _spread(tables, line, at + 1, none + n, values) - price


def _tables(order, terms):
    """Return, for each bit of the ranks `order`, the highest first, the bit and float64 (3, columns, positions + 1):
    how many rows before each position have a 0 there, their weight, and their weighted numbers. Also return this
    table for all rows."""
    found, line = [], order
    for bit in reversed(range(max(1, int(order.shape[1] - 1).bit_length()))):
        zero = (line >> bit & 1) == 0
        found.append((bit, _upto(line, terms, zero)))
        line = np.take_along_axis(line, np.argsort(~zero, axis=1, kind="stable"), axis=1)
    return found, _upto(order, terms, np.ones(order.shape, bool))


def _upto(line, terms, meant):
    sums = np.zeros((3, len(line), line.shape[1] + 1))
    np.cumsum(meant, axis=1, out=sums[0, :, 1:])
    for table, term in zip(sums[1:], terms):
        np.cumsum(np.where(meant, term[line], 0.0), axis=1, out=table[:, 1:])
    return sums


def _spread(tables, line, begin, end, values):
    """Return the cost, around their median, of the rows from the position `begin` to before `end` of each line."""
    bits, every = tables
    weight, total = every[1:, line, end] - every[1:, line, begin]
    half = 0.5 * weight * (1 - ROUNDING)
    below, told, at = np.zeros(len(line)), np.zeros(len(line)), np.zeros(len(line), int)
    for bit, sums in bits:
        low, high = sums[:, line, begin], sums[:, line, end]
        light, sum_of_light = high[1:] - low[1:]
        above = below + light < half
        below[above] += light[above]
        told[above] += sum_of_light[above]
        at[above] += 1 << bit
        behind = sums[0, line, -1] + begin - low[0], sums[0, line, -1] + end - high[0]
        begin, end = (np.where(above, one, two).astype(int) for one, two in zip(behind, (low[0], high[0])))
    middle = values[at.clip(max=len(values) - 1)]
    cost = middle * below - told + (total - told) - middle * (weight - below)
    return np.where(weight > 0.0, cost, 0.0).clip(min=0.0)
