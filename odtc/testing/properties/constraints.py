"""Property tests of a kind of constraints, in the first variant of every formulation that supports its subject.

Its `tries` are the texts that are drawn; its `reference` decides by definition which trees satisfy it.
"""

import numpy as np
from hypothesis import strategies as st

from odtc.errors import ChoiceError
from odtc.problem.constraints.constraint import able_models, broken, posed
from odtc.problem.constraints.kind import Subject
from odtc.problem.formulation import FORMULATIONS, SearchesItself
from odtc.testing import optima
from odtc.testing.problems import (
    ALL_VARIANTS,
    data_of_all_kinds,
    form_id,
    kept_kinds,
    note_problem,
    posed_first,
    problems,
)
from odtc.testing.properties.formulations import kept_optimum, kept_start
from odtc.testing.property import Property, Trial

MOST_TESTS = 5  # of a problem of which every tree is tried


def takers(plug_in):
    """Yield (words, (form, kind)) of one variant of each formulation that supports it."""
    seen = set()
    for form in ALL_VARIANTS:
        if form[0] not in seen and plug_in.name in kept_kinds(form):
            seen.add(form[0])
            yield form_id(form), (form, plug_in.name)


def searchers(plug_in):
    """Yield (words, form) of each formulation whose own search supports every kind."""
    for name in FORMULATIONS.able(SearchesItself):
        yield name, (name, {})


def declares(plug_in, variant, trial: Trial) -> None:
    trial.expect(plug_in.SUBJECT in set(Subject), f"expected SUBJECT, one of {[*Subject]}, got {plug_in.SUBJECT!r}")
    problem = posed_first(data_of_all_kinds(("flowoct", {})), plug_in.name)
    reference = plug_in.reference(problem.encoded, problem.constraints[0])
    trial.expect(
        any(vars(reference).values()),
        "expected `reference` to define which trees satisfy the constraint, got a Reference without fields",
    )
    words = able_models(plug_in)
    trial.expect(words != "no model takes it", f"expected a model that declares {plug_in.SUBJECT!r}, found none")


def refused(plug_in, variant, trial: Trial) -> None:
    problem = data_of_all_kinds(("flowoct", {}))
    for text in (f"{plug_in.name}[", f"{plug_in.name} = 1", f"{plug_in.name} <= ", f"{plug_in.name}[nothing,,] <= 1"):
        trial.note("text", text)
        try:
            posed(problem, [text])
        except ChoiceError as problem_said:
            trial.expect(len(str(problem_said).splitlines()) == 1, "expected a refusal in one line")
        else:
            trial.expect(False, "expected a ChoiceError that says what is wrong, got none")


def searched(plug_in, form, trial: Trial) -> None:
    problem = trial.draw(problems(form, depths=(1, 2, 2), most_rows=7, auxiliary=True))
    trial.skip_unless(problem.encoded.n_candidate_splits <= MOST_TESTS)
    try:
        problem = posed(problem, [trial.draw(st.sampled_from(plug_in.tries(problem.encoded)))])
    except ChoiceError:  # what this data has no rows, columns or levels for
        trial.skip_unless(False)
    note_problem(trial, problem)
    trial.skip_unless(problem.module.searches(problem))
    least, found = optima.least_of_every_tree(problem), problem.module.search(problem, None, lambda *told: None)
    trial.expect(found.infeasible == (least == np.inf), f"expected the best tree at {least!r}, got {found!r:.300}")
    if found.infeasible:
        return
    trial.expect(not broken(problem, found.heap), "expected a tree that satisfies it, got one that does not")
    value = problem.module.objective(problem, found.heap)
    for word, number in (("objective", value), ("bound", found.bound)):
        trial.expect(abs(number - least) <= 1e-9, f"expected the {word} {least!r} of trying every tree, got {number!r}")


def in_forms(holds):
    """Return a property of a formulation under one of its variants and a kind, as a property of the kind."""
    return lambda plug_in, variant, trial: holds(FORMULATIONS.get(variant[0][0]), variant, trial)


def has_rows(plug_in) -> bool:
    """Return whether models have rows for this kind."""
    return plug_in.SUBJECT != Subject.SETTLED


PROPERTIES = (
    Property(
        "declared", "SUBJECT, `tries` and `reference` are declared, and some model satisfies it.", declares, examples=1
    ),
    Property("refused", "A text that is not such a constraint is refused in a sentence.", refused, examples=1),
    Property(
        "optimum",
        "The optimum equals the best of the trees that satisfy `reference`.",
        in_forms(kept_optimum),
        takers,
        8,
        has_rows,
    ),
    Property(
        "start",
        "A tree that satisfies it is a complete point of the model with its rows.",
        in_forms(kept_start),
        takers,
        8,
        has_rows,
    ),
    Property(
        "search", "The compiler's own search finds the optimum of the trees that satisfy it.", searched, searchers, 6
    ),
)
