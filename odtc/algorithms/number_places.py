"""Lookup of the cells of a column among a few different numbers, by a table in which no two numbers share a slot.

    slot(x) = (m · bits(x) mod 2^64) >> (64 - k)

A multiplier m is drawn until the slots of n numbers differ; with 2^k ≥ n² / 5 about one in twelve works. (A hash
function without collisions, by trial: Fredman, Komlós, Szemerédi, Storing a sparse table with O(1) worst case access
time, 1984.) The table is built again for each frame of a column, because that is cheaper than keeping one for each of
many columns.
"""

import numpy as np

MAX_NUMBERS = 2048  # numbers: the table has then 2^20 slots
LEAST_CELLS = 2**13  # with fewer to look up, the table is not worth it
MAX_MULTIPLIERS = 100  # random multipliers for a table without collisions


class NumberPlaces:
    """The positions of cells among different numbers."""

    def __init__(self, numbers: np.ndarray, multiplier: np.uint64, shift: np.uint64):
        """Set the table: `numbers` are results of `bits_of`, all different; multiplier and shift give each a slot of
        its own."""
        self._bits, self._multiplier, self._shift = numbers, multiplier, shift

    @classmethod
    def of(cls, numbers: np.ndarray) -> "NumberPlaces | None":
        """Return the table of different numbers, results of `bits_of`; None for none, for too many, or if no
        multiplier was found."""
        if not 0 < len(numbers) <= MAX_NUMBERS:
            return None
        n = len(numbers)
        shift = np.uint64(64 - max(n.bit_length(), (n * n // 5).bit_length()))
        random = np.random.default_rng(0)  # any multipliers work: the codes do not depend on them
        for multiplier in random.integers(0, 2**64, MAX_MULTIPLIERS, dtype=np.uint64) | np.uint64(1):
            if len(np.unique((numbers * multiplier) >> shift)) == n:
                return cls(numbers, multiplier, shift)
        return None

    def codes(self, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return one more than the position of each cell, a result of `bits_of`.

        Returns
        -------
        code : unsigned integers (cells,), of as few bytes as the positions need; 0 for a cell that is not among them
        absent : bool (cells,), which these are; None if there are none
        """
        table = np.zeros(2 ** int(64 - self._shift), np.min_scalar_type(len(self._bits)))
        table[(self._bits * self._multiplier) >> self._shift] = np.arange(1, len(self._bits) + 1)
        slots = cells * self._multiplier
        slots >>= self._shift
        code = table.take(slots.view(np.int64), mode="clip")
        # An empty slot has the code 0, whose number here is the first one: no cell in an empty slot is that.
        found = np.append(self._bits[:1], self._bits).take(code, mode="clip")
        absent = found != cells
        if not absent.any():
            return code, None
        code[absent] = 0
        return code, absent


def bits_of(cells: np.ndarray) -> np.ndarray:
    """Return uint64 (cells,): integers and floating-point numbers, none of them NaN, as bits that differ if the
    numbers do; 0 and -0 are one."""
    if cells.dtype.kind == "f":
        return (cells.astype(np.float64, copy=False) + 0.0).view(np.uint64)
    return cells.astype(np.int64 if cells.dtype.kind == "i" else np.uint64).view(np.uint64)
