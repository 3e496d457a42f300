"""Solutions from memory instead of a solution file: a point, or the object of a solver that has one.

A bare point, as a vector, {name of a column: value} or the result of scipy.optimize.milp, names no model, so it proves
nothing. An object of highspy or gurobipy contains the model that it solved, which is compared with ours: its claim is
about ours, or about the edited model.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from odtc.base.value_class import value_class
from odtc.errors import SolutionError
from odtc.fileformats.status_words import HIGHS
from odtc.model.blocks import NamedBlock
from odtc.model.milp import Model
from odtc.model.points import align
from odtc.model.solution import EDITED, Solution, Termination, proof

UNNAMED = (
    "a point by itself does not name its model, so nothing is proved; pass the solver's object, or the solution of "
    "odtc.solve"
)
NAMELESS = (
    "the solution does not name its model, so its claim does not count as a proof; odtc.solve makes one that does"
)
GUROBI = {2: Termination.OPTIMAL, 3: Termination.INFEASIBLE, 9: Termination.TIME_LIMIT, 11: Termination.INTERRUPTED}


@value_class
class Solved:
    """Content of a solver's object: the model as arrays, how it ended, its point and its bound."""

    solver: str
    model: Model
    x: np.ndarray | None
    termination: Termination
    bound: float | None
    objective: float | None = None
    beyond: str = ""  # parts that are neither rows nor columns, so that it cannot be one of our models


def in_memory(model: Model, given: Any) -> tuple[Model, Solution]:
    """Return a model and the Solution of a point or a solver's object.

    Parameters
    ----------
    model : Model
        A model of `odtc.build`, maybe with rows and columns of its user.
    given : array (columns,), dict, scipy.optimize.OptimizeResult, highspy.Highs or gurobipy.Model

    Returns
    -------
    (Model, Solution)
        The model with `edited`, if another was solved.

    Raises
    ------
    SolutionError
        If it is none of these, or of another model.
    """
    package = type(given).__module__.partition(".")[0]
    if package == "highspy":
        return _claimed(model, _of_highs(given))
    if package == "gurobipy":
        return _claimed(model, _of_gurobi(given))
    if hasattr(given, "status") and hasattr(given, "x"):  # scipy.optimize.OptimizeResult
        given = given.x
        if given is None:
            return model, Solution(None, Termination.UNKNOWN, solver="scipy", message="scipy.optimize found no point")
    if isinstance(given, Mapping):
        x = align(model.columns, list(map(str, given)), np.array(list(given.values()), float))
    else:
        try:
            x = np.asarray(given, float)
        except (TypeError, ValueError):
            raise SolutionError(
                "expected a Solution, a vector over the columns, {name: value}, a result of scipy.optimize.milp, or a "
                f"solved object of highspy or gurobipy, got {type(given).__name__}"
            ) from None
    _expect(model, x)
    objective = model.as_built.objective(x[: model.as_built.n_cols])
    return model, Solution(x, Termination.UNKNOWN, objective, solver="a point in memory", message=UNNAMED)


def _expect(model: Model, x: np.ndarray) -> None:
    """Raise SolutionError for an array that is not a point of the model."""
    if x.shape != (model.n_cols,):
        raise SolutionError(
            f"expected a point over the {model.n_cols} columns of the model, got an array of shape {x.shape}"
        )
    if not np.isfinite(x).all():
        raise SolutionError("expected finite values in a point, got one that is not")


