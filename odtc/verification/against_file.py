"""Check of a point against a model file, in exact rationals: rows, bounds, integrality and objective as written there.

The sums of rows are first computed in float64, with a bound on the rounding error, which is 0 for sums of whole numbers
below 2^53. Only rows that this does not decide are computed again in rationals.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from odtc.base.whole_numbers import MAX_EXACT
from odtc.model.feasibility import Check
from odtc.verification.file_as_written import Written

EPS = np.finfo(float).eps
ROUNDING = Fraction(1, 10**9)  # relative to the numbers in a sum, if they are not whole: the point itself is in float64


def check_against_file(
    written: Written, names: Sequence[bytes], x: np.ndarray, counted: float | None, tolerance: Fraction = ROUNDING
) -> list[Check]:
    """Return the checks "file columns", "file bounds", "file rows", "file integrality" and "file objective" of a
    point.

    Parameters
    ----------
    written : Written
    names : sequence of bytes
        The columns of the point, with their names in the file.
    x : float64 (columns,)
        Each value is taken as exactly the number that it is.
    counted : float or None
        The expected objective; None if it is not compared.
    tolerance : Fraction
        Allowed violation of a row whose numbers are not all whole, relative to the numbers in the row, which count as
        at least 1.

    Returns
    -------
    list of Check
        Only the first if the file has other columns.
    """
    place = [written.columns.get(name, -1) for name in names]
    if len(place) != len(written.columns) or sorted(place) != list(range(len(place))):
        return [
            Check(
                "file columns", False, f"the file has {len(written.columns)} columns, the point {len(place)} of others"
            )
        ]
    values = np.empty(len(x))
    values[place] = x
    of_file = list(written.columns)
    checks = [_bounds(written, of_file, values, tolerance), _rows(written, values, tolerance)]
    checks.append(_whole(written, of_file, values, tolerance))
    if counted is not None:
        checks.append(_objective(written, values, counted))
    return checks


def _bounds(written: Written, names: list[bytes], values: np.ndarray, tolerance: Fraction) -> Check:
    worst = _Worst()
    for at, value in enumerate(values.tolist()):
        low, high = written.bounds(at)
        beyond = max(
            Fraction(value) - high if high is not None and value >= float(high) else Fraction(0),
            low - Fraction(value) if low is not None and value <= float(low) else Fraction(0),
        )
        worst.meet(beyond, tolerance * max(1, abs(Fraction(value))), names[at])
    return worst.told("file bounds", len(values))


def _rows(written: Written, values: np.ndarray, tolerance: Fraction) -> Check:
    """Check the sums of rows in float64, and sums close to a bound again in rationals."""
    rows, columns, data = written.arrays()
    size = len(written.sides)
    numbers = np.array([float(number) for number in written.numbers])
    is_whole = np.array([number.denominator == 1 and abs(number) < MAX_EXACT for number in written.numbers], bool)
    terms = numbers[data] * values[columns]
    total = np.bincount(rows, terms, size)
    reach = np.bincount(rows, np.abs(terms), size)
    odd = ~(is_whole[data] & (values[columns] == np.rint(values[columns])))
    rounded = (np.bincount(rows, odd, size) > 0) | (reach >= MAX_EXACT)
    off = np.where(rounded, (np.bincount(rows, minlength=size) + 4) * EPS * reach, 0.0)
    low = np.array([-np.inf if side is None else float(side) for side, _ in written.sides])
    high = np.array([np.inf if side is None else float(side) for _, side in written.sides])
    near = np.maximum(np.abs(np.where(np.isfinite(low), low, 0)), np.abs(np.where(np.isfinite(high), high, 0))) * EPS
    clear = (total - off - near > low) & (total + off + near < high)
    # All numbers and the bound are whole, so nothing is rounded.
    even = ~rounded & (total >= low) & (total <= high)
    even &= np.array([all(side is None or side.denominator == 1 for side in sides) for sides in written.sides], bool)
    left = np.flatnonzero(~(clear | even))
    worst, names = _Worst(), list(written.rows)
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(size + 1))
    for row in left.tolist():
        of = order[starts[row] : starts[row + 1]]
        parts = [
            written.numbers[number] * Fraction(value)
            for number, value in zip(data[of].tolist(), values[columns[of]].tolist())
        ]
        activity, (below, above) = sum(parts, Fraction(0)), written.sides[row]
        beyond = max(
            Fraction(0),
            below - activity if below is not None else Fraction(0),
            activity - above if above is not None else Fraction(0),
        )
        worst.meet(beyond, tolerance * max(Fraction(1), sum(map(abs, parts), Fraction(0))), names[row])
    return worst.told("file rows", size, f", {len(left)} of them added in rationals")


def _whole(written: Written, names: list[bytes], values: np.ndarray, tolerance: Fraction) -> Check:
    worst = _Worst()
    for at in written.whole:
        worst.meet(abs(Fraction(values[at]) - round(Fraction(values[at]))), tolerance, names[at])
    return worst.told("file integrality", len(written.whole))


class _Worst:
    """The largest violation and its location, among those beyond the allowed one if there are any."""

    def __init__(self):
        self.violation, self.allowed, self.where = Fraction(0), Fraction(0), b""

    def meet(self, violation: Fraction, allowed: Fraction, where: bytes) -> None:
        if (violation > allowed, violation) > (self.violation > self.allowed, self.violation):
            self.violation, self.allowed, self.where = violation, allowed, where

    def told(self, name: str, count: int, more: str = "") -> Check:
        """Return the check of `count` things."""
        if not self.violation:
            return Check(name, True, f"{count} kept exactly{more}")
        at, size = self.where.decode("ascii", "backslashreplace"), float(self.violation)
        if self.violation <= self.allowed:
            return Check(name, True, f"{count} kept within {size:.2g} (most at {at}){more}")
        return Check(name, False, f"broken by {size:.6g} at {at}, more than {float(self.allowed):.2g}")


def _objective(written: Written, values: np.ndarray, counted: float) -> Check:
    total = written.offset + sum(
        (price * Fraction(values[at]) for at, price in written.cost.items() if values[at]), Fraction(0)
    )
    off = abs(total - Fraction(counted))
    return Check(
        "file objective",
        off <= ROUNDING * max(1, abs(total)),
        f"c·x of the file is {_words(total)}, counted on the rows {counted:.10g}",
    )


def _words(value: Fraction) -> str:
    """Return a rational as a number, with its fraction if that is short."""
    text = str(value)
    return text if len(text) <= 16 else f"{float(value):.17g}"
