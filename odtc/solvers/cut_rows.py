"""Rows one by one, as the Python packages of solvers accept them: the rows of a model, and rows from a callback."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from odtc.model.feasibility import TOLERANCE
from odtc.solvers.protocols import Cuts


def is_installed(package: str) -> bool:
    return find_spec(package) is not None


def stated_rows(model: Any) -> Iterator[tuple[list[int], list[float], float | None, float | None]]:
    """Yield (columns, coefficients, lower side, upper side) of each row of a model; None for an infinite side."""
    A = model.A.tocsr()
    for row, (low, high) in enumerate(zip(model.row_lower.tolist(), model.row_upper.tolist())):
        part = slice(*A.indptr[row : row + 2])
        lower, upper = (side if np.isfinite(side) else None for side in (low, high))
        yield A.indices[part].tolist(), A.data[part].tolist(), lower, upper


class CutCalls:
    """Cuts for the callback of a library, through which no exception may pass.

    Attributes
    ----------
    failed : BaseException or None
        The exception that `cuts` raised.
    """

    def __init__(self, model: Any, cuts: Cuts, cancelled: Callable[[], bool]):
        self._integer, self._cuts, self._cancelled = np.flatnonzero(model.integrality), cuts, cancelled
        self.failed: BaseException | None = None

    @property
    def stop(self) -> bool:
        """Return whether the solver should stop."""
        return self.failed is not None or self._cancelled()

    def is_whole(self, x: Any) -> bool:
        """Return whether all integer columns are whole."""
        chosen = np.asarray(x, float)[self._integer]
        return bool(np.abs(chosen - np.round(chosen)).max(initial=0.0) <= TOLERANCE)

    def rows(self, x: Any, whole: bool | None = None) -> list[tuple[list[int], list[float], float]]:
        """Return (columns, coefficients, upper side) of each violated row; `whole` None: as `is_whole`."""
        if self.failed is not None:
            return []
        try:
            x = np.asarray(x, float)
            A, upper = self._cuts(x, self.is_whole(x) if whole is None else whole)
            parts = (slice(*A.indptr[row : row + 2]) for row in range(A.shape[0]))
            return [(A.indices[p].tolist(), A.data[p].tolist(), float(most)) for p, most in zip(parts, upper)]
        except BaseException as problem:
            self.failed = problem
            return []
