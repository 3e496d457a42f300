"""Protocols of solvers that run as programs and of solvers inside Python packages, and the registry of solvers."""

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from odtc.base.registry import Contract, Registry
from odtc.model.solution import Termination
from odtc.solvers.capabilities import Dialect

# Takes a point, float64 (columns,), and whether its integer columns are whole. Returns violated rows: A, csr_array
# (rows, columns), and their upper sides, float64 (rows,); A @ x <= upper for every feasible point. Without such a row,
# a whole point is feasible.
Cuts = Callable[[np.ndarray, bool], tuple[Any, np.ndarray]]


class Solver(Protocol):
    """Parts that every solver defines. The patterns apply to its log; their last match counts."""

    NAME: str  # as people write it
    SUMMARY: str
    DIALECT: Dialect  # the files that it reads
    ELSEWHERE: str = ""  # the solver that a script for another machine calls instead

    BOUND: re.Pattern[str] | None = None  # its lower bound
    BOUND_ERROR: float = 0.0  # how far the bound may lie below the number that it prints, if that is rounded
    NODES: re.Pattern[str] | None = None  # its number of nodes
    WITHIN_GAP: re.Pattern[str] | None = None  # an "optimal" that means: as good as was wanted, and no more
    STARTED: re.Pattern[str] | None = None  # that the MIP start was taken
    LIVE: re.Pattern[str] | None = None  # a line of its table: "incumbent" (or "found") and "bound", as rounded there

    @abstractmethod
    def read_log(self, text: str) -> Termination | None:
        """Return how the run ended; None if the log is not from this solver, or does not say."""
        ...

    def has_point(self, text: str) -> bool | None:
        """Return whether the log says that there is a solution; None if the solution file decides."""
        return None


class ProgramSolver(Protocol):
    """A solver that is a program (odtc.solvers.external); it may also be found in a Python package."""

    PROGRAMS: tuple[Any, ...]  # names to look for on PATH and beside this Python
    COMMAND: str  # its template in templates/command: one argument a line, blank lines left out
    SOLUTION: str  # "file", or "stdout" if it only prints its solution
    VERSION: tuple[Any, ...] | None = None  # (arguments, pattern) that make it say its version
    PACKAGE: str | None = None  # the Python package that brings it
    DRIVER: str | None = None  # the module of odtc.solvers.drivers that runs the package
    DRIVER_COMMAND: str = "driver"  # the template of the driver's arguments
    OPTIONS: bool = False  # whether it has a file of options, by a template in templates/options
    STDIN_OPTIONS: bool = False  # whether that file is its input
    # Of a solver that a TOML file describes: its arguments, the folder of the file, and the lines of its solution.
    ARGUMENTS: list[Any] | None = None
    FOLDER: str = ""
    PATTERN: re.Pattern[str] | None = None

    def bundled(self) -> Any:
        """The Program inside the package, if no driver runs that; None if there is none."""
        return None


class PackageSolver(Protocol):
    """A solver that runs inside a Python package, in a process of its own."""

    @abstractmethod
    def run(self, job: Any, emit: Callable[[Any], object], cancelled: Callable[[], bool]) -> Any:
        """The Outcome of a Job; events go to `emit`, and `cancelled` says whether to stop (odtc.solvers.messages)."""
        ...

    @abstractmethod
    def version(self) -> str | None:
        """Its version, None if it is not installed."""
        ...


class CutSolver(Protocol):
    """A solver whose Python package, its PACKAGE, adds cuts inside one branch-and-bound tree
    (odtc.solvers.solve.solve_with_cuts)."""

    @abstractmethod
    def run_with_cuts(self, model: Any, options: Any, start: Any, calls: Any) -> Any:
        """Return the Outcome of a Model whose feasible points also satisfy the rows that `calls` returns, a CutCalls
        (odtc.solvers.cut_rows) that also states when to stop."""
        ...


SOLVERS = Registry(
    "solver",
    "odtc.solvers.adapters",
    (
        "highs",
        "highs-cli",
        "cbc",
        "scip",
        "glpk",
        "lp_solve",
        "symphony",
        "ortools",
        "gurobi",
        "cplex",
        "xpress",
        "copt",
        "cuopt",
    ),
    Contract(always=(Solver,), one_of=(ProgramSolver, PackageSolver), may=(CutSolver,)),
    "odtc.solvers",
)
