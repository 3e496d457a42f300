"""Choice of the check of depth 2: numpy, or, once it has taken some time, the same check compiled by numba.

Without numba, or with leaves of a least number of rows, numpy is used throughout. Compiled code is cached on disk, in
the same way as that of the search (odtc.algorithms.thresholds.compiled), but nothing of the search is used here. The
environment variable ODTC_COMPILED overrides the choice: "never" or "always".
"""

import time
from functools import cache

import numpy as np

from odtc.base import compile_apart, deadline
from odtc.base.compiled_loops import Repaid, compile_loops
from odtc.errors import CertificateError
from odtc.verification import pair_kernel
from odtc.verification.node_cuts import Rows
from odtc.verification.pair_bound import require_pair
from odtc.verification.threshold_columns import distinct_columns

STEPS = 50_000_000  # of the kernel between two looks at the deadline: some tenths of a second


class _TakesLong(Exception):
    """numpy has spent so long that the kernel pays."""


class PairCheck:
    """The checks of depth 2 of one certificate."""

    def __init__(self) -> None:
        self._arrays: dict[int, tuple] = {}

    def require(self, rows: Rows, members: np.ndarray, target: float) -> None:
        """Raise CertificateError if a tree of depth 2 costs less than the target on these rows."""
        if rows.least > 1:
            require_pair(rows, members, target, deadline.check)
            return
        if (kernel := COMPILED.loops(0.0)) is None:
            began = time.process_time()

            def look() -> None:
                """End the check at the deadline, or once the kernel would be faster. How many cuts numpy has to count
                is not known before: the same numbers of rows, columns and classes take twenty times as long on one
                table as on another."""
                deadline.check()
                if COMPILED.loops(time.process_time() - began) is not None:
                    raise _TakesLong

            try:
                require_pair(rows, members, target, look)
                return
            except _TakesLong:
                kernel = COMPILED.loops(0.0)
            finally:
                COMPILED.spend(time.process_time() - began)
        if id(rows) not in self._arrays:
            self._arrays[id(rows)] = pair_kernel.entries(rows), rows.columns.rank.max(axis=0, initial=-1) + 1
        arrays, n_ranks = self._arrays[id(rows)]
        inside = np.zeros(len(rows.count), np.uint8)
        inside[members] = 1
        place = pair_kernel.Place.before(arrays, n_ranks, members)
        found = pair_kernel.PAUSED
        while found == pair_kernel.PAUSED:
            deadline.check()
            found = kernel(*arrays, inside, int(rows.price), int(target), STEPS, *place.arrays)
        if found < target:
            raise CertificateError(
                f"a tree of two splits after each other costs {found} there, above the cost that no tree can avoid, "
                f"the target is {target:.0f}"
            )


@cache
def compiled():
    """Return the function `least_pair` of odtc.verification.pair_kernel, compiled. Raises ImportError without numba."""
    return compile_loops(("move", "stumps", "list_members", "least_pair"), dict(vars(pair_kernel)))


COMPILED_IN = 4.0  # CPU seconds, about
COMPILED = Repaid(compiled, COMPILED_IN, compile_apart.once_it_pays(__name__, compiled))


def compile_now() -> None:
    """Call the loops on little data."""
    random = np.random.default_rng(0)
    columns = distinct_columns(random.integers(0, 40, (200, 3)))
    rows = Rows(columns, np.eye(2)[random.integers(0, 2, 200)], np.ones(200, np.int64), 0.0, 1)
    PairCheck().require(rows, np.arange(200), 1.0)
