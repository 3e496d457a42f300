"""The solvers that run in a race, and their numbers of threads."""

from pathlib import Path

from odtc.base.system import cores
from odtc.base.value_class import value_class
from odtc.base.wording import option
from odtc.errors import ChoiceError, SolverError
from odtc.solvers.executables import what_to_install
from odtc.solvers.solver import find_solver, version


@value_class
class Lineup:
    """Participants of a race: (name, solver, module, threads) of each installed solver; the reasons why others do not
    run, by name; and notes to print before the start."""

    found: tuple[tuple[str, str, object, int], ...]
    absent: dict[str, str]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, *_ in self.found)


def is_race(solver: str) -> bool:
    return "," in str(solver)


def solver_names(solver: str) -> list[str]:
    """Return the names between the commas."""
    return [name.strip() for name in str(solver).split(",")]


def refuse_program(program: str | None) -> None:
    """Raise ChoiceError if an executable is named, because it belongs to only one solver."""
    if program is not None:
        raise ChoiceError(
            f"{option('program')}: expected none in a race, as it names the executable of one solver, got {program!r}; "
            "put it on PATH"
        )


def line_up(solver: str, threads: int | None = None) -> Lineup:
    """Return the solvers of `highs,scip,my.toml`, and distribute `threads` (by default the cores that this process may
    use) among them, at least one to each.

    Raises ChoiceError for a solver that is unknown or repeated, SolverError if none of them is on this machine.
    """
    given = solver_names(solver)
    if not all(given):
        raise ChoiceError(f"expected names of solvers between commas, as in highs,scip,cbc, got {solver!r}")
    names = [Path(name).stem if name.endswith(".toml") else name for name in given]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ChoiceError(f"expected each solver once in a race, got {twice[0]!r} twice")
    modules = [find_solver(name) for name in given]
    absent = {
        name: f"it is not on this machine: {what_to_install(module)}"
        for name, module in zip(names, modules)
        if version(module) is None
    }
    here = [entry for entry in zip(names, given, modules) if entry[0] not in absent]
    if not here:
        raise SolverError(
            f"none of the solvers {', '.join(names)} is on this machine; choose others of `odtc list solvers`"
        )
    notes = [f"{name} is left out: {why}" for name, why in absent.items()]
    total = threads or cores()
    if len(here) > total:
        notes.append(
            f"{len(here)} solvers share {total} thread{'s' * (total > 1)}: each runs with one, and slower for it"
        )
    part, more = divmod(total, len(here))
    return Lineup(tuple((*entry, max(1, part + (at < more))) for at, entry in enumerate(here)), absent, tuple(notes))
