"""Gurobi: gurobi_cl, or the package gurobipy.

Source of the log format: Gurobi reference manual, "Logging"; docs/reference/file-formats.md.
"""

import re
from typing import Any

import numpy as np

from odtc.model.in_packages import gurobi_of
from odtc.model.solution import Options, Termination
from odtc.solvers.cut_rows import CutCalls
from odtc.solvers.drivers import gurobi as driver
from odtc.solvers.protocols import Dialect, Outcome

NAME = "Gurobi"
SUMMARY = "by gurobi_cl, or through the package gurobipy; MIP and LP"
DIALECT = Dialect(
    start="name-value", start_suffix=".mst", cuts=True, duals=True, limit="2000 columns and 2000 rows without a licence"
)
PROGRAMS = ("gurobi_cl",)
PACKAGE, DRIVER = "gurobipy", "gurobi"
VERSION = (("--version",), r"version (\S+)")
COMMAND = "gurobi"
SOLUTION = "file"
LIVE = re.compile(r"^[ H*].* (?P<incumbent>\S+) +(?P<bound>\S+) +(?:[\d.]+%|-) +\S+ +\d+s$")
BOUND = re.compile(r"best bound (\S+),", re.M)
NODES = re.compile(r"^Explored (\d+) nodes", re.M)
STARTED = re.compile(r"^(?:Loaded user MIP start|User MIP start produced solution) with objective", re.M)

# The last of these in the log holds.
WORDS = {
    "optimal solution found": Termination.OPTIMAL,
    "optimal objective": Termination.OPTIMAL,  # of an LP
    "model is infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "infeasible or unbounded model": Termination.INFEASIBLE_OR_UNBOUNDED,
    "model is infeasible": Termination.INFEASIBLE,
    "infeasible model": Termination.INFEASIBLE,
    "model is unbounded": Termination.UNBOUNDED,
    "unbounded model": Termination.UNBOUNDED,
    "time limit reached": Termination.TIME_LIMIT,
    "solve interrupted": Termination.INTERRUPTED,
    "interrupt request received": Termination.INTERRUPTED,
}
BANNER = re.compile(r"^(Gurobi Optimizer version|Gurobi \S+ \(|Set parameter LogFile)", re.M)
LINE = re.compile("^(" + "|".join(map(re.escape, WORDS)) + ")", re.M | re.I)


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from the last line of words, "Optimal solution found (tolerance 0.00e+00)"."""
    if not BANNER.search(text):
        return None
    found = LINE.findall(text)
    return WORDS[found[-1].lower()] if found else None


def run_with_cuts(model: Any, options: Options, start: np.ndarray | None, calls: CutCalls) -> Outcome:
    """Solve with a callback of gurobipy (Gurobi reference manual, "Callbacks"): MIPSOL and MIPNODE."""
    import gurobipy
    from gurobipy import GRB

    theirs = gurobi_of(model, gurobipy.Env(params={"OutputFlag": 0}))
    theirs.ObjCon, params, x = 0.0, theirs.Params, theirs.getVars()
    params.LazyConstraints, params.MIPGap, params.MIPGapAbs, params.Seed = 1, options.gap, options.gap, options.seed
    if options.threads is not None:
        params.Threads = options.threads
    if options.time_limit is not None:
        params.TimeLimit = options.time_limit
    if start is not None:
        theirs.setAttr("Start", x, start.tolist())

    def callback(theirs: Any, where: int) -> None:
        if calls.stop:
            theirs.terminate()
        if where == GRB.Callback.MIPSOL:
            rows = calls.rows(theirs.cbGetSolution(x), True)
        elif where == GRB.Callback.MIPNODE and theirs.cbGet(GRB.Callback.MIPNODE_STATUS) == GRB.OPTIMAL:
            rows = calls.rows(theirs.cbGetNodeRel(x), False)
        else:
            return
        for index, coef, upper in rows:
            theirs.cbLazy(gurobipy.LinExpr(coef, [x[j] for j in index]), "<", upper)

    theirs.optimize(callback)
    found = bool(theirs.SolCount)
    status = Termination(driver.STATUS.get(theirs.Status, "unknown"))
    point = np.array(theirs.getAttr("X", x)) if found else None
    return Outcome(point, status, theirs.ObjVal if found else None, theirs.ObjBound, int(theirs.NodeCount))
