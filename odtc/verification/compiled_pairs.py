"""The check of depth 2: a kernel, or numpy for leaves of a least number of rows. Nothing of the search is used."""

import numpy as np

from odtc.base import deadline
from odtc.base.deadline import KERNEL_STEPS
from odtc.errors import CertificateError
from odtc.verification import pair_kernel
from odtc.verification.node_cuts import Rows
from odtc.verification.pair_bound import require_pair


class PairCheck:
    """The checks of depth 2 of one certificate."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[tuple[np.ndarray, ...], np.ndarray]] = {}

    def require(self, rows: Rows, members: np.ndarray, target: float) -> None:
        """Raise CertificateError if a tree of depth 2 costs less than the target on these rows."""
        if rows.least > 1:
            require_pair(rows, members, target, deadline.check)
            return
        if (found := self._least(rows, members, target)) < target:
            raise CertificateError(
                f"a tree of two splits after each other costs {found:.0f} there, above the cost that no tree can "
                f"avoid, the target is {target:.0f}"
            )

    def _least(self, rows: Rows, members: np.ndarray, target: float) -> int:
        if id(rows) not in self._tables:
            self._tables[id(rows)] = pair_kernel.tables_of(rows)
        tables, row = self._tables[id(rows)]
        inside = np.zeros(len(rows.count), np.uint8)
        inside[members] = 1
        arrays = inside[row], int(rows.price), int(target), KERNEL_STEPS, *tables
        found = pair_kernel.PAUSED
        while found == pair_kernel.PAUSED:
            deadline.check()
            found = pair_kernel.least_pair(*arrays)
        return found
