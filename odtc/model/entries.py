"""Entries of some lines of a matrix, columns or rows: enough to write a file without scipy, whose import takes longer
than writing a small model."""

from typing import Any

import numpy as np

from odtc.base.value_class import value_class


@value_class
class Entries:
    """Line j has the entries starts[j] to starts[j + 1], by rising place.

    Attributes
    ----------
    data : float64 (entries,)
    indices : int32 (entries,), their places across the lines
    indptr : int32 (lines + 1,), the starts
    across : int, above all places
    by_rows : bool, whether the lines are rows
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    across: int
    by_rows: bool

    @property
    def nnz(self) -> int:
        return len(self.data)

    def sparse(self) -> Any:
        """The lines as a csr_array of scipy.sparse, or, of columns, a csc_array."""
        import scipy.sparse as sp

        lines = len(self.indptr) - 1
        made, shape = (sp.csr_array, (lines, self.across)) if self.by_rows else (sp.csc_array, (self.across, lines))
        return made((self.data, self.indices, self.indptr), shape)


def sorted_entries(
    line: np.ndarray, place: np.ndarray, data: np.ndarray, size: tuple[int, int], by_rows: bool
) -> Entries:
    """Entries in any order, none of them twice; `size` is (lines, across)."""
    lines, across = size
    indptr = np.zeros(lines + 1, np.int32)
    np.cumsum(np.bincount(line, minlength=lines), out=indptr[1:])
    key: np.ndarray = line.astype(np.uint32 if lines * across < 2**32 else np.int64)
    np.multiply(key, across, out=key, casting="unsafe")
    np.add(key, place, out=key, casting="unsafe")
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key)
        del key
        place = place[order]
        data = data[order]
    return Entries(np.ascontiguousarray(data), place.astype(np.int32, copy=False), indptr, across, by_rows)