def _claimed(model: Model, solved: Solved) -> tuple[Model, Solution]:
    """Return the claim of a solver's object, about the model if it solved that, otherwise about the edited one."""
    ours = model.as_built
    found = Solution(solved.x, solved.termination, None, solved.bound, solver=solved.solver, claimed=solved.objective)
    if solved.x is None:
        return ours, found
    theirs, n = solved.model, ours.n_cols
    if theirs.n_cols < n:
        raise SolutionError(
            f"expected the {n} columns of the model in what {solved.solver} solved, got {theirs.n_cols}: it is another "
            "model"
        )
    if not np.isfinite(solved.x).all():
        raise SolutionError(f"expected finite values from {solved.solver}, got one that is not")
    termination, bound, doubt = proof(solved.termination, theirs.objective(solved.x), solved.bound, False)
    found = replace(found, termination=termination, bound=bound, objective=ours.objective(solved.x[:n]), message=doubt)
    if solved.beyond:
        why = f"what {solved.solver} solved holds {solved.beyond} in addition to rows and columns, so nothing is proved"
        return ours, replace(unproved(found, why), model=ours.identity)
    if is_same(theirs, ours):
        return ours, replace(found, model=ours.identity, content=ours.content)
    return replace(ours, edited=theirs), of_edited(ours, theirs, found)


def of_edited(model: Model, edited: Model, solution: Solution) -> Solution:
    """Return the claim of a solution as one about the edited model: the tree has its cost in the model, the bound is
    on the objective of the edited one.

    Parameters
    ----------
    model, edited : Model
        The edited one has the columns of the model in their order, and maybe others after them.
    solution : Solution
        Its point is one of the edited model.
    """
    if solution.x is None:
        return replace(solution, scope=EDITED)
    n = model.n_cols
    same = np.array_equal(edited.c[:n], model.c) and edited.offset == model.offset and not edited.c[n:].any()
    return replace(
        solution,
        scope=EDITED,
        objective=model.objective(solution.x[:n]),
        scope_objective=None if same else edited.objective(solution.x),
    )


def unproved(solution: Solution, why: str) -> Solution:
    """Return the solution without its claim of a proof."""
    if solution.termination != Termination.OPTIMAL and solution.bound is None:
        return solution
    end = Termination.UNKNOWN if solution.termination == Termination.OPTIMAL else solution.termination
    message = f"{why}; {solution.message}" if solution.message else why
    return replace(solution, termination=end, bound=None, message=message)


def is_same(one: Model, other: Model) -> bool:
    """Return whether two models are one: the same columns in the same order, and the same rows in any order."""
    vectors = ("c", "col_lower", "col_upper", "integrality")
    return (
        one.offset == other.offset
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vectors)
        and _sides(one) == _sides(other)
    )


def _sides(model: Model) -> Counter:
    """Return the rows as a multiset of a·x <= b, so that a row with two sides and two rows are one."""
    A, found = model.A.tocsr(), Counter()
    A.sort_indices()
    for i, (begin, end) in enumerate(zip(A.indptr[:-1].tolist(), A.indptr[1:].tolist())):
        part = A.data[begin:end] != 0
        place, data = A.indices[begin:end][part].astype("<i8").tobytes(), A.data[begin:end][part]
        if np.isfinite(model.row_upper[i]):
            found[place, data.tobytes(), float(model.row_upper[i])] += 1
        if np.isfinite(model.row_lower[i]):
            found[place, (-data).tobytes(), -float(model.row_lower[i])] += 1
    return found


def _of_highs(highs: Any) -> Solved:
    """Read a highspy.Highs that has run; HiGHS documentation, "HighsLp" and "HighsInfo"."""
    import scipy.sparse as sp

    lp, info, name = highs.getLp(), highs.getInfo(), f"HiGHS {highs.version()}"
    if "kMaximize" in str(lp.sense_):
        raise SolutionError("expected a minimisation, as odtc builds them, got a maximisation from highspy")
    n_rows, n_cols, matrix = lp.num_row_, lp.num_col_, lp.a_matrix_
    parts = np.array(matrix.value_), np.array(matrix.index_, int), np.array(matrix.start_, int)
    by_columns = "kColwise" in str(matrix.format_)
    A = sp.csc_array(parts, (n_rows, n_cols)) if by_columns else sp.csr_array(parts, (n_rows, n_cols)).tocsc()
    whole = np.array([int("kContinuous" not in str(kind)) for kind in lp.integrality_] or [0] * n_cols, np.uint8)
    model = _model(
        A,
        (np.array(lp.col_cost_), float(lp.offset_)),
        (np.array(lp.row_lower_), np.array(lp.row_upper_)),
        (np.array(lp.col_lower_), np.array(lp.col_upper_)),
        whole,
    )
    kinds = {str(kind).rpartition(".")[2] for kind in lp.integrality_} - {"kContinuous", "kInteger"}
    beyond = f"columns of the kind {min(kinds)}" if kinds else ""
    beyond = "a quadratic objective" if highs.getModel().hessian_.dim_ else beyond
    ended = HIGHS.get(highs.modelStatusToString(highs.getModelStatus()).lower(), Termination.UNKNOWN)
    if info.primal_solution_status != 2:  # kSolutionStatusFeasible
        return Solved(name, model, None, ended, None, beyond=beyond)
    bound = float(info.mip_dual_bound) if whole.any() else None
    bound = bound if bound is not None and np.isfinite(bound) else None
    point = np.array(highs.getSolution().col_value)
    return Solved(name, model, point, ended, bound, info.objective_function_value, beyond)


