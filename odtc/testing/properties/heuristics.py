"""Property tests of a heuristic: a tree of the requested depth, the same each time, that a model accepts as
its start."""

from dataclasses import replace

import numpy as np

from odtc.heuristics.heuristic import grow
from odtc.testing.optima import assert_rows_kept
from odtc.testing.problems import note_heap, note_problem, problems
from odtc.testing.property import Property, Trial
from odtc.workflow import compiling


def options(plug_in):
    """Yield (words, text of `--start`) for each set of options that it declares."""
    for words in plug_in.TRIES:
        yield words, f"{plug_in.name}:{words}" if words else plug_in.name


def grows(plug_in, variant, trial: Trial) -> None:
    problem = trial.draw(problems(("flowoct", {"lambda": 0.25}), depths=(1, 2, 3)))
    note_problem(trial, problem)
    price = problem.module.branch_penalty(problem)
    one, two = (grow(variant, problem.encoded, problem.topology, price) for _ in range(2))
    note_heap(trial, problem, one)
    one.expect_depth(problem.topology.depth)
    same = np.array_equal(one.split, two.split) and np.array_equal(one.label, two.label)
    trial.expect(same, "expected the same tree of the same data, got another")
    labels = one.label[one.reach(problem.encoded.X)]
    inside = ((labels >= 0) & (labels < len(problem.encoded.classes))).all()
    trial.expect(inside, "expected every row to end at a node with a label, got one without")


def starts(plug_in, variant, trial: Trial) -> None:
    problem = trial.draw(problems(("flowoct", {}), depths=(1, 2)))
    note_problem(trial, problem)
    model = replace(problem.module.build(problem), problem=problem)
    own = grow(variant, problem.encoded, problem.topology, problem.module.branch_penalty(problem)).beyond
    trial.skip_unless(own is None or not own.splits)  # hyperplanes are starts of other models
    begun = compiling.start(model, variant)
    trial.expect(begun is not None, "expected a start, got none")
    heap, x = begun
    note_heap(trial, problem, heap)
    assert_rows_kept(model, x)


PROPERTIES = (
    Property("tree", "Its tree has the requested depth, and is the same each time.", grows, options, 25),
    Property("start", "A model takes its tree as a start.", starts, options, 15),
)
