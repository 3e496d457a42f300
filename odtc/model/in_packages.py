"""A model as an object of a solver's Python package, as arrays: no file between.

scipy.optimize.milp; highspy, "passModel" (HiGHS documentation, "Python interface"); gurobipy, "addMVar" and
"addMConstr" (Gurobi reference manual, "Matrix API").
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from odtc.base.system import STDOUT
from odtc.errors import ModelError, SolverError
from odtc.model.points import name_list

if TYPE_CHECKING:
    from odtc.model.milp import Model


def scipy_keywords(model: "Model") -> dict[str, Any]:
    """The keywords of scipy.optimize.milp.

    Parameters
    ----------
    model : Model

    Returns
    -------
    dict
        `c`, `integrality`, `bounds` and `constraints`.

    Raises
    ------
    ModelError
        If the objective has a constant, for which scipy has no place.
    """
    from scipy.optimize import Bounds, LinearConstraint

    if model.offset:
        raise ModelError(
            f"expected an objective without a constant, which scipy has no place for, got {model.offset:g}"
        )
    return {
        "c": model.c,
        "integrality": model.integrality,
        "bounds": Bounds(model.col_lower, model.col_upper),
        "constraints": LinearConstraint(model.A, model.row_lower, model.row_upper),
    }


def pass_to_highs(highs: Any, arrays: Any) -> None:
    """Pass the arrays of a model (A, c, offset and the sides) to a highspy.Highs.

    Raises
    ------
    SolverError
        If HiGHS refuses them.
    """
    import highspy

    A = arrays.A
    n_rows, n_cols = A.shape
    status = highs.passModel(
        n_cols,
        n_rows,
        A.nnz,
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        arrays.offset,
        arrays.c,
        arrays.col_lower,
        arrays.col_upper,
        arrays.row_lower,
        arrays.row_upper,
        A.indptr.astype(np.int32, copy=False),
        A.indices.astype(np.int32, copy=False),
        A.data,
        arrays.integrality.astype(np.int32),
    )
    if status == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refuses the model's arrays")


def new_highs() -> Any:
    """A silent highspy.Highs. HiGHS 1.16 prints two lines when one is made, before any option can be set."""
    import highspy

    highs: Any
    try:
        with STDOUT.away():
            highs = highspy.Highs()  # type: ignore[no-untyped-call]
    except OSError:  # no descriptor is left to turn it away with
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    return highs


def highs_of(model: "Model") -> Any:
    """A silent highspy.Highs that holds the model, with its names."""
    highs = new_highs()
    pass_to_highs(highs, model)
    for at, name in enumerate(name_list(model.columns)):
        highs.passColName(at, name)
    for at, name in enumerate(name_list(model.rows)):
        highs.passRowName(at, name)
    return highs


def gurobi_of(model: "Model", env: Any = None) -> Any:
    """A gurobipy.Model with the columns and rows in the model's order; a row with two different sides is two.

    Parameters
    ----------
    model : Model
    env : gurobipy.Env or None

    Raises
    ------
    SolverError
        If gurobipy is not installed, or refuses the model (its licence may be for small models).
    """
    try:
        import gurobipy
    except ImportError:
        raise SolverError("gurobipy is not installed: pip install gurobipy") from None
    try:
        theirs = gurobipy.Model(model.name or "odtc", env=env)
        x = theirs.addMVar(
            model.n_cols,
            lb=model.col_lower,
            ub=model.col_upper,
            obj=model.c,
            vtype=np.where(model.integrality > 0, "I", "C"),
            name=name_list(model.columns),
        )
        theirs.ObjCon = model.offset
        A, names = model.A.tocsr(), np.array(name_list(model.rows))
        low, high = model.row_lower, model.row_upper
        same = low == high
        for sense, side, chosen in (
            ("=", low, same),
            (">", low, ~same & np.isfinite(low)),
            ("<", high, ~same & np.isfinite(high)),
        ):
            if chosen.any():
                theirs.addMConstr(A[chosen], x, sense, side[chosen], name=names[chosen].tolist())
        theirs.update()
    except gurobipy.GurobiError as refused:
        raise SolverError(f"gurobipy refuses the model: {refused}") from None
    return theirs
