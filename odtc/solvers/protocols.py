"""Protocols of solvers that run as programs and of solvers inside Python packages, the records that a solver and the
process that started it exchange, and the registry of solvers.

Files stay in the subset that all solvers read alike (docs/reference/file-formats.md), so most solvers need no flag of
their `Dialect` except the form of their starts. If a dialect cannot express something, the command reports it; it is
never dropped.
"""

import re
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from odtc.base.registry import Contract, Registry
from odtc.base.value_class import frozen_class
from odtc.errors import OdtcError, SolverError
from odtc.model.solution import Options, Termination


@frozen_class
class Job:
    """A model as arrays, which can be sent to another process. `A` is a csc_array, `start` a point."""

    c: np.ndarray
    offset: float
    A: Any
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_lower: np.ndarray
    col_upper: np.ndarray
    integrality: np.ndarray
    options: Options
    start: np.ndarray | None = None


@frozen_class
class Incumbent:
    """A point that a running solver has found: float64 of shape (columns,)."""

    x: np.ndarray


@frozen_class
class Log:
    """A piece of a running solver's log."""

    text: str


@frozen_class
class Outcome:
    """Report of a solver at its end; `objective` and `bound` are its own claims."""

    x: np.ndarray | None = field(repr=False)
    termination: Termination
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    start: str = "none"
    message: str = ""
    cpu_seconds: float | None = None

    @classmethod
    def failed(cls, problem: Exception) -> "Outcome":
        """Return the report of a solver whose package raised an exception, which is named unless its text is a sentence
        of odtc."""
        name = "" if isinstance(problem, OdtcError) else f"{type(problem).__name__}: "
        return cls(None, Termination.ERROR, message=f"{name}{problem}")

    @classmethod
    def checked(cls, found: Any, solver: str, columns: int) -> "Outcome":
        """Return the result of `run` of a solver. Raises SolverError if it is not an Outcome for a model with this many
        columns."""
        expected = f"expected an Outcome from run() of the solver {solver!r}"
        if not isinstance(found, cls):
            raise SolverError(f"{expected}, got {type(found).__name__}")
        if not isinstance(found.termination, Termination):
            raise SolverError(f"{expected} with one of Termination, got {found.termination!r}")
        if found.x is not None and np.shape(found.x) != (columns,):
            shape = np.shape(found.x)
            raise SolverError(f"{expected} with a value for each of the {columns} columns, got shape {shape}")
        return found


@frozen_class
class Dialect:
    """The file dialect of a solver.

    `reads`: model formats, best first. `gzip`: whether it reads them as .gz. `start`: the point format of its MIP
    starts, which must be complete (None: it has no starts). `lp_start`: whether it accepts a start for a model without
    integer variables, too (CPLEX ends with an error, others ignore it). `cuts`: whether USERCUTS and LAZYCONS sections
    have their usual meaning (docs/reference/file-formats.md). `duals`: whether its solutions of an LP contain duals.
    `limit`: the restriction without a licence.
    """

    reads: tuple[str, ...] = ("mps", "lp", "fixed-mps")
    gzip: bool = True
    start: str | None = None
    start_suffix: str = ".sol"
    lp_start: bool = False
    cuts: bool = False
    duals: bool = False
    limit: str = ""

    def words(self) -> str:
        """One line for `odtc list solvers`."""
        said = ["reads " + ", ".join(self.reads) + (" and .gz" if self.gzip else ", no .gz")]
        said += ["MIP starts" if self.start else "no MIP starts", "lazy rows" if self.cuts else "no lazy rows"]
        said += ["duals"] if self.duals else []
        said += [self.limit] if self.limit else []
        return ", ".join(said)


# A function of a point, float64 (columns,), and whether its integer columns are whole. It returns violated rows as A,
# csr_array (rows, columns), and upper sides, float64 (rows,), so that A @ x <= upper for every feasible point. If it
# returns no rows, a whole point is feasible.
Cuts = Callable[[np.ndarray, bool], tuple[Any, np.ndarray]]


class Solver(Protocol):
    """Parts that every solver defines. The patterns apply to its log; their last match counts."""

    NAME: str  # as people write it
    SUMMARY: str
    DIALECT: Dialect  # the files that it reads
    ELSEWHERE: str = ""  # the solver that a script for another machine calls instead

    BOUND: re.Pattern[str] | None = None  # its lower bound
    BOUND_ERROR: float = 0.0  # largest amount by which the printed bound may exceed the true bound, due to rounding
    NODES: re.Pattern[str] | None = None  # its number of nodes
    WITHIN_GAP: re.Pattern[str] | None = None  # a report of "optimal" that means only within the requested gap
    STARTED: re.Pattern[str] | None = None  # a report that the MIP start was accepted
    LIVE: re.Pattern[str] | None = None  # a line of its progress table: groups "incumbent" (or "found") and "bound"

    @abstractmethod
    def read_log(self, text: str) -> Termination | None:
        """Return how the run ended; None if the log is not from this solver, or does not state it."""
        ...

    def has_point(self, text: str) -> bool | None:
        """Return whether the log reports a solution; None if the solution file decides."""
        return None


class ProgramSolver(Protocol):
    """A solver that is a program (odtc.solvers.external); it may also be found in a Python package."""

    PROGRAMS: tuple[Any, ...]  # names to look for on PATH and next to this Python
    COMMAND: str  # its template in templates/command: one argument per line; blank lines are ignored
    SOLUTION: str  # "file", or "stdout" if it only prints its solution
    VERSION: tuple[Any, ...] | None = None  # (arguments that make it print its version, pattern of the output)
    PACKAGE: str | None = None  # the Python package that contains it
    DRIVER: str | None = None  # the module of odtc.solvers.drivers that runs the package
    DRIVER_COMMAND: str = "driver"  # the template of the driver's arguments
    OPTIONS: bool = False  # whether it has a file of options, by a template in templates/options
    STDIN_OPTIONS: bool = False  # whether the file of options is its standard input
    # For a solver that a TOML file describes: its arguments, the folder of the file, and the lines of its solution.
    ARGUMENTS: list[Any] | None = None
    FOLDER: str = ""
    PATTERN: re.Pattern[str] | None = None

    def bundled(self) -> Any:
        """Return the Program inside the package, if it runs without a driver; otherwise None."""
        return None


class PackageSolver(Protocol):
    """A solver that runs inside a Python package, in a process of its own."""

    @abstractmethod
    def run(self, job: Job, emit: Callable[[Incumbent | Log], object], cancelled: Callable[[], bool]) -> Outcome:
        """Return the Outcome of a Job; events go to `emit`, and `cancelled()` is true when it should stop."""
        ...

    @abstractmethod
    def version(self) -> str | None:
        """Return its version, None if it is not installed."""
        ...


class CutSolver(Protocol):
    """A solver whose Python package, its PACKAGE, adds cuts inside one branch-and-bound tree
    (odtc.solvers.solve.solve_with_cuts)."""

    @abstractmethod
    def run_with_cuts(self, model: Any, options: Any, start: Any, calls: Any) -> Any:
        """Return the Outcome of a Model whose feasible points must also satisfy the rows that `calls` returns. `calls`
        is a CutCalls (odtc.solvers.cut_rows), which also states when to stop."""
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
