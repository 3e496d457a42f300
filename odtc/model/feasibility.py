"""A point against its model: bounds, rows and integrality, each one line with its numbers."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from odtc.base.value_class import frozen_class

if TYPE_CHECKING:
    from odtc.model.arrays import Arrays
    from odtc.model.blocks import Block, NamedBlock

TOLERANCE = 1e-6  # what solvers promise for rows, bounds, integrality and reduced costs
ROUNDING = 1e-9  # relative: two sums of the same numbers, such as an objective or a score, differ by less
# What a point may cost less than its tree, as each row and column is off by a tolerance: below any price of an error
# that a model is written of (odtc.workflow.compiling).
OFF = 10 * TOLERANCE
# Beyond any solver's tolerances (integrality 1e-5) and the six digits that some print: no solution.
BROKEN = 1e-4
# lp_solve and the tables of GLPK and HiGHS have six digits of each value, which may differ by half a unit of the last.
DIGITS = 6
HALF_A_DIGIT = 0.5 * 10.0 ** (1 - DIGITS)  # relative


@frozen_class
class Check:
    """`passed` is False only for a contradiction; `text` holds the numbers."""

    name: str
    passed: bool
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"check": self.name, "passed": self.passed, "text": self.text}


@np.errstate(invalid="ignore")  # a value that is not finite violates every row that it is in
def check_point(model: "Arrays", x: np.ndarray, tolerance: float = TOLERANCE) -> list[Check]:
    """Check a point against bounds, rows and integrality.

    Parameters
    ----------
    x : float64 of shape (columns,)
    tolerance : the largest violation that passes, relative to the numbers in each sum and at least absolute

    Returns
    -------
    Three checks, each with the largest violation in its text
    """
    # Rounding grows with the numbers in a sum, so the tolerance does too.
    scale = np.maximum(1.0, np.abs(x))
    beyond = np.maximum(model.col_lower - x, x - model.col_upper) / scale
    checks = [_largest("bounds", beyond, model.columns, len(x), tolerance)]
    activity = model.A @ x
    scale = np.maximum(1.0, abs(model.A) @ np.abs(x))
    beyond = np.maximum(model.row_lower - activity, activity - model.row_upper) / scale
    checks.append(_largest("rows", beyond, model.rows, len(activity), tolerance))
    whole = model.integrality.astype(bool)
    distance = np.where(whole, np.abs(x - np.round(x)), 0.0)
    checks.append(_largest("integrality", distance, model.columns, int(whole.sum()), tolerance))
    return checks


def check_claim(model: "Arrays", x: np.ndarray, claimed: float | None) -> list[Check]:
    """The objective of a point against the objective that the solver reports; no check if it reports none."""
    if claimed is None:
        return []
    objective = printed_objective(model, x, claimed)
    text = f"c·x is {objective:.10g}, the solver says {claimed:.10g}"
    if is_close(-objective, claimed) and not is_close(objective, claimed):
        text += ", as if it maximised the negative: solve the model file as odtc wrote it, which minimises"
    return [Check("objective", is_close(objective, claimed), text)]


def printing_error(x: np.ndarray) -> float:
    """Return by how much the values of a point may differ from those of the solver, relative to each: `HALF_A_DIGIT` if
    it has values of six digits and none of more, otherwise 0, because they are not rounded visibly.

    Parameters
    ----------
    x : float64 (columns,)
    """
    values = np.unique(x).tolist()
    if any(float(f"{value:.{DIGITS}g}") != value for value in values):
        return 0.0
    return HALF_A_DIGIT if any(float(f"{value:.{DIGITS - 1}g}") != value for value in values) else 0.0


def printed_objective(model: "Arrays", x: np.ndarray, claimed: float | None) -> float:
    """Return the objective of a point: the solver's, if it printed the values with six digits and the objective, which
    has more, agrees with them; otherwise c·x."""
    objective = model.objective(x)
    if claimed is None or not (error := printing_error(x)):
        return objective
    return claimed if abs(claimed - objective) <= error * float(np.abs(model.c) @ np.abs(x)) else objective


def violations(model: "Arrays", x: np.ndarray, tolerance: float = BROKEN) -> str:
    """Return the violated bounds and constraints of the model in words; "" if the point is a solution."""
    return "; ".join(f"{check.name} {check.text}" for check in check_point(model, x, tolerance) if not check.passed)


def is_close(a: float, b: float, tolerance: float = TOLERANCE, unit: float = 1.0) -> bool:
    """Return whether two figures differ only by rounding, relative to themselves or to a `unit`; non-finite figures
    are not close to any other."""
    return math.isfinite(a) and math.isfinite(b) and abs(a - b) <= tolerance * max(unit, abs(a), abs(b))


def _largest(
    name: str, violation: np.ndarray, blocks: "Sequence[Block | NamedBlock]", count: int, tolerance: float
) -> Check:
    if not len(violation):
        return Check(name, True, "none")
    violation = np.where(np.isnan(violation), np.inf, violation)  # NaN satisfies no row
    at = int(np.argmax(violation))
    worst = max(0.0, float(violation[at]))
    if worst == 0:
        return Check(name, True, f"{count} kept exactly")
    block = next(b for b in blocks if b.start <= at < b.stop)
    where = block.name_table(at - block.start, at - block.start + 1).tobytes().decode().strip()
    kept = worst <= tolerance * (1 + ROUNDING)  # a solver may use all of it, and the difference here is rounded
    return Check(
        name,
        kept,
        f"{count} kept within {worst:.2g} (most at {where})"
        if kept
        else f"broken by {worst:.6g} at {where}, more than {tolerance:g}",
    )
