"""OR-tools: its MPS import and the SCIP that it bundles, in one thread. The log of CP-SAT is read, too (--log).

Source of the log format: OR-tools source, CpSolverResponseStats and linear_solver/solve.cc.
"""

import re

from odtc.model.solution import Termination
from odtc.solvers.protocols import Dialect

NAME = "OR-tools"
SUMMARY = "the SCIP inside the package ortools, one thread, no starts; MIP and LP"
DIALECT = Dialect(reads=("mps", "fixed-mps"))
PROGRAMS = ()
PACKAGE, DRIVER = "ortools", "ortools"
VERSION = ((), r"(?!)")
COMMAND = "ortools"
SOLUTION = "file"
BOUND = re.compile(r"^(?:best_bound: |Dual Bound +: +)(\S+)", re.M)

WORDS = {
    "OPTIMAL": Termination.OPTIMAL,
    "FEASIBLE": Termination.TIME_LIMIT,  # stopped with a point, before the proof
    "UNKNOWN": Termination.TIME_LIMIT,  # stopped without one
    "NOT_SOLVED": Termination.TIME_LIMIT,
    "INFEASIBLE": Termination.INFEASIBLE,
    "UNBOUNDED": Termination.UNBOUNDED,
    "CANCELLED_BY_USER": Termination.INTERRUPTED,
    "ABNORMAL": Termination.ERROR,
    "MODEL_INVALID": Termination.ERROR,
}
STATUS = re.compile(r"^(?:CpSolverResponse summary:\s+status: |Status +: MPSOLVER_)(\w+)", re.M)


def read_log(text: str) -> Termination | None:
    """Return how the run ended, from "CpSolverResponse summary:" and the line "status: OPTIMAL" under it."""
    found = STATUS.findall(text)
    return WORDS.get(found[-1], Termination.UNKNOWN) if found else None
