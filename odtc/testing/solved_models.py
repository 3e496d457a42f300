"""A model by its arrays only: its optimum by scipy's milp, and whether a point satisfies its bounds and rows."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, milp

from odtc.model.milp import Model
from odtc.model.points import name_list


def solved(model: Model, whole: bool = True) -> OptimizeResult:
    """Return the result of scipy for a model; with `whole` False for its relaxation."""
    return milp(
        model.c,
        constraints=LinearConstraint(model.A, model.row_lower, model.row_upper),
        bounds=Bounds(model.col_lower, model.col_upper),
        integrality=model.integrality if whole else None,
    )


def optimum(model: Model) -> tuple[float, dict | None]:
    """Return (objective, {block: values}) of an optimum; (inf, None) where the model has no solution."""
    found = solved(model)
    if found.status == 2:  # infeasible
        return float("inf"), None
    return found.fun + model.offset, model.split(found.x)


def relaxed(model: Model) -> float:
    """Return the objective of the relaxation."""
    return solved(model, whole=False).fun + model.offset


def assert_rows_kept(model: Model, x: np.ndarray, slack: float = 1e-9) -> None:
    """Raise AssertionError, with the name of a row, if a point violates the rows of the model."""
    activity = model.A @ x
    beyond = np.maximum(model.row_lower - activity, activity - model.row_upper)
    worst = int(beyond.argmax()) if len(beyond) else 0
    assert not len(beyond) or beyond[worst] <= slack, (
        f"the row {name_list(model.rows)[worst]} is violated by {beyond[worst]:.10g}"
    )


def assert_point_of(problem, model: Model, heap, x: np.ndarray) -> None:
    """Raise AssertionError unless the point is a solution of the model with the cost of the tree."""
    outside = np.flatnonzero((x < model.col_lower) | (x > model.col_upper))
    assert not len(outside), (
        f"the column {name_list(model.columns)[outside[0]]} = {x[outside[0]]!r} is outside its bounds"
    )
    assert_rows_kept(model, x)
    stated, costs = model.objective(x), problem.module.objective(problem, heap)
    assert np.isclose(stated, costs, rtol=1e-6, atol=1e-9), f"the point states {stated!r}, its tree costs {costs!r}"
