"""Property tests of a heuristic: a tree of the requested depth, the same each time, that a model accepts as
its start."""

from dataclasses import replace

from odtc.heuristics.heuristic import grow
from odtc.testing.optima import assert_rows_kept
from odtc.testing.problems import drawn_problem, note_heap
from odtc.testing.properties.formulations import grown_twice
from odtc.testing.property import Property, Trial
from odtc.workflow import compiling


def options(plug_in):
    """Yield (words, text of `--start`) for each set of options that it declares."""
    for words in plug_in.TRIES:
        yield words, f"{plug_in.name}:{words}" if words else plug_in.name


def grows(plug_in, variant, trial: Trial) -> None:
    problem = drawn_problem(trial, ("flowoct", {"lambda": 0.25}), depths=(1, 2, 3))
    price = problem.module.branch_penalty(problem)
    one = grown_twice(trial, problem, lambda problem: grow(variant, problem.encoded, problem.topology, price))
    labels = one.label[one.reach(problem.encoded.X)]
    inside = ((labels >= 0) & (labels < len(problem.encoded.classes))).all()
    trial.expect(inside, "expected every row to end at a node with a label, got one without")


def starts(plug_in, variant, trial: Trial) -> None:
    problem = drawn_problem(trial, ("flowoct", {}), depths=(1, 2))
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
