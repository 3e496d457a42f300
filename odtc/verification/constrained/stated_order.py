"""Constraints monotone[COLUMN,positive=CLASS] of a certificate: which rows must be predicted the class if others are.

If no split of another column separates two rows, and the one with the smaller number in COLUMN is predicted CLASS, the
other one must be, too. A split of COLUMN that represents a split of another column (its "same" and "complement")
counts as one of that other column. Rows without a number in COLUMN are not compared with any row. It is enough to
compare neighbours:

    [row i is predicted CLASS] ≤ [row j is predicted CLASS]        of rows alike otherwise, x_i < x_j, none between.
"""

from collections.abc import Sequence

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError


@value_class
class Order:
    """A column by which a class rises."""

    column: str
    klass: int


def read_order(text: str, args: Sequence[str], dataset: Dataset) -> Order:
    """Return the column and the class of a constraint; raises CertificateError if it names none of the data."""
    key, _, name = args[1].partition("=") if len(args) == 2 else ("", "", "")
    if key.strip() != "positive":
        raise CertificateError(f"the certificate states {text!r}, which is not monotone[COLUMN,positive=CLASS]")
    if name.strip() not in dataset.classes or args[0] not in [feature.name for feature in dataset.features]:
        raise CertificateError(f"the certificate states {text!r}, which does not name a column or a class of the data")
    return Order(args[0], dataset.classes.index(name.strip()))


def pairs_of(
    orders: Sequence[Order], splits: Sequence[dict], left: np.ndarray, dataset: Dataset, row: np.ndarray
) -> np.ndarray:
    """Return the pairs of all constraints, int64 (pairs, 3): a row, the row that follows it, and the class.

    Parameters
    ----------
    orders : sequence of Order
    splits : sequence of dict
        The splits of the certificate.
    left : bool (rows, splits)
        Which way each distinct row goes.
    dataset : Dataset
    row : int (rows of the data,)
        The distinct row of each row.

    Raises
    ------
    CertificateError
        If the splits use single numbers of such a column, or do not separate the rows without it from others.
    """
    found = [np.zeros((0, 3), np.int64)]
    for order in orders:
        own = np.array([all(one["feature"] == order.column for one in (split, *twins(split))) for split in splits])
        if any(split["feature"] == order.column and split["kind"] == "subset" for split in splits):
            raise CertificateError(f"a split of the certificate uses numbers of {order.column!r} one by one")
        rises = own & np.array([split["kind"] == "threshold" for split in splits])
        number = (~left[:, rises]).sum(axis=1)
        kind = np.unique(np.packbits(left[:, ~own], axis=1), axis=0, return_inverse=True)[1].reshape(-1)
        known = np.flatnonzero(~_lacking(order.column, dataset, row, len(left)))
        known = known[np.lexsort((number[known], kind[known]))]
        low, high = known[:-1], known[1:]
        alike = kind[low] == kind[high]
        found.append(np.stack([low[alike], high[alike], np.full(int(alike.sum()), order.klass)], axis=1))
    return np.unique(np.concatenate(found), axis=0)


def _lacking(column: str, dataset: Dataset, row: np.ndarray, n_rows: int) -> np.ndarray:
    """Return bool (rows,): the distinct rows without a cell in a column."""
    absent = np.isnan(dataset.X[:, [feature.name for feature in dataset.features].index(column)])
    count, lack = (np.bincount(row, each, n_rows) for each in (None, absent))
    if ((lack > 0) & (lack < count)).any():
        raise CertificateError(f"no split of the certificate separates rows without {column!r} from rows with it")
    return lack > 0


def twins(split: dict) -> list[dict]:
    """Return the splits that one represents, because they separate the rows in the same way."""
    return [*split.get("same", ()), *split.get("complement", ())]
