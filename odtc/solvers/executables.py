"""The program of a solver (odtc.solvers.protocols.ProgramSolver): where it is on this machine, and which version."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any

from odtc.base import system
from odtc.base.registry import Member
from odtc.base.value_class import frozen_class
from odtc.base.wording import option
from odtc.errors import SolverError
from odtc.solvers.child_process import quick_output
from odtc.solvers.protocols import PackageSolver

FOUND = "found"  # instead of a version that cannot be queried


@frozen_class
class Program:
    """The program of a solver: the first words of its command, its environment, and the template of its arguments."""

    argv: tuple[str, ...]
    template: str
    where: str
    environment: dict[str, Any] = field(default_factory=dict)


def locate(module: Member, program: str | None = None) -> Program | None:
    """Return the program of a solver, None if it is not on this machine.

    `program` names another executable to use; raises SolverError if it cannot be executed.
    """
    if program is not None:
        path = shutil.which(program)
        if path is None:
            raise SolverError(f"expected an executable with {option('program')}, got {program!r}, which is none")
        return _program(module, path)
    # The scripts of a virtual environment are not on PATH if it is not activated.
    search = os.pathsep.join([os.environ.get("PATH", ""), str(Path(sys.executable).parent)])
    for name in module.PROGRAMS:
        if path := shutil.which(name, path=search):
            # A described solver may be a Python program that uses this very package.
            return _program(module, path, _python_path() if module.ARGUMENTS is not None else {})
    package = module.PACKAGE
    if package is None or importlib.util.find_spec(package) is None:
        return None
    if driver := module.DRIVER:
        argv = tuple(system.child_python("odtc.solvers.drivers", driver))
        return Program(argv, module.DRIVER_COMMAND, f"package {package}", _python_path())
    return module.bundled()


def _python_path() -> dict[str, Any]:
    return {"PYTHONPATH": system.python_environment()["PYTHONPATH"]}


def _program(module: Member, path: str, environment: dict[str, Any] | None = None) -> Program:
    path = os.path.abspath(path)  # absolute, because it will run in another folder
    return Program((path,), module.COMMAND, path, environment or {})


def what_to_install(module: Member, program: str | None = None) -> str:
    """Return a sentence that names the package or program to install."""
    if module.can(PackageSolver):
        return "install its package, or choose one of `odtc list solvers`"
    ways = [f"the program {' or '.join(map(repr, module.PROGRAMS))} on PATH"] if module.PROGRAMS else []
    ways += [f"the Python package {module.PACKAGE!r}"] if module.PACKAGE else []
    return (
        f"expected {' or '.join(ways)}; install it, name it with {option('program')}, or choose one of `odtc list "
        "solvers`"
    )


def version(module: Member, program: str | None = None) -> str | None:
    """Return the version that the program prints (FOUND if it prints none), None if it is not installed."""
    found = locate(module, program)
    if found is None:
        return None
    # A driver that accepts the program's own command prints the version of the solver, for example SCIP 10 for
    # PySCIPOpt 6.
    if found.where.startswith("package ") and module.PACKAGE and found.template != module.COMMAND:
        return importlib.metadata.version(module.PACKAGE)
    if module.VERSION is None:  # for a solver that a file describes, the arguments for this are unknown
        return FOUND
    return _said_version(found.argv, tuple(found.environment.items()), *module.VERSION)


@lru_cache
def _said_version(
    argv: tuple[str, ...], environment: tuple[tuple[str, str], ...], arguments: tuple[str, ...], pattern: str
) -> str:
    said = quick_output([*argv, *arguments], system.program_environment() | dict(environment))
    match = re.search(pattern, said)
    return match[1] if match else FOUND
