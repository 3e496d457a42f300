"""The check of depth 2: a kernel, or numpy for columns of few cuts and for leaves of a least number of rows. Nothing of
the search is used."""

import numpy as np

from odtc.base import deadline
from odtc.errors import CertificateError
from odtc.verification import pair_kernel
from odtc.verification.node_cuts import Rows
from odtc.verification.pair_bound import require_pair
from odtc.verification.three_levels import least_of_two

STEPS = 50_000_000  # of the kernel between two looks at the deadline: some tenths of a second
FEW = 3  # cuts of a column, up to which products of matrices are faster than loops that leave out cuts
TABLE = 20_000_000  # sums over pairs of cuts that are held at once, for all labels
HELD = 100_000_000  # answers of rows to all cuts that are held, in bytes


class PairCheck:
    """The checks of depth 2 of one certificate."""

    def __init__(self) -> None:
        self._tables: dict[int, tuple[tuple[np.ndarray, ...], np.ndarray]] = {}
        self._answers: dict[int, np.ndarray | None] = {}

    def require(self, rows: Rows, members: np.ndarray, target: float) -> None:
        """Raise CertificateError if a tree of depth 2 costs less than the target on these rows."""
        if rows.least > 1:
            require_pair(rows, members, target, deadline.check)
            return
        if id(rows) not in self._answers:
            self._answers[id(rows)] = _answers(rows)
        deadline.check()
        answers = self._answers[id(rows)]
        if answers is None:
            found = self._by_loops(rows, members, target)
        else:
            found = least_of_two(answers[members], rows.loss[members], rows.price)
        if found < target:
            raise CertificateError(
                f"a tree of two splits after each other costs {found:.0f} there, above the cost that no tree can "
                f"avoid, the target is {target:.0f}"
            )

    def _by_loops(self, rows: Rows, members: np.ndarray, target: float) -> int:
        if id(rows) not in self._tables:
            self._tables[id(rows)] = pair_kernel.tables_of(rows)
        tables, row = self._tables[id(rows)]
        inside = np.zeros(len(rows.count), np.uint8)
        inside[members] = 1
        arrays = inside[row], int(rows.price), int(target), STEPS, *tables
        found = pair_kernel.PAUSED
        while found == pair_kernel.PAUSED:
            deadline.check()
            found = pair_kernel.least_pair(*arrays)
        return found


def _answers(rows: Rows) -> np.ndarray | None:
    """Return bool (rows, cuts), whether a row is on the left of a cut; None if there are so many cuts that it is
    better not to count all their pairs."""
    n_cuts = rows.n_places - len(rows.begin)
    if n_cuts > FEW * len(rows.begin) or rows.loss.shape[1] * n_cuts**2 > TABLE or n_cuts * len(rows.loss) > HELD:
        return None
    rank = rows.columns.rank
    return np.concatenate([line[:, None] <= np.arange(line.max(initial=0)) for line in rank.T], axis=1)
