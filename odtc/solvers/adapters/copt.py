"""COPT (Cardinal Optimizer): copt_cmd, or the package coptpy.

Source of the log format: COPT reference manual, "Optimization log"; docs/reference/file-formats.md.
"""

import re
from typing import Any

import numpy as np

from odtc.base.system import STDOUT
from odtc.model.solution import Options, Termination
from odtc.solvers.cut_rows import CutCalls, stated_rows
from odtc.solvers.drivers import copt as driver
from odtc.solvers.protocols import Dialect, Outcome

NAME = "COPT"
SUMMARY = "by copt_cmd, or through the package coptpy; MIP and LP"
DIALECT = Dialect(
    start="name-value",
    start_suffix=".mst",
    cuts=True,
    duals=True,
    limit="MIP: 2000 columns and 2000 rows without a licence, LP: 10000",
)
PROGRAMS = ("copt_cmd",)
PACKAGE, DRIVER = "coptpy", "copt"
VERSION = (("-v",), r"Optimizer v?(\S+)")
COMMAND = "copt"
SOLUTION = "file"
LIVE = re.compile(r"^[A-Z* ] +\d+ +\d+ +\S+ +\d+ +(?P<bound>\S+) +(?P<incumbent>\S+) +\S+ +[\d.]+s$")
OPTIONS = True  # a script of commands
BOUND = re.compile(r"^Best bound +: (\S+)", re.M)
NODES = re.compile(r"^Solve node +: (\d+)", re.M)
STARTED = re.compile(r"Initial MIP solution # *\d+ with objective value \S+ was accepted")

# First the reason of its stop, if there is one in brackets, then its result.
STOPPED = {
    "time limit reached": Termination.TIME_LIMIT,
    "interrupted": Termination.INTERRUPTED,
    "user interrupt": Termination.INTERRUPTED,
}
WORDS = {
    "integer optimal": Termination.OPTIMAL,
    "optimal": Termination.OPTIMAL,
    "infeasible or unbounded": Termination.INFEASIBLE_OR_UNBOUNDED,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
}
STATUS = re.compile(r"^MIP status +: \w+(?: \((.+)\))?\s*^Solution status +: (.+?)(?: \(.*\))?\s*$", re.M)
LP_STATUS = re.compile(r"^Solving finished\s*^Status: (\w+)", re.M)


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from "MIP status" and "Solution status" at the end of the log."""
    found = STATUS.findall(text)
    if found:
        stopped, status = found[-1]
        return STOPPED.get(stopped) or WORDS.get(status, Termination.UNKNOWN)
    found = LP_STATUS.findall(text)
    return WORDS.get(found[-1].lower(), Termination.UNKNOWN) if found else None


def run_with_cuts(model: Any, options: Options, start: np.ndarray | None, calls: CutCalls) -> Outcome:
    """Solve with a callback of coptpy (COPT reference manual, "Callbacks"): MIPSOL and MIPRELAX."""
    import coptpy
    from coptpy import COPT

    config = coptpy.EnvrConfig()
    config.set("nobanner", "1")
    with STDOUT.away():  # its banner ignores the setting without a licence
        theirs = coptpy.Envr(config).createModel("model")
    settings: dict[str, Any] = {"Logging": 0, "LazyConstraints": 1, "RelGap": options.gap, "AbsGap": options.gap}
    settings |= {"RandSeed": options.seed, "Threads": options.threads, "TimeLimit": options.time_limit}
    for name, value in settings.items():
        if value is not None:
            theirs.setParam(name, value)
    x = [
        theirs.addVar(lb=low, ub=high, obj=cost, vtype=COPT.INTEGER if whole else COPT.CONTINUOUS)
        for low, high, cost, whole in zip(model.col_lower, model.col_upper, model.c, model.integrality)
    ]

    def sum_of(index: list[int], coef: list[float]) -> Any:
        return coptpy.LinExpr([(x[j], a) for j, a in zip(index, coef)])

    for index, coef, low, high in stated_rows(model):
        low, high = -COPT.INFINITY if low is None else low, COPT.INFINITY if high is None else high
        theirs.addBoundConstr(sum_of(index, coef), low, high)
    if start is not None:
        theirs.setMipStart(x, start.tolist())
        theirs.loadMipStart()

    class Callback(coptpy.CallbackBase):
        def callback(self) -> None:
            if calls.stop:
                self.interrupt()
            whole = self.where() == COPT.CBCONTEXT_MIPSOL
            point: Any = (self.getSolution if whole else self.getRelaxSol)(theirs.getVars())
            for index, coef, upper in calls.rows(point, whole):
                self.addLazyConstr(sum_of(index, coef) <= upper)

    theirs.setCallback(Callback(), COPT.CBCONTEXT_MIPSOL | COPT.CBCONTEXT_MIPRELAX)
    theirs.solve()
    status, found = Termination(driver.STATUS.get(theirs.status, "unknown")), bool(theirs.hasmipsol)
    point = np.array([column.x for column in x]) if found else None
    return Outcome(point, status, theirs.objval if found else None, theirs.bestbnd, int(theirs.nodecnt))
