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
from odtc.testing.law import Law, Trial
from odtc.testing.laws.formulations import kept_optimum, kept_start
from odtc.testing.problems import ALL_VARIANTS, data_of_all_kinds, form_id, kept_kinds, posed_first, problems
from odtc.testing.shown import note_problem

MOST_TESTS = 5  # of a problem of which every tree is tried


def takers(member):
    """Yield (words, (form, kind)) of one variant of each formulation that supports it."""
    seen = set()
    for form in ALL_VARIANTS:
        if form[0] not in seen and member.name in kept_kinds(form):
            seen.add(form[0])
            yield form_id(form), (form, member.name)


def searchers(member):
    """Yield (words, form) of each formulation whose own search supports every kind."""
    for name in FORMULATIONS.able(SearchesItself):
        yield name, (name, {})


def declares(member, under, trial: Trial) -> None:
    trial.expect(member.SUBJECT in set(Subject), f"expected SUBJECT, one of {[*Subject]}, got {member.SUBJECT!r}")
    problem = posed_first(data_of_all_kinds(("flowoct", {})), member.name)
    reference = member.reference(problem.encoded, problem.constraints[0])
    trial.expect(
        any(vars(reference).values()),
        "expected `reference` to define which trees satisfy the constraint, got a Reference without fields",
    )
    words = able_models(member)
    trial.expect(words != "no model takes it", f"expected a model that declares {member.SUBJECT!r}, found none")


def refused(member, under, trial: Trial) -> None:
    problem = data_of_all_kinds(("flowoct", {}))
    for text in (f"{member.name}[", f"{member.name} = 1", f"{member.name} <= ", f"{member.name}[nothing,,] <= 1"):
        trial.note("text", text)
        try:
            posed(problem, [text])
        except ChoiceError as problem_said:
            trial.expect(len(str(problem_said).splitlines()) == 1, "expected a refusal in one line")
        else:
            trial.expect(False, "expected a ChoiceError that says what is wrong, got none")


def searched(member, form, trial: Trial) -> None:
    problem = trial.draw(problems(form, depths=(1, 2, 2), most_rows=7, auxiliary=True))
    trial.skip_unless(problem.encoded.n_candidate_splits <= MOST_TESTS)
    try:
        problem = posed(problem, [trial.draw(st.sampled_from(member.tries(problem.encoded)))])
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
    """Return a law of a formulation under one of its variants and a kind, as a law of the kind."""
    return lambda member, under, trial: holds(FORMULATIONS.get(under[0][0]), under, trial)


LAWS = (
    Law(
        "declared", "SUBJECT, `tries` and `reference` are declared, and some model satisfies it.", declares, examples=1
    ),
    Law("refused", "A text that is none of it is refused in a sentence.", refused, examples=1),
    Law(
        "optimum", "The optimum is that of the trees that satisfy it by `reference`.", in_forms(kept_optimum), takers, 8
    ),
    Law(
        "start",
        "A tree that satisfies it is a complete point of the model with its rows.",
        in_forms(kept_start),
        takers,
        8,
    ),
    Law("search", "The compiler's own search finds the optimum of the trees that satisfy it.", searched, searchers, 6),
)


def laws(member) -> tuple[Law, ...]:
    """Return the laws for this kind; for rows of models, if it has any."""
    return tuple(law for law in LAWS if member.SUBJECT != Subject.SETTLED or law.name not in ("optimum", "start"))
