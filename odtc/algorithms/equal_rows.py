"""Rows of equal codes as one kind.

The codes of a row are the digits of one number, as long as it fits into 62 bits; what is more is a second number. The
numbers of a row are mixed into a hash, which is sorted with the place of its row in its low bits, so that rows of one
kind stand together and the first of them before the others. The bits above the place may be too few to tell two kinds
apart: every row is compared with the first of its kind, and those that differ are sorted by themselves.
"""

from collections.abc import Iterable

import numpy as np

NO_RADIX = 2**62
ODD = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93))  # their products spread all bits


def equal_rows(parts: Iterable[tuple[np.ndarray, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of equal codes as one kind, in the order in which they first appear.

    Parameters
    ----------
    parts : iterable of (integers (rows,), int)
        The codes of each column, 0 or more, and a number above them; one column or more. None are asked for once all
        rows are known to differ.

    Returns
    -------
    kind : int64 (rows,)
    first : int64 (kinds,), the first row of each kind
    """
    keys: list[np.ndarray] = []
    below = 1  # a number above those of the last key
    for code, many in parts:
        if keys and below * many < NO_RADIX:
            keys[-1] *= many
            keys[-1] += code
            below *= many
            continue
        if len(keys) == 1 and _all_differ(keys[0]):
            return np.arange(len(code)), np.arange(len(code))
        if len(keys) == 2:  # more than two would take more memory than numbers made afresh
            kind, first = _kinds(keys)
            if len(first) == len(kind):  # all rows differ already
                return kind, first
            keys, below = [kind], len(first)
            if below * many < NO_RADIX:
                keys[0] *= many
                keys[0] += code
                below *= many
                continue
        keys.append(code.astype(np.int64))
        below = many
    return _kinds(keys)


def _all_differ(key: np.ndarray) -> bool:
    ordered = np.sort(key)
    return not (ordered[1:] == ordered[:-1]).any()


def _kinds(keys: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """As `equal_rows`, of int64 keys (rows,)."""
    n = len(keys[0])
    if not n:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    mixed = hashes(keys)
    low = np.uint64(2 ** (n - 1).bit_length() - 1)
    mixed &= ~low
    mixed |= np.arange(n, dtype=np.uint64)
    mixed.sort()
    row = (mixed & low).astype(np.uint32 if n < 2**32 else np.int64)
    mixed &= ~low
    begins = np.empty(n, bool)
    begins[0] = True
    np.not_equal(mixed[1:], mixed[:-1], out=begins[1:])
    del mixed
    leader = row[begins]  # the first row of each kind, in the order of the hash
    kind, first = _in_order(leader, row, begins, n)
    other = np.zeros(n, bool)
    for key in keys:
        other |= key[first][kind] != key
    if not other.any():
        return kind, first
    found = first[kind]
    apart = np.flatnonzero(other)
    ordered = apart[np.lexsort([apart, *(key[apart] for key in keys)])]
    new = np.ones(len(ordered), bool)
    new[1:] = np.any([key[ordered[1:]] != key[ordered[:-1]] for key in keys], axis=0)
    found[ordered] = ordered[new][np.cumsum(new) - 1]
    is_first = found == np.arange(n)
    return (np.cumsum(is_first) - 1)[found], np.flatnonzero(is_first)


def _in_order(leader: np.ndarray, row: np.ndarray, begins: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(kind, first) of rows in the order of their kinds, each of which `begins` with its `leader`."""
    is_first = np.zeros(n, bool)
    is_first[leader] = True
    number = np.cumsum(is_first, dtype=row.dtype)[leader] - row.dtype.type(1)
    place = np.cumsum(begins, dtype=row.dtype)
    place -= row.dtype.type(1)
    kind = np.empty(n, np.int64)
    kind[row] = number[place]
    return kind, np.flatnonzero(is_first)


def hashes(keys: list[np.ndarray]) -> np.ndarray:
    """uint64 (rows,): equal numbers for rows of equal keys, int64 (rows,) each; else mostly different ones."""
    mixed = keys[0].view(np.uint64) * ODD[0]
    for key in keys[1:]:
        mixed ^= key.view(np.uint64)
        mixed ^= mixed >> np.uint64(32)
        mixed *= ODD[0]
    mixed ^= mixed >> np.uint64(32)
    mixed *= ODD[1]
    return mixed
