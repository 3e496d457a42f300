"""Constraints monotone[COLUMN,positive=CLASS] of a certificate: which rows must be predicted the class if others are.

If no split of another column separates two rows, and the one with the smaller number in COLUMN is predicted CLASS, the
other one must be, too. Rows without a number in COLUMN are not compared with any row. It is enough to compare
neighbours:

    [row i is predicted CLASS] ≤ [row j is predicted CLASS]        of rows alike otherwise, x_i < x_j, none between.
"""

from collections.abc import Sequence

import numpy as np

from odtc.base.value_class import value_class
from odtc.data.dataset import Dataset
from odtc.errors import CertificateError
from odtc.verification.alike_rows import alike_rows
from odtc.verification.threshold_columns import features_of


@value_class
class Order:
    """A column by which a class rises."""

    column: str
    klass: int


def read_order(name: str, text: str, args: Sequence[str], dataset: Dataset) -> Order:
    """Return the column and the class of a constraint; raises CertificateError if it names none of the data."""
    key, _, klass = args[1].partition("=") if len(args) == 2 else ("", "", "")
    if key.strip() != "positive":
        raise CertificateError(f"the certificate states {text!r}, which is not {name}[COLUMN,positive=CLASS]")
    if klass.strip() not in dataset.classes or args[0] not in [feature.name for feature in dataset.features]:
        raise CertificateError(f"the certificate states {text!r}, which does not name a column or a class of the data")
    return Order(args[0], dataset.classes.index(klass.strip()))


def pairs_of(
    orders: Sequence[Order], columns: list[dict], rank: np.ndarray, dataset: Dataset, row: np.ndarray
) -> np.ndarray:
    """Return the pairs of all constraints, int64 (pairs, 3): a row, the row that follows it, and the class.

    Parameters
    ----------
    orders : sequence of Order
    columns : list of dict
        The columns of the certificate.
    rank : int (rows, columns)
        The ranks of each distinct row.
    dataset : Dataset
    row : int (rows of the data,)
        The distinct row of each row.

    Raises
    ------
    CertificateError
        If the splits use single numbers of such a column, or do not separate the rows without it from others.
    """
    found = [np.zeros((0, 3), np.int64)]
    features, kinds = np.array(features_of(columns)), np.array([column["kind"] for column in columns])
    for order in orders:
        own = features == order.column
        if not np.isin(kinds[own], ("threshold", "missing")).all():
            raise CertificateError(f"a split of the certificate uses numbers of {order.column!r} one by one")
        number = rank[:, own & (kinds == "threshold")].sum(axis=1)
        kind, _ = alike_rows(rank[:, ~own])
        known = np.flatnonzero(~_lacking(order.column, dataset, row, len(rank)))
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
