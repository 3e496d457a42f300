"""CPLEX: the interactive optimizer, or the package cplex.

Source of the log format: CPLEX manual, "Solution status symbols"; docs/reference/file-formats.md.
"""

import re
from typing import Any

import numpy as np

from odtc.model.solution import Options, Termination
from odtc.solvers.cut_rows import CutCalls, stated_rows
from odtc.solvers.drivers import cplex as driver
from odtc.solvers.protocols import Dialect, Outcome

NAME = "CPLEX"
SUMMARY = "by its interactive optimizer, or through the package cplex; MIP and LP"
DIALECT = Dialect(
    start="cplex", start_suffix=".mst", cuts=True, duals=True, limit="1000 columns and 1000 rows without a licence"
)
PROGRAMS = ("cplex",)
PACKAGE, DRIVER = "cplex", "cplex"
VERSION = (("-c", "quit"), r"Optimizer (\S+)")
COMMAND = "cplex"
OPTIONS = True  # a file of commands
SOLUTION = "file"
LIVE = re.compile(
    r"^\*? +\d+\+? +\d+ .*? (?P<incumbent>-?\d[\d.e+]*) +(?P<bound>-?\d+\.\d+(?:e[+-]\d+)?|\w+: \d+)(?: +\d+)? "
    r"+[\d.]+%$"
)
BOUND = re.compile(r"^Current MIP best bound = +(\S+)", re.M)
WITHIN_GAP = re.compile(r"^MIP - Integer optimal, tolerance", re.M | re.I)
STARTED = re.compile(r"[1-9]\d* of \d+ MIP starts provided solutions")

# The status string (CPXgetstatstring), which the interactive optimizer prints after "MIP - ".
WORDS = {
    "integer optimal": Termination.OPTIMAL,  # also "..., tolerance"
    "integer infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "integer infeasible": Termination.INFEASIBLE,
    "integer unbounded": Termination.UNBOUNDED,
    "unbounded or infeasible": Termination.INFEASIBLE_OR_UNBOUNDED,
    "infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "time limit exceeded": Termination.TIME_LIMIT,
    "aborted": Termination.INTERRUPTED,
    "optimal": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
}
BANNER = re.compile(r"^(Version identifier: \S+ \||Welcome to IBM.* ILOG|CPXPARAM_|status \d+ )", re.M)
STATUS = re.compile(
    r"^(?:MIP - |Presolve - |(?:Dual|Primal) simplex - |Barrier - |status \d+ )(" + "|".join(WORDS) + ")", re.M | re.I
)
LIMIT = re.compile(r"^CPXPARAM_TimeLimit +(\S+)", re.M)
TOTAL = re.compile(r"^Total \(root\+branch&cut\) = +(\S+) sec", re.M)
PRESOLVE = {
    "Integer infeasible": Termination.INFEASIBLE,
    "Infeasibility": Termination.INFEASIBLE,
    "Dual infeasible": Termination.INFEASIBLE_OR_UNBOUNDED,
}


def read_log(text: str) -> Termination | None:
    """Return the end of a run from a line such as "MIP - Integer optimal solution". The log of the package has no such
    line: there it follows from presolve, or from the time used and the time allowed; None if both leave it open."""
    if not BANNER.search(text):
        return None
    found = STATUS.findall(text)
    if found:
        return WORDS[found[-1].lower()]
    for words, termination in PRESOLVE.items():
        if re.search(f"^{words} ", text, re.M):
            return termination
    limit, total = LIMIT.findall(text), TOTAL.findall(text)
    try:
        if limit and total and float(total[-1]) >= 0.99 * float(limit[-1]):
            return Termination.TIME_LIMIT
    except ValueError:
        pass  # a log cut off in the number
    return None


def run_with_cuts(model: Any, options: Options, start: np.ndarray | None, calls: CutCalls) -> Outcome:
    """Solve with a generic callback of the package cplex (CPLEX manual, "Generic callbacks").

    Symmetries and dual reductions of the rows that CPLEX knows are not valid for those that will come.
    """
    import cplex  # type: ignore[import-untyped]
    from cplex.callbacks import Context, UserCutCallback  # type: ignore[import-untyped]

    theirs, columns = _held_by_cplex(model, options), list(range(len(model.c)))
    if start is not None:
        starts = theirs.MIP_starts
        starts.add(cplex.SparsePair(columns, start.tolist()), starts.effort_level.check_feasibility)

    class Callback:
        def invoke(self, context: Any) -> None:
            if calls.stop:
                context.abort()
            if context.in_candidate() and context.is_candidate_point():
                rows = calls.rows(context.get_candidate_point(columns), True)
                if rows:
                    pairs = [cplex.SparsePair(index, coef) for index, coef, _ in rows]
                    context.reject_candidate(pairs, "L" * len(rows), [upper for _, _, upper in rows])
            elif context.in_relaxation():
                force = UserCutCallback.use_cut.force
                for index, coef, upper in calls.rows(context.get_relaxation_point(columns), False):
                    context.add_user_cut(cplex.SparsePair(index, coef), "L", upper, force, False)

    theirs.set_callback(Callback(), Context.id.candidate | Context.id.relaxation)
    theirs.solve()
    solution = theirs.solution
    status, found = Termination(driver.STATUS.get(solution.get_status(), "unknown")), solution.is_primal_feasible()
    point = np.array(solution.get_values()) if found else None
    bound = None if status == Termination.INFEASIBLE else solution.MIP.get_best_objective()
    nodes = int(solution.progress.get_num_nodes_processed())
    return Outcome(point, status, solution.get_objective_value() if found else None, bound, nodes)


def _held_by_cplex(model: Any, options: Options) -> Any:
    """Return a cplex.Cplex with the model and the options."""
    import cplex

    theirs = cplex.Cplex()
    for channel in (theirs.set_log_stream, theirs.set_results_stream, theirs.set_warning_stream):
        channel(None)
    control = theirs.parameters
    control.mip.tolerances.mipgap.set(options.gap)
    control.mip.tolerances.absmipgap.set(options.gap)
    control.randomseed.set(options.seed)
    control.preprocessing.symmetry.set(0)
    control.preprocessing.reduce.set(1)  # primal reductions only
    control.threads.set(options.threads or 1)  # several threads would call `cuts` at the same time
    if options.time_limit is not None:
        control.timelimit.set(options.time_limit)
    names = {"obj": model.c.tolist(), "lb": model.col_lower.tolist(), "ub": model.col_upper.tolist()}
    theirs.variables.add(**names, types="".join("I" if whole else "C" for whole in model.integrality))
    for index, coef, low, high in stated_rows(model):
        sense = "E" if low == high else "L" if low is None else "G" if high is None else "R"
        side, width = (high, 0.0) if low is None else (low, 0.0 if high is None else high - low)
        theirs.linear_constraints.add([cplex.SparsePair(index, coef)], sense, [side], [width])
    return theirs
