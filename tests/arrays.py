"""A model by its arrays alone: its optimum by scipy's milp, and whether a point keeps its bounds and rows."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from odtc.model.milp import Model


def solved(model: Model, whole: bool = True) -> OptimizeResult:
    """What scipy says of it; with `whole` False of its relaxation."""
    return milp(
        model.c,
        constraints=LinearConstraint(model.A, model.row_lower, model.row_upper),
        bounds=Bounds(model.col_lower, model.col_upper),
        integrality=model.integrality if whole else None,
    )


def optimum(model: Model) -> tuple[float, dict | None]:
    """(objective, {block: values}) of an optimum; (inf, None) where the model has no solution."""
    found = solved(model)
    if found.status == 2:  # infeasible
        return float("inf"), None
    return found.fun + model.offset, model.split(found.x)


def relaxed(model: Model) -> float:
    """The objective of the relaxation."""
    return solved(model, whole=False).fun + model.offset


def assert_rows_kept(model: Model, x: np.ndarray, slack: float = 1e-9) -> None:
    activity = model.A @ x
    assert (activity >= model.row_lower - slack).all() and (activity <= model.row_upper + slack).all()


def assert_point_of(problem, model: Model, heap, x: np.ndarray) -> None:
    """The point is a solution of the model, and costs what the tree does."""
    assert (x >= model.col_lower).all() and (x <= model.col_upper).all()
    assert_rows_kept(model, x)
    assert model.objective(x) == pytest.approx(problem.module.objective(problem, heap), abs=1e-9)
