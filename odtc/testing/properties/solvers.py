"""Property tests of a solver: optima, infeasible models, starts, folders with blanks; small models are actually
solved."""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from odtc.errors import ChoiceError
from odtc.fileformats.model_files import FORMATS, write_model
from odtc.model.blocks import Axis
from odtc.model.builder import ModelBuilder
from odtc.model.solution import Options
from odtc.solvers.solve import solve
from odtc.solvers.solver import find_solver, version
from odtc.testing.optima import optimum
from odtc.testing.problems import data_of_all_kinds, drawn_problem, heaps
from odtc.testing.properties.formulations import by_solver, optimum_by
from odtc.testing.property import Property, Trial

LIMIT = Options(time_limit=60, threads=1)
FORM = ("flowoct", {})


def find(name: str):
    """Return a registered solver, or the one that a TOML file describes. Raises ChoiceError if it is not on this
    machine."""
    found = find_solver(name)
    if version(found) is None:
        raise ChoiceError(f"the solver {name!r} is not on this machine: install it, then check it")
    return found


@st.composite
def models(draw):
    """Draw a bounded model of a few whole and continuous columns; some are infeasible."""
    n, rows = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    numbers = st.integers(-4, 4)
    m = ModelBuilder("random")
    for j in range(n):
        low = draw(st.integers(-3, 1))
        cost, whole = draw(numbers), draw(st.booleans())
        m.columns(f"x{j}", Axis("one", 1), lower=low, upper=low + draw(st.integers(0, 5)), cost=cost, integer=whole)
    columns = m.finish().columns
    for i in range(rows):
        side = draw(st.integers(-6, 4))
        lower, upper = draw(st.sampled_from([(side, np.inf), (-np.inf, side), (side, side)]))
        row = m.rows(f"r{i}", Axis("one", 1), lower=lower, upper=upper)
        for block in columns:
            coefficient = draw(numbers)
            if coefficient:
                m.add(row[np.zeros(1, int)], block[np.zeros(1, int)], float(coefficient))
    return m.finish()


def solves(plug_in, variant, trial: Trial) -> None:
    model = trial.draw(models())
    note_model(trial, model)
    best, _ = optimum(model)
    found = solve(model, plug_in.name, LIMIT)
    if best == np.inf:
        ends = ("infeasible", "infeasible_or_unbounded")
        trial.expect(found.termination in ends, f"expected the end infeasible, got {found.termination}")
        trial.expect(not found.has_solution, "expected no solution of an infeasible model, got one")
        return
    trial.expect(found.termination == "optimal", f"expected the end optimal, got {found.termination}; {found.message}")
    trial.expect(abs(found.objective - best) <= 1e-5, f"expected the optimum {best!r}, got {found.objective!r}")
    trial.expect(
        found.bound is None or found.bound <= best + 1e-5, f"expected a bound of {best!r}, got {found.bound!r}"
    )


def note_model(trial: Trial, model) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trial.note("model", write_model(model, Path(folder) / "m.lp", "lp").read_text().rstrip())


def takes_starts(plug_in, variant, trial: Trial) -> None:
    problem = drawn_problem(trial, FORM)
    model = replace(problem.module.build(problem), problem=problem)
    x = model.join(problem.module.start(problem, trial.draw(heaps(problem))))
    found = solve(model, plug_in.name, LIMIT, start=x)
    wanted = ("accepted", "unknown") if find_solver(plug_in.name).DIALECT.start else ("none",)
    trial.expect(found.start in (*wanted, "none"), f"expected a start that is {wanted[0]}, got {found.start}")
    trial.expect(
        found.objective <= model.objective(x) + 1e-5, "expected a solution as good as its start, got a worse one"
    )


def any_folder(plug_in, variant, trial: Trial) -> None:
    problem = data_of_all_kinds(FORM)
    model = problem.module.build(problem)
    format = find_solver(plug_in.name).DIALECT.reads[0]
    trial.note("format", format)
    best, _ = optimum(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a b, ü" / f"m (1){FORMATS.get(format).SUFFIX}"
        path.parent.mkdir()
        trial.note("path", path.relative_to(folder))
        found = solve(model, plug_in.name, LIMIT, path=write_model(model, path, format))
    trial.expect(found.termination == "optimal", f"expected the end optimal, got {found.termination}; {found.message}")
    trial.expect(abs(found.objective - best) <= 1e-5, f"expected the optimum {best!r}, got {found.objective!r}")


def decodes(plug_in, variant, trial: Trial) -> None:
    optimum_by(partial(by_solver, plug_in.name), plug_in, FORM, trial)


PROPERTIES = (
    Property("models", "It solves small models, and says so of those that have no solution.", solves, examples=12),
    Property(
        "trees", "Its solution of a formulation decodes to the best tree, and passes every check.", decodes, examples=6
    ),
    Property("starts", "A start is taken if its dialect says so, and never lost.", takes_starts, examples=4),
    Property("folders", "Model files may be in any folder.", any_folder, examples=1),
)
