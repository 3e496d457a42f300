"""Which check of depth 2 is taken: that in numpy, or, once it has taken a while, the same compiled by numba.

Without numba, or with leaves of a least number of rows, numpy goes on. Compiled code is kept on disk, as that of the
search is (odtc.algorithms.thresholds.compiled), of which nothing is used here. The environment variable ODTC_COMPILED
settles the choice: "never" or "always".
"""

import time
from functools import cache

import numpy as np

from odtc.base.compiled_loops import compile_loops, is_on_disk, may_compile, wish
from odtc.errors import CertificateError
from odtc.verification import pair_kernel
from odtc.verification.node_cuts import Rows
from odtc.verification.pair_bound import require_pair

LOADING = 0.4  # CPU seconds in numpy, after which a kernel is loaded that is on disk
COMPILING = 4.0  # CPU seconds in numpy, after which it is compiled
_loaded: list[bool] = []  # whether it was loaded in this process


class _TakesLong(Exception):
    """numpy has spent so long that the kernel pays."""


class PairCheck:
    """The checks of depth 2 of one certificate.

    Parameters
    ----------
    rows, free : Rows, the second without a least number of rows
    """

    def __init__(self, rows: Rows, free: Rows):
        self.can = may_compile()
        self.kernel = kernel() if self.can and (wish() == "always" or _loaded) else None
        self.spent, self._arrays = 0.0, {}

    def require(self, rows: Rows, members: np.ndarray, target: float) -> None:
        """Raises CertificateError if a tree of depth 2 costs less than the target on these rows."""
        if self.kernel is None or rows.least > 1:
            began = time.process_time()
            try:
                require_pair(rows, members, target, lambda: self._look(rows, began))
                return
            except _TakesLong:
                self.kernel = kernel()
            finally:
                self.spent += time.process_time() - began
        if id(rows) not in self._arrays:
            self._arrays[id(rows)] = pair_kernel.entries(rows)
        inside = np.zeros(len(rows.count), np.uint8)
        inside[members] = 1
        found = self.kernel(*self._arrays[id(rows)], inside, int(rows.price), int(target))
        if found < target:
            raise CertificateError(
                f"a tree of two tests after each other costs {found} there, above what no tree can avoid, the target "
                f"is {target:.0f}"
            )

    def _look(self, rows: Rows, began: float) -> None:
        """Raises _TakesLong once the kernel pays. How many cuts numpy has to count is known of no tree before: the same
        numbers of rows, columns and classes take twenty times as long on one table as on another."""
        if rows.least > 1 or not self.can:
            return
        spent = self.spent + time.process_time() - began
        if spent > LOADING and (spent > COMPILING or on_disk()):
            raise _TakesLong


@cache
def kernel():
    """The function `least_pair` of odtc.verification.pair_kernel, compiled. Raises ImportError without numba."""
    _loaded.append(True)
    return _compiled()


@cache
def _compiled():
    return compile_loops(("move", "stumps", "least_pair"), dict(vars(pair_kernel)))


@cache
def on_disk() -> bool:
    """Whether the kernel was compiled before, so that loading it takes a moment."""
    try:
        return is_on_disk(_compiled())
    except ImportError:  # a numba that this numpy is too new for
        return False
