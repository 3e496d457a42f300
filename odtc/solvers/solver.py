"""The contract of a solver, and the registry of those that are known."""

from odtc.base.registry import Registry
from odtc.errors import SolverError
from odtc.solvers.executables import version as program_version
from odtc.solvers.executables import what_to_install
from odtc.solvers.toml_solver import from_template

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
    ("NAME", "SUMMARY", "DIALECT", "read_log"),
    group="odtc.solvers",
)


def find_solver(name: str):
    """The module of a solver by name, or made from a template file by its path (`my_solver.toml`).

    Raises ChoiceError for an unknown one.
    """
    if str(name).endswith(".toml"):
        return from_template(name)
    return SOLVERS.get(name)


def version(module, program: str | None = None) -> str | None:
    """What is on this machine of this solver: its version, or None where it is not there."""
    return module.version() if hasattr(module, "run") else program_version(module, program)


def installed(solver: str, program: str | None = None):
    """(module, version) of a solver on this machine; raises SolverError where it is not there,
    ChoiceError for an unknown one."""
    module = find_solver(solver)
    found = version(module, program)
    if found is None:
        raise SolverError(f"solver {solver!r} is not on this machine: {what_to_install(module, program)}")
    return module, found
