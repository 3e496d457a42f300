"""Solvers by name: from the registry, or described by a TOML file; and whether they are on this machine."""

from odtc.base.registry import Member
from odtc.errors import SolverError
from odtc.solvers.executables import version as program_version
from odtc.solvers.executables import what_to_install
from odtc.solvers.protocols import SOLVERS, PackageSolver
from odtc.solvers.toml_solver import from_template


def find_solver(name: str) -> Member:
    """The module of a solver by name, or made from a template file by its path (`my_solver.toml`).

    Raises ChoiceError for an unknown one.
    """
    if str(name).endswith(".toml"):
        return SOLVERS.admitted(str(name), from_template(name))
    return SOLVERS.get(name)


def version(module: Member, program: str | None = None) -> str | None:
    """Return the version of this solver on this machine, or None if it is not installed."""
    return module.version() if module.can(PackageSolver) else program_version(module, program)


def installed(solver: str, program: str | None = None) -> tuple[Member, str]:
    """(module, version) of a solver on this machine; raises SolverError if it is not there,
    ChoiceError for an unknown one."""
    module = find_solver(solver)
    found = version(module, program)
    if found is None:
        raise SolverError(f"solver {solver!r} is not on this machine: {what_to_install(module, program)}")
    return module, found
