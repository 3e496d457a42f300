"""Property tests of a cut family, in every variant of every formulation that has the required variables.

Rows of EVERY_TREE are satisfied by the start of each tree; rows of AN_OPTIMUM by the arranged tree, which costs no
more. The optimum does not change, and the bound of the relaxation never falls.
"""

from dataclasses import replace

import numpy as np

from odtc.problem.cuts import cut
from odtc.problem.cuts.cut import AN_OPTIMUM, EVERY_TREE
from odtc.testing import optima
from odtc.testing.optima import assert_rows_kept, optimum, relaxed
from odtc.testing.problems import (
    ALL_VARIANTS,
    data_of_all_kinds,
    drawn_problem,
    drawn_tree,
    form_id,
)
from odtc.testing.property import Property, Trial


def compiled(problem):
    """Return the model of a problem, which knows its problem."""
    return replace(problem.module.build(problem), problem=problem)


def takers(plug_in):
    """Yield (words, form) of each variant that has the columns for this family."""
    for form in ALL_VARIANTS:
        problem = data_of_all_kinds(form)
        if not cut.why_unfit(plug_in.name, problem, compiled(problem)):
            yield form_id(form), form


def has_takers(plug_in, form, trial: Trial) -> None:
    trial.expect(
        plug_in.VALID in (EVERY_TREE, AN_OPTIMUM), f"expected VALID = EVERY_TREE or AN_OPTIMUM, got {plug_in.VALID!r}"
    )
    trial.expect(
        any(takers(plug_in)), f"expected a formulation with the columns of NEEDS = {plug_in.NEEDS}, found none"
    )


def _drawn(plug_in, form, trial: Trial, depths):
    problem = drawn_problem(trial, form, depths=depths, most_rows=10)
    plain = compiled(problem)
    trial.skip_unless(not cut.why_unfit(plug_in.name, problem, plain))
    return problem, plain, cut.add(problem, plain, (plug_in.name,))


def holds(plug_in, form, trial: Trial) -> None:
    problem, _, model = _drawn(plug_in, form, trial, (1, 2, 3))
    heap = drawn_tree(trial, problem)
    module = problem.module
    if plug_in.VALID == EVERY_TREE:
        assert_rows_kept(model, model.join(module.start(problem, heap)))
    arranged = cut.arrange_tree(problem, model, heap)
    assert_rows_kept(model, model.join(module.start(problem, arranged)))
    dearer = module.objective(problem, arranged) - module.objective(problem, heap)
    trial.expect(dearer <= 1e-9, f"expected an arranged tree that costs no more, got {dearer:.10g} more")
    X = problem.encoded.X
    same = (arranged.label[arranged.reach(X)] == heap.label[heap.reach(X)]).all()
    trial.expect(same, "expected an arranged tree with the same predictions, got others")


def keeps(plug_in, form, trial: Trial) -> None:
    problem, plain, model = _drawn(plug_in, form, trial, (1, 2, 2))
    best = optima.exhaustive_cost(problem)
    value, point = optimum(model)
    trial.expect(abs(value - best) <= 1e-6, f"expected the optimum {best!r} with the rows, too, got {value!r}")
    found = problem.module.objective(problem, problem.module.decode(problem, point))
    trial.expect(abs(found - value) <= 1e-6, f"expected a decoded tree that costs {value!r}, got {found!r}")
    before, after = relaxed(plain), relaxed(model)
    trial.expect(after >= before - 1e-6, f"expected a bound of at least {before!r} with the rows, got {after!r}")


def appended(plug_in, form, trial: Trial) -> None:
    problem, plain, model = _drawn(plug_in, form, trial, (1, 2))
    same = model.columns == plain.columns and model.rows[: len(plain.rows)] == plain.rows
    trial.expect(same, "expected rows behind those of the model and no other change, got another model")
    new = model.A[plain.n_rows :]
    trial.expect((new.data != 0).all(), "expected coefficients other than 0, got 0")
    trial.expect(np.isfinite(new.data).all(), "expected finite coefficients")


PROPERTIES = (
    Property("needs", "Some formulation has the columns that it needs.", has_takers, examples=1),
    Property("holds", "Its rows hold for every tree, or for an arranged one that costs no more.", holds, takers, 20),
    Property("keeps", "The optimum stays, and the bound of the relaxation never falls.", keeps, takers, 8),
    Property("appended", "Its rows follow the rows of the model, and change nothing else.", appended, takers, 5),
)
