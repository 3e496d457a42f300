"""Groups of rows with equal codes.

The codes of a row are the digits of one number, as long as it fits into 62 bits; further codes make a second number.
The numbers of a row are mixed into a hash, which is sorted with the index of its row in its low bits, so that the rows
of one group follow each other, the first row of the group first. The bits above the index may be too few to
distinguish two groups, so every row is compared with the first of its group, and those that differ are sorted
separately.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from odtc.base.whole_numbers import MAX_INT64

ROWS_AT_ONCE = 2**15  # rows that are processed together while they are in the cache
ODD = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93))  # their products spread all bits


class Looked:
    """Entries of a table for the codes of the rows, looked up for some rows at a time."""

    def __init__(self, table: np.ndarray, code: np.ndarray):
        self.table, self.code = table, code

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self.table.take(self.code[rows], mode="clip")


def equal_rows(parts: Iterable[tuple[np.ndarray | Looked, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Group the rows with equal codes, in the order in which the groups first appear.

    Parameters
    ----------
    parts : iterable of (integers (rows,) or Looked, int)
        The codes of each column, 0 or more, and a number above them; one column or more. No more columns are read
        once all rows are known to differ.

    Returns
    -------
    kind : int64 (rows,), the group of each row
    first : int64 (kinds,), the first row of each group
    """
    keys: list[np.ndarray] = []
    below = 1  # exceeds all numbers of the last key
    for code, many in parts:
        if keys and below * many < MAX_INT64:
            _append(keys[-1], code, many)
            below *= many
            continue
        if len(keys) == 1 and _all_differ(keys[0]):
            return np.arange(len(code)), np.arange(len(code))
        if len(keys) == 2:  # more than two would take more memory than new numbers
            kind, first = _kinds(keys)
            if len(first) == len(kind):  # all rows differ already
                return kind, first
            keys, below = [kind], len(first)
            if below * many < MAX_INT64:
                _append(keys[0], code, many)
                below *= many
                continue
        keys.append(np.empty(len(code), np.int64))
        for rows in _blocks(len(code)):
            keys[-1][rows] = code[rows]
        below = many
    return _kinds(keys)


def _append(key: np.ndarray, code: np.ndarray | Looked, many: int) -> None:
    """Make the codes, below `many`, the last digit of the numbers of a key."""
    for rows in _blocks(len(key)):
        numbers = key[rows]
        numbers *= many
        numbers += code[rows]


def _blocks(n: int) -> Iterator[slice]:
    """Return slices of n rows, some rows at a time, so that the temporary arrays of each stay in the cache."""
    return (slice(begin, min(n, begin + ROWS_AT_ONCE)) for begin in range(0, n, ROWS_AT_ONCE))


def _all_differ(key: np.ndarray) -> bool:
    for some in (key[:ROWS_AT_ONCE], key):  # most often the first rows have two equal ones
        ordered = np.sort(some)
        if (ordered[1:] == ordered[:-1]).any():
            return False
    return True


def _kinds(keys: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Do the same as `equal_rows`, for int64 keys (rows,)."""
    n = len(keys[0])
    if not n:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    mixed = hashes(keys)
    low = np.uint64(2 ** (n - 1).bit_length() - 1)
    for rows in _blocks(n):
        numbers = mixed[rows]
        numbers &= ~low
        numbers |= np.arange(rows.start, rows.stop, dtype=np.uint64)
    mixed.sort()
    row = np.empty(n, np.uint32 if n < 2**32 else np.int64)
    for rows in _blocks(n):
        row[rows] = mixed[rows] & low
        mixed[rows] &= ~low
    begins = np.empty(n, bool)
    begins[0] = True
    np.not_equal(mixed[1:], mixed[:-1], out=begins[1:])
    del mixed
    leader = row[begins]  # the first row of each kind, in the order of the hash
    kind, first = _in_order(leader, row, begins, n)
    other = np.zeros(n, bool)
    for key in keys:
        of_kind = key[first]
        for rows in _blocks(n):
            other[rows] |= of_kind.take(kind[rows], mode="clip") != key[rows]
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
    """Return (kind, first) of rows in the order of their groups, each of which `begins` with its `leader`."""
    is_first = np.zeros(n, bool)
    is_first[leader] = True
    number = np.cumsum(is_first, dtype=row.dtype)[leader] - row.dtype.type(1)
    place = np.cumsum(begins, dtype=row.dtype)
    place -= row.dtype.type(1)
    kind = np.empty(n, np.int64)
    for rows in _blocks(n):
        kind[row[rows]] = number.take(place[rows], mode="clip")
    return kind, np.flatnonzero(is_first)


def distinct_values(values: np.ndarray) -> np.ndarray:
    """Return the different values of an array in rising order; none may be NaN. numpy.unique loads masked arrays (0.02
    CPU s), and takes ten times as long for whole numbers."""
    ordered = np.sort(values, axis=None)
    begins = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return ordered[begins]


def hashes(keys: list[np.ndarray]) -> np.ndarray:
    """Return uint64 (rows,): equal numbers for rows of equal keys, int64 (rows,) each; otherwise mostly different
    ones."""
    found = np.empty(len(keys[0]), np.uint64)
    for rows in _blocks(len(found)):
        mixed = np.multiply(keys[0][rows].view(np.uint64), ODD[0], out=found[rows])
        for key in keys[1:]:
            mixed ^= key[rows].view(np.uint64)
            mixed ^= mixed >> np.uint64(32)
            mixed *= ODD[0]
        mixed ^= mixed >> np.uint64(32)
        mixed *= ODD[1]
    return found
