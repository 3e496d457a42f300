"""FICO Xpress: its console, or the package xpress.

Source of the log format: Xpress Optimizer reference manual, "Console output"; docs/reference/file-formats.md.
"""

import re
import warnings
from typing import Any

import numpy as np

from odtc.model.solution import Options, Termination
from odtc.solvers.cut_rows import CutCalls, stated_rows
from odtc.solvers.protocols import Dialect, Outcome

NAME = "Xpress"
SUMMARY = "by its console, or through the package xpress; MIP and LP"
DIALECT = Dialect(
    start="xpress", start_suffix=".slx", cuts=True, duals=True, limit="5000 columns and rows together without a licence"
)
PROGRAMS = ("optimizer",)
PACKAGE, DRIVER = "xpress", "xpress"
VERSION = ((), r"Optimizer v(\S+)")
COMMAND = "xpress"
SOLUTION = "file"
LIVE = re.compile(r"^[A-Za-z*]? *\d+(?: +[A-Z])? +(?P<incumbent>-?\d+\.\d+) +(?P<bound>-?\d+\.\d+) +\d+ ")
OPTIONS = STDIN_OPTIONS = True  # its console takes commands from its input
BOUND = re.compile(r"^Final MIP bound +: (\S+)", re.M)
STARTED = re.compile(r"\*\*\* Solution found: .* Heuristic: U \*\*\*|\*\*\* Solution loaded \*\*\*")

# Of the lines from the last "*** Search ... ***" on, and those of its stop, the first in this order.
WORDS = {
    "Problem is integer infeasible": Termination.INFEASIBLE,
    "Problem is infeasible": Termination.INFEASIBLE,
    "Problem is unbounded": Termination.UNBOUNDED,
    "STOPPING - MAXTIME limit reached": Termination.TIME_LIMIT,
    "STOPPING - TIMELIMIT limit reached": Termination.TIME_LIMIT,
    "STOPPING - User interrupt": Termination.INTERRUPTED,
    "*** Search unfinished ***": Termination.UNKNOWN,
    "Final MIP objective": Termination.OPTIMAL,
    "Optimal solution found": Termination.OPTIMAL,
}
RELAXED = "Optimal solution found"
BANNER = re.compile(r"^(FICO Xpress|(?:Minimizing|Maximizing) \w+ .* using \d+ thread)", re.M)
SOLUTIONS = re.compile(r"Number of solutions found / nodes +: +(\d+) /")


def read_log(text: str) -> Termination | None:
    """Return the outcome from the end of its search; None if the log has no end of a search."""
    if not BANNER.search(text):
        return None
    ends = [at.start() for at in re.finditer(r"^ *\*\*\* Search \w+ \*\*\*", text, re.M)]
    begin = ends[-1] if ends else 0
    # The reason of a stop is just above.
    end = "\n".join(text[:begin].splitlines()[-3:]) + "\n" + text[begin:]
    # Of a MIP's log that breaks off, that is said of the relaxation.
    relaxed = not ends and re.search(r"^(?:Mini|Maxi)mizing MI", text, re.M)
    found = (termination for words, termination in WORDS.items() if words in end and not (relaxed and words == RELAXED))
    return next(found, None)


def has_point(text: str) -> bool | None:
    """Return whether it found a solution: without one, its solution file contains the linear relaxation. None if the
    log does not say."""
    found = SOLUTIONS.findall(text)
    return int(found[-1]) > 0 if found else None


def run_with_cuts(model: Any, options: Options, start: np.ndarray | None, calls: CutCalls) -> Outcome:
    """Solve with callbacks of the package xpress (Xpress Optimizer reference manual, "Using the callbacks").

    Cuts of a callback are on the columns of the presolved problem, so presolve is off; symmetries and dual reductions
    of the rows that Xpress knows are not valid for those that will come.
    """
    theirs = _held_by_xpress(model, options)
    if start is not None:
        theirs.addMipSol(start.tolist())

    def at_node(prob: Any, data: Any) -> int:
        rows = calls.rows(prob.getCallbackSolution())
        if calls.stop:
            prob.interrupt()
        if rows:
            begins = np.cumsum([0, *(len(index) for index, _, _ in rows)]).tolist()
            index = [j for row, _, _ in rows for j in row]
            coef = [a for _, row, _ in rows for a in row]
            prob.addCuts([0] * len(rows), ["L"] * len(rows), [upper for _, _, upper in rows], begins, index, coef)
        return 0

    def before_point(prob: Any, data: Any, kind: int, cutoff: float) -> Any:
        return int(bool(calls.rows(prob.getCallbackSolution(), True))), None

    theirs.addOptnodeCallback(at_node, None, 0)
    theirs.addPreIntsolCallback(before_point, None, 0)
    theirs.optimize()
    attributes = theirs.attributes
    words = {1: "optimal", 2: "time_limit", 3: "infeasible", 4: "unbounded"}
    status = Termination(words.get(int(attributes.solstatus), "time_limit"))
    found = int(attributes.solstatus) in (1, 2)
    point = np.array(theirs.getSolution(), float) if found else None
    return Outcome(point, status, attributes.objval if found else None, attributes.bestbound, int(attributes.nodes))


def _held_by_xpress(model: Any, options: Options) -> Any:
    """Return an xpress.problem with the model and the options."""
    import xpress

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a licence for small problems
        xpress.init()
    theirs = xpress.problem()
    control: dict[str, Any] = {"outputlog": 0, "presolve": 0, "mippresolve": 0, "symmetry": 0, "mipdualreductions": 0}
    control |= {"miprelstop": options.gap, "mipabsstop": options.gap, "randomseed": options.seed}
    control |= {"threads": options.threads or 1}  # several threads would call `cuts` at the same time
    control |= {} if options.time_limit is None else {"timelimit": options.time_limit}
    for name, value in control.items():
        setattr(theirs.controls, name, value)
    x = [
        theirs.addVariable(lb=low, ub=high, vartype=xpress.integer if whole else xpress.continuous)
        for low, high, whole in zip(model.col_lower, model.col_upper, model.integrality)
    ]
    theirs.setObjective(xpress.Sum(cost * column for cost, column in zip(model.c.tolist(), x)))
    for index, coef, low, high in stated_rows(model):
        body = xpress.Sum(a * x[j] for j, a in zip(index, coef))
        if low is not None:
            theirs.addConstraint(body == low if low == high else body >= low)
        if high is not None and low != high:
            theirs.addConstraint(body <= high)
    return theirs
