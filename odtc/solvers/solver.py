"""Solvers by name, from the registry or described by a TOML file (examples/my-solver), and whether they are on this
machine."""

import re
import sys
import tomllib
from collections.abc import Callable, Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from odtc.base.registry import Member
from odtc.base.templates import render_line
from odtc.base.text import did_you_mean
from odtc.errors import SolverError
from odtc.fileformats.model_files import FORMATS
from odtc.fileformats.solution_files import POINTS
from odtc.model.solution import Termination
from odtc.solvers.executables import version as program_version
from odtc.solvers.executables import what_to_install
from odtc.solvers.protocols import SOLVERS, Dialect, PackageSolver


def find_solver(name: str) -> Member:
    """Return the module of a solver by name, or made from a template file by its path (`my_solver.toml`).

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


KEYS = ("name", "command", "model", "start", "solution", "pattern", "status", "bound")


def from_template(path: str | Path) -> SimpleNamespace:
    """Return the solver that a TOML file describes, with the parts of a module of `solvers/`.

    Raises SolverError, with the key, for an entry that does not fit.
    """
    try:
        facts = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as problem:
        raise SolverError(f"cannot read the solver template {str(path)!r}: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:  # also of an integer with more digits than Python converts
        raise SolverError(f"expected TOML in the solver template {str(path)!r}: {problem}") from None
    unknown = set(facts) - set(KEYS)
    if unknown:
        key = sorted(unknown)[0]
        raise SolverError(f"{path}: unknown key {key!r}{did_you_mean(key, KEYS)}; known: {', '.join(KEYS)}")
    for key, fits, what in _entries():
        if (key in facts and not fits(facts[key])) or (key == "command" and key not in facts):
            raise SolverError(f"{path}: expected {key} = {what}, got {facts.get(key)!r}")
    words = facts.get("status", {})

    def read_log(text: str) -> Termination | None:
        found = [(text.rfind(phrase), Termination(meant)) for phrase, meant in words.items() if phrase in text]
        return max(found)[1] if found else None

    patterns = {}
    if "bound" in facts:
        patterns["BOUND"] = re.compile(facts["bound"], re.M)
    if "pattern" in facts:
        patterns["PATTERN"] = re.compile(facts["pattern"], re.M)
    here = str(Path(path).resolve().parent)
    program = render_line(facts["command"][0], here=here, python=sys.executable)
    return SimpleNamespace(
        NAME=facts.get("name", Path(path).stem),
        SUMMARY=f"described by {path}",
        DIALECT=Dialect((facts.get("model", "mps"),), False, facts.get("start"), lp_start=True),
        PROGRAMS=(program,),
        COMMAND=Path(path).stem,
        SOLUTION=facts.get("solution", "file"),
        ARGUMENTS=facts["command"][1:],
        FOLDER=here,
        read_log=read_log,
        **patterns,
    )


def _entries() -> tuple[tuple[str, Callable[[Any], Any], str], ...]:
    """Return (key, whether a value fits, the value that is expected), in the order in which they are checked."""
    return (
        (
            "command",
            lambda v: isinstance(v, list) and v and all(isinstance(a, str) for a in v),
            "a list of arguments, the program first",
        ),
        (
            "status",
            lambda v: isinstance(v, dict) and all(isinstance(m, str) and m in set(Termination) for m in v.values()),
            f"words of the log = one of {', '.join(Termination)}",
        ),
        ("name", lambda v: isinstance(v, str) and v.isprintable() and v.strip(), "a name on one line"),
        ("solution", lambda v: v in ("file", "stdout"), "'file' or 'stdout'"),
        ("model", lambda v: v in FORMATS.names(), f"one of {', '.join(FORMATS.names())}"),
        ("start", lambda v: v in POINTS.names(), f"one of {', '.join(POINTS.names())}"),
        (
            "pattern",
            lambda v: _is_pattern(v, {"name", "value"}),
            "a regular expression with (?P<name>…) and (?P<value>…)",
        ),
        ("bound", lambda v: _is_pattern(v), "a regular expression whose first group is the bound"),
    )


def _is_pattern(text: Any, groups: Collection[str] = ()) -> bool:
    try:
        compiled = re.compile(text)
    except (re.error, TypeError, RecursionError, OverflowError):
        return False
    return set(groups) <= set(compiled.groupindex) if groups else compiled.groups >= 1
