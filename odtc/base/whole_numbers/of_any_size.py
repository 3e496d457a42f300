"""Sums and products of whole numbers of any size: int64 as long as they fit, and Python's whole numbers otherwise."""

from fractions import Fraction

import numpy as np

from odtc.base.whole_numbers import MAX_EXACT, MAX_INT64, sums_of_whole, whole_numbers

POWERS_OF_TEN = 10**22  # float64 holds those up to this one


def next_fraction(value: Fraction, most: int) -> Fraction:
    """Return the least fraction from `value` on whose denominator is at most `most`: it is the neighbour of the nearest
    one in the Farey sequence if that is less."""
    near = value.limit_denominator(most)
    if near >= value:
        return near
    p, q = near.numerator, near.denominator
    first = -pow(p, -1, q) % q  # r q - p s = 1 for the next fraction r / s, with s as large as may be
    s = first + q * ((most - first) // q)
    return Fraction((p * s + 1) // q, s)


def narrowed(values: np.ndarray) -> np.ndarray:
    """Return whole numbers as int64 if sums of them cannot overflow, otherwise as Python's whole numbers."""
    if values.dtype == object:
        return values.astype(np.int64) if sum(map(abs, values.ravel().tolist())) < MAX_INT64 else values
    return values if float(np.abs(values.astype(float)).sum()) < MAX_INT64 / 2 else values.astype(object)


def product(one: np.ndarray, other: np.ndarray | int) -> np.ndarray:
    """Return the elementwise product of whole numbers, exact for any size."""
    other = np.asarray(other)
    largest = [int(np.abs(part).max(initial=0)) for part in (one, other)]
    if largest[0] * largest[1] * max(one.size, other.size) < MAX_INT64 / 2 and max(largest) < MAX_INT64:
        return one.astype(np.int64) * other.astype(np.int64)
    return narrowed(one.astype(object) * other.astype(object))


def nearest_floats(values: np.ndarray, unit: Fraction) -> np.ndarray:
    """Return the floats nearest to whole multiples of a unit."""
    large = int(np.abs(values).max(initial=0)) * unit.numerator >= MAX_EXACT
    if not large and unit.denominator <= POWERS_OF_TEN:  # both are exact, so that the division rounds once
        return (values * unit.numerator).astype(float) / float(unit.denominator)
    each = [value * unit.numerator / unit.denominator for value in values.ravel().tolist()]
    return np.array(each, float).reshape(values.shape)


def summed_weights(place: np.ndarray, weight: np.ndarray, size: int) -> np.ndarray:
    """Return the sums of decimals with the same place, rounded only once: float64 (size,)."""
    found = np.bincount(place, weight, size)
    many = (np.bincount(place, minlength=size) > 1)[place]
    if many.any() and not ((weight == np.rint(weight)).all() and found.sum() < MAX_EXACT):
        whole, unit = whole_numbers(weight[many])
        single, of = np.unique(place[many], return_inverse=True)
        found[single] = nearest_floats(sums_of_whole(of, whole, len(single)), unit)
    return found
