"""Property tests of a format of points: a point that it wrote and reads is the same point; any bytes are read or
refused."""

import io
from dataclasses import replace

import numpy as np

from odtc.errors import SolutionError
from odtc.fileformats.solution_files import HEAD, ReadPoints, WrittenPoints
from odtc.model.points import name_list
from odtc.model.solution import Termination
from odtc.testing.problems import drawn_problem, drawn_tree
from odtc.testing.property import Property, Trial, refuses


def read_back(plug_in, variant, trial: Trial) -> None:
    problem = drawn_problem(trial, ("flowoct", {}))
    heap = drawn_tree(trial, problem)
    model = problem.module.build(problem)
    x = model.join(problem.module.start(problem, heap))
    written = io.BytesIO()
    plug_in.write(model, x, written, Termination.OPTIMAL)
    data = written.getvalue()
    trial.expect(plug_in.matches(data[:HEAD]), "expected `matches` to recognise what `write` wrote, it does not")
    raw = plug_in.read(data)
    values = raw.values if raw.names is None else _in_order(name_list(model.columns), raw)
    trial.expect(np.array_equal(values, x), "expected the point back from the file, got another")


def _in_order(names, raw):
    place = {str(name): value for name, value in zip(raw.names, raw.values)}
    return np.array([place.get(name, 0.0) for name in names])


def _read(plug_in, data: bytes):
    plug_in.matches(data)
    return plug_in.read(data)


def _is_written(plug_in) -> bool:
    return plug_in.can(ReadPoints) and plug_in.can(WrittenPoints)


PROPERTIES = (
    Property("point", "A point that is written and read is the point.", read_back, examples=15, applies=_is_written),
    replace(refuses(_read, SolutionError, 60), applies=lambda plug_in: plug_in.can(ReadPoints)),
)