def _of_gurobi(theirs: Any) -> Solved:
    """Read a gurobipy.Model that was optimized; Gurobi reference manual, "Attributes"."""
    columns, rows = theirs.getVars(), theirs.getConstrs()
    if theirs.ModelSense != 1:
        raise SolutionError("expected a minimisation, as odtc builds them, got a maximisation from gurobipy")
    kinds = theirs.getAttr("VType", columns)
    sense, side = np.array([row.Sense for row in rows], "U1"), np.array([row.RHS for row in rows], float)
    model = _model(
        theirs.getA().tocsc(),
        (np.array(theirs.getAttr("Obj", columns)), float(theirs.ObjCon)),
        (np.where(sense == "<", -np.inf, side), np.where(sense == ">", np.inf, side)),
        (np.array(theirs.getAttr("LB", columns)), np.array(theirs.getAttr("UB", columns))),
        np.array([kind != "C" for kind in kinds], np.uint8),
    )
    beyond = _beyond_rows(theirs, set(kinds))
    ended, name = GUROBI.get(theirs.Status, Termination.UNKNOWN), "Gurobi"
    if not theirs.SolCount:
        return Solved(name, model, None, ended, None, beyond=beyond)
    bound = float(theirs.ObjBound) if theirs.IsMIP else None
    return Solved(name, model, np.array(theirs.getAttr("X", columns)), ended, bound, float(theirs.ObjVal), beyond)


def _beyond_rows(theirs: Any, kinds: set[str]) -> str:
    """Return the parts of a gurobipy.Model in addition to linear constraints and variables, in words; "" if there are
    none."""
    counts = {
        "quadratic rows": theirs.NumQConstrs,
        "special ordered sets": theirs.NumSOS,
        "general constraints": theirs.NumGenConstrs,
        "piecewise linear costs": theirs.NumPWLObjVars,
        "a quadratic objective": int(theirs.IsQP),
        "several objectives": int(theirs.NumObj > 1),
        "scenarios": theirs.NumScenarios,
        "rows or cuts of a callback": theirs.Params.LazyConstraints or theirs.Params.PreCrush,
        "semi-continuous columns": len(kinds - {"C", "B", "I"}),
    }
    return next((what for what, count in counts.items() if count), "")


def _model(A: Any, objective: tuple, rows: tuple, columns: tuple, whole: np.ndarray) -> Model:
    """Build a model of arrays."""
    import scipy.sparse as sp

    n_rows, n_cols = A.shape
    return Model(
        "in memory",
        *objective,
        *map(_infinite, (*rows, *columns)),
        whole,
        (NamedBlock(tuple(f"C{j}" for j in range(n_cols)), 0, "columns"),),
        (NamedBlock(tuple(f"R{i}" for i in range(n_rows)), 0, "rows"),),
        matrix=sp.csc_array(A),
    )


def _infinite(side: np.ndarray) -> np.ndarray:
    """Replace bounds beyond 1e20 by infinite ones, as in HiGHS and Gurobi."""
    return np.where(side >= 1e20, np.inf, np.where(side <= -1e20, -np.inf, side))
