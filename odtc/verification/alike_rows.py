"""Grouping of equal rows for the checkers: compare one number computed from each row first, then the cells.

Sorting whole rows takes most of the time of a check of many rows; sorting one number per row is fast. Rows with the
same number are compared cell by cell, so a coincidence, or a forger who gives two rows the same number, only costs
time.
"""

import numpy as np

from odtc.base.deadline import BLOCK_CELLS

ODD = np.uint64(0x9E3779B97F4A7C15)


def alike_rows(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group equal rows.

    Parameters
    ----------
    table : integers (rows, columns)

    Returns
    -------
    kind : int64 (rows,)
    first : int64 (kinds,), the first row of each kind
    """
    rows, columns = table.shape
    mixed = np.zeros(rows, np.uint64)
    for column in table.T:
        mixed ^= column.astype(np.uint64)
        mixed *= ODD
        mixed ^= mixed >> np.uint64(32)
    order = np.argsort(mixed, kind="stable")
    begins = np.ones(rows, bool)
    begins[1:] = mixed[order[1:]] != mixed[order[:-1]]
    step = max(1, BLOCK_CELLS // max(1, columns))
    for at in range(1, rows, step):
        here = slice(at, at + step)
        differ = (table[order[here]] != table[order[at - 1 : min(rows, at + step) - 1]]).any(axis=1)
        if (differ & ~begins[here]).any():
            _, first, kind = np.unique(table, axis=0, return_index=True, return_inverse=True)
            return kind.reshape(-1), first
    kind = np.empty(rows, np.int64)
    kind[order] = np.cumsum(begins) - 1
    return kind, order[begins]
