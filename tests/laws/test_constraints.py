"""Laws 1, 2, 4 and 7 under constraints: the optimum is that of the trees that keep them, a start is complete
and keeps them, cuts hold, and the manifest rebuilds them."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from odtc.errors import ChoiceError
from odtc.fileformats.model_files import read_model, write_model
from odtc.problem.constraints import constraint
from odtc.problem.constraints.constraint import broken, built, complete, posed
from odtc.problem.constraints.kind import CONSTRAINTS
from odtc.problem.cuts import cut
from odtc.problem.cuts.cut import AN_OPTIMUM, CUTS
from odtc.problem.formulation import FORMULATIONS
from odtc.testing import Trial, cases
from odtc.testing.optima import assert_rows_kept, least_kept, optimum
from odtc.testing.problems import (
    ALL_VARIANTS,
    COMPILED,
    TOGETHER,
    alone,
    constrained,
    constraint_words,
    data_of_all_kinds,
    form_id,
    heaps,
    kept_kinds,
    posed_first,
    problems,
)
from odtc.testing.properties.formulations import kept_optimum, kept_start
from odtc.workflow.manifest import read_manifest, write_manifest
from tests import pipeline
from tests.command_line import MONKS

BY_CONSTRAINT = [(form, word) for form in ALL_VARIANTS for word in constraint_words(form)]
SLOW = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}
# Discrimination is no sum over leaves: the judge of these trees tries every labelling, and knows no other limit.
SUMS = [(form, kind) for form, kind in BY_CONSTRAINT if "rho" not in form[1]]
MANY, FEW = 6, 3  # examples; what one module writes for many kinds has cases enough, and `odtc check` draws more


def case_id(case) -> str:
    return f"{form_id(case[0])}-{case[1]}"


@pytest.mark.every(4)
@pytest.mark.parametrize("case", [case for case in SUMS if case[1] not in TOGETHER], ids=case_id)
@given(data=st.data())
@settings(max_examples=MANY, **SLOW)
def test_the_optimum_is_that_of_the_trees_that_keep_them(case, data):
    expect_optimum(case, data)


@pytest.mark.every(4)
@pytest.mark.parametrize("case", alone(SUMS), ids=case_id)
@given(data=st.data())
@settings(max_examples=FEW, **SLOW)
def test_the_optimum_is_that_of_the_trees_that_keep_what_they_answer_or_ask(case, data):
    expect_optimum(case, data)


def expect_optimum(case, data):
    kept_optimum(FORMULATIONS.get(case[0][0]), case, Trial(data.draw))


@pytest.mark.every(4)
@pytest.mark.parametrize("case", [case for case in BY_CONSTRAINT if case[1] not in TOGETHER], ids=case_id)
@given(data=st.data())
@settings(max_examples=MANY, **SLOW)
def test_a_tree_that_keeps_them_is_a_complete_point(case, data):
    expect_point(case, data)


@pytest.mark.every(4)
@pytest.mark.parametrize("case", alone(BY_CONSTRAINT), ids=case_id)
@given(data=st.data())
@settings(max_examples=FEW, **SLOW)
def test_a_tree_that_keeps_what_it_answers_or_asks_is_a_complete_point(case, data):
    expect_point(case, data)


def expect_point(case, data):
    kept_start(FORMULATIONS.get(case[0][0]), case, Trial(data.draw))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "case", [case for name in COMPILED for case in cases("formulation", name, property="refusals")], ids=str
)
def test_what_a_form_cannot_say_it_refuses_in_a_sentence(case):
    case.expect()


@pytest.mark.parametrize(
    "case",
    [
        case
        for kind in CONSTRAINTS.names()
        for word in ("declared", "refused")
        for case in cases("constraint", kind, property=word)
    ],
    ids=str,
)
def test_every_kind_declares_what_the_laws_need(case):
    case.expect()


@pytest.mark.parametrize("form", [("oct", {"n_min": 2}), ("fair", {"n_min": 2}), *ALL_VARIANTS], ids=form_id)
def test_no_two_rows_of_a_model_have_one_name(form):
    """Neither a formulation nor a constraint knows the names of the other."""
    for kind in sorted(kept_kinds(form)):
        model = built(posed_first(data_of_all_kinds(form), kind))
        for blocks in (model.rows, model.columns):
            names = [block.name for block in blocks]
            assert len(set(names)) == len(names), (kind, names)


@pytest.mark.parametrize("format", ["mps", "lp"])
def test_least_rows_of_a_parameter_and_a_constraint_are_read_back(format, tmp_path):
    columns = {"encoding": "onehot", "params": {"n_min": 2}, "constraints": ("leaf_rows >= 3",)}
    model = pipeline.build(MONKS / "monks-1.csv", "oct", 1, **columns)
    assert read_model(write_model(model, tmp_path / f"m.{format}", format)).n_rows == model.n_rows


@given(data=st.data())
@settings(max_examples=60, **SLOW)
def test_cuts_hold_beside_constraints_or_are_refused(data):
    problem = data.draw(constrained(*data.draw(st.sampled_from(SUMS)), depths=(1, 2, 2), most_rows=8))
    plain = built(problem)
    model = cut.add(problem, plain, cut.choose(problem, plain, "all"))
    assert all(CUTS.get(name).VALID != AN_OPTIMUM for name in model.cuts)
    assert optimum(model)[0] == pytest.approx(optimum(plain)[0], abs=1e-6)
    x = complete(problem, model, data.draw(heaps(problem)))
    assert_rows_kept(model, x)
    for name in CUTS.names():
        if CUTS.get(name).VALID == AN_OPTIMUM:
            with pytest.raises(
                ChoiceError, match="keeps some optimum of all trees, which need not keep the constraint"
            ):
                cut.choose(problem, plain, (name,))


@given(data=st.data())
@settings(max_examples=30, **SLOW)
def test_the_manifest_rebuilds_them(data, tmp_path_factory):
    problem = data.draw(constrained(*data.draw(st.sampled_from(BY_CONSTRAINT))))
    model, path = built(problem), tmp_path_factory.mktemp("m") / "m.odt.json"
    write_manifest(problem, model, path)
    manifest = read_manifest(path)
    assert manifest.problem.constraints == problem.constraints
    manifest.expect(built(manifest.problem))


@pytest.mark.parametrize("start", ["cart", "local_search"])
@given(data=st.data())
@settings(max_examples=30, **SLOW)
def test_starts_are_mended(start, data):
    problem = data.draw(constrained(*data.draw(st.sampled_from(BY_CONSTRAINT)), depths=(1, 2, 3)))
    model = pipeline.compile_model(problem)
    begun = pipeline.start(model, start)
    assume(begun is not None)  # some of these no tree keeps
    heap, x = begun
    assert not broken(problem, heap) and not broken(problem, problem.module.decode(problem, model.split(x)))
    assert_rows_kept(model, x)


@pytest.mark.parametrize("form", [("flowoct", {}), ("bendersoct", {"cuts": "none"}), ("cart", {})], ids=form_id)
@given(data=st.data())
@settings(max_examples=8, **SLOW)
def test_fits_keep_them_and_are_verified(form, data):
    problem = data.draw(problems(form, by_class=True, most_rows=10))
    problem = posed(problem, [data.draw(st.sampled_from(["branch_nodes <= 1", "leaves <= 3", "branch_nodes <= 2"]))])
    assert constraint.early(problem)
    if form[0] == "cart":
        decoded = pipeline.learn(problem).decoded
    else:
        model, solution = pipeline.solve_or_loop(pipeline.compile_model(problem), pipeline.SolvingSpec(threads=1))
        assert solution.objective == pytest.approx(least_kept(problem), abs=1e-5)
        decoded = pipeline.decode(model, solution)
    assert decoded.verified and [check.name for check in decoded.checks].count("constraint") == 1
