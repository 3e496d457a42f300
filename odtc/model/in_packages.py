"""Pass a model to a solver's Python package as arrays, without a file.

scipy.optimize.milp; highspy, "passModel" (HiGHS documentation, "Python interface"); gurobipy, "addMVar" and
"addMConstr" (Gurobi reference manual, "Matrix API").
"""

from typing import Any

import numpy as np

from odtc.base.system import STDOUT
from odtc.errors import ModelError, SolverError
from odtc.model.arrays import Arrays
from odtc.model.points import name_list

HIGHS_LARGEST = 1e15  # its option large_matrix_value: it refuses coefficients from here on


def scipy_keywords(model: Arrays) -> dict[str, Any]:
    """Return the keywords of scipy.optimize.milp.

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
        If the objective has a constant, which scipy cannot represent.
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
        largest = float(np.abs(A.data).max(initial=0.0))
        why = (
            f": it takes coefficients below {HIGHS_LARGEST:g}, the largest is {largest:.3g}; divide the weights or "
            "costs by a power of ten, or use another solver"
            if largest >= HIGHS_LARGEST
            else ""
        )
        raise SolverError(f"HiGHS refuses the model's arrays{why}")


def new_highs() -> Any:
    """Return a silent highspy.Highs. HiGHS 1.16 prints two lines when one is made, before any option can be set."""
    import highspy

    highs: Any
    try:
        with STDOUT.away():
            highs = highspy.Highs()  # type: ignore[no-untyped-call]
    except OSError:  # no file descriptor is left to redirect the output
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    return highs


def growing_lp(arrays: Any = None, strategy: int = 1) -> Any:
    """Return a silent highspy.Highs for a linear program that grows, on one thread: each simplex continues from the
    last basis. `strategy` is its simplex_strategy: 1 dual, which suits new rows, 4 primal, which suits new columns."""
    highs = new_highs()
    for key, value in {"threads": 1, "presolve": "off", "simplex_strategy": strategy}.items():
        highs.setOptionValue(key, value)
    if arrays is not None:
        pass_to_highs(highs, arrays)
    return highs


def add_rows(highs: Any, A: Any, upper: np.ndarray) -> None:
    """Add the rows A x <= upper; A is a csr_array (rows, columns)."""
    import highspy

    n = A.shape[0]
    low = np.full(n, -highspy.kHighsInf)
    highs.addRows(n, low, upper, A.nnz, A.indptr[:-1].astype(np.int32), A.indices.astype(np.int32), A.data)


def solve_growing_lp(highs: Any, seconds: float | None) -> float | None:
    """Solve the `growing_lp` of a master and return its optimum; None if the seconds were over first.

    Raises
    ------
    SolverError
        If HiGHS finds no optimum.
    """
    # The clock of HiGHS runs on from one call to the next.
    highs.setOptionValue("time_limit", 1e30 if seconds is None else highs.getRunTime() + max(0.01, seconds))
    highs.run()
    status = highs.getModelStatus().name
    if status not in ("kOptimal", "kTimeLimit"):
        # Somebody used HiGHS with another number of threads, which one process keeps; or it is lost in its last basis.
        highs.resetGlobalScheduler(True)
        highs.clearSolver()
        highs.run()
        status = highs.getModelStatus().name
    if status == "kTimeLimit":
        return None
    if status != "kOptimal":
        raise SolverError(
            f"HiGHS ends the relaxation of the master as {status}, but an optimum exists; please report it"
        )
    return float(highs.getInfo().objective_function_value)


def highs_of(model: Arrays) -> Any:
    """Return a silent highspy.Highs that holds the model, with its names."""
    highs = new_highs()
    pass_to_highs(highs, model)
    for at, name in enumerate(name_list(model.columns)):
        highs.passColName(at, name)
    for at, name in enumerate(name_list(model.rows)):
        highs.passRowName(at, name)
    return highs


def gurobi_of(model: Arrays, env: Any = None) -> Any:
    """Return a gurobipy.Model with the columns and rows in the model's order; a row with two different sides is two.

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
