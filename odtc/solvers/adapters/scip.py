"""SCIP: its command line, or the shell inside the library of pyscipopt.

Source of the log format: SCIP documentation, SCIPprintStatus; docs/reference/file-formats.md.
"""

import re
from typing import Any

import numpy as np

from odtc.fileformats.status_words import SCIP
from odtc.model.solution import Options, Termination
from odtc.solvers.cut_rows import CutCalls, stated_rows
from odtc.solvers.protocols import Dialect, Outcome

NAME = "SCIP"
SUMMARY = "by its command line, or the shell inside the package pyscipopt; MIP and LP"
DIALECT = Dialect(reads=("mps", "lp", "fixed-mps"), start="name-value", start_suffix=".mst", lp_start=True, cuts=True)
PROGRAMS = ("scip",)
PACKAGE = "pyscipopt"
DRIVER = DRIVER_COMMAND = "scip"
VERSION = (("--version",), r"SCIP version (\S+)")
COMMAND = "scip"
SOLUTION = "file"
LIVE = re.compile(r"\| +(?P<bound>\S+) +\| +(?P<incumbent>\S+) +\| +[^|]+\|[^|]+$")
BOUND = re.compile(r"^Dual Bound +: +(\S+)", re.M)
NODES = re.compile(r"^Solving Nodes +: +(\d+)", re.M)
WITHIN_GAP = re.compile(r"^SCIP Status +: .*\[gap limit reached\]", re.M)
# A model that presolve solves has no line on its start but that it is a candidate.
STARTED = re.compile(
    r"[1-9]\d*/\d+ feasible solution given by solution candidate storage|found by completesol"
    r"|was accepted as candidate[\s\S]*^presolving solved problem$",
    re.M,
)

STATUS = re.compile(r"^SCIP Status +: .*\[(.+)\]\s*$", re.M)


def read_log(text: str) -> Termination | None:
    """Return the outcome from the last "SCIP Status : problem is solved [optimal solution found]"; a limit other than
    the time limit is `unknown`."""
    found = STATUS.findall(text)
    return SCIP.get(found[-1], Termination.UNKNOWN) if found else None


STATUS_WORDS = {
    "optimal": Termination.OPTIMAL,
    "gaplimit": Termination.OPTIMAL,
    "infeasible": Termination.INFEASIBLE,
    "unbounded": Termination.UNBOUNDED,
    "inforunbd": Termination.INFEASIBLE_OR_UNBOUNDED,
    "timelimit": Termination.TIME_LIMIT,
    "userinterrupt": Termination.INTERRUPTED,
}


def run_with_cuts(model: Any, options: Options, start: np.ndarray | None, calls: CutCalls) -> Outcome:
    """Solve with a constraint handler of pyscipopt (SCIP documentation, "How to add constraint handlers").

    SCIP does not know the rows that will be added, so symmetries and dual reductions of the others are not valid. Its
    own cuts are switched off, because only the caller's cuts matter here.
    """
    import pyscipopt

    scip = pyscipopt.Model()
    scip.hideOutput()
    settings = {
        "limits/gap": options.gap,
        "limits/absgap": options.gap,
        "randomization/randomseedshift": options.seed,
        "misc/usesymmetry": 0,
        "misc/catchctrlc": False,
        "misc/allowstrongdualreds": False,
        "misc/allowweakdualreds": False,
    }
    if options.time_limit is not None:
        settings["limits/time"] = options.time_limit
    for name, value in settings.items():
        scip.setParam(name, value)
    scip.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
    columns = [
        scip.addVar(lb=low, ub=high, obj=cost, vtype="I" if whole else "C")
        for low, high, cost, whole in zip(model.col_lower, model.col_upper, model.c, model.integrality)
    ]
    for index, coef, low, high in stated_rows(model):
        terms = {pyscipopt.scip.Term(columns[j]): a for j, a in zip(index, coef)}
        scip.addCons(pyscipopt.scip.ExprCons(pyscipopt.scip.Expr(terms), low, high))
    # Behind integrality (priority 0), so that only whole points are enforced and checked.
    order: dict[str, Any] = {"sepapriority": 1, "enfopriority": -1, "chckpriority": -1, "sepafreq": 1}
    scip.includeConshdlr(_handler(columns, calls), "odtc", "cuts of odtc", needscons=False, **order)
    given = "none"
    if start is not None:
        point = scip.createSol()
        for column, value in zip(columns, start):
            scip.setSolVal(point, column, value)
        given = "accepted" if scip.addSol(point) else "rejected"
    scip.optimizeNogil()
    best = scip.getBestSol() if scip.getNSols() else None
    x = None if best is None else np.array([scip.getSolVal(best, column) for column in columns])
    objective, bound = None if best is None else scip.getObjVal(), scip.getDualbound()
    status = STATUS_WORDS.get(scip.getStatus(), Termination.UNKNOWN)
    known = bound if abs(bound) < scip.infinity() else None
    return Outcome(x, status, objective, known, int(scip.getNTotalNodes()), given)


def _handler(columns: list[Any], calls: CutCalls) -> Any:
    """Return a pyscipopt.Conshdlr that separates, enforces and checks cuts."""
    from pyscipopt import SCIP_RESULT, Conshdlr

    class Handler(Conshdlr):
        def rows(self, point: Any, whole: bool) -> list[tuple[list[int], list[float], float]]:
            found = calls.rows([self.model.getSolVal(point, column) for column in columns], whole)
            if calls.stop:
                self.model.interruptSolve()
            return found

        def consinitsol(self, constraints: Any) -> None:
            self.inside = [self.model.getTransformedVar(column) for column in columns]

        def add(self, whole: bool) -> bool:
            rows = self.rows(None, whole)
            for index, coef, upper in rows:
                cut = self.model.createEmptyRowUnspec("cut", None, upper, local=False, removable=True)
                self.model.cacheRowExtensions(cut)
                for j, a in zip(index, coef):
                    self.model.addVarToRow(cut, self.inside[j], a)
                self.model.flushRowExtensions(cut)
                self.model.addCut(cut, forcecut=True)
                self.model.releaseRow(cut)
            return bool(rows)

        def conssepalp(self, constraints: Any, n_useful: Any) -> Any:
            return {"result": SCIP_RESULT.SEPARATED if self.add(False) else SCIP_RESULT.DIDNOTFIND}

        def consenfolp(self, constraints: Any, n_useful: Any, infeasible: Any) -> Any:
            return {"result": SCIP_RESULT.SEPARATED if self.add(True) else SCIP_RESULT.FEASIBLE}

        def consenfops(self, constraints: Any, n_useful: Any, infeasible: Any, worse: Any) -> Any:
            return {"result": SCIP_RESULT.SOLVELP if self.rows(None, True) else SCIP_RESULT.FEASIBLE}

        def conscheck(self, constraints: Any, point: Any, *how: Any) -> Any:
            return {"result": SCIP_RESULT.INFEASIBLE if self.rows(point, True) else SCIP_RESULT.FEASIBLE}

        def conslock(self, constraint: Any, kind: Any, up: int, down: int) -> None:
            for column in columns:
                self.model.addVarLocks(column, up + down, up + down)

    return Handler()
