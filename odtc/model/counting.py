"""Models that are only counted: how many columns, rows and nonzeros they have, exactly, without laying anything out."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

_COUNTING: ContextVar[bool] = ContextVar("counting", default=False)


@contextmanager
def counting() -> Iterator[None]:
    """Models that are built within it have blocks and counts, but neither vectors nor entries."""
    token = _COUNTING.set(True)
    try:
        yield
    finally:
        _COUNTING.reset(token)


def is_counting() -> bool:
    """Return whether models are only counted here, so that only the shapes of labels are used."""
    return _COUNTING.get()


def labels_where(mask: np.ndarray) -> tuple[np.ndarray, ...]:
    """`np.nonzero`, by which a formulation labels an entry for each cell that is not 0.

    Parameters
    ----------
    mask : array of any shape

    Returns
    -------
    tuple of int arrays (entries,), one for each axis
        In a model that is only counted they are zeros that take no memory, as many as there are entries.
    """
    if is_counting():
        return (np.broadcast_to(np.intp(0), int(np.count_nonzero(mask))),) * mask.ndim
    return np.nonzero(mask)
